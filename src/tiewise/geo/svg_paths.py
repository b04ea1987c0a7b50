"""SVG paths of outlines, in relative steps, rounded to whole units or to decimals of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]


def fill_path(shape: Any, decimals: int = 0) -> str:
    """The path of a shape to be filled: all its rings, closed; "" where rounding leaves none."""
    import shapely

    rings = shapely.get_rings(shapely.get_parts(shape))
    lines = [_line(shapely.get_coordinates(ring), decimals, closed=True) for ring in rings]
    return "".join(lines)


def border_path(shapes: Iterable[Any], decimals: int = 0) -> str:
    """The path of all borders, each drawn once where two shapes share it."""
    import shapely

    edges = shapely.boundary(np.array(list(shapes), dtype=object))
    rounded = shapely.transform(edges, lambda points: np.round(points, decimals))
    lines = shapely.line_merge(shapely.union_all(rounded, grid_size=10.0**-decimals))
    return line_path([lines], decimals)


def line_path(shapes: Iterable[Any], decimals: int = 0) -> str:
    """The path of lines that are not filled, each from its beginning to its end."""
    import shapely

    parts = shapely.get_parts(np.array(list(shapes), dtype=object))
    return "".join(_line(shapely.get_coordinates(part), decimals) for part in parts)


def circle_path(shape: Any, radius: float, decimals: int = 0) -> str:
    """The path of a circle around a point inside the shape."""
    import shapely

    x, y = shapely.get_coordinates(shapely.point_on_surface(shape))[0].round(decimals) + 0.0
    arc = f"a{radius:g} {radius:g} 0 1 0"
    return f"M{_numbers([x - radius, y])}{arc} {2 * radius:g} 0{arc}-{2 * radius:g} 0z"


def _line(points: Points, decimals: int, *, closed: bool = False) -> str:
    """A line from step to step; "" where rounding turns it into a point, or a ring into a line."""
    unit = 10**decimals
    rounded = np.round(points * unit).astype(int)
    steps = np.diff(rounded, axis=0)
    steps = steps[np.any(steps != 0, axis=1)]
    if len(steps) < (3 if closed else 1):
        return ""
    if closed:
        steps = steps[:-1]
    return f"M{_numbers(rounded[0] / unit)}l{_numbers(steps.ravel() / unit)}{'z' if closed else ''}"


def _numbers(values: Iterable[float]) -> str:
    """Numbers with as few letters as SVG allows: a minus sign needs no space before it."""
    return " ".join(f"{value:g}" for value in values).replace(" -", "-")
