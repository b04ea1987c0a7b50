"""Anchors in the coordinates of a network prior's layers: what is known of them is whitened, too.

The whitening of `network_layers` takes all items for as well known. Anchors with the curvature
L Lᵀ by their qualities add V Vᵀ to the precision I that it leaves, V = W Bᵀ L with its own W and
the layers' B: coordinates are multiplied by (I + V Vᵀ)^−½, of as many directions as anchors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.sparse.network_layers import Layers, whiten
from tiewise.errors import InputError
from tiewise.model.anchors.precision import AnchorCurvature

Floats = NDArray[np.float64]

MOST_ANCHORS, MOST_NUMBERS = 2000, 100_000_000
"""Anchors of a map of very many areas, and numbers (anchors times twice the areas): 0.8 GB."""
ENOUGH = 0.05
"""Directions to which anchors add less than this share of the precision are left as they are."""
COLUMNS = 256


@dataclass(frozen=True, eq=False)
class AnchorWhitening:
    """(I + V Vᵀ)^−½ by orthonormal `directions` (2 · items, few) and its value less 1 on each."""

    directions: Floats
    change: Floats

    def product(self, layers: Floats) -> Floats:
        """Its product with stacked layers; it is its own transpose."""
        along = self.change[:, None] * (self.directions.T @ layers)
        return layers + self.directions @ along


def anchor_whitening(
    curvature: AnchorCurvature, layers: Layers, whitening: Floats, size: int
) -> AnchorWhitening:
    """The whitening of anchors with this curvature, after that of all items."""
    number = len(curvature.positions)
    require_few_anchors(number, size)
    matrix = curvature.matrix
    # The level is free: without a little of everything there would be no such root.
    root = np.linalg.cholesky(matrix + 1e-9 * np.diag(np.diag(matrix)))
    spread = np.zeros((size, number))
    spread[curvature.positions] = root
    parts = np.array_split(spread, -(-number // COLUMNS), axis=1)
    own = np.hstack(
        [whiten(layers.exponential, whitening, layers.transposed(np.ascontiguousarray(part)))
         for part in parts]
    )  # fmt: skip
    added, rotation = np.linalg.eigh(own.T @ own)
    some = added > ENOUGH
    directions = own @ (rotation[:, some] / np.sqrt(added[some]))
    return AnchorWhitening(directions, (1 + added[some]) ** -0.5 - 1)


def require_few_anchors(number: int, size: int) -> None:
    """Raise InputError where a map of so many areas has too many anchors."""
    most = min(MOST_ANCHORS, MOST_NUMBERS // (2 * size))
    if number > most:
        raise InputError(
            f"a network prior of {size:,} areas takes {most:,} anchors, and there are "
            f"{number:,}; leave some out, or use prior='independent'"
        )
