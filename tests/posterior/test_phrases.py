"""Names of items and phrases about results that plots and the report share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.handmade_results import RISK, results_of, table_of
from tiewise.posterior.phrases import item_labels, standalone_labels, top_phrase, uncompared_note
from tiewise.posterior.results_folder import Wording

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
