"""Directions that anchors leave wide in coordinates that are scaled item by item.

Anchors say how far they are apart, and nothing of their common level; with a slope that is
learned nothing of their spread. Scaled by what is known of each, these directions are much wider
than the others, and chains would cross them slowly: their coordinates are stretched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.sparse.centre import SparseQuadratic

Floats = NDArray[np.float64]

POWER_ITERATIONS, LARGEST_PRECISION = 40, 2.5


@dataclass(frozen=True, eq=False)
class WideDirections:
    """Orthonormal `directions` (items, few), and the standard deviation along each."""

    directions: Floats
    sd: Floats

    def stretched(self, q: Floats) -> Floats:
        """Coordinates (items, chains) with those along the directions stretched."""
        along = (self.sd - 1)[:, None] * (self.directions.T @ q)
        return q + self.directions @ along


def wide_directions(quadratic: SparseQuadratic) -> WideDirections | None:
    """Those that anchors leave, by power iterations of a block; None without anchors."""
    anchors = quadratic.anchors
    if anchors is None:
        return None
    root = np.sqrt(quadratic.diagonal)[:, None]
    own = anchors.positions
    block = np.zeros((len(root), 1 if anchors.along is None else 2))
    block[own, 0] = 1.0
    if anchors.along is not None:
        block[own, 1] = quadratic.centre.quality[own]
    block = np.linalg.qr(root * block)[0]
    for _ in range(POWER_ITERATIONS):
        image = quadratic.product(block / root) / root
        block = np.linalg.qr(LARGEST_PRECISION * block - image)[0]
    image = quadratic.product(block / root) / root
    precision, rotation = np.linalg.eigh(block.T @ image)
    return WideDirections(block @ rotation, np.maximum(precision, 1e-6) ** -0.5)
