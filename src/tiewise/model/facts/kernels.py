"""The likelihood of comparisons with facts of their own: its loops over rows.

The gap of row r is a · (λᵢ − λⱼ + xᵣᵀβ). Facts are a matrix (rows, facts) and coefficients one
(facts, chains): a row's shift is computed where it is needed, so that memory does not grow with
chains. The rest is as in `strata_kernels`: every loop runs over (row, chain), and sharpnesses and
thresholds are matrices (strata, chains). A gap may be of any size, because facts may be.

In single precision sums over many rows are added to those in double precision now and then.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tiewise.model.kernels import (
    BIG,
    FLUSH,
    LOG_BIG,
    MOST_FACTORS,
    SMALL,
    compiled,
    complement,
    inlined,
    log_sigmoid,
    margins,
)
from tiewise.model.strata_kernels import MAX_GAP, ONE, exp_double, exp_single

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
SingleFloats = NDArray[np.float32]

# Slopes do not change any more beyond this gap, where exponentials would overflow.
MAX_GAP_SINGLE = np.float32(MAX_GAP)

_margins = inlined(margins)


@compiled
def fact_gradient(
    first: Integers,
    second: Integers,
    stratum: Integers,
    s_first: Floats,
    s_second: Floats,
    facts: Floats,
    quality: Floats,
    coefficient: Floats,
    sharpness: Floats,
    tie: Floats,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Derivatives by quality, by coefficients, by the log of sharpness, and by threshold."""
    by_quality, by_coefficient = np.zeros(quality.shape), np.zeros(coefficient.shape)
    by_sharpness, by_tie = np.zeros(tie.shape), np.zeros(tie.shape)
    wide = np.exp(tie)
    close = 1.0 / wide
    gap, flow = np.empty(quality.shape[1]), np.empty(quality.shape[1])
    for r in range(first.size):
        s, f, b = stratum[r], s_first[r], s_second[r]
        one, two, sharp = quality[first[r]], quality[second[r]], sharpness[s]
        near, far, of_sharpness, of_tie = close[s], wide[s], by_sharpness[s], by_tie[s]
        for c in range(gap.size):
            gap[c] = one[c] - two[c]
        for k in range(facts.shape[1]):
            fact, own = facts[r, k], coefficient[k]
            for c in range(gap.size):
                gap[c] += fact * own[c]
        for c in range(gap.size):
            scaled = sharp[c] * gap[c]
            bounded = scaled if scaled < MAX_GAP else MAX_GAP
            e = exp_double(bounded if bounded > -MAX_GAP else -MAX_GAP)
            odds = e * far[c]
            ahead, behind = 1.0 + e * near[c], 1.0 + odds
            share = 1.0 / (ahead * behind)
            up, down = f * behind * share, b * odds * ahead * share
            of_sharpness[c] += (up - down) * scaled
            of_tie[c] -= up + down
            flow[c] = (up - down) * sharp[c]
        gain, loss = by_quality[first[r]], by_quality[second[r]]
        for c in range(gap.size):
            gain[c] += flow[c]
        for c in range(gap.size):
            loss[c] -= flow[c]
        for k in range(facts.shape[1]):
            fact, of_fact = facts[r, k], by_coefficient[k]
            for c in range(gap.size):
                of_fact[c] += fact * flow[c]
    return by_quality, by_coefficient, by_sharpness, by_tie


def fact_gradient_single(
    first: Integers,
    second: Integers,
    stratum: Integers,
    s_first: SingleFloats,
    s_second: SingleFloats,
    facts: SingleFloats,
    quality: SingleFloats,
    coefficient: Floats,
    sharpness: Floats,
    tie: Floats,
) -> tuple[SingleFloats, Floats, Floats, Floats]:
    """`fact_gradient` where qualities are in single precision, as are its loop's sums."""
    with np.errstate(over="ignore"):
        wide = np.exp(tie)
        own, sharp, near, far = (
            part.astype(np.float32) for part in (coefficient, sharpness, 1.0 / wide, wide)
        )
    return _fact_gradient_single(
        first, second, stratum, s_first, s_second, facts, quality, own, sharp, near, far
    )


@compiled
def _fact_gradient_single(
    first: Integers,
    second: Integers,
    stratum: Integers,
    s_first: SingleFloats,
    s_second: SingleFloats,
    facts: SingleFloats,
    quality: SingleFloats,
    coefficient: SingleFloats,
    sharpness: SingleFloats,
    close: SingleFloats,
    wide: SingleFloats,
) -> tuple[SingleFloats, Floats, Floats, Floats]:
    """`fact_gradient` in single precision."""
    by_quality, by_coefficient = np.zeros_like(quality), np.zeros(coefficient.shape)
    by_sharpness, by_tie = np.zeros(sharpness.shape), np.zeros(sharpness.shape)
    size = quality.shape[1]
    gap, flow = np.empty(size, np.float32), np.empty(size, np.float32)
    of_sharpness, of_tie = np.zeros(size, np.float32), np.zeros(size, np.float32)
    of_facts = np.zeros_like(coefficient)
    for r in range(first.size):
        s, f, b = stratum[r], s_first[r], s_second[r]
        one, two, sharp = quality[first[r]], quality[second[r]], sharpness[s]
        near, far = close[s], wide[s]
        for c in range(size):
            gap[c] = one[c] - two[c]
        for k in range(facts.shape[1]):
            fact, own = facts[r, k], coefficient[k]
            for c in range(size):
                gap[c] += fact * own[c]
        for c in range(size):
            scaled = sharp[c] * gap[c]
            bounded = scaled if scaled < MAX_GAP_SINGLE else MAX_GAP_SINGLE
            e = exp_single(bounded if bounded > -MAX_GAP_SINGLE else -MAX_GAP_SINGLE)
            odds = e * far[c]
            ahead, behind = ONE + e * near[c], ONE + odds
            share = ONE / (ahead * behind)
            up, down = f * behind * share, b * odds * ahead * share
            of_sharpness[c] += (up - down) * scaled
            of_tie[c] -= up + down
            flow[c] = (up - down) * sharp[c]
        gain, loss = by_quality[first[r]], by_quality[second[r]]
        for c in range(size):
            gain[c] += flow[c]
        for c in range(size):
            loss[c] -= flow[c]
        for k in range(facts.shape[1]):
            fact, of_fact = facts[r, k], of_facts[k]
            for c in range(size):
                of_fact[c] += fact * flow[c]
        if r % FLUSH == FLUSH - 1 or r == first.size - 1 or stratum[r + 1] != s:
            by_sharpness[s] += of_sharpness
            by_tie[s] += of_tie
            by_coefficient += of_facts
            of_sharpness[:], of_tie[:], of_facts[:] = 0.0, 0.0, 0.0
    return by_quality, by_coefficient, by_sharpness, by_tie


@compiled
def fact_log_likelihood(
    first: Integers,
    second: Integers,
    stratum: Integers,
    s_first: Floats,
    s_second: Floats,
    facts: Floats,
    quality: Floats,
    coefficient: Floats,
    sharpness: Floats,
    tie: Floats,
) -> Floats:
    """Σ s log σ(margin) for each chain, as the logarithm of one long product per chain."""
    number = quality.shape[1]
    wide = np.exp(tie)
    close = 1.0 / wide
    gap, exp_gap = np.empty(number), np.empty(number)
    total, product, carried = np.zeros(number), np.ones(number), np.zeros(number)
    for r in range(first.size):
        s, f, b = stratum[r], s_first[r], s_second[r]
        one, two, sharp = quality[first[r]], quality[second[r]], sharpness[s]
        near, far, own = close[s], wide[s], tie[s]
        for c in range(number):
            gap[c] = one[c] - two[c]
        for k in range(facts.shape[1]):
            fact, weight = facts[r, k], coefficient[k]
            for c in range(number):
                gap[c] += fact * weight[c]
        outside = 0.0
        for c in range(number):
            gap[c] *= sharp[c]
            outside += 0.0 if abs(gap[c]) + own[c] < MAX_GAP else 1.0
        if outside > 0 or f + b > MOST_FACTORS or f != math.floor(f) or b != math.floor(b):
            for c in range(number):
                ahead, behind = _margins(gap[c], own[c])
                total[c] += f * log_sigmoid(ahead) + b * log_sigmoid(behind)
            continue
        for c in range(number):
            exp_gap[c] = exp_double(gap[c])
            total[c] += f * (gap[c] - own[c])
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
def fact_negative_hessian(
    first: Integers,
    second: Integers,
    stratum: Integers,
    s_first: Floats,
    s_second: Floats,
    shift: Floats,
    quality: Floats,
    sharpness: Floats,
    tie: Floats,
) -> tuple[Floats, Floats, Floats]:
    """The gap of each row of one chain, and minus the second derivatives by it.

    `shift` is that of each row. By the gap twice, which is also by the threshold twice; and by gap
    and threshold.
    """
    gaps, weight, cross = np.empty(first.size), np.empty(first.size), np.empty(first.size)
    for r in range(first.size):
        s = stratum[r]
        gap = sharpness[s] * (quality[first[r]] - quality[second[r]] + shift[r])
        ahead, behind = _margins(gap, tie[s])
        rest_first, rest_second = complement(ahead), complement(behind)
        up, down = (
            s_first[r] * rest_first * (1.0 - rest_first),
            s_second[r] * rest_second * (1.0 - rest_second),
        )
        gaps[r], weight[r], cross[r] = gap, up + down, down - up
    return gaps, weight, cross
