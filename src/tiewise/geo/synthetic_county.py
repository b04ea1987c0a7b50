"""A synthetic county for demonstrations: its outline, its wards and their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.errors import InputError

Points = NDArray[np.float64]

MIDDLE = (610_000.0, 400_000.0)  # in the North Sea, so that it is nobody's
RADIUS = 22_000.0
BOROUGHS = 4

STEMS = (
    "Ald", "Arn", "Beck", "Bram", "Brin", "Cald", "Cav", "Corr", "Dar", "Dun", "Edg", "Els",
    "Fald", "Fern", "Gar", "Gris", "Hal", "Hazel", "Hex", "Kel", "Kir", "Lang", "Lin",
    "Mar", "Mel", "Nor", "Oak", "Pem", "Quar", "Rad", "Raven", "Sel", "Skel", "Tam", "Thorn",
    "Wat", "Wren", "Yar",
)  # fmt: skip
LINKS = ("", "", "", "en", "ing")
ENDS = (
    "beck", "borne", "bridge", "brook", "by", "cliffe", "combe", "dale", "field", "ford", "gate",
    "ham", "ley", "mere", "moor", "shaw", "stead", "thorpe", "ton", "wick", "with", "worth",
)  # fmt: skip
BESIDE = ("",) * 12 + ("North ", "South ", "Great ", "Little ", "Upper ", "Nether ")


@dataclass(frozen=True, eq=False)
class SyntheticCounty:
    """An outline (M, 2) and one point (N, 2) for each ward, in metres, with names and boroughs."""

    outline: Points
    centres: Points
    names: tuple[str, ...]
    boroughs: tuple[str, ...]

    @classmethod
    def generate(cls, count: int, rng: Generator) -> SyntheticCounty:
        """A county of `count` wards, numbered from north to south, small ones around the towns."""
        if count < BOROUGHS:
            raise InputError(f"a made-up county has {BOROUGHS} wards or more, not {count}")
        outline = _outline(rng)
        points = _lattice(outline, 60 * count)
        density = _population_density(points, rng)
        start = points[rng.choice(len(points), count, replace=False)]
        centres = _relax(start, points, density, 30)
        centres = centres[np.argsort(-centres[:, 1], kind="stable")]
        names = _names(count, (BESIDE, STEMS, LINKS, ENDS), rng)
        districts = _names(BOROUGHS, (STEMS, LINKS, ("shire", "land", "mark", " Vale")), rng)
        return cls(outline, centres, names, tuple(districts[k] for k in _boroughs(centres)))


def _outline(rng: Generator) -> Points:
    """A closed outline that is rough at every scale."""
    angle = np.linspace(0, 2 * np.pi, 360, endpoint=False)
    waves = np.arange(2, 40)
    heights = rng.normal(size=len(waves)) * 0.35 / waves**1.3
    phases = rng.uniform(0, 2 * np.pi, len(waves))
    radius = np.exp(heights @ np.cos(np.outer(waves, angle) + phases[:, None]))
    east, north = 1.15 * radius * np.cos(angle), 0.95 * radius * np.sin(angle)
    return np.column_stack([east, north]) * RADIUS + MIDDLE


def _lattice(outline: Points, least: int) -> Points:
    """A fine square lattice of at least `least` points (about twice as many) inside the outline."""
    low, high = outline.min(axis=0), outline.max(axis=0)
    side = int(np.ceil(np.sqrt(4 * least)))
    lattice = np.meshgrid(*(np.linspace(low[k], high[k], side) for k in (0, 1)))
    points = np.column_stack([axis.ravel() for axis in lattice])
    return points[_inside(points, outline)]


def _inside(points: Points, outline: Points) -> NDArray[np.bool_]:
    """Whether each point is inside: a ray from it to the east crosses the outline an odd number
    of times.
    """
    inside = np.zeros(len(points), bool)
    for (x1, y1), (x2, y2) in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        spans = (points[:, 1] < y1) != (points[:, 1] < y2)
        if y1 != y2:
            crossing = x1 + (points[:, 1] - y1) * (x2 - x1) / (y2 - y1)
            inside ^= spans & (points[:, 0] < crossing)
    return inside


def _population_density(points: Points, rng: Generator) -> Points:
    """The population density at each point: three towns in open country."""
    towns = points[rng.choice(len(points), 3, replace=False)]
    sizes = RADIUS * np.array([0.35, 0.22, 0.15])
    distances = np.linalg.norm(points[:, None] - towns[None], axis=2)
    return np.asarray(1 + 6 * np.exp(-((distances / sizes) ** 2) / 2).sum(axis=1))


def _relax(centres: Points, points: Points, weights: Points, times: int) -> Points:
    """Lloyd's relaxation: every centre moves to the weighted mean of the points nearest to it."""
    for _ in range(times):
        nearest = _nearest(points, centres)
        total = np.bincount(nearest, weights, len(centres))
        sums = [np.bincount(nearest, weights * points[:, k], len(centres)) for k in (0, 1)]
        occupied = total > 0
        centres = centres.copy()
        centres[occupied] = np.column_stack(sums)[occupied] / total[occupied, None]
    return centres


def _nearest(points: Points, centres: Points) -> NDArray[np.int64]:
    from scipy.spatial import KDTree

    return np.asarray(KDTree(centres).query(points)[1], np.int64)


def _boroughs(centres: Points) -> NDArray[np.int64]:
    """Each ward's borough: the nearest of four points, spread out and then relaxed."""
    seeds = centres[[0]]
    for _ in range(1, BOROUGHS):
        gaps = np.linalg.norm(centres[:, None] - seeds[None], axis=2).min(axis=1)
        seeds = np.vstack([seeds, centres[gaps.argmax()]])
    return _nearest(centres, _relax(seeds, centres, np.ones(len(centres)), 20))


def _names(count: int, parts: Sequence[Sequence[str]], rng: Generator) -> tuple[str, ...]:
    """Distinct invented names of places; then numbers, where the parts make no more names."""
    names: dict[str, None] = {}
    for _ in range(20 * count):
        names["".join(str(rng.choice(part)) for part in parts)] = None
        if len(names) == count:
            break
    more = (f"Ward {number}" for number in range(1, count - len(names) + 1))
    return (*names, *more)
