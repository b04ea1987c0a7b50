"""Pilots: what is said after few comparisons holds as often as it says, over many truths.

Truths are drawn from the default priors (α half-normal with scale 2, δ half-normal with scale 1,
qualities independent), pairs at random, and judges could call ties.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from tiewise.criticism.claim import top_probability
from tiewise.criticism.verdict import verdict
from tiewise.model.build import build_model
from tiewise.model.prior_sets import DEFAULT_TIE, DEFAULT_VARIANCE
from tiewise.model.quality_priors import Independent
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.fit import fit
from tiewise.text import PROBABILITY_SCALE, probability_words

TOP = 5
NUMBERS = [
    pytest.param(40, marks=pytest.mark.slow),
    pytest.param(200, marks=[pytest.mark.slow, pytest.mark.thorough]),
]


class Pilot(NamedTuple):
    """One simulated study: by item whether its interval holds the truth, and what is said of it."""

    held: np.ndarray
    probability: np.ndarray
    highest: np.ndarray
    headline: bool
    cannot_say: str


def pilot(items: int, comparisons: int, seed: int) -> Pilot:
    rng = np.random.default_rng([14, items, seed])
    prior = Independent(tuple(str(k) for k in range(items)))
    truth = Truth.from_priors(prior, DEFAULT_VARIANCE, DEFAULT_TIE, rng)
    counts = simulate_counts(truth, comparisons, rng)
    # Sampling goes on by itself to refine the tails of α; these intervals do not need that.
    tree = fit(build_model(counts, ties=True), rng=seed, ess=0)
    draws = tree["posterior/quality"].to_numpy().reshape(-1, items)
    low, high = np.quantile(draws, (0.025, 0.975), axis=0)
    quality = truth.quality - truth.quality.mean()
    return Pilot(
        (low <= quality) & (quality <= high),
        top_probability(draws, TOP),
        np.isin(np.arange(items), np.argsort(-quality)[:TOP]),
        verdict(tree, top=TOP, checks=[]).headline,
        tree.attrs["cannot_say"],
    )


@pytest.mark.parametrize("number", NUMBERS)
def test_intervals_of_pilots_hold_what_they_say_and_nothing_is_claimed(number):
    """Twenty comparisons of fifty items."""
    pilots = [pilot(50, 20, seed) for seed in range(number)]
    # Intervals of one pilot hold together or fail together: one of each counts for the binomial.
    chosen = np.random.default_rng(1).integers(50, size=number)
    one = np.mean([study.held[k] for study, k in zip(pilots, chosen, strict=True)])
    assert abs(one - 0.95) < 3 * np.sqrt(0.95 * 0.05 / number)
    shares = np.array([study.held.mean() for study in pilots])
    assert abs(shares.mean() - 0.95) < 3 * shares.std(ddof=1) / np.sqrt(number)
    assert not any(study.headline for study in pilots)
    assert np.mean([bool(study.cannot_say) for study in pilots]) > 0.75


@pytest.mark.parametrize("number", NUMBERS)
def test_words_of_headlines_are_right_as_often_as_they_say(number):
    """Forty comparisons of ten items, where a headline is stated more often than not."""
    pilots = [study for study in (pilot(10, 40, seed) for seed in range(number)) if study.headline]
    assert len(pilots) > number / 3
    words = np.concatenate([[probability_words(p) for p in study.probability] for study in pilots])
    highest = np.concatenate([study.highest for study in pilots])
    for least, word in PROBABILITY_SCALE[:3]:
        right, stated = int(highest[words == word].sum()), int((words == word).sum())
        assert stated > number / 3
        # A word whose share of right ones were just what it says would fail once in a thousand.
        assert right >= stats.binom.ppf(0.001, stated, least), word
    if number == 200:
        assert highest[words == "very likely"].mean() >= 0.8


def test_a_pilot_of_twenty_comparisons_says_that_it_cannot_say():
    study = pilot(50, 20, 1)
    assert study.cannot_say == "semiorder"
    assert not study.headline
