"""Maps of a study: the overview of all areas, and each area enlarged."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tiewise.geo.labels import Box, MapLabel, clear_of, place_labels
from tiewise.geo.map_features import MapFeatures
from tiewise.geo.outlines import Shapes, merge_groups, project, projection
from tiewise.geo.svg_map import SvgMap, light_svg_map
from tiewise.geo.svg_paths import fill_path
from tiewise.study.study import Study
from tiewise.web.assets import Asset
from tiewise.web.judge.maps.inset import STRETCH, CrowdedCentre, crowded_centre
from tiewise.web.judge.maps.labels import (
    DETAIL_LEVELS,
    LENS,
    MAP_LEVELS,
    MOST,
    SMALLEST_MAP,
    MapNames,
    NamedShape,
    candidates,
    letter_sizes,
    middles,
)
from tiewise.web.judge.maps.pictures import (
    LONGEST,
    MARGIN,
    Frame,
    detail_picture,
    map_frame,
    map_size,
    overview_picture,
    with_labels,
)
from tiewise.web.judge.maps.windows import CARD, AreaWindow, EnlargedArea, WindowSize

if TYPE_CHECKING:
    from shapely import STRtree

LETTER_RADIUS = 80.0  # of the letters on the map
INSET_RADIUS = 74.0  # and in the inset
LONGEST_FRAME = LONGEST + 2 * MARGIN

LabelsIn = Callable[[str], Sequence[MapLabel]]
"""Labels in the language of a code."""


class MapMarker(NamedTuple):
    """An area on the overview map: its path, a point inside it, and where its letter stands."""

    path: str
    x: int
    y: int
    letter_x: int
    letter_y: int


class MapInset(NamedTuple):
    """A crowded centre: its picture and where that stands, its window on the map, and markers.

    There is a marker for each side of the pair, and None for one that is elsewhere.
    """

    href: str
    x: int
    y: int
    side: int
    window: Frame
    markers: tuple[MapMarker | None, ...]


class ShownArea(NamedTuple):
    """An area enlarged, and its labels."""

    paths: EnlargedArea
    labels: LabelsIn


def _no_labels(language: str) -> Sequence[MapLabel]:
    return ()


class OverviewMap(NamedTuple):
    """The overview map, and what is marked on it."""

    href: str
    frame: Frame
    """What is seen: the map, and perhaps room beside it for the inset."""
    whole: Frame
    """The map alone."""
    markers: tuple[MapMarker, ...]
    inset: MapInset | None = None
    labels: LabelsIn = _no_labels
    stretched: bool = False
    """Whether it is larger than usual, to have room for the inset."""


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
    names: MapNames
    features: MapFeatures | None = None
    """Water, roads, landmarks and places, in units of the map."""
    has_inset: bool = True
    _enlarged: dict[tuple[str, WindowSize], EnlargedArea] = field(default_factory=dict)
    _labels: dict[tuple[Any, ...], Sequence[MapLabel]] = field(default_factory=dict)

    @classmethod
    def from_study(cls, study: Study) -> StudyMaps | None:
        """The maps of a study; None where it has no areas."""
        areas = study.areas
        if areas is None:
            return None
        shapes = project(areas, LONGEST, LONGEST)
        features = study.map_features
        if features is not None:
            features = features.projected(*projection(areas, LONGEST, LONGEST))
        groups = areas.groups or ("",) * len(areas)
        simple, overview = overview_picture(shapes, groups, features)
        numbers = {item: k for k, item in enumerate(areas.items)}
        names, has_inset = MapNames(study), study.settings.map.inset
        return cls(numbers, groups, shapes, simple, overview, names, features, has_inset)

    @cached_property
    def size(self) -> tuple[int, int]:
        """Width and height of the overview map."""
        return map_size(self.shapes)

    @cached_property
    def frame(self) -> Frame:
        """The overview map with its margin."""
        return map_frame(self.size)

    @cached_property
    def area_paths(self) -> SvgMap:
        """The path of every area, for maps that are coloured."""
        return light_svg_map(self.simple_shapes, tuple(self.numbers), self.groups)

    @cached_property
    def centre(self) -> CrowdedCentre | None:
        """The crowded centre, where there is one."""
        if not self.has_inset:
            return None
        return crowded_centre(self.shapes, self.groups, self.frame, self.features)

    @cached_property
    def _detail(self) -> tuple[Asset, Shapes]:
        return detail_picture(self.shapes, self.groups, self.features)

    def detail(self, language: str) -> Asset:
        """The map with every area and every name, to be enlarged by a script."""
        key = ("picture", language)
        if key not in self._assets:
            self._assets[key] = with_labels(self._detail[0], self._detail_labels(language))
        return self._assets[key]

    @cached_property
    def _assets(self) -> dict[tuple[str, str], Asset]:
        return {}

    def picture(self, part: str, language: str) -> Asset | None:
        """A picture by its name; None where there is none."""
        if part == "detail":
            return self.detail(language)
        if part == "centre":
            return self.centre.picture if self.centre else None
        return self.overview if not part else None

    @cached_property
    def markers(self) -> list[MapMarker]:
        """Every area on the overview map, its letter placed as if there was no other."""
        return _markers(self.simple_shapes, self.frame, LETTER_RADIUS)

    def pair_overview(self, left: str, right: str) -> OverviewMap | None:
        """The overview map with two areas marked; None where either is not on it."""
        if not {left, right} <= self.numbers.keys():
            return None
        pair = [self.numbers[item] for item in (left, right)]
        one, other = _separate([self.markers[k] for k in pair], self.frame, LETTER_RADIUS)
        inset = self._inset(pair)
        frame = self.centre.frame if inset and self.centre else self.frame
        stretched = max(frame[2:]) > LONGEST_FRAME

        def labels(language: str) -> Sequence[MapLabel]:
            letters = [_square(marker.letter_x, marker.letter_y) for marker in (one, other)]
            boxes = letters + ([_inset_box(inset)] if inset else [])
            sizes = _map_sizes(stretched=stretched)
            return clear_of(self._map_labels(language, stretched=stretched), boxes, sizes)

        return OverviewMap(self._href(), frame, self.frame, (one, other), inset, labels, stretched)

    def _inset(self, pair: Sequence[int]) -> MapInset | None:
        """The crowded centre, where one of the two areas is in it."""
        centre = self.centre
        if centre is None or not any(centre.has(self.shapes[k]) for k in pair):
            return None
        there = [k for k in pair if centre.has(self.shapes[k])]
        (x, y), side = map(round, centre.corner), round(centre.side)
        drawn = np.asarray(centre.enlarge(self.shapes[there]), object)
        box = (x, y, side, side)
        markers = _markers(drawn, box, INSET_RADIUS)
        if len(markers) == 2:
            markers = _separate(markers, box, INSET_RADIUS)
        by_number = dict(zip(there, markers, strict=True))
        west, north, east, south = map(round, centre.window)
        href = f"/map.svg?part=centre&v={centre.picture.digest}"
        window = (west, north, east - west, south - north)
        return MapInset(href, x, y, side, window, tuple(by_number.get(k) for k in pair))

    def group_overview(self, names: Sequence[str]) -> OverviewMap | None:
        """The overview map with a marker in each group; None where a group is not on it."""
        points = [self._group_points.get(name) for name in names]
        if None in points:
            return None
        markers = tuple(MapMarker("", *point, *point) for point in points if point)
        return OverviewMap(self._href(), self.frame, self.frame, markers)

    @cached_property
    def _merged(self) -> dict[str, Any]:
        """The shape of each group."""
        return merge_groups(self.simple_shapes, self.groups)

    @cached_property
    def _group_points(self) -> dict[str, tuple[int, int]]:
        """A point inside each group."""
        import shapely

        points = {name: shapely.point_on_surface(shape) for name, shape in self._merged.items()}
        return {name: (round(point.x), round(point.y)) for name, point in points.items()}

    def _href(self) -> str:
        return f"/map.svg?v={self.overview.digest}"

    def detail_href(self, language: str) -> str:
        """Where the map is that can be enlarged."""
        return f"/map.svg?part=detail&language={language}&v={self.detail(language).digest}"

    # Labels.

    def _named(self, language: str) -> list[NamedShape]:
        areas = self.names.areas(tuple(self.numbers), self.simple_shapes, language)
        groups = self.names.groups(self._merged, language)
        return [*areas, *groups, *self.names.features(self.features, language)]

    def _map_labels(self, language: str, *, stretched: bool = False) -> Sequence[MapLabel]:
        key = ("map", language, stretched)
        if key not in self._labels:
            sizes = _map_sizes(stretched=stretched)
            named, frame = candidates(self._named(language)), _inner(self.frame)
            self._labels[key] = place_labels(named, frame, sizes, most=MOST, corner=LENS)
        return self._labels[key]

    def _detail_labels(self, language: str) -> Sequence[MapLabel]:
        sizes = letter_sizes(LONGEST_FRAME, SMALLEST_MAP, DETAIL_LEVELS)
        return place_labels(candidates(self._named(language)), _inner(self.frame), sizes)

    def middle(self, item: str) -> tuple[float, float]:
        """The point of an area where its name stands on the large map."""
        shape = self.simple_shapes[[self.numbers[item]]]
        x, y = middles(shape)[0].round(1).tolist()
        return x, y

    # Areas.

    def shown(self, item: str, size: WindowSize = CARD) -> ShownArea | None:
        """An area with its neighbours and their names; None where it is not on the map."""
        paths = self.enlarged(item, size)
        if paths is None:
            return None

        def labels_in(language: str) -> Sequence[MapLabel]:
            key = (item, size.ratio, language)
            if key not in self._labels:
                self._draw_labels(self._window(item, size), key)
            return self._labels[key]

        return ShownArea(paths, labels_in)

    def enlarged(self, item: str, size: WindowSize = CARD) -> EnlargedArea | None:
        """An area with its neighbours; None where it is not on the map."""
        if item not in self.numbers:
            return None
        if (item, size) not in self._enlarged:
            self._enlarged[item, size] = self._window(item, size).paths()
        return self._enlarged[item, size]

    def _window(self, item: str, size: WindowSize) -> AreaWindow:
        return AreaWindow.around(
            self.numbers[item], size, tuple(self.numbers), self.groups, self.shapes, self._tree,
            self.features,
        )  # fmt: skip

    @cached_property
    def _tree(self) -> STRtree:
        import shapely

        return shapely.STRtree(self.shapes)

    def _draw_labels(self, window: AreaWindow, key: tuple[str, float, str]) -> None:
        self._labels[key] = tuple(window.labels(self.names, key[-1]))

    def draw_all(self, language: str) -> None:
        """Draw everything before it is asked for.

        An area takes some milliseconds, and is followed by a rest as long: the first judges and the
        live worker have something to do meanwhile.
        """
        self._map_labels(language)
        self.detail(language)
        for item in self.numbers:
            begun = perf_counter()
            window, key = self._window(item, CARD), (item, CARD.ratio, language)
            if (item, CARD) not in self._enlarged:
                self._enlarged[item, CARD] = window.paths()
            if key not in self._labels:
                self._draw_labels(window, key)
            sleep(perf_counter() - begun)


def _map_sizes(*, stretched: bool) -> list[float]:
    sizes = letter_sizes(LONGEST_FRAME, SMALLEST_MAP, MAP_LEVELS)
    return [size * STRETCH for size in sizes] if stretched else sizes


def _inner(frame: Frame) -> Box:
    left, top, width, height = frame
    return left + MARGIN, top + MARGIN, left + width - MARGIN, top + height - MARGIN


def _square(x: float, y: float) -> Box:
    half = 1.1 * LETTER_RADIUS
    return x - half, y - half, x + half, y + half


def _inset_box(inset: MapInset) -> Box:
    return inset.x, inset.y, inset.x + inset.side, inset.y + inset.side


# Letters.


def _markers(shapes: Shapes, frame: Frame, radius: float) -> list[MapMarker]:
    import shapely

    inside = shapely.get_coordinates(shapely.point_on_surface(shapes))
    letters = _letter_points(inside, shapely.bounds(shapes), frame, radius)
    return [
        MapMarker(fill_path(shape), *map(round, point), *map(round, letter))
        for shape, point, letter in zip(shapes, inside, letters, strict=True)
    ]


def _letter_points(points: Any, bounds: Any, frame: Frame, radius: float) -> Any:
    """Where letters stand: inside a large area, above a small one, which they would cover."""
    west, north, east, south = bounds.T
    small = np.minimum(east - west, south - north) < 3 * radius
    x, y = points.T
    above = np.where(small, north - 1.25 * radius, y)
    # At the upper edge there is more room below.
    below = south + 1.25 * radius
    return np.column_stack([x, np.where(above < frame[1] + radius, below, above)])


def _separate(pair: Sequence[MapMarker], frame: Frame, radius: float) -> list[MapMarker]:
    """Two markers with letters that neither cover each other nor leave the map."""
    one, other = pair
    east, south = float(other.letter_x - one.letter_x), float(other.letter_y - one.letter_y)
    gap = math.hypot(east, south)
    push = max(2.2 * radius - gap, 0) / 2
    east, south = (east / gap, south / gap) if gap > 1 else (1.0, 0.0)
    return [
        _move_letter(one, -push * east, -push * south, frame, radius),
        _move_letter(other, push * east, push * south, frame, radius),
    ]


def _move_letter(
    marker: MapMarker, east: float, south: float, frame: Frame, radius: float
) -> MapMarker:
    x, y = (
        round(min(max(at + step, low + radius), max(low + length - radius, low + radius)))
        for at, step, low, length in zip(
            marker[3:], (east, south), frame[:2], frame[2:], strict=True
        )
    )
    return marker._replace(letter_x=x, letter_y=y)
