"""The map of the briefing: colours that also work without colour, and numbers that do not collide.

Areas below the average are dotted, so that a photocopy still tells them from those above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiewise.geo.colours import LOW_TO_HIGH, OUTSIDE, interpolate
from tiewise.geo.svg_map import SvgMap, svg_map
from tiewise.posterior.results_folder import Results

if TYPE_CHECKING:
    from tiewise.geo.areas import Areas

Floats = NDArray[np.float64]

EDGE = 5  # units around the drawing, so that lines at its border are whole
PAPER = (160.0, 150.0)  # about how wide and high the map is printed, in millimetres
# In millimetres: a number, between two of them, within a crowd, from a number to a point of it,
# and how far beside the map.
DISC, APART, NEAR, CLEAR = 4.6, 5.2, 20.0, 3.6
BESIDE = np.array([5.0, 1.0])
BORDER = 'fill="none" stroke="#14171a" stroke-width="3.2"'
PATTERNS = """<defs>
<pattern id="below" width="11" height="11" patternUnits="userSpaceOnUse">
<circle cx="3" cy="3" r="1.7" fill="#ffffff"/><circle cx="8.5" cy="8.5" r="1.7" fill="#ffffff"/>
</pattern>
<pattern id="unseen" width="12" height="12" patternUnits="userSpaceOnUse">
<rect width="12" height="12" fill="#ffffff"/>
<path d="M-3,15L15,-3M-3,3L3,-3M9,15L15,9" stroke="#3a3f45" stroke-width="2.2"/>
</pattern>
</defs>"""


def numbered_map(results: Results, numbered: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The map as SVG, and its shape and numbers for the template; `numbered` are ids, 1 first."""
    areas = results.areas
    assert areas is not None
    drawing = svg_map(areas)
    size = np.array([drawing.width, drawing.height], float)
    here = [(k, item) for k, item in enumerate(numbered, 1) if item in areas.items]
    points, sizes = _places(areas, [item for _, item in here])
    marks = _marks(points * size + EDGE, (sizes * size).min(axis=1), size + 2 * EDGE)
    numbers = [{"number": k} | mark for (k, _), mark in zip(here, marks, strict=True)]
    width, height = size + 2 * EDGE
    return _svg(drawing, results.items), {"aspect": width / height, "marks": numbers}


def _svg(drawing: SvgMap, items: pd.DataFrame) -> str:
    """Areas in the colour of their estimates, outlines of groups above them."""
    table = items.set_index("item").reindex(list(drawing.paths))
    mean, uncompared = table["mean"].to_numpy(float), table["comparisons"].to_numpy() == 0
    reach = float(np.nanmax(np.abs(mean))) or 1.0
    fills = interpolate(LOW_TO_HIGH, 0.5 + mean / (2 * reach))
    rows = zip(drawing.paths.values(), fills, mean < 0, uncompared, strict=True)
    shapes = [_area(path, fill, below=low, uncompared=none) for path, fill, low, none in rows]
    shapes += [f'<path d="{path}" {BORDER}/>' for path in drawing.outlines]
    width, height = drawing.width + 2 * EDGE, drawing.height + 2 * EDGE
    line = np.clip(16 / np.sqrt(len(table)), 0.25, 0.9)  # many areas, finer lines
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="{-EDGE} {-EDGE} {width} {height}">{PATTERNS}'
        f'<rect x="{-EDGE}" y="{-EDGE}" width="{width}" height="{height}" fill="{OUTSIDE}"/>'
        f'<g stroke="#4b5158" stroke-width="{line:.2f}" stroke-linejoin="round" '
        f'fill-rule="evenodd">{"".join(shapes)}</g></svg>'
    )


def _area(path: str, fill: str, *, below: bool, uncompared: bool) -> str:
    """One area; what nobody compared has no colour that could be taken for a measurement."""
    if uncompared:
        return f'<path d="{path}" fill="url(#unseen)"/>'
    if below:  # dots above the colour, lines above the dots
        colour = f'<path d="{path}" fill="{fill}" stroke="none"/>'
        return f'{colour}<path d="{path}" fill="url(#below)"/>'
    return f'<path d="{path}" fill="{fill}"/>'


def _places(areas: Areas, items: Sequence[str]) -> tuple[Floats, Floats]:
    """A point in each of these areas and its width and height, as shares of the whole map's."""
    import shapely

    shapes = areas.geometry.to_numpy()
    west, south, east, north = shapely.total_bounds(shapes)
    span = np.maximum([east - west, north - south], 1e-12)
    some = shapes[[areas.items.index(item) for item in items]]
    points = shapely.get_coordinates(shapely.point_on_surface(some))
    bounds = shapely.bounds(some)
    return (points - [west, north]) * [1, -1] / span, (bounds[:, 2:] - bounds[:, :2]) / span


def _marks(points: Floats, sizes: Floats, drawing: Floats) -> list[dict[str, float]]:
    """Where each number stands and what it points to, as shares of the drawing.

    A number stands on its area where there is room for it, and otherwise around the crowd.
    """
    millimetre = (PAPER / drawing).min()
    here, small = points * millimetre, sizes * millimetre < DISC + 1
    crowded = small | (_distances(here) < APART).any(axis=1)
    moved = here.copy()
    for group in _groups(here, crowded):
        moved[group] = ring_positions(here[group])
    for _ in range(20):  # off each other and what they point to, but not off the paper
        moved = separated_positions(moved, APART, off=here[crowded])
        moved = np.clip(moved, -BESIDE, drawing * millimetre + BESIDE)
    ends = zip((moved / millimetre / drawing).round(5), (points / drawing).round(5), strict=True)
    return [{"x": x, "y": y, "to_x": to_x, "to_y": to_y} for (x, y), (to_x, to_y) in ends]


def _distances(points: Floats) -> Floats:
    """Between every two, and none to itself."""
    gap = points[:, None] - points[None]
    far: Floats = np.hypot(gap[..., 0], gap[..., 1])
    far[np.diag_indices(len(far))] = np.inf
    return far


def _groups(points: Floats, crowded: NDArray[np.bool_]) -> list[list[int]]:
    """Crowded places in groups of neighbours, each close to another of its group."""
    close = (_distances(points) < NEAR) & crowded[:, None] & crowded[None]
    left, groups = set(np.flatnonzero(crowded).tolist()), []
    while left:
        group = [left.pop()]
        for one in group:
            neighbours = sorted(left & set(np.flatnonzero(close[one]).tolist()))
            left -= set(neighbours)
            group += neighbours
        groups.append(sorted(group))
    return groups


def ring_positions(points: Floats) -> Floats:
    """Places around a crowd, in the order in which its points lie around their middle."""
    away = points - points.mean(axis=0)
    radius = max(np.hypot(*away.T).max() + 8, 0.2 * APART * len(points))
    turn = np.arctan2(away[:, 1], away[:, 0])
    order = np.argsort(turn, kind="stable")
    least = 1.05 * APART / radius
    spread = turn[order]
    for _ in range(200):
        # Neighbours on the ring push each other along it; the last is a neighbour of the first.
        short = np.maximum(least - np.diff(np.r_[spread, spread[0] + 2 * np.pi]), 0) / 2
        if short.max() < 1e-6:
            break
        spread = spread - short + np.roll(short, 1)
    turn[order] = spread
    ring: Floats = points.mean(axis=0) + radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return ring


def separated_positions(points: Floats, apart: float, *, off: Floats, rounds: int = 200) -> Floats:
    """The points, moved little by little until no two are close, nor any to those of `off`."""
    here = points + 1e-3 * np.arange(len(points))[:, None]  # two at one place must be two
    for _ in range(rounds):
        gap, around = here[:, None] - here[None], here[:, None] - off[None]
        near = np.maximum(1.01 * apart - _distances(here), 0) / 2
        onto = np.maximum(1.01 * CLEAR - np.hypot(around[..., 0], around[..., 1]), 0)
        if near.max(initial=0) < 0.01 * apart and onto.max(initial=0) < 0.01 * CLEAR:
            break
        here = here + (_unit(gap) * near[..., None]).sum(axis=1)
        here = here + (_unit(around) * onto[..., None]).sum(axis=1)
    return here


def _unit(gap: Floats) -> Floats:
    return gap / np.maximum(np.hypot(gap[..., 0], gap[..., 1]), 1e-9)[..., None]
