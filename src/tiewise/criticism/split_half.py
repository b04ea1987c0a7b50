"""Reliability by halves and by errors: would other judges give the same results?

Judges are dealt into two halves at random, each half is fitted on its own, and the two sets of
estimates are correlated; many times over. Spearman and Brown's formula takes the correlation of
halves to that of wholes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from tiewise.criticism.judge_influence import fewer
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.fit import ENGINES, fit
from tiewise.posterior.judgement_record import Record
from tiewise.progress import Progress, no_progress

Floats = NDArray[np.float64]

FEWEST_JUDGES = 4
SPLITS = 50
DRAWS = 200
"""Of a quick fit: only its mean is used."""


@dataclass(frozen=True)
class Reliability:
    """How far the results would be the same again, each from 0 to 1; None where not known.

    `posterior`: the share of the variance of quality that is known. `separation`: scale separation
    reliability, from maximum likelihood. `halves`: of random halves of judges, the median and the
    middle 95 %. `consistency`: of pairs that a judge was asked again (`repeats`), the share
    answered alike.
    """

    posterior: float
    separation: float | None
    halves: float | None
    halves_low: float | None
    halves_high: float | None
    repeats: int
    consistency: float | None


class Halves(NamedTuple):
    """Split-half reliability over random halves of judges: median, and the middle 95 % of them."""

    reliability: float
    low: float
    high: float
    splits: int


def split_half(
    model: BradleyTerry,
    record: Record,
    *,
    splits: int = SPLITS,
    seed: int = 1,
    progress: Progress = no_progress,
) -> Halves | None:
    """Split-half reliability over judges; None with fewer than four of them."""
    there = np.unique(record.compared.judge)
    if len(there) < FEWEST_JUDGES:
        return None
    rng = default_rng([seed, 17])
    found = []
    for done in range(splits):
        progress("halves", done, splits)
        found.append(spearman_brown(_one_split(model, record, there, rng)))
    low, middle, high = np.quantile(found, (0.025, 0.5, 0.975))
    return Halves(float(middle), float(low), float(high), splits)


def _one_split(
    model: BradleyTerry, record: Record, there: NDArray[np.int64], rng: Generator
) -> float:
    """Correlation of the estimates from two random halves of the judges."""
    shuffled = rng.permutation(there)
    sizes = len(record.judges)
    estimates = []
    for half in (shuffled[: len(there) // 2], shuffled[len(there) // 2 :]):
        judges = np.isin(np.arange(sizes), half)
        engine: Any = ENGINES["laplace"]
        quick = engine(draws=DRAWS, weighted=False)
        tree = fit(fewer(model, record, judges), quick, seed=int(rng.integers(2**31)))
        quality = tree["posterior/quality"].to_numpy()[0]
        estimates.append((quality - quality.mean(axis=1, keepdims=True)).mean(axis=0))
    return float(np.corrcoef(*estimates)[0, 1])


def classical(model: BradleyTerry) -> float:
    """Scale separation reliability of estimates without a prior; NaN where some are not finite."""
    try:
        tree = fit(model, ENGINES["maximum-likelihood"](), seed=1)
    except InputError:  # items that won or lost everything, or were never compared
        return float("nan")
    estimate = tree["posterior/quality"].to_numpy()[0, 0]
    return scale_separation(estimate, tree["constant_data/standard_error"].to_numpy())


def scale_separation(estimate: Floats, error: Floats) -> float:
    """Scale separation reliability: the share of the variance of estimates that is not error.

    The classical figure, from estimates without a prior and their standard errors; 0 where errors
    explain all the differences, NaN where an estimate or an error is not finite.
    """
    if not (np.isfinite(estimate).all() and np.isfinite(error).all()) or len(estimate) < 2:
        return float("nan")
    spread = float(np.var(estimate, ddof=1))
    return max(1 - float(np.mean(error**2)) / spread, 0.0) if spread > 0 else 0.0


def spearman_brown(correlation: float) -> float:
    """Reliability of the whole from the correlation of its halves."""
    return 2 * correlation / (1 + correlation) if correlation > -1 else float("-inf")
