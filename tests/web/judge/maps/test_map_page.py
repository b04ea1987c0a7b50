"""Names, layers and the crowded centre on judges' maps; the page of the map, without scripts."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from xml.etree import ElementTree

import geopandas
import pytest
import shapely

from support.form_browser import Visitor
from support.map_layers import made_up_layers
from support.site import edited
from tiewise.errors import InputError
from tiewise.geo.areas import Areas
from tiewise.study.checks.check import check_study, map_summary
from tiewise.study.create import create_study
from tiewise.study.study import Study
from tiewise.web.app import make_app
from tiewise.web.judge.maps.pictures import LARGEST_DETAIL
from tiewise.web.judge.maps.study_maps import StudyMaps

KEY = "m" * 40
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def county(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("county")
    Areas.synthetic(24, rng=7).to_gpkg(place / "wards.gpkg")
    study = create_study(
        place / "s", question="Which?", areas=place / "wards.gpkg",
        layers=made_up_layers(place / "layers.gpkg"),
    )  # fmt: skip
    return edited(study, {'languages = ["en"]': 'languages = ["en", "ar"]'})


@pytest.fixture(scope="module")
def app(county):
    return make_app(county, county.store(), secret=KEY)


def texts(page: str) -> list[str]:
    """What labels of a page say, line by line."""
    return re.findall(r"<text class=\"l\d+ \w+\"[^>]*>([^<]+)", page)


def test_maps_have_the_names_of_neighbours_and_towns_in_the_language_of_the_judge(app, county):
    judge = Visitor(app).join()
    names = {item.name for item in county.items.values()}
    shown = set(texts(judge.get("/pair").text))
    assert {"Oakmere", "Tamton"} & shown
    assert any(name.split()[0] in {text.split()[0] for text in shown} for name in names)
    judge.get("/pair?language=ar")
    assert {"أوكمير", "تامتون"} & set(texts(judge.get("/pair").text))


def test_names_with_marks_are_text_on_every_map(tmp_path):
    """What is drawn of an area is kept as markup: its name must not become any."""
    areas = Areas.synthetic(4, rng=1)
    names = tuple(f"<b>{k}</b> & co" for k in range(4))
    replace(areas, names=names).to_gpkg(tmp_path / "wards.gpkg")
    study = create_study(tmp_path / "s", question="Which?", areas=tmp_path / "wards.gpkg")
    judge = Visitor(make_app(study, study.store(), secret=KEY)).join()
    for _ in range(3):
        page = judge.get("/pair").text
        assert "&lt;b&gt;" in page[page.index('<g class="labels"') :]
        assert "<b>" not in page.replace('<b class="name', "").replace("<b>Map", "")
        judge.judge("tie")


def test_labels_are_text_that_screen_readers_skip_and_the_map_keeps_its_description(app):
    page = Visitor(app).join().answer.text
    maps = re.findall(r"<svg class=\"(?:area|county)\".*?</svg>", page, re.DOTALL)
    assert len(maps) == 3
    for one in maps:
        assert 'role="img" aria-label="Map of ' in one
        assert '<g class="labels" aria-hidden="true">' in one


def test_every_map_leads_to_a_larger_one_and_back(app):
    judge = Visitor(app).join()
    links = [tag["href"] for _, tag in judge.page.tags if "data-map" in tag]
    assert links == ["/map?show=left", "/map?show=right", "/map"]
    for link in links:
        judge.get(link)
        assert judge.answer.status_code == 200
        assert "/pair" in [tag.get("href") for _, tag in judge.page.tags]


@pytest.mark.parametrize("show", ["nowhere", "", "left'--", "%00"])
def test_a_side_that_is_none_is_the_whole_map(app, show):
    judge = Visitor(app).join()
    assert 'data-shown="all"' in judge.get(f"/map?show={show}").text


def test_without_an_open_pair_there_is_no_map_of_it(app, county):
    judge = Visitor(app).join()
    store = county.store()
    (open_,) = [j for j in [store.judge(_secret(app, judge))] if j]
    store.set_aside(open_)
    judge.get("/map")
    assert judge.path == "/pair"
    assert Visitor(app).get("/map").url.path == "/"


def _secret(app, judge: Visitor) -> str:
    (value,) = [cookie.value for cookie in judge.client.cookies.jar]
    return app.state.site.cookies._signer.loads(value)["s"]


def test_the_picture_to_enlarge_has_every_area_and_name_and_is_kept_by_the_browser(app, county):
    judge = Visitor(app).join()
    href = re.search(r'data-atlas="([^"]+)"', judge.get("/map").text)[1].replace("&amp;", "&")
    answer = judge.client.get(href)
    assert answer.headers["cache-control"].startswith("private, max-age=31536000")
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert len(gzip.compress(answer.content)) <= LARGEST_DETAIL
    root = ElementTree.fromstring(answer.content)
    areas = root.findall(f".//{SVG}g[@class='areas']/{SVG}path")
    assert [one.attrib["id"] for one in areas] == [f"a{k}" for k in range(len(county.items))]
    written = {" ".join(one.itertext()) for one in root.iter(f"{SVG}text")}
    assert {item.name for item in county.items.values()} <= written
    for strange in ("part=nothing", "part=detail&language=xx", "part=centre"):
        assert judge.client.get(f"/map.svg?{strange}").status_code == 404


@pytest.mark.parametrize(
    ("swaps", "gone", "stays"),
    [
        ({'labels = "all"': 'labels = "places"'}, "area", "place"),
        ({'labels = "all"': 'labels = "none"'}, "place", ""),
        ({'"road", "landmark", "place"]': '"road", "landmark"]'}, "place", "area"),
    ],
)
def test_settings_say_what_is_on_the_map(county, tmp_path, swaps, gone, stays):
    text = (county.folder / "study.toml").read_text(encoding="utf-8")
    try:
        maps = StudyMaps.from_study(edited(county, swaps))
    finally:
        (county.folder / "study.toml").write_text(text, encoding="utf-8")
    first, second, *_ = county.items
    kinds = {one.kind for one in maps.pair_overview(first, second).labels("en")}
    kinds |= {one.kind for item in county.items for one in maps.shown(item).labels("en")}
    assert gone not in kinds
    assert not stays or stays in kinds


def test_water_and_roads_are_drawn_where_they_run(county):
    maps = StudyMaps.from_study(county)
    drawn = [maps.enlarged(item) for item in county.items]
    assert any(one.roads for one in drawn)
    assert any(one.rivers for one in drawn)
    assert any(one.lakes for one in drawn)
    assert not all(one.lakes for one in drawn)
    assert maps.overview.body.count(b"<path") == 6


def test_check_says_what_maps_are_drawn_from(county):
    assert check_study(county.folder) == []
    assert map_summary(county.folder) == (
        "24 areas; layers.gpkg has 3 water, 5 road, 6 landmark, 4 place."
    )


def test_check_refuses_layers_that_cannot_be_read(county):
    path = county.folder / "layers.gpkg"
    before = path.read_bytes()
    path.write_text("no layers", encoding="utf-8")
    (fault,) = check_study(county.folder)
    path.write_bytes(before)
    assert "cannot be read as layers" in fault


def test_layers_need_a_map(tmp_path):
    (tmp_path / "items.csv").write_text("name\na\nb\n", encoding="utf-8")
    with pytest.raises(InputError, match="layers= are drawn on a map"):
        create_study(
            tmp_path / "s", question="?", items=tmp_path / "items.csv", layers=tmp_path / "l.gpkg"
        )


# A crowded centre.


def with_town(tmp_path, *, room: bool) -> StudyMaps:
    """A county of fields around a town of 36 small parts; with `room`, one corner is sea."""
    fields = {
        f"field {x} {y}": shapely.box(x, y, x + 100, y + 100)
        for x in range(0, 1000, 100) for y in range(0, 1000, 100)
        if (x, y) != (400, 400) and not (room and x >= 500 and y >= 500)
    }  # fmt: skip
    town = {
        f"town {x} {y}": shapely.box(x, y, x + 20, y + 20)
        for x in range(400, 500, 20) for y in range(400, 500, 20)
    }  # fmt: skip
    shapes = fields | town
    frame = geopandas.GeoDataFrame(
        {"id": list(shapes), "name": list(shapes)}, geometry=list(shapes.values()), crs="EPSG:27700"
    )
    frame.to_file(tmp_path / "m.gpkg")
    study = create_study(tmp_path / "s", question="?", areas=tmp_path / "m.gpkg")
    maps = StudyMaps.from_study(study)
    assert maps is not None
    return maps


@pytest.mark.parametrize("room", [True, False])
def test_a_crowded_centre_is_shown_enlarged_where_it_covers_no_land(tmp_path, room):
    maps = with_town(tmp_path, room=room)
    view = maps.pair_overview("town 440 440", "field 0 0")
    inset = view.inset
    square = shapely.box(inset.x, inset.y, inset.x + inset.side, inset.y + inset.side)
    assert not shapely.intersects(maps.shapes, square).any()
    left, top, width, height = view.frame
    assert shapely.box(left, top, left + width, top + height).contains(square)
    assert view.stretched is not room
    one, other = inset.markers
    assert other is None
    assert square.contains(shapely.Point(one.x, one.y))
    assert inset.side / inset.window[2] > 1.8
    for label in view.labels("en"):
        assert not square.contains(shapely.Point(label.x, label.y))


def test_the_inset_is_left_out_where_neither_is_in_it_or_the_study_says_so(tmp_path):
    maps = with_town(tmp_path, room=True)
    assert maps.pair_overview("field 0 0", "field 900 0").inset is None
    study = edited(Study.open(tmp_path / "s"), {"inset = true": "inset = false"})
    assert StudyMaps.from_study(study).centre is None
