"""The areas of a map as matplotlib paths in points, with an enlarged part where many are small."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.geo.outlines import (
    Shapes,
    drop_small_parts,
    extents,
    isolated,
    merge_groups,
    project,
    rescale,
    simplify,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.path import Path

    from tiewise.geo.areas import Areas

Bounds = tuple[float, float, float, float]  # west, south, east, north

TOLERANCE = 0.3  # points: a smaller corner is not visible
SMALLEST_PART = 0.5  # square points: a smaller piece of an area, or hole in it, is left out
# Points: an area smaller than the first gets a dot, an isolated one if smaller than the second.
SMALL_AREA, SMALL_ISLAND, DOT_RADIUS = 1.5, 5.0, 2.5
TALLEST = 1.5  # as a multiple of the width
# A part is enlarged where this many areas are smaller than so many points, if that doubles it.
LEGIBLE, MANY, WORTHWHILE_ZOOM = 9.0, 40, 2.0


class MapShapes(NamedTuple):
    """A map in points, from its lower left corner.

    `paths` has one for each area, `dots` are the positions of those marked with a dot, and
    `outlines` are those of the groups.
    """

    width: float
    height: float
    paths: list[Path]
    dots: NDArray[np.int64]
    outlines: list[Path]


class EnlargedPart(NamedTuple):
    """A part of a map, enlarged: its window on the map, positions of its areas, their shapes."""

    window: Bounds
    areas: NDArray[np.int64]
    shapes: MapShapes


@lru_cache(maxsize=2)
def map_shapes(areas: Areas, width: float) -> MapShapes:
    """The areas, the map no wider than this, and not much taller."""
    import shapely

    shapes = project(areas, width, TALLEST * width, upwards=True)
    _, _, right, top = shapely.total_bounds(shapes)
    return _paths(shapes, areas.groups, float(right), float(top))


@lru_cache(maxsize=2)
def enlarged_part(areas: Areas, width: float) -> EnlargedPart | None:
    """Where many areas are too small to read, the part that has most of them; else None."""
    import shapely

    shapes = project(areas, width, TALLEST * width, upwards=True)
    bounds = shapely.bounds(shapes)
    small = extents(shapes) < LEGIBLE
    if small.sum() < MANY:
        return None
    middles = (bounds[small, :2] + bounds[small, 2:]) / 2
    low, high = np.quantile(middles, (0.1, 0.9), axis=0)
    # As wide as it is high at least, since the page has a whole line for it.
    half = np.maximum((high - low) / 2 + LEGIBLE, [((high - low) / 2 + LEGIBLE)[1], 0])
    corner, far = (low + high) / 2 - half, (low + high) / 2 + half
    wide, tall = 2 * half
    zoom = width / wide
    if zoom < WORTHWHILE_ZOOM:
        return None
    inside = (bounds[:, :2] < far).all(axis=1) & (bounds[:, 2:] > corner).all(axis=1)
    which = np.flatnonzero(inside)
    (west, south), (east, north) = corner.tolist(), far.tolist()
    near = rescale(shapes[which], (west, south), (zoom, zoom))
    groups = None if areas.groups is None else tuple(areas.groups[k] for k in which)
    paths = _paths(near, groups, width, float(tall * zoom))
    return EnlargedPart((west, south, east, north), which, paths)


def _paths(shapes: Shapes, groups: Sequence[str] | None, width: float, height: float) -> MapShapes:
    import shapely

    simple = [drop_small_parts(shape, SMALLEST_PART) for shape in simplify(shapes, TOLERANCE)]
    # One way round for outer rings and the other for holes, or holes would be filled.
    light = np.asarray(shapely.normalize(simple), object)
    dots = _invisible(light)
    circles = shapely.buffer(shapely.point_on_surface(light[dots]), DOT_RADIUS, quad_segs=4)
    light[dots] = shapely.normalize(shapely.union(shapely.make_valid(light[dots]), circles))
    return MapShapes(
        width, height, [_path(shape) for shape in light], dots, _outlines(light, groups)
    )


def _invisible(shapes: Shapes) -> NDArray[np.int64]:
    """Areas to be marked with a dot: very small ones, and small islands."""
    extent = extents(shapes)
    small = np.flatnonzero(extent < SMALL_ISLAND)
    return small[(extent[small] < SMALL_AREA) | isolated(shapes, small, SMALL_ISLAND)]


def _outlines(shapes: Shapes, groups: Sequence[str] | None) -> list[Path]:
    merged = merge_groups(shapes, groups or (), grid=0.1)
    return [
        _path(drop_small_parts(merged[name], SMALLEST_PART))
        for name in sorted(merged)
        if not merged[name].is_empty
    ]


def _path(shape: Any) -> Path:
    """A polygon with all its pieces and holes as one path, in tenths of a point."""
    import shapely
    from matplotlib.path import Path

    rings = [shapely.get_coordinates(ring) for ring in shapely.get_rings(shapely.get_parts(shape))]
    codes = [
        code for ring in rings
        for code in (Path.MOVETO, *[Path.LINETO] * (len(ring) - 2), Path.CLOSEPOLY)
    ]  # fmt: skip
    return Path(np.round(np.concatenate(rings), 1), codes)
