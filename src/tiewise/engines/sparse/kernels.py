"""Compiled loops of the sparse preconditioner: one pass over (item, chain) each way.

`prior_precision` is α⁻² of each chain; `offset` is log α less its mean. `curvature` is the diagonal
of the likelihood's averaged Hessian, `prior_diagonal` that of the prior's precision, both by item.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tiewise.model.kernels import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiled
def transform_diagonal(
    q: Floats,
    mean: Floats,
    mean_slope: Floats,
    curvature: Floats,
    prior_diagonal: Floats,
    offset: Floats,
    prior_precision: Floats,
    tie_coefficients: Floats,
) -> tuple[Floats, Floats]:
    """x (items, chains) from q, and the threshold's shift with x."""
    x, tie_shift = np.empty((mean.size, offset.size)), np.zeros(offset.size)
    for k in range(mean.size):
        for c in range(offset.size):
            sd = 1.0 / math.sqrt(curvature[k] + prior_precision[c] * prior_diagonal[k])
            away = mean_slope[k] * offset[c] + q[k, c] * sd
            x[k, c] = mean[k] + away
            tie_shift[c] += tie_coefficients[k] * away
    return x, tie_shift


@compiled
def transform_diagonal_gradient(
    by_x: Floats,
    x: Floats,
    precision_x: Floats,
    mean: Floats,
    mean_slope: Floats,
    curvature: Floats,
    prior_diagonal: Floats,
    offset: Floats,
    prior_precision: Floats,
    tie_coefficients: Floats,
    by_t: Floats,
    out: Floats,
) -> Floats:
    """Gradient by q into the first rows of `out`; returns that by log α without its prior.

    `by_x` is the likelihood's, `precision_x` the product of the prior's precision with x.
    """
    by_log_alpha = np.zeros(offset.size)
    for k in range(mean.size):
        for c in range(offset.size):
            own = prior_precision[c] * prior_diagonal[k]
            variance = 1.0 / (curvature[k] + own)
            pull = prior_precision[c] * precision_x[k, c]
            total = by_x[k, c] - pull - tie_coefficients[k] * by_t[c]
            out[k, c] = total * math.sqrt(variance)
            away = x[k, c] - mean[k] - offset[c] * mean_slope[k]
            by_log_alpha[c] += total * mean_slope[k] + own * variance * (total * away + 1.0)
            by_log_alpha[c] += x[k, c] * pull - 1.0
    return by_log_alpha


@compiled
def diagonal_log_prior_and_jacobian(
    x: Floats,
    precision_x: Floats,
    curvature: Floats,
    prior_diagonal: Floats,
    prior_precision: Floats,
) -> Floats:
    """Σ log sd − ½ xᵀQx/α² for each chain."""
    total, product = np.zeros(x.shape[1]), np.ones(x.shape[1])
    for k in range(x.shape[0]):
        for c in range(x.shape[1]):
            total[c] -= x[k, c] * precision_x[k, c] * prior_precision[c] / 2
            product[c] *= curvature[k] + prior_precision[c] * prior_diagonal[k]
        # A logarithm of every eight: products of so few neither underflow nor overflow.
        if k % 8 == 7 or k == x.shape[0] - 1:
            for c in range(x.shape[1]):
                total[c] -= math.log(product[c]) / 2
                product[c] = 1.0
    return total


@compiled
def neighbour_sums(first: Integers, second: Integers, weight: Floats, diagonal: Floats) -> Floats:
    """Σ_j w_ij² / d_j over the rows of every item i."""
    out = np.zeros(diagonal.size)
    for r in range(first.size):
        i, j = first[r], second[r]
        square = weight[r] * weight[r]
        out[i] += square / diagonal[j]
        out[j] += square / diagonal[i]
    return out


@compiled
def local_gap_sd(
    first: Integers, second: Integers, weight: Floats, diagonal: Floats, neighbours: Floats
) -> Floats:
    """Standard deviations of gaps, were the pairs a tree: each item given its neighbours' own.

    Of a pair with precisions P_i, P_j without each other and weight w, the gap has variance
    (P_i + P_j − 2w) / (P_i P_j − w²).
    """
    out = np.empty(first.size)
    for r in range(first.size):
        i, j, w = first[r], second[r], weight[r]
        own_i = max(diagonal[i] - neighbours[i] + w * w / diagonal[j], 0.1 * diagonal[i])
        own_j = max(diagonal[j] - neighbours[j] + w * w / diagonal[i], 0.1 * diagonal[j])
        # Two items without any other comparison and a weak prior hang on w alone.
        w = min(w, 0.99 * math.sqrt(own_i * own_j))
        out[r] = math.sqrt((own_i + own_j - 2.0 * w) / (own_i * own_j - w * w))
    return out
