"""Maps that are the same on every page, as pictures a browser keeps: of all areas, of a crowded
centre, and one with every border, to be enlarged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from tiewise.geo.labels import DOT, LINE, MapLabel
from tiewise.geo.map_features import MapFeatures
from tiewise.geo.outlines import Shapes, merge, merge_groups, rescale, simplify, tolerances
from tiewise.geo.svg_paths import border_path, circle_path, fill_path
from tiewise.web.assets import Asset
from tiewise.web.judge.maps.windows import feature_paths

LONGEST = 2000.0  # units of the map of all areas
MARGIN = 8
LARGEST_MAP = 40_000  # bytes that it may have, compressed, whatever the number of areas
LARGEST_FEATURES = 12_000  # of which water and roads
LARGEST_DETAIL = 150_000  # bytes of the map that is enlarged
LAND, WATER, ROAD, BORDER, OUTLINE = "#f7f6f2", "#b4d2e7", "#b9ad97", "#c3c9d2", "#6b7480"

Frame = tuple[int, int, int, int]
"""Left, top, width and height."""


class Strokes(NamedTuple):
    """Widths of lines, in units of a picture."""

    border: float
    outline: float
    river: float
    road: float


GRID = 4.0  # units: the grid of corners on the map of all areas, under a pixel on a phone
MAP_STROKES = Strokes(3, 7, 9, 7)


def map_size(shapes: Shapes) -> tuple[int, int]:
    """Width and height of shapes that begin in the upper left corner."""
    import shapely

    _, _, width, height = np.ceil(shapely.total_bounds(shapes))
    return max(int(width), 1), max(int(height), 1)


def map_frame(size: tuple[int, int]) -> Frame:
    """The map with a margin, so that lines along its edge are not cut."""
    return -MARGIN, -MARGIN, size[0] + 2 * MARGIN, size[1] + 2 * MARGIN


def overview_picture(
    shapes: Shapes, groups: Sequence[str], features: MapFeatures | None
) -> tuple[Shapes, Asset]:
    """The map of all areas, simplified until it is small enough to send, and its shapes."""
    simple = shapes
    frame = tuple(round(side / GRID, 2) for side in map_frame(map_size(shapes)))
    if features is not None:
        features = features.projected((0.0, 0.0), (1 / GRID, 1 / GRID))
    paths, strokes = light_features(features), Strokes(*(width / GRID for width in MAP_STROKES))
    for tolerance in tolerances(1.2):
        simple = simplify(simple, tolerance)
        coarse = np.asarray(rescale(simple, (0.0, 0.0), (1 / GRID, 1 / GRID)), object)
        borders = border_path(coarse) if tolerance < LONGEST / 40 else ""
        if _packed(borders) > LARGEST_MAP:  # by themselves: the rest need not be drawn
            continue
        asset = _picture(coarse, groups, frame, paths, strokes, borders)
        if len(asset.packed) <= LARGEST_MAP or tolerance > LONGEST:
            break
    return simple, asset


def light_features(features: MapFeatures | None) -> tuple[str, str, str]:
    """Lakes, rivers and roads for the map of all areas, the least important left out."""
    kept = features.only(("water", "road")) if features is not None else None
    for tolerance in tolerances(0.5):
        paths = feature_paths(kept, tolerance)
        if _packed("".join(paths)) <= LARGEST_FEATURES:
            break
        kept = kept.most_important(0.8) if kept is not None else None
    return paths


def _packed(text: str) -> int:
    return len(Asset(text.encode(), "").packed)


def centre_picture(
    shapes: Shapes, groups: Sequence[str], side: float, features: MapFeatures | None
) -> Asset:
    """A square part of the map, whose shapes are in its own units."""
    size = int(np.ceil(side))
    strokes = Strokes(*(width * 0.8 for width in MAP_STROKES))
    paths, simple = feature_paths(features, 1.5), simplify(shapes, 1.2)
    return _picture(simple, groups, (0, 0, size, size), paths, strokes, border_path(simple))


def _picture(
    shapes: Shapes, groups: Sequence[str], frame: Sequence[float], features: tuple[str, str, str],
    strokes: Strokes, borders: str,
) -> Asset:  # fmt: skip
    """Land, water, roads, borders of areas, and outlines of groups."""
    merged = merge_groups(shapes, groups)
    whole = [merged[name] for name in sorted(merged)]
    land = merge(shapes)
    lakes, rivers, roads = features
    layers = [
        _fill(fill_path(land), LAND), _fill(lakes, WATER), _line(rivers, WATER, strokes.river),
        _line(roads, ROAD, strokes.road),
        _line(borders, BORDER, strokes.border),
        _line(border_path(whole or [land]), OUTLINE, strokes.outline),
    ]  # fmt: skip
    return _svg(frame, layers)


def detail_picture(
    shapes: Shapes, groups: Sequence[str], features: MapFeatures | None
) -> tuple[Asset, Shapes]:
    """Every area as a path of its own, finely enough to be enlarged, and the shapes drawn."""
    frame = map_frame(map_size(shapes))
    simple = shapes
    for tolerance in tolerances(0.12):
        simple = simplify(simple, tolerance)
        asset = _svg(frame, _detail_layers(simple, groups, features, tolerance))
        if len(asset.packed) <= LARGEST_DETAIL or tolerance > LONGEST / 40:
            break
    return asset, simple


def _detail_layers(
    shapes: Shapes, groups: Sequence[str], features: MapFeatures | None, tolerance: float
) -> list[str]:
    merged = merge_groups(shapes, groups, grid=0.1)
    outlines = border_path([merged[name] for name in sorted(merged)], 1) if len(merged) > 1 else ""
    areas = "".join(
        f'<path id="a{k}" d="{fill_path(shape, 1) or circle_path(shape, 0.1, 1)}"/>'
        for k, shape in enumerate(shapes)
    )
    lakes, rivers, roads = feature_paths(features, tolerance, 1)
    return [
        f'<g class="areas" fill="{LAND}" fill-rule="evenodd" stroke="{BORDER}">{areas}</g>',
        _fill(lakes, WATER, "lakes"), _line(rivers, WATER, 5, "rivers"),
        _line(roads, ROAD, 3, "roads"), _line(outlines, OUTLINE, 3, "outline"),
    ]  # fmt: skip


def with_labels(picture: Asset, labels: Iterable[MapLabel]) -> Asset:
    """The picture with labels that are not shown, for a script that knows how large it is."""
    texts = "".join(map(_text, labels))
    body = picture.body.removesuffix(b"</svg>")
    hidden = f'<g class="labels" display="none">{texts}</g></svg>'
    return Asset(body + hidden.encode(), picture.media_type)


def _text(label: MapLabel) -> str:
    """A label as map_parts.html has it, with the level as a number."""
    x = f"{label.x:g}"
    first, *rest = (escape(line) for line in label.lines)
    more = "".join(f'<tspan x="{x}" dy="{LINE}em">{line}</tspan>' for line in rest)
    dot = f'<tspan class="dot" x="{x}" dy=".86em">{DOT}</tspan>' if label.dotted else ""
    return (
        f'<text data-level="{label.level}" class="{label.kind}" x="{x}" y="{label.y:g}" '
        f'dy="{-label.rise:g}em">{first}{more}{dot}</text>'
    )


def _fill(path: str, colour: str, name: str = "") -> str:
    return f'<path{_class(name)} d="{path}" fill="{colour}" fill-rule="evenodd"/>' if path else ""


def _line(path: str, colour: str, width: float, name: str = "") -> str:
    if not path:
        return ""
    return f'<path{_class(name)} d="{path}" stroke="{colour}" stroke-width="{width:.3g}"/>'


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _svg(frame: Sequence[float], layers: Sequence[str]) -> Asset:
    box = " ".join(f"{side:g}" for side in frame)
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" fill="none" '
        f'stroke-linejoin="round" stroke-linecap="round">{"".join(layers)}</svg>'
    )
    return Asset(text.encode(), "image/svg+xml")
