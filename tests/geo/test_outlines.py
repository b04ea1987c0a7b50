"""Outlines: projected in proportion, simplified together, merged without slivers."""

from __future__ import annotations

import re

import geopandas
import numpy as np
import pytest
import shapely

from tiewise.geo.areas import Areas
from tiewise.geo.outlines import (
    drop_small_parts,
    extents,
    isolated,
    merge,
    merge_groups,
    project,
    rescale,
    simplify,
)
from tiewise.geo.svg_paths import border_path, circle_path, fill_path


def areas_of(shapes: list[shapely.Geometry], crs: str = "EPSG:27700") -> Areas:
    ids = {"id": [str(k) for k in range(len(shapes))]}
    return Areas.read(geopandas.GeoDataFrame(ids, geometry=shapes, crs=crs))


def objects(*shapes: shapely.Geometry) -> np.ndarray:
    return np.array(shapes, dtype=object)


def corners(path: str) -> list[np.ndarray]:
    """The corners of a path of moves and relative lines, read by other rules than it is written."""
    lines = []
    for piece in filter(None, path.split("M")):
        assert re.fullmatch(r"[-0-9. ]+l[-0-9. ]+z?", piece)
        steps = np.array(re.findall(r"-?[\d.]+", piece), float).reshape(-1, 2)
        lines.append(np.cumsum(steps, axis=0))
    return lines


# Projection.


@pytest.mark.parametrize(("upwards", "first"), [(False, [0, 100]), (True, [0, 0])])
def test_a_map_fits_its_drawing_from_either_corner(upwards, first):
    """400 by 200 metres in 200 by 900 units: half a unit a metre, as the width has it."""
    shapes = project(areas_of([shapely.box(1000, 50, 1400, 250)]), 200, 900, upwards=upwards)
    assert shapely.total_bounds(shapes) == pytest.approx([0, 0, 200, 100])
    south_west = project(
        areas_of([shapely.box(1000, 50, 1001, 51), shapely.box(1399, 249, 1400, 250)]),
        200, 900, upwards=upwards,
    )[0].centroid  # fmt: skip
    assert [south_west.x, south_west.y] == pytest.approx(first, abs=1)


def test_degrees_shrink_to_the_north():
    shapes = project(areas_of([shapely.box(10, 59, 12, 61)], "EPSG:4326"), 1000, 1000)
    _, _, width, height = shapely.total_bounds(shapes)
    assert width / height == pytest.approx(0.5, rel=0.001)
    assert height == pytest.approx(1000)


def test_rescaling_moves_first_and_scales_then():
    (box,) = rescale(objects(shapely.box(10, 20, 11, 22)), (10, 20), (3, -3))
    assert box.bounds == (0, -6, 3, 0)


# Simplification.


def test_a_shared_border_stays_shared():
    wave = [(x, float(np.sin(x))) for x in np.linspace(0, 50, 2000)]
    north = shapely.Polygon([*wave, (50, 30), (0, 30)])
    south = shapely.Polygon([*wave, (50, -30), (0, -30)])
    one, other = simplify(objects(north, south), 0.5)
    assert shapely.get_num_coordinates(one) < 200
    assert shapely.intersection(one, other).area == pytest.approx(0, abs=1e-9)
    assert shapely.union(one, other).area == pytest.approx(50 * 60)


def test_a_shape_smaller_than_the_tolerance_stays():
    """Whatever simplification leaves of it, there is still an area to draw."""
    speck = shapely.Point(0, 0).buffer(0.1)
    (simple,) = simplify(objects(speck), 5.0)
    assert simple.area > 0


# Merging.


def test_slivers_between_areas_are_filled_and_lakes_are_not():
    lake = shapely.box(0, 0, 100, 100) - shapely.box(30, 30, 70, 70)
    halves = objects(shapely.box(0, 0, 100, 50), shapely.box(0, 50, 100, 100))
    gap = shapely.box(0, 0, 100, 100) - shapely.box(20, 50, 80, 52)
    assert merge(objects(lake)).area == lake.area
    assert merge(halves).area == 10_000
    assert merge(objects(gap)).area == 10_000


def test_a_finer_grid_keeps_narrower_lakes():
    gap = shapely.box(0, 0, 100, 100) - shapely.box(20, 50, 80, 52)
    assert merge(objects(gap), grid=0.1).area == pytest.approx(10_000 - 120)


def test_a_broken_polygon_is_merged_all_the_same():
    bow_tie = shapely.Polygon([(0, 0), (10, 10), (10, 0), (0, 10)])
    assert merge(objects(bow_tie)).area == pytest.approx(50)


def test_groups_come_in_order_of_appearance_and_no_name_is_no_group():
    row = objects(*(shapely.box(10 * k, 0, 10 * k + 10, 10) for k in range(4)))
    groups = merge_groups(row, ["west", "", "west", "east"])
    assert list(groups) == ["west", "east"]
    assert groups["west"].area == 200


# What is too small.


def test_small_pieces_and_holes_go_but_never_the_largest_piece():
    pierced = shapely.box(0, 0, 10, 10) - shapely.box(4, 4, 4.1, 4.1)
    isles = shapely.MultiPolygon([pierced, shapely.box(20, 0, 20.1, 0.1)])
    assert drop_small_parts(isles, 0.5).area == 100
    speck = shapely.box(0, 0, 0.1, 0.1)
    assert drop_small_parts(shapely.MultiPolygon([speck]), 0.5).area == pytest.approx(0.01)


def test_an_island_is_isolated_by_its_distance_and_not_its_bounds():
    """The island lies inside the bounds of a crescent, but far from it."""
    crescent = shapely.Point(0, 0).buffer(100) - shapely.Point(0, 0).buffer(90)
    crescent = crescent - shapely.box(0, -100, 100, 100)
    shapes = objects(crescent, shapely.box(-1, -1, 1, 1), shapely.box(-88, 0, -87, 1))
    assert extents(shapes).tolist() == pytest.approx([200, 2, 1], rel=0.01)
    assert isolated(shapes, np.array([1, 2]), 10.0).tolist() == [True, False]


# Paths.


def test_a_shared_border_is_drawn_once():
    lines = corners(border_path([shapely.box(0, 0, 10, 10), shapely.box(10, 0, 20, 10)]))
    assert sum(float(np.abs(np.diff(line, axis=0)).sum()) for line in lines) == 70


@pytest.mark.parametrize(("decimals", "step"), [(0, 1), (1, 0.1)])
def test_a_path_is_rounded_to_its_decimals(decimals, step):
    disc = shapely.Point(-3.21, 7.77).buffer(20)
    (ring,) = corners(fill_path(disc, decimals))
    assert shapely.Polygon(ring).area == pytest.approx(disc.area, rel=0.01)
    assert ring / step == pytest.approx(np.round(ring / step))


def test_what_rounding_leaves_nothing_of_has_no_path():
    assert fill_path(shapely.box(0.1, 0.1, 0.3, 0.3)) == ""
    assert fill_path(shapely.box(0.1, 0.1, 0.3, 0.3), 1) == "M0.3 0.1l0 0.2-0.2 0 0-0.2z"


def test_a_circle_begins_at_its_left():
    assert circle_path(shapely.box(9, 9, 11, 11), 5) == "M5 10a5 5 0 1 0 10 0a5 5 0 1 0-10 0z"
