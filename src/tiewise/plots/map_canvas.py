"""A page with a map: areas in given colours, hatching, outlines of groups, and an enlarged part."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.geo.colours import EDGE, INK, OUTSIDE, blend
from tiewise.plots.canvas import INNER, WIDTH, Block, notes, page, point_axes, space
from tiewise.plots.large.area_pixels import AreaPixels, area_pixels
from tiewise.plots.legends import Swatch, swatch_list
from tiewise.plots.map_shapes import TALLEST, Bounds, MapShapes, enlarged_part, map_shapes
from tiewise.posterior.diagnostics import MANY_ITEMS
from tiewise.posterior.phrases import uncompared_note
from tiewise.posterior.scales.display_scale import shown_scores
from tiewise.text import quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path

    from tiewise.posterior.results_folder import Results

Floats = NDArray[np.float64]

UNCOMPARED_HATCH, ABSENT_HATCH = "/////", "..."
MARGIN = 4.0  # points by which what is outside goes beyond the map
DARK = 150  # of 255, in green: from here on down a colour takes white lines better than dark ones


class MapTable(NamedTuple):
    """The shapes of a map and a row of results for each area; empty where nothing is known."""

    shapes: MapShapes | AreaPixels
    rows: pd.DataFrame
    items_off_map: int

    def column(self, name: str) -> Floats:
        """A column of the rows."""
        return self.rows[name].to_numpy(float)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which areas are in the study."""
        return self.rows["mean"].notna().to_numpy()

    @property
    def uncompared(self) -> NDArray[np.bool_]:
        """Which areas nobody compared."""
        return (self.rows["comparisons"] == 0).to_numpy()


def map_table(results: Results) -> MapTable:
    """The map of these results with their table, in the order of the map."""
    if results.areas is None:
        raise InputError(f"{results.folder} has no map; fit with one (areas=) to draw maps")
    table = shown_scores(results).items.set_index("item")
    rows = table.reindex(list(results.areas.items))
    if rows["mean"].isna().all():
        raise InputError(f"no area of the map in {results.folder} is in items.csv; fit again")
    off_map = int((~table.index.isin(results.areas.items)).sum())
    if len(results.areas) > MANY_ITEMS:
        return MapTable(area_pixels(results.areas, INNER, TALLEST), rows, off_map)
    return MapTable(map_shapes(results.areas, INNER), rows, off_map)


def map_page(
    results: Results, table: MapTable, head: Block, colours: Sequence[str], legend: Block,
    *, dark_is_unsure: bool = False,
) -> Figure:  # fmt: skip
    """A page with the map, its legend, and below them the enlarged part where there is one."""
    blocks = map_blocks(results, table, colours, legend, dark_is_unsure=dark_is_unsure)
    return page(head, *blocks)


def map_blocks(
    results: Results, table: MapTable, colours: Sequence[str], legend: Block,
    *, dark_is_unsure: bool = False,
) -> list[Block]:  # fmt: skip
    """The same without a heading, as blocks of a page that may have more."""
    assert results.areas is not None
    pixels = isinstance(table.shapes, AreaPixels)
    part = None if pixels else enlarged_part(results.areas, INNER)
    styles = _dark_styles(table, colours) if dark_is_unsure else _styles(table, colours)
    frame = None if part is None else part.window
    blocks = [_map(table.shapes, styles, frame), legend, *_explanations(results, table, styles)]
    if part is not None:
        whole = 0.0, 0.0, part.shapes.width, part.shapes.height
        blocks += [space(10), notes("The part in the frame, enlarged:")]
        blocks += [_map(part.shapes, styles.subset(part.areas), whole, clip=True)]
    return blocks


def _map(
    shapes: MapShapes | AreaPixels, styles: AreaStyles, frame: Bounds | None, *, clip: bool = False
) -> Block:
    """The map itself, with a frame if there is one."""

    def draw(figure: Figure, bottom: float) -> None:
        left = round((WIDTH - shapes.width) / 2)
        axes = point_axes(figure, left, bottom + 8, shapes.width, shapes.height)
        _draw_outside(axes, shapes.width, shapes.height)
        if isinstance(shapes, AreaPixels):
            _draw_pixels(axes, shapes, styles)
            return
        _draw_areas(axes, shapes, styles, clip=clip)
        if frame is not None:
            _draw_frame(axes, *frame)

    return Block(shapes.height + 14, draw)


def _draw_outside(axes: Axes, width: float, height: float) -> None:
    """What is around the map, a little beyond its edges."""
    from matplotlib.patches import Rectangle

    place = (-MARGIN, -MARGIN), width + 2 * MARGIN, height + 2 * MARGIN
    axes.add_patch(Rectangle(*place, facecolor=OUTSIDE, linewidth=0, zorder=-1, clip_on=False))


def _draw_frame(axes: Axes, west: float, south: float, east: float, north: float) -> None:
    from matplotlib.patches import Rectangle

    corner, wide, high = (west, south), east - west, north - south
    axes.add_patch(
        Rectangle(corner, wide, high, fill=False, edgecolor=INK, linewidth=0.8, clip_on=False)
    )


class AreaStyles(NamedTuple):
    """How each area is filled and hatched."""

    faces: NDArray[np.str_]
    uncompared: NDArray[np.bool_]
    absent: NDArray[np.bool_]
    hatching: NDArray[np.str_]
    """The colour of the lines over an area, where there are any."""

    def subset(self, areas: NDArray[np.int64]) -> AreaStyles:
        """The styles of some areas."""
        return AreaStyles(
            self.faces[areas], self.uncompared[areas], self.absent[areas], self.hatching[areas]
        )


def _styles(table: MapTable, colours: Sequence[str]) -> AreaStyles:
    """Full colour for areas that were compared, paler for others, so that hatching is visible."""
    share = np.where(table.known, np.where(table.uncompared, 0.5, 1.0), 0.0)
    faces = [blend("#ffffff", *one) for one in zip(colours, share, strict=True)]
    return AreaStyles(np.array(faces), table.uncompared, ~table.known, np.full(len(faces), INK))


def _dark_styles(table: MapTable, colours: Sequence[str]) -> AreaStyles:
    """Full colour for all, where dark is less sure: a paler area would look surer."""
    faces = np.where(table.known, colours, "#ffffff")
    green = np.array([int(face[3:5], 16) for face in faces])
    hatching = np.where(green < DARK, "#ffffff", INK)
    return AreaStyles(faces, table.uncompared, ~table.known, hatching)


def _draw_areas(axes: Axes, shapes: MapShapes, styles: AreaStyles, *, clip: bool) -> None:
    from matplotlib.collections import PathCollection

    thin = float(np.clip(4 / sqrt(len(shapes.paths)), 0.2, 0.6))

    def add(paths: Sequence[Path], **style: Any) -> None:
        if len(paths):
            axes.add_collection(PathCollection(paths, clip_on=clip, **style))

    add(shapes.paths, facecolors=styles.faces, edgecolors=EDGE, linewidths=thin)
    # Once more, on top: a dot reaches over the areas around it.
    dots = [shapes.paths[k] for k in shapes.dots]
    add(dots, facecolors=styles.faces[shapes.dots], edgecolors=INK, linewidths=0.5)
    for ink in np.unique(styles.hatching):
        for those, hatch in ((styles.uncompared, UNCOMPARED_HATCH), (styles.absent, ABSENT_HATCH)):
            hatched = [shapes.paths[k] for k in np.flatnonzero(those & (styles.hatching == ink))]
            add(hatched, facecolors="none", edgecolors=ink, linewidths=0, hatch=hatch)
    wide = 2.5 * thin + 0.5
    add(shapes.outlines, facecolors="none", edgecolors=INK, linewidths=wide, joinstyle="round")


def _draw_pixels(axes: Axes, pixels: AreaPixels, styles: AreaStyles) -> None:
    """The areas as one picture, with the same colours and hatching."""
    image = pixels.image(
        _bytes(styles.faces), styles.uncompared, styles.absent, _bytes(styles.hatching)
    )
    extent = (0.0, pixels.width, 0.0, pixels.height)
    axes.imshow(image, extent=extent, interpolation="none", aspect="auto")


def _bytes(colours: NDArray[np.str_]) -> NDArray[np.uint8]:
    """Colours such as #1f77b4 as red, green and blue, a little rounded so that files are small."""
    text = b"".join(bytes.fromhex(colour[1:]) for colour in colours)
    values = np.frombuffer(text, np.uint8).reshape(-1, 3).astype(np.int64)
    return np.minimum((values + 4) // 8 * 8, 255).astype(np.uint8)


def _explanations(results: Results, table: MapTable, styles: AreaStyles) -> list[Block]:
    """What hatching and grey stand for, where there is any; and which items are not on the map."""
    swatches = []
    if table.uncompared.any():
        first = int(np.flatnonzero(table.uncompared)[0])
        ink = str(styles.hatching[first])
        face = "white" if ink == INK else str(styles.faces[first])
        swatches.append(Swatch(face, uncompared_note(results), UNCOMPARED_HATCH, ink))
    if not table.known.all():
        swatches.append(Swatch("white", "not in the study", ABSENT_HATCH))
    blocks = [swatch_list(*swatches)] if swatches else []
    if table.items_off_map:
        missing = quantity(table.items_off_map, results.wording.one, results.wording.nouns)
        are = "is" if table.items_off_map == 1 else "are"
        blocks.append(notes(f"{missing} of the study {are} not on this map."))
    return blocks
