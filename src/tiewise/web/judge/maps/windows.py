"""An area enlarged, with what is around it: paths, and names of its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tiewise.geo.labels import MapLabel, place_labels
from tiewise.geo.map_features import MapFeatures, line_parts, split_water
from tiewise.geo.outlines import Shapes, merge, merge_groups, rescale, simplify, tolerances
from tiewise.geo.svg_paths import border_path, fill_path, line_path
from tiewise.web.judge.maps.labels import (
    LENS,
    MOST_IN_WINDOW,
    SMALLEST_WINDOW,
    MapNames,
    candidates,
    letter_sizes,
)

if TYPE_CHECKING:
    from shapely import STRtree

WINDOW = 400.0  # units of an enlarged area
BEYOND = 0.05  # of a window that is drawn around it, so that the edges of cut shapes are not seen
BESIDE = 0.5  # and on either side of it, for wider screens
EDGE = 6.0  # units between a label and the edge of the window


class EnlargedArea(NamedTuple):
    """Paths of an enlarged area: itself, all land, its neighbours' borders, groups' outlines,
    lakes, rivers and roads.
    """

    size: int
    area: str
    land: str
    neighbours: str
    groups: str
    lakes: str = ""
    rivers: str = ""
    roads: str = ""


@dataclass(frozen=True)
class WindowSize:
    """How much of the map a window shows, and how light it is."""

    ratio: float
    """Its width over that of the area."""
    bytes: int
    """That its paths may have."""
    neighbours: int
    """At most: the largest are enough."""
    above: float
    """Of its height that is also drawn above and below it."""
    most: tuple[int, ...]
    """Labels up to each level."""


CARD = WindowSize(1.7, 8_000, 100, BEYOND, MOST_IN_WINDOW)
"""On the page of a pair."""
SURROUNDINGS = WindowSize(5.0, 30_000, 600, BESIDE, tuple(4 + 4 * k for k in range(12)))
"""On the page of the map, where there are no scripts."""


@dataclass(frozen=True, eq=False)
class AreaWindow:
    """A part of the map around an area, in units of the window."""

    size: WindowSize
    items: tuple[str, ...]
    """The area itself, then its neighbours."""
    groups: tuple[str, ...]
    shapes: Shapes
    """Those of the items, cut a little beyond the window."""
    features: MapFeatures | None

    @classmethod
    def around(
        cls, number: int, size: WindowSize, items: Sequence[str], groups: Sequence[str],
        shapes: Shapes, tree: STRtree, features: MapFeatures | None,
    ) -> AreaWindow:  # fmt: skip
        """The window around the area of this number; the tree is that of all shapes."""
        import shapely

        west, north, east, south = shapely.bounds(shapes[number])
        side = max(east - west, south - north, 1e-6) * size.ratio
        corner = (west + east - side) / 2, (north + south - side) / 2
        beside, above = side * BESIDE, side * size.above
        frame = shapely.box(
            corner[0] - beside, corner[1] - above,
            corner[0] + side + beside, corner[1] + side + above,
        )  # fmt: skip
        near, scale = _near(tree, number, frame, size.neighbours), (WINDOW / side, WINDOW / side)
        cut = rescale(shapely.intersection(shapes[near], frame), corner, scale)
        if features is not None:
            features = features.cut(frame).projected(corner, scale)
        named = tuple(items[k] for k in near), tuple(groups[k] for k in near)
        return cls(size, *named, only_polygons(cut), features)

    def paths(self) -> EnlargedArea:
        """The paths, simplified until they are light enough."""
        for tolerance in tolerances(0.8):
            enlarged = self._paths(tolerance)
            if sum(map(len, enlarged[1:])) <= self.size.bytes or tolerance > WINDOW:
                break
        return enlarged

    def _paths(self, tolerance: float) -> EnlargedArea:
        import shapely

        simple = simplify(self.shapes, tolerance)
        visible = ~shapely.is_empty(simple)
        outlines = ""
        if len(set(self.groups)) > 1:
            merged = merge_groups(simple[visible], np.array(self.groups)[visible].tolist())
            outlines = border_path([merged[name] for name in sorted(merged)])
        land = fill_path(merge(simple[visible]))
        neighbours = border_path(simple[1:][visible[1:]])
        return EnlargedArea(
            int(WINDOW), fill_path(simple[0]), land, neighbours, outlines,
            *feature_paths(self.features, tolerance),
        )  # fmt: skip

    def labels(self, names: MapNames, language: str) -> list[MapLabel]:
        """Names of neighbours, places and landmarks in the window."""
        import shapely

        core = shapely.box(0, 0, WINDOW, WINDOW)
        parts = only_polygons(shapely.intersection(self.shapes, core))
        there = [k for k in range(1, len(self.items)) if not parts[k].is_empty]
        named = names.areas([self.items[k] for k in there], parts[there], language)
        features = self.features.cut(core) if self.features is not None else None
        named += names.features(features, language)
        frame = (EDGE, EDGE, WINDOW - EDGE, WINDOW - EDGE)
        sizes = letter_sizes(WINDOW, SMALLEST_WINDOW, len(self.size.most))
        return place_labels(candidates(named), frame, sizes, most=self.size.most, corner=LENS)


def feature_paths(
    features: MapFeatures | None, tolerance: float, decimals: int = 0
) -> tuple[str, str, str]:
    """Paths of lakes, rivers and roads, simplified."""
    import shapely

    if features is None:
        return "", "", ""
    lakes, rivers = split_water(shapely.simplify(features.of("water"), tolerance))
    roads = line_parts(shapely.simplify(features.of("road"), tolerance))
    filled = "".join(fill_path(lake, decimals) for lake in lakes)
    return filled, line_path(rivers, decimals), line_path(roads, decimals)


def _near(tree: STRtree, number: int, frame: Any, most: int) -> list[int]:
    """The area itself, then its neighbours, of which the largest are enough."""
    inside = np.sort(tree.query(frame, "intersects"))
    others = [int(k) for k in inside if k != number]
    others.sort(key=lambda k: -float(tree.geometries[k].area))
    return [number, *others[:most]]


def only_polygons(shapes: Shapes) -> Shapes:
    """Cut shapes without the lines where they only touched the window."""
    import shapely

    parts = [shapely.get_parts(shape) for shape in shapes]
    flat = [[part for part in some if part.geom_type == "Polygon"] for some in parts]
    return np.array([shapely.MultiPolygon(polygons) for polygons in flat], object)
