"""The precision of anchors' values, their level integrated out, as products with it.

With errors that are independent, of precisions w, it is Q = diag(w) − w wᵀ/Σw: a product with it
takes as many operations as there are anchors. Errors that are correlated have a matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LevelFreePrecision:
    """Q with Q1 = 0: from `weights`, 1 / sd² of each value, or that of `correlated` errors."""

    weights: Floats | None = None
    correlated: Floats | None = None

    def product(self, x: NDArray[Any]) -> Floats:
        """Q x of a vector or a matrix (anchors, ...)."""
        if self.weights is None:
            return np.tensordot(self.matrix, x, 1)
        own = self.weights.reshape(-1, *(1,) * (x.ndim - 1))
        mean = np.tensordot(self.weights, x, 1) / self.weights.sum()
        return np.asarray(own * (x - mean), np.float64)

    @cached_property
    def diagonal(self) -> Floats:
        """The diagonal of Q."""
        if self.weights is None:
            return np.diag(self.matrix).copy()
        out: Floats = self.weights - self.weights**2 / self.weights.sum()
        return out

    @cached_property
    def matrix(self) -> Floats:
        """Q written out."""
        if self.correlated is not None:
            # What little of the level rounding leaves would grow with the level.
            free = self.correlated - np.diag(self.correlated.sum(axis=1))
            out: Floats = (free + free.T) / 2
            return out
        assert self.weights is not None
        rest = np.outer(self.weights, self.weights) / self.weights.sum()
        return np.asarray(np.diag(self.weights) - rest, np.float64)


@dataclass(frozen=True, eq=False)
class AnchorCurvature:
    """Minus second derivatives by the anchors' qualities: f · (Q − a aᵀ), f the `factor`.

    a is the direction `along` which a slope that is learned lets anchors move; None without one.
    """

    positions: Integers
    precision: LevelFreePrecision
    factor: float
    along: Floats | None = None

    def product(self, x: Floats) -> Floats:
        """Its product with values at the anchors (anchors, columns)."""
        out = self.precision.product(x)
        if self.along is not None:
            out -= np.multiply.outer(self.along, self.along @ x)
        return self.factor * out

    def add_product(self, x: Floats, out: Floats) -> None:
        """Add its product with values of all items (items, columns)."""
        out[self.positions] += self.product(x[self.positions])

    def diagonal(self, size: int) -> Floats:
        """Its diagonal, for all of so many items."""
        out = np.zeros(size)
        own = self.precision.diagonal - (0.0 if self.along is None else self.along**2)
        out[self.positions] = self.factor * np.maximum(own, 0.0)
        return out

    @cached_property
    def matrix(self) -> Floats:
        """Written out (anchors, anchors)."""
        own = self.precision.matrix
        if self.along is not None:
            own = own - np.outer(self.along, self.along)
        out: Floats = self.factor * own
        return out
