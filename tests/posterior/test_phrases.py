"""Names of items and phrases about results that plots and the report share."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from xarray import Dataset, DataTree

from support.handmade_results import RISK, results_of, table_of
from tiewise.posterior.phrases import (
    answer_words,
    item_labels,
    standalone_labels,
    top_phrase,
    uncompared_note,
)
from tiewise.posterior.results_folder import Wording
from tiewise.posterior.terms.sentences import judge_sentences

TOP2 = replace(RISK, top=2)


def test_only_names_that_occur_twice_carry_the_id():
    table = table_of([0.5] * 3, name=["Kitonga", "Masaki", "Kitonga"])
    assert list(item_labels(table)) == ["Kitonga (i1)", "Masaki", "Kitonga (i3)"]


def test_names_that_are_alike_once_they_are_cut_carry_the_id():
    table = table_of([0.5] * 2, name=["Upper" * 20 + "A", "Upper" * 20 + "B"])
    assert list(item_labels(table)) == list(table["name"])
    assert list(item_labels(table, 12)) == ["UpperUpperU… (i1)", "UpperUpperU… (i2)"]


def test_a_bare_number_is_called_by_what_it_is():
    table = table_of([0.5] * 3, name=["12", "Masaki", "7-8"])
    assert list(standalone_labels(table, RISK)) == ["ward 12", "Masaki", "ward 7-8"]


@pytest.mark.parametrize(
    ("higher", "phrase"),
    [
        ("higher risk", "the 2 wards with the highest risk"),
        ("Higher risk of flooding", "the 2 wards with the highest risk of flooding"),
        ("better views", "the 2 wards with the best views"),
        ("more affluent", "the top 2 wards (more affluent)"),
        ("older", "the top 2 wards (older)"),
        ("better", "the top 2 wards (better)"),
    ],
)
def test_a_comparative_is_bent_only_where_it_can_be(higher, phrase):
    assert top_phrase(replace(TOP2, higher=higher)) == phrase


def test_the_noun_can_have_a_plural_of_its_own():
    city = Wording(higher="higher rents", noun="city/cities", top=3)
    assert top_phrase(city) == "the 3 cities with the highest rents"
    assert top_phrase(replace(city, top=1)) == "the city with the highest rents"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"quality": {"kind": "network", "borders": 9}},
         "not compared: estimate borrowed from its neighbours"),
        ({"quality": {"kind": "distance", "reach": 5000.0}},
         "not compared: estimate borrowed from wards believed to be like it"),
        ({"quality": {"kind": "independent"}}, "not compared: nothing is known of it"),
        ({"prior": {"kind": "engine"}}, "not compared: nothing is known of it"),
    ],
)  # fmt: skip
def test_an_estimate_is_borrowed_as_the_prior_has_it(tmp_path, model, words):
    assert uncompared_note(results_of(tmp_path, table_of([0.5] * 4), model=model)) == words


@pytest.mark.parametrize(("levels", "ties"), [(1, True), (2, False), (2, True), (3, True)])
def test_graded_answers_run_from_more_to_less(levels, ties):
    words = answer_words(levels, ties=ties)
    assert len(set(words)) == len(words) == 2 * levels + ties
    sides = [word.replace("less", "more") for word in words]
    assert sides == sides[::-1]
    assert ("about equal" in words) == ties


@pytest.mark.parametrize(
    ("tie", "sentence"),
    [(0.4, "is expected to say “about equal” 20 % of the time"),
     (0.0, "is expected to choose one but weakly 20 % of the time")],
)  # fmt: skip
def test_without_ties_a_threshold_is_that_of_weak_choices(tie, sentence):
    """tanh(c/2) is the chance that neither of two equals is chosen beyond the cut c."""
    judges, sample = ["a", "b"], ("chain", "draw")
    posterior = Dataset(
        {"tie": (sample, [[tie]]),
         "threshold": ((*sample, "judge"), 2 * np.arctanh([[[0.2, 0.6]]]))},
        coords={"judge": judges},
    )  # fmt: skip
    names = ("stratum", "wins_first", "wins_second", "ties")
    observed = Dataset({name: ("pair", [0, 1]) for name in names})
    tree = DataTree.from_dict({"posterior": posterior, "observed_data": observed})
    first = next(judge_sentences(SimpleNamespace(tree=tree, wording=RISK)))
    assert sentence in first
    assert "and b 60 %" in first
