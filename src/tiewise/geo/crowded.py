"""Where many areas of a map are too small to read: the part that is worth enlarging."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tiewise.geo.outlines import Shapes, extents

Window = tuple[float, float, float, float]
"""Its lowest x and y, and its highest."""


def crowded_window(
    shapes: Shapes, *, legible: float, many: int, sides: Sequence[float], drawn: float
) -> Window | None:
    """The square that gains most from being drawn as large as `drawn`; None where none does.

    It has at least so `many` areas smaller than `legible`, and one of these `sides`. What it gains
    are the small areas in it, times the logarithm of how much larger they become.
    """
    import shapely

    bounds = shapely.bounds(shapes[extents(shapes) < legible])
    if len(bounds) < many:
        return None
    middles = (bounds[:, :2] + bounds[:, 2:]) / 2
    gains = [
        (there * math.log(drawn / side), middles[k].tolist(), side)
        for side in sides
        for k, there in [_fullest(middles, side)]
        if there >= many
    ]
    if not gains:
        return None
    _, (x, y), side = max(gains)
    return x - side / 2, y - side / 2, x + side / 2, y + side / 2


def _fullest(middles: np.ndarray, side: float) -> tuple[int, int]:
    """Which of the points has most others in the square around it, and how many."""
    from scipy.spatial import KDTree

    tree = KDTree(middles)
    counts = tree.query_ball_point(middles, side / 2, p=np.inf, return_length=True)
    best = int(np.argmax(counts))
    return best, int(counts[best])
