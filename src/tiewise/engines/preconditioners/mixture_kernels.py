"""Compiled loops of the mixture's preconditioner: one pass over (direction, chain) each.

`prior_precision` is α⁻² of each chain; cubics are (4, directions), lowest power first.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tiewise.model.kernels import compiled

Floats = NDArray[np.float64]


@compiled
def positions(
    q: Floats, w: Floats, scaled: Floats, mean: Floats, mean_by_scale: Floats, log_width: Floats
) -> Floats:
    """x (directions, chains): mean, its shift with log α, and q times its width."""
    x = np.empty((mean.shape[1], w.size))
    for k in range(mean.shape[1]):
        for c in range(w.size):
            v = w[c]
            centre = mean[0, k] + v * (mean[1, k] + v * (mean[2, k] + v * mean[3, k]))
            slope = mean_by_scale[2, k] + v * mean_by_scale[3, k]
            slope = mean_by_scale[0, k] + v * (mean_by_scale[1, k] + v * slope)
            width = log_width[2, k] + v * log_width[3, k]
            width = math.exp(log_width[0, k] + v * (log_width[1, k] + v * width))
            x[k, c] = centre + scaled[c] * slope + width * q[k, c]
    return x


@compiled
def widths(
    y: Floats,
    values: Floats,
    diagonal: Floats,
    prior_precision: Floats,
    share: Floats,
    tie_coefficients: Floats,
    z_mode: Floats,
) -> tuple[Floats, Floats]:
    """z = s ∘ y (directions, chains), and the threshold's shift with it."""
    z, tie_shift = np.empty(y.shape), np.zeros(share.size)
    for k in range(values.size):
        for c in range(share.size):
            precision = prior_precision[c] / (1.0 + share[c] * (values[k] - 1.0))
            z[k, c] = y[k, c] / math.sqrt(diagonal[k] + precision)
            tie_shift[c] += tie_coefficients[k] * (z[k, c] - z_mode[k])
    return z, tie_shift


@compiled
def log_prior_and_widths(
    z: Floats, values: Floats, diagonal: Floats, prior_precision: Floats, share: Floats
) -> Floats:
    """½ Σ log p − ½ Σ p z² + Σ log s for each chain."""
    total, product = np.zeros(share.size), np.ones(share.size)
    for k in range(values.size):
        for c in range(share.size):
            precision = prior_precision[c] / (1.0 + share[c] * (values[k] - 1.0))
            total[c] -= precision * z[k, c] * z[k, c] / 2
            product[c] *= precision / (diagonal[k] + precision)
        # A logarithm of every eight: products of so few do not underflow.
        if k % 8 == 7 or k == values.size - 1:
            for c in range(share.size):
                total[c] += math.log(product[c]) / 2
                product[c] = 1.0
    return total


@compiled
def width_gradient(
    by_z: Floats,
    z: Floats,
    values: Floats,
    diagonal: Floats,
    prior_precision: Floats,
    share: Floats,
    tie_coefficients: Floats,
    by_t: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Derivatives by y = K x, and by log α and τ at fixed x, without their priors."""
    by_y = np.empty(z.shape)
    by_log_alpha, by_tau = np.zeros(share.size), np.zeros(share.size)
    for k in range(values.size):
        for c in range(share.size):
            variance = 1.0 + share[c] * (values[k] - 1.0)
            precision = prior_precision[c] / variance
            total = by_z[k, c] - precision * z[k, c] - tie_coefficients[k] * by_t[c]
            square = 1.0 / (diagonal[k] + precision)
            by_y[k, c] = total * math.sqrt(square)
            own = precision * z[k, c] * z[k, c] - 1.0
            own += (total * z[k, c] + 1.0) * precision * square
            by_log_alpha[c] += own
            by_tau[c] += own * (values[k] - 1.0) * share[c] * (1.0 - share[c]) / variance / 2
    return by_y, by_log_alpha, by_tau


@compiled
def position_gradient(
    by_x: Floats,
    q: Floats,
    w: Floats,
    scaled: Floats,
    mean: Floats,
    mean_by_scale: Floats,
    log_width: Floats,
    out: Floats,
) -> tuple[Floats, Floats]:
    """Gradient by q into the first rows of `out`; returns those by w and by log α's deviation."""
    by_w, by_scaled = np.zeros(w.size), np.zeros(w.size)
    for k in range(mean.shape[1]):
        for c in range(w.size):
            v, s = w[c], scaled[c]
            width = log_width[2, k] + v * log_width[3, k]
            width = math.exp(log_width[0, k] + v * (log_width[1, k] + v * width))
            width_by_w = log_width[1, k] + v * (2 * log_width[2, k] + 3 * v * log_width[3, k])
            slope = mean_by_scale[2, k] + v * mean_by_scale[3, k]
            slope = mean_by_scale[0, k] + v * (mean_by_scale[1, k] + v * slope)
            slope_by_w = 2 * mean_by_scale[2, k] + 3 * v * mean_by_scale[3, k]
            slope_by_w = mean_by_scale[1, k] + v * slope_by_w
            mean_by_w = mean[1, k] + v * (2 * mean[2, k] + 3 * v * mean[3, k])
            g = by_x[k, c]
            out[k, c] = g * width
            by_scaled[c] += g * slope
            by_w[c] += g * (mean_by_w + s * slope_by_w + width * width_by_w * q[k, c]) + width_by_w
    return by_w, by_scaled
