"""Simulation-based calibration (Talts et al. 2018): ranks of the truth among draws are uniform."""

from __future__ import annotations

import numpy as np
from scipy import stats

from support.reference_formulas import LEVEL, assert_normal_scores

RANKS = 31
FAMILIES = 3
"""Calibrations of one engine, which share the level of a failure."""


def assert_uniform_ranks(ranks: np.ndarray) -> None:
    """Ranks (data sets, quantities): Kolmogorov–Smirnov, chi-square, and the first two moments."""
    number, quantities = ranks.shape
    jitter = np.random.default_rng(2).uniform(size=ranks.shape)
    share = (ranks + jitter) / (RANKS + 1)
    ks = [stats.kstest(column, "uniform").pvalue for column in share.T]
    bins = [np.histogram(column, 8, (0, 1))[0] for column in share.T]
    chi = [stats.chisquare(column).pvalue for column in bins]
    assert min(ks + chi) > LEVEL / (2 * quantities * FAMILIES)
    scores = stats.norm.ppf(share)
    moments = [scores.mean(axis=0), (scores**2 - 1).mean(axis=0) / np.sqrt(2)]
    assert_normal_scores(np.array(moments) * np.sqrt(number), LEVEL / FAMILIES)
