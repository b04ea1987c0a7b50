"""What a comparison is worth, against draws that are weighted by what a judge might answer."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm, spearmanr

from tiewise.model.likelihood import answer_probabilities
from tiewise.pairing.information import expected_variance_reduction, information

DRAWS = 200_000


def posterior(seed: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size)) * 0.5
    return rng.normal(size=size), root @ root.T + 0.1 * np.eye(size)


def draws_of(mean, covariance, seed=2) -> np.ndarray:
    return np.random.default_rng(seed).multivariate_normal(mean, covariance, size=DRAWS)


def ranks(quality: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(quality, axis=1), axis=1).astype(float)


def variance_lost(quality, target, pair, tie) -> float:
    """Variance of the target now, less its variance after an answer, averaged over answers."""
    gap = quality[:, pair[0]] - quality[:, pair[1]]
    after = 0.0
    for probability in answer_probabilities(gap, np.asarray(tie))[:: 1 if tie else 2]:
        weight = probability / probability.sum()
        middle = weight @ target
        after += probability.mean() * float((weight @ target**2 - middle**2).sum())
    return float(target.var(axis=0).sum()) - after


@pytest.mark.parametrize("tie", [0.0, 0.5, 2.0])
def test_worth_is_the_variance_that_a_refit_would_lose(tie):
    """Exactly so for qualities: a batch of draws, weighted, is the posterior after an answer."""
    mean, covariance = posterior(2, 5)
    info = expected_variance_reduction(mean, covariance, tie, of="qualities")
    batches = np.array_split(draws_of(mean, covariance), 20)
    for pair in combinations(range(5), 2):
        lost = [
            variance_lost(part, part - part.mean(axis=1, keepdims=True), pair, tie)
            for part in batches
        ]
        error = np.std(lost, ddof=1) / np.sqrt(len(lost))
        # Two parts in a thousand are for reading between the places of a table.
        assert abs(info[pair] - np.mean(lost)) < 4 * error + 0.002 * info[pair]


@pytest.mark.slow
def test_worth_in_ranks_orders_pairs_as_a_refit_would():
    """There it is the part of the loss that a straight line explains, so never much more."""
    mean, covariance = posterior(3, 8)
    info = expected_variance_reduction(mean, covariance, 0.5)
    quality = draws_of(mean, covariance)
    place = ranks(quality)
    pairs = list(combinations(range(8), 2))
    lost = np.array([variance_lost(quality, place, pair, 0.5) for pair in pairs])
    mine = np.array([info[pair] for pair in pairs])
    assert spearmanr(mine, lost).statistic > 0.95
    assert np.argmax(mine) in np.argsort(lost)[-3:]
    assert mine.sum() < 1.05 * lost.sum()


def test_information_is_the_integral_over_the_uncertain_difference():
    """Adaptive quadrature, with derivatives by finite differences, at places off the grid."""
    gaps, spreads = np.array([0.0, 0.37, 1.9, 5.2]), np.array([0.31, 1.27, 0.77, 2.9])
    info = information(gaps, spreads, 0.7)
    for gap, spread, value in zip(gaps, spreads, info, strict=True):
        expected = 0.0
        for k in range(3):

            def probability(d, k=k):
                return float(answer_probabilities(np.array(d), np.array(0.7))[k])

            def mean(g, probability=probability, spread=spread):
                ends = (g - 9 * spread, g + 9 * spread)
                return quad(lambda d: probability(d) * norm.pdf(d, g, spread), *ends, limit=200)[0]

            expected += ((mean(gap + 1e-3) - mean(gap - 1e-3)) / 2e-3) ** 2 / mean(gap)
        assert value == pytest.approx(expected, rel=0.01)


def test_information_is_fishers_where_the_difference_is_known():
    """Without ties that is the variance of the answer, σ(1 − σ)."""
    gap = np.linspace(0, 3, 7)
    sigma = 1 / (1 + np.exp(-gap))
    info = information(gap, np.full(7, 1e-4), 0.0)
    np.testing.assert_allclose(info, sigma * (1 - sigma), rtol=2e-3)


@pytest.mark.parametrize("cuts", [(0.6, 1.9), (0.0, 1.4), (0.4, 1.2, 2.5)])
def test_information_of_graded_answers_is_fishers_where_the_difference_is_known(cuts):
    """Σ P′² / P over five, four and seven answers, with differences of σ written out."""
    gap = np.linspace(0, 3, 7)
    sigma = [1 / (1 + np.exp(cut - gap)) for cut in sorted({*cuts, *(-cut for cut in cuts)})]
    above = [np.ones(7), *sigma, np.zeros(7)]
    slope = [own * (1 - own) for own in above]
    expected = sum(
        (slope[k] - slope[k + 1]) ** 2 / (above[k] - above[k + 1]) for k in range(len(above) - 1)
    )
    info = information(gap, np.full(7, 1e-4), np.array(cuts))
    np.testing.assert_allclose(info, expected, rtol=2e-3)
    assert (info > information(gap, np.full(7, 1e-4), cuts[0])).all()


def test_nobody_learns_from_a_foregone_conclusion():
    mean, covariance = np.array([0.0, 0.2, 40.0]), np.eye(3) * 0.25
    info = expected_variance_reduction(mean, covariance, 0.5, of="qualities")
    assert np.isfinite(info).all()
    assert info[0, 1] > 1e6 * info[0, 2]


def test_worth_is_of_pairs_and_not_of_sides():
    mean, covariance = posterior(5, 30)
    info = expected_variance_reduction(mean, covariance, 0.5)
    np.testing.assert_array_equal(info, info.T)
    assert (np.diag(info) == 0).all()
    order = np.random.default_rng(2).permutation(30)
    moved = expected_variance_reduction(mean[order], covariance[np.ix_(order, order)], 0.5)
    np.testing.assert_allclose(moved, info[np.ix_(order, order)], rtol=1e-9)


def test_the_common_level_is_of_no_account():
    """A posterior that does not know it is worth the same as one that does."""
    mean, covariance = posterior(7, 12)
    centre = np.eye(12) - 1 / 12
    for of in ("ranks", "qualities"):
        plain = expected_variance_reduction(centre @ mean, centre @ covariance @ centre, 0.5, of=of)
        np.testing.assert_allclose(
            expected_variance_reduction(mean + 3, covariance + 5, 0.5, of=of), plain, rtol=1e-6
        )


def test_items_that_are_known_to_be_alike_are_not_worth_comparing():
    """Two items that the prior holds together for good leave nothing to be learnt."""
    root = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    info = expected_variance_reduction(np.zeros(3), root @ root.T, 0.5)
    assert np.isfinite(info).all()
    assert info[0, 1] < 1e-3 * info[0, 2]
