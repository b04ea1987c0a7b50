"""The chart's own inner loops, fused and compiled: one pass over (direction, chain) each way."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tiewise.model.kernels import compiled

Floats = NDArray[np.float64]


@compiled
def spread_out(
    q: Floats, bend: Floats, pulled: Floats, shrink: Floats, lean: Floats, top: Floats
) -> tuple[Floats, Floats, Floats]:
    """x and its widths (directions, chains) from q, and how far x leans the threshold's line."""
    shape = (bend.size, shrink.size)
    x, width, leaning = np.empty(shape), np.empty(shape), np.zeros(shrink.size)
    for k in range(bend.size):
        for c in range(shrink.size):
            square = 1.0 / (bend[k] + shrink[c])
            width[k, c] = math.sqrt(square)
            x[k, c] = pulled[k] * square + q[k, c] * width[k, c]
            leaning[c] += lean[k] * (x[k, c] - top[k])
    return x, width, leaning


@compiled
def gather_in(
    by_x: Floats,
    x: Floats,
    width: Floats,
    pulled: Floats,
    shrink: Floats,
    lean: Floats,
    by_line: Floats,
    out: Floats,
) -> Floats:
    """Slopes by q, written to the first rows of `out`; gives the slope by log α, prior left out."""
    by_alpha = np.zeros(shrink.size)
    for k in range(pulled.size):
        for c in range(shrink.size):
            slope = by_x[k, c] - x[k, c] * shrink[c] - lean[k] * by_line[c]
            square = width[k, c] * width[k, c]
            flow = square * shrink[c]
            out[k, c] = slope * width[k, c]
            by_alpha[c] += flow * (slope * (x[k, c] + pulled[k] * square) + 1.0)
            by_alpha[c] += x[k, c] * x[k, c] * shrink[c] - 1.0
    return by_alpha


@compiled
def prior_part(x: Floats, width: Floats, shrink: Floats) -> Floats:
    """Σ log width − ½ Σ x²/α² for each chain."""
    total, product = np.zeros(shrink.size), np.ones(shrink.size)
    for k in range(x.shape[0]):
        for c in range(shrink.size):
            total[c] -= x[k, c] * x[k, c] * shrink[c] / 2
            product[c] *= width[k, c]
        # A logarithm every sixteenth width: products of so few neither vanish nor overflow.
        if k % 16 == 15 or k == x.shape[0] - 1:
            for c in range(shrink.size):
                total[c] += math.log(product[c])
                product[c] = 1.0
    return total


@compiled
def spread_layer(
    q: Floats, bend: Floats, pulled: Floats, lean: Floats, shrink: Floats
) -> tuple[Floats, Floats, Floats]:
    """x of a layer, its middles and its widths (directions, chains), where other layers lean it."""
    x, middle, width = np.empty(q.shape), np.empty(q.shape), np.empty(q.shape)
    for k in range(bend.size):
        for c in range(shrink.size):
            square = 1.0 / (bend[k] + shrink[c])
            width[k, c] = math.sqrt(square)
            middle[k, c] = (pulled[k] - lean[k, c]) * square
            x[k, c] = middle[k, c] + q[k, c] * width[k, c]
    return x, middle, width


@compiled
def gather_layer(
    by_x: Floats, x: Floats, middle: Floats, width: Floats, shrink: Floats, out: Floats
) -> tuple[Floats, Floats]:
    """Slopes by a layer's q, written to `out`; gives those by log scale and by what leans it."""
    by_scale, by_lean = np.zeros(shrink.size), np.empty(x.shape)
    for k in range(x.shape[0]):
        for c in range(shrink.size):
            slope = by_x[k, c] - x[k, c] * shrink[c]
            square = width[k, c] * width[k, c]
            out[k, c] = slope * width[k, c]
            by_lean[k, c] = -slope * square
            by_scale[c] += square * shrink[c] * (slope * (x[k, c] + middle[k, c]) + 1.0)
            by_scale[c] += x[k, c] * x[k, c] * shrink[c] - 1.0
    return by_scale, by_lean
