"""Preconditioned conjugate gradients, of many right-hand sides in lockstep."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TOLERANCE = 1e-6
MOST_ITERATIONS = 1000


def conjugate_gradients(
    product: Callable[[Floats], Floats],
    diagonal: Floats | Callable[[Floats], Floats],
    right: Floats,
    *,
    tolerance: float = TOLERANCE,
) -> Floats:
    """X with product(X) = right (rows, columns).

    `diagonal` is that of the matrix, or products with about its inverse. The residual of every
    column, in the units that it sets, is at most `tolerance` of that of the right-hand side.
    """
    x, residual = np.zeros_like(right), right.copy()
    scaled = diagonal if callable(diagonal) else lambda x: x / diagonal[:, None]
    goal = tolerance**2 * np.maximum((scaled(right) * right).sum(axis=0), 1e-300)
    step = scaled(residual)
    size = (residual * step).sum(axis=0)
    for _ in range(MOST_ITERATIONS):
        if (size <= goal).all():
            break
        image = product(step)
        length = _ratio(size, (step * image).sum(axis=0))
        x += length * step
        residual -= length * image
        before, direction = size, scaled(residual)
        size = (residual * direction).sum(axis=0)
        step = direction + _ratio(size, before) * step
    return x


def _ratio(above: Floats, below: Floats) -> Floats:
    """Their ratio; 0 for a column whose residual is 0, which is then left as it is."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
