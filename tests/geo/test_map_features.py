"""Layers of a map: what is known of a file, put on the map, and light; bad files in one line."""

from __future__ import annotations

import gzip

import geopandas
import numpy as np
import pytest
import shapely

from support.map_layers import LANDMARKS, TOWNS, made_up_layers
from tiewise.errors import InputError, InputWarning
from tiewise.geo.areas import Areas
from tiewise.geo.map_features import LARGEST_LAYERS, MapFeatures
from tiewise.geo.svg_paths import line_path


@pytest.fixture(scope="module")
def county() -> Areas:
    return Areas.synthetic(12, rng=7)


def written(path, shapes, columns=None, *, crs="EPSG:27700", layer="roads"):
    frame = geopandas.GeoDataFrame(columns or {"x": range(len(shapes))}, geometry=shapes, crs=crs)
    frame.to_file(path, layer=layer, driver="GPKG")
    return path


def test_layers_are_known_by_their_names_and_put_into_the_coordinates_of_the_map(tmp_path, county):
    """They come in degrees, and the county is in metres."""
    features = MapFeatures.read(made_up_layers(tmp_path / "l.gpkg"), county)
    assert features.counts() == {"water": 3, "road": 5, "landmark": 6, "place": 4}
    assert shapely.covers(
        shapely.box(*county.geometry.total_bounds).buffer(9000), features.shapes
    ).all()
    named = zip(features.kinds, features.names, strict=True)
    assert [names for kind, names in named if kind == "place"] == [
        {"": name, "ar": arabic} for name, arabic, *_ in TOWNS
    ]
    assert len(features.of("landmark")) == len(LANDMARKS)


def test_what_is_kept_is_read_back_as_it_is(tmp_path, county):
    first = MapFeatures.read(made_up_layers(tmp_path / "l.gpkg"), county)
    first.to_gpkg(tmp_path / "again.gpkg", county.geometry.crs)
    again = MapFeatures.read(tmp_path / "again.gpkg", county)
    assert (again.kinds, again.names) == (first.kinds, first.names)
    assert (shapely.hausdorff_distance(again.shapes, first.shapes) < 6).all()


def test_a_column_says_what_each_row_is_and_the_rest_is_named(tmp_path, county):
    middle = county.geometry.iloc[0].centroid
    path = written(
        tmp_path / "l.gpkg", [middle, middle, middle.buffer(90)], layer="anything",
        columns={"Kind": ["Places", "bench", "LANDMARK"], "Name": ["Ash", "b", "Mill"]},
    )  # fmt: skip
    with pytest.warns(InputWarning, match="not used: kind 'bench'; there are water, road"):
        features = MapFeatures.read(path, county)
    assert sorted(zip(features.kinds, (one[""] for one in features.names), strict=True)) == [
        ("landmark", "Mill"), ("place", "Ash"),
    ]  # fmt: skip
    assert set(shapely.get_type_id(features.shapes)) == {0}


def test_the_rank_says_which_is_more_important(tmp_path, county):
    middle = county.geometry.iloc[0].centroid
    columns = {"name": list("abc"), "rank": ["3", None, "1"]}
    path = written(tmp_path / "l.gpkg", [middle] * 3, columns, layer="place")
    assert [one[""] for one in MapFeatures.read(path, county).names] == ["c", "a", "b"]


@pytest.mark.slow
def test_very_many_roads_are_simplified_and_the_short_ones_left_out_within_the_budget(
    tmp_path, county
):
    rng = np.random.default_rng(2)
    west, south, east, north = county.geometry.total_bounds
    starts = rng.uniform([west, south], [east, north], (6000, 2))
    lengths = rng.uniform(5, 60, 6000)
    steps = rng.normal(0, lengths[:, None, None], (6000, 40, 2)).cumsum(axis=1)
    roads = [shapely.LineString(at + step) for at, step in zip(starts, steps, strict=True)]
    features = MapFeatures.read(written(tmp_path / "l.gpkg", roads), county)
    assert 0 < features.left_out < 6000
    assert len(features) == 6000 - features.left_out
    extent = max(east - west, north - south)
    scaled = features.projected((west, north), (5000 / extent, -5000 / extent))
    assert len(gzip.compress(line_path(scaled.shapes).encode())) <= LARGEST_LAYERS


def no_file(path, county):
    return path / "none.gpkg"


def a_folder(path, county):
    return path


def a_text(path, county):
    (path / "l.gpkg").write_text("roads", encoding="utf-8")
    return path / "l.gpkg"


def unknown_layers(path, county):
    return written(path / "l.gpkg", [county.geometry.iloc[0].centroid], layer="buildings")


def no_coordinates(path, county):
    return written(path / "l.gpkg", [county.geometry.iloc[0].centroid], crs=None)


def elsewhere(path, county):
    return written(path / "l.gpkg", [shapely.Point(39.2, -6.8)], crs="EPSG:4326", layer="place")


def empty(path, county):
    return written(path / "l.gpkg", [])


@pytest.mark.filterwarnings("ignore:'crs' was not provided")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (no_file, "there is no such file; give a GeoPackage"),
        (a_folder, "this is a folder; give a GeoPackage"),
        (a_text, "cannot be read as layers"),
        (unknown_layers, "no layer that is known, only buildings; call layers water, road"),
        (no_coordinates, "does not say which coordinates it has"),
        (elsewhere, "none of its 1 features is on the map of the areas"),
        (empty, "no layer that is known"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(tmp_path, county, make, message):
    with pytest.raises(InputError, match=message) as error:
        MapFeatures.read(make(tmp_path, county), county)
    assert "\n" not in str(error.value)
