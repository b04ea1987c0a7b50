"""What is written on the maps of a study, in each language, and how large letters are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tiewise.geo.labels import LabelCandidate, label_sizes
from tiewise.geo.map_features import POINTS, MapFeatures
from tiewise.geo.outlines import Shapes, extents
from tiewise.study.study import Study

LETTERS = 12.0
"""Pixels of the letters of a label when it is first shown: map.css has the same."""
SMALLEST_MAP, SMALLEST_WINDOW = 96.0, 80.0
"""Pixels of the smallest map of all, and of an area, that have labels: level 0."""
MAP_LEVELS = 8
"""Levels of the map on the page of a pair; the enlarged one has more."""
WINDOW_LEVELS = 7
DETAIL_LEVELS = 32
MOST = tuple(3 + 3 * level for level in range(MAP_LEVELS))
"""Labels up to each level, so that the map is still one."""
MOST_IN_WINDOW = tuple(2 + 2 * level for level in range(WINDOW_LEVELS))
IMPORTANCE = {"place": 4.0, "group": 3.0, "landmark": 2.0, "water": 1.5, "area": 0.0}
LENS = 2.8
"""Ems of the corner where a sign says that the map can be enlarged."""
FIRST_FEW = 1e-4  # of importance: from one feature to the next of its kind


def letter_sizes(units: float, pixels: float, levels: int) -> list[float]:
    """Sizes of letters, level by level, in units of a map that first has so many pixels."""
    return label_sizes(LETTERS * units / pixels, levels)


class NamedShape(NamedTuple):
    """Something with a name: its shape on the map, its name in a language, and what it is."""

    name: str
    shape: Any
    kind: str
    importance: float


def candidates(named: Sequence[NamedShape]) -> list[LabelCandidate]:
    """Where the name of each of these could stand."""
    if not named:
        return []
    shapes = np.array([one.shape for one in named], object)
    widths, points = extents(shapes), middles(shapes)
    return [
        LabelCandidate(
            one.name, float(x), float(y), one.importance, one.kind,
            float("inf") if one.kind in POINTS else float(width), one.kind in POINTS,
        )
        for one, (x, y), width in zip(named, points, widths, strict=True)
    ]  # fmt: skip


def middles(shapes: Shapes) -> Any:
    """A point well inside each area, halfway along each line, and each point itself."""
    import shapely

    dimensions = shapely.get_dimensions(shapes)
    points = shapely.point_on_surface(shapes)
    flat = np.flatnonzero((dimensions == 2) & (shapely.area(shapes) > 0))
    circles = [shapely.maximum_inscribed_circle(shape, _tolerance(shape)) for shape in shapes[flat]]
    points[flat] = shapely.get_point(np.array(circles, object), 0) if len(flat) else points[flat]
    lines = np.flatnonzero(dimensions == 1)
    longest = [max(shapely.get_parts(shape), key=shapely.length) for shape in shapes[lines]]
    halfway = shapely.line_interpolate_point(np.array(longest, object), 0.5, normalized=True)
    points[lines] = halfway if len(lines) else points[lines]
    return shapely.get_coordinates(points)


def _tolerance(shape: Any) -> float:
    west, north, east, south = shape.bounds
    return float(max(east - west, south - north)) / 40


class MapNames:
    """The names of a study's areas, groups and features, language by language."""

    def __init__(self, study: Study) -> None:
        self._study, self._kinds = study, study.settings.map.labels

    def areas(self, items: Sequence[str], shapes: Shapes, language: str) -> list[NamedShape]:
        """Areas by their size: large ones are named first."""
        import shapely

        if self._kinds != "all":
            return []
        known = self._study.items
        sizes = shapely.area(shapes)
        largest = max(float(sizes.max()), 1e-9) if len(sizes) else 1.0
        return [
            NamedShape(known[item].in_language(language).name, shape, "area", float(size) / largest)
            for item, shape, size in zip(items, shapes, sizes, strict=True)
            if item in known
        ]

    def groups(self, shapes: dict[str, Any], language: str) -> list[NamedShape]:
        """Groups, by their name on the map."""
        if self._kinds != "all" or not self._study.groups:
            return []
        names = self._study.group_names(language)
        return [
            NamedShape(names.get(group, group), shape, "group", IMPORTANCE["group"])
            for group, shape in shapes.items()
        ]

    def features(self, features: MapFeatures | None, language: str) -> Iterator[NamedShape]:
        """Places, landmarks and water that have a name; roads are drawn without theirs."""
        if self._kinds == "none" or features is None:
            return
        for k, (kind, names) in enumerate(zip(features.kinds, features.names, strict=True)):
            name = names.get(language) or names.get("") or ""
            if kind in IMPORTANCE and name:
                yield NamedShape(name, features.shapes[k], kind, IMPORTANCE[kind] - FIRST_FEW * k)
