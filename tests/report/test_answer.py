"""The answer in sentences: plain, whole, and never stronger than the numbers."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.handmade_results import GOOD, RISK
from tiewise.criticism.verdict_parts import VerdictPart
from tiewise.posterior.phrases import has_top_probabilities
from tiewise.report.answer import main_answer, sentence_start, top_items

TOP2 = replace(RISK, top=2)

LEAST = {"almost certain": 0.95, "very likely": 0.80, "likely": 0.60}
"""The words of the scale that name somebody, as the documentation prints them."""


def test_a_sentence_may_begin_with_what_an_item_is():
    assert sentence_start("ward 12 is high", RISK) == "Ward 12 is high"
    assert sentence_start("iPhone Lane is high", RISK) == "iPhone Lane is high"


def test_each_band_of_the_scale_has_its_own_clause(make_results):
    sentence = main_answer(make_results([0.99, 0.97, 0.85, 0.61, 0.59, 0.1])).first
    assert sentence == (
        "Ward A and Ward B are almost certain to be among the 2 wards with the highest risk; "
        "Ward C is very likely; Ward D is likely."
    )


def test_when_nobody_stands_out_the_answer_says_so(make_results):
    sentence = main_answer(make_results([0.34, 0.4, 0.3, 0.2])).first
    assert sentence == (
        "No ward can be named with confidence as one of the 2 wards with the highest risk. "
        "The nearest to it are Ward B at 40 %, Ward A at 34 % and Ward C at 30 %."
    )


@pytest.mark.parametrize(
    ("probabilities", "sentence"),
    [
        ([0.7, 0.3], "Ward A is likely to be the ward with the highest risk."),
        ([0.5, 0.5], "No ward can be named with confidence as the ward with the highest risk. "
                     "The nearest to it are Ward A at 50 % and Ward B at 50 %."),
    ],
)  # fmt: skip
def test_two_items_are_told_by_who_is_first(make_results, probabilities, sentence):
    assert main_answer(make_results(probabilities, wording=replace(RISK, top=1))).first == sentence


def test_one_item_has_nothing_to_be_compared_with(make_results):
    sentence = main_answer(make_results([1.0], wording=replace(RISK, top=1), pairs=[]))
    assert sentence == ("There is only one ward, so there is nothing to compare it with.", ())


def test_a_top_of_everybody_says_nothing(make_results):
    assert "says nothing" in main_answer(make_results([1.0, 1.0])).first


def test_a_point_estimate_names_the_highest_and_no_chance(make_results):
    sentence = main_answer(make_results([np.nan] * 4)).first
    assert sentence == (
        "The estimate is highest for Ward A and Ward B; how likely that is was not computed."
    )
    assert not any(word in sentence for word in ("certain", "probab", "%"))


def test_how_many_stand_apart_from_the_average_is_counted(make_results):
    """Six items from +2 to −2, with intervals of half a unit either way."""
    sentence = main_answer(make_results([0.5] * 6)).rest[0]
    assert sentence == (
        "Of 6 wards, 2 are almost certainly above the average (higher risk) and 2 are almost "
        "certainly below it (lower risk); the other 2 cannot be told from it."
    )


def test_counts_of_one_and_none_are_said_as_such(make_results):
    one = {"q2.5": [0.1, -1, -1], "q97.5": [1, 1, 1]}
    assert "1 is almost certainly above" in main_answer(make_results([0.5] * 3, **one)).rest[0]
    assert (
        "none is almost certainly below it" in main_answer(make_results([0.5] * 3, **one)).rest[0]
    )
    none = {"q2.5": [-1.0] * 3, "q97.5": [1.0] * 3}
    sentence = main_answer(make_results([0.5] * 3, **none)).rest
    assert sentence == ("None of the 3 wards can be told from the average.",)


def test_what_was_never_compared_is_said_wherever_it_is_named(make_results):
    sentence = main_answer(make_results([0.99, 0.97, 0.1, 0.1], comparisons=[0, 5, 5, 0]))
    assert sentence.first.startswith("Ward A (never compared) and Ward B are almost certain")
    assert sentence.rest[0].startswith("Of 2 wards that were compared, 1 is almost certainly above")
    assert sentence.rest[1] == (
        "2 wards (Ward A and Ward D) were never compared; what is shown for them is no measurement."
    )


def test_of_many_that_were_never_compared_some_are_named(make_results):
    sentence = main_answer(make_results([0.1] * 20, comparisons=[0] * 19 + [9])).rest[1]
    assert sentence.startswith("19 wards (Ward A, Ward B, Ward C, Ward D, Ward E and 14 more) were")


def test_sets_never_compared_with_each_other_are_counted(make_results):
    """Pairs 1–2 and 3–4 share nobody; the fifth was not compared at all and is no set."""
    apart = main_answer(make_results([0.5] * 5, pairs=[(0, 1), (2, 3)], comparisons=[9] * 4 + [0]))
    assert "fall into 2 sets of wards that were never compared with each other" in apart.rest[-1]
    joined = main_answer(make_results([0.5] * 4, pairs=[(0, 1), (1, 2), (2, 3)]))
    assert not any("sets" in sentence for sentence in joined.rest)


def test_names_from_right_to_left_keep_to_themselves(make_results):
    """Without isolates the percentage of one would be read as that of the next."""
    sentence = main_answer(make_results([0.3, 0.3, 0.3], name=["שכונה", "حي", "Latin"])).first
    assert "\u2068שכונה\u2069 at 30 %, \u2068حي\u2069 at 30 % and Latin at 30 %" in sentence


def test_long_names_are_cut_in_a_sentence(make_results):
    sentence = main_answer(make_results([0.99, 0.1, 0.1], name=["x" * 200, "b", "c"])).first
    assert "x" * 200 not in sentence
    assert re.match(r"x{20,60}… is almost certain", sentence)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=3, max_size=12), st.integers(1, 2))
def test_no_claim_is_stronger_than_the_posterior(make_results, probabilities, top):
    """Read the sentence back: whoever is given a word has at least the chance it stands for."""
    names = [f"N{k}." for k in range(len(probabilities))]
    results = make_results(probabilities, wording=replace(RISK, top=top), name=names)
    sentence = main_answer(results).first
    clauses = re.split(r"; ", sentence) if not sentence.startswith("No ward") else []
    for clause in clauses:
        words = re.search(r" (?:is|are) (almost certain|very likely|likely)", clause)[1]
        for place in re.findall(r"N(\d+)\.", clause):
            assert probabilities[int(place)] >= LEAST[words]
    if not clauses:
        assert max(probabilities) < LEAST["likely"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(0, 2)), min_size=2, max_size=9))
def test_who_is_almost_certainly_above_has_the_whole_interval_above(make_results, ends):
    low = np.array([at - wide for at, wide in ends])
    high = np.array([at + wide for at, wide in ends])
    sentence = main_answer(make_results([0.1] * len(ends), **{"q2.5": low, "q97.5": high})).rest[0]
    above = re.search(r"(\d+|none) (?:is|are) almost certainly above", sentence)
    below = re.search(r"(\d+|none) (?:is|are) almost certainly below", sentence)
    counted = [0 if not match or match[1] == "none" else int(match[1]) for match in (above, below)]
    assert counted == [int((low > 0).sum()), int((high < 0).sum())]


# Who stands out.


def test_between_five_and_ten_stand_out(make_results):
    assert len(top_items(make_results([0.9, 0.9, *[0.01] * 18]))) == 5
    assert len(top_items(make_results([0.25] * 7 + [0.01] * 13))) == 7
    assert len(top_items(make_results([0.25] * 20))) == 10
    assert len(top_items(make_results([0.9, 0.1]))) == 2


def test_the_highest_estimate_stands_first_and_everybody_named_is_there(make_results):
    """One order everywhere, that of the estimates, whatever the chances."""
    results = make_results([0.3, 0.65, 0.1, 0.02, 0.03, 0.04, 0.61, 0.01])
    assert list(top_items(results)["item"]) == [f"i{k}" for k in range(1, 8)]
    assert main_answer(results).first.startswith("Ward B and Ward G are likely")


@pytest.mark.parametrize(
    ("part", "sentence", "way_out"),
    [
        ("answers", "The answers so far do not say which are the 2 wards with the highest risk.",
         "More comparisons are needed"),
        ("computation", "It cannot be said yet which are the 2 wards with the highest risk.",
         "Fit again"),
    ],
)  # fmt: skip
def test_without_a_headline_nobody_is_named_and_no_chance_is_given(
    make_results, part, sentence, way_out
):
    """However large the chances, and whatever side of the average intervals are on."""
    stop = VerdictPart("stop", "For a reason.")
    verdict = replace(GOOD, withheld=stop.text, top=2, **{part: stop})
    results = make_results([0.99, 0.98, 0.02, 0.01], facts={"verdict": verdict.to_dict()})
    answer = main_answer(results)
    assert answer.first == sentence
    assert answer.rest[0].startswith(way_out)
    assert "Ward" not in " ".join(answer.rest)
    assert not any(word in " ".join(answer.rest) for word in ("certain", "average", "%"))
    assert top_items(results).empty
    assert not has_top_probabilities(results)


def test_without_chances_the_highest_estimates_stand_out(make_results):
    results = make_results([np.nan] * 8)
    assert list(top_items(results)["item"]) == ["i1", "i2", "i3", "i4", "i5"]
    assert not has_top_probabilities(results)
    assert has_top_probabilities(make_results([0.5] * 8))
    assert not has_top_probabilities(make_results([1.0, 1.0]))
