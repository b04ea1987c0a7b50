"""Graded answers in the likelihood: every answer written out longhand beside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from support.reference_formulas import DIFFERENCE, derivative, rao_kupper_probabilities
from tiewise.data.answers import grade_probabilities
from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import LikelihoodArguments
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.half_normal import HalfNormal
from tiewise.model.simulate import Truth, replicate_counts, simulate_counts
from tiewise.model.terms import Order, Sharpness, Thresholds

ITEMS = tuple("abcde")
JUDGES = ("p", "q", "r")
# Rows: first, second, judge, side (0 first, 1 second, None tie), strength from 1.
Row = tuple[int, int, int, int | None, int]


def graded_rows(number: int, levels: int, *, ties: bool, seed: int = 1) -> list[Row]:
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for _ in range(number):
        first, second = rng.permutation(len(ITEMS))[:2]
        side = int(rng.integers(3 if ties else 2))
        strength = 0 if side == 2 else int(rng.integers(1, levels + 1))
        judge = int(rng.integers(len(JUDGES)))
        rows.append((int(first), int(second), judge, None if side == 2 else side, strength))
    return rows


def count(rows: list[Row], levels: int, *, ordered: bool = True) -> Counts:
    strengths = np.zeros((len(rows), 2, levels), int)
    for k, (_, _, _, side, strength) in enumerate(rows):
        if side is not None:
            strengths[k, side, strength - 1] = 1
    tied = [side is None for *_, side, _ in rows]
    first, second, judge = np.array([row[:3] for row in rows]).T
    return Counts.of(
        ITEMS, first, second, strengths[:, 0].sum(axis=1), strengths[:, 1].sum(axis=1), tied,
        stratum=judge, strata=JUDGES, ordered=ordered, strengths=strengths,
    )  # fmt: skip


def answer_probability(gap: float, cuts: np.ndarray, side: int | None, strength: int) -> float:
    """The probability of one answer, as a difference of two distribution functions."""
    low, high = -cuts[0], cuts[0]
    if side is not None:
        gap = gap if side == 0 else -gap
        low, high = cuts[strength - 1], cuts[strength] if strength < len(cuts) else np.inf
    # Of small numbers, not of two that are nearly 1.
    if gap < (low + min(high, low + 1)) / 2:
        return float(expit(gap - low) - expit(gap - high))
    return float(expit(high - gap) - expit(low - gap))


def longhand(rows: list[Row], quality, cuts, order=0.0, sharpness=None, scale=None) -> float:
    total = 0.0
    for first, second, judge, side, strength in rows:
        sharp = 1.0 if sharpness is None else sharpness[judge]
        own = cuts if scale is None else cuts * scale[judge]
        gap = sharp * (quality[first] - quality[second] + order)
        total += np.log(answer_probability(gap, own, side, strength))
    return total


numbers = st.floats(-2, 2)


@given(
    st.lists(numbers, min_size=5, max_size=5),
    st.lists(st.floats(0.05, 2), min_size=3, max_size=3),
    st.integers(2, 3),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_likelihood_is_that_of_every_answer_by_itself(quality, steps, levels, ties):
    rows = graded_rows(40, levels, ties=ties)
    cuts = np.cumsum(steps[:levels]) - (0.0 if ties else steps[0])
    model = BradleyTerry(count(rows, levels, ordered=False), **({} if ties else {"tie": None}))
    at = model.design.arguments(np.array(quality)[:, None], cuts[:1], {"cut": cuts[:, None]})
    ours = model.design.likelihood.log_likelihood(at)[0]
    assert ours == pytest.approx(longhand(rows, quality, cuts), rel=5e-12, abs=5e-12)


@pytest.mark.parametrize("levels", [2, 3])
def test_sharpness_order_and_judges_thresholds_are_those_of_the_formula(levels):
    """Sharpness multiplies the gap and not the cuts, which a judge's threshold scales."""
    rng, rows = np.random.default_rng(3), graded_rows(60, levels, ties=True)
    model = BradleyTerry(count(rows, levels), terms=(Order(), Sharpness(), Thresholds()))
    quality, cuts = rng.normal(size=5), np.cumsum(rng.uniform(0.2, 1, levels))
    sharpness, scale = np.exp(rng.normal(0, 0.4, (2, 3)))
    terms = {
        "cut": cuts[:, None], "order": np.array([[0.3]]), "sharpness": sharpness[:, None],
        "threshold": (cuts[0] * scale)[:, None],
    }  # fmt: skip
    at = model.design.arguments(quality[:, None], cuts[:1], terms)
    ours = model.design.likelihood.log_likelihood(at)[0]
    assert ours == pytest.approx(longhand(rows, quality, cuts, 0.3, sharpness, scale), rel=5e-12)


def flat(at: LikelihoodArguments) -> np.ndarray:
    return np.concatenate([part[:, 0] for part in at])


def unflat(vector: np.ndarray) -> LikelihoodArguments:
    return LikelihoodArguments(*(part[:, None] for part in np.split(vector, [5, 8, 11])))


@pytest.mark.parametrize("levels", [2, 3])
def test_slopes_and_bends_are_derivatives(levels):
    rng, rows = np.random.default_rng(4), graded_rows(60, levels, ties=True)
    terms = (Order(), Sharpness(), Thresholds())
    likelihood = BradleyTerry(count(rows, levels), terms=terms).design.likelihood
    point = np.concatenate([rng.normal(0, 0.5, 11), rng.uniform(0.3, 1, 3 * levels)])
    slopes = derivative(lambda p: likelihood.log_likelihood(unflat(p))[0], point)
    assert np.allclose(flat(likelihood.gradient(unflat(point))), slopes, atol=100 * DIFFERENCE)
    hessian = -derivative(lambda p: flat(likelihood.gradient(unflat(p))), point)
    ours = likelihood.negative_hessian(unflat(point))
    assert np.allclose(hessian[:5, :5], ours.laplacians[0], atol=1e-6)
    by_tie = hessian[11:, :5].reshape(levels, 3, 5)
    assert np.allclose(by_tie, ours.tie, atol=1e-6)
    assert np.allclose(hessian[5:8, 5:8], np.diag(ours.shift_shift), atol=1e-6)
    both = hessian[11:, 11:].reshape(levels, 3, levels, 3)
    assert np.allclose(np.einsum("sjtj->stj", both), ours.tie_tie, atol=1e-6)
    shift = hessian[5:8, 11:].reshape(3, levels, 3)
    assert np.allclose(np.einsum("jsj->sj", shift), ours.shift_tie, atol=1e-6)


@given(st.floats(-30, 30), st.lists(st.floats(0.01, 5), min_size=1, max_size=3), st.booleans())
@settings(max_examples=100, deadline=None)
def test_probabilities_of_grades_are_differences_and_add_up(gap, steps, ties):
    cuts = np.cumsum(steps) - (0.0 if ties else steps[0])
    ours = grade_probabilities(np.array(gap), cuts)
    levels = len(cuts)
    sides = [(0, k) for k in range(levels, 0, -1)] + [(None, 0)]
    sides += [(1, k) for k in range(1, levels + 1)]
    direct = [answer_probability(gap, cuts, *side) for side in sides]
    assert np.allclose(ours, direct, rtol=0, atol=1e-12)
    assert ours.sum() == pytest.approx(1)
    assert (ours >= 0).all()


@pytest.mark.parametrize(
    ("levels", "correlation", "sd"),
    [(1, 0.27, (0.41, 0.52)), (2, 0.48, (0.35, 0.29)), (3, 0.58, (0.32, 0.23))],
)
def test_a_judges_sharpness_and_threshold_are_told_apart_as_docs_say(levels, correlation, sd):
    """Fisher information of 20 answers about both logarithms, random pairs, by differences."""
    spread, step = np.sqrt(2 * 1.5), 1e-5
    gap = np.linspace(-4 * spread, 4 * spread, 2001)
    weight = np.exp(-((gap / spread) ** 2) / 2)
    cuts = (0.5 + np.arange(levels))[:, None] * np.ones(len(gap))

    def shares(sharpness, threshold):
        return grade_probabilities(np.exp(sharpness) * gap, np.exp(threshold) * cuts)

    slopes = [(shares(*move) - shares(*-move)) / (2 * step) for move in step * np.eye(2)]
    information = [
        [20 * (one * two / shares(0, 0)).sum(axis=0) @ weight / weight.sum() for one in slopes]
        for two in slopes
    ]
    covariance = np.linalg.inv(information)
    own = np.sqrt(np.diag(covariance))
    assert covariance[0, 1] / own.prod() == pytest.approx(correlation, abs=0.006)
    assert own == pytest.approx(sd, abs=0.006)


def test_three_answers_are_those_of_rao_and_kupper():
    ours = grade_probabilities(np.array(0.7), np.array([0.4]))
    theirs = rao_kupper_probabilities(1.0, 0.3, 0.4)
    assert ours == pytest.approx([theirs["first"], theirs["tie"], theirs["second"]])


def test_pairs_that_are_turned_turn_their_grades():
    strengths = [[[1, 2], [3, 0]], [[0, 1], [5, 5]]]
    counts = Counts.of("ab", [0, 1], [1, 0], [3, 1], [3, 10], [1, 2], strengths=strengths)
    assert counts.strengths.tolist() == [[[6, 7], [3, 1]]]
    assert (counts.wins_first[0], counts.wins_second[0], counts.ties[0]) == (13, 4, 3)
    assert counts.levels == 2
    twice = counts + counts
    assert (twice.strengths == 2 * counts.strengths).all()
    assert counts.ungraded().levels == 1
    assert counts != counts.ungraded()
    with pytest.raises(InputError, match="strengths cannot be added"):
        counts + counts.ungraded()
    with pytest.raises(InputError, match="do not add up"):
        Counts.of("ab", [0], [1], [3], [3], strengths=[[[1, 1], [3, 0]]])


def test_far_apart_slopes_in_single_precision_are_those_in_double():
    """Qualities and an upper cut beyond what a polynomial and single precision can hold."""
    counts = Counts.of("ab", [0], [1], [3], [1], [1], strengths=[[[2, 1], [1, 0]]])
    likelihood = BradleyTerry(counts).design.likelihood
    tie, zero = np.array([[1.0], [45.0]]), np.zeros((1, 1))
    at = LikelihoodArguments(np.array([[46.0], [0.0]]), zero, zero, tie)
    double = likelihood.gradient(at)
    single = likelihood.gradient(at._replace(quality=at.quality.astype(np.float32)))
    assert single.quality[:, 0] == pytest.approx(double.quality[:, 0], rel=1e-4)
    assert single.tie[:, 0] == pytest.approx(double.tie[:, 0], rel=1e-4)


def test_one_way_to_choose_is_no_grade_and_nothing_can_be_counted():
    plain = Counts.of("ab", [0], [1], [3], [2], [1])
    assert Counts.of("ab", [0], [1], [3], [2], [1], strengths=[[[3], [2]]]) == plain
    empty = Counts.of("ab", [], [], [], [], strengths=np.empty((0, 2, 2)))
    assert (empty.levels, empty.comparisons) == (2, 0)


def test_strata_and_items_keep_their_grades():
    rows = graded_rows(50, 2, ties=True)
    counts = count(rows, 2)
    assert counts.within(["q"]).strengths.sum() == sum(
        side is not None for _, _, judge, side, _ in rows if judge == 1
    )
    assert counts.pooled().strengths.sum() == counts.strengths.sum()
    assert counts.over((*ITEMS, "f")).strengths.sum() == counts.strengths.sum()
    assert counts.without_ties().strengths.sum() == counts.strengths.sum()


def test_simulated_grades_have_the_shares_of_their_probabilities():
    truth = Truth(("a", "b"), np.array([0.5, -0.2]), 0.4, 1.0, {"cut": np.array([0.4, 1.1, 2.0])})
    pairs = np.zeros(40_000, int), np.ones(40_000, int)
    counts = simulate_counts(truth, 40_000, np.random.default_rng(5), pairs)
    expected = 40_000 * grade_probabilities(np.array(0.7), truth.terms["cut"])
    first, second = counts.strengths[0]
    seen = np.array([*first[::-1], counts.ties[0], *second])
    # Pearson's statistic of seven classes exceeds 22.5 once in a thousand times.
    assert ((seen - expected) ** 2 / expected).sum() < 22.5
    again = replicate_counts(BradleyTerry(counts), truth, np.random.default_rng(6))
    assert again.comparisons == 40_000
    first, second = again.strengths[0]
    seen = np.array([*first[::-1], again.ties[0], *second])
    assert ((seen - expected) ** 2 / expected).sum() < 22.5


def test_each_step_may_have_a_prior_of_its_own():
    counts = count(graded_rows(20, 3, ties=True), 3)
    assert BradleyTerry(counts, step=Exponential(1.0)).steps == (Exponential(1.0),) * 2
    own = (Exponential(1.0), HalfNormal(3.0))
    assert BradleyTerry(counts, step=own).steps == own
    with pytest.raises(InputError, match="3 priors of steps came, and the answers have 2"):
        BradleyTerry(counts, step=(*own, HalfNormal(1.0)))
