"""Two long things side by side in a real browser: panes, pages, sizes, tabs, sound, no net."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
import uvicorn
from playwright.sync_api import Page, expect

from support.browser import is_wide, violations
from support.everyday import everyday, thorough
from support.form_browser import Visitor
from support.reading import PAGES, long_items, png, tone
from support.site import edited, free_port
from tiewise.study.create import create_study
from tiewise.study.judge_store import JudgeStore
from tiewise.web.app import make_app
from tiewise.web.assets import Asset

SIZES = {"320": (320, 568), "360": (360, 740), "768": (768, 1024), "1280": (1280, 800)}
ENLARGED = (640, 400)  # 1280 by 800 at 200 %
ITEMS = "name\nAsh\nBirch\nCedar\nDouglas fir\n"
COLD_PAGE = 60_000


class ReadingSite:
    """A study of long items that is being served."""

    def __init__(self, app, url: str, store: JudgeStore) -> None:
        self.app, self.url, self.store = app, url, store

    def outcomes(self) -> list[str]:
        return [row["outcome"] for row in self.store.rows() if row["undone"] is None]


@pytest.fixture
def serve(tmp_path) -> Iterator[Callable[..., ReadingSite]]:
    """Serves a study of items of a kind, its settings edited."""
    stack = ExitStack()

    def start(kind: str, **swaps: str) -> ReadingSite:
        stack.enter_context(long_items(kind))
        (tmp_path / "items.csv").write_text(ITEMS, encoding="utf-8")
        study = create_study(
            tmp_path / "study", question="Which is better argued?", items=tmp_path / "items.csv"
        )
        study = edited(study, {'languages = ["en"]': 'languages = ["en", "ar"]'} | swaps)
        store = study.store()
        app = make_app(study, store, secret="r" * 40)
        files = {"page.png": Asset(png(), "image/png"), "tone.wav": Asset(tone(), "audio/wav")}
        app.state.site.assets.update(files)
        port = free_port()
        server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.02)
        stack.callback(thread.join, 10)
        stack.callback(setattr, server, "should_exit", True)
        return ReadingSite(app, f"http://127.0.0.1:{port}", store)

    with stack:
        yield start


def seat(page: Page, site: ReadingSite, language: str = "en") -> Page:
    """A judge before their first pair."""
    judge = Visitor(site.app, base=site.url)
    judge.get(f"/?language={language}")
    judge.join()
    ((name, value),) = judge.client.cookies.items()
    page.context.add_cookies([{"name": name, "value": value, "url": site.url}])
    page.goto(f"{site.url}/pair", wait_until="networkidle")
    return page


def size(name: str) -> dict[str, int]:
    width, height = SIZES[name]
    return {"width": width, "height": height}


def until(page: Page, expression: str) -> None:
    """Wait until an expression of the page is true; its policy forbids Playwright's own way."""
    for _ in range(100):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    raise AssertionError(expression)


def press(page: Page, selector: str) -> None:
    with page.expect_navigation():
        page.locator(selector).click()


def in_view(page: Page, selector: str) -> bool:
    """Whether all of these are on the screen, each large enough for a thumb."""
    height = page.viewport_size["height"]
    boxes = [one.bounding_box() for one in page.locator(selector).all()]
    return bool(boxes) and all(
        box["y"] >= 0 and box["y"] + box["height"] <= height
        and min(box["height"], box["width"]) >= 44
        for box in boxes
    )  # fmt: skip


# What is on the screen.


def test_two_scans_use_a_wide_screen(serve, sit):
    """Each is at least 560 px wide, scrolls by itself, and the answers stay."""
    site = serve("scan")
    page = seat(sit(), site)
    for side in ("left", "right"):
        assert page.locator(f".{side} .page img").first.bounding_box()["width"] >= 560
    before = page.locator(".right .pane").evaluate("pane => pane.scrollTop")
    page.locator(".left .pane").hover()
    page.mouse.wheel(0, 500)
    expect(page.locator(".left [data-page-of]")).to_have_text("Page 1 of 4")
    until(page, "document.querySelector('.left .pane').scrollTop > 300")
    assert page.locator(".right .pane").evaluate("pane => pane.scrollTop") == before
    assert page.evaluate("scrollY") == 0
    assert in_view(page, ".bar button")
    assert not is_wide(page)
    assert violations(page) == []


def test_tabs_of_a_phone_keep_their_place(serve, sit):
    site = serve("essay")
    page = seat(sit(viewport=size("360"), has_touch=True), site)
    assert page.locator(".left .pane").bounding_box()["width"] >= 358
    expect(page.locator(".right .pane")).to_be_hidden()
    page.locator(".left .pane").evaluate("pane => pane.scrollTop = 400")
    page.get_by_role("tab").nth(1).tap()
    expect(page.locator(".left .pane")).to_be_hidden()
    expect(page.locator(".right .pane")).to_be_visible()
    page.locator(".right .pane").evaluate("pane => pane.scrollTop = 150")
    page.get_by_role("tab").nth(0).tap()
    expect(page.locator(".left .pane")).to_be_visible()
    assert page.locator(".left .pane").evaluate("pane => pane.scrollTop") == 400
    page.keyboard.press("ArrowRight")  # the tab has the focus
    assert page.locator(".right .pane").evaluate("pane => pane.scrollTop") == 150
    assert in_view(page, ".bar button, .tab")
    assert violations(page) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", thorough(["scan", "essay", "sound"], "essay", "sound"))
@pytest.mark.parametrize("language", thorough(["en", "ar"], "ar"))
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_every_size_shows_both_and_the_answers(serve, browser, kind, language, scripts):
    site = serve(kind)
    for name in SIZES:
        context = browser.new_context(viewport=size(name), java_script_enabled=scripts)
        page = seat(context.new_page(), site, language)
        press(page, 'button[value="tie"]')
        page.wait_for_load_state("networkidle")
        assert in_view(page, ".bar button"), name
        assert not is_wide(page), name
        left, right = (page.locator(f".side.{side}") for side in ("left", "right"))
        if int(name) >= 768:
            assert left.bounding_box()["x"] < right.bounding_box()["x"]
        elif not scripts:  # one after the other
            box = left.bounding_box()
            assert right.bounding_box()["y"] >= box["y"] + box["height"]
            assert page.locator(".pane").nth(1).is_visible()
        if kind == "scan":
            assert page.locator(".left .page").count() == PAGES
        if scripts:
            assert violations(page) == [], name
            for tool in page.locator(".tools button:visible, .tab:visible").all():
                box = tool.bounding_box()
                assert min(box["width"], box["height"]) >= 44, (name, tool.inner_text())
        context.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scan", "essay"])
def test_enlarged_twofold_it_is_read_and_answered(serve, sit, kind):
    site = serve(kind)
    page = seat(sit(viewport={"width": ENLARGED[0], "height": ENLARGED[1]}), site)
    assert not is_wide(page)
    for side in ("left", "right"):
        assert page.locator(f".{side} .pane").bounding_box()["width"] > 500
    assert violations(page) == []
    press(page, 'button[value="right"]')
    assert site.outcomes() == ["right"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scan", "essay", "sound"])
@pytest.mark.parametrize("name", ["360", "1280"])
def test_nothing_moves_while_the_page_loads(serve, sit, kind, name):
    site = serve(kind)
    page = sit(viewport=size(name))
    page.add_init_script(
        """window.shift = 0;
           new PerformanceObserver(list => {
             for (const entry of list.getEntries()) window.shift += entry.value;
           }).observe({type: "layout-shift", buffered: true});"""
    )
    seat(page, site)
    page.wait_for_timeout(500)
    assert page.evaluate("window.shift") < 0.05


@pytest.mark.slow
def test_a_page_of_two_texts_is_light(serve, browser):
    """Cold, everything but the font: at most 60 kB."""
    site = serve("essay")
    context = browser.new_context(viewport=size("360"))
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    sizes: dict[str, int] = {}
    kinds: dict[str, str] = {}
    session.on("Network.responseReceived", lambda e: kinds.update({e["requestId"]: e["type"]}))
    session.on(
        "Network.loadingFinished",
        lambda e: sizes.update({e["requestId"]: int(e["encodedDataLength"])}),
    )
    seat(page, site)
    fonts = sum(length for id_, length in sizes.items() if kinds.get(id_) == "Font")
    assert 10_000 < fonts <= 90_000
    assert sum(sizes.values()) - fonts <= COLD_PAGE
    context.close()


# Pages and sizes.


def scale(page: Page, side: str = "left") -> float:
    pane, sheet = (page.locator(f".{side} {part}") for part in (".pane", ".page >> nth=0"))
    return sheet.bounding_box()["width"] / pane.evaluate("pane => pane.clientWidth")


def test_sizes_by_button_key_wheel_and_mouse(serve, sit):
    """The other pane stays as it is; a sharper copy is fetched once it is needed."""
    site = serve("scan")
    page = seat(sit(), site)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.locator(".left [data-zoom='1']").click()
    assert scale(page) == pytest.approx(1.25, abs=0.01)
    expect(page.locator(".left [data-sizes] output")).to_have_text("125 %")
    until(page, "document.querySelector('.left .page img').src.includes('large')")
    assert any("large" in url for url in asked)
    page.locator(".left .pane").focus()
    page.keyboard.press("+")
    assert scale(page) == pytest.approx(1.25**2, abs=0.02)
    page.keyboard.press("-")
    page.locator(".left .pane").hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    until(page, "document.querySelector('.left .pane').style.getPropertyValue('--zoom') > 2")
    assert scale(page, "right") == pytest.approx(1, abs=0.01)
    # Drag it: the page follows the mouse.
    pane = page.locator(".left .pane")
    box, across = pane.bounding_box(), pane.evaluate("pane => pane.scrollLeft")
    page.mouse.move(box["x"] + 300, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 150, steps=4)
    page.mouse.up()
    assert pane.evaluate("pane => pane.scrollLeft") == pytest.approx(across + 100, abs=3)
    page.locator(".left [data-zoom='0']").click()
    assert scale(page) == pytest.approx(1, abs=0.01)
    assert site.outcomes() == []


@pytest.mark.slow
def test_two_fingers_enlarge_a_scan(serve, browser):
    site = serve("scan")
    context = browser.new_context(viewport=size("360"), has_touch=True, is_mobile=True)
    page = seat(context.new_page(), site)
    touch = context.new_cdp_session(page)

    def fingers(kind: str, *xs: int) -> None:
        points = [{"x": x, "y": 350, "id": k} for k, x in enumerate(xs)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    fingers("touchStart", 160, 200)
    for reach in (30, 45, 60):
        fingers("touchMove", 180 - reach, 180 + reach)
    fingers("touchEnd")
    assert scale(page) == pytest.approx(3, abs=0.1)
    assert not is_wide(page)
    context.close()


@pytest.mark.parametrize("language", everyday(["en", "ar"], "en"))
def test_pages_are_turned_by_button_and_key(serve, sit, language):
    site = serve("scan")
    page = seat(sit(), site, language)
    place = page.locator(".left [data-page-of]")
    before, after = (page.locator(f".left [data-turn='{step}']") for step in (-1, 1))
    expect(before).to_be_disabled()
    after.click()
    page.locator(".left .pane").focus()
    page.keyboard.press("n")
    top = page.locator(".left .pane").bounding_box()["y"]
    assert page.locator(".left .page").nth(2).bounding_box()["y"] == pytest.approx(top, abs=2)
    assert "3" in place.inner_text()
    page.keyboard.press("n")
    expect(after).to_be_disabled()
    page.keyboard.press("p")
    expect(after).to_be_enabled()
    assert "1" in page.locator(".right [data-page-of]").inner_text()


@pytest.mark.slow
def test_the_size_of_text_stays_for_the_next_pair(serve, sit):
    site = serve("essay")
    page = seat(sit(), site)
    usual = page.locator(".left .prose p").first.evaluate("p => getComputedStyle(p).fontSize")
    page.locator(".left [data-zoom='1']").click()
    page.keyboard.press("+")
    larger = page.locator(".left .prose p").first.evaluate("p => getComputedStyle(p).fontSize")
    assert float(larger[:-2]) == pytest.approx(float(usual[:-2]) * 1.25**2, rel=0.01)
    press(page, 'button[value="left"]')
    page.wait_for_load_state("networkidle")
    assert larger == page.locator(".right .prose p").first.evaluate(
        "p => getComputedStyle(p).fontSize"
    )
    assert not is_wide(page)


@pytest.mark.slow
def test_arrows_scroll_what_is_read_and_digits_answer(serve, sit):
    site = serve("essay")
    page = seat(sit(), site)
    for key in ("ArrowDown", "PageDown", "ArrowLeft", "ArrowRight"):
        page.keyboard.press(key)
    until(page, "document.querySelector('.left .pane').scrollTop > 100")
    page.keyboard.press("b")
    expect(page.locator(".right .pane")).to_be_focused()
    page.keyboard.press("PageDown")
    until(page, "document.querySelector('.right .pane').scrollTop > 100")
    assert site.outcomes() == []
    with page.expect_navigation():
        page.keyboard.press("3")
    assert site.outcomes() == ["right"]


# Sound, and both seen.


@pytest.mark.slow
def test_one_recording_plays_at_a_time(serve, sit):
    site = serve("sound")
    page = seat(sit(), site)
    playing = "[...document.querySelectorAll('audio')].map(one => !one.paused)"
    page.locator(".left audio").evaluate("one => one.play()")
    assert page.evaluate(playing) == [True, False]
    page.locator(".right audio").evaluate("one => one.play()")
    until(page, "document.querySelector('.left audio').paused")
    assert page.evaluate(playing) == [False, True]


@pytest.mark.parametrize("kind", everyday(["essay", "sound"], "essay"))
def test_both_have_to_be_seen_where_the_study_says_so(serve, sit, kind):
    site = serve(kind, **{"both_seen = false": "both_seen = true"})
    page = seat(sit(viewport=size("360")), site)
    page.locator('button[value="left"]').click()
    expect(page.locator("[data-unseen]")).to_be_visible()
    assert violations(page) == []
    assert site.outcomes() == []
    for side in ("left", "right"):
        page.locator(f"#{side}-tab").click()
        if kind == "sound":
            page.locator(f".{side} audio").evaluate("one => one.play()")
        page.wait_for_timeout(1200)
    expect(page.locator("[data-unseen]")).to_be_hidden()
    press(page, 'button[value="left"]')
    assert site.outcomes() == ["left"]


def test_the_server_asks_for_both_too(serve):
    """A script that says no is not believed to mean yes; a page without scripts shows both."""
    site = serve("essay", **{"both_seen = false": "both_seen = true"})
    judge = Visitor(site.app, base=site.url).join()
    answer = judge.send("/answer", "left", seen="no")
    assert answer.status_code == 422
    assert "Please look at both" in answer.text
    assert site.outcomes() == []
    judge.send("/answer", "skip", seen="no")
    judge.send("/answer", "right")
    assert site.outcomes() == ["skip", "right"]


@pytest.mark.slow
def test_pages_without_long_items_load_no_script_for_them(serve, sit, tmp_path):
    site = serve("essay")
    page = seat(sit(), site)
    assert page.locator("script[src*='reading.js']").count() == 1
    page.goto(f"{site.url}/thanks")
    assert page.locator("script[src*='reading.js']").count() == 0
