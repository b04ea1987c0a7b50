"""The stratified likelihood: its loops over rows, where strata have effects of their own.

Every loop runs over (row, chain). Shifts, sharpnesses and thresholds are matrices (strata, chains),
and the gap that goes into `kernels.margins` is a · (λᵢ − λⱼ + shift). Rows come sorted by stratum,
so that what belongs to one stays in the processor's cache.

Every gap needs its own exponential here, because sharpness makes products of e^λ useless. In strata
whose gaps are all less than `MAX_GAP` it is a polynomial, squared seven times: unlike the library's
it can be computed for several chains at once.

Slopes may be computed in single precision, with half the numbers to move and twice as many at once.
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
SingleFloats = NDArray[np.float32]

MAX_GAP = 42.0  # in single precision e^{2·44} would be infinite
ONE = np.float32(1.0)  # a number without a type would make the loop one of double precision
# Coefficients of the Taylor polynomial of eʸ, and the share of x of which it is taken.
C2, C3, C4, C5, C6 = (np.float32(1 / math.factorial(k)) for k in range(2, 7))
SHARE = np.float32(1 / 32)

_margins = inlined(margins)


@inlined
def exp_double(x: float) -> float:
    """eˣ for |x| < 42, to within 10⁻¹³ of itself: the Taylor polynomial of e^{x/128}, squared."""
    y = x * (1.0 / 128.0)
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
    p *= p
    return p


@inlined
def exp_single(x: np.float32) -> np.float32:
    """eˣ for |x| < 42 in single precision: to within 4 · 10⁻⁶ of itself where |x| < 8."""
    y = x * SHARE
    p = ONE + y * (ONE + y * (C2 + y * (C3 + y * (C4 + y * (C5 + y * C6)))))
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    return p


def _exponentials(
    quality: Floats | SingleFloats, shift: Floats, sharpness: Floats, tie: Floats
) -> tuple[NDArray[np.bool_], Floats, Floats]:
    """Whether no gap of a stratum, threshold added, can be as far as `MAX_GAP`; e^−δ, and e^δ."""
    widest = quality.max(axis=0) - quality.min(axis=0) + np.abs(shift).max(axis=0)
    with np.errstate(all="ignore"):
        # An upper cut of graded answers is a threshold with a minus.
        is_close = (sharpness * widest + np.abs(tie) < MAX_GAP).all(axis=1)
        wide = np.exp(tie)
        return is_close, 1.0 / wide, wide


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
    exponentials = _exponentials(quality, shift, sharpness, tie)
    return _stratum_value(
        first, second, stratum, s_first, s_second, quality, shift, sharpness, tie, *exponentials
    )


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
    exponentials = _exponentials(quality, shift, sharpness, tie)
    return _stratum_gradient(
        first, second, stratum, s_first, s_second, quality, shift, sharpness, tie, *exponentials
    )


def stratum_gradient_single(
    first: Integers,
    second: Integers,
    stratum: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: SingleFloats,
    shift: Floats,
    sharpness: Floats,
    tie: Floats,
) -> tuple[SingleFloats, Floats, Floats, Floats]:
    """`stratum_gradient` where qualities are in single precision, as are its loop's sums."""
    is_close, close, wide = _exponentials(quality, shift, sharpness, tie)
    with np.errstate(over="ignore"):
        aside, sharp, own, near, far = (
            part.astype(np.float32) for part in (shift, sharpness, tie, close, wide)
        )
    by_quality, *by = _stratum_gradient_single(
        first, second, stratum, s_first, s_second, quality, aside, sharp, own, is_close, near, far
    )
    by_shift, by_sharpness, by_tie = (part.astype(np.float64) for part in by)
    return by_quality, by_shift, by_sharpness, by_tie


@compiled
def _stratum_gradient(
    first: Integers,
    second: Integers,
    stratum: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: Floats,
    shift: Floats,
    sharpness: Floats,
    tie: Floats,
    is_close: NDArray[np.bool_],
    close: Floats,
    wide: Floats,
) -> tuple[Floats, Floats, Floats, Floats]:
    """`stratum_gradient` with one division per row, and no call that prevents vectorisation."""
    by_quality, by_shift = np.zeros(quality.shape), np.zeros(tie.shape)
    by_sharpness, by_tie = np.zeros(tie.shape), np.zeros(tie.shape)
    flow = np.empty(quality.shape[1])
    for r in range(first.size):
        s, f, b = stratum[r], s_first[r], s_second[r]
        one, two, sharp, aside = quality[first[r]], quality[second[r]], sharpness[s], shift[s]
        near, far, of_sharpness, of_tie = close[s], wide[s], by_sharpness[s], by_tie[s]
        if not is_close[s]:
            for c in range(flow.size):
                gap = sharp[c] * (one[c] - two[c] + aside[c])
                ahead, behind = _margins(gap, tie[s, c])
                up, down = f * complement(ahead), b * complement(behind)
                of_sharpness[c] += (up - down) * gap
                of_tie[c] -= up + down
                flow[c] = (up - down) * sharp[c]
        for c in range(flow.size if is_close[s] else 0):
            gap = sharp[c] * (one[c] - two[c] + aside[c])
            e = exp_double(gap)
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
def _stratum_gradient_single(
    first: Integers,
    second: Integers,
    stratum: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: SingleFloats,
    shift: SingleFloats,
    sharpness: SingleFloats,
    tie: SingleFloats,
    is_close: NDArray[np.bool_],
    close: SingleFloats,
    wide: SingleFloats,
) -> tuple[SingleFloats, SingleFloats, SingleFloats, SingleFloats]:
    """`_stratum_gradient` in single precision."""
    by_quality, by_shift = np.zeros_like(quality), np.zeros_like(shift)
    by_sharpness, by_tie = np.zeros_like(shift), np.zeros_like(shift)
    flow = np.empty(quality.shape[1], np.float32)
    for r in range(first.size):
        s, f, b = stratum[r], np.float32(s_first[r]), np.float32(s_second[r])
        one, two, sharp, aside = quality[first[r]], quality[second[r]], sharpness[s], shift[s]
        near, far, of_sharpness, of_tie = close[s], wide[s], by_sharpness[s], by_tie[s]
        if not is_close[s]:
            for c in range(flow.size):
                gap = sharp[c] * (one[c] - two[c] + aside[c])
                ahead, behind = _margins(gap, tie[s, c])
                up, down = f * complement(ahead), b * complement(behind)
                of_sharpness[c] += (up - down) * gap
                of_tie[c] -= up + down
                flow[c] = (up - down) * sharp[c]
        for c in range(flow.size if is_close[s] else 0):
            gap = sharp[c] * (one[c] - two[c] + aside[c])
            e = exp_single(gap)
            odds = e * far[c]
            ahead, behind = ONE + e * near[c], ONE + odds
            share = ONE / (ahead * behind)
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
def _stratum_value(
    first: Integers,
    second: Integers,
    stratum: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: Floats,
    shift: Floats,
    sharpness: Floats,
    tie: Floats,
    is_close: NDArray[np.bool_],
    close: Floats,
    wide: Floats,
) -> Floats:
    """`stratum_log_likelihood` as the logarithm of one long product per chain."""
    number = quality.shape[1]
    exp_gap = np.empty(number)
    total, product, carried = np.zeros(number), np.ones(number), np.zeros(number)
    for r in range(first.size):
        s, f, b = stratum[r], s_first[r], s_second[r]
        one, two, sharp, aside = quality[first[r]], quality[second[r]], sharpness[s], shift[s]
        near, far, own = close[s], wide[s], tie[s]
        if not is_close[s]:
            for c in range(number):
                ahead, behind = _margins(sharp[c] * (one[c] - two[c] + aside[c]), own[c])
                total[c] += f * log_sigmoid(ahead) + b * log_sigmoid(behind)
            continue
        for c in range(number):
            gap = sharp[c] * (one[c] - two[c] + aside[c])
            exp_gap[c] = exp_double(gap)
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
