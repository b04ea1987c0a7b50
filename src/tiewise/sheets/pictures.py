"""What a sheet shows of a pair besides names: a map with both areas, or their pictures."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiewise.designs.pair_lists import ListedPair
from tiewise.geo.outlines import project
from tiewise.geo.svg_map import SIZE, SvgMap, svg_map
from tiewise.study.study import Study

if TYPE_CHECKING:
    from tiewise.geo.areas import Areas

Floats = NDArray[np.float64]

PRINTABLE = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp")
MAP = "map.png"
MAP_SVG = "map.svg"
EDGE = 80
"""Room around the map for the letters of areas at its border."""
DISC, AWAY = 34, 90
"""Radius of a letter's disc, and how far it is from its area."""
DOTS_PER_INCH = 600
INK, PAPER = "#14171a", "#ffffff"
HATCHING = (
    '<defs><pattern id="b" width="14" height="14" patternUnits="userSpaceOnUse">'
    '<rect width="14" height="14" fill="#ffffff"/><path d="M-4,4L4,-4M0,14L14,0M10,18L18,10" '
    'stroke="#14171a" stroke-width="4"/></pattern></defs>'
)


class SheetMaps:
    """One map of all areas for all sheets, and the two areas of a pair to lay over it."""

    def __init__(self, areas: Areas) -> None:
        import shapely

        self.drawing: SvgMap = svg_map(areas)
        shapes = project(areas, SIZE, SIZE)
        points = shapely.get_coordinates(shapely.point_on_surface(shapes))
        self.points = dict(zip(areas.items, points, strict=True))

    @property
    def aspect(self) -> float:
        """Width over height."""
        return (self.drawing.width + 2 * EDGE) / (self.drawing.height + 2 * EDGE)

    def background(self) -> str:
        """All areas, without colour."""
        paths = "".join(f'<path d="{path}"/>' for path in self.drawing.paths.values())
        return self._svg(
            f'<g fill="{PAPER}" stroke="#6b727a" stroke-width="1.8" '
            f'stroke-linejoin="round">{paths}</g>'
        )

    def pair(self, pair: ListedPair, marks: Sequence[str]) -> str:
        """The left area black, the right one striped, and a letter beside each.

        So they are told apart without colours.
        """
        left, right = (self.drawing.paths.get(item, "") for item in (pair.left, pair.right))
        line = f'stroke="{INK}" stroke-width="5" stroke-linejoin="round"'
        return self._svg(
            f'{HATCHING}<path d="{left}" fill="{INK}" {line}/>'
            f'<path d="{right}" fill="url(#b)" {line}/>'
            f"{self._letters(pair, marks)}"
        )

    def _letters(self, pair: ListedPair, marks: Sequence[str]) -> str:
        """Discs with letters on the far side of each area, seen from the other."""
        left, right = (self.points[item] for item in (pair.left, pair.right))
        apart = right - left
        unit = apart / max(float(np.hypot(*apart)), 1e-9)
        return "".join(
            _letter(point, point + way * AWAY * unit, mark)
            for point, way, mark in ((left, -1, marks[0]), (right, 1, marks[1]))
        )

    def _svg(self, content: str) -> str:
        left, top, width, height = self.drawing.frame
        box = f"{left - EDGE} {top - EDGE} {width + 2 * EDGE} {height + 2 * EDGE}"
        return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}">{content}</svg>'


def _letter(point: Floats, disc: Floats, mark: str) -> str:
    (x, y), (a, b) = point, disc
    return (
        f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{a:.0f}" y2="{b:.0f}" stroke="{INK}" '
        f'stroke-width="5"/><circle cx="{a:.0f}" cy="{b:.0f}" r="{DISC}" fill="{PAPER}" '
        f'stroke="{INK}" stroke-width="5"/><text x="{a:.0f}" y="{b + 15:.0f}" font-size="44" '
        f'font-family="DejaVu Sans" text-anchor="middle" fill="{INK}">{escape(mark)}</text>'
    )


def draw_map(maps: SheetMaps, folder: Path, height: float) -> None:
    """The map of all areas as a picture in a folder, so many millimetres high.

    A picture is in the PDF once, however often it is shown; a drawing is there each time.
    """
    import typst

    (folder / MAP_SVG).write_text(maps.background(), encoding="utf-8")
    source = (
        f"#set page(width: auto, height: auto, margin: 0pt)\n"
        f'#image("{MAP_SVG}", height: {height}mm)\n'
    )
    (folder / "map.typ").write_text(source, encoding="utf-8")
    picture = typst.compile(folder / "map.typ", format="png", ppi=DOTS_PER_INCH)
    assert isinstance(picture, bytes)
    (folder / MAP).write_bytes(picture)


def copy_pictures(study: Study, folder: Path) -> dict[str, str]:
    """The pictures of items that can be printed, copied to a folder; their names there by item."""
    out: dict[str, str] = {}
    for number, item in enumerate(study.items.values()):
        source = study.folder / "images" / item.image
        if item.image and source.suffix.lower() in PRINTABLE and source.is_file():
            name = f"picture-{number}{source.suffix.lower()}"
            shutil.copy2(source, folder / name)
            out[item.id] = name
    return out


def pair_pictures(
    pair: ListedPair, maps: SheetMaps | None, pictures: dict[str, str], marks: Sequence[str]
) -> dict[str, Any]:
    """The values of a pair's pictures for the template; empty where there are none."""
    if maps is not None:
        return {"map": maps.pair(pair, marks)}
    both = [pictures.get(item, "") for item in (pair.left, pair.right)]
    return {"pictures": both} if any(both) else {}
