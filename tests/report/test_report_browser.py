"""The report in a real browser: on a phone, with a keyboard, on paper, and with scripts off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from unicodedata import normalize

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page
from pypdf import PdfReader

from support import report_studies as reports
from support.browser import RULES, is_wide
from support.everyday import everyday
from support.report_studies import ODD, STUDIES, csv_rows
from tiewise.posterior.results_folder import Results
from tiewise.report.html import write_report

PHONE, DESK = {"width": 320, "height": 640}, {"width": 1280, "height": 900}
SIZES = {"phone": PHONE, "desk": DESK}


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """Finds a study with its report, made when it is first asked for."""
    made: dict[str, Results] = {}

    def find(name: str) -> Results:
        if name not in made:
            made[name] = STUDIES[name](tmp_path_factory.mktemp("report") / name)
            write_report(made[name])
        return made[name]

    return find


@contextmanager
def opened(browser: Browser, results: Results, **looks: object) -> Iterator[Page]:
    """The report as a file; whatever it complains of, or asks for, fails the test."""
    context = browser.new_context(**({"viewport": DESK} | looks))
    page = context.new_page()
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    address = (results.folder / "report.html").as_uri()
    page.goto(address)
    yield page
    context.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith("data:")] == [address]


def names(page: Page) -> list[str]:
    """Names in the list from top to bottom, as far as they are shown."""
    return page.locator("#items tbody tr:visible th > :first-child").all_inner_texts()


def column(page: Page, number: int) -> list[float]:
    cells = page.locator(f"#items tbody tr td:nth-child({number})")
    return [float(text) for text in cells.evaluate_all("all => all.map(c => c.dataset.value)")]


# For everybody.


@pytest.mark.parametrize(
    ("name", "size"),
    everyday(
        [
            (name, size)
            for name in ("county", "unmapped", "odd", "twins", "point", "alone")
            for size in ("phone", "desk")
        ],
        ("unmapped", "desk"),
    ),
)
def test_axe_finds_nothing_and_nothing_scrolls_sideways(browser, written, name, size):
    with opened(browser, written(name), viewport=SIZES[size]) as page:
        assert not is_wide(page)
        if name == "county":
            page.locator(".area").first.dispatch_event("click")
        check = Axe().run(page, options={"runOnly": {"type": "tag", "values": RULES}})
        assert check.response["violations"] == [], check.generate_report()
        assert len(check.response["passes"]) > 15
        assert not is_wide(page)


@pytest.mark.slow
def test_axe_would_find_something(browser, written):
    with opened(browser, written("unmapped")) as page:
        page.evaluate("document.documentElement.removeAttribute('lang')")
        page.evaluate("document.querySelector('.small').style.color = '#ccc'")
        check = Axe().run(page, options={"runOnly": {"type": "tag", "values": RULES}})
        assert {one["id"] for one in check.response["violations"]} == {
            "html-has-lang", "color-contrast",
        }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("width", everyday([320, 390, 768, 1280], 320))
@pytest.mark.parametrize("name", everyday(["odd", "county"], "odd"))
def test_no_width_makes_the_page_scroll_sideways(browser, written, name, width):
    with opened(browser, written(name), viewport={"width": width, "height": 700}) as page:
        assert not is_wide(page)


@pytest.mark.slow
def test_text_can_be_twice_as_large(browser, written):
    with opened(browser, written("county"), viewport={"width": 640, "height": 700}) as page:
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        assert not is_wide(page)


@pytest.mark.slow
def test_names_do_no_harm(browser, written):
    with opened(browser, written("odd")) as page:
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        assert len(names(page)) == len(ODD)
        assert page.locator("#items").inner_text().count("<script>alert(1)</script>") == 1
        assert page.locator("img[src=x]").count() == 0


# The list.


@pytest.mark.slow
def test_headings_sort_the_list_both_ways(browser, written):
    with opened(browser, written("county")) as page:
        before = names(page)
        head = page.get_by_role("columnheader", name="Comparisons").last
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == "descending"
        cells = column(page, 7)
        assert cells == sorted(cells, reverse=True)
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == "ascending"
        assert column(page, 7) == sorted(cells)
        assert page.locator("#items [aria-sort]").count() == 1
        page.locator("#items thead").get_by_role("button", name="Ward").click()
        assert names(page) == sorted(before)
        page.locator("#items thead").get_by_role("button", name="Estimate").click()
        assert names(page) == before


@pytest.mark.slow
def test_a_heading_is_sorted_by_with_the_keyboard(browser, written):
    with opened(browser, written("unmapped")) as page:
        page.locator("#items thead").get_by_role("button", name="Position").focus()
        page.keyboard.press("Enter")
        ranks = column(page, 5)
        assert ranks == sorted(ranks)


@pytest.mark.slow
def test_the_list_can_be_searched_by_name_id_and_group(browser, written):
    results = written("county")
    rows = csv_rows(results.folder / "items.csv")
    groups = dict(zip(results.areas.items, results.areas.groups, strict=True))
    with opened(browser, results) as page:
        search, count = page.get_by_label("Search the list"), page.locator("#count")
        assert count.inner_text() == f"{len(rows)} wards"
        search.fill(rows[3]["name"].upper())
        assert names(page) == [rows[3]["name"]]
        assert count.inner_text() == f"1 of {len(rows)} wards"
        search.fill(groups["1"])
        assert len(names(page)) == list(groups.values()).count(groups["1"])
        search.fill("no such place")
        assert names(page) == []
        search.fill("")
        assert len(names(page)) == len(rows)


@pytest.mark.slow
def test_accents_do_not_matter_when_searching(browser, written):
    with opened(browser, written("odd")) as page:
        page.get_by_label("Search the list").fill("cafe")
        assert names(page) == ["Café au lait"]


@pytest.mark.slow
def test_two_thousand_items_can_be_sorted_and_searched(browser, written):
    with opened(browser, written("thousands")) as page:
        assert page.locator("#items tbody tr").count() == 2000
        page.locator("#items thead").get_by_role("button", name="Uncertainty").click()
        cells = column(page, 4)
        assert cells == sorted(cells, reverse=True)
        page.get_by_label("Search the list").fill("street 1999")
        assert names(page) == ["Street 1999"]


# The map.


def details(page: Page) -> str:
    return " ".join(page.locator("#details").inner_text().split())


def shape_of(results: Results, page: Page, item: str) -> str:
    key = page.locator(f"#items tr[data-item='{item}']").get_attribute("id")
    return f"#a{key[1:]}"


def test_a_tap_tells_what_the_list_tells(browser, written):
    results = written("county")
    row = csv_rows(results.folder / "items.csv")[0]
    with opened(browser, results, viewport=PHONE, has_touch=True) as page:
        page.locator(shape_of(results, page, row["item"])).tap()
        text = details(page).replace("−", "-")
        assert row["name"] in text
        assert f"{float(row['mean']):+.2f}" in text
        assert f"{float(row['q2.5']):+.2f} to {float(row['q97.5']):+.2f}" in text
        assert f"Position 1 could be {row['rank_q2.5']} to {row['rank_q97.5']}" in text
        assert f"Comparisons {row['comparisons']}" in text
        assert page.locator("tr.chosen").get_attribute("data-item") == row["item"]
        assert page.locator("#ring").get_attribute("d") == page.locator(
            shape_of(results, page, row["item"])
        ).get_attribute("d")


@pytest.mark.slow
def test_hovering_tells_and_leaving_forgets(browser, written):
    results = written("county")
    with opened(browser, results) as page:
        hint = details(page)
        page.locator(shape_of(results, page, "1")).hover()
        assert results.areas.names[0] in details(page)
        page.mouse.move(0, 0)
        assert details(page) == hint


@pytest.mark.slow
def test_who_was_never_compared_is_said_so_when_chosen(browser, written):
    results = written("county")
    with opened(browser, results) as page:
        page.locator(shape_of(results, page, reports.SILENT[0])).click()
        assert "not compared: estimate borrowed from its neighbours" in details(page)


def test_the_map_is_one_stop_for_the_keyboard_and_arrows_move_on_it(browser, written):
    results = written("county")
    with opened(browser, results) as page:
        page.locator("#colouring input").first.focus()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "areas"
        first = names(page)[0]
        assert first in details(page)
        page.keyboard.press("End")
        assert names(page)[-1] in details(page)
        page.keyboard.press("Home")
        assert first in details(page)
        seen = set()
        for key in ["ArrowLeft"] * 6 + ["ArrowUp"] * 6 + ["ArrowRight"] * 6 + ["ArrowDown"] * 6:
            page.keyboard.press(key)
            active = page.locator("#areas").get_attribute("aria-activedescendant")
            assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
            seen.add(active)
        assert len(seen) > 5
        assert page.locator("#areas [aria-selected=true]").count() == 1
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "closer"


@pytest.mark.slow
def test_arrows_lead_to_every_area(browser, written):
    """From the highest, by some arrows, there is a way to each of them."""
    with opened(browser, written("county")) as page:
        view = page.locator("#areas")
        view.focus()
        ways: dict[str, set[str]] = {}
        for key in range(reports.WARDS):
            for arrow in ("Left", "Up", "Right", "Down"):
                page.locator(f"#a{key}").dispatch_event("click")
                page.keyboard.press(f"Arrow{arrow}")
                ways.setdefault(f"a{key}", set()).add(view.get_attribute("aria-activedescendant"))
        reached, fresh = {"a0"}, {"a0"}
        while fresh:
            fresh = {there for here in fresh for there in ways[here]} - reached
            reached |= fresh
        assert len(reached) == reports.WARDS


@pytest.mark.slow
def test_a_row_leads_to_its_area_and_back(browser, written):
    results = written("county")
    with opened(browser, results) as page:
        row = page.locator("#items tbody tr").nth(4)
        row.locator("td").first.click()
        assert row.get_attribute("class").endswith("chosen")
        row.get_by_role("link").click()
        assert page.evaluate("document.activeElement.id") == "areas"
        assert names(page)[4] in details(page)
        page.locator("#details").get_by_role("link").click()
        assert page.evaluate("location.hash") == f"#{row.get_attribute('id')}"


@pytest.mark.slow
def test_hatching_makes_nothing_paler_where_dark_is_less_sure(browser, written):
    """On the map of estimates it does: there a strong colour would look like a finding."""
    with opened(browser, written("county")) as page:

        def veil() -> float:
            opacity: str = page.locator("#areas .veil").evaluate(
                "(veil) => getComputedStyle(veil).fillOpacity"
            )
            return float(opacity)

        assert page.locator("#areas .hatched").count() == len(reports.SILENT)
        assert veil() > 0.5
        page.get_by_label("Uncertainty").check()
        assert veil() == 0
        page.get_by_label("Estimate", exact=True).check()
        assert veil() > 0.5


@pytest.mark.slow
def test_other_colours_have_their_own_legend(browser, written):
    results = written("county")
    rows = csv_rows(results.folder / "items.csv")
    with opened(browser, results) as page:
        sure = min(rows, key=lambda row: float(row["sd"]))["item"]
        unsure = max(rows, key=lambda row: float(row["sd"]))["item"]
        page.get_by_label("Uncertainty").check()
        assert page.locator(".legend:visible").count() == 1
        assert "sure" in page.locator(".legend:visible").inner_text()
        fills = [
            page.locator(shape_of(results, page, item)).get_attribute("fill")
            for item in (sure, unsure)
        ]
        light = [int(fill[1:3], 16) for fill in fills]
        assert light[0] > light[1]
        page.get_by_label("Estimate", exact=True).check()
        assert "higher risk" in page.locator(".legend:visible").inner_text()


@pytest.mark.slow
def test_the_map_can_be_seen_closer_and_moved(browser, written):
    results = written("county")
    with opened(browser, results) as page:
        view = page.locator("#areas")
        whole = view.get_attribute("viewBox")
        page.get_by_role("button", name="Closer").click()
        near = [float(n) for n in view.get_attribute("viewBox").split()]
        assert near[2] == pytest.approx(float(whole.split()[2]) / 2)
        box = view.bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(*middle)
        page.mouse.down()
        page.mouse.move(middle[0] - 80, middle[1] - 40, steps=4)
        page.mouse.up()
        moved = [float(n) for n in view.get_attribute("viewBox").split()]
        assert moved[0] > near[0]
        assert moved[1] > near[1]
        assert page.locator("tr.chosen").count() == 0, "a drag is not a tap"
        page.get_by_role("button", name="Whole map").click()
        assert [float(n) for n in view.get_attribute("viewBox").split()] == [
            float(n) for n in whole.split()
        ]


# With scripts off, and on paper.


@pytest.mark.parametrize("name", ["county", "unmapped", "odd"])
def test_with_scripts_off_everything_can_be_read(browser, written, name):
    results = written(name)
    with opened(browser, results, java_script_enabled=False, viewport=PHONE) as page:
        assert page.locator("#items tbody tr:visible").count() == len(results.items)
        assert page.locator(".lead").is_visible()
        assert page.locator(".script-only:visible").count() == 0
        assert page.locator("button:visible, input:visible").count() == 0
        means = results.items["mean"].sort_values(ascending=False)
        cells = page.locator("#items tbody td:nth-child(2)")
        shown = [cells.nth(k).get_attribute("data-value") for k in range(cells.count())]
        assert [float(text) for text in shown] == list(means)
        if name == "county":
            assert page.locator(".area:visible").count() == reports.WARDS


def pdf_of(browser: Browser, results: Results) -> PdfReader:
    with opened(browser, results) as page:
        return PdfReader(BytesIO(page.pdf(prefer_css_page_size=True)))


@pytest.mark.slow
def test_on_paper_it_is_a4_and_whole_and_without_clutter(browser, written):
    results = written("county")
    paper = pdf_of(browser, results)
    width, height = (float(side) for side in paper.pages[0].mediabox[2:])
    assert (width, height) == (pytest.approx(595, abs=1), pytest.approx(842, abs=1))
    assert 5 <= len(paper.pages) <= 14
    text = " ".join(" ".join(page.extract_text() for page in paper.pages).split())
    text = normalize("NFKC", text)  # letters that were set as one
    assert all(name in text for name in results.items["name"])
    assert "To repeat it" in text
    for clutter in ("Search the list", "Whole map", "Skip to", "Colour shows"):
        assert clutter not in text


@pytest.mark.slow
def test_a_long_list_on_paper_repeats_its_headings(browser, written):
    paper = pdf_of(browser, written("thousands"))
    assert 30 <= len(paper.pages) <= 75
    middle = paper.pages[len(paper.pages) // 2].extract_text()
    assert "Estimate" in middle
    assert "Comparisons" in middle


# A real study.


@pytest.mark.slow
@pytest.mark.thorough
def test_dar_es_salaam_is_light_and_sound(browser, real, tmp_path):
    from tiewise.geo.item_context import ItemContext
    from tiewise.posterior.results_folder import Wording, read_results
    from tiewise.workflows.analyse import analyse

    context = ItemContext.read(areas=real("data/dar-es-salaam-subwards.gpkg"), name="subwardName")
    words = Wording(question="Which subward is richer?", higher="richer", lower="poorer", top=10)
    file = real("data/dar-es-salaam-comparisons.csv")
    analyse(file, tmp_path / "out", context=context, rng=1, wording=words)
    results = read_results(Path(tmp_path / "out"))
    assert (results.folder / "report.html").stat().st_size <= 5_000_000
    with opened(browser, results, viewport=PHONE) as page:
        assert page.locator(".area").count() == 452
        assert not is_wide(page)
        check = Axe().run(page, options={"runOnly": {"type": "tag", "values": RULES}})
        assert check.response["violations"] == [], check.generate_report()
