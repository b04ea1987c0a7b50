"""A crowded centre: the part of the map that is also shown enlarged, and where that stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiewise.geo.crowded import Window, crowded_window
from tiewise.geo.map_features import MapFeatures
from tiewise.geo.outlines import Shapes, rescale
from tiewise.web.assets import Asset
from tiewise.web.judge.maps.pictures import LONGEST, MARGIN, Frame, centre_picture
from tiewise.web.judge.maps.windows import only_polygons

LEGIBLE = LONGEST / 36  # units: an area that is smaller is about ten pixels on a phone
MANY = 12  # areas that are smaller
WINDOWS = tuple(share * LONGEST for share in (0.06, 0.08, 0.1, 0.13, 0.16, 0.2))
"""Sides of the window; in the largest, areas still become almost twice as large."""
SIDES = tuple(share * LONGEST for share in (0.48, 0.44, 0.4, 0.36))
"""Of the inset, from the largest that is tried to the smallest."""
GAP = 24.0  # units between the inset and land
STRETCH = 1.4
"""How much larger a map may become where the inset has to stand beside it."""


@dataclass(frozen=True, eq=False)
class CrowdedCentre:
    """A window on the map, and a square on it, or beside it, where that is shown enlarged."""

    window: Window
    corner: tuple[float, float]
    side: float
    frame: Frame
    """The map, with room for the square."""
    picture: Asset

    @property
    def zoom(self) -> float:
        """How many times larger it is than on the map."""
        return self.side / (self.window[2] - self.window[0])

    def enlarge(self, shapes: Any) -> Any:
        """Shapes of the map, where they are in the square."""
        import shapely

        west, north, *_ = self.window
        moved = rescale(shapes, (west, north), (self.zoom, self.zoom))
        return shapely.transform(moved, lambda points: points + self.corner)

    def has(self, shape: Any) -> bool:
        """Whether the middle of an area is in the window."""
        import shapely

        point = shapely.point_on_surface(shape)
        west, north, east, south = self.window
        return bool(west <= point.x <= east and north <= point.y <= south)


def crowded_centre(
    shapes: Shapes, groups: Sequence[str], frame: Frame, features: MapFeatures | None
) -> CrowdedCentre | None:
    """The crowded centre of a map; None where its areas are large enough to be seen."""
    import shapely

    corner, side, frame = _place(shapes, frame)
    window = crowded_window(shapes, legible=LEGIBLE, many=MANY, sides=WINDOWS, drawn=side)
    if window is None:
        return None
    box = shapely.box(*window)
    inside = np.flatnonzero(shapely.intersects(shapes, box)).tolist()
    zoom = side / (window[2] - window[0])
    cut = shapely.intersection(shapes[inside], box)
    parts = rescale(cut, window[:2], (zoom, zoom))
    near = features.cut(box).projected(window[:2], (zoom, zoom)) if features is not None else None
    picture = centre_picture(only_polygons(parts), [groups[k] for k in inside], side, near)
    return CrowdedCentre(window, corner, side, frame, picture)


def _place(shapes: Shapes, frame: Frame) -> tuple[tuple[float, float], float, Frame]:
    """The upper left corner and the side of the square, and the map with room for it.

    It stands in a corner of the map without land; where there is none, beside the map.
    """
    import shapely

    left, top, width, height = frame
    for side in SIDES:
        for x in (left + width - side - MARGIN, left + MARGIN):
            for y in (top + MARGIN, top + height - side - MARGIN):
                box = shapely.box(x, y, x + side, y + side).buffer(GAP, join_style="mitre")
                if not shapely.intersects(shapes, box).any():
                    return (x, y), side, frame
    side = SIDES[-1]
    more = int(side + GAP + MARGIN)
    if width <= height:
        wide = (left, top, width + more, height)
        return (left + width + GAP, top + (height - side) / 2), side, wide
    return (left + (width - side) / 2, top + height + GAP), side, (left, top, width, height + more)
