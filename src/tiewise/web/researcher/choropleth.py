"""Maps that are coloured by what is known of each area."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.geo.colours import LOW_TO_HIGH, SURE_TO_UNSURE, UNKNOWN, along
from tiewise.geo.svg_paths import Shapes, borders, filled, joined, simplified
from tiewise.web.researcher.estimates import Estimate

PACKED = 30_000  # bytes that the paths may weigh on their way
MARGIN = 8
SPECK, DOT = 16.0, 11  # an area narrower than the first gets a dot of this radius beside it

PALEST = 0.6
"""Share of the largest uncertainty that is pale at most: small differences stay small."""
FEW_TO_MANY = SURE_TO_UNSURE[::-1]
"""As on the map of uncertainty: dark is where little is known."""


class Ground(NamedTuple):
    """Every area with a path of its own, and the outlines of groups."""

    frame: tuple[int, int, int, int]
    """Left, top, width and height."""
    paths: dict[str, str]
    outlines: str

    @classmethod
    def of(cls, light: Shapes, items: Sequence[str], groups: Sequence[str]) -> Ground:
        """The paths of shapes in map units, simplified until they are light enough to send."""
        import shapely

        fine, shapes = 1.5, light
        while True:
            shapes = simplified(shapes, fine)
            paths = [_path(shape) for shape in shapes]
            if len(gzip.compress("".join(paths).encode(), 6)) <= PACKED or fine > 60:
                break
            fine *= 1.6
        west, north, east, south = (int(end) for end in shapely.total_bounds(shapes))
        frame = west - MARGIN, north - MARGIN, east - west + 2 * MARGIN, south - north + 2 * MARGIN
        return cls(frame, dict(zip(items, paths, strict=True)), _outlines(shapes, groups))


def _path(shape: Any) -> str:
    """The path of an area; a dot is added where it would hardly be seen."""
    import shapely

    west, north, east, south = shapely.bounds(shape)
    path = filled(shape)
    if path and max(east - west, south - north) >= SPECK:
        return path
    inside = shapely.point_on_surface(shape)
    across = 2 * DOT
    return (
        f"{path}M{round(inside.x) - DOT} {round(inside.y)}"
        f"a{DOT} {DOT} 0 1 0 {across} 0a{DOT} {DOT} 0 1 0-{across} 0z"
    )


def _outlines(shapes: Shapes, groups: Sequence[str]) -> str:
    named, group = sorted({name for name in groups if name}), np.array(groups)
    if len(named) < 2:
        return ""
    return borders([joined(shapes[group == name]) for name in named])


class Painting(NamedTuple):
    """A way to colour the areas: its name, its ramp, what its ends mean, each item's colour."""

    key: str
    title: str
    ramp: tuple[str, ...]
    ends: tuple[tuple[str, str], ...]
    fills: dict[str, str]

    def fill(self, item: str) -> str:
        """The colour of an area; grey where it is not in the study."""
        return self.fills.get(item, UNKNOWN)


def reach(values: Sequence[float]) -> float:
    """The largest size of a number among these; 1 where all are 0."""
    return max((abs(value) for value in values), default=0.0) or 1.0


def quality(
    rows: Sequence[Estimate], *, lower: str, higher: str, most: float | None = None
) -> Painting:
    """The posterior median: blue below the average, red above it, darkest at `most`."""
    most = most or reach([row.median for row in rows])
    ends = ((lower, f"−{most:.1f}"), ("average", "0"), (higher, f"+{most:.1f}"))
    return Painting(
        "quality", "Estimate", LOW_TO_HIGH, ends,
        _fills(rows, LOW_TO_HIGH, lambda row: 0.5 + row.median / (2 * most)),
    )  # fmt: skip


def doubt(
    rows: Sequence[Estimate], *, least: float | None = None, most: float | None = None
) -> Painting:
    """The posterior standard deviation, darkest at `most`.

    By default it is palest at the smallest: areas differ by less than they have in common.
    """
    most = most or reach([row.sd for row in rows])
    if least is None:
        least = min([PALEST * most, *(row.sd for row in rows)])
    ends = (("surer", f"sd {least:.2f}"), ("less sure", f"sd {most:.2f}"))
    return Painting(
        "doubt", "Uncertainty", SURE_TO_UNSURE, ends,
        _fills(rows, SURE_TO_UNSURE, lambda row: (row.sd - least) / ((most - least) or 1.0)),
    )  # fmt: skip


def coverage(rows: Sequence[Estimate]) -> Painting:
    """How often each area was compared."""
    most = max((row.comparisons for row in rows), default=0)
    ends = (("never", "0"), ("most often", f"{most:,}"))
    return Painting(
        "coverage", "Comparisons", FEW_TO_MANY, ends,
        _fills(rows, FEW_TO_MANY, lambda row: row.comparisons / max(most, 1)),
    )  # fmt: skip


def _fills(
    rows: Sequence[Estimate], ramp: Sequence[str], share: Callable[[Estimate], float]
) -> dict[str, str]:
    shares: NDArray[np.float64] = np.array([share(row) for row in rows], dtype=float)
    return dict(zip((row.item for row in rows), along(ramp, shares), strict=True))
