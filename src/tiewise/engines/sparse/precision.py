"""The prior of quality as products with its sparse precision Q, its level made as tight as items.

The likelihood depends on differences alone, so that the common level ℓ = 1ᵀQλ / 1ᵀQ1 is as wide as
the prior leaves it: wider than an item, and no diagonal scaling reaches it. A level of any other
width may be sampled in its stead, because it is independent of the differences: with its
precision multiplied by κ, λ + (√κ − 1) ℓ has the prior's own distribution. Where qualities sum to
zero the level is none of the model's, and is taken out of what was sampled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent, Precision, QualityPrior

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SparsePrecision:
    """Q, sparse, with the precision of its level raised; `matrix` None stands for the identity.

    Q gains `level_strength` · w wᵀ, where ℓ = wᵀλ is the level; in qualities that are results, ℓ is
    multiplied by `level_stretch`.
    """

    size: int
    matrix: Any | None = None
    sum_to_zero: bool = False
    level_strength: float = 0.0
    level_stretch: float = 1.0

    @cached_property
    def row_sums(self) -> Floats:
        """Q1, before anything was raised."""
        ones = np.ones(self.size)
        return ones if self.matrix is None else np.asarray(self.matrix @ ones)

    @cached_property
    def level_weights(self) -> Floats:
        """w with ℓ = wᵀλ."""
        if self.matrix is None or self.sum_to_zero:
            return np.full(self.size, 1.0 / self.size)
        out: Floats = self.row_sums / self.row_sums.sum()
        return out

    @cached_property
    def diagonal(self) -> Floats:
        """The diagonal of Q."""
        own = np.ones(self.size) if self.matrix is None else self.matrix.diagonal()
        if self.sum_to_zero:
            own = own - 2 * self.row_sums / self.size + self.row_sums.sum() / self.size**2
        out: Floats = own + self.level_strength * self.level_weights**2
        return out

    def with_level(self, precision: float) -> SparsePrecision:
        """The same with 1ᵀQ1 raised to this, where it is less."""
        if self.sum_to_zero:
            return replace(self, level_strength=precision, level_stretch=0.0)
        own = float(self.row_sums.sum())
        stretch = max(precision / own, 1.0)
        return replace(self, level_strength=own * (stretch - 1), level_stretch=stretch**0.5)

    def product(self, x: Floats) -> Floats:
        """Q x of a matrix (items, chains)."""
        if self.matrix is None:
            out = x if self.level_strength == 0 else x.copy()
        elif self.sum_to_zero:
            out = self.matrix @ (x - x.mean(axis=0))
            out -= out.mean(axis=0)
        else:
            out = self.matrix @ x
        if self.level_strength:
            out += np.multiply.outer(self.level_weights, self.level_strength * self.level(x))
        return np.asarray(out)

    def neighbour_sums(self, variance: Floats) -> Floats:
        """Σ_j Q_ij² v_j over the other items j of every item i, the level left out."""
        if self.matrix is None:
            return np.zeros(self.size)
        own = self.matrix.diagonal() ** 2 * variance
        return np.asarray((self.matrix * self.matrix) @ variance - own)

    def level(self, x: Floats) -> Floats:
        """ℓ of each chain."""
        return np.asarray(self.level_weights @ x)

    def qualities(self, x: Floats) -> Floats:
        """Qualities under the prior itself, from x under the one whose level is raised."""
        return x if self.level_stretch == 1 else x + (self.level_stretch - 1) * self.level(x)


def precision_of(prior: QualityPrior, size: int) -> SparsePrecision | None:
    """The sparse precision of a prior; None where it has none."""
    from scipy.sparse import csr_array

    without_map = isinstance(prior, Network) and (prior.share == 0 or not len(prior.graph.edges))
    if isinstance(prior, Independent) or without_map:
        return SparsePrecision(size)
    if isinstance(prior, Precision):
        return SparsePrecision(size, csr_array(prior.matrix), prior.sum_to_zero)
    return None
