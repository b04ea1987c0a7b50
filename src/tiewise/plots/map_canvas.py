"""The land: a map with what was found there, as it is drawn with whatever colours."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.geo.colours import along
from tiewise.geo.layout import Bounds, Shapes, close_up, shapes_of
from tiewise.plots.canvas import INK, INNER, LINE, WIDTH, Block, gap, notes, page, sketch
from tiewise.plots.legends import Swatch, key
from tiewise.report.answer import borrowed, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path

    from tiewise.report.folder import Results

Floats = NDArray[np.float64]

SILENT, ABSENT = "/////", "..."


class Land(NamedTuple):
    """A map and the table of its areas, in its own order; empty rows where nothing is known."""

    shapes: Shapes
    table: pd.DataFrame
    away: int  # items that are not on the map

    def of(self, column: str) -> Floats:
        """A column of the table."""
        return self.table[column].to_numpy(float)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which areas are in the study."""
        return self.table["median"].notna().to_numpy()

    @property
    def silent(self) -> NDArray[np.bool_]:
        """Which areas nobody compared."""
        return (self.table["comparisons"] == 0).to_numpy()


def land_of(results: Results) -> Land:
    """The map of these results and what was found there."""
    if results.areas is None:
        raise InputError(f"{results.folder} has no map; fit with one (--areas) to draw maps")
    table = results.items.set_index("item")
    on_map = table.reindex(list(results.areas.items))
    if on_map["median"].isna().all():
        raise InputError(f"no area of the map in {results.folder} is in items.csv; fit again")
    away = int((~table.index.isin(results.areas.items)).sum())
    return Land(shapes_of(results.areas, INNER), on_map, away)


def sheet(
    results: Results, land: Land, head: Block, colours: Sequence[str], legend: Block
) -> Figure:
    """The map with all that belongs to it, and below it what needs to be enlarged."""
    return page(head, *drawn_blocks(results, land, colours, legend))


def drawn_blocks(
    results: Results, land: Land, colours: Sequence[str], legend: Block
) -> list[Block]:
    """The same without a heading, as blocks of a page that may have more."""
    assert results.areas is not None
    near, looks = close_up(results.areas, INNER), _looks(land, colours)
    frame = None if near is None else near.window
    blocks = [_drawn(land.shapes, looks, frame), legend, *_explained(results, land)]
    if near is not None:
        shown = looks.of(near.which)
        whole = 0.0, 0.0, near.shapes.width, near.shapes.height
        blocks += [gap(10), notes("The part in the frame, enlarged:")]
        blocks += [_drawn(near.shapes, shown, whole, clip=True)]
    return blocks


def _drawn(shapes: Shapes, looks: Looks, frame: Bounds | None, *, clip: bool = False) -> Block:
    """The map itself, with a frame where one is wanted."""

    def draw(figure: Figure, bottom: float) -> None:
        left = round((WIDTH - shapes.width) / 2)
        axes = sketch(figure, left, bottom + 8, shapes.width, shapes.height)
        _fill(axes, shapes, looks, clip=clip)
        if frame is not None:
            _frame(axes, *frame)

    return Block(shapes.height + 14, draw)


def _frame(axes: Axes, west: float, south: float, east: float, north: float) -> None:
    from matplotlib.patches import Rectangle

    corner, wide, high = (west, south), east - west, north - south
    axes.add_patch(
        Rectangle(corner, wide, high, fill=False, edgecolor=INK, linewidth=0.8, clip_on=False)
    )


class Looks(NamedTuple):
    """How each area is filled."""

    faces: NDArray[np.str_]
    silent: NDArray[np.bool_]
    absent: NDArray[np.bool_]

    def of(self, which: NDArray[np.int64]) -> Looks:
        """The looks of some areas."""
        return Looks(self.faces[which], self.silent[which], self.absent[which])


def _looks(land: Land, colours: Sequence[str]) -> Looks:
    """Full colour for what was measured; less for what was not, where hatching is then seen."""
    share = np.where(land.known, np.where(land.silent, 0.5, 1.0), 0.0)
    faces = [mixed("#ffffff", *one) for one in zip(colours, share, strict=True)]
    return Looks(np.array(faces), land.silent, ~land.known)


def _fill(axes: Axes, shapes: Shapes, looks: Looks, *, clip: bool) -> None:
    from matplotlib.collections import PathCollection

    thin = float(np.clip(4 / sqrt(len(shapes.paths)), 0.2, 0.6))

    def add(paths: Sequence[Path], **style: Any) -> None:
        if len(paths):
            axes.add_collection(PathCollection(paths, clip_on=clip, **style))

    add(shapes.paths, facecolors=looks.faces, edgecolors=LINE, linewidths=thin)
    # Once more, on top: a dot reaches over the areas around it.
    dots = [shapes.paths[k] for k in shapes.tiny]
    add(dots, facecolors=looks.faces[shapes.tiny], edgecolors=INK, linewidths=0.5)
    for those, hatch in ((looks.silent, SILENT), (looks.absent, ABSENT)):
        hatched = [shapes.paths[k] for k in np.flatnonzero(those)]
        add(hatched, facecolors="none", edgecolors=INK, linewidths=0, hatch=hatch)
    wide = 2.5 * thin + 0.5
    add(shapes.outlines, facecolors="none", edgecolors=INK, linewidths=wide, joinstyle="round")


def _explained(results: Results, land: Land) -> list[Block]:
    """What hatching and grey stand for, where there is any; and who is missing."""
    swatches = []
    if land.silent.any():
        swatches.append(Swatch("white", borrowed(results), SILENT))
    if not land.known.all():
        swatches.append(Swatch("white", "not in the study", ABSENT))
    blocks = [key(*swatches)] if swatches else []
    if land.away:
        missing = number(land.away, results.about.one, results.about.nouns)
        are = "is" if land.away == 1 else "are"
        blocks.append(notes(f"{missing} of the study {are} not on this map."))
    return blocks


def mixed(one: str, other: str, share: float) -> str:
    """A colour of which this share is the other's."""
    return along((one, other), np.array([share]))[0]
