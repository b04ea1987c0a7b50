"""Maps of a study: the overview of all areas, and each area enlarged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tiewise.geo.outlines import Shapes, merge, merge_groups, project, rescale, simplify, tolerances
from tiewise.geo.svg_map import SvgMap, light_svg_map
from tiewise.geo.svg_paths import border_path, fill_path
from tiewise.study.study import Study
from tiewise.web.assets import Asset

LONGEST = 2000.0  # units of the overview map
LARGEST_MAP = 40_000  # bytes that it may have, compressed, whatever the number of areas
WINDOW = 400.0  # units of an enlarged area
LARGEST_WINDOW = 8_000  # bytes that its paths may have
WINDOW_RATIO = 1.7  # width of its window over the width of the area
MOST_NEIGHBOURS = 60
MARGIN = 8
LETTER_RADIUS = 80.0  # of the letters on the map


class EnlargedArea(NamedTuple):
    """Paths of an enlarged area: itself, all land, its neighbours' borders, groups' outlines."""

    size: int
    area: str
    land: str
    neighbours: str
    groups: str


class MapMarker(NamedTuple):
    """An area on the overview map: its path, a point inside it, and where its letter stands."""

    path: str
    x: int
    y: int
    letter_x: int
    letter_y: int


class OverviewMap(NamedTuple):
    """The overview map, and what is marked on it."""

    href: str
    frame: tuple[int, int, int, int]
    """Left, top, width and height."""
    markers: tuple[MapMarker, ...]


@dataclass(frozen=True)
class StudyMaps:
    """The maps of a study."""

    numbers: dict[str, int]
    """The number of each item in the lists below."""
    groups: tuple[str, ...]
    shapes: Shapes
    simple_shapes: Shapes
    """The same, simplified as on the overview map."""
    overview: Asset
    _enlarged: dict[str, EnlargedArea] = field(default_factory=dict)

    @classmethod
    def from_study(cls, study: Study) -> StudyMaps | None:
        """The maps of a study; None where it has no areas."""
        areas = study.areas
        if areas is None:
            return None
        shapes = project(areas, LONGEST, LONGEST)
        groups = areas.groups or ("",) * len(areas)
        simple, overview = _overview_asset(shapes, groups)
        numbers = {item: k for k, item in enumerate(areas.items)}
        return cls(numbers, groups, shapes, simple, overview)

    @cached_property
    def size(self) -> tuple[int, int]:
        """Width and height of the overview map."""
        return _size(self.shapes)

    @cached_property
    def area_paths(self) -> SvgMap:
        """The path of every area, for maps that are coloured."""
        return light_svg_map(self.simple_shapes, tuple(self.numbers), self.groups)

    @cached_property
    def markers(self) -> list[MapMarker]:
        """Every area on the overview map, its letter placed as if there was no other."""
        import shapely

        inside = shapely.get_coordinates(shapely.point_on_surface(self.simple_shapes))
        letters = _letter_points(inside, shapely.bounds(self.simple_shapes))
        return [
            MapMarker(fill_path(shape), *map(round, point), *map(round, letter))
            for shape, point, letter in zip(self.simple_shapes, inside, letters, strict=True)
        ]

    def pair_overview(self, left: str, right: str) -> OverviewMap | None:
        """The overview map with two areas marked; None where either is not on it."""
        if not {left, right} <= self.numbers.keys():
            return None
        one, other = (self.markers[self.numbers[item]] for item in (left, right))
        return self._overview(_separate(one, other, self.size))

    def group_overview(self, names: Sequence[str]) -> OverviewMap | None:
        """The overview map with a marker in each group; None where a group is not on it."""
        points = [self._group_points.get(name) for name in names]
        if None in points:
            return None
        return self._overview(MapMarker("", *point, *point) for point in points if point)

    @cached_property
    def _group_points(self) -> dict[str, tuple[int, int]]:
        """A point inside each group."""
        import shapely

        merged = merge_groups(self.simple_shapes, self.groups)
        points = {name: shapely.point_on_surface(shape) for name, shape in merged.items()}
        return {name: (round(point.x), round(point.y)) for name, point in points.items()}

    def _overview(self, markers: Iterable[MapMarker]) -> OverviewMap:
        href = f"/map.svg?v={self.overview.digest}"
        return OverviewMap(href, _frame(self.size), tuple(markers))

    def enlarged(self, item: str) -> EnlargedArea | None:
        """An area with its neighbours; None where it is not on the map."""
        if item not in self._enlarged:
            if item not in self.numbers:
                return None
            self._enlarged[item] = self._enlarge(self.numbers[item])
        return self._enlarged[item]

    def enlarge_all(self) -> None:
        """Enlarge every area before it is asked for: it takes some milliseconds each."""
        for item in self.numbers:
            self.enlarged(item)

    def _enlarge(self, number: int) -> EnlargedArea:
        import shapely

        west, north, east, south = shapely.bounds(self.shapes[number])
        side = max(east - west, south - north, 1e-6) * WINDOW_RATIO
        corner = (west + east - side) / 2, (north + south - side) / 2
        scale = WINDOW / side
        # A little beyond the window, so that the edges of cut shapes are not seen.
        margin = side * 0.05
        frame = (
            corner[0] - margin, corner[1] - margin,
            corner[0] + side + margin, corner[1] + side + margin,
        )  # fmt: skip
        near = self._near(number, frame)
        cut = shapely.intersection(self.shapes[near], shapely.box(*frame))
        shapes = rescale(cut, corner, (scale, scale))
        groups = [self.groups[k] for k in near]
        for tolerance in tolerances(0.8):
            enlarged = _enlarged(shapes, groups, tolerance)
            if sum(map(len, enlarged[1:])) <= LARGEST_WINDOW or tolerance > WINDOW:
                break
        return enlarged

    def _near(self, number: int, frame: tuple[float, float, float, float]) -> list[int]:
        """The area itself, then its neighbours, of which the largest are enough."""
        import shapely

        inside = np.flatnonzero(shapely.intersects(self.shapes, shapely.box(*frame)))
        others = [int(k) for k in inside if k != number]
        others.sort(key=lambda k: -float(shapely.area(self.shapes[k])))
        return [number, *others[:MOST_NEIGHBOURS]]


def _enlarged(shapes: Shapes, groups: Sequence[str], tolerance: float) -> EnlargedArea:
    import shapely

    polygons = np.array([_polygons(shape) for shape in shapes], dtype=object)
    simple = simplify(polygons, tolerance)
    visible = ~shapely.is_empty(simple)
    merged = merge_groups(simple[visible], np.array(groups)[visible].tolist())
    whole = [merged[name] for name in sorted(merged)]
    outlines = border_path(whole) if len(set(groups)) > 1 else ""
    land = fill_path(merge(simple[visible]))
    neighbours = border_path(simple[1:][visible[1:]])
    return EnlargedArea(int(WINDOW), fill_path(simple[0]), land, neighbours, outlines)


def _polygons(shape: Any) -> Any:
    """The polygons of a cut shape, without the lines where it only touched the window."""
    import shapely

    parts = shapely.get_parts(shape)
    return shapely.MultiPolygon([part for part in parts if part.geom_type == "Polygon"])


def _size(shapes: Shapes) -> tuple[int, int]:
    import shapely

    _, _, width, height = np.ceil(shapely.total_bounds(shapes))
    return max(int(width), 1), max(int(height), 1)


def _frame(size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The map with a margin, so that lines along its edge are not cut."""
    return -MARGIN, -MARGIN, size[0] + 2 * MARGIN, size[1] + 2 * MARGIN


def _overview_asset(shapes: Shapes, groups: Sequence[str]) -> tuple[Shapes, Asset]:
    """The overview map, simplified until it is small enough to send, and its shapes."""
    simple = shapes
    for tolerance in tolerances(1.2):
        simple = simplify(simple, tolerance)
        asset = _svg(simple, groups, _size(shapes), inner=tolerance < LONGEST / 40)
        if len(asset.packed) <= LARGEST_MAP or tolerance > LONGEST:
            break
    return simple, asset


def _svg(shapes: Shapes, groups: Sequence[str], size: tuple[int, int], *, inner: bool) -> Asset:
    """Land, borders of areas (unless they are too many), and outlines of groups."""
    merged = merge_groups(shapes, groups)
    whole = [merged[name] for name in sorted(merged)]
    land = merge(shapes)
    layers = [
        f'<path d="{fill_path(land)}" fill="#eef0f3" fill-rule="evenodd"/>',
        f'<path d="{border_path(shapes)}" stroke="#c3c9d2" stroke-width="3"/>' if inner else "",
        f'<path d="{border_path(whole)}" stroke="#6b7480" stroke-width="7"/>' if whole else "",
        f'<path d="{border_path([land])}" stroke="#6b7480" stroke-width="7"/>' if not whole else "",
    ]
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{" ".join(map(str, _frame(size)))}" '
        f'fill="none" stroke-linejoin="round">{"".join(layers)}</svg>'
    )
    return Asset(text.encode(), "image/svg+xml")


def _letter_points(points: Any, bounds: Any) -> Any:
    """Where letters stand: inside a large area, above a small one, which they would cover."""
    west, north, east, south = bounds.T
    small = np.minimum(east - west, south - north) < 3 * LETTER_RADIUS
    x, y = points.T
    above = np.where(small, north - 1.25 * LETTER_RADIUS, y)
    # At the upper edge there is more room below.
    below = south + 1.25 * LETTER_RADIUS
    return np.column_stack([x, np.where(above < LETTER_RADIUS, below, above)])


def _separate(
    one: MapMarker, other: MapMarker, size: tuple[int, int]
) -> tuple[MapMarker, MapMarker]:
    """Two markers with letters that neither cover each other nor leave the map."""
    east, south = float(other.letter_x - one.letter_x), float(other.letter_y - one.letter_y)
    gap = math.hypot(east, south)
    push = max(2.2 * LETTER_RADIUS - gap, 0) / 2
    east, south = (east / gap, south / gap) if gap > 1 else (1.0, 0.0)
    return (
        _move_letter(one, -push * east, -push * south, size),
        _move_letter(other, push * east, push * south, size),
    )


def _move_letter(marker: MapMarker, east: float, south: float, size: tuple[int, int]) -> MapMarker:
    x, y = (
        round(min(max(at + step, LETTER_RADIUS), max(most - LETTER_RADIUS, LETTER_RADIUS)))
        for at, step, most in zip(marker[3:], (east, south), size, strict=True)
    )
    return marker._replace(letter_x=x, letter_y=y)
