"""Outlines of areas: projected onto a drawing, simplified together, and merged into groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tiewise.geo.areas import Areas

Shapes = NDArray[np.object_]
Floats = NDArray[np.float64]

SLIVER = 3.0  # steps of the grid: a hole that is nowhere wider than about twice this is none
COARSER = 1.6  # from one tolerance to the next


def project(areas: Areas, width: float, height: float, *, upwards: bool = False) -> Shapes:
    """Shapes in units of a drawing, as large as fits into this width and height.

    They begin in the upper left corner with y downwards, as in SVG; with `upwards` in the lower
    left one, as in matplotlib.
    """
    shapes = areas.geometry.to_numpy()
    return np.asarray(rescale(shapes, *projection(areas, width, height, upwards=upwards)), object)


def projection(
    areas: Areas, width: float, height: float, *, upwards: bool = False
) -> tuple[tuple[float, float], tuple[float, float]]:
    """The origin and the scale along x and y with which `rescale` makes such a drawing."""
    import shapely

    shapes, crs = areas.geometry.to_numpy(), areas.geometry.crs
    west, south, east, north = shapely.total_bounds(shapes).tolist()
    # A degree of longitude is shorter away from the equator; metres stay as they are.
    degrees = crs is not None and crs.is_geographic
    shrink = float(np.cos(np.radians((south + north) / 2))) if degrees else 1.0
    scale = min(width / max((east - west) * shrink, 1e-9), height / max(north - south, 1e-9))
    origin, y_scale = ((west, south), scale) if upwards else ((west, north), -scale)
    return origin, (shrink * scale, y_scale)


def rescale(shapes: Any, origin: tuple[float, float], scale: tuple[float, float]) -> Any:
    """Shapes moved so that `origin` is at (0, 0), and then scaled along x and y."""
    import shapely

    corner, factors = np.array(origin), np.array(scale)
    return shapely.transform(shapes, lambda points: (points - corner) * factors)


def simplify(shapes: Shapes, tolerance: float) -> Shapes:
    """Shapes without corners smaller than the tolerance; neighbours keep their shared borders.

    A shape that would vanish stays as it is.
    """
    import shapely

    simple = shapely.coverage_simplify(shapes, tolerance)
    lost = shapely.is_empty(simple) | (shapely.area(simple) == 0)
    return np.asarray(np.where(lost, shapes, simple), object)


def tolerances(first: float) -> Iterator[float]:
    """Ever coarser tolerances, to simplify a drawing until it is small enough."""
    while True:
        yield first
        first *= COARSER


def merge(shapes: Shapes, grid: float = 1.0) -> Any:
    """One multipolygon of all shapes, on a grid.

    Slivers between lines that nearly meet are filled; lakes stay.
    """
    import shapely

    broken = ~shapely.is_valid(shapes)
    valid = np.where(broken, shapely.make_valid(shapes), shapes) if broken.any() else shapes
    whole = shapely.union_all(shapely.set_precision(valid, grid))
    polygons = [part for part in shapely.get_parts(whole) if part.geom_type == "Polygon"]
    return shapely.MultiPolygon([_without_slivers(polygon, grid) for polygon in polygons])


def _without_slivers(polygon: Any, grid: float) -> Any:
    import shapely

    holes = [shapely.Polygon(ring) for ring in polygon.interiors]
    lakes = [hole.exterior for hole in holes if hole.area > SLIVER * grid * hole.length]
    return shapely.Polygon(polygon.exterior, lakes)


def merge_groups(shapes: Shapes, groups: Sequence[str], grid: float = 1.0) -> dict[str, Any]:
    """The merged shape of each named group, in order of first appearance; "" is no group."""
    group = np.array(groups)
    return {name: merge(shapes[group == name], grid) for name in dict.fromkeys(groups) if name}


def drop_small_parts(shape: Any, least_area: float) -> Any:
    """A shape without the pieces and holes smaller than this; its largest piece stays."""
    import shapely

    parts = shapely.get_parts(shape)
    sizes = shapely.area(parts)
    large = parts[(sizes >= least_area) | (sizes == sizes.max(initial=0))]
    return shapely.multipolygons([_without_small_holes(part, least_area) for part in large])


def _without_small_holes(polygon: Any, least_area: float) -> Any:
    import shapely

    outer, *holes = shapely.get_rings(polygon)
    if not holes:
        return polygon
    return shapely.Polygon(
        outer, [hole for hole in holes if shapely.Polygon(hole).area >= least_area]
    )


def extents(shapes: Shapes) -> Floats:
    """The width of each shape, or its height if that is more."""
    import shapely

    west, south, east, north = shapely.bounds(shapes).T
    return np.asarray(np.maximum(east - west, north - south), np.float64)


def isolated(shapes: Shapes, candidates: NDArray[np.int64], distance: float) -> NDArray[np.bool_]:
    """Which of the candidates (positions) have no other shape within this distance."""
    import shapely

    near, _ = shapely.STRtree(shapes).query(shapes[candidates], "dwithin", distance=distance)
    return np.asarray(np.bincount(near, minlength=len(candidates)) == 1)
