"""Sentences about a posterior: plain, whole, and never stronger than the numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.handmade_results import FACTS, RISK, results_of, table_of
from tiewise.geo.areas import Areas
from tiewise.report.answer import (
    Verdict,
    answer,
    begun,
    beware,
    borrowed,
    called,
    chance_words,
    labels,
    limits,
    listed,
    number,
    one_line,
    percent,
    ranked,
    scale_rows,
    standing_out,
    the_highest,
    verdict,
    what_was_done,
)
from tiewise.report.folder import About

TOP2 = replace(RISK, top=2)

LEAST = {
    "almost certain": 0.95, "very likely": 0.80, "likely": 0.60, "about as likely as not": 0.40,
    "unlikely": 0.20, "very unlikely": 0.05, "almost ruled out": 0.0,
}  # fmt: skip
"""The scale as the documentation prints it."""


@pytest.fixture
def told(tmp_path):
    """Results with these chances; every call has a folder of its own."""
    turns = count()

    def make(chances, *, about=TOP2, pairs=None, areas=None, facts=None, **columns):
        folder = tmp_path / str(next(turns))
        table = table_of(chances, **columns)
        return results_of(folder, table, about=about, pairs=pairs, areas=areas, **(facts or {}))

    return make


# The scale.


@pytest.mark.parametrize(("words", "least"), LEAST.items())
def test_the_words_change_exactly_at_the_stated_numbers(words, least):
    assert chance_words(least) == words
    if least > 0:
        assert chance_words(np.nextafter(least, 0)) != words


def test_a_chance_that_was_not_computed_has_no_word_of_the_scale():
    assert chance_words(np.nan) not in LEAST
    assert "%" not in percent(np.nan)


def test_the_printed_scale_is_the_scale():
    rows = scale_rows()
    assert [words for words, _ in rows] == list(LEAST)
    assert [span for _, span in rows] == [
        "95 % or more", "80 to 94 %", "60 to 79 %", "40 to 59 %", "20 to 39 %", "5 to 19 %",
        "below 5 %",
    ]  # fmt: skip


@given(st.floats(0, 1))
def test_a_percentage_lies_in_the_range_of_its_word(chance):
    """Nobody reads `very likely (95 %)` beside a scale on which 95 % is almost certain."""
    shown = percent(chance)
    if shown not in ("below 1 %", "above 99 %"):
        assert chance_words(int(shown.removesuffix(" %")) / 100) == chance_words(chance)
        assert abs(int(shown.removesuffix(" %")) - 100 * chance) < 1


@pytest.mark.parametrize(
    ("chance", "shown"),
    [
        (0, "below 1 %"), (0.0099, "below 1 %"), (0.01, "1 %"), (0.29, "29 %"), (0.5, "50 %"),
        (0.946, "94 %"), (0.95, "95 %"), (0.99, "99 %"), (0.9901, "above 99 %"), (1, "above 99 %"),
    ],
)  # fmt: skip
def test_nothing_is_impossible_and_nothing_certain(chance, shown):
    assert percent(chance) == shown


# Small words.


def test_numbers_agree_with_their_nouns():
    assert number(1, "judge") == "1 judge"
    assert number(0, "judge") == "0 judges"
    assert number(1204, "city", "cities") == "1,204 cities"


def test_names_are_listed_as_in_speech():
    assert listed([]) == ""
    assert listed(["A"]) == "A"
    assert listed(["A", "B"]) == "A and B"
    assert listed(["A", "B", "C"]) == "A, B and C"
    assert listed([str(k) for k in range(1204)], 2) == "0, 1 and 1,202 more"


def test_only_names_that_occur_twice_carry_the_id():
    table = table_of([0.5] * 3, name=["Kitonga", "Masaki", "Kitonga"])
    assert list(labels(table)) == ["Kitonga (i1)", "Masaki", "Kitonga (i3)"]


def test_names_that_are_alike_once_they_are_cut_carry_the_id():
    table = table_of([0.5] * 2, name=["Upper" * 20 + "A", "Upper" * 20 + "B"])
    assert list(labels(table)) == list(table["name"])
    assert list(labels(table, 12)) == ["UpperUpperU… (i1)", "UpperUpperU… (i2)"]


def test_a_bare_number_is_called_by_what_it_is():
    table = table_of([0.5] * 3, name=["12", "Masaki", "7-8"])
    assert list(called(table, RISK)) == ["ward 12", "Masaki", "ward 7-8"]
    assert begun("ward 12 is high", RISK) == "Ward 12 is high"
    assert begun("iPhone Lane is high", RISK) == "iPhone Lane is high"


def test_a_line_is_one_line():
    assert one_line("a\n b\t\x1b[31mc\x00") == "a b [31mc"
    assert one_line("abcdef", 6) == "abcdef"
    assert one_line("abcdefg", 6) == "abcde…"


# The answer.


def test_each_band_of_the_scale_has_its_own_clause(told):
    said = answer(told([0.99, 0.97, 0.85, 0.61, 0.59, 0.1])).first
    assert said == (
        "Ward A and Ward B are almost certain to be among the 2 wards with the highest risk; "
        "Ward C is very likely; Ward D is likely."
    )


def test_when_nobody_stands_out_the_answer_says_so(told):
    said = answer(told([0.34, 0.4, 0.3, 0.2])).first
    assert said == (
        "No ward can be named with confidence as one of the 2 wards with the highest risk. "
        "The nearest to it are Ward B at 40 %, Ward A at 34 % and Ward C at 30 %."
    )


@pytest.mark.parametrize(
    ("chances", "said"),
    [
        ([0.7, 0.3], "Ward A is likely to be the ward with the highest risk."),
        ([0.5, 0.5], "No ward can be named with confidence as the ward with the highest risk. "
                     "The nearest to it are Ward A at 50 % and Ward B at 50 %."),
    ],
)  # fmt: skip
def test_two_items_are_told_by_who_is_first(told, chances, said):
    assert answer(told(chances, about=replace(RISK, top=1))).first == said


def test_one_item_has_nothing_to_be_compared_with(told):
    said = answer(told([1.0], about=replace(RISK, top=1), pairs=[]))
    assert said == ("There is only one ward, so there is nothing to compare it with.", ())


def test_a_top_of_everybody_says_nothing(told):
    assert "says nothing" in answer(told([1.0, 1.0])).first


def test_a_point_estimate_names_the_highest_and_no_chance(told):
    said = answer(told([np.nan] * 4)).first
    assert said == (
        "The estimate is highest for Ward A and Ward B; how likely that is was not computed."
    )
    assert not any(word in said for word in ("certain", "probab", "%"))


@pytest.mark.parametrize(
    ("higher", "said"),
    [
        ("higher risk", "the 2 wards with the highest risk"),
        ("Higher risk of flooding", "the 2 wards with the highest risk of flooding"),
        ("better views", "the 2 wards with the best views"),
        ("more affluent", "the top 2 wards (more affluent)"),
        ("older", "the top 2 wards (older)"),
        ("better", "the top 2 wards (better)"),
    ],
)
def test_a_comparative_is_bent_only_where_it_can_be(higher, said):
    assert the_highest(replace(TOP2, higher=higher)) == said


def test_the_noun_can_have_a_plural_of_its_own():
    city = About(higher="higher rents", noun="city/cities", top=3)
    assert the_highest(city) == "the 3 cities with the highest rents"
    assert the_highest(replace(city, top=1)) == "the city with the highest rents"


def test_how_many_stand_apart_from_the_average_is_counted(told):
    """Six items from +2 to −2, with intervals of half a unit either way."""
    said = answer(told([0.5] * 6)).then[0]
    assert said == (
        "Of 6 wards, 2 are almost certainly above the average (higher risk) and 2 are almost "
        "certainly below it (lower risk); the other 2 cannot be told from it."
    )


def test_counts_of_one_and_none_are_said_as_such(told):
    one = {"q2.5": [0.1, -1, -1], "q97.5": [1, 1, 1]}
    assert "1 is almost certainly above" in answer(told([0.5] * 3, **one)).then[0]
    assert "none is almost certainly below it" in answer(told([0.5] * 3, **one)).then[0]
    none = {"q2.5": [-1.0] * 3, "q97.5": [1.0] * 3}
    said = answer(told([0.5] * 3, **none)).then
    assert said == ("None of the 3 wards can be told from the average.",)


def test_what_was_never_compared_is_said_wherever_it_is_named(told):
    said = answer(told([0.99, 0.97, 0.1, 0.1], comparisons=[0, 5, 5, 0]))
    assert said.first.startswith("Ward A (never compared) and Ward B are almost certain")
    assert said.then[0].startswith("Of 2 wards that were compared, 1 is almost certainly above")
    assert said.then[1] == (
        "2 wards (Ward A and Ward D) were never compared; what is shown for them is no measurement."
    )


def test_of_many_that_were_never_compared_some_are_named(told):
    said = answer(told([0.1] * 20, comparisons=[0] * 19 + [9])).then[1]
    assert said.startswith("19 wards (Ward A, Ward B, Ward C, Ward D, Ward E and 14 more) were")


def test_sets_never_compared_with_each_other_are_counted(told):
    """Pairs 1–2 and 3–4 share nobody; the fifth was not compared at all and is no set."""
    apart = answer(told([0.5] * 5, pairs=[(0, 1), (2, 3)], comparisons=[9] * 4 + [0]))
    assert "fall into 2 sets of wards that were never compared with each other" in apart.then[-1]
    joined = answer(told([0.5] * 4, pairs=[(0, 1), (1, 2), (2, 3)]))
    assert not any("sets" in sentence for sentence in joined.then)


def test_names_from_right_to_left_keep_to_themselves(told):
    """Without isolates the percentage of one would be read as that of the next."""
    said = answer(told([0.3, 0.3, 0.3], name=["שכונה", "حي", "Latin"])).first
    assert "\u2068שכונה\u2069 at 30 %, \u2068حي\u2069 at 30 % and Latin at 30 %" in said


def test_long_names_are_cut_in_a_sentence(told):
    said = answer(told([0.99, 0.1, 0.1], name=["x" * 200, "b", "c"])).first
    assert "x" * 200 not in said
    assert re.match(r"x{20,60}… is almost certain", said)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(st.floats(0, 1), min_size=3, max_size=12), st.integers(1, 2))
def test_no_claim_is_stronger_than_the_posterior(told, chances, top):
    """Read the sentence back: whoever is given a word has at least the chance it stands for."""
    size = len(chances)
    results = told(chances, about=replace(RISK, top=top), name=[f"N{k}." for k in range(size)])
    said = answer(results).first
    clauses = re.split(r"; ", said) if not said.startswith("No ward") else []
    for clause in clauses:
        words = re.search(r" (?:is|are) (almost certain|very likely|likely)", clause)[1]
        for place in re.findall(r"N(\d+)\.", clause):
            assert chances[int(place)] >= LEAST[words]
    if not clauses:
        assert max(chances) < LEAST["likely"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(0, 2)), min_size=2, max_size=9))
def test_who_is_almost_certainly_above_has_the_whole_interval_above(told, ends):
    low = np.array([at - wide for at, wide in ends])
    high = np.array([at + wide for at, wide in ends])
    said = answer(told([0.1] * len(ends), **{"q2.5": low, "q97.5": high})).then[0]
    above = re.search(r"(\d+|none) (?:is|are) almost certainly above", said)
    below = re.search(r"(\d+|none) (?:is|are) almost certainly below", said)
    counted = [0 if not found or found[1] == "none" else int(found[1]) for found in (above, below)]
    assert counted == [int((low > 0).sum()), int((high < 0).sum())]


# Who stands out.


def test_between_five_and_ten_stand_out(told):
    assert len(standing_out(told([0.9, 0.9, *[0.01] * 18]))) == 5
    assert len(standing_out(told([0.25] * 7 + [0.01] * 13))) == 7
    assert len(standing_out(told([0.25] * 20))) == 10
    assert len(standing_out(told([0.9, 0.1]))) == 2


def test_the_best_chance_stands_first_and_everybody_named_is_there(told):
    results = told([0.3, 0.65, 0.1, 0.02, 0.03, 0.04, 0.61, 0.01])
    assert list(standing_out(results)["item"]) == ["i2", "i7", "i1", "i3", "i6"]
    assert answer(results).first.startswith("Ward B and Ward G are likely")


def test_without_chances_the_highest_estimates_stand_out(told):
    results = told([np.nan] * 8)
    assert list(standing_out(results)["item"]) == ["i1", "i2", "i3", "i4", "i5"]
    assert not ranked(results)
    assert ranked(told([0.5] * 8))
    assert not ranked(told([1.0, 1.0]))


# How far to trust it.


@pytest.mark.parametrize(
    ("facts", "level", "warned"),
    [
        ({}, "good", ""),
        ({"rhat_max": 1.01, "ess_min": 400.0}, "good", ""),
        ({"rhat_max": 1.011}, "care", "Preliminary"),
        ({"ess_min": 399.0}, "care", "Preliminary"),
        ({"rhat_max": 1.05, "ess_min": 10.0}, "care", "Preliminary"),
        ({"rhat_max": 1.051}, "stop", "Do not use"),
        ({"rhat_max": None, "ess_min": None}, "stop", "Do not use"),
        ({"kind": "point"}, "care", "Preliminary"),
        ({"kind": "approximate", "engine_facts": {"health": "good", "k_hat": 0.1}}, "care",
         "Preliminary: a quick approximation."),
        ({"kind": "approximate", "engine_facts": {"health": "poor", "k_hat": 0.9}}, "stop",
         "Preliminary: a quick approximation, which fits poorly here."),
    ],
)  # fmt: skip
def test_the_verdict_follows_the_diagnostics(facts, level, warned):
    given_facts = FACTS | facts
    assert verdict(given_facts).level == level
    assert beware(given_facts).startswith(warned)
    assert (beware(given_facts) == "") is (level == "good")


def test_a_verdict_gives_its_reasons():
    good = verdict(FACTS)
    assert good == Verdict(
        "good", "The computation can be trusted.",
        ("Chains that began far apart tell the same story: largest R-hat 1.002, wanted below 1.01.",
         "The draws are worth at least 3000 independent ones; 400 would do."),
    )  # fmt: skip
    unknown = verdict(FACTS | {"rhat_max": None, "ess_min": None})
    assert all("nan" not in reason and "unknown" in reason for reason in unknown.reasons)
    poor = verdict(
        FACTS | {"kind": "approximate", "engine_facts": {"health": "poor", "k_hat": 0.9}}
    )
    assert "poor (Pareto k-hat 0.90)" in poor.reasons[0]


# What was done, and what it does not say.


def test_what_was_done_is_told_in_three_sentences(told):
    assert what_was_done(told([0.5] * 4)) == [
        "15 judges were shown pairs of wards and asked: Which ward has the higher risk?",
        "They gave 900 answers about 4 wards, 120 of them “about equal”.",
        "A statistical model (Bradley–Terry with ties) turned the answers into one scale, with a "
        "measure of how sure it is, taking neighbouring wards to be alike unless the answers say "
        "otherwise.",
    ]


def test_what_was_not_done_is_not_told(told):
    plain = {"quality": "independent qualities", "tie": "no ties"}
    one = what_was_done(told([0.5] * 4, facts={"judges": 1, "ties": 0, "model": plain}))
    assert one[0].startswith("1 judge was shown")
    assert one[1] == "They gave 900 answers about 4 wards."
    assert one[2] == (
        "A statistical model (Bradley–Terry) turned the answers into one scale, "
        "with a measure of how sure it is."
    )
    nobody = what_was_done(told([0.5] * 4, facts={"judges": None}))
    assert nobody[0].startswith("Judges were shown")
    own = what_was_done(told([0.5] * 4, facts={"model": {"prior": "gamma(1, 1)"}}))
    assert "neighbouring" not in own[2]


def test_the_limits_are_opinions_relations_and_uncertainty(told):
    said = limits(told([0.5] * 4))
    assert [sentence.split(":")[0] for sentence in said] == [
        "These are opinions", "They are relative", "They are uncertain",
    ]  # fmt: skip
    assert "how 15 judges saw these wards" in said[0]
    assert "how the judges saw" in limits(told([0.5] * 4, facts={"judges": None}))[0]


def test_of_areas_it_is_also_said_that_they_are_not_their_people(told):
    said = limits(told([0.5] * 4, areas=Areas.made_up(4, seed=1)))
    assert len(said) == 4
    assert "whole wards" in said[-1]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"quality": "network: 9 borders"}, "not compared: estimate borrowed from its neighbours"),
        ({"quality": "distance between areas: 5 km"},
         "not compared: estimate borrowed from wards believed to be like it"),
        ({"quality": "independent qualities"}, "not compared: nothing is known of it"),
        ({"prior": "gamma(1, 1)"}, "not compared: nothing is known of it"),
    ],
)  # fmt: skip
def test_an_estimate_is_borrowed_as_the_prior_has_it(told, model, words):
    assert borrowed(told([0.5] * 4, facts={"model": model})) == words
