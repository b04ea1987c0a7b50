"""The map of the page: areas as paths of one SVG drawing, light enough to send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tiewise.geo.areas import Areas

Shapes = NDArray[np.object_]

WIDE, TALL = 1000.0, 1000.0  # the drawing fits into this
FINE = 0.5  # how far a line may move when it is simplified
SPECK, SPOT, DOT = 6.0, 5.0, 1.5  # an island below the first is circled with the second


class Outline(NamedTuple):
    """A drawing: its size, the path of each area by id, and the outlines of groups."""

    width: int
    height: int
    paths: dict[str, str]
    borders: tuple[str, ...]


def outline(areas: Areas) -> Outline:
    """The areas simplified together, so that neighbours still share their border."""
    import shapely

    placed = _placed(areas)
    simple = shapely.coverage_simplify(placed, FINE)
    shapes = np.where(shapely.is_empty(simple), placed, simple)
    _, _, width, height = np.ceil(shapely.total_bounds(placed)).astype(int)
    circled = _specks(placed)
    paths = {
        item: _path(shape) + (_circle(shape, SPOT) if k in circled else "")
        for k, (item, shape) in enumerate(zip(areas.items, shapes, strict=True))
    }
    return Outline(max(width, 1), max(height, 1), paths, _borders(shapes, areas.groups))


def _placed(areas: Areas) -> Shapes:
    """Shapes in units of the drawing, with y downwards."""
    import shapely

    shapes, crs = areas.geometry.to_numpy(), areas.geometry.crs
    west, south, east, north = shapely.total_bounds(shapes)
    # As on the other maps: degrees of longitude shrink to the north, metres stay as they are.
    degrees = crs is not None and crs.is_geographic
    shrink = np.cos(np.radians((south + north) / 2)) if degrees else 1.0
    scale = min(WIDE / max((east - west) * shrink, 1e-9), TALL / max(north - south, 1e-9))
    corner, stretch = np.array([west, north]), np.array([shrink * scale, -scale])
    placed: Shapes = shapely.transform(shapes, lambda points: (points - corner) * stretch)
    return placed


def _specks(shapes: Shapes) -> set[int]:
    """Places of areas too small to see or touch that have nobody close by."""
    import shapely

    west, south, east, north = shapely.bounds(shapes).T
    small = np.flatnonzero(np.maximum(east - west, north - south) < SPECK)
    near = shapely.STRtree(shapes).query(shapes[small], "dwithin", distance=2 * SPOT)
    alone = np.bincount(near[0], minlength=len(small)) == 1
    return {int(k) for k in small[alone]}


def _path(shape: Any) -> str:
    import shapely

    rings = shapely.get_rings(shapely.get_parts(shape))
    return "".join(_ring(shapely.get_coordinates(ring)) for ring in rings) or _circle(shape, DOT)


def _ring(points: NDArray[np.float64]) -> str:
    """A closed line in steps of a tenth of a unit; nothing where it shrinks to a line or point."""
    tenths = np.round(points * 10).astype(int)
    moved = np.r_[True, np.any(np.diff(tenths, axis=0) != 0, axis=1)]
    kept = tenths[moved]
    if len(kept) < 4:
        return ""
    steps = np.diff(kept, axis=0)[:-1]
    return f"M{_pair(*kept[0])}l{' '.join(_pair(*step) for step in steps)}z"


def _pair(x: int, y: int) -> str:
    return f"{x / 10:g},{y / 10:g}"


def _circle(shape: Any, radius: float) -> str:
    import shapely

    (x, y), across = shapely.get_coordinates(shapely.point_on_surface(shape))[0], 2 * radius
    arc = f"a{radius:g},{radius:g} 0 1 0"
    return f"M{x - radius:.1f},{y:.1f}{arc} {across:g},0{arc} {-across:g},0z"


def _borders(shapes: Shapes, groups: Sequence[str] | None) -> tuple[str, ...]:
    """The outline of each group, such as a borough."""
    import shapely

    if groups is None:
        return ()
    # On a grid, so that lines which nearly meet do not leave slivers behind.
    gridded, group = shapely.set_precision(shapes, 0.1), np.array(groups)
    named = [name for name in dict.fromkeys(groups) if name]
    return tuple(_path(shapely.union_all(gridded[group == name])) for name in named)
