"""The network prior in two layers, λ = α (√ρ G η₁ + √(1−ρ) η₂), and a whitening of both.

η₁ and η₂ are standard normal, so that no determinant of ρ R + (1 − ρ) I is needed. Were every item
as often compared (curvature d) and of the same degree (e^A = D r), all would be functions of A's
eigenvalues: the posterior precision of (η₁, η₂) is I + α² d g gᵀ with g = (√(ρ r), √(1−ρ)), and
`whitening` is its inverse root, as Chebyshev series. It is a fixed map: any will do, a close one
makes the posterior nearly N(0, I).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.model.map_priors import GraphExponential, share_of

Floats = NDArray[np.float64]

WHITENING_ACCURACY = 1e-4


class NetworkScale(NamedTuple):
    """log α and τ = logit ρ; ρ = 1 is τ = ∞."""

    log_alpha: float
    tau: float

    @property
    def roots(self) -> tuple[float, float]:
        """α √ρ and α √(1−ρ)."""
        share = float(share_of(self.tau))
        alpha = float(np.exp(self.log_alpha))
        return alpha * share**0.5, alpha * float(share_of(-self.tau)) ** 0.5

    @property
    def roots_by_tau(self) -> tuple[float, float]:
        """Derivatives of the roots by τ."""
        share, (one, two) = float(share_of(self.tau)), self.roots
        return one * (1 - share) / 2, -two * share / 2


class Layers(NamedTuple):
    """Products with B = α (√ρ G, √(1−ρ) I); layers are stacked, (2 · items, columns)."""

    exponential: GraphExponential
    scale: NetworkScale

    def qualities(self, layers: Floats) -> Floats:
        """B η."""
        return self._combined(layers, self.scale.roots)

    def qualities_by_tau(self, layers: Floats) -> Floats:
        """∂B/∂τ η."""
        return self._combined(layers, self.scale.roots_by_tau)

    def _combined(self, layers: Floats, roots: tuple[float, float]) -> Floats:
        size = len(layers) // 2
        out: Floats = roots[0] * self.exponential.root(np.ascontiguousarray(layers[:size]))
        return out + roots[1] * layers[size:]

    def transposed(self, x: Floats) -> Floats:
        """Bᵀ x."""
        one, two = self.scale.roots
        return np.vstack([one * self.exponential.root_transposed(x), two * x])


def whitening(exponential: GraphExponential, scale: NetworkScale, curvature: float) -> Floats:
    """Series (3, terms) of the inverse root of I + d g gᵀ, g with α."""
    one, two = scale.roots
    typical = float(np.exp(-2 * np.log(exponential.scale).mean()))

    def entry(which: int, a: Floats) -> Floats:
        parts = np.stack([one * np.exp(a / 2) / typical**0.5, np.full_like(a, two)])
        square = (parts**2).sum(axis=0)
        shrink = (1 - (1 + curvature * square) ** -0.5) / np.maximum(square, 1e-300)
        row, column = ((0, 0), (0, 1), (1, 1))[which]
        out: Floats = (row == column) - shrink * parts[row] * parts[column]
        return out

    rows = [exponential.series(partial(entry, k), WHITENING_ACCURACY) for k in range(3)]
    out = np.zeros((3, max(map(len, rows))))
    for k, row in enumerate(rows):
        out[k, : len(row)] = row
    return out


def whiten(exponential: GraphExponential, series: Floats, layers: Floats) -> Floats:
    """The whitening times stacked layers; it is its own transpose."""
    size = len(layers) // 2
    one, two = np.ascontiguousarray(layers[:size]), np.ascontiguousarray(layers[size:])
    return np.vstack(exponential.pair_product(series, one, two))
