"""A map as SVG paths, one for each area: finely for the report, lightly for the site."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tiewise.geo.outlines import (
    Shapes,
    extents,
    isolated,
    merge_groups,
    project,
    simplify,
    tolerances,
)  # fmt: skip
from tiewise.geo.svg_paths import border_path, circle_path, fill_path

if TYPE_CHECKING:
    from tiewise.geo.areas import Areas

SIZE = 1000.0  # units: the report's map is as wide or as high as this
TOLERANCE = 0.5  # units by which a line of it may move when it is simplified
# Units: an island of it that is smaller gets a ring; its radius; and that of a vanished area's dot.
SMALL_ISLAND, RING, DOT = 6.0, 5.0, 1.5

PACKED = 30_000  # bytes that the paths of a light map may weigh when compressed
COARSEST = 60.0  # units: its coarsest tolerance, however many areas there are
MARGIN = 8  # units around a light map
SMALL_AREA, LIGHT_DOT = 16.0, 11.0  # units: an area of it that is smaller gets a dot of this radius


class SvgMap(NamedTuple):
    """The frame (left, top, width, height), the path of each area by id, outlines of groups."""

    frame: tuple[int, int, int, int]
    paths: dict[str, str]
    outlines: tuple[str, ...]

    @property
    def width(self) -> int:
        """The width of its frame."""
        return self.frame[2]

    @property
    def height(self) -> int:
        """The height of its frame."""
        return self.frame[3]


def svg_map(areas: Areas) -> SvgMap:
    """The areas in tenths of a unit, with a ring around islands that are too small to see."""
    import shapely

    shapes = project(areas, SIZE, SIZE)
    simple = simplify(shapes, TOLERANCE)
    small = np.flatnonzero(extents(shapes) < SMALL_ISLAND)
    ringed = set(small[isolated(shapes, small, 2 * RING)].tolist())
    paths = {
        item: _fine_path(shape) + (circle_path(shape, RING, 1) if k in ringed else "")
        for k, (item, shape) in enumerate(zip(areas.items, simple, strict=True))
    }
    _, _, width, height = np.ceil(shapely.total_bounds(shapes)).astype(int)
    groups = merge_groups(simple, areas.groups or (), grid=0.1)
    outlines = tuple(fill_path(shape, 1) for shape in groups.values())
    return SvgMap((0, 0, max(int(width), 1), max(int(height), 1)), paths, outlines)


def _fine_path(shape: Any) -> str:
    return fill_path(shape, 1) or circle_path(shape, DOT, 1)


def light_svg_map(shapes: Shapes, items: Sequence[str], groups: Sequence[str]) -> SvgMap:
    """Shapes in whole units, simplified until their paths are small enough to send."""
    import shapely

    for tolerance in tolerances(1.5):
        shapes = simplify(shapes, tolerance)
        paths = [_light_path(shape) for shape in shapes]
        if len(gzip.compress("".join(paths).encode(), 6)) <= PACKED or tolerance > COARSEST:
            break
    west, north, east, south = (int(end) for end in shapely.total_bounds(shapes))
    frame = west - MARGIN, north - MARGIN, east - west + 2 * MARGIN, south - north + 2 * MARGIN
    return SvgMap(frame, dict(zip(items, paths, strict=True)), _light_outlines(shapes, groups))


def _light_path(shape: Any) -> str:
    """The path of an area; a dot is added where it would hardly be seen."""
    path = fill_path(shape)
    if path and extents(np.array([shape], object))[0] >= SMALL_AREA:
        return path
    return path + circle_path(shape, LIGHT_DOT)


def _light_outlines(shapes: Shapes, groups: Sequence[str]) -> tuple[str, ...]:
    """One path of all borders between groups, each drawn once."""
    merged = merge_groups(shapes, groups)
    return (border_path(merged[name] for name in sorted(merged)),) if len(merged) > 1 else ()
