"""Areas on paper: laid flat, simplified together, and written as SVG paths of whole numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tiewise.geo.areas import Areas

Shapes = NDArray[np.object_]
Points = NDArray[np.float64]

SLIVER = 3.0  # a hole with less room than this for its length is none


def laid_flat(areas: Areas, longest: float) -> Shapes:
    """Shapes with y downwards whose longer side, all together, has this length."""
    import shapely

    shapes, crs = areas.geometry.to_numpy(), areas.geometry.crs
    west, south, east, north = shapely.total_bounds(shapes)
    # Degrees of longitude shrink to the north; metres stay as they are.
    degrees = crs is not None and crs.is_geographic
    shrink = np.cos(np.radians((south + north) / 2)) if degrees else 1.0
    scale = longest / max((east - west) * shrink, north - south, 1e-9)
    flat: Shapes = moved(shapes, (west, north), (shrink * scale, -scale))
    return flat


def moved(shapes: Any, corner: tuple[float, float], scale: tuple[float, float]) -> Any:
    """Shapes with this corner at nought, in another measure."""
    import shapely

    begin, by = np.array(corner), np.array(scale)
    return shapely.transform(shapes, lambda points: (points - begin) * by)


def simplified(shapes: Shapes, fine: float) -> Shapes:
    """Shapes without corners smaller than this; neighbours still share their borders."""
    import shapely

    simple = shapely.coverage_simplify(shapes, fine)
    kept: Shapes = np.where(shapely.is_empty(simple), shapes, simple)
    return kept


def joined(shapes: Shapes) -> Any:
    """Shapes as one, on a grid; the slivers between lines that nearly meet are filled."""
    import shapely

    whole = shapely.union_all(shapely.set_precision(shapes, 1))
    polygons = [part for part in shapely.get_parts(whole) if part.geom_type == "Polygon"]
    return shapely.MultiPolygon([_without_slivers(polygon) for polygon in polygons])


def _without_slivers(polygon: Any) -> Any:
    import shapely

    holes = [shapely.Polygon(ring) for ring in polygon.interiors]
    return shapely.Polygon(
        polygon.exterior, [hole.exterior for hole in holes if hole.area > SLIVER * hole.length]
    )


def filled(shape: Any) -> str:
    """The path of a shape that is to be filled."""
    import shapely

    rings = shapely.get_rings(shapely.get_parts(shape))
    return "".join(_trail(shapely.get_coordinates(ring), closed=True) for ring in rings)


def borders(shapes: Iterable[Any]) -> str:
    """The path of all borders, each drawn once where two shapes share it."""
    import shapely

    edges = shapely.boundary(np.array(list(shapes), dtype=object))
    rounded = shapely.transform(edges, np.round)
    lines = shapely.line_merge(shapely.union_all(rounded, grid_size=1))
    parts = shapely.get_parts(lines)
    return "".join(_trail(shapely.get_coordinates(part)) for part in parts)


def _trail(points: Points, *, closed: bool = False) -> str:
    """A line in steps of whole numbers; nothing where it shrinks to a point."""
    whole = np.round(points).astype(int)
    steps = np.diff(whole, axis=0)
    steps = steps[np.any(steps != 0, axis=1)]
    if len(steps) < (3 if closed else 1):
        return ""
    told = " ".join(map(str, (steps[:-1] if closed else steps).ravel()))
    begin = " ".join(map(str, whole[0]))
    return f"M{begin}l{told}{'z' if closed else ''}".replace(" -", "-")
