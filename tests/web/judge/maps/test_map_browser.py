"""Maps in a real browser: names that can be read, a larger map by tap, keys, wheel and fingers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import combinations

import pytest
import uvicorn
from playwright.sync_api import Page, expect

from support.browser import is_wide, violations
from support.everyday import everyday
from support.form_browser import Visitor
from support.map_layers import made_up_layers
from support.site import edited, free_port
from tiewise.geo.areas import Areas
from tiewise.study.create import create_study
from tiewise.web.app import make_app

SIZES = {"320": (320, 568), "360": (360, 740), "768": (768, 1024), "1280": (1280, 800)}
SHIFT = """() => new Promise((done) => {
  let total = 0;
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) total += one.value;
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(total), 300);
})"""
BOXES = """(selector) => [...document.querySelectorAll(selector)].map((map) => {
  const edge = map.getBoundingClientRect();
  const seen = (text) => getComputedStyle(text).display !== "none";
  return {
    edge: [edge.left, edge.top, edge.right, edge.bottom],
    labels: [...map.querySelectorAll(".labels text")].filter(seen).map((text) => {
      const box = text.getBoundingClientRect();
      const size = parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a;
      return { text: text.textContent, size, box: [box.left, box.top, box.right, box.bottom] };
    }),
  };
})"""
VIEW = 'document.querySelector(".whole-map").getAttribute("viewBox").split(" ").map(Number)'

IN_THE_MIDDLE = """() => {
  const [box, here] = [".surface", ".whole-map .here.right"].map(
    (one) => document.querySelector(one).getBoundingClientRect());
  return Math.abs(here.x + here.width / 2 - box.x - box.width / 2) <= box.width / 4;
}"""


class MapSite:
    """A study of areas that is being served."""

    def __init__(self, app, url: str, store) -> None:
        self.app, self.url, self.store = app, url, store

    def outcomes(self) -> list[str]:
        return [row["outcome"] for row in self.store.rows() if row["undone"] is None]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[MapSite]:
    place = tmp_path_factory.mktemp("map")
    Areas.synthetic(40, rng=7).to_gpkg(place / "wards.gpkg")
    study = create_study(
        place / "study", question="Which ward is greener?", areas=place / "wards.gpkg",
        layers=made_up_layers(place / "layers.gpkg"),
    )  # fmt: skip
    study = edited(study, {'languages = ["en"]': 'languages = ["en", "ar"]'})
    app, port = make_app(study, study.store(), secret="m" * 40), free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    yield MapSite(app, f"http://127.0.0.1:{port}", study.store())
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def seat(browser, site) -> Iterator[Callable[..., Page]]:
    """Somebody before a pair; what their browser complains of, or asks others for, fails."""
    contexts, complaints = [], []

    def sit(size: str = "1280", *, language: str = "en", scripts: bool = True, **looks) -> Page:
        judge = Visitor(site.app, base=site.url)
        judge.get(f"/?language={language}")
        judge.join()
        ((name, value),) = judge.client.cookies.items()
        width, height = SIZES[size]
        context = browser.new_context(
            viewport={"width": width, "height": height}, java_script_enabled=scripts, **looks
        )
        contexts.append(context)
        context.add_cookies([{"name": name, "value": value, "url": site.url}])
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.on(
            "request",
            lambda r: None if r.url.startswith((site.url, "data:")) else complaints.append(r.url),
        )
        page.goto(f"{site.url}/pair")
        return page

    yield sit
    for context in contexts:
        context.close()
    assert complaints == []


def enlarge(page: Page, which: str = "all") -> None:
    page.locator(f'[data-map="{which}"]').click()
    expect(page.locator(".atlas.ready .whole-map")).to_be_visible()
    page.wait_for_timeout(100)


def unreadable(page: Page, selector: str) -> list[str]:
    """Labels that are small, outside their map, or cover each other (by more than their halos)."""
    faults = []
    for one in page.evaluate(BOXES, selector):
        left, top, right, bottom = one["edge"]
        for label in one["labels"]:
            x, y, far, low = label["box"]
            if label["size"] < 11.5:
                faults.append(f"{label['text']}: {label['size']} px")
            if x < left - 1 or y < top - 1 or far > right + 1 or low > bottom + 1:
                faults.append(f"{label['text']} is cut")
        for a, b in combinations(one["labels"], 2):
            across = min(a["box"][2], b["box"][2]) - max(a["box"][0], b["box"][0])
            down = min(a["box"][3], b["box"][3]) - max(a["box"][1], b["box"][1])
            # A box is as high as the font's tallest letters, which names do not have.
            if across > 1 and down > 0.35 * a["size"]:
                faults.append(f"{a['text']} covers {b['text']}")
    return faults


@pytest.mark.parametrize(
    ("size", "language", "scripts"),
    everyday(
        [(s, lang, on) for s in SIZES for lang in ("en", "ar") for on in (True, False)],
        ("360", "en", True),
    ),
)
def test_names_are_legible_and_the_answers_are_in_view(site, seat, size, language, scripts):
    page = seat(size, language=language, scripts=scripts)
    assert not is_wide(page)
    height = SIZES[size][1]
    for button in page.locator(".bar button").all():
        box = button.bounding_box()
        assert box["y"] + box["height"] <= height
        assert min(box["height"], box["width"]) >= 44
    for link in page.locator("[data-map]").all():
        box = link.bounding_box()
        assert min(box["height"], box["width"]) >= 44
    if scripts:
        page.wait_for_load_state("networkidle")
        assert page.evaluate(SHIFT) < 0.05
        assert unreadable(page, "svg.area, svg.county") == []
        assert sum(len(one["labels"]) for one in page.evaluate(BOXES, "svg.area, svg.county")) > 0
        assert violations(page) == []


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("language", ["en", "ar"])
def test_the_large_map_opens_over_the_pair_and_closes_again(site, seat, size, language):
    page = seat(size, language=language, has_touch=size in ("320", "360"))
    for which in ("left", "right", "all"):
        enlarge(page, which)
        assert page.url == f"{site.url}/pair"
        assert violations(page) == []
        assert not is_wide(page)
        assert page.evaluate(SHIFT) < 0.05
        for target in page.locator(".atlas a:visible, .atlas button:visible").all():
            box = target.bounding_box()
            assert min(box["height"], box["width"]) >= 44
        assert [one for one in unreadable(page, ".whole-map") if "is cut" not in one] == []
        assert page.locator(".whole-map .here").count() == 2
        expect(page.locator("[data-leave]")).to_be_in_viewport()
        page.locator("[data-close]").click()
        expect(page.locator(".map-box")).to_have_count(0)
        assert page.evaluate("document.activeElement.dataset.map") == which
    page.locator('button[value="left"]').click()
    expect(page.locator(".undo")).to_be_visible()


@pytest.mark.slow
def test_keys_move_and_enlarge_the_map_and_answer_nothing(site, seat):
    page = seat()
    before = site.outcomes()
    enlarge(page)
    expect(page.locator("[data-surface]")).to_be_focused()

    def view(key: str) -> list[float]:
        page.keyboard.press(key)
        page.wait_for_timeout(100)
        return page.evaluate(VIEW)

    whole = page.evaluate(VIEW)
    near = view("+")
    assert near[2] < whole[2]
    assert view("ArrowRight")[0] > near[0]
    moved = view("ArrowDown")
    assert moved[1] > near[1]
    assert view("-")[2] > near[2]
    assert view("0") == pytest.approx(whole)
    for key in ("1", "2", "3", "s", "u", "ArrowLeft"):
        page.keyboard.press(key)
    page.locator("header .help").focus()
    page.keyboard.press("1")
    page.wait_for_timeout(200)
    assert site.outcomes() == before
    page.go_back()
    expect(page.locator(".map-box")).to_have_count(0)
    assert page.url == f"{site.url}/pair"
    page.keyboard.press("1")
    expect(page.locator(".undo")).to_be_visible()


@pytest.mark.slow
def test_wheel_mouse_buttons_and_jumps_move_the_map(site, seat):
    page = seat()
    enlarge(page)
    whole = page.evaluate(VIEW)
    page.mouse.move(300, 300)
    page.mouse.wheel(0, -400)
    page.wait_for_timeout(100)
    near = page.evaluate(VIEW)
    assert near[2] < whole[2]
    page.mouse.down()
    page.mouse.move(200, 260)
    page.mouse.up()
    page.wait_for_timeout(100)
    dragged = page.evaluate(VIEW)
    assert dragged[:2] > near[:2]
    page.locator('[data-zoom="0"]').click()
    page.wait_for_timeout(100)
    assert page.evaluate(VIEW) == pytest.approx(whole)
    page.locator('[data-jump="right"]').click()
    page.wait_for_function(IN_THE_MIDDLE)  # the map is drawn anew with the next frame
    assert page.locator('[data-jump="right"]').get_attribute("aria-current") == "true"


@pytest.mark.slow
def test_two_fingers_enlarge_the_map(site, seat):
    page = seat("360", has_touch=True)
    enlarge(page)
    whole = page.evaluate(VIEW)
    client = page.context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[int, int]) -> None:
        there = [{"x": x, "y": y} for x, y in points]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": there})

    touch("touchStart", (150, 400), (210, 400))
    for apart in range(10, 100, 10):
        touch("touchMove", (150 - apart, 400), (210 + apart, 400))
    touch("touchEnd")
    page.wait_for_timeout(150)
    assert page.evaluate(VIEW)[2] < whole[2] / 1.5


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("language", ["en", "ar"])
def test_without_scripts_a_map_is_a_link_to_a_larger_one(site, seat, size, language):
    page = seat(size, language=language, scripts=False)
    for which, path in (("left", "/map?show=left"), ("all", "/map")):
        page.locator(f'[data-map="{which}"]').click()
        assert page.url == site.url + path
        assert not is_wide(page)
        drawn = page.locator(".surface svg").first.bounding_box()
        assert drawn["height"] > 0.5 * SIZES[size][1]
        assert page.locator(".zooms").is_hidden()
        page.locator("[data-close]").click()
        assert page.url == f"{site.url}/pair"


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_the_page_of_the_map_has_nothing_against_it(site, seat, size):
    page = seat(size)
    for path in ("/map", "/map?show=right"):
        page.goto(site.url + path)
        expect(page.locator(".atlas.ready .whole-map")).to_be_visible()
        assert violations(page) == []
        assert not is_wide(page)


@pytest.mark.slow
def test_names_and_marks_are_seen_in_forced_colours(site, seat):
    page = seat(forced_colors="active")
    colours = page.locator("svg.county .here.left, svg.county .here.right").evaluate_all(
        "all => all.map((one) => getComputedStyle(one).fill)"
    )
    assert len(set(colours)) == 2
    assert unreadable(page, "svg.area, svg.county") == []
