"""Compiled loops of preconditioners whose prior is diagonal: one pass each way.

`prior_precision` is α⁻² of each chain.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tiewise.model.kernels import compiled, inlined

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SERIES_RANGE = 20.0  # |x| up to which `exponential` is right


@inlined
def exponential(x: float) -> float:
    """eˣ for |x| up to `SERIES_RANGE`, without a branch, so that loops of it are vectorised."""
    y = x * 0.015625
    # Taylor's series of e^y, y at most 0.32, then squared six times.
    total = 1.0 + y * (1 / 12)
    total = 1.0 + y * (1 / 11) * total
    total = 1.0 + y * (1 / 10) * total
    total = 1.0 + y * (1 / 9) * total
    total = 1.0 + y * (1 / 8) * total
    total = 1.0 + y * (1 / 7) * total
    total = 1.0 + y * (1 / 6) * total
    total = 1.0 + y * (1 / 5) * total
    total = 1.0 + y * (1 / 4) * total
    total = 1.0 + y * (1 / 3) * total
    total = 1.0 + y * (1 / 2) * total
    total = 1.0 + y * total
    total *= total
    total *= total
    total *= total
    total *= total
    total *= total
    total *= total
    return total


@compiled
def transform(
    q: Floats,
    eigenvalues: Floats,
    precision_mean: Floats,
    prior_precision: Floats,
    tie_coefficients: Floats,
    mode: Floats,
) -> tuple[Floats, Floats, Floats]:
    """x and its conditional sd (directions, chains) from q, and the threshold's shift with x."""
    shape = (eigenvalues.size, prior_precision.size)
    x, sd, tie_shift = np.empty(shape), np.empty(shape), np.zeros(prior_precision.size)
    for k in range(eigenvalues.size):
        for c in range(prior_precision.size):
            variance = 1.0 / (eigenvalues[k] + prior_precision[c])
            sd[k, c] = math.sqrt(variance)
            x[k, c] = precision_mean[k] * variance + q[k, c] * sd[k, c]
            tie_shift[c] += tie_coefficients[k] * (x[k, c] - mode[k])
    return x, sd, tie_shift


@compiled
def transform_gradient(
    by_x: Floats,
    x: Floats,
    sd: Floats,
    precision_mean: Floats,
    prior_precision: Floats,
    tie_coefficients: Floats,
    by_t: Floats,
    out: Floats,
) -> Floats:
    """Gradient by q into the first rows of `out`; returns that by log α without its prior."""
    by_log_alpha = np.zeros(prior_precision.size)
    for k in range(precision_mean.size):
        for c in range(prior_precision.size):
            total = by_x[k, c] - x[k, c] * prior_precision[c] - tie_coefficients[k] * by_t[c]
            variance = sd[k, c] * sd[k, c]
            prior_share = variance * prior_precision[c]
            out[k, c] = total * sd[k, c]
            by_log_alpha[c] += prior_share * (
                total * (x[k, c] + precision_mean[k] * variance) + 1.0
            )
            by_log_alpha[c] += x[k, c] * x[k, c] * prior_precision[c] - 1.0
    return by_log_alpha


@compiled
def log_prior_and_jacobian(x: Floats, sd: Floats, prior_precision: Floats) -> Floats:
    """Σ log sd − ½ Σ x²/α² for each chain."""
    total, product = np.zeros(prior_precision.size), np.ones(prior_precision.size)
    for k in range(x.shape[0]):
        for c in range(prior_precision.size):
            total[c] -= x[k, c] * x[k, c] * prior_precision[c] / 2
            product[c] *= sd[k, c]
        # A logarithm of every sixteen sd: products of so few neither underflow nor overflow.
        if k % 16 == 15 or k == x.shape[0] - 1:
            for c in range(prior_precision.size):
                total[c] += math.log(product[c])
                product[c] = 1.0
    return total


@compiled
def transform_layer(
    q: Floats, eigenvalues: Floats, precision_mean: Floats, shift: Floats, prior_precision: Floats
) -> tuple[Floats, Floats, Floats]:
    """x of a layer, its conditional mean and sd (directions, chains), shifted by other layers."""
    x, mean, sd = np.empty(q.shape), np.empty(q.shape), np.empty(q.shape)
    for k in range(eigenvalues.size):
        for c in range(prior_precision.size):
            variance = 1.0 / (eigenvalues[k] + prior_precision[c])
            sd[k, c] = math.sqrt(variance)
            mean[k, c] = (precision_mean[k] - shift[k, c]) * variance
            x[k, c] = mean[k, c] + q[k, c] * sd[k, c]
    return x, mean, sd


@compiled
def transform_layer_gradient(
    by_x: Floats, x: Floats, mean: Floats, sd: Floats, prior_precision: Floats, out: Floats
) -> tuple[Floats, Floats]:
    """Gradient by a layer's q into `out`; returns those by its log scale and by its shift."""
    by_scale, by_shift = np.zeros(prior_precision.size), np.empty(x.shape)
    for k in range(x.shape[0]):
        for c in range(prior_precision.size):
            total = by_x[k, c] - x[k, c] * prior_precision[c]
            variance = sd[k, c] * sd[k, c]
            out[k, c] = total * sd[k, c]
            by_shift[k, c] = -total * variance
            by_scale[c] += variance * prior_precision[c] * (total * (x[k, c] + mean[k, c]) + 1.0)
            by_scale[c] += x[k, c] * x[k, c] * prior_precision[c] - 1.0
    return by_scale, by_shift


@compiled
def gap_sd(root: Floats, first: Integers, second: Integers) -> Floats:
    """Standard deviations of λ_first − λ_second under the covariance rootᵀ root."""
    columns = np.ascontiguousarray(root.T)
    out = np.empty(first.size)
    for r in range(first.size):
        one, two, total = columns[first[r]], columns[second[r]], 0.0
        for k in range(columns.shape[1]):
            total += (one[k] - two[k]) ** 2
        out[r] = math.sqrt(total)
    return out
