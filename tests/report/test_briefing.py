"""The briefing: two pages whatever the study, readable by eye and by ear, and no more than true."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pypdfium2
import pytest
from click.testing import CliRunner, Result
from pypdf import PdfReader
from shapely import box

from support.everyday import everyday
from support.handmade_results import GOOD, RISK, results_of, table_of
from tiewise.cli.main import main
from tiewise.criticism.verdict_parts import VerdictPart
from tiewise.engines.laplace import Laplace
from tiewise.engines.transport import Transport
from tiewise.errors import InputError, InputWarning
from tiewise.geo.areas import Areas
from tiewise.geo.item_context import ItemContext
from tiewise.posterior.results_folder import Results, read_results
from tiewise.report.answer import top_items
from tiewise.report.briefing import MOST_CONTACTS, write_briefing, write_template
from tiewise.report.briefing_map import (
    APART,
    CLEAR,
    numbered_map,
    ring_positions,
    separated_positions,
)
from tiewise.report.briefing_values import LOWER, UPPER, template_values
from tiewise.text import probability_percent, probability_scale_rows, probability_words, rank_range
from tiewise.workflows.analyse import analyse
from tiewise.workflows.simulate import write_simulated_study

A4 = (595.28, 841.89)
MARGIN = 35  # points beside which no letter stands: numbers may be a little beside the map
LONG = "The parish of Saint Bartholomew-without-the-Walls and all that belongs to it, "


@pytest.fixture(scope="module")
def county(tmp_path_factory) -> Results:
    """A made-up county of twelve wards, fitted exactly."""
    study = tmp_path_factory.mktemp("study") / "county"
    write_simulated_study(study, county=12, comparisons=400, judges=6, rng=5)
    out = study.parent / "results"
    analyse(
        str(study / "comparisons.csv"), out,
        context=ItemContext.read(areas=study / "areas.gpkg"),
        engine=Transport(), rng=1, wording=replace(RISK, top=3), report=False,
    )  # fmt: skip
    return read_results(out)


@pytest.fixture(scope="module")
def pdf(county, tmp_path_factory) -> Path:
    """Its briefing."""
    return write_briefing(
        county, title="Risk in the county", organisation="Public Health",
        contacts=["Dr A. Okafor, ada@county.example", "01632 960 001"],
        out=tmp_path_factory.mktemp("pdf") / "county.pdf",
    )  # fmt: skip


def squares(count: int, across: int = 10) -> Areas:
    """Squares in rows, a kilometre each."""
    corners = [(1000 * (k % across), 1000 * (k // across)) for k in range(count)]
    shapes = [box(x, y, x + 1000, y + 1000) for x, y in corners]
    ids = {"id": [f"i{k + 1}" for k in range(count)]}
    return Areas.read(geopandas.GeoDataFrame(ids, geometry=shapes, crs="EPSG:27700"))


def words(path: Path, *pages: int) -> str:
    """The text of the PDF with every space a plain one."""
    reader = PdfReader(path)
    text = " ".join(reader.pages[k].extract_text() for k in pages or range(len(reader.pages)))
    return " ".join(text.split())


def rows_of(results: Results) -> dict[str, dict[str, str]]:
    """The rows of items.csv as they are written, by id."""
    with (results.folder / "items.csv").open(encoding="utf-8", newline="") as file:
        return {row["item"]: row for row in csv.DictReader(file)}


def written(results: Results, tmp_path: Path, **options: Any) -> Path:
    return write_briefing(results, out=tmp_path / "out.pdf", force=True, **options)


def elements(path: Path) -> Iterator[Any]:
    """Every element of the structure that a screen reader walks along, in its order."""

    def walk(node: Any) -> Iterator[Any]:
        node = node.get_object() if hasattr(node, "get_object") else node
        if isinstance(node, list):
            for child in node:
                yield from walk(child)
        elif hasattr(node, "get"):
            if "/S" in node:
                yield node
            if "/K" in node:
                yield from walk(node["/K"])

    yield from walk(PdfReader(path).trailer["/Root"]["/StructTreeRoot"])


# What anybody sees.


def test_it_is_two_pages_of_a4(pdf):
    pages = PdfReader(pdf).pages
    assert len(pages) == 2
    assert all(
        np.allclose([float(end) for end in page.mediabox[2:]], A4, atol=0.1) for page in pages
    )


@pytest.mark.parametrize("scale", ["logit", "elo", "0-100"])
def test_names_have_a_column_of_their_own(county, tmp_path, scale):
    """On a scale with a column of its own, too: nothing is printed over a name."""
    page = pypdfium2.PdfDocument(written(county, tmp_path, scale=scale))[1]
    text = page.get_textpage()

    def across(what: str) -> tuple[float, float]:
        start, count = text.search(what, match_case=True).get_next()
        boxes = [text.get_charbox(k) for k in range(start, start + count)]
        return min(box[0] for box in boxes), max(box[2] for box in boxes)

    beside = across("Chance")[0]
    for row in template_values(county)[0]["rows"]:
        assert across(row["name"].split()[0])[1] < beside


def test_both_pages_have_ink_and_white(pdf):
    with pypdfium2.PdfDocument(pdf) as document:
        for page in document:
            grey = page.render(scale=1).to_pil().convert("L")
            dark = (np.asarray(grey) < 128).mean()
            assert 0.01 < dark < 0.4


def test_the_map_has_colours_above_and_below_the_average(pdf):
    """Rendered: some of the first page is redder than blue, and some the other way round."""
    with pypdfium2.PdfDocument(pdf) as document:
        red, _, blue = np.moveaxis(
            np.asarray(document[0].render(scale=1).to_pil().convert("RGB"), float), -1, 0
        )
    assert (red - blue > 60).mean() > 0.01
    assert (blue - red > 60).mean() > 0.01


def test_the_first_page_answers_the_question(pdf, county):
    text = words(pdf, 0)
    for phrase in ("Risk in the county", "Public Health", county.wording.question, "higher risk"):
        assert phrase in text
    top = top_items(county).iloc[0]
    assert top["name"] in text


def test_the_numbers_are_those_of_the_table(pdf, county):
    text, table = words(pdf, 1), rows_of(county)
    for item in top_items(county)["item"]:
        row = table[item]
        probability = float(row["top_k_probability"])
        line = (
            f"{row['name']} {probability_percent(probability)} {probability_words(probability)} "
            f"{rank_range(float(row['rank_q2.5']), float(row['rank_q97.5']))} {row['comparisons']}"
        )
        assert line in text


def test_it_says_what_was_done_and_what_it_does_not_say(pdf, county):
    text, facts = words(pdf, 1), county.facts
    assert f"{facts['comparisons']} answers about 12 wards, {facts['ties']} of them" in text
    for phrase in ("6 judges", "These are opinions", "They are relative", "They are uncertain"):
        assert phrase in text


def test_the_scale_is_printed_with_its_numbers(pdf):
    text = words(pdf, 1)
    for phrase in ("almost certain", "95 % or more", "80 to 94 %", "almost ruled out", "below 5 %"):
        assert phrase in text


def test_contacts_and_how_to_repeat_it_are_at_the_end(pdf, county):
    text, facts = words(pdf, 1), county.facts
    assert "ada@county.example" in text
    assert "01632 960 001" in text
    assert f"Tiewise {facts['version']}" in text
    assert f"seed {facts['seed']}" in text
    assert facts["digest"][:16] in text


def test_a_sound_fit_has_no_warning(pdf):
    assert not re.search("Preliminary|Do not use", words(pdf))


# What a screen reader hears.


def test_it_is_tagged_titled_and_in_a_language(pdf):
    reader = PdfReader(pdf)
    root = reader.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"].value is True
    assert root["/Lang"] == "en-GB"
    assert root["/ViewerPreferences"]["/DisplayDocTitle"].value is True
    assert reader.metadata.title == "Risk in the county"
    assert reader.metadata.author == "Public Health"


def test_it_declares_itself_accessible(pdf):
    """Typst writes the mark of PDF/UA-1 only on a file that it has checked."""
    about = PdfReader(pdf).trailer["/Root"]["/Metadata"].get_object().get_data().decode()
    assert "<pdfuaid:part>1</pdfuaid:part>" in about


def test_headings_lists_and_tables_are_what_they_look_like(pdf):
    kinds = [str(element["/S"]) for element in elements(pdf)]
    assert kinds.count("/Title") == 1
    assert kinds.count("/H1") == 6
    assert kinds.count("/Table") == 2
    assert kinds.count("/TH") == 6 + 7
    assert kinds.index("/Title") < kinds.index("/Figure") < kinds.index("/Table")


def test_the_map_is_described_in_words(pdf, county):
    (figure,) = [element for element in elements(pdf) if element["/S"] == "/Figure"]
    assert figure["/Alt"].startswith("Map of 12 wards. Highest: ")
    assert county.items["name"].iloc[0] in figure["/Alt"]
    assert county.items["name"].iloc[-1] in figure["/Alt"]


def test_every_font_is_embedded(pdf):
    fonts = [
        font.get_object() for page in PdfReader(pdf).pages
        for font in page["/Resources"]["/Font"].values()
    ]  # fmt: skip
    assert fonts
    for font in fonts:
        inner = font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font
        assert {"/FontFile2", "/FontFile3"} & set(inner["/FontDescriptor"].get_object())


def test_an_address_can_be_clicked(pdf):
    links = [
        annotation.get_object()["/A"]["/URI"]
        for annotation in PdfReader(pdf).pages[1].get("/Annots", [])
    ]
    assert links == ["mailto:ada@county.example"]


# The same twice over.


def test_the_same_results_give_the_same_bytes(county, pdf, tmp_path):
    again = write_briefing(
        read_results(county.folder), title="Risk in the county", organisation="Public Health",
        contacts=["Dr A. Okafor, ada@county.example", "01632 960 001"], out=tmp_path / "again.pdf",
    )  # fmt: skip
    assert again.read_bytes() == pdf.read_bytes()


def test_it_carries_no_date(pdf):
    assert not any("Date" in key for key in PdfReader(pdf).metadata)


# Whatever the study.

STUDIES: dict[str, dict[str, Any]] = {
    "long names on a map": {
        "chances": [0.5] * 10 + [0.0] * 20, "areas": 30, "name": (LONG * 3)[:200],
        "comparisons": [0] * 9 + [9] * 21,
    },
    "long names without a map": {
        "chances": [0.9] * 8 + [0.0] * 30, "name": (LONG * 3)[:200], "kind": "point",
        "pairs": [(0, 1), (2, 3)], "comparisons": [0] * 9 + [9] * 29,
    },
    "everybody stands out": {"chances": [0.99] * 30 + [0.0], "areas": 31, "top": 30},
    "one area": {"chances": [1.0], "areas": 1, "pairs": [], "top": 1},
    "two items": {"chances": [0.7, 0.3], "top": 1},
    "two areas": {"chances": [0.7, 0.3], "areas": 2, "top": 1},
    "2,000 areas": {"chances": [0.3] * 10 + [0.001] * 1990, "areas": 2000, "across": 50},
    "2,000 items": {"chances": [0.3] * 10 + [0.001] * 1990},
    "a map as thin as a coast": {"chances": [0.5] * 10 + [0.0] * 90, "areas": 100, "across": 100},
    "a map as tall as a river": {"chances": [0.5] * 10 + [0.0] * 90, "areas": 100, "across": 1},
    "nobody compared": {"chances": [0.4] * 12, "areas": 12, "comparisons": 0},
}  # fmt: skip


def study_of(folder: Path, study: dict[str, Any]) -> Results:
    values = dict(study)
    size, name = len(values["chances"]), values.pop("name", "Place")
    columns = {"name": [f"{k} {name}"[:200] for k in range(1, size + 1)]}
    columns |= {"comparisons": values.pop("comparisons", 9)}
    land = squares(values.pop("areas"), values.pop("across", 10)) if "areas" in values else None
    wording = replace(RISK, top=values.pop("top", 5))
    return results_of(
        folder, table_of(values.pop("chances"), **columns), wording=wording, areas=land, **values
    )


@pytest.mark.parametrize("wordy", everyday([False, True], True), ids=["short", "wordy"])
@pytest.mark.parametrize("name", everyday(STUDIES, "long names on a map", "two items"))
def test_it_is_two_pages_with_everything_on_them(name, wordy, tmp_path):
    """No letter is in the margin, beyond the page, or on top of another."""
    results = study_of(tmp_path / "results", STUDIES[name])
    options = {
        "title": LONG * 5, "question": LONG * 9, "organisation": LONG * 3,
        "contacts": [LONG * 3] * MOST_CONTACTS, "higher": f"higher {LONG}", "lower": LONG,
        "noun": "municipality/municipalities",
    }  # fmt: skip
    path = written(results, tmp_path, **(options if wordy else {}))
    with pypdfium2.PdfDocument(path) as document:
        assert len(document) == 2
        for page in document:
            letters = letters_of(page)
            assert len(letters) > 200
            low, high = letters[:, :2].min(axis=0), letters[:, 2:].max(axis=0)
            assert (low > [MARGIN, 25]).all()
            assert (high < np.array(A4) - 40).all()
            assert overlaps(letters) == 0
    assert "fingerprint of the answers" in words(path, 1)
    assert "independent ones" in words(path, 1)


def letters_of(page: Any) -> np.ndarray:
    """Left, bottom, right and top of everything that is written on a page."""
    text = page.get_textpage()
    boxes = np.array([text.get_charbox(k) for k in range(text.count_chars())])
    boxes = boxes[(boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])]
    return np.unique(boxes, axis=0)  # the letters of a ligature have one place


def overlaps(letters: np.ndarray) -> int:
    """How many letters have their middle well inside another."""
    middle = (letters[:, :2] + letters[:, 2:]) / 2
    inside = np.ones((len(letters), len(letters)), bool)
    for side in (0, 1):
        at, reach = middle[:, side], letters[:, side + 2] - letters[:, side]
        inside &= np.abs(at[:, None] - at[None]) < 0.25 * np.minimum(reach[:, None], reach[None])
    return int(inside.sum() - len(letters))


def test_a_letter_on_top_of_another_would_be_noticed():
    apart = np.array([[0, 0, 5, 8], [5, 0, 10, 8], [0, 10, 5, 18]], float)
    assert overlaps(apart) == 0
    assert overlaps(np.vstack([apart, [0.5, 0.5, 5.5, 8.5]])) == 2


@pytest.mark.parametrize("mapped", [True, False])
def test_names_are_text_and_never_markup(mapped, tmp_path):
    """What Typst, JSON or SVG would read as its own language, and letters from right to left."""
    names = [
        '"Quote" \'s', "#let x = $y$", "[b]*_@ref", "\\u{41} <label>", "a // b /* c", "`raw`",
        "100 % = 5 $", "</svg>&amp;", "הדר", "سلام",
    ]  # fmt: skip
    table = table_of([0.3] * 10, name=names)
    results = results_of(tmp_path / "r", table, areas=squares(10) if mapped else None)
    path = written(results, tmp_path, title="#strong[x] $y$ @a <b>", contacts=["*a* #b"])
    text = words(path, 1)
    for name in names[:8]:
        assert name in text
    for name in names[8:]:
        assert name in text or name[::-1] in text  # readers differ in which end they begin at
    assert "#strong[x] $y$ @a <b>" in words(path, 0)
    assert "*a* #b" in text


def test_control_characters_do_not_reach_the_page(tmp_path):
    results = results_of(tmp_path / "r", table_of([0.9, 0.1, 0.1], name=["a\x1b[1m\nb", "c", "d"]))
    assert "a[1m b" in words(written(results, tmp_path), 1)


def test_names_that_occur_twice_are_told_apart(tmp_path):
    results = results_of(tmp_path / "r", table_of([0.9] * 3, name=["Kitonga", "Ada", "Kitonga"]))
    text = words(written(results, tmp_path))
    assert "Kitonga (i1)" in text
    assert "Kitonga (i3)" in text


def test_items_without_names_are_called_by_their_noun(tmp_path):
    table = table_of([0.9, 0.3, 0.2, 0.1, 0.1], item=list("12345"), name=list("12345"))
    results = results_of(tmp_path / "r", table, wording=replace(RISK, top=2))
    text = words(written(results, tmp_path), 0)
    assert "Ward 1 is very likely to be among" in text


def test_a_letter_that_no_font_has_is_remarked_upon(tmp_path, monkeypatch):
    """A private letter: no font in the world has it."""
    results = results_of(tmp_path / "r", table_of([0.9, 0.1], name=["Odd \U0010fffd", "b"]))
    with pytest.warns(InputWarning, match="install a font that has it"):
        path = written(results, tmp_path)
    assert len(PdfReader(path).pages) == 2


# Never more than is true.


def test_what_nobody_compared_is_marked_wherever_it_stands(tmp_path):
    table = table_of([0.9, 0.3, 0.2, 0.1, 0.1, 0.1], comparisons=[0, 9, 9, 9, 9, 0])
    mapped = results_of(tmp_path / "map", table, areas=squares(6))
    note = "not compared: estimate borrowed from its neighbours"
    path = written(mapped, tmp_path)
    assert f"Stripes: {note}" in words(path, 0)
    assert "Ward A (not compared)" in words(path, 0)
    assert f"Ward A {note} 90 % very likely 1 to 3 never" in words(path, 1)
    path = written(results_of(tmp_path / "plain", table), tmp_path)
    assert f"Hollow dots: {note}" in words(path, 0)
    assert "Ward F (not compared)" in words(path, 0)


def test_what_nobody_compared_has_no_colour_on_the_map(tmp_path):
    table = table_of([0.1] * 4, comparisons=[9, 0, 9, 9])
    svg, _ = numbered_map(results_of(tmp_path / "r", table, areas=squares(4)), ["i1"])
    assert svg.count("url(#unseen)") == 1
    assert (
        len(set(re.findall(r'fill="(#\w{6})" stroke="none"|d="[^"]+" fill="(#\w{6})"/>', svg))) >= 3
    )


def test_areas_below_the_average_are_dotted(tmp_path):
    svg, _ = numbered_map(results_of(tmp_path / "r", table_of([0.1] * 4), areas=squares(4)), [])
    assert svg.count("url(#below)") == 2


@pytest.mark.parametrize("level", ["good", "care", "stop"])
def test_the_verdict_stands_between_the_title_and_the_answer(level, tmp_path):
    part = VerdictPart(level, "Something about the model.")
    verdict = replace(GOOD, model=part, withheld="" if level != "stop" else part.text)
    facts = {"verdict": verdict.to_dict()}
    text = words(written(results_of(tmp_path / "r", table_of([0.9] * 6), **facts), tmp_path), 0)
    order = [verdict.text, *(one.text for one in verdict.parts), "The answer "]
    places = [text.index(piece) for piece in ("Which ward", *order)]
    assert places == sorted(places)


def test_without_a_headline_it_is_one_page_that_names_nobody(tmp_path):
    """No name, no chance, no map and no order, on one page that is as accessible as two."""
    stop = VerdictPart("stop", "There are fewer comparisons than items.")
    verdict = replace(GOOD, answers=stop, withheld=stop.text)
    results = results_of(tmp_path / "r", table_of([0.97] * 6), verdict=verdict.to_dict())
    pdf = written(results, tmp_path)
    assert len(PdfReader(pdf).pages) == 1
    text = words(pdf, 0)
    assert "The answers so far do not say which are the 5 wards with the highest risk." in text
    assert "Do not decide anything on these results yet." in text
    assert "Page 1 of 1" in text
    assert not any(
        word in text for word in ("Ward A", "97 %", "almost certain", "Chance", "Estimate")
    )


def test_a_point_estimate_has_intervals_and_no_chances(tmp_path):
    unknown = {"rank_q2.5": np.nan, "rank_q97.5": np.nan}
    results = results_of(tmp_path / "r", table_of([np.nan] * 9, **unknown), kind="point")
    text = words(written(results, tmp_path), 1)
    assert "Ward A +2.00 +1.50 to +2.50 10" in text
    assert "Chance" not in text


def test_the_ladder_shows_both_ends_and_counts_the_rest(tmp_path):
    results = results_of(tmp_path / "r", table_of([0.1] * 50, name=[f"N{k}" for k in range(50)]))
    ladder = template_values(results)[0]["ladder"]
    assert [row["name"] for row in ladder["upper"]] == [f"N{k}" for k in range(UPPER)]
    assert [row["name"] for row in ladder["lower"]] == [f"N{k}" for k in range(50 - LOWER, 50)]
    assert "30 more between" in words(written(results, tmp_path), 0)
    for row in ladder["upper"] + ladder["lower"]:
        assert 0 <= row["low"] < row["middle"] < row["high"] <= 1


def test_an_interval_without_end_is_not_drawn(tmp_path):
    """As maximum likelihood gives it to an item that won every time."""
    wide = {"q97.5": [np.inf, 1.0, 0.5], "q2.5": [-np.inf, 0.0, np.nan]}
    results = results_of(tmp_path / "r", table_of([np.nan] * 3, **wide), kind="point")
    rows = template_values(results)[0]["ladder"]["upper"]
    assert [row["interval"] for row in rows] == ["unknown", "0.00 to +1.00", "unknown"]
    assert (rows[0]["low"], rows[0]["high"]) == (None, None)
    assert "Ward A +2.00 unknown" in words(written(results, tmp_path), 0)


def test_a_laplace_fit_is_called_preliminary(county, tmp_path):
    study = county.folder.parent / "county"
    results = analyse(
        str(study / "comparisons.csv"), tmp_path / "laplace", engine=Laplace(draws=200), rng=1,
        report=False,
    )  # fmt: skip
    assert "A quick approximation, good for a first look." in words(written(results, tmp_path), 0)


# Numbers on the map.


def test_a_number_stands_on_its_area_where_there_is_room(tmp_path):
    results = results_of(tmp_path / "r", table_of([0.1] * 9), areas=squares(9, across=3))
    _, chart = numbered_map(results, ["i7", "i3"])
    assert [mark["number"] for mark in chart["marks"]] == [1, 2]
    first, second = chart["marks"]
    assert (first["x"], first["y"]) == (first["to_x"], first["to_y"])
    assert first["x"] < 1 / 3  # the seventh is at the top left, the third at the bottom right
    assert first["y"] < 1 / 3
    assert second["x"] > 2 / 3
    assert second["y"] > 2 / 3


def test_numbers_do_not_cover_each_other_nor_what_they_point_to(tmp_path):
    results = results_of(tmp_path / "r", table_of([0.1] * 2500), areas=squares(2500, across=50))
    crowd = [f"i{50 * row + column + 1}" for row in (24, 25) for column in range(22, 27)]
    marks = numbered_map(results, crowd)[1]["marks"]
    # The drawing is square and as high as the paper has room for.
    here = 150 * np.array([(mark["x"], mark["y"]) for mark in marks])
    there = 150 * np.array([(mark["to_x"], mark["to_y"]) for mark in marks])
    gaps = np.linalg.norm(here[:, None] - here[None], axis=-1) + 99 * np.eye(10)
    assert gaps.min() > 0.95 * APART
    assert np.linalg.norm(here[:, None] - there[None], axis=-1).min() > 0.95 * CLEAR


def test_lines_around_a_crowd_do_not_cross():
    """Places on the ring have the order of the points around their middle."""
    points = np.random.default_rng(3).normal(size=(8, 2))
    away, ring = points - points.mean(axis=0), ring_positions(points) - points.mean(axis=0)
    order, round_it = (np.argsort(np.arctan2(y, x)) for x, y in (away.T, ring.T))
    start = int(np.flatnonzero(round_it == order[0])[0])
    assert np.array_equal(np.roll(round_it, -start), order)


def test_points_that_are_apart_stay_where_they_are():
    points = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
    moved = separated_positions(points, 5.0, off=np.empty((0, 2)))
    assert np.allclose(moved, points, atol=0.01)


# Templates.


def test_the_template_is_packed_with_the_program():
    ours = files("tiewise.report") / "templates" / "briefing.typ"
    assert ours.is_file()
    assert "sys.inputs" in ours.read_text(encoding="utf-8")


def test_an_edited_template_is_used(county, tmp_path):
    mine = write_template(tmp_path / "mine.typ")
    text = mine.read_text(encoding="utf-8").replace("What it does not say", "Read this twice")
    mine.write_text(text, encoding="utf-8")
    text = words(written(county, tmp_path, template=mine))
    assert "Read this twice" in text
    assert "What it does not say" not in text


def test_a_template_may_use_files_beside_it(county, tmp_path):
    logo = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0,0h9z"/></svg>'
    (tmp_path / "logo.svg").write_text(logo, encoding="utf-8")
    mine = tmp_path / "mine.typ"
    mine.write_text(
        "#let values = json(bytes(sys.inputs.values))\n#set document(title: values.title)\n"
        '#image("logo.svg", alt: "logo")\n#values.answer',
        encoding="utf-8",
    )
    assert "risk" in words(written(county, tmp_path, template=mine))


def test_a_template_that_nobody_can_hear_is_set_with_a_remark(county, tmp_path):
    mine = tmp_path / "mine.typ"
    mine.write_text('#image(bytes(sys.inputs.map), format: "svg")', encoding="utf-8")
    with pytest.warns(InputWarning, match=r"not a fully accessible PDF: .*PDF/UA-1 error"):
        written(county, tmp_path, template=mine)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("= One\n\n#nonsense(1)\n", "mine.typ:3: unknown variable: nonsense"),
        ("#let a = \n", "mine.typ:1: expected expression"),
        ('#image("logo.png")', "mine.typ:1: file not found"),
        ('#read("../../secret")', "mine.typ:1: "),
    ],
)
def test_a_template_that_does_not_compile_is_one_line_with_its_place(
    county, tmp_path, text, message
):
    mine = tmp_path / "mine.typ"
    mine.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        written(county, tmp_path, template=mine)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert list(tmp_path.glob("*.pdf")) == []


# The page that explains it.

PAGE = (Path(__file__).parents[2] / "docs" / "briefing.md").read_text(encoding="utf-8")


def table_on_the_page(first: str, second: str) -> list[tuple[str, str]]:
    rows = PAGE.split(f"| {first} | {second} |\n|---|---|\n", 1)[1].split("\n\n", 1)[0]
    return [re.fullmatch(r"\| (.*?) \| (.*) \|", row).groups() for row in rows.splitlines()]


def ticked(*cells: str) -> set[str]:
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_the_page_prints_the_scale_that_is_used():
    assert table_on_the_page("words", "chance") == probability_scale_rows()


@pytest.mark.parametrize("mapped", [True, False])
def test_the_page_lists_every_value_that_a_template_gets(mapped, tmp_path):
    land = squares(9) if mapped else None
    values, drawing = template_values(results_of(tmp_path, table_of([0.1] * 9), areas=land))
    assert bool(drawing) is mapped
    names, holds = zip(*table_on_the_page("value", "holds"), strict=True)
    assert ticked(*names) == {*values, "title", "organisation", "contacts"}
    parts = [values["rows"][0], values["scale"][0]]
    parts += [values["map"], values["map"]["marks"][0]] if mapped else [values["ladder"]]
    assert {key for part in parts for key in part} <= ticked(*holds)


def test_every_value_is_used_by_our_template():
    ours = (files("tiewise.report") / "templates" / "briefing.typ").read_text(encoding="utf-8")
    names = ticked(*(name for name, _ in table_on_the_page("value", "holds")))
    assert {name for name in names if f"values.{name}" not in ours} == {"top"}


# The command.


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["briefing", *(str(word) for word in arguments)])


def refusal(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert re.fullmatch(r"tiewise: .*\n", result.stderr), result.stderr
    return result.stderr


def test_the_command_writes_beside_the_results_and_says_where(county, tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    for path in county.folder.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    before = {path.name for path in folder.iterdir()}
    result = run(folder, "--question", "Which floods more?", "--noun", "town", "--higher", "wetter")
    assert result.exit_code == 0, result.output
    assert result.stdout == f"Briefing in {folder / 'briefing.pdf'}\n"
    assert {path.name for path in folder.iterdir()} == before | {"briefing.pdf"}
    text = words(folder / "briefing.pdf")
    assert "Which floods more?" in text
    assert "the top 3 towns (wetter)" in text
    assert "is there" in refusal(folder)
    assert run(folder, "--force", "--title", "Another").exit_code == 0
    assert "Another" in words(folder / "briefing.pdf")


def test_the_question_is_the_title_where_there_is_none(county, tmp_path):
    for title in (None, "", "  "):
        path = written(county, tmp_path, title=title)
        assert PdfReader(path).metadata.title == county.wording.question
        assert words(path, 0).count(county.wording.question) == 1


def test_the_command_writes_its_template_and_no_more(tmp_path):
    place = tmp_path / "mine.typ"
    assert run("--save-template", place).exit_code == 0
    ours = files("tiewise.report") / "templates" / "briefing.typ"
    assert place.read_bytes() == ours.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.typ"]
    assert "is there" in refusal("--save-template", place)
    assert run("--save-template", place, "--force").exit_code == 0


def test_what_cannot_be_is_one_line(county, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "not a results folder" in refusal(tmp_path)
    assert "not a results folder" in refusal(tmp_path / "nowhere")
    assert "Missing argument 'DIR'" in refusal()
    folder = county.folder
    assert "is a folder" in refusal(folder, "--out", tmp_path)
    assert "does not end in .pdf" in refusal(folder, "--out", tmp_path / "a.docx")
    assert "cannot be written" in refusal(folder, "--out", tmp_path / "file" / "a.pdf")
    assert "--save-template" in refusal(folder, "--template", tmp_path / "a.typ")
    assert "does not end in .typ" in refusal("--save-template", tmp_path / "a.pdf")
    contacts = [word for k in range(MOST_CONTACTS + 1) for word in ("--contact", k)]
    assert f"{MOST_CONTACTS}" in refusal(folder, *contacts)
    assert {path.name for path in tmp_path.iterdir()} == {"file"}


def test_a_folder_that_may_not_be_written_to_is_one_line(county, tmp_path, monkeypatch):
    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    message = refusal(county.folder, "--out", tmp_path / "a.pdf")
    assert "cannot be written (No space left on device)" in message
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_warned_about_in_the_usual_case(county, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        written(county, tmp_path)
