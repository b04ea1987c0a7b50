"""Areas: what is read from a map, and what is said when it cannot be."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
from shapely import Point, Polygon, box

from tiewise.errors import InputError, InputWarning
from tiewise.geo.areas import Areas

STUDIES = Path(__file__).parents[3] / "shared" / "data"
needs_studies = pytest.mark.skipif(
    not STUDIES.exists(), reason="real studies not beside this checkout"
)

BOW_TIE = Polygon([(0, 0), (2, 2), (2, 0), (0, 2)])


def village(**columns) -> geopandas.GeoDataFrame:
    """Three squares in a row on the British grid, a kilometre each."""
    squares = [box(1000 * k, 0, 1000 * (k + 1), 1000) for k in range(3)]
    columns = {"id": [10, 20, 30], "name": ["Ashby", "Denton", "Ashby"], **columns}
    return geopandas.GeoDataFrame(columns, geometry=squares, crs="EPSG:27700")


def with_shape(shape) -> geopandas.GeoDataFrame:
    frame = village()
    frame.loc[1, "geometry"] = shape
    return frame


@pytest.mark.parametrize("kind", ["gpkg", "geojson", "shp", "zip", "folder.zip"])
def test_every_kind_of_map_file_tells_the_same(tmp_path, kind):
    """GeoPackage, GeoJSON, shapefile and a zip of one (or of its folder): all the same."""
    path = tmp_path / f"village.{kind}"
    if path.suffix == ".zip":
        (tmp_path / "parts").mkdir()
        village().to_file(tmp_path / "parts" / "village.shp")
        with zipfile.ZipFile(path, "w") as archive:
            for part in sorted((tmp_path / "parts").iterdir()):
                archive.write(part, f"wards/{part.name}" if "folder" in kind else part.name)
    else:
        village().to_file(path)
    areas = Areas.read(path)
    assert areas.items == ("10", "20", "30")
    assert areas.names == ("Ashby", "Denton", "Ashby")
    assert areas.groups is None
    assert areas.repaired == ()
    shapes = areas.geometry.to_crs(27700)
    assert np.allclose(shapes.area, 1e6, rtol=1e-3)


def test_whole_numbers_are_ids_without_a_decimal_point():
    areas = Areas.read(village(id=[1.0, 2.0, 30.0]))
    assert areas.items == ("1", "2", "30")


def test_order_is_that_of_the_file():
    assert Areas.read(village(id=["b", "c", "a"])).items == ("b", "c", "a")


def test_columns_are_chosen_by_name_or_found_in_any_letter_case():
    frame = village().rename(columns={"id": "ID", "name": "Name"})
    frame["borough"] = ["North", None, "South"]
    assert Areas.read(frame).names == ("Ashby", "Denton", "Ashby")
    chosen = Areas.read(frame, id="ID", name="borough", group="borough")
    assert chosen.names == ("North", "20", "South")
    assert chosen.groups == ("North", "", "South")


def test_without_names_the_ids_are_the_names():
    areas = Areas.read(village().drop(columns="name"))
    assert areas.names == areas.items
    assert areas.label("10") == "'10'"


@pytest.mark.parametrize(
    ("frame", "options", "words"),
    [
        (village().rename(columns={"id": "code"}), {}, "id=COLUMN from code, name"),
        (village(), {"id": "code"}, "no column 'code'; it has id, name"),
        (village(), {"group": "borough"}, "no column 'borough'.*group=COLUMN"),
        (village(), {"id": "name"}, "'Ashby' occurs 2 times.*id=COLUMN"),
        (village(id=["a", None, "c"]), {}, "area 2 of 3 has no id"),
        (village(id=[1, np.nan, 3]), {}, "area 2 of 3 has no id"),
        (with_shape(None), {}, r"no geometry for area '20' \(Denton\)"),
        (with_shape(Polygon()), {}, r"no geometry for area '20' \(Denton\)"),
        (with_shape(Point(1, 2)), {}, r"Point for area '20' \(Denton\)"),
        (with_shape(Polygon([(0, 0), (1, 1), (0, 0)])), {}, "nothing is inside .* '20'"),
    ],
)
def test_a_map_that_cannot_be_says_why_in_one_line(frame, options, words):
    with pytest.raises(InputError, match=words) as error:
        Areas.read(frame, **options)
    assert "\n" not in str(error.value)


def test_a_file_that_is_no_map_says_so(tmp_path):
    for name in ("map.geojson", "map.gpkg", "map.shp", "map.zip"):
        (tmp_path / name).write_text("not a map")
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as archive:
        archive.writestr("readme.txt", "no map here")
    for path in (*tmp_path.iterdir(), tmp_path / "absent.gpkg", tmp_path):
        with pytest.raises(InputError, match=path.name) as error:
            Areas.read(path)
        assert "\n" not in str(error.value)


def test_a_table_without_shapes_is_no_map(tmp_path):
    (tmp_path / "areas.csv").write_text("id,name\n1,Ashby\n")
    table = pd.DataFrame({"id": [1], "name": ["Ashby"]})
    for source in (tmp_path / "areas.csv", table, village().iloc[:0]):
        with pytest.raises(InputError, match="holds no areas"):
            Areas.read(source)


def test_a_file_of_two_layers_is_not_guessed_at(tmp_path):
    for layer in ("wards", "parishes"):
        village().to_file(tmp_path / "two.gpkg", layer=layer)
    with pytest.raises(InputError, match=r"2 layers \(wards, parishes\)"):
        Areas.read(tmp_path / "two.gpkg")


def test_an_invalid_polygon_is_repaired_and_named():
    """The two triangles of a bow tie, each of area 1, are kept; the valid are left alone."""
    areas = Areas.read(with_shape(BOW_TIE))
    assert areas.repaired == ("20",)
    assert areas.geometry.is_valid.all()
    assert areas.geometry.area.tolist() == [1e6, 2.0, 1e6]


def test_repairing_leaves_no_lines_behind():
    """A square with a spike is that square."""
    spiked = Polygon([(0, 0), (1, 0), (1, 1), (1, 3), (1, 1), (0, 1)])
    areas = Areas.read(with_shape(spiked))
    assert areas.geometry[1].equals(box(0, 0, 1, 1))
    assert areas.geometry[1].geom_type == "Polygon"


def test_the_frame_handed_in_is_left_alone():
    frame = with_shape(BOW_TIE)
    Areas.read(frame)
    assert frame.geometry[1].equals_exact(BOW_TIE)


def test_centroids_are_in_metres_whatever_the_coordinates():
    """The same village, a kilometre from middle to middle, in degrees and in Web Mercator."""
    for crs in (27700, 4326, 3857):
        middles = Areas.read(village().to_crs(crs)).centroids()
        assert middles.shape == (3, 2)
        gap = np.linalg.norm(np.diff(middles, axis=0), axis=1)
        assert np.allclose(gap, 1000, rtol=2e-3), crs


def test_feet_become_metres():
    """New York's grid counts in US survey feet of 1200/3937 metres."""
    middles = Areas.read(village().set_crs(2263, allow_override=True)).centroids()
    assert np.allclose(np.diff(middles[:, 0]), 1000 * 1200 / 3937)


def test_without_coordinate_system_the_units_are_its_own_and_it_says_so():
    areas = Areas.read(village().set_crs(None, allow_override=True))
    with pytest.warns(InputWarning, match="no coordinate system"):
        middles = areas.centroids()
    assert middles.tolist() == [[500, 500], [1500, 500], [2500, 500]]


def test_written_areas_are_read_back_alike(tmp_path):
    first = Areas.read(village(id=["007", "8", "9"], group=["a", "a", "b"]))
    first.to_gpkg(tmp_path / "areas.gpkg")
    again = Areas.read(tmp_path / "areas.gpkg")
    assert (again.items, again.names, again.groups) == (first.items, first.names, first.groups)
    assert again.geometry.geom_equals(first.geometry).all()
    assert again.geometry.crs == first.geometry.crs


def test_polygons_are_made_from_rings_with_holes():
    outer = np.array([[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]], float)
    hole = np.array([[1, 1], [2, 1], [2, 2], [1, 2], [1, 1]], float)
    areas = Areas.from_rings([1, 2], ["A", "B"], [[[outer, hole]], [[outer + 9]]], crs=None)
    assert areas.items == ("1", "2")
    assert areas.geometry.area.tolist() == [15, 16]


@pytest.mark.parametrize("seed", range(4))
def test_a_made_up_county_is_whole(seed):
    """Wards neither overlap nor leave gaps; names are distinct; four boroughs in one piece each."""
    county = Areas.synthetic(60, rng=seed)
    assert county.items == tuple(str(k) for k in range(1, 61))
    assert len(set(county.names)) == 60
    shapes = county.geometry
    assert shapes.is_valid.all()
    whole = shapely.union_all(shapes.to_numpy())
    assert whole.geom_type == "Polygon"
    assert not whole.interiors
    assert shapes.area.sum() == pytest.approx(whole.area, rel=1e-9)
    boroughs = county.frame().dissolve("group")
    assert len(boroughs) == 4
    assert set(boroughs.geom_type) == {"Polygon"}


def test_a_corner_that_touches_the_outline_is_no_part_of_a_made_up_ward(tmp_path):
    """Where it left a line of no width, the map could not be read back."""
    county = Areas.synthetic(50, rng=11)
    county.to_gpkg(tmp_path / "county.gpkg")
    assert Areas.read(tmp_path / "county.gpkg").items == county.items


def test_the_same_seed_makes_the_same_county():
    one, two, other = (Areas.synthetic(20, rng=seed) for seed in (7, 7, 8))
    assert one.geometry.to_wkb().tolist() == two.geometry.to_wkb().tolist()
    assert (one.names, one.groups) == (two.names, two.groups)
    assert one.names != other.names
    assert one.geometry.to_wkb().tolist() != other.geometry.to_wkb().tolist()


def test_a_county_of_two_wards_is_refused():
    with pytest.raises(InputError, match="4 wards or more"):
        Areas.synthetic(2, rng=1)


def test_importing_areas_and_graph_loads_no_map_library():
    code = (
        "import sys, tiewise.geo.areas, tiewise.geo.graph, tiewise.workflows.datasets; "
        "print([m for m in ('geopandas', 'shapely', 'rdata') if m in sys.modules])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "[]"


@needs_studies
def test_three_polygons_of_dar_es_salaam_are_repaired():
    """The three that GEOS calls invalid; and 43 subwards repeat another's name."""
    path = STUDIES / "dar-es-salaam-subwards.gpkg"
    areas = Areas.read(path, name="subwardName")
    raw = geopandas.read_file(path)
    assert areas.repaired == tuple(raw["id"][~raw.is_valid].astype(str)) == ("226", "324", "402")
    assert areas.label("226") == "'226' (Gerezani Magharibi)"
    assert len(areas) == 452
    assert len(areas.names) - len(set(areas.names)) == 43
