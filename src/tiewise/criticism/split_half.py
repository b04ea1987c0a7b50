"""Split-half reliability over judges, and scale separation reliability.

Judges are split into two halves at random, each half is fitted on its own, and the two sets of
estimates are correlated; many times over. The Spearman-Brown formula turns the correlation of
halves into the reliability of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from tiewise.criticism.judge_influence import restrict_to_judges
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.fit import fit, make_engine
from tiewise.posterior.judgement_record import JudgementRecord
from tiewise.progress import Progress, no_progress
from tiewise.randomness import RNGLike, as_seed

Floats = NDArray[np.float64]

MIN_JUDGES = 4
SPLITS = 50
DRAWS = 200
"""Draws of each fit, of which only the mean is used."""


@dataclass(frozen=True)
class ReliabilityFigures:
    """Measures of reliability, each from 0 to 1; None where not known.

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


class SplitHalf(NamedTuple):
    """Split-half reliability over random halves of judges: median, and the middle 95 % of them."""

    reliability: float
    low: float
    high: float
    splits: int


def split_half(
    model: BradleyTerry,
    record: JudgementRecord,
    *,
    splits: int = SPLITS,
    rng: RNGLike = 1,
    progress: Progress = no_progress,
) -> SplitHalf | None:
    """Split-half reliability over judges; None with fewer than four of them."""
    judges = np.unique(record.compared.judge)
    if len(judges) < MIN_JUDGES:
        return None
    generator = default_rng([as_seed(rng), 17])
    reliabilities = []
    for done in range(splits):
        progress("halves", done, splits)
        reliabilities.append(spearman_brown(_one_split(model, record, judges, generator)))
    low, middle, high = np.quantile(reliabilities, (0.025, 0.5, 0.975))
    return SplitHalf(float(middle), float(low), float(high), splits)


def _one_split(
    model: BradleyTerry, record: JudgementRecord, judges: NDArray[np.int64], rng: Generator
) -> float:
    """Correlation of the estimates from two random halves of the judges."""
    shuffled = rng.permutation(judges)
    middle = len(judges) // 2
    estimates = []
    for half in (shuffled[:middle], shuffled[middle:]):
        included = np.isin(np.arange(len(record.judges)), half)
        quick = make_engine("laplace", draws=DRAWS, weighted=False)
        tree = fit(restrict_to_judges(model, record, included), quick, rng=int(rng.integers(2**31)))
        quality = tree["posterior/quality"].to_numpy()[0]
        estimates.append((quality - quality.mean(axis=1, keepdims=True)).mean(axis=0))
    return float(np.corrcoef(*estimates)[0, 1])


def separation_reliability(model: BradleyTerry) -> float:
    """Scale separation reliability by maximum likelihood; NaN where estimates are not finite."""
    try:
        tree = fit(model, make_engine("maximum-likelihood"), rng=1)
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
