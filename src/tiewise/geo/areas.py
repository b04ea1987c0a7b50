"""The areas of a study, with their shapes, names and groups."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from tiewise.data.text_columns import as_text, tidied_ids
from tiewise.errors import InputError, InputWarning
from tiewise.optional import require
from tiewise.randomness import RNGLike, as_seed
from tiewise.text import first_line

if TYPE_CHECKING:
    import pandas as pd
    from geopandas import GeoDataFrame, GeoSeries

Rings = Sequence[NDArray[np.float64]]  # each (K, 2); the outer one first, then the holes

POLYGONAL = ("Polygon", "MultiPolygon")
LIBRARIES = ("geopandas", "pyogrio", "shapely")
MAPS = (".shp", ".gpkg", ".geojson", ".json")


@dataclass(frozen=True, eq=False)
class Areas:
    """The areas of a map, in the order of its file. Ids are keys; names may occur twice.

    `groups` is None where nothing is known of groups, and holds "" for an area without one.
    `repaired` lists the ids of the areas whose polygon was invalid and has been repaired.
    """

    items: tuple[str, ...]
    names: tuple[str, ...]
    groups: tuple[str, ...] | None
    geometry: GeoSeries
    repaired: tuple[str, ...] = ()
    source: str = "the map"
    name_columns: tuple[str, ...] = ()
    """Columns of the map that could be the names, where none was named and none is called so."""

    @classmethod
    def read(
        cls,
        source: str | Path | GeoDataFrame,
        *,
        id: str | None = None,
        name: str | None = None,
        group: str | None = None,
    ) -> Areas:
        """Areas from a GeoPackage, GeoJSON, shapefile (or zip of one) or GeoDataFrame.

        `id`, `name` and `group` are columns; where they are not given, columns of those very
        names are taken, in any letter case. Invalid polygons are repaired and listed.
        """
        require("a map", *LIBRARIES)
        if isinstance(source, str | Path):
            frame, where = _read_file(Path(source)), str(source)
        else:
            frame, where = source, "the map"
        _refuse_shapeless(frame, where)
        id_column = _id_column(frame, id, where)
        group_column = _column(frame, group, "group", where)
        items = _ids(frame, id_column, where)
        name_column = _column(frame, name, "name", where)
        names = _labels(frame, name_column)
        groups = _labels(frame, group_column)
        labels = tuple(name or item for item, name in zip(items, names or items, strict=True))
        geometry = frame.geometry.reset_index(drop=True)
        could_be = () if name_column else _name_columns(frame, {id_column, group_column})
        areas = cls(items, labels, groups, geometry, source=where, name_columns=could_be)
        return areas._require_polygons()._repair()

    @classmethod
    def from_rings(
        cls,
        items: Iterable[Any],
        names: Iterable[Any],
        shapes: Iterable[Sequence[Rings]],
        *,
        crs: str | None,
        source: str = "the map",
    ) -> Areas:
        """Areas from coordinates: for each of them its polygons, each an outer ring and holes."""
        require("a map", *LIBRARIES)
        import geopandas
        import shapely

        polygons = [
            shapely.MultiPolygon([shapely.Polygon(outer, holes) for outer, *holes in parts])
            for parts in shapes
        ]
        columns = {"id": list(items), "name": list(names)}
        return replace(
            cls.read(geopandas.GeoDataFrame(columns, geometry=polygons, crs=crs)), source=source
        )

    @classmethod
    def synthetic(cls, count: int, *, rng: RNGLike) -> Areas:
        """A county that does not exist: `count` wards with names, in four boroughs.

        Coordinates are metres on the British grid, in the North Sea. The same seed gives the same
        county.
        """
        require("a map", *LIBRARIES)
        import geopandas
        import shapely

        from tiewise.geo.synthetic_county import SyntheticCounty

        seed = as_seed(rng)
        county = SyntheticCounty.generate(count, np.random.default_rng(seed))
        outline = shapely.Polygon(county.outline)
        cells = shapely.voronoi_polygons(
            shapely.MultiPoint(county.centres), extend_to=outline, ordered=True
        )
        # Whole metres, so that neighbours share their corners to the last bit.
        wards = shapely.intersection(shapely.get_parts(cells), outline, grid_size=1)
        # A corner that only touches the outline leaves a line of no width beside the ward.
        wards = [_polygons_of(ward) for ward in wards]
        items = tuple(str(number) for number in range(1, count + 1))
        geometry = geopandas.GeoSeries(wards, crs="EPSG:27700")
        source = f"a made-up county (seed {seed})"
        return cls(items, county.names, county.boroughs, geometry, source=source)

    def __len__(self) -> int:
        return len(self.items)

    def with_tidied_ids(self) -> Areas:
        """The same areas with the ids that judgements give them: 79 for a text 79.0."""
        items = tidied_ids(self.items)
        return self if len(set(items)) < len(items) else replace(self, items=items)

    def label(self, item: str) -> str:
        """An area in a message: its id, and its name where that is another."""
        name = self.names[self.items.index(item)]
        return repr(item) if name == item else f"{item!r} ({name})"

    def metric(self) -> GeoSeries:
        """The shapes in metres; as they are, with a warning, where the map has no CRS."""
        shapes = self.geometry
        if shapes.crs is None:
            warnings.warn(
                f"{self.source} has no coordinate system: distances are taken in its own units; "
                "give it one if they matter",
                InputWarning,
                stacklevel=2,
            )
            return shapes
        # Web Mercator's metres are stretched, twofold at 60 degrees north.
        if shapes.crs.is_geographic or shapes.crs.to_epsg() == 3857:
            return shapes.to_crs(shapes.estimate_utm_crs())
        unit = shapes.crs.axis_info[0].unit_conversion_factor
        if unit == 1:
            return shapes
        return shapes.set_crs(None, allow_override=True).scale(unit, unit, origin=(0, 0))

    def centroids(self) -> NDArray[np.float64]:
        """The centroid of each area in metres, an (N, 2) array in the order of `items`."""
        points = self.metric().centroid
        return np.column_stack([points.x, points.y])

    def frame(self) -> GeoDataFrame:
        """A table with columns `id`, `name`, `group` (where known) and `geometry`."""
        import geopandas

        columns: dict[str, Sequence[str]] = {"id": self.items, "name": self.names}
        if self.groups is not None:
            columns["group"] = self.groups
        return geopandas.GeoDataFrame(columns, geometry=self.geometry)

    def to_gpkg(self, path: str | Path) -> None:
        """Write a GeoPackage that `Areas.read` reads back."""
        self.frame().to_file(path, driver="GPKG", layer="areas")

    def _require_polygons(self) -> Areas:
        missing = self._where(self.geometry.isna() | self.geometry.is_empty)
        if missing:
            raise InputError(
                f"{self.source} has no geometry for {self._describe(missing)}; "
                "draw the polygon, or take the area out of the map"
            )
        other = self._where(~self.geometry.geom_type.isin(POLYGONAL))
        if other:
            kind = self.geometry.iloc[self.items.index(other[0])].geom_type
            raise InputError(
                f"{self.source} has a {kind} for {self._describe(other)}, but areas are polygons; "
                "give their boundaries, or (without a map) who borders whom: edges="
            )
        return self

    def _repair(self) -> Areas:
        import shapely

        shapes = shapely.force_2d(self.geometry.to_numpy())
        broken = np.flatnonzero(~shapely.is_valid(shapes))
        shapes[broken] = [_polygons_of(shapely.make_valid(shape)) for shape in shapes[broken]]
        geometry = type(self.geometry)(shapes, crs=self.geometry.crs)
        empty = self._where(geometry.is_empty)
        if empty:
            raise InputError(
                f"{self.source}: nothing is inside the polygon of {self._describe(empty)}; "
                "draw it again"
            )
        return replace(self, geometry=geometry, repaired=tuple(self.items[k] for k in broken))

    def _where(self, mask: Iterable[bool]) -> list[str]:
        return [item for item, chosen in zip(self.items, mask, strict=True) if chosen]

    def _describe(self, items: Sequence[str]) -> str:
        more = f" and {len(items) - 1} more" if len(items) > 1 else ""
        return f"area {self.label(items[0])}{more}"


def _read_file(path: Path) -> GeoDataFrame:
    require("a map", *LIBRARIES)
    import geopandas
    from pyogrio.errors import DataLayerError, DataSourceError

    if not path.is_file():
        why = "this is a folder" if path.is_dir() else "there is no such file"
        raise InputError(f"{path}: {why}; give a GeoPackage, GeoJSON or shapefile")
    try:
        inside = _unzipped(path) if path.suffix.lower() == ".zip" else str(path)
        return geopandas.read_file(inside, layer=_layer(inside, path))
    except (DataSourceError, DataLayerError, UnicodeDecodeError, BadZipFile) as error:
        reason = first_line(error).split(";")[0].rstrip(".")
        raise InputError(
            f"{path} cannot be read as a map ({reason}); give a GeoPackage, GeoJSON, or "
            "shapefile with its .shx and .dbf beside it"
        ) from None


def attributes(source: str | Path | GeoDataFrame, id: str | None = None) -> pd.DataFrame:
    """The attributes of each area in a map file, with the ids in a column `item`."""
    frame = _read_file(Path(source)) if isinstance(source, str | Path) else source
    where = str(source) if isinstance(source, str | Path) else "the map"
    ids = tidied_ids(_ids(frame, _id_column(frame, id, where), where))
    table: pd.DataFrame = frame[_columns(frame)]
    return table.assign(item=list(ids))


def _unzipped(path: Path) -> str:
    """The path, as GDAL writes it, of the one map in a zip file."""
    with ZipFile(path) as archive:
        maps = [name for name in archive.namelist() if Path(name).suffix.lower() in MAPS]
    maps = [name for name in maps if not name.startswith("__MACOSX")]
    if len(maps) != 1:
        raise InputError(
            f"{path} holds {len(maps) or 'no'} maps; zip one shapefile with all its parts"
        )
    return f"zip://{path}!{maps[0]}"


def _layer(inside: str, path: Path) -> str | None:
    import geopandas

    layers = geopandas.list_layers(inside)
    shapes = list(layers["name"][layers["geometry_type"].notna()])
    if len(shapes) > 1:
        raise InputError(
            f"{path} holds {len(shapes)} layers ({', '.join(shapes)}); "
            "save the one with the areas as a file of its own"
        )
    return shapes[0] if shapes else None


def _refuse_shapeless(frame: Any, where: str) -> None:
    if getattr(frame, "active_geometry_name", None) is None or not len(frame):
        raise InputError(f"{where} holds no areas; give a map with a polygon for each of them")


def _columns(frame: GeoDataFrame) -> list[str]:
    return [str(column) for column in frame.columns if column != frame.geometry.name]


def _column(frame: GeoDataFrame, column: str | None, default: str, where: str) -> str | None:
    columns = _columns(frame)
    if column is None:
        return next((name for name in columns if name.lower() == default), None)
    if column not in columns:
        raise InputError(
            f"{where} has no column {column!r}; it has {', '.join(columns) or 'none'}: "
            f"choose with {default}=COLUMN"
        )
    return column


def _id_column(frame: GeoDataFrame, column: str | None, where: str) -> str:
    id_column = _column(frame, column, "id", where)
    if id_column is None:
        raise InputError(
            f"{where} has no column 'id' to tell its areas apart; "
            f"choose with id=COLUMN from {', '.join(_columns(frame)) or 'none at all'}"
        )
    return id_column


def _ids(frame: GeoDataFrame, column: str, where: str) -> tuple[str, ...]:
    ids = tuple(as_text(value) for value in frame[column])
    if "" in ids:
        raise InputError(
            f"{where}: area {ids.index('') + 1} of {len(ids)} has no {column}; "
            "fill it in, or choose another column with id=COLUMN"
        )
    twice = [item for item, times in Counter(ids).items() if times > 1]
    if twice:
        raise InputError(
            f"{where}: {column} does not tell its areas apart, {twice[0]!r} occurs "
            f"{ids.count(twice[0])} times; choose another column with id=COLUMN from "
            f"{', '.join(_columns(frame))}"
        )
    return ids


def _labels(frame: GeoDataFrame, column: str | None) -> tuple[str, ...] | None:
    return None if column is None else tuple(as_text(value) for value in frame[column])


def _name_columns(frame: GeoDataFrame, taken: set[str | None]) -> tuple[str, ...]:
    """Columns of words without digits, most of them different; those called so come first."""
    columns = []
    for column in (name for name in _columns(frame) if name not in taken):
        words = [as_text(value) for value in frame[column]]
        names = [word for word in words if word and not re.search(r"\d", word)]
        if len(names) > 0.8 * len(words) and len(set(names)) > len(words) / 2:
            columns.append(column)
    return tuple(sorted(columns, key=lambda column: not re.search("name|nm$", column.lower())))


def _polygons_of(shape: Any) -> Any:
    """The polygons of a shape, without the points and lines that repairing leaves behind."""
    import shapely

    if shape.geom_type in POLYGONAL:
        return shape
    parts = [part for part in shapely.get_parts(shape) if part.geom_type in POLYGONAL]
    return shapely.union_all(parts) if parts else shapely.Polygon()
