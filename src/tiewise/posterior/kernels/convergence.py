"""Compiled loops of effective sample sizes and R-hat: one sort a parameter, and a pass or two.

Split chains are columns: an array (half, split chains) has the first halves of all chains, then
the second halves.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tiewise.model.kernels import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_LAGS = 64
"""Lags beyond which autocovariances by Fourier transform are quicker."""


@compiled
def split_places(chains: int, number: int) -> Integers:
    """Where each draw (chains, draws) lies among those of split chains; −1 for the middle one."""
    half, columns = number // 2, 2 * chains
    out = np.full(chains * number, -1)
    for c in range(chains):
        for t in range(half):
            out[c * number + t] = t * columns + c
            out[c * number + number - half + t] = t * columns + chains + c
    return out


@compiled
def parameter_worth(
    rows: Floats, order: Integers, chains: int, number: int, scores_of: Floats, tails: Floats
) -> tuple[Floats, Floats]:
    """Effective sizes (parameters, 3) and moments (parameters, 2, 2, split chains) of draws.

    `rows` are draws (parameters, chains · draws), `order` sorts each, `scores_of` has the normal
    score of each twice-rank. Sizes are that of the bulk and of being below each of two quantiles,
    −1 where more than `MOST_LAGS` matter. Moments are means and variances of normal scores, and of
    those of distances from the median.
    """
    half, columns = number // 2, 2 * chains
    size = half * columns
    place = split_places(chains, number)
    sizes, moments = np.empty((rows.shape[0], 3)), np.empty((rows.shape[0], 2, 2, columns))
    value, where = np.empty(size), np.empty(size, np.int64)
    distance, from_where = np.empty(size), np.empty(size, np.int64)
    scores = np.empty((half, columns))
    flat = scores.reshape(-1)
    for k in range(rows.shape[0]):
        n = 0
        for i in order[k]:
            if place[i] >= 0:
                value[n], where[n] = rows[k, i], place[i]
                n += 1
        _fill_scores(value, where, scores_of, flat)
        _moments(scores, moments[k, 0])
        sizes[k, 0] = _effective(scores)
        for side in range(tails.size):
            end = _quantile(rows[k], order[k], tails[side])
            for i in range(size):
                flat[where[i]] = 1.0 if value[i] <= end else 0.0
            sizes[k, 1 + side] = _effective(scores)
        _fold(value, where, distance, from_where)
        _fill_scores(distance, from_where, scores_of, flat)
        _moments(scores, moments[k, 1])
    return sizes, moments


@compiled
def _quantile(row: Floats, order: Integers, probability: float) -> float:
    """A quantile, linear between neighbours."""
    at = probability * (row.size - 1)
    low = math.floor(at)
    share, one = at - low, row[order[low]]
    two = row[order[min(low + 1, row.size - 1)]]
    if share >= 0.5:
        return float(two - (two - one) * (1.0 - share))
    return float(one + (two - one) * share)


@compiled
def _fill_scores(value: Floats, where: Integers, scores_of: Floats, out: Floats) -> None:
    """Normal scores of the ranks of sorted values; equal ones share the middle rank."""
    start = 0
    while start < value.size:
        stop = start
        while stop + 1 < value.size and value[stop + 1] == value[start]:
            stop += 1
        for i in range(start, stop + 1):
            out[where[i]] = scores_of[start + stop + 2]
        start = stop + 1


@compiled
def _fold(value: Floats, where: Integers, distance: Floats, from_where: Integers) -> None:
    """Distances of sorted values from their median, sorted: two runs are merged."""
    size = value.size
    middle = (value[size // 2 - 1] + value[size // 2]) / 2
    right = 0
    while right < size and value[right] < middle:
        right += 1
    left = right - 1
    for i in range(size):
        below = abs(value[left] - middle) if left >= 0 else math.inf
        above = abs(value[right] - middle) if right < size else math.inf
        if below < above:
            distance[i], from_where[i] = below, where[left]
            left -= 1
        else:
            distance[i], from_where[i] = above, where[right]
            right += 1


@compiled
def _moments(draws: Floats, out: Floats) -> None:
    """Mean and variance of every column."""
    number = draws.shape[0]
    out[:] = 0.0
    for t in range(number):
        for c in range(draws.shape[1]):
            out[0, c] += draws[t, c] / number
    for t in range(number):
        for c in range(draws.shape[1]):
            out[1, c] += (draws[t, c] - out[0, c]) ** 2 / (number - 1)


@compiled
def _covariance(centred: Floats, lag: int) -> float:
    """Autocovariance at a lag, averaged over columns."""
    number, columns = centred.shape
    total = np.zeros(columns)
    for t in range(number - lag):
        one, two = centred[t], centred[t + lag]
        for c in range(columns):
            total[c] += one[c] * two[c]
    return float(total.sum() / (number * columns))


@compiled
def _effective(draws: Floats) -> float:
    """Effective sample size by Geyer's monotone sequence, lag by lag; −1 where it takes many."""
    number, columns = draws.shape
    moments = np.empty((2, columns))
    _moments(draws, moments)
    centred = draws - moments[0]
    spread = _covariance(centred, 0)
    total = spread + (moments[0].var() * columns / (columns - 1))
    if not total > 0:
        return math.nan
    within = spread * number / (number - 1)
    least, falling, even, positive = math.inf, 0.0, 1.0, 0
    while positive < max((number - 3) // 2, 1):
        if 2 * positive + 1 > MOST_LAGS:
            return -1.0
        odd = 1.0 - (within - _covariance(centred, 2 * positive + 1)) / total
        if not even + odd > 0:
            break
        least = min(least, even + odd)
        falling += least
        positive += 1
        lag = min(2 * positive, number - 1)
        even = 1.0 - (within - _covariance(centred, lag)) / total
    tau = 2.0 * falling - 1.0 + max(even, 0.0)
    size = number * columns
    return float(size / max(tau, 1.0 / math.log10(size)))
