"""Layers for a made-up county: a river, a lake, roads between towns, landmarks, in two scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import shapely

TOWNS = [
    ("Wrenford", "رينفورد", 0.42, 0.62), ("Skelby", "سكيلبي", 0.7, 0.42),
    ("Oakmere", "أوكمير", 0.3, 0.3), ("Tamton", "تامتون", 0.72, 0.75),
]  # fmt: skip
LANDMARKS = [
    ("Castle", "القلعة", 0.45, 0.66), ("Central station", "المحطة المركزية", 0.4, 0.58),
    ("Hospital", "المستشفى", 0.66, 0.45), ("University", "الجامعة", 0.48, 0.56),
    ("Stadium", "الملعب", 0.74, 0.4), ("Abbey ruins", "أطلال الدير", 0.28, 0.34),
]  # fmt: skip
WEST, SOUTH, WIDTH, HEIGHT = 587_000, 381_000, 47_000, 38_000
"""Where `Areas.synthetic` draws its counties, about."""


def at(x: float, y: float) -> tuple[float, float]:
    """A point of the county, from the shares of its width and height."""
    return WEST + x * WIDTH, SOUTH + y * HEIGHT


def bent(one: tuple[float, float], other: tuple[float, float], sway: float) -> shapely.LineString:
    """A line that swings as rivers and country roads do."""
    share = np.linspace(0, 1, 60)[:, None]
    line = np.array(one) * (1 - share) + np.array(other) * share
    across = np.array([other[1] - one[1], one[0] - other[0]])
    waves = np.sin(share * 9) * 0.6 + np.sin(share * 23 + 1) * 0.25
    return shapely.LineString(line + sway * waves * np.sin(np.pi * share) * across)


def made_up_layers(path: Path) -> Path:
    """A GeoPackage of four layers, as a researcher would bring it."""
    towns = {name: at(x, y) for name, _, x, y in TOWNS}
    roads = [
        bent(towns[one], towns[other], 0.08)
        for one, other in (("Wrenford", "Skelby"), ("Wrenford", "Oakmere"), ("Skelby", "Tamton"))
    ]
    ends = (("Wrenford", at(0.45, 0.99), -0.06), ("Oakmere", at(0.02, 0.1), 0.1))
    roads += [bent(towns[name], end, sway) for name, end, sway in ends]
    source, mere, mouth = at(0.25, 0.95), at(0.57, 0.3), at(0.95, 0.1)
    lake = shapely.Point(mere).buffer(2200).union(shapely.Point(at(0.6, 0.27)).buffer(1600))
    water = [bent(source, mere, 0.12), bent(mere, mouth, 0.1), lake]
    layers = {
        "water": ({"name": ["River Tam", "", "Long Mere"]}, water),
        "roads": ({"name": [f"A{k}" for k in range(1, 6)]}, roads),
        "landmarks": _named(LANDMARKS),
        "places": _named(TOWNS),
    }
    for name, (columns, shapes) in layers.items():
        frame = geopandas.GeoDataFrame(columns, geometry=shapes, crs="EPSG:27700")
        frame.to_crs("EPSG:4326").to_file(path, layer=name, driver="GPKG")
    return path


def _named(rows: list[tuple[str, str, float, float]]) -> tuple[dict[str, list[str]], list[Any]]:
    columns = {"name": [row[0] for row in rows], "name_ar": [row[1] for row in rows]}
    return columns, [shapely.Point(at(x, y)) for *_, x, y in rows]
