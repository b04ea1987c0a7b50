"""Priors and terms as version 0.1 wrote them, read as this version writes them."""

from __future__ import annotations

from tiewise.posterior.earlier_versions import current_model


def test_sentences_become_data():
    model = {
        "quality": "network: matrix exponential of 9 borders, unit variances",
        "variance": "inverse-gamma(0.01, 0.01)",
        "tie": "exponential(0.01)",
        "terms": "order (first of a pair), variance fixed(1); sharpness of judges",
    }
    assert current_model(model) == {
        "quality": {"kind": "network", "borders": 9},
        "variance": {"kind": "inverse-gamma", "shape": 0.01, "scale": 0.01},
        "tie": {"kind": "exponential", "rate": 0.01},
        "terms": [
            {"kind": "other", "text": "order (first of a pair), variance fixed(1)"},
            {"kind": "other", "text": "sharpness of judges"},
        ],
    }


def test_no_ties_are_none():
    model = {"quality": "independent qualities", "variance": "fixed(2)", "tie": "no ties"}
    assert current_model(model)["tie"] is None


def test_priors_made_in_python_keep_their_text():
    model = {"quality": "kinship", "variance": "Mine(3)", "tie": "exponential(1)"}
    assert current_model(model) == {
        "quality": {"kind": "other", "text": "kinship"},
        "variance": {"kind": "other", "text": "Mine(3)"},
        "tie": {"kind": "exponential", "rate": 1.0},
    }


def test_the_prior_of_an_engine_keeps_its_text():
    facts = {"prior": {"kind": "engine", "text": "exp(quality) ~ gamma(1, 1)"}}
    assert current_model({"prior": "exp(quality) ~ gamma(1, 1)"}) == facts


def test_data_of_this_version_stay_as_they_are():
    model = {"quality": {"kind": "independent"}, "variance": {"kind": "fixed", "value": 1.0}}
    assert current_model(model | {"tie": None}) == model | {"tie": None}
