"""Plans with graded answers: what an answer tells, simulated crowds, words and commands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy.integrate import quad
from scipy.stats import chisquare, norm

from support.reference_formulas import LEVEL
from tiewise.data.answers import grade_probabilities
from tiewise.data.counts import Counts
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.planning import search
from tiewise.planning.answer_information import (
    fisher_information,
    information_by_answers,
    random_pair_information,
)
from tiewise.planning.crowd import Crowd, counts_by_size, graded_approximation
from tiewise.planning.design import StudyDesign
from tiewise.planning.plan import Plan, Requirement
from tiewise.planning.plan_study import plan_study
from tiewise.planning.sentences import sentences
from tiewise.progress import no_progress

ITEMS = tuple(str(k + 1) for k in range(12))
SMALL = StudyDesign(items=ITEMS, per_judge=20)
FIVE = replace(SMALL, levels=2)


# What an answer tells.


def information_of_a_random_pair(cuts: list[float], variance: float) -> float:
    """Σ (dP/dg)² / P over the answers, differences by hand, integrated over g ~ N(0, 2α²)."""

    def above(g: float, cut: float) -> float:
        return 1 / (1 + np.exp(cut - g))

    def at(g: float) -> float:
        ends = sorted({-cut for cut in cuts} | set(cuts))
        total, h = 0.0, 1e-4
        for low, high in zip([-np.inf, *ends], [*ends, np.inf], strict=True):
            here, up, down = (above(x, low) - above(x, high) for x in (g, g + h, g - h))
            total += ((up - down) / (2 * h)) ** 2 / here
        return total

    density = norm(scale=np.sqrt(2 * variance)).pdf
    return quad(lambda g: at(g) * density(g), -12, 12, limit=200)[0]


@pytest.mark.parametrize(
    ("levels", "tie", "known"), [(1, 0.0, 0.165), (1, 0.5, 0.21), (2, 0.5, 0.28), (2, 0.0, 0.255)]
)
def test_the_information_of_a_random_pair(levels, tie, known):
    design = replace(SMALL, levels=levels, tie=tie)
    ours = random_pair_information(design, design.cuts)
    assert ours == pytest.approx(information_of_a_random_pair(list(design.cuts), 1.5), rel=1e-5)
    assert ours == pytest.approx(known, abs=0.003)


def test_many_answers_tell_a_third():
    """That of a logistic variable that is seen itself."""
    gap = np.linspace(-3, 3, 7)
    many = fisher_information(gap, np.linspace(0.005, 14, 1400))
    assert many == pytest.approx(np.full(7, 1 / 3), abs=1e-4)


def test_more_answers_tell_more():
    by_number = [
        random_pair_information(one, one.cuts)
        for one in (replace(SMALL, levels=k // 2, tie=0.5 * (k % 2)) for k in range(2, 8))
    ]
    assert all(np.diff(by_number) > 0)
    assert set(information_by_answers(FIVE)) == {2, 3, 5}


# A simulated crowd.


@pytest.mark.parametrize("answers", [5, 4])
def test_a_crowd_answers_as_the_cuts_say(answers):
    """Of two items with a known gap, every share of grades; 4 answers have no middle."""
    tie = 0.5 if answers % 2 else 0.0
    items = ("a", "b")
    truth = Truth(items, np.array([0.4, -0.4]), tie, 1.0, {"cut": np.array([tie, tie + 1])})
    crowd = Crowd((items,), 1, 3000)
    rng = np.random.default_rng(3)
    (_, counts), = counts_by_size(crowd, truth, [3000], rng, prior=SMALL.prior)  # fmt: skip
    assert counts.levels == 2
    one, two = counts.strengths[0]
    seen = np.array([*one[::-1], counts.ties[0], *two])
    expected = grade_probabilities(0.8, truth.terms["cut"])
    offered = expected > 0
    assert not seen[~offered].any()
    assert chisquare(seen[offered], 3000 * expected[offered]).pvalue > LEVEL


def test_the_approximation_of_a_graded_study_is_that_of_its_posterior():
    """With a map whose share is inferred; means and covariances of well-known qualities."""
    rng, graph = np.random.default_rng(4), Graph.grid(3, 3)
    truth = Truth(graph.items, rng.normal(size=9), 0.5, 1.0, {"cut": np.array([0.5, 1.5])})
    model = BradleyTerry(simulate_counts(truth, 600, rng), Network(graph))
    ours, known = graded_approximation(model, None)
    draws = Transport(3000).run(model, SeedSequence(5), no_progress)
    quality = (draws.quality - draws.quality.mean(axis=-1, keepdims=True)).reshape(-1, 9)
    centring = np.eye(9) - 1 / 9
    sd = quality.std(axis=0)
    assert np.abs(centring @ ours.mean - quality.mean(axis=0)).max() < 0.2 * sd.min()
    difference = centring @ ours.covariance @ centring - np.cov(quality.T)
    assert np.abs(difference).max() < 0.15 * sd.max() ** 2
    assert ours.tie == pytest.approx(draws.terms["cut"].mean(axis=(0, 1)), abs=0.03)
    assert known[0] == 600
    again, still = graded_approximation(model, (590, known[1]))
    assert still == (590, known[1])
    assert again.mean == pytest.approx(ours.mean, abs=0.05)


def test_informative_pairs_are_chosen_by_graded_answers():
    design = replace(FIVE, policy="informative", judges=4)
    truth = design.truth(np.random.default_rng(6))
    sizes = counts_by_size(
        design.crowd, truth, [12, 24], np.random.default_rng(7), prior=design.prior
    )
    counts = [one for _, one in sizes]
    assert [one.comparisons for one in counts] == [12, 24]
    assert [one.levels for one in counts] == [2, 2]


# Designs and words.


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"levels": 4}, r"1 to 3 levels \(2 to 7 answers\)"),
        ({"levels": 2, "step": 0.0}, "step between cuts"),
        (
            {"before": Counts.of(ITEMS, [0], [1], [1], [0], strengths=[[[1, 0], [0, 0]]])},
            "have 2 strengths of choice, and the design 1; say levels=2",
        ),
    ],
)
def test_designs_that_cannot_be_are_refused(change, says):
    with pytest.raises(InputError, match=says):
        replace(SMALL, **change)


def test_a_design_knows_its_answers():
    numbers = {(one.answers, tuple(one.cuts)) for one in (SMALL, FIVE, replace(FIVE, tie=0.0))}
    assert numbers == {(3, (0.5,)), (5, (0.5, 1.75)), (4, (0.0, 1.25))}
    assert "answers" not in SMALL.settings()
    assert FIVE.settings() | {"answers": 5, "step": 1.25} == FIVE.settings()


def plan_of(design: StudyDesign) -> Plan:
    """A plan that needs 1,000 comparisons."""
    need = Requirement("independent", 1000, 950, 1050, 0.02, {}, np.nan)
    need = need._replace(measures={"rank_error": type("", (), {"value": np.nan})()})
    reach = {"each": 20.0, "most": 2000.0, "all": np.inf}
    return Plan(design, 0.8, 0.03, 1, {"independent": need}, (), {}, reach, ())


def test_a_plan_says_what_graded_answers_save():
    text = " ".join(sentences(plan_of(FIVE)))
    worth = information_by_answers(FIVE)
    saved = {n: round(1000 * worth[5] / worth[n], -2) for n in (3, 2)}
    ratio = f"{worth[5] / worth[3]:.2f} times as much as with 3"
    assert f"With 5 answers a comparison of two items at random says {ratio}" in text
    assert f"would take about {saved[3]:,.0f} comparisons with 3 answers" in text
    assert f"and about {saved[2]:,.0f} comparisons with 2 answers" in text
    assert "step between cuts 1.25" in text
    plain = " ".join(sentences(plan_of(SMALL)))
    assert "Fisher" not in plain
    assert "step between cuts" not in plain


@pytest.fixture
def few_scouts(monkeypatch):
    monkeypatch.setattr(search, "SCOUT_STUDIES", 2)
    monkeypatch.setattr(search, "SURVEY_SIZES", 4)


@pytest.mark.slow
def test_a_graded_study_that_runs_is_planned(few_scouts):
    """Cuts are drawn from the posterior, and simulated answers have the grades of the real ones.

    What is asked for is well within reach, as the few simulated studies know it only roughly.
    """
    truth = FIVE.truth(np.random.default_rng(8))
    before = simulate_counts(truth, 25, np.random.default_rng(9))
    design = replace(FIVE, before=before, judges=5)
    plan = plan_study(design, reliability=0.6, precision=0.5, rng=1)
    assert not plan.failed
    need = plan.requirements["independent"]
    assert need is not None
    assert need.comparisons > 0
    assert 0 < plan.current_reliability["independent"] < 0.6
    assert any("25 comparisons" in sentence for sentence in sentences(plan))


@pytest.mark.slow
@pytest.mark.thorough
def test_graded_answers_save_what_their_information_says():
    """The number needed with five answers, against three: in the ratio of information."""
    needs = {
        one.answers: plan_study(one, reliability=0.8, precision=0.04, rng=2).requirements
        for one in (replace(SMALL, judges=8), replace(FIVE, judges=8))
    }
    three, five = (needs[k]["independent"] for k in (3, 5))
    worth = information_by_answers(FIVE)
    error = np.hypot(three.error, five.error)
    # Information at the truth leaves out what α, δ and cuts cost, which is little and alike.
    assert abs(np.log(three.comparisons / five.comparisons / (worth[5] / worth[3]))) < 4 * error
