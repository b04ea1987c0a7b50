"""Qualities of several questions side by side: their correlation, and a composite of them.

Both are made from posteriors of questions that were fitted apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

GRID = np.linspace(-0.999, 0.999, 1999)
"""Correlations at which the likelihood is computed."""
TAIL = 0.025
LEAST_ITEMS = 3
"""Items that both questions tell something of, below which nothing is said of a correlation."""
NORMAL_97_5 = 1.959963984540054


class Quality(NamedTuple):
    """Posterior means and standard deviations of the items, and the variance of quality, α².

    `is_mapped` says that neighbours on a map were taken to be alike beforehand.
    """

    mean: Floats
    sd: Floats
    variance: float
    is_mapped: bool = False

    @classmethod
    def of(
        cls, mean: ArrayLike, sd: ArrayLike, variance: float, *, is_mapped: bool = False
    ) -> Quality:
        """From any numbers."""
        numbers = np.asarray(mean, np.float64), np.asarray(sd, np.float64)
        return cls(*numbers, float(variance), is_mapped)


class Correlation(NamedTuple):
    """The correlation of two qualities: its posterior median and 95 % interval."""

    median: float
    low: float
    high: float


def quality_correlation(one: Quality, other: Quality) -> Correlation | None:
    """How the qualities of the same items by two questions go together; None where not known.

    That is so of too few items, and of a map: neighbours that are alike are no independent pairs,
    and what answers say of each cannot be told from its own standard deviation.

    The correlation of the estimates would be too small: each is drawn towards the average, and has
    an error of its own. Here what the answers say of an item is the quality plus an error of known
    size, the pairs of qualities are normal with the variances of either question, and every
    correlation is as likely as any other beforehand. Errors of two items, and of two questions, are
    taken to be independent.
    """
    if one.is_mapped or other.is_mapped:
        return None
    values, errors = zip(_without_prior(one), _without_prior(other), strict=True)
    known = np.isfinite(errors[0]) & np.isfinite(errors[1])
    if known.sum() < LEAST_ITEMS:
        return None
    x, y = (value[known] for value in values)
    a, b = one.variance + errors[0][known], other.variance + errors[1][known]
    cross = GRID[:, None] * np.sqrt(one.variance * other.variance)
    determinant = a * b - cross**2
    square = (b * x**2 - 2 * cross * x * y + a * y**2) / determinant
    log_likelihood = -0.5 * (np.log(determinant) + square).sum(axis=1)
    mass = np.exp(log_likelihood - log_likelihood.max())
    cumulated = np.cumsum(mass) / mass.sum()
    low, median, high = np.interp([TAIL, 0.5, 1 - TAIL], cumulated, GRID)
    return Correlation(float(median), float(low), float(high))


def _without_prior(quality: Quality) -> tuple[Floats, Floats]:
    """What the answers alone say of each item, and the variance of its error; ∞ for nothing."""
    precision = 1 / quality.sd**2 - 1 / quality.variance
    known = precision > 1e-6 / quality.variance
    error = np.full(len(quality.sd), np.inf)
    error[known] = 1 / precision[known]
    value = np.zeros(len(quality.sd))
    value[known] = quality.mean[known] / quality.sd[known] ** 2 * error[known]
    return value, error


class Composite(NamedTuple):
    """A weighted mean of standardised qualities, item by item, with 95 % intervals."""

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats


def composite(qualities: Sequence[Quality], weights: Sequence[float]) -> Composite:
    """The weighted mean of qualities, each in standard deviations of its own.

    A question whose answers are clearer than those of others then counts no more than its weight
    says. The questions were fitted apart: the variances of their estimates add up.
    """
    shares = np.asarray(weights, np.float64) / np.sum(weights)
    spread = [share / np.sqrt(one.variance) for share, one in zip(shares, qualities, strict=True)]
    mean = np.sum([k * one.mean for k, one in zip(spread, qualities, strict=True)], axis=0)
    variance = np.sum([(k * one.sd) ** 2 for k, one in zip(spread, qualities, strict=True)], axis=0)
    sd = np.sqrt(variance)
    return Composite(mean, sd, mean - NORMAL_97_5 * sd, mean + NORMAL_97_5 * sd)
