"""Maps as SVG paths: true to the areas, every area visible, and small enough to send."""

from __future__ import annotations

import gzip
import re

import geopandas
import numpy as np
import pytest
import shapely

from tiewise.geo.areas import Areas
from tiewise.geo.svg_map import light_svg_map, svg_map


@pytest.fixture(scope="module")
def county() -> Areas:
    return Areas.synthetic(14, rng=3)


def polygons(path: str) -> shapely.Geometry:
    """The shape of a path in steps of `M` and `l`."""
    rings = []
    for piece in path.split("z")[:-1]:
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", piece)]
        rings.append(np.cumsum(np.reshape(numbers, (-1, 2)), axis=0).round(1))
    shapes = [shapely.make_valid(shapely.Polygon(ring)) for ring in rings]
    # A ring inside another is a hole.
    whole = shapes[0]
    for shape in shapes[1:]:
        whole = shapely.symmetric_difference(whole, shape)
    return whole


def test_areas_keep_their_shape_and_place(county):
    drawing = svg_map(county)
    west, _, east, north = county.geometry.total_bounds
    scale = drawing.width / (east - west)
    for item, shape in zip(county.items, county.geometry, strict=True):
        expected = shapely.transform(shape, lambda p: (p - (west, north)) * (scale, -scale))
        difference = shapely.symmetric_difference(expected, polygons(drawing.paths[item])).area
        assert difference < 0.02 * expected.area
    assert len(drawing.outlines) == len(set(county.groups))


def test_neighbours_still_share_their_border(county):
    shapes = [polygons(path) for path in svg_map(county).paths.values()]
    whole = shapely.union_all(shapes)
    total = sum(shape.area for shape in shapes)
    assert abs(total - whole.area) < 1e-3 * whole.area
    parts = [part for part in shapely.get_parts(whole) if part.area > 1]
    assert len(parts) == 1
    assert all(shapely.Polygon(hole).area < 1 for hole in parts[0].interiors)


def squares(*corners: tuple[float, float, float]) -> Areas:
    """Squares by their west, south and side."""
    shapes = [shapely.box(x, y, x + side, y + side) for x, y, side in corners]
    columns = {"id": [str(k) for k in range(len(shapes))]}
    return Areas.read(geopandas.GeoDataFrame(columns, geometry=shapes, crs="EPSG:27700"))


def test_an_island_too_small_to_see_has_a_ring():
    paths = svg_map(squares((0, 0, 1000), (1500, 0, 1), (1000, 0, 1))).paths
    assert "a" not in paths["0"]
    assert "a5 5" in paths["1"]
    assert "a5 5" not in paths["2"], "a ring would lie on its neighbour"


def test_a_map_in_degrees_is_not_stretched():
    frame = geopandas.GeoDataFrame(
        {"id": ["1"]}, geometry=[shapely.box(10, 59, 12, 61)], crs="EPSG:4326"
    )
    drawing = svg_map(Areas.read(frame))
    assert drawing.width / drawing.height == pytest.approx(np.cos(np.radians(60)), rel=0.01)


@pytest.mark.slow
def test_a_light_map_has_every_area_and_is_light():
    areas = Areas.synthetic(450, rng=3)
    shapes = np.array(shapely.transform(areas.geometry.to_numpy(), lambda p: p * 2000))
    drawing = light_svg_map(shapes, areas.items, areas.groups)
    assert set(drawing.paths) == set(areas.items)
    assert all(path.startswith("M") for path in drawing.paths.values())
    assert len(gzip.compress("".join(drawing.paths.values()).encode())) <= 30_000
    assert len(drawing.outlines) == 1


def test_an_area_too_small_to_see_has_a_dot():
    islet = shapely.box(500, 500, 500.2, 500.2)
    shapes = np.array([shapely.box(0, 0, 1000, 400), islet], dtype=object)
    drawing = light_svg_map(shapes, ["land", "islet"], ["", ""])
    assert "a11 11" in drawing.paths["islet"]
    assert "a11 11" not in drawing.paths["land"]
    assert drawing.outlines == ()
