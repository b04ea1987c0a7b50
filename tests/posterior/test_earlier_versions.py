"""Priors and terms as version 0.1 wrote them, read as this version writes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xarray import open_datatree

from tiewise.posterior.earlier_versions import current_model
from tiewise.posterior.results_folder import read_results
from tiewise.posterior.summaries import summarise

FIXTURES = Path(__file__).parents[1] / "fixtures" / "version-0.1"


def test_sentences_become_data():
    model = {
        "quality": "network: matrix exponential of 9 borders, unit variances",
        "variance": "inverse-gamma(0.01, 0.01)",
        "tie": "exponential(0.01)",
        "terms": "order (first of a pair), variance fixed(1); sharpness of judges",
    }
    assert current_model(model) == {
        "quality": {"kind": "network", "borders": 9, "share": 1.0},
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


@pytest.mark.parametrize("name", ["results", "results-terms"])
def test_qualities_that_were_stored_as_sampled_are_read_centred(name):
    results = read_results(FIXTURES / name)
    with open_datatree(FIXTURES / name / "posterior.nc", engine="h5netcdf") as stored:
        raw = stored["posterior/quality"].to_numpy()
    posterior = results.tree["posterior"]
    quality, level = posterior["quality"].to_numpy(), posterior["level"].to_numpy()
    assert "level" not in stored["posterior"]
    assert np.allclose(quality.mean(axis=-1), 0, atol=1e-12)
    assert np.allclose(quality + level[..., None], raw, rtol=0, atol=1e-12)
    assert posterior["quality"].attrs["units"] == "logits"
    now, then = summarise(results.tree).set_index("item"), results.items.set_index("item")
    columns = ["mean", "sd", "q2.5", "q97.5", "rank"]
    assert np.allclose(now.loc[then.index, columns], then[columns])
