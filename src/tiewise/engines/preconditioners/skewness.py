"""Skewness and long tails of single qualities, taken out of the coordinates (docs/inference.md).

With an independent prior each quality is a function of its own of a latent value that is nearer to
normal: λ = m + s (((e^{c h} − 1)/c + ε h)/(1 + ε) − k) with h = a sinh(r w)/r and w = (u − m)/s. It
rises from −∞ to ∞ (without ε h it would end at m − s (1/c + k)), and its derivative is part of the
density, so that the posterior is the same.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.preconditioners.averaged_quadratic import QuadraticLikelihood
from tiewise.engines.preconditioners.plain_kernels import SERIES_RANGE, exponential
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.kernels import compiled, complement
from tiewise.model.quality_priors import Independent

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SKEWED_SIZE = 50  # items below which there is nothing to gain that could be measured
MOST_VARIANCE = 2.0  # of an item, in units of that with all others held, on average
LEAST_SKEW, LEAST_TAIL, MOST = 1e-3, 1e-6, 0.5
STRAIGHT = 0.05  # ε, the part of the map that is linear in h
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def skew_map(
    model: BradleyTerry, quadratic: QuadraticLikelihood, gap_sd: Floats | None, log_alpha: float
) -> Floats | None:
    """The numbers m, s, c, r, a, k of each item (items, 6); None where there is no such map.

    The posterior of an item, all others held, has p as its precision, T and F as the third and
    fourth derivatives of its log density, averaged as the quadratic is. c and r² take both out.
    Where all items move together by much more than one by itself (`is_too_wide`), gaps are near to
    normal and a map of single qualities would bend what is straight.
    """
    plain = isinstance(model.prior, Independent) and quadratic.basis is None
    if not plain or gap_sd is None or model.size < SKEWED_SIZE or model.anchors is not None:
        return None
    counts, rows, quality = model.counts, model.likelihood, quadratic.tie.z
    third, fourth = averaged_higher_derivatives(
        counts.first, counts.second, rows.successes_first, rows.successes_second,
        quality, gap_sd, quadratic.tie.fixed,
    )  # fmt: skip
    sd = (quadratic.diagonal + np.exp(-2 * log_alpha)) ** -0.5
    skew = np.clip((1 + STRAIGHT) * third * sd**3 / 3, -MOST, MOST)
    # A map by c alone leaves 2.75 c² w⁴/6 behind.
    tail = np.clip(fourth * sd**4 / 4 + 2.75 * skew**2, LEAST_TAIL, MOST)
    skew = np.where(np.abs(skew) < LEAST_SKEW, np.copysign(LEAST_SKEW, skew), skew)
    # Over N(0, 1) for w, h has a derivative of 1 and the bracket a mean of about 0.
    level = np.expm1(skew**2 / 2) / skew / (1 + STRAIGHT)
    columns = quality, sd, skew, np.sqrt(tail), np.exp(-tail / 2), level
    return np.stack(columns, axis=1)


def is_too_wide(skew: Floats, basis: Floats, variance: Floats) -> bool:
    """Whether items vary much more than one does with all others held.

    Latent values are `basis` times independent coordinates with these variances.
    """
    own = np.einsum("ik,ik,k->i", basis, basis, variance) / skew[:, 1] ** 2
    return bool(own.mean() > MOST_VARIANCE)


@compiled
def averaged_higher_derivatives(
    first: Integers,
    second: Integers,
    s_first: Floats,
    s_second: Floats,
    quality: Floats,
    gap_sd: Floats,
    tie: float,
) -> tuple[Floats, Floats]:
    """Third and fourth derivatives of the log likelihood by each quality, gaps averaged."""
    third, fourth = np.zeros(quality.size), np.zeros(quality.size)
    for r in range(first.size):
        i, j, cube, square = first[r], second[r], 0.0, 0.0
        for h in range(_NODES.size):
            gap = quality[i] - quality[j] + gap_sd[r] * _NODES[h]
            up, down = complement(gap - tie), complement(-gap - tie)
            one, two = s_first[r] * up * (1.0 - up), s_second[r] * down * (1.0 - down)
            cube += _WEIGHTS[h] * (one * (1.0 - 2.0 * up) - two * (1.0 - 2.0 * down))
            square -= _WEIGHTS[h] * one * (1.0 - 6.0 * up * (1.0 - up))
            square -= _WEIGHTS[h] * two * (1.0 - 6.0 * down * (1.0 - down))
        third[i] += cube
        third[j] -= cube
        fourth[i] += square
        fourth[j] += square
    return third, fourth


@compiled
def qualities(skew: Floats, latent: NDArray[Any]) -> tuple[Floats, Floats, Floats]:
    """Qualities at latent values (items, chains), dλ/du, and the derivative of its logarithm."""
    quality = np.empty_like(latent)
    slope, curvature = np.empty(latent.shape), np.empty(latent.shape)
    for i in range(latent.shape[0]):
        mean, sd, c, root, scale, level = skew[i]
        widest = 0.0
        for k in range(latent.shape[1]):
            widest = max(widest, abs(latent[i, k] - mean))
        widest *= root / sd
        if widest < 5.0 and abs(c) * scale * math.exp(widest) / root < SERIES_RANGE:
            for k in range(latent.shape[1]):
                slope[i, k] = exponential(root * (latent[i, k] - mean) / sd)
        else:
            for k in range(latent.shape[1]):
                slope[i, k] = math.exp(root * (latent[i, k] - mean) / sd)
            widest = math.inf
        for k in range(latent.shape[1]):
            inverse = 1.0 / slope[i, k]
            odd, even = scale * (slope[i, k] - inverse) / 2, scale * (slope[i, k] + inverse) / 2
            curvature[i, k] = root * odd / even / sd
            slope[i, k], quality[i, k] = even, odd / root
        for k in range(latent.shape[1]):
            inside = c * quality[i, k]
            stretch = exponential(inside) if widest < math.inf else math.exp(inside)
            curved = (stretch - 1.0) / c + STRAIGHT * quality[i, k]
            curvature[i, k] += c * slope[i, k] / (1.0 + STRAIGHT / stretch) / sd
            slope[i, k] *= (stretch + STRAIGHT) / (1.0 + STRAIGHT)
            quality[i, k] = mean + sd * (curved / (1.0 + STRAIGHT) - level)
    return quality, slope, curvature


@compiled
def latent_gradient(
    by_quality: Floats, quality: Floats, latent: Floats, slope: Floats, curvature: Floats,
    prior_precision: Floats,
) -> Floats:  # fmt: skip
    """Turn slopes by quality into those by the latent value; returns what log α has more.

    The prior of the latent value, −u²/2α², is taken off here and counted elsewhere.
    """
    by_log_alpha = np.zeros(prior_precision.size)
    for i in range(latent.shape[0]):
        for c in range(prior_precision.size):
            one, u = quality[i, c], latent[i, c]
            own = by_quality[i, c] - one * prior_precision[c]
            by_quality[i, c] = slope[i, c] * own + u * prior_precision[c] + curvature[i, c]
            by_log_alpha[c] += (one * one - u * u) * prior_precision[c]
    return by_log_alpha


@compiled
def skew_log_density(
    quality: Floats, latent: Floats, slope: Floats, prior_precision: Floats
) -> Floats:
    """Log prior and Jacobian of each chain, beyond those of latent values as qualities."""
    total, product = np.zeros(prior_precision.size), np.ones(prior_precision.size)
    for i in range(latent.shape[0]):
        for c in range(prior_precision.size):
            square = quality[i, c] * quality[i, c] - latent[i, c] * latent[i, c]
            total[c] -= square * prior_precision[c] / 2
            product[c] *= slope[i, c]
        # A logarithm of every eighth: products of so few neither underflow nor overflow.
        if i % 8 == 7 or i == latent.shape[0] - 1:
            for c in range(prior_precision.size):
                total[c] += math.log(product[c])
                product[c] = 1.0
    return total
