"""Maps of the site: light whatever the land, and true to it."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import geopandas
import numpy as np
import pytest
import shapely

from tiewise.geo.areas import Areas
from tiewise.geo.svg_paths import fill_path
from tiewise.study.create import create_study
from tiewise.study.study import Study
from tiewise.web.judge.maps.pictures import LARGEST_MAP, LONGEST
from tiewise.web.judge.maps.study_maps import LETTER_RADIUS, StudyMaps
from tiewise.web.judge.maps.windows import CARD

SVG = "{http://www.w3.org/2000/svg}"


def points(path: str) -> list[np.ndarray]:
    """The corners of a path of moves and relative lines, read by other rules than it is written."""
    result = []
    for piece in filter(None, path.split("M")):
        numbers = list(map(int, re.findall(r"-?\d+", piece)))
        assert re.fullmatch(r"[-0-9 ]+l[-0-9 ]+z?", piece)
        steps = np.array(numbers).reshape(-1, 2)
        result.append(np.cumsum(steps, axis=0))
    return result


def area(path: str) -> float:
    """By the shoelace formula; holes run the other way round."""
    total = 0.0
    for ring in points(path):
        x, y = ring.T
        total += float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2
    return abs(total)


def study_of(tmp_path, frame) -> Study:
    frame.to_file(tmp_path / "map.gpkg")
    return create_study(tmp_path / "s", question="Which?", areas=tmp_path / "map.gpkg")


@pytest.fixture
def county(tmp_path) -> Study:
    Areas.synthetic(30, rng=5).to_gpkg(tmp_path / "map.gpkg")
    return create_study(tmp_path / "s", question="Which?", areas=tmp_path / "map.gpkg")


@pytest.fixture
def maps(county) -> StudyMaps:
    result = StudyMaps.from_study(county)
    assert result is not None
    return result


def rugged(count: int, corners: int, rng: np.random.Generator) -> geopandas.GeoDataFrame:
    """A row of areas whose shared borders have very many corners."""
    walls = []
    for k in range(count + 1):
        y = np.linspace(0, 100, corners)
        x = 10 * k + np.clip(np.cumsum(rng.normal(0, 0.05, corners)), -3, 3)
        x[[0, -1]] = 10 * k
        walls.append(np.column_stack([x, y]))
    shapes = [
        shapely.make_valid(shapely.Polygon(np.vstack([left, right[::-1]])))
        for left, right in pairwise(walls)
    ]
    return geopandas.GeoDataFrame({"id": range(count)}, geometry=shapes, crs="EPSG:27700")


def test_a_study_without_a_map_has_none(tmp_path):
    (tmp_path / "items.csv").write_text("name\na\nb\n", encoding="utf-8")
    assert (
        StudyMaps.from_study(
            create_study(tmp_path / "s", question="?", items=tmp_path / "items.csv")
        )
        is None
    )


def test_the_map_of_all_is_a_picture_without_styles_or_scripts(maps):
    root = ElementTree.fromstring(maps.overview.body)
    assert root.tag == f"{SVG}svg"
    assert {node.tag for node in root} == {f"{SVG}path"}
    assert not any("style" in node.attrib for node in root.iter())
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    for node in root:
        for line in points(node.attrib["d"]):
            assert (line >= [left, top]).all()
            assert (line <= [left + width, top + height]).all()


def test_the_land_keeps_its_size_and_shape(maps, county):
    """Beside a projection made here: the share of each ward in the whole stays what it was."""
    truth = county.areas.geometry.area.to_numpy()
    drawn = np.array([area(fill_path(shape)) for shape in maps.simple_shapes])
    assert drawn / drawn.sum() == pytest.approx(truth / truth.sum(), rel=0.05)
    west, south, east, north = county.areas.geometry.total_bounds
    _, _, width, height = shapely.total_bounds(maps.shapes)
    assert max(width, height) == pytest.approx(LONGEST)
    assert width / height == pytest.approx((east - west) / (north - south))


def test_north_is_up(tmp_path):
    frame = geopandas.GeoDataFrame(
        {"id": ["south", "north"]}, crs="EPSG:27700",
        geometry=[shapely.box(0, 0, 1, 1), shapely.box(0, 1, 1, 2)],
    )  # fmt: skip
    result = StudyMaps.from_study(study_of(tmp_path, frame))
    south, north = result.pair_overview("south", "north").markers
    assert north.y < south.y


@pytest.mark.parametrize(
    ("count", "corners"), [pytest.param(3, 20_000, marks=pytest.mark.slow), (200, 400)]
)
def test_the_map_of_all_stays_light_however_rugged_the_land(tmp_path, count, corners):
    rng = np.random.default_rng(1)
    study = study_of(tmp_path, rugged(count, corners, rng))
    result = StudyMaps.from_study(study)
    assert len(result.overview.packed) <= LARGEST_MAP
    for item in list(study.items)[:10]:
        mark = result.enlarged(item)
        assert sum(map(len, mark[1:])) <= CARD.bytes
        assert mark.area


def test_an_area_is_enlarged_in_the_middle_of_its_window(maps, county):
    for item in county.items:
        mark = maps.enlarged(item)
        corners = np.vstack(points(mark.area))
        low, high = corners.min(axis=0), corners.max(axis=0)
        assert max(high - low) == pytest.approx(mark.size / 1.7, rel=0.05)
        assert (low + high) / 2 == pytest.approx([mark.size / 2] * 2, abs=mark.size * 0.03)
        assert mark.land
        assert mark.neighbours
    assert maps.enlarged("nowhere") is None


def test_groups_are_outlined_where_they_meet(maps, county):
    """A ward whose neighbours are all of its own group has no outline in its window."""
    groups = dict(zip(county.areas.items, county.areas.groups, strict=True))
    shapes = dict(zip(county.areas.items, county.areas.geometry, strict=True))
    met = {
        item for item in county.items
        if any(groups[o] != groups[item] and shapes[o].touches(shapes[item]) for o in county.items)
    }  # fmt: skip
    assert 0 < len(met) < len(county.items)
    assert all(maps.enlarged(item).groups for item in met)


def test_both_areas_are_marked_and_their_letters_do_not_cover_each_other(maps, county):
    items = list(county.items)
    for left in items[:6]:
        for right in items[6:]:
            one, other = maps.pair_overview(left, right).markers
            assert one.path
            assert other.path
            gap = math.dist((one.letter_x, one.letter_y), (other.letter_x, other.letter_y))
            assert gap >= 1.9 * LETTER_RADIUS
    assert maps.pair_overview(items[0], "nowhere") is None


def test_a_place_in_each_group_is_found(maps, county):
    groups = np.array(county.areas.groups)
    drawn = maps.group_overview(county.groups)
    assert len(drawn.markers) == len(county.groups)
    for name, spot in zip(county.groups, drawn.markers, strict=True):
        land = shapely.union_all(maps.shapes[groups == name])
        assert land.buffer(2).contains(shapely.Point(spot.x, spot.y))
    assert maps.group_overview([*county.groups, "Atlantis"]) is None


def test_tiny_and_far_islands_are_still_marked(tmp_path):
    frame = geopandas.GeoDataFrame(
        {"id": ["main", "rock"]}, crs="EPSG:4326",
        geometry=[shapely.box(0, 50, 5, 55), shapely.box(9, 50, 9.0001, 50.0001)],
    )  # fmt: skip
    result = StudyMaps.from_study(study_of(tmp_path, frame))
    _, rock = result.pair_overview("main", "rock").markers
    assert 0 <= rock.letter_x <= LONGEST
    assert result.enlarged("rock").area


@pytest.mark.slow
def test_areas_drawn_ahead_are_those_drawn_when_asked(county, tmp_path):
    ahead, asked = StudyMaps.from_study(county), StudyMaps.from_study(county)
    ahead.draw_all("en")
    assert {item for item, _ in ahead._enlarged} == set(county.items)
    assert all(ahead.enlarged(item) == asked.enlarged(item) for item in county.items)
