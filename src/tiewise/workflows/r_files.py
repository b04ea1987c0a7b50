"""R data files: their objects as tables, arrays and maps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tiewise.data.text_columns import as_text
from tiewise.geo.areas import Rings
from tiewise.optional import require

if TYPE_CHECKING:
    from pandas import DataFrame


def dense_matrix(thing: Any) -> Any:
    """A matrix of R as an array: plain, with names for its rows, or sparse (package Matrix)."""
    if not hasattr(thing, "Dim"):
        return np.asarray(getattr(thing, "values", thing))
    from scipy.sparse import csc_array

    values = getattr(thing, "x", np.ones(len(thing.i)))
    dense = csc_array((values, thing.i, thing.p), shape=tuple(thing.Dim)).toarray()
    # The symmetric classes keep one triangle only.
    return np.maximum(dense, dense.T)


class RMap(NamedTuple):
    """R's `sf`: a table, and for each row its polygons as rings of coordinates."""

    table: DataFrame
    shapes: list[Sequence[Rings]]
    crs: str | None


def read_rda(path: Path) -> dict[str, Any]:
    """The objects of an R data file by name; maps come as `RMap`."""
    require("an R file", "rdata")
    import rdata

    known = {**rdata.conversion.DEFAULT_CLASS_MAP, **_shape_readers()}
    with warnings.catch_warnings():
        # It says of each class of R it has no reader for that it took the plain object.
        warnings.simplefilter("ignore")
        return dict(rdata.read_rda(path, constructor_dict=known))


def _shape_readers() -> dict[str | bytes, Callable[[Any, Mapping[str, Any]], Any]]:
    columns = ("sfc_MULTIPOLYGON", "sfc_POLYGON", "sfc_GEOMETRY")
    return {
        "factor": _factor,
        "XY": _polygons,
        "XYZ": _polygons,
        "crs": _crs,
        **{
            kind: lambda shapes, attributes: (list(shapes), attributes.get("crs"))
            for kind in columns
        },
        "sf": _map,
    }


def _factor(codes: Any, attributes: Mapping[str, Any]) -> Any:
    """Text for codes; rdata's own reader stumbles over the named factors that sf keeps."""
    plain: Any = np.ma.asarray(getattr(codes, "values", codes), float)
    numbers = plain.filled(np.nan)
    levels = attributes["levels"]
    return np.array([levels[int(k) - 1] if k > 0 else None for k in numbers], object)


def _polygons(shape: Any, attributes: Mapping[str, Any]) -> Sequence[Rings]:
    """Polygons as rings of x and y; one polygon is many of one."""
    polygons = [shape] if "POLYGON" in attributes["class"] else shape
    return [[np.asarray(ring, float)[:, :2] for ring in rings] for rings in polygons]


def _crs(parts: Mapping[str, Any], attributes: Mapping[str, Any]) -> str | None:
    """The coordinate system as text, from the keys of newer versions of sf first."""
    for key in ("wkt", "input", "epsg", "proj4string"):
        text = as_text(np.ma.filled(parts[key], -1)[0]) if key in parts else ""
        if text and not text.startswith("-"):
            return f"EPSG:{text}" if key == "epsg" else text
    return None


def _map(columns: Mapping[str, Any], attributes: Mapping[str, Any]) -> RMap:
    import rdata

    geometry = str(attributes["sf_column"][0])
    shapes, crs = columns[geometry]
    others = {name: values for name, values in columns.items() if name != geometry}
    return RMap(rdata.conversion.dataframe_constructor(others, attributes), shapes, crs)
