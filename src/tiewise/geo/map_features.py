"""What helps to recognise a map: water, roads, landmarks and places, from a file of layers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.geo.layer_file import (
    FEATURE_KINDS,
    known_frames,
    layer_kinds,
    layer_names,
    layer_ranks,
)
from tiewise.geo.outlines import Shapes, rescale, tolerances

if TYPE_CHECKING:
    from tiewise.geo.areas import Areas

POINTS = ("landmark", "place")
"""Kinds that are a point with a name, whatever was drawn of them."""
MOST_POINTS = 2_000
"""Landmarks and places that are kept: the first of the file, or those of the best rank."""
LARGEST_LAYERS = 60_000
"""Bytes that water and roads may have as SVG paths, compressed."""
BEYOND = 0.1  # of the map's extent that is kept around it
FINEST, COARSEST = 1 / 10_000, 1 / 500  # of the map's extent: by how much lines may move
BYTES_OF_CORNER = 4.0  # compressed, at most about


@dataclass(frozen=True, eq=False)
class MapFeatures:
    """Water, roads, landmarks and places in the coordinates of a map, most important first."""

    kinds: tuple[str, ...]
    names: tuple[Mapping[str, str], ...]
    """By language; "" is the first one."""
    ranks: tuple[float, ...]
    shapes: Shapes
    source: str = "the layers"
    left_out: int = 0
    """Water and roads that were left out, so that pages stay light."""

    @classmethod
    def read(cls, path: str | Path, areas: Areas) -> MapFeatures:
        """Features of a GeoPackage or GeoJSON file, as far as they are on the map of the areas.

        A layer is known by its name, or each of its rows by a column `kind`: water, road, landmark,
        place (or their plurals). Names are in `name`, and in other languages in `name_fr` and so
        on; a number `rank` says which are more important, 1 before 2.
        """
        frames = [*known_frames(Path(path), areas)]
        columns = [(layer_kinds(one), layer_names(one), layer_ranks(one)) for one in frames]
        kinds, names, ranks = (tuple(chain(*parts)) for parts in zip(*columns, strict=True))
        shapes = np.concatenate([frame.geometry.to_numpy() for frame in frames])
        features = cls(kinds, names, ranks, shapes, str(path))
        return features._on_map(areas)._sorted()._lightened(areas)

    def __len__(self) -> int:
        return len(self.kinds)

    def of(self, kind: str) -> Shapes:
        """The shapes of a kind."""
        return self.shapes[np.array(self.kinds, dtype=object) == kind] if len(self) else self.shapes

    def only(self, kinds: Sequence[str]) -> MapFeatures:
        """Those of these kinds."""
        return self._chosen([k for k, kind in enumerate(self.kinds) if kind in kinds])

    def cut(self, frame: Any) -> MapFeatures:
        """What is inside a polygon."""
        import shapely

        inside = np.flatnonzero(shapely.intersects(self.shapes, frame))
        chosen = self._chosen(inside)
        parts = shapely.intersection(chosen.shapes, frame)
        return replace(chosen, shapes=np.asarray(parts, object))

    def most_important(self, share: float) -> MapFeatures:
        """The first of them, which are the most important."""
        return self._chosen(range(int(share * len(self))))

    def projected(self, origin: tuple[float, float], scale: tuple[float, float]) -> MapFeatures:
        """The features in units of a drawing."""
        return replace(self, shapes=np.asarray(rescale(self.shapes, origin, scale), object))

    def counts(self) -> dict[str, int]:
        """How many there are of each kind."""
        there = Counter(self.kinds)
        return {kind: there[kind] for kind in FEATURE_KINDS if there[kind]}

    def to_gpkg(self, path: str | Path, crs: Any) -> None:
        """Write a GeoPackage that `read` reads back."""
        import geopandas

        languages = sorted({code for names in self.names for code in names})
        columns: dict[str, Any] = {"kind": self.kinds}
        for code in languages:
            column = f"name_{code}" if code else "name"
            columns[column] = [names.get(code, "") for names in self.names]
        columns["rank"] = range(1, len(self) + 1)
        frame = geopandas.GeoDataFrame(columns, geometry=list(self.shapes), crs=crs)
        frame.to_file(path, driver="GPKG", layer="layers")

    def _chosen(self, which: Sequence[int] | NDArray[np.int64]) -> MapFeatures:
        return replace(
            self, kinds=tuple(self.kinds[k] for k in which),
            names=tuple(self.names[k] for k in which), ranks=tuple(self.ranks[k] for k in which),
            shapes=self.shapes[list(which)],
        )  # fmt: skip

    def _on_map(self, areas: Areas) -> MapFeatures:
        """What is on the map or just beyond it, cut to that; points for landmarks and places."""
        import shapely

        frame = shapely.box(*_widened(areas))
        broken = ~shapely.is_valid(self.shapes)
        shapes = np.where(broken, shapely.make_valid(self.shapes), self.shapes)
        as_points = np.array([kind in POINTS for kind in self.kinds], bool)
        shapes = np.where(as_points, shapely.point_on_surface(shapes), shapes)
        shapes = np.asarray(shapely.intersection(shapely.force_2d(shapes), frame), object)
        inside = np.flatnonzero(~shapely.is_empty(shapes))
        if not len(inside):
            raise InputError(
                f"{self.source}: none of its {len(shapes)} features is on the map of the areas; "
                "is it of another place, or in other coordinates than it says?"
            )
        return replace(self, shapes=shapes)._chosen(inside)

    def _sorted(self) -> MapFeatures:
        """By rank, where there is one; then long roads and large water first."""
        import shapely

        sizes = np.nan_to_num(shapely.length(self.shapes))
        order = np.lexsort((np.arange(len(self)), -sizes, np.array(self.ranks)))
        points = [k for k in order if self.kinds[k] in POINTS][:MOST_POINTS]
        others = [k for k in order if self.kinds[k] not in POINTS]
        return self._chosen([*others, *points])

    def _lightened(self, areas: Areas) -> MapFeatures:
        """Water and roads simplified, and the least important left out, within the budget."""
        import shapely

        extent = _extent(areas)
        lines = np.array([kind not in POINTS for kind in self.kinds], bool)
        shapes = self.shapes.copy()
        for tolerance in tolerances(FINEST * extent):
            shapes[lines] = shapely.simplify(shapes[lines], tolerance)
            weights = BYTES_OF_CORNER * shapely.get_num_coordinates(shapes) * lines
            if weights.sum() <= LARGEST_LAYERS or tolerance > COARSEST * extent:
                break
        light = np.cumsum(weights) <= LARGEST_LAYERS
        kept = np.flatnonzero(light | ~lines)
        return replace(self, shapes=shapes, left_out=len(self) - len(kept))._chosen(kept)


def split_water(shapes: Shapes) -> tuple[list[Any], list[Any]]:
    """Water that is filled, as lakes, and water that is a line, as rivers."""
    import shapely

    parts = shapely.get_parts(shapes)
    dimensions = shapely.get_dimensions(parts)
    return list(parts[dimensions == 2]), list(parts[dimensions == 1])


def line_parts(shapes: Shapes) -> list[Any]:
    """The lines of some shapes; of a square or a roundabout its outline."""
    import shapely

    parts = shapely.get_parts(shapes)
    flat = shapely.get_dimensions(parts) == 2
    parts = np.where(flat, shapely.boundary(parts), parts)
    lines = shapely.get_parts(parts)
    return list(lines[shapely.get_dimensions(lines) == 1])


def _widened(areas: Areas) -> list[float]:
    import shapely

    west, south, east, north = shapely.total_bounds(areas.geometry.to_numpy()).tolist()
    more = BEYOND * max(east - west, north - south)
    return [west - more, south - more, east + more, north + more]


def _extent(areas: Areas) -> float:
    west, south, east, north = areas.geometry.total_bounds.tolist()
    return float(max(east - west, north - south, 1e-9))
