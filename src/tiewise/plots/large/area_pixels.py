"""A map of very many areas as pixels: which area each of them lies in, and its colour."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.geo.outlines import Shapes, project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.path import Path

    from tiewise.geo.areas import Areas

Mask = NDArray[np.bool_]
Colours = NDArray[np.uint8]

PIXELS = 200 / 72  # in a point, as in a picture that is saved as PNG
NOWHERE = -1
STRIPE, DOTS = 6, 5  # pixels from one line, or dot, of a hatching to the next


class AreaPixels(NamedTuple):
    """A map in points, and the position of the area under each of its pixels; -1 outside all.

    `border` is where two groups meet.
    """

    width: float
    height: float
    area: NDArray[np.int32]
    border: Mask

    def image(self, faces: Colours, hatched: Mask, dotted: Mask, ink: Colours) -> Colours:
        """The map (rows, columns, red green blue) with areas in these colours.

        Lines over hatched areas, and dots over dotted ones, have the area's colour of `ink`.
        """
        outside = self.area == NOWHERE
        row, column = np.indices(self.area.shape, dtype=np.int32)
        line = ((row + column) % STRIPE < 2) & hatched[self.area]
        dot = (row % DOTS == 0) & (column % DOTS == 0) & dotted[self.area]
        out: Colours = np.where((line | dot)[..., None], ink[self.area], faces[self.area])
        out[outside] = 255
        out[self.border & ~outside] = 0x33
        return out


@lru_cache(maxsize=2)
def area_pixels(areas: Areas, width: float, tallest: float) -> AreaPixels:
    """The pixels of a map of this width in points, at most so many times as high."""
    import shapely

    shapes = project(areas, width, tallest * width)
    _, _, east, south = shapely.total_bounds(shapes)
    area = _positions(shapes, float(east), float(south))
    return AreaPixels(float(east), float(south), area, _borders(area, areas.groups))


def _positions(shapes: Shapes, width: float, height: float) -> NDArray[np.int32]:
    """The position of the shape at each pixel: every shape is drawn in a colour of its own."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure

    size = round(PIXELS * width), round(PIXELS * height)
    figure = Figure(figsize=(max(size[0], 1) / 100, max(size[1], 1) / 100), dpi=100)
    figure.set_facecolor("black")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    number = np.arange(1, len(shapes) + 1)
    colours = np.stack([number >> 16 & 255, number >> 8 & 255, number & 255], axis=1) / 255
    axes.add_collection(
        PathCollection(
            _paths(shapes), facecolors=colours, edgecolors="none", antialiaseds=False, snap=False
        )
    )
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba()).astype(np.int32)
    out: NDArray[np.int32] = (pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2]) - 1
    return out


def _paths(shapes: Shapes) -> list[Path]:
    """A path of each shape with all its pieces; outer rings go one way round, holes the other."""
    import shapely

    return [_path(shape) for shape in shapely.orient_polygons(shapes)]


def _path(shape: Any) -> Path:
    import shapely
    from matplotlib.path import Path

    rings = [shapely.get_coordinates(ring) for ring in shapely.get_rings(shapely.get_parts(shape))]
    codes = np.concatenate(
        [[Path.MOVETO, *[Path.LINETO] * (len(ring) - 2), Path.CLOSEPOLY] for ring in rings]
    )
    return Path(np.concatenate(rings), codes)


def _borders(area: NDArray[np.int32], groups: Sequence[str] | None) -> Mask:
    """Pixels between two groups."""
    border = np.zeros(area.shape, bool)
    if groups is None:
        return border
    number = {name: k for k, name in enumerate(dict.fromkeys(groups))}
    group = np.array([*(number[name] for name in groups), NOWHERE])[area]
    for axis in (0, 1):
        before, after = ((slice(None),) * axis + (part,) for part in (slice(-1), slice(1, None)))
        inside = (group[before] != NOWHERE) & (group[after] != NOWHERE)
        differs = inside & (group[before] != group[after])
        border[before] |= differs
        border[after] |= differs
    return border
