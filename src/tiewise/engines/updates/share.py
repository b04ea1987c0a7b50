"""Updates of the share ρ of a mixture prior, for engines that draw one parameter after another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.engines.updates.slice_sampling import slice_draw
from tiewise.model.map_priors import Mixture, log_share_prior, share_of

Floats = NDArray[np.float64]

WIDTH = 2.0  # of a slice of logit ρ, from which it is stepped out
LARGEST = 1 - 1e-10  # at ρ = 1 directions in which the map allows nothing have no variance


def logit(share: float) -> float:
    """τ with ρ = 1 / (1 + e^{−τ})."""
    inside = min(max(share, 1 - LARGEST), LARGEST)
    return float(np.log(inside) - np.log1p(-inside))


def draw_share(mixture: Mixture, z: Floats, variance: float, share: float, rng: Generator) -> float:
    """ρ conditional on the qualities λ = E z and on α²."""
    square = z**2 / variance

    def log_density(tau: Floats) -> Floats:
        own = mixture.variances(np.minimum(share_of(tau), LARGEST))
        out: Floats = log_share_prior(tau) - (np.log(own) + square[:, None] / own).sum(axis=0) / 2
        return out

    return _to_share(slice_draw(log_density, logit(share), WIDTH, rng))


def draw_share_and_quality(
    mixture: Mixture,
    z: Floats,
    share: float,
    log_likelihood: Callable[[Floats], Floats],
    rng: Generator,
) -> tuple[float, Floats]:
    """ρ and the qualities together, at fixed standardised z / √(ρ r + 1 − ρ).

    `log_likelihood` takes qualities (items, values).
    """
    standard = z / np.sqrt(mixture.variances(share))

    def qualities(shares: Floats) -> Floats:
        scaled = np.sqrt(mixture.variances(shares)) * standard[:, None]
        out: Floats = mixture.vectors @ scaled
        return out

    def log_density(tau: Floats) -> Floats:
        shares = np.minimum(share_of(tau), LARGEST)
        out: Floats = log_likelihood(qualities(shares)) + log_share_prior(tau)
        return out

    new = _to_share(slice_draw(log_density, logit(share), WIDTH, rng))
    return new, np.ascontiguousarray(qualities(np.array([new]))[:, 0])


def _to_share(tau: float) -> float:
    return float(min(max(float(share_of(np.asarray(tau))), 1 - LARGEST), LARGEST))
