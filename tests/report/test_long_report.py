"""The report on very many items: both ends of the list, a search among all, a map as pixels."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from dataclasses import replace

import geopandas
import numpy as np
import pytest
import shapely
from playwright.sync_api import expect

from support.browser import is_wide, violations
from tiewise.data.counts import Counts
from tiewise.engines.base import Draws
from tiewise.engines.stored_draws import MANY_ITEMS
from tiewise.engines.transport import Transport
from tiewise.geo.areas import Areas
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.plots.large.area_pixels import area_pixels
from tiewise.plots.maps import quality_map
from tiewise.posterior import fit as fitting
from tiewise.posterior.results_folder import Wording
from tiewise.report.html import rendered, write_report
from tiewise.report.item_rows import item_table
from tiewise.report.sections.area_map import map_section
from tiewise.report.sections.long_list import long_list_section, searchable
from tiewise.report.sections.ranked_list import list_section
from tiewise.workflows.write_results import write_results

ROWS, COLUMNS = 43, 50
ITEMS = ROWS * COLUMNS
GROUPS = ("north", "south")


@pytest.fixture(scope="module")
def land() -> Areas:
    """A grid of squares, in two groups, some of them called like tags, one like a group."""
    places = [(k % COLUMNS, k // COLUMNS) for k in range(ITEMS)]
    frame = geopandas.GeoDataFrame(
        {
            "id": [f"w{k:04}" for k in range(ITEMS)],
            "name": [
                "North" if k == 5 else f"Wärd {k:04}{' </script>' * (k % 7 == 0)}"
                for k in range(ITEMS)
            ],
            "group": [GROUPS[y < ROWS // 2] for _, y in places],
        },
        geometry=[shapely.box(x, y, x + 1, y + 1) for x, y in places],
        crs="EPSG:27700",
    )
    return Areas.read(frame)


@pytest.fixture(scope="module")
def results(land, tmp_path_factory):
    """Results of a fit whose draws are made up."""
    rng = np.random.default_rng(4)
    first = rng.integers(0, ITEMS - 1, 4 * ITEMS)
    second = (first + rng.integers(1, ITEMS - 2, len(first))) % (ITEMS - 1)  # the last in none
    answers = rng.multinomial(1, [0.4, 0.4, 0.2], len(first)).T
    model = BradleyTerry(Counts.of(land.items, first, second, *answers))
    centre = rng.normal(size=ITEMS)
    quality = centre + 0.4 * rng.normal(size=(8, 20, ITEMS))
    scales = [1 + 0.1 * rng.normal(size=(8, 20)) for _ in range(2)]
    draws = Draws(quality, *scales, superchains=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "run_engine", lambda *_: (Transport(), draws))
        names = dict(zip(land.items, land.names, strict=True))
        tree = fitting.fit(model, rng=1, names=names)
    wording = replace(Wording(), groups=True, noun="ward")
    folder = tmp_path_factory.mktemp("long") / "results"
    return write_results(tree, folder, wording=wording, areas=land)


def stored(results) -> dict:
    """The data that the page searches."""
    fragment = long_list_section(results).blocks[0]
    return json.loads(fragment.values["data"])


def numbers(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(b64decode(text), kind)


@pytest.mark.slow
def test_the_list_has_both_ends(results):
    fragment = list_section(results).blocks[0]
    assert fragment.name == "long_list"
    items = list(results.items["item"])
    assert [row["item"] for row in fragment.values["highest"]] == items[:100]
    assert [row["item"] for row in fragment.values["lowest"]] == items[-100:]
    assert fragment.values["between"] == ITEMS - 200


@pytest.mark.slow
def test_what_is_searched_are_the_numbers_of_the_table(results):
    data, table = stored(results), results.items
    assert data["names"] == list(table["name"])
    assert data["ids"] == list(table["item"])
    for key, column in (("mean", "mean"), ("low", "q2.5"), ("high", "q97.5"), ("sd", "sd")):
        assert np.abs(numbers(data[key], "<i2") / 1000 - table[column]).max() <= 0.0005001
    assert (numbers(data["first"], "<u4") == table["rank_q2.5"]).all()
    assert (numbers(data["last"], "<u4") == table["rank_q97.5"]).all()
    assert (numbers(data["compared"], "<u4") == table["comparisons"]).all()
    assert set(data["groups"]) == set(GROUPS)
    areas = results.areas
    known = dict(zip(areas.items, areas.groups, strict=True))
    shown = [data["groups"][k] for k in numbers(data["group"], "<u4")]
    assert shown == [known[item] for item in table["item"]]


@pytest.mark.slow
def test_the_page_is_small_and_holds_its_data_whole(results):
    page = rendered(results, {})
    inside = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert json.loads(inside[1]) == stored(results)
    assert len(page) < 100 * ITEMS + 500_000


@pytest.mark.slow
def test_a_map_of_very_many_areas_is_pixels(results, land):
    assert ITEMS > MANY_ITEMS
    names = [name for block in map_section(results).blocks for name in getattr(block, "names", ())]
    assert names == ["map", "map-top", "map-faded"]
    pixels = area_pixels(land, 100.0, 1.5)
    # Every square is where it was: y grows upwards on the map and downwards in the picture.
    step = pixels.area.shape[1] / COLUMNS
    for x, y in ((0, 0), (COLUMNS - 1, 0), (7, 30), (COLUMNS - 1, ROWS - 1)):
        row, column = (ROWS - y - 0.5) * step, (x + 0.5) * step
        assert pixels.area[int(row), int(column)] == y * COLUMNS + x
    rows = np.flatnonzero(pixels.border.any(axis=1))
    assert 0 < len(rows) <= 3
    assert len(quality_map(results).axes[0].images) == 1


def test_pixels_have_the_colours_of_their_areas(land):
    pixels = area_pixels(land, 100.0, 1.5)._replace(border=np.zeros((1, 1), bool))
    faces = np.zeros((ITEMS, 3), np.uint8)
    faces[:, 0] = np.arange(ITEMS) % 251
    none = np.zeros(ITEMS, bool)
    image = pixels.image(faces, none, none, faces)
    assert (image[..., 0] == pixels.area % 251).all()
    hatched = none.copy()
    hatched[0] = True
    ink = np.full((ITEMS, 3), 255, np.uint8)
    lines = pixels.image(faces, hatched, none, ink)
    inside = (lines == 255).all(axis=2) & (image[..., 1] == 0)
    assert set(pixels.area[inside]) == {0}
    assert 0.2 < inside[pixels.area == 0].mean() < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 1200])
def test_any_item_can_be_searched_for(results, browser, width):
    if not (results.folder / "report.html").exists():
        write_report(results)
    page = browser.new_page(viewport={"width": width, "height": 800})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((results.folder / "report.html").as_uri())
    shown = page.locator("#items tbody tr:visible")
    assert shown.count() == 201
    table = results.items
    middle = table.iloc[ITEMS // 2]
    page.fill("#search", f"warD {middle['item'][1:]}")
    expect(page.locator("#count")).to_have_text(f"1 of {ITEMS:,} wards")
    assert shown.count() == 1
    cells = shown.first.locator("th, td").all_inner_texts()
    assert cells[0].startswith(middle["name"])
    assert cells[4].split()[:3] == [f"{ITEMS // 2 + 1:,}", "could", "be"]
    assert cells[-1] == f"{middle['comparisons']}"
    page.fill("#search", f"w{ITEMS - 1:04}")
    expect(shown.first).to_contain_text("not compared")
    page.fill("#search", "north")
    expect(page.locator("#count")).to_contain_text(", 100 of them here")
    expect(shown.first).to_contain_text("North")
    page.fill("#search", "")
    assert shown.count() == 201
    assert not is_wide(page)
    assert violations(page) == []
    assert complaints == []
    page.close()


def test_scores_of_another_scale_can_be_searched(make_results):
    """In full, because an Elo rating does not fit the numbers of logits."""
    rating = np.array([1800.25, 1500.0, 1200.5])
    columns = {"score": rating, "score_sd": 20.0, "score_q2.5": rating - 40, "score_q97.5": rating}
    results = make_results([0.9, 0.5, 0.1], wording=Wording(scale="elo"), scale="elo", **columns)
    data = json.loads(searchable(results, item_table(results)))
    assert data["digits"] == 0
    assert data["average"] == 1500
    assert data["reach"] == 339.5  # of the bars: the lowest end of an interval
    sent = {name: np.frombuffer(b64decode(own), "<f4") for name, own in data["scores"].items()}
    np.testing.assert_array_equal(sent["mean"], rating)
    np.testing.assert_array_equal(sent["low"], rating - 40)
    np.testing.assert_array_equal(sent["high"], rating)
    plain = make_results([0.9, 0.5, 0.1])
    assert "scores" not in json.loads(searchable(plain, item_table(plain)))


def test_bars_are_on_the_scale_that_is_shown(make_results):
    """The average is in the middle of the line; the furthest end of an interval reaches its end."""
    score = np.array([90.0, 50.0, 30.0])
    columns = {"score": score, "score_sd": 5.0, "score_q2.5": score - 10, "score_q97.5": score + 10}
    results = make_results(
        [3.0, 0.0, -0.5], wording=Wording(scale="0-100"), scale="0-100", **columns
    )
    table = item_table(results)
    assert table["middle"].tolist() == [108.0, 60.0, 36.0]
    assert table["left"].tolist() == [96.0, 48.0, 24.0]
    assert table["length"].tolist() == [24.0, 24.0, 24.0]
