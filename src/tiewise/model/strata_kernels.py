"""The stratified likelihood: its loops over rows, where strata have effects of their own.

Every loop runs over (row, chain). Shifts, sharpnesses and thresholds are matrices (strata, chains),
and the gap that goes into `kernels.margins` is a · (λᵢ − λⱼ + shift). Rows come sorted by stratum,
so that what belongs to one stays in the processor's cache.

Every gap needs its own exponential here, because sharpness makes products of e^λ useless. Where all
gaps are less than `MAX_GAP` that exponential is a polynomial, squared six times: unlike the
library's it can be computed for several chains at once.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tiewise.model.kernels import (
    BIG,
    LOG_BIG,
    MOST_FACTORS,
    SMALL,
    compiled,
    complement,
    inlined,
    log_sigmoid,
    margins,
)

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_GAP = 24.0

_margins = inlined(margins)


@inlined
def _exp(x: float) -> float:
    """eˣ for |x| < 24, to within 10⁻¹³ of itself: the Taylor polynomial of e^{x/64}, squared."""
    y = x * (1.0 / 64.0)
    p = 1.0 / 3628800.0 + y * (1.0 / 39916800.0 + y * (1.0 / 479001600.0))
    p = 1.0 / 5040.0 + y * (1.0 / 40320.0 + y * (1.0 / 362880.0 + y * p))
    p = 1.0 / 24.0 + y * (1.0 / 120.0 + y * (1.0 / 720.0 + y * p))
    p = 1.0 + y * (1.0 + y * (0.5 + y * (1.0 / 6.0 + y * p)))
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    return p


def _is_close(quality: Floats, shift: Floats, sharpness: Floats, tie: Floats) -> bool:
    """Whether no gap, threshold added, can be as far as `MAX_GAP`."""
    widest = quality.max(axis=0) - quality.min(axis=0) + np.abs(shift).max(axis=0)
    return bool((sharpness.max(axis=0) * widest + tie.max(axis=0) < MAX_GAP).all())


def stratum_log_likelihood(
    first: Integers,
    second: Integers,
    stratum: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: Floats,
    shift: Floats,
    sharpness: Floats,
    tie: Floats,
) -> Floats:
    """Σ s log σ(margin) for each chain; the thresholds' own factors are left to the caller."""
    loop = _close_stratum_value if _is_close(quality, shift, sharpness, tie) else _any_stratum_value
    return loop(first, second, stratum, s_first, s_second, quality, shift, sharpness, tie)


def stratum_gradient(
    first: Integers,
    second: Integers,
    stratum: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: Floats,
    shift: Floats,
    sharpness: Floats,
    tie: Floats,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Its derivatives by quality, by shift, by the logarithm of sharpness, and by threshold."""
    loop = (
        _close_stratum_gradient
        if _is_close(quality, shift, sharpness, tie)
        else _any_stratum_gradient
    )
    return loop(first, second, stratum, s_first, s_second, quality, shift, sharpness, tie)


@compiled
def _any_stratum_value(
    first: Integers,
    second: Integers,
    stratum: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: Floats,
    shift: Floats,
    sharpness: Floats,
    tie: Floats,
) -> Floats:
    """`stratum_log_likelihood` for any gap."""
    total = np.zeros(quality.shape[1])
    for r in range(first.size):
        i, j, s = first[r], second[r], stratum[r]
        for c in range(total.size):
            gap = sharpness[s, c] * (quality[i, c] - quality[j, c] + shift[s, c])
            ahead, behind = _margins(gap, tie[s, c])
            total[c] += s_first[r] * log_sigmoid(ahead) + s_second[r] * log_sigmoid(behind)
    return total


@compiled
def _any_stratum_gradient(
    first: Integers,
    second: Integers,
    stratum: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: Floats,
    shift: Floats,
    sharpness: Floats,
    tie: Floats,
) -> tuple[Floats, Floats, Floats, Floats]:
    """`stratum_gradient` for any gap."""
    by_quality, by_shift = np.zeros(quality.shape), np.zeros(tie.shape)
    by_sharpness, by_tie = np.zeros(tie.shape), np.zeros(tie.shape)
    for r in range(first.size):
        i, j, s = first[r], second[r], stratum[r]
        for c in range(quality.shape[1]):
            gap = sharpness[s, c] * (quality[i, c] - quality[j, c] + shift[s, c])
            ahead, behind = _margins(gap, tie[s, c])
            up, down = s_first[r] * complement(ahead), s_second[r] * complement(behind)
            by_sharpness[s, c] += (up - down) * gap
            by_tie[s, c] -= up + down
            flow = (up - down) * sharpness[s, c]
            by_shift[s, c] += flow
            by_quality[i, c] += flow
            by_quality[j, c] -= flow
    return by_quality, by_shift, by_sharpness, by_tie


@compiled
def _close_stratum_gradient(
    first: Integers,
    second: Integers,
    stratum: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: Floats,
    shift: Floats,
    sharpness: Floats,
    tie: Floats,
) -> tuple[Floats, Floats, Floats, Floats]:
    """`stratum_gradient` with one division per row, and no call that prevents vectorisation."""
    by_quality, by_shift = np.zeros(quality.shape), np.zeros(tie.shape)
    by_sharpness, by_tie = np.zeros(tie.shape), np.zeros(tie.shape)
    close, wide, flow = np.exp(-tie), np.exp(tie), np.empty(quality.shape[1])
    for r in range(first.size):
        s, f, b = stratum[r], s_first[r], s_second[r]
        one, two, sharp, aside = quality[first[r]], quality[second[r]], sharpness[s], shift[s]
        near, far, of_sharpness, of_tie = close[s], wide[s], by_sharpness[s], by_tie[s]
        for c in range(flow.size):
            gap = sharp[c] * (one[c] - two[c] + aside[c])
            e = _exp(gap)
            odds = e * far[c]
            ahead, behind = 1.0 + e * near[c], 1.0 + odds
            share = 1.0 / (ahead * behind)
            up, down = f * behind * share, b * odds * ahead * share
            of_sharpness[c] += (up - down) * gap
            of_tie[c] -= up + down
            flow[c] = (up - down) * sharp[c]
        of_shift, gain, loss = by_shift[s], by_quality[first[r]], by_quality[second[r]]
        for c in range(flow.size):
            of_shift[c] += flow[c]
        for c in range(flow.size):
            gain[c] += flow[c]
        for c in range(flow.size):
            loss[c] -= flow[c]
    return by_quality, by_shift, by_sharpness, by_tie


@compiled
def _close_stratum_value(
    first: Integers,
    second: Integers,
    stratum: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: Floats,
    shift: Floats,
    sharpness: Floats,
    tie: Floats,
) -> Floats:
    """`stratum_log_likelihood` as the logarithm of one long product per chain."""
    number = quality.shape[1]
    close, wide, exp_gap = np.exp(-tie), np.exp(tie), np.empty(number)
    total, product, carried = np.zeros(number), np.ones(number), np.zeros(number)
    for r in range(first.size):
        s, f, b = stratum[r], s_first[r], s_second[r]
        one, two, sharp, aside = quality[first[r]], quality[second[r]], sharpness[s], shift[s]
        near, far, own = close[s], wide[s], tie[s]
        for c in range(number):
            gap = sharp[c] * (one[c] - two[c] + aside[c])
            exp_gap[c] = _exp(gap)
            total[c] += f * (gap - own[c])
        if f + b > MOST_FACTORS or f != math.floor(f) or b != math.floor(b):
            for c in range(number):
                total[c] -= f * math.log1p(exp_gap[c] * near[c]) + b * math.log1p(
                    exp_gap[c] * far[c]
                )
            continue
        for k in range(int(f + b)):
            side = near if k < f else far
            for c in range(number):
                raised = product[c] * (1.0 + exp_gap[c] * side[c])
                over = raised > BIG
                product[c] = raised * SMALL if over else raised
                carried[c] += 1.0 if over else 0.0
    for c in range(number):
        total[c] -= math.log(product[c]) + carried[c] * LOG_BIG
    return total


@compiled
def stratum_negative_hessian(
    first: Integers,
    second: Integers,
    stratum: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: Floats,
    shift: Floats,
    sharpness: Floats,
    tie: Floats,
) -> tuple[Floats, Floats, Floats]:
    """The gap of each row of one chain, and minus the second derivatives by it.

    By the gap twice, which is also by the threshold twice; and by gap and threshold.
    """
    gaps, weight, cross = np.empty(first.size), np.empty(first.size), np.empty(first.size)
    for r in range(first.size):
        s = stratum[r]
        gap = sharpness[s] * (quality[first[r]] - quality[second[r]] + shift[s])
        ahead, behind = _margins(gap, tie[s])
        rest_first, rest_second = complement(ahead), complement(behind)
        up, down = (
            s_first[r] * rest_first * (1.0 - rest_first),
            s_second[r] * rest_second * (1.0 - rest_second),
        )
        gaps[r], weight[r], cross[r] = gap, up + down, down - up
    return gaps, weight, cross
