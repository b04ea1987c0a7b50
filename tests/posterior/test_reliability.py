"""Reliability: what it says holds where the truth is known; and the words on whether to go on."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from numpy.random import SeedSequence

from tiewise.engines.transport import Transport
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.reliability import (
    more_needed,
    reliability,
    rounded,
    scale_separation,
    stopping_advice,
)
from tiewise.progress import no_progress

ITEMS = tuple(f"item {k}" for k in range(40))


def body(comparisons: int, reached: float, part: list[int] | None = None) -> dict:
    return {
        "items": ["a", "b", "c", "d"], "part": part or [0, 0, 0, 0], "reliability": reached,
        "answers": {"left": comparisons - 2, "right": 1, "tie": 1, "skip": 500},
    }  # fmt: skip


# The figure.


def test_it_is_known_variance_over_all_variance():
    """Means 3 and -3 (variance 9), each known to ±1 (variance 1): 9 of 10."""
    level = np.tile([5.0, -2.0], 5000)[:, None]  # a common level says nothing of differences
    wobble = np.repeat([1.0, -1.0], 5000)[:, None]
    draws = level + np.array([[3.0, -3.0]]) + wobble * np.array([[1.0, -1.0]])
    assert reliability(draws) == pytest.approx(0.9, abs=1e-3)


def test_draws_of_nothing_but_noise_have_no_reliability():
    draws = np.random.default_rng(3).normal(size=(50, 400))
    # Means of 50 draws differ by chance, with a variance of 1/50, which is not knowledge.
    assert reliability(draws) < 0.005
    assert reliability(np.zeros((10, 3))) == 0


def test_it_is_finite_whatever_the_draws():
    """One item, one draw of each, qualities that never differ."""
    for shape in ((100, 1), (1, 1), (1, 5), (2, 2)):
        assert 0 <= reliability(np.ones(shape)) <= 1
    assert reliability(np.random.default_rng(1).normal(size=(100, 1))) == 0


def test_the_classical_figure_is_finite_wherever_estimates_are():
    assert scale_separation(np.array([0.3]), np.array([0.2])) == 0
    assert scale_separation(np.zeros(4), np.zeros(4)) == 0
    assert scale_separation(np.zeros(4), np.ones(4)) == 0
    assert scale_separation(np.array([1.0, -1.0]), np.zeros(2)) == 1
    assert np.isnan(scale_separation(np.array([np.inf, 0.0]), np.ones(2)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prior", "comparisons"),
    [(prior, number) for prior in ("independent", "network") for number in (60, 200, 800)],
)
def test_it_agrees_with_the_squared_correlation_of_estimate_and_truth(comparisons, prior):
    """Over many studies, drawn from the prior that is fitted."""
    areas = Graph.from_areas(Areas.synthetic(40, rng=1))
    believed = Independent(ITEMS) if prior == "independent" else Network(areas)
    gaps = []
    for seed in range(40):
        rng = np.random.default_rng([seed, comparisons])
        truth = Truth.from_priors(believed, Fixed(2.0), Fixed(0.5), rng)
        counts = simulate_counts(truth, comparisons, rng)
        model = BradleyTerry(counts, believed, variance=Fixed(2.0), tie=Fixed(0.5))
        draws = Transport(draws=400).run(model, SeedSequence(seed), no_progress)
        quality = draws.quality.reshape(-1, 40)
        actual = np.corrcoef(quality.mean(axis=0), truth.quality)[0, 1] ** 2
        gaps.append(reliability(quality) - actual)
    error = np.std(gaps) / np.sqrt(len(gaps))
    # A ratio of means is not a mean of ratios: among 40 items that is worth up to 0.02.
    assert abs(np.mean(gaps)) < 3 * error + 0.02


# How many more.


def test_twice_the_comparisons_bring_a_half_to_two_thirds():
    """The textbook case of Spearman and Brown."""
    assert more_needed(0.5, 100, 2 / 3) == pytest.approx(100)
    assert more_needed(0.75, 300, 0.9) == pytest.approx(600)


def test_enough_needs_no_more_and_nothing_known_no_number():
    assert more_needed(0.8, 100, 0.8) == 0
    assert more_needed(0.0, 100, 0.8) == inf
    assert more_needed(0.5, 100, 1.0) == inf


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0.2, 1), (9.1, 10), (11, 11), (99.5, 100), (1200, 1200), (4213, 4300), (120_001, 130_000)],
)
def test_numbers_are_rounded_up_to_two_digits(number, expected):
    assert rounded(number) == expected


# The verdict.


def test_enough():
    advice = stopping_advice(body(400, 0.81), target=0.8)
    assert advice == (True, "Enough: reliability is 0.81, and 0.80 was wanted.", 0)


def test_not_yet_says_about_how_many_more():
    advice = stopping_advice(body(400, 0.5), target=0.8)
    assert advice.sentence == (
        "Not yet: reliability is 0.50, and 0.80 is wanted; about 1,200 more comparisons."
    )
    assert (advice.enough, advice.more) == (False, 1200)


def test_nearly_enough_is_not_rounded_up_to_enough():
    advice = stopping_advice(body(400, 0.7998), target=0.8)
    assert "is 0.79," in advice.sentence
    assert advice.more == 1
    assert advice.sentence.endswith("about 1 more comparison.")


def test_without_comparisons_or_with_few_no_number_is_given():
    assert stopping_advice(None, target=0.8) == (False, "Not yet: there are no comparisons.", None)
    advice = stopping_advice(body(3, 0.9), target=0.8)
    assert "too early" in advice.sentence
    assert (advice.enough, advice.more) == (False, None)
    hopeless = stopping_advice(body(400, 0.001), target=0.8)
    assert "too early" in hopeless.sentence
    assert hopeless.more is None


def test_sets_that_nobody_compared_are_never_enough():
    advice = stopping_advice(body(400, 0.99, part=[0, 0, 1, 1]), target=0.8)
    assert not advice.enough
    assert "2 sets" in advice.sentence


def test_an_item_that_nobody_compared_is_no_set():
    assert stopping_advice(body(400, 0.9, part=[0, 0, 0, 1]), target=0.8).enough
