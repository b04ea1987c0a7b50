"""Areas as they are drawn: laid flat in points, with no more corners than can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.path import Path

    from tiewise.geo.areas import Areas

Floats = NDArray[np.float64]
Polygons = NDArray[np.object_]
Bounds = tuple[float, float, float, float]  # west, south, east, north

SEEN = 0.3  # points: a corner that sticks out less is not seen
DUST = 0.5  # square points: a piece of an area, or a hole, that is smaller is left out
SPECK, ISLET = 1.5, 5.0  # points: an area that is nowhere wider gets a dot; the second if alone
DOT = 2.5  # points, from its middle
TALLEST = 1.5  # as a multiple of the width
LEGIBLE, MANY, WORTHWHILE = 9.0, 40, 2.0  # when a part is enlarged: `close_up`


class Shapes(NamedTuple):
    """A map in points, from its lower left corner.

    `paths` has one for each area, `tiny` are those with a dot, and `outlines` those of the groups.
    """

    width: float
    height: float
    paths: list[Path]
    tiny: NDArray[np.int64]
    outlines: list[Path]


class CloseUp(NamedTuple):
    """A part of a map, enlarged: where it is on the map, which areas are in it, their shapes."""

    window: Bounds
    which: NDArray[np.int64]
    shapes: Shapes


@lru_cache(maxsize=2)
def shapes_of(areas: Areas, width: float) -> Shapes:
    """The areas, the map no wider than this, and not much taller."""
    import shapely

    flat = _laid_flat(areas, width)
    _, _, right, top = shapely.total_bounds(flat)
    return _drawable(flat, areas.groups, float(right), float(top))


@lru_cache(maxsize=2)
def close_up(areas: Areas, width: float) -> CloseUp | None:
    """Where many areas are too small to read, the part that has most of them; else None."""
    import shapely

    flat = _laid_flat(areas, width)
    bounds = shapely.bounds(flat)
    small = _extent(bounds) < LEGIBLE
    if small.sum() < MANY:
        return None
    middles = (bounds[small, :2] + bounds[small, 2:]) / 2
    low, high = np.quantile(middles, (0.1, 0.9), axis=0)
    # As wide as it is high at least, since there is a whole line for it.
    half = np.maximum((high - low) / 2 + LEGIBLE, [((high - low) / 2 + LEGIBLE)[1], 0])
    corner, far = (low + high) / 2 - half, (low + high) / 2 + half
    wide, tall = 2 * half
    zoom = width / wide
    if zoom < WORTHWHILE:
        return None
    which = np.flatnonzero((bounds[:, :2] < far).all(axis=1) & (bounds[:, 2:] > corner).all(axis=1))
    near = shapely.transform(flat[which], lambda corners: (corners - corner) * zoom)
    groups = None if areas.groups is None else tuple(areas.groups[k] for k in which)
    shapes = _drawable(near, groups, width, float(tall * zoom))
    (west, south), (east, north) = corner.tolist(), far.tolist()
    return CloseUp((west, south, east, north), which, shapes)


def _extent(bounds: Floats) -> Floats:
    """How wide, or high if that is more, what has these bounds is."""
    return np.maximum(bounds[:, 2] - bounds[:, 0], bounds[:, 3] - bounds[:, 1])


def _drawable(flat: Polygons, groups: Sequence[str] | None, width: float, height: float) -> Shapes:
    import shapely

    light = _simplified(flat)
    tiny = _tiny(light)
    # What would not be seen becomes a dot, with the colour and hatching of its area.
    dots = shapely.buffer(shapely.point_on_surface(light[tiny]), DOT, quad_segs=4)
    light[tiny] = shapely.normalize(shapely.union(shapely.make_valid(light[tiny]), dots))
    outlines = [] if groups is None else _group_borders(light, groups)
    return Shapes(width, height, [_path(shape) for shape in light], tiny, outlines)


def _tiny(shapes: Polygons) -> NDArray[np.int64]:
    """Areas that would not be seen: specks, and islets with nobody close by."""
    import shapely

    bounds = shapely.bounds(shapes)
    extent = _extent(bounds)
    around = shapely.box(*(bounds + ISLET * np.array([-1, -1, 1, 1])).T)
    seen_from, _ = shapely.STRtree(shapes).query(around)
    alone = np.bincount(seen_from, minlength=len(shapes)) == 1
    return np.flatnonzero((extent < SPECK) | ((extent < ISLET) & alone))


def _laid_flat(areas: Areas, width: float) -> Polygons:
    """Polygons in points; degrees of longitude shrink to the north."""
    import shapely

    shapes = areas.geometry.to_numpy()
    west, south, east, north = shapely.total_bounds(shapes)
    crs = areas.geometry.crs
    round_earth = crs is not None and crs.is_geographic
    shrink = np.cos(np.radians((south + north) / 2)) if round_earth else 1.0
    across, up = (east - west) * shrink, north - south
    scale = min(width / across, TALLEST * width / up)
    by = scale * np.array([shrink, 1.0])
    moved = shapely.transform(shapes, lambda corners: (corners - (west, south)) * by)
    return np.asarray(moved, object)


def _simplified(shapes: Polygons) -> Polygons:
    """Shapes without the corners and pieces that cannot be seen; neighbours still touch."""
    import shapely
    from shapely.errors import UnsupportedGEOSVersionError

    try:
        light = shapely.coverage_simplify(shapes, SEEN)
    except (AttributeError, UnsupportedGEOSVersionError):  # before shapely 2.1 or GEOS 3.12
        light = shapely.simplify(shapes, SEEN / 2)
    lost = shapely.is_empty(light) | (shapely.area(light) == 0)
    light = np.where(lost, shapes, light)
    # One way round for outer rings and the other for holes, or holes would be filled.
    return np.asarray(shapely.normalize([_dusted(shape) for shape in light]), object)


def _dusted(shape: Any) -> Any:
    """A shape without pieces and holes too small to be seen; its largest piece stays."""
    import shapely

    parts = shapely.get_parts(shape)
    sizes = shapely.area(parts)
    kept = parts[(sizes >= DUST) | (sizes == sizes.max())]
    return shapely.multipolygons([_without_holes(part) for part in kept])


def _without_holes(polygon: Any) -> Any:
    import shapely

    outer, *holes = shapely.get_rings(polygon)
    if not holes:
        return polygon
    return shapely.Polygon(outer, [hole for hole in holes if shapely.Polygon(hole).area >= DUST])


def _group_borders(shapes: Polygons, groups: Sequence[str]) -> list[Path]:
    """The outline of each group; areas without one make none."""
    import shapely

    member = np.array(groups)
    out = []
    for group in sorted(set(groups) - {""}):
        whole = shapely.union_all(shapely.make_valid(shapes[member == group]))
        polygons = [part for part in shapely.get_parts(whole) if shapely.area(part) > 0]
        if polygons:
            out.append(_path(_dusted(shapely.multipolygons(polygons))))
    return out


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
