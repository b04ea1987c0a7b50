"""Reliability by halves of judges and by standard errors, beside what is known to be true."""

from __future__ import annotations

import numpy as np
import pytest

from support.panel import crowd, fitted
from tiewise.criticism.split_half import (
    scale_separation,
    separation_reliability,
    spearman_brown,
    split_half,
)
from tiewise.data.counts import Counts
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors import Fixed
from tiewise.posterior.judgement_record import JudgementRecord

ITEMS = tuple(f"{k:02d}" for k in range(30))


def test_scale_separation_is_the_share_of_variance_that_is_not_error():
    estimate, error = np.array([-1.0, 0.0, 1.0]), np.array([0.3, 0.5, 0.4])
    assert scale_separation(estimate, error) == pytest.approx(1 - (0.09 + 0.25 + 0.16) / 3 / 1.0)
    assert scale_separation(estimate, 10 * error) == 0.0
    assert np.isnan(scale_separation(np.array([np.inf, 0.0]), error[:2]))


def test_two_halves_make_a_whole():
    """Spearman and Brown: halves that agree to 0.5 make a whole of 2/3."""
    assert spearman_brown(0.5) == pytest.approx(2 / 3)
    assert spearman_brown(1.0) == 1.0


def test_separation_is_not_known_where_an_item_won_every_time():
    counts = Counts.of(("a", "b", "c"), [0, 0, 1], [1, 2, 2], [3, 3, 1], [0, 0, 1], [0, 0, 1])
    assert np.isnan(separation_reliability(BradleyTerry(counts, variance=Fixed(1.0))))


def test_three_judges_cannot_be_halved():
    _, data = crowd(Independent(ITEMS), np.random.default_rng(1), good=3)
    model, _ = fitted(data, Independent(ITEMS), draws=200)
    assert split_half(model, JudgementRecord.from_comparisons(data, model.items), splits=3) is None


@pytest.mark.slow
def test_split_halves_agree_as_well_as_two_panels_would():
    """Half of another panel of the same truth agrees with half of this one to the same degree."""
    rng, prior = np.random.default_rng(5), Independent(ITEMS)
    truth, data = crowd(prior, rng, good=12, each=60, variance=1.5)
    model, tree = fitted(data, prior, draws=1000)
    result = split_half(model, JudgementRecord.from_comparisons(data, model.items), splits=30)
    quality = tree["posterior/quality"].to_numpy().reshape(-1, len(ITEMS))
    squared = np.corrcoef(quality.mean(axis=0), truth.quality)[0, 1] ** 2
    # Reliability is the squared correlation of estimates with the truth.
    spread = 3 * (1 - squared) / np.sqrt(len(ITEMS)) * 2
    assert result.low < result.reliability < result.high
    assert abs(result.reliability - squared) < spread
