"""The verdict on a fit: each part follows its facts, and the whole is green only if all are."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from xarray import Dataset, DataTree

from support.report_studies import made_up_tree
from tiewise.criticism.claim import leading_claim, top_probability
from tiewise.criticism.predictive_checks import Check
from tiewise.criticism.verdict import LEVELS, Verdict, tree_checks, verdict
from tiewise.criticism.verdict_parts import (
    CANNOT_SAY,
    THRESHOLDS,
    VerdictPart,
    VerdictThresholds,
    answers_part,
    computation_part,
    model_part,
)
from tiewise.data.counts import Counts
from tiewise.engines.laplace import Laplace
from tiewise.engines.transport import Transport
from tiewise.model.anchors.anchors import Anchors
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.fit import fit

PAGE = Path(__file__).parents[2] / "docs" / "verdict.md"
SOUND = {"kind": "exact", "rhat_max": 1.002, "ess_min": 3000.0}
ITEMS = tuple("abcdefgh")


def simulated(comparisons: int, *, seed: int = 1, spread: float = 1.5, items=ITEMS) -> Counts:
    rng = np.random.default_rng(seed)
    quality = spread * np.linspace(1.5, -1.5, len(items))
    return simulate_counts(Truth(items, quality, 0.4, spread**2), comparisons, rng)


def check(key: str, p: float) -> Check:
    return Check(key, "", "", 0.0, 0.0, 0.0, 0.0, p)


# The whole.


@pytest.mark.parametrize("levels", list(product(LEVELS, repeat=3)))
def test_it_is_as_good_as_its_worst_part(levels):
    whole = Verdict(*(VerdictPart(level, "A sentence.", ("A reason.",)) for level in levels))
    assert whole.level == max(levels, key=("good", "care", "stop").index)
    assert (whole.text == "These results can be trusted.") is (set(levels) == {"good"})
    assert Verdict.from_dict(whole.to_dict()) == whole


def test_a_study_of_many_answers_is_green_and_the_same_again():
    # R-hat of fewer draws wavers about its limit.
    tree = fit(BradleyTerry(simulated(600)), Transport(draws=1600), rng=1)
    first = verdict(tree)
    assert [part.level for part in first.parts] == ["good"] * 3
    assert first.headline
    assert verdict(tree) == first == verdict(tree, checks=tree_checks(tree))
    few = verdict(tree, draws=100, judgements=300)
    assert [part.text for part in few.parts] == [part.text for part in first.parts]


# The computation.


@pytest.mark.parametrize(
    ("facts", "level"),
    [
        ({}, "good"),
        ({"rhat_max": 1.0099, "ess_min": 400.0}, "good"),
        ({"rhat_max": 1.011}, "care"),
        ({"ess_min": 399.0}, "care"),
        ({"rhat_max": 1.05, "ess_min": 100.0}, "care"),
        ({"ess_min": 99.0}, "stop"),
        ({"rhat_max": 1.051}, "stop"),
        ({"rhat_max": np.nan, "ess_min": np.nan}, "stop"),
        ({"kind": "point"}, "care"),
        ({"kind": "approximate", "engine_health": "good", "engine_k_hat": 0.1}, "care"),
        ({"kind": "approximate", "engine_health": "poor", "engine_k_hat": 0.9}, "stop"),
    ],
)  # fmt: skip
def test_the_computation_follows_its_diagnostics(facts, level):
    assert computation_part(SOUND | facts).level == level


def test_the_computation_gives_its_reasons():
    part = computation_part(SOUND | {"ess_min": 120.0, "ess_cause": "Because of a heavy tail."})
    assert "R-hat 1.002" in part.reasons[0]
    assert "worth at least 120" in part.reasons[1]
    assert part.reasons[2] == "Because of a heavy tail."
    unknown = computation_part(SOUND | {"rhat_max": np.nan, "ess_min": np.nan})
    assert all("nan" not in reason and "unknown" in reason for reason in unknown.reasons)
    poor = {"kind": "approximate", "engine_health": "poor", "engine_k_hat": 0.9}
    assert "poorly (Pareto k-hat 0.90)" in computation_part(poor).reasons[0]


def test_draws_that_have_not_settled_withhold_the_headline():
    tree = fit(BradleyTerry(simulated(600)), Transport(draws=640), rng=1)
    tree.attrs["rhat_max"] = 1.2
    result = verdict(tree)
    assert result.level == "stop"
    assert result.withheld == result.computation.text


# The answers.


def answers(tree, **attributes) -> VerdictPart:
    tree.attrs.update(attributes)
    return answers_part(tree, leading_claim(tree, 3))


@pytest.mark.parametrize("why", sorted(CANNOT_SAY))
def test_answers_that_cannot_say_withhold_the_headline(why):
    tree = fit(BradleyTerry(simulated(600)), Transport(draws=640), rng=1)
    tree.attrs["cannot_say"] = why
    result = verdict(tree)
    assert result.answers.level == "stop"
    assert result.withheld == CANNOT_SAY[why]


def test_one_comparison_is_no_headline():
    for engine in (Transport(draws=640), Laplace(draws=400)):
        counts = Counts.of(("a", "b"), [0], [1], [1], [0], [0])
        result = verdict(fit(BradleyTerry(counts), engine, rng=1))
        assert (result.level, result.headline) == ("stop", False)


def test_fewer_comparisons_than_items_are_no_headline():
    """However clearly one item won all of them."""
    items = tuple(f"i{k}" for k in range(20))
    counts = Counts.of(items, [0, 1, 2], [1, 2, 0], [9, 3, 1], [0, 1, 2], [1, 1, 1])
    tree = fit(BradleyTerry(counts), Transport(draws=640), rng=1)
    assert "fewer comparisons than items" in verdict(tree).withheld


def draws_of(quality: np.ndarray, size: int = 6):
    """A tree with these draws (chains, draws, items) and enough comparisons."""
    tree = made_up_tree(size)
    tree["posterior"] = (
        tree["posterior"].to_dataset().assign(quality=(["chain", "draw", "item"], quality))
    )
    return tree


@pytest.mark.parametrize(("error", "level"), [(0.2, "good"), (1.2, "stop")])
def test_what_is_mostly_the_prior_is_not_claimed(error, level):
    """Estimates one apart with this error: the prior's share is error² over all variance."""
    rng = np.random.default_rng(3)
    centre = np.linspace(2.5, -2.5, 6)[[0, 3, 1, 5, 2, 4]] / 2
    quality = centre + error * rng.normal(size=(4, 50, 6))
    tree = draws_of(quality)
    claim = leading_claim(tree, 3)
    spread = centre.var() + error**2 * (1 - 1 / 6)
    assert claim.prior_share == pytest.approx(error * np.sqrt(1 - 1 / 6) / np.sqrt(spread), rel=0.1)
    assert answers(tree).level == level


def test_the_claim_is_about_those_who_would_be_named():
    """A rarely compared item that nobody would name takes nothing from the others."""
    rng = np.random.default_rng(4)
    error = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 2.0])
    quality = np.array([3.0, 2.0, 1.0, -1.0, -2.0, -3.0]) + error * rng.normal(size=(4, 50, 6))
    claim = leading_claim(draws_of(quality), 2)
    assert claim.named.tolist() == [True, True, False, False, False, False]
    assert claim.prior_share < 0.3


def test_a_claim_that_moves_with_the_prior_is_none():
    """Draws whose leading difference is the log prior itself move with it; others do not."""
    rng = np.random.default_rng(5)
    quality = np.array([2.0, 1.0, 0.5, -0.5, -1.0, -2.0]) + 0.3 * rng.normal(size=(4, 50, 6))
    for coupling, moved in ((0.0, False), (1.0, True)):
        tree = draws_of(quality)
        difference = (quality[..., 0] - quality.mean(-1)) / quality.std(-1)
        scales = 0.3 * rng.normal(size=(4, 50)) + coupling * difference / difference.std()
        tree["log_prior"] = DataTree(Dataset({"scales": (["chain", "draw"], scales)}))
        claim = leading_claim(tree, 1)
        assert (claim.prior_sensitivity > THRESHOLDS.prior_sensitivity) is moved
        assert (answers_part(tree, claim).level == "stop") is moved


@pytest.mark.parametrize(
    ("reliability", "words"),
    [(0.85, "The answers suffice."), (0.7, "tell the ends of the list apart"),
     (0.4, "say little yet")],
)  # fmt: skip
def test_reliability_is_said_in_words(reliability, words):
    tree = made_up_tree(6)
    claim = leading_claim(tree, 3)._replace(reliability=reliability, prior_share=0.3)
    part = answers_part(tree, claim)
    assert words in part.text
    assert (part.level == "good") is (reliability >= 0.8)


def test_sets_that_were_never_compared_and_items_without_comparisons_take_care():
    apart = Counts.of(ITEMS[:6], [0, 0, 1, 3, 3, 4], [1, 2, 2, 4, 5, 5], [9] * 6, [3] * 6, [2] * 6)
    tree = fit(BradleyTerry(apart), Transport(draws=640), rng=1)
    assert "2 sets that nobody compared" in answers_part(tree, _sure(tree)).text
    alone = Counts.of(ITEMS[:4], [0, 0, 1], [1, 2, 2], [9] * 3, [3] * 3, [2] * 3)
    tree = fit(BradleyTerry(alone), Transport(draws=640), rng=1)
    part = answers_part(tree, _sure(tree))
    assert (part.level, "one item was never compared" in part.text) == ("care", True)


def _sure(tree):
    return leading_claim(tree, 1)._replace(reliability=0.9, prior_share=0.2, prior_sensitivity=0.01)


def test_the_probability_of_the_top_is_counted():
    rng = np.random.default_rng(6)
    draws = rng.normal(size=(700, 9))
    for top in (1, 4, 8, 9):
        ranks = (-draws).argsort(axis=1).argsort(axis=1)
        assert top_probability(draws, top) == pytest.approx((ranks < top).mean(axis=0))


# The model.


def test_the_model_follows_the_checks():
    fine = [check("ties", 0.4), check("wins", 0.03)]
    assert model_part(fine, 100).level == "good"
    assert "unusual (about 3 of 100" in model_part(fine, 100).reasons[1]
    against = model_part(fine, 100, "the earlier study")
    assert (against.level, against.text) == ("care", "The answers contradict the earlier study.")
    assert model_part(fine, 5, "the anchors").text.endswith(" The answers contradict the anchors.")
    missed = model_part([*fine, check("triads", 0.001), check("judges", 0.002)], 100)
    assert missed.level == "care"
    assert "circles" in missed.text
    assert "how judges use “about equal”" in missed.text
    assert model_part([], 100).level == "care"
    assert model_part(fine, 29).level == "care"


# The thresholds.


def test_the_page_has_every_threshold_as_it_is():
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+)[^|]*\|", PAGE.read_text(encoding="utf-8"), re.M)
    assert {name: float(value) for name, value in rows} == {
        field.name: getattr(THRESHOLDS, field.name) for field in fields(VerdictThresholds)
    }


def test_another_threshold_is_another_verdict():
    """The table is what decides, not a number beside it."""
    assert replace(THRESHOLDS, rare=0.2) != THRESHOLDS


VALUES = np.array([1.0, 0.5, 0.3, -0.3, -0.5, -1.0])


def anchored(answers_each: int, *, linked: bool) -> DataTree:
    """Six anchors of sd 0.05, or a link as sure, and every pair answered as often both ways."""
    one, two = np.triu_indices(6, 1)
    each = np.full(15, answers_each)
    precision = (np.eye(6) - 1 / 6) / 0.05**2
    known = {"precision": precision} if linked else {"sd": np.full(6, 0.05)}
    model = BradleyTerry(
        Counts.of(ITEMS[:6], one, two, each, each), tie=None, variance=Fixed(1.0),
        anchors=Anchors(ITEMS[:6], VALUES, **known),
    )  # fmt: skip
    return fit(model, Laplace(draws=2000), rng=1)


@pytest.mark.parametrize("linked", [False, True])
def test_answers_do_not_suffice_where_anchors_say_it_all(linked):
    """Answers that cancel each other out add little; twenty thousand as sure as anchors do add."""
    # Of differences, anchors know 1 / 0.05², the prior 1: its sd with these alone, written out.
    before = np.sqrt((1 - 1 / 6) / (1 + 1 / 0.05**2))
    tree = anchored(1, linked=linked)
    np.testing.assert_allclose(tree["constant_data/sd_by_anchors"], before)
    part, claim = answers_part(tree, leading_claim(tree, 1)), leading_claim(tree, 1)
    assert claim.anchor_share > 0.9
    assert part.level == "care"
    words = "the earlier study says" if linked else "the anchors say"
    assert part.text == f"This is what {words}: the answers add little to it yet."
    assert not any("before any answer" in reason for reason in part.reasons)
    # An answer about equal items knows 1/4 of a difference: six items, 2 · 700 answers a pair.
    tree = anchored(700, linked=linked)
    claim = leading_claim(tree, 1)
    expected = np.sqrt((1 + 400) / (1 + 400 + 6 * 1400 / 4))
    assert claim.anchor_share == pytest.approx(expected, rel=0.1)
    assert answers_part(tree, claim).text == "The answers suffice."
