"""Maps of a study: one of all areas that every page shares, and each area enlarged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tiewise.geo.svg_paths import Shapes, borders, filled, joined, laid_flat, moved, simplified
from tiewise.study.study import Study
from tiewise.web.assets import Asset
from tiewise.web.researcher.choropleth import Ground

LONGEST = 2000.0  # units of the map of all areas
PACKED = 40_000  # bytes that it may weigh on its way, whatever the number of areas
WINDOW = 400.0  # units of an enlarged area
WRITTEN = 8_000  # bytes that it may take
AROUND = 1.7  # how much wider than the area its window is
MOST_AROUND = 60
MARGIN = 8
RADIUS = 80.0  # of the letters on the map


class Mark(NamedTuple):
    """An area enlarged: its path, the land around it with its borders, and outlines of groups."""

    size: int
    area: str
    land: str
    around: str
    groups: str


class Spot(NamedTuple):
    """An area on the map of all: its path, a place inside, and where its letter stands."""

    path: str
    x: int
    y: int
    letter_x: int
    letter_y: int


class Overview(NamedTuple):
    """The map of all areas, and what is marked on it."""

    href: str
    frame: tuple[int, int, int, int]
    """Left, top, width and height."""
    spots: tuple[Spot, ...]


@dataclass(frozen=True)
class Maps:
    """The maps of a study."""

    places: dict[str, int]
    groups_of: tuple[str, ...]
    shapes: Shapes
    light: Shapes
    """The same, simplified as on the map of all areas."""
    base: Asset
    _enlarged: dict[str, Mark] = field(default_factory=dict)

    @classmethod
    def drawn(cls, study: Study) -> Maps | None:
        """The maps of a study that has areas."""
        areas = study.areas
        if areas is None:
            return None
        shapes = laid_flat(areas, LONGEST)
        groups = areas.groups or ("",) * len(areas)
        light, base = _base(shapes, groups)
        places = {item: k for k, item in enumerate(areas.items)}
        return cls(places, groups, shapes, light, base)

    @cached_property
    def size(self) -> tuple[int, int]:
        """Width and height of the map of all areas."""
        return _size(self.shapes)

    @cached_property
    def ground(self) -> Ground:
        """Every area with a path of its own, to be coloured."""
        return Ground.of(self.light, tuple(self.places), self.groups_of)

    @cached_property
    def spots(self) -> list[Spot]:
        """Every area on the map of all, with its letter as if it stood there alone."""
        import shapely

        inside = shapely.get_coordinates(shapely.point_on_surface(self.light))
        letters = _beside(inside, shapely.bounds(self.light))
        return [
            Spot(filled(shape), *map(round, place), *map(round, letter))
            for shape, place, letter in zip(self.light, inside, letters, strict=True)
        ]

    def both(self, left: str, right: str) -> Overview | None:
        """The map of all areas with two of them marked; None where either is not on it."""
        if not {left, right} <= self.places.keys():
            return None
        one, other = (self.spots[self.places[item]] for item in (left, right))
        return self._overview(_apart(one, other, self.size))

    def groups(self, named: Sequence[str]) -> Overview | None:
        """The map of all areas with a place for a number in each group."""
        places = [self._middles.get(name) for name in named]
        if None in places:
            return None
        return self._overview(Spot("", *place, *place) for place in places if place)

    @cached_property
    def _middles(self) -> dict[str, tuple[int, int]]:
        """A place inside each group."""
        import shapely

        group, found = np.array(self.groups_of), {}
        for name in filter(None, dict.fromkeys(self.groups_of)):
            inside = shapely.point_on_surface(joined(self.light[group == name]))
            found[name] = round(inside.x), round(inside.y)
        return found

    def _overview(self, spots: Iterable[Spot]) -> Overview:
        return Overview(f"/map.svg?v={self.base.digest}", _frame(self.size), tuple(spots))

    def enlarged(self, item: str) -> Mark | None:
        """An area with what lies around it; None where it is not on the map."""
        if item not in self._enlarged:
            if item not in self.places:
                return None
            self._enlarged[item] = self._window(self.places[item])
        return self._enlarged[item]

    def draw_ahead(self) -> None:
        """Enlarge every area before somebody waits for it: it takes some milliseconds each."""
        for item in self.places:
            self.enlarged(item)

    def _window(self, which: int) -> Mark:
        import shapely

        west, north, east, south = shapely.bounds(self.shapes[which])
        side = max(east - west, south - north, 1e-6) * AROUND
        corner = (west + east - side) / 2, (north + south - side) / 2
        scale = WINDOW / side
        # A little beyond the window, so that where shapes are cut cannot be seen.
        margin = side * 0.05
        frame = (
            corner[0] - margin, corner[1] - margin,
            corner[0] + side + margin, corner[1] + side + margin,
        )  # fmt: skip
        near = self._near(which, frame)
        cut = shapely.intersection(self.shapes[near], shapely.box(*frame))
        placed = moved(cut, corner, (scale, scale))
        groups = [self.groups_of[k] for k in near]
        for fine in _finer_to_coarser(0.8):
            mark = _mark(placed, groups, fine)
            if sum(map(len, mark[1:])) <= WRITTEN or fine > WINDOW:
                break
        return mark

    def _near(self, which: int, frame: tuple[float, float, float, float]) -> list[int]:
        """The area itself first, then those of its neighbours that are large enough to see."""
        import shapely

        found = np.flatnonzero(shapely.intersects(self.shapes, shapely.box(*frame)))
        others = [int(k) for k in found if k != which]
        others.sort(key=lambda k: -float(shapely.area(self.shapes[k])))
        return [which, *others[:MOST_AROUND]]


def _mark(placed: Shapes, groups: Sequence[str], fine: float) -> Mark:
    import shapely

    polygons = np.array([_polygons(shape) for shape in placed], dtype=object)
    light = simplified(polygons, fine)
    there = ~shapely.is_empty(light)
    group, named = np.array(groups), {name for name in groups if name}
    whole = [joined(light[there & (group == name)]) for name in sorted(named)]
    outlines = borders(whole) if len(set(groups)) > 1 else ""
    land = filled(joined(light[there]))
    return Mark(int(WINDOW), filled(light[0]), land, borders(light[1:][there[1:]]), outlines)


def _polygons(shape: Any) -> Any:
    """What is left of a shape once it is cut, without the lines where it only touched."""
    import shapely

    parts = shapely.get_parts(shape)
    return shapely.MultiPolygon([part for part in parts if part.geom_type == "Polygon"])


def _finer_to_coarser(fine: float) -> Iterator[float]:
    while True:
        yield fine
        fine *= 1.6


def _size(shapes: Shapes) -> tuple[int, int]:
    import shapely

    _, _, width, height = np.ceil(shapely.total_bounds(shapes))
    return max(int(width), 1), max(int(height), 1)


def _frame(size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The map with a margin, so that lines along its edge are not cut."""
    return -MARGIN, -MARGIN, size[0] + 2 * MARGIN, size[1] + 2 * MARGIN


def _base(shapes: Shapes, groups: Sequence[str]) -> tuple[Shapes, Asset]:
    """The map of all areas, simplified until it is light enough to send."""
    light = shapes
    for fine in _finer_to_coarser(1.2):
        light = simplified(light, fine)
        drawn = _picture(light, groups, _size(shapes), inner=fine < LONGEST / 40)
        if len(drawn.packed) <= PACKED or fine > LONGEST:
            break
    return light, drawn


def _picture(light: Shapes, groups: Sequence[str], size: tuple[int, int], *, inner: bool) -> Asset:
    """Land, borders of areas (unless they are too many), and outlines of groups."""
    named = sorted({group for group in groups if group})
    whole = [joined(light[[k for k, name in enumerate(groups) if name == g]]) for g in named]
    land = joined(light)
    layers = [
        f'<path d="{filled(land)}" fill="#eef0f3" fill-rule="evenodd"/>',
        f'<path d="{borders(light)}" stroke="#c3c9d2" stroke-width="3"/>' if inner else "",
        f'<path d="{borders(whole)}" stroke="#6b7480" stroke-width="7"/>' if whole else "",
        f'<path d="{borders([land])}" stroke="#6b7480" stroke-width="7"/>' if not whole else "",
    ]
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{" ".join(map(str, _frame(size)))}" '
        f'fill="none" stroke-linejoin="round">{"".join(layers)}</svg>'
    )
    return Asset(text.encode(), "image/svg+xml")


def _beside(places: Any, bounds: Any) -> Any:
    """Where letters stand: inside a large area, above a small one, which they would cover."""
    west, north, east, south = bounds.T
    small = np.minimum(east - west, south - north) < 3 * RADIUS
    x, y = places.T
    above = np.where(small, north - 1.25 * RADIUS, y)
    # At the upper edge there is more room below.
    return np.column_stack([x, np.where(above < RADIUS, south + 1.25 * RADIUS, above)])


def _apart(one: Spot, other: Spot, size: tuple[int, int]) -> tuple[Spot, Spot]:
    """Two letters that do not cover each other, nor leave the map."""
    east, south = float(other.letter_x - one.letter_x), float(other.letter_y - one.letter_y)
    gap = math.hypot(east, south)
    push = max(2.2 * RADIUS - gap, 0) / 2
    east, south = (east / gap, south / gap) if gap > 1 else (1.0, 0.0)
    return (
        _lettered(one, -push * east, -push * south, size),
        _lettered(other, push * east, push * south, size),
    )


def _lettered(spot: Spot, east: float, south: float, size: tuple[int, int]) -> Spot:
    x, y = (
        round(min(max(at + step, RADIUS), max(most - RADIUS, RADIUS)))
        for at, step, most in zip(spot[3:], (east, south), size, strict=True)
    )
    return spot._replace(letter_x=x, letter_y=y)
