"""A file of layers, read: which of them are known, what they are called, and where they lie."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tiewise.data.text_columns import as_text
from tiewise.errors import InputError, InputWarning
from tiewise.optional import require
from tiewise.text import first_line

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

    from tiewise.geo.areas import Areas

FEATURE_KINDS = ("water", "road", "landmark", "place")
NAME = re.compile(r"name(_[a-z]{2,3})?", re.IGNORECASE)
LARGEST_FILE = 300 << 20
MOST_FEATURES = 500_000


def known_frames(path: Path, areas: Areas) -> Iterator[GeoDataFrame]:
    """The layers that are known, each with a column `kind`, in the coordinates of the areas."""
    layers = _layers(path)
    unused: list[str] = []
    known = 0
    for name in layers:
        frame = _read_layer(path, name)
        chosen = _with_kinds(frame, name)
        unused += [f"layer {name!r}"] if chosen is None else _unknown_kinds(frame)
        if chosen is not None and len(chosen):
            known += 1
            yield _in_coordinates_of(areas, chosen, f"{path}, layer {name!r}")
    words = ", ".join(FEATURE_KINDS)
    if not known:
        raise InputError(
            f"{path} has no layer that is known, only {', '.join(layers) or 'none'}; call layers "
            f"{words}, or add a column kind with these words"
        )
    if unused:
        warnings.warn(
            f"{path}: not used: {', '.join(unused[:6])}; there are {words}",
            InputWarning,
            stacklevel=2,
        )


def _layers(path: Path) -> list[str]:
    require("a map", "geopandas", "pyogrio", "shapely")
    import geopandas
    from pyogrio.errors import DataSourceError

    if not path.is_file():
        why = "this is a folder" if path.is_dir() else "there is no such file"
        raise InputError(f"{path}: {why}; give a GeoPackage or GeoJSON file of layers")
    if path.stat().st_size > LARGEST_FILE:
        raise InputError(
            f"{path} has {path.stat().st_size >> 20} MiB; at most {LARGEST_FILE >> 20} are read; "
            "cut it to the region of the map"
        )
    try:
        layers = geopandas.list_layers(path)
    except (DataSourceError, UnicodeDecodeError) as error:
        raise InputError(_unreadable(path, error)) from None
    return list(layers["name"][layers["geometry_type"].notna()])


def _unreadable(path: Path, error: Exception) -> str:
    reason = first_line(error).split(";")[0].rstrip(".")
    return f"{path} cannot be read as layers ({reason}); give a GeoPackage or GeoJSON file"


def _read_layer(path: Path, name: str) -> GeoDataFrame:
    import geopandas
    from pyogrio.errors import DataLayerError, DataSourceError

    try:
        frame = geopandas.read_file(path, layer=name, max_features=MOST_FEATURES + 1)
    except (DataSourceError, DataLayerError, UnicodeDecodeError) as error:
        raise InputError(_unreadable(path, error)) from None
    if len(frame) > MOST_FEATURES:
        raise InputError(
            f"{path}, layer {name!r} has more than {MOST_FEATURES:,} features; cut it to the "
            "region of the map, or leave small roads out"
        )
    return frame


def known_kind(word: str) -> str | None:
    """The kind that a word means: `Roads` is a road; None where it is no kind."""
    plain = word.strip().lower()
    return next((kind for kind in FEATURE_KINDS if plain in (kind, f"{kind}s")), None)


def _with_kinds(frame: GeoDataFrame, layer: str) -> GeoDataFrame | None:
    """The rows of a known kind; None where neither the layer nor a column says what they are."""
    columns = {str(column).lower(): column for column in frame.columns}
    kind = known_kind(layer)
    if "kind" in columns:
        kinds = [known_kind(as_text(value)) for value in frame[columns["kind"]]]
    elif kind is not None:
        kinds = [kind] * len(frame)
    else:
        return None
    frame = frame.assign(kind=kinds)
    there = frame["kind"].notna() & frame.geometry.notna() & ~frame.geometry.is_empty
    return frame[there]


def _unknown_kinds(frame: GeoDataFrame) -> list[str]:
    column = next((name for name in frame.columns if str(name).lower() == "kind"), None)
    if column is None:
        return []
    words = dict.fromkeys(as_text(value) for value in frame[column])
    return [f"kind {word!r}" for word in words if known_kind(word) is None]


def _in_coordinates_of(areas: Areas, frame: GeoDataFrame, where: str) -> GeoDataFrame:
    crs = areas.geometry.crs
    if (frame.crs is None) != (crs is None):
        lacking = where if frame.crs is None else areas.source
        raise InputError(
            f"{lacking} does not say which coordinates it has, so that layers and areas cannot be "
            "put on one map; save it with its coordinate system"
        )
    return frame if crs is None or frame.crs == crs else frame.to_crs(crs)


def layer_kinds(frame: GeoDataFrame) -> list[str]:
    """The kind of each row."""
    return list(frame["kind"])


def layer_names(frame: GeoDataFrame) -> list[Mapping[str, str]]:
    """The names of each row by language; "" is the first one."""
    columns = [column for column in frame.columns if NAME.fullmatch(str(column))]
    texts = {str(c).lower().removeprefix("name").lstrip("_"): frame[c] for c in columns}
    rows = [{code: as_text(value) for code, value in zip(texts, row, strict=True)}
            for row in zip(*texts.values(), strict=True)]  # fmt: skip
    return [{k: v for k, v in row.items() if v} for row in rows] or [{} for _ in range(len(frame))]


def layer_ranks(frame: GeoDataFrame) -> list[float]:
    """The rank of each row; infinite where it has none."""
    column = next((name for name in frame.columns if str(name).lower() == "rank"), None)
    if column is None:
        return [np.inf] * len(frame)
    numbers = [_number(value) for value in frame[column]]
    return [np.inf if np.isnan(number) else number for number in numbers]


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
