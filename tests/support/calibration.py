"""Simulation-based calibration (Talts et al. 2018): ranks of the truth among draws are uniform."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator, SeedSequence
from scipy import stats

from support.reference_formulas import LEVEL, assert_normal_scores
from tiewise.engines.base import EngineUnsuitable
from tiewise.engines.transport import PatientTransport, Transport
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.simulate import Truth
from tiewise.progress import no_progress

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


def transport_ranks(
    model: BradleyTerry, truth: Truth, quantities: Callable[..., np.ndarray], rng: Generator
) -> np.ndarray:
    """Where the truth of a model with terms ranks among the last draws of as many chains.

    `quantities` are of a model, qualities, thresholds, variances and terms, chains last.
    """
    settings = {"draws": 50 * (RANKS + 1), "chains": RANKS + 1, "threads": 1}
    seed = int(rng.integers(2**32))
    try:
        draws = Transport(**settings).run(model, SeedSequence(seed), no_progress)
    except EngineUnsuitable:
        draws = PatientTransport(**settings).run(model, SeedSequence(seed), no_progress)
    last = {key: np.moveaxis(value[:RANKS, -1], 0, -1) for key, value in draws.terms.items()}
    ours = quantities(
        model, draws.quality[:RANKS, -1].T, draws.tie[:RANKS, -1], draws.variance[:RANKS, -1], last
    )
    known = {key: np.asarray(truth.terms[key])[..., None] for key in last}
    at = truth.quality[:, None], np.array([truth.tie]), np.array([truth.variance])
    return (ours < quantities(model, *at, known)).sum(axis=1)
