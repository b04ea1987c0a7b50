"""Every kind of item with real files, on every screen, in two languages, scripts on and off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from support.browser import is_wide, violations
from support.form_browser import Visitor
from support.kinds import KINDS, LARGE, ServedKind, served
from support.processes import shared_folder

SIZES = {320: 568, 360: 740, 768: 1024, 1280: 800}
ENLARGED = (640, 400)  # 1280 by 800 at 200 %
THUMB = 44
STILL = 0.05
OBSERVE_SHIFTS = """window.shift = 0;
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) window.shift += entry.value;
}).observe({type: "layout-shift", buffered: true});"""
# Fonts and what is in view are there, and have been painted.
SETTLED = """async () => {
  await document.fonts.ready;
  const seen = [...document.images].filter(one => one.loading !== "lazy" || (
    one.getBoundingClientRect().top < innerHeight && one.getClientRects().length));
  await Promise.all(seen.map(one => one.decode().catch(() => 0)));
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
# What reaches beyond its own box and is hidden there, but for what is hidden from all eyes.
CUT = """() => [...document.querySelectorAll(
    "h1, h2, .tab, .answer, .two button, .prose p, .group")]
  .filter(one => one.getClientRects().length && getComputedStyle(one).position !== "absolute"
    && getComputedStyle(one).overflow !== "visible"
    && (one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1))
  .map(one => one.outerHTML.slice(0, 80))"""
TARGETS = "main button:visible, .tab:visible, .tools button:visible, summary:visible"


@pytest.fixture(scope="module")
def kinds(tmp_path_factory, browser) -> Iterator[Callable[[str], ServedKind]]:
    """The study of each kind, made when one of the processes first asks for it."""
    open_: dict[str, ServedKind] = {}
    shared, own = shared_folder(tmp_path_factory) / "kinds", tmp_path_factory.mktemp("kinds")
    shared.mkdir(exist_ok=True)
    with ExitStack() as stack:

        def of(kind: str) -> ServedKind:
            if kind not in open_:
                open_[kind] = stack.enter_context(served(kind, shared, own / kind, browser))
            return open_[kind]

        yield of


def visit(
    browser: Browser, judge: Visitor, site: ServedKind, width: int, height: int, *, scripts: bool
) -> tuple[BrowserContext, Page]:
    """The pair of a judge in a browser that has nothing stored."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, java_script_enabled=scripts
    )
    ((name, value),) = judge.client.cookies.items()
    context.add_cookies([{"name": name, "value": value, "url": site.url}])
    page = context.new_page()
    if scripts:
        page.add_init_script(OBSERVE_SHIFTS)
    page.goto(f"{site.url}/pair")
    if scripts:
        page.evaluate(SETTLED)
    return context, page


def box(page: Page, selector: str) -> dict[str, float]:
    place = page.locator(selector).first.bounding_box()
    assert place is not None, selector
    return place


def check_answers(page: Page, width: int, height: int, *, whole: bool) -> None:
    """All answers can be pressed by a thumb and, on an ordinary screen, at once."""
    for one in page.locator(".bar button").all():
        shown = one.bounding_box()
        assert shown is not None
        assert min(shown["width"], shown["height"]) >= THUMB
        assert shown["x"] >= 0
        assert shown["x"] + shown["width"] <= width
        assert not whole or 0 <= shown["y"] <= height - shown["height"], one.inner_text()


def check_reading(page: Page, kind: str, width: int) -> None:
    """Each scan uses the screen; a phone shows one of two, a desktop both."""
    for side in ("left", "right"):
        shown = box(page, f".{side} .pane")
        assert shown["width"] >= (560 if width >= 1280 else min(width, 350) - 34)
        if kind in ("picture", "scan", "PDF") and width >= 1280:
            assert box(page, f".{side} .page img")["width"] >= 560
    left, right = box(page, ".side.left"), box(page, ".side.right")
    if width >= 768:
        assert left["x"] < right["x"]
        assert left["y"] == right["y"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", ["en", "ar"])
def test_a_pair_is_read_and_answered_on_every_screen(kinds, browser, kind, language):
    """Axe finds nothing, nothing is cut or moves, and answers are in reach."""
    site = kinds(kind)
    judge = site.judge(language)
    for width, height in SIZES.items():
        context, page = visit(browser, judge, site, width, height, scripts=True)
        assert not is_wide(page), width
        check_answers(page, width, height, whole=True)
        if page.locator(".reads").count():
            check_reading(page, kind, width)
        for one in page.locator(TARGETS).all():
            shown = one.bounding_box()
            assert min(shown["width"], shown["height"]) >= THUMB, (width, one.inner_text())
        assert page.evaluate(CUT) == [], width
        assert violations(page) == [], width
        assert page.evaluate("window.shift") < STILL, width
        context.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_without_scripts_both_are_there_and_can_be_answered(kinds, browser, kind):
    """In either language: pages follow each other, nothing needs a script, and a button answers."""
    site = kinds(kind)
    for language in ("en", "ar"):
        judge = site.judge(language)
        for width, height in SIZES.items():
            context, page = visit(browser, judge, site, width, height, scripts=False)
            check_answers(page, width, height, whole=True)
            check_markup(page, kind)
            left, right = box(page, ".side.left"), box(page, ".side.right")
            if width < 768 and page.locator(".reads").count():
                assert right["y"] >= left["y"] + left["height"]
            assert page.locator(".tools:visible, .keys:visible").count() == 0
            context.close()
        judge.judge("right")
        assert judge.answer.status_code == 200


PARTS = {
    "area": "svg.area", "short text": ".description", "long text": ".prose table, .prose math",
    "picture": ".page img[alt]", "scan": ".page img[alt]", "PDF": ".page .visually-hidden p",
    "sound": "audio[controls][aria-label] source, details .prose",
    "video": "video[controls][aria-label] source, details .prose",
}  # fmt: skip


def check_markup(page: Page, kind: str) -> None:
    """What axe would look at, where scripts are off: names, order and language of what is there."""
    assert page.locator("html[lang][dir]").count() == 1
    assert page.locator("h1").count() == 1
    for side in ("left", "right"):
        assert page.locator(f"section.{side}[aria-labelledby='{side}-name']").count() == 1
        assert page.locator(f".{side} :is({PARTS[kind]})").count() >= 1
    assert page.locator("img:not([alt]), button:empty, a:empty").count() == 0
    if kind == "PDF":
        large = page.locator(f".side:has(bdi:text-is('{LARGE}')) .page")
        assert large.count() == 12


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_enlarged_twofold_a_pair_is_read_and_answered(kinds, browser, kind):
    """At 200 % of 1280 by 800 nothing has to be scrolled sideways, and answers are in reach."""
    site = kinds(kind)
    judge = site.judge("en")
    context, page = visit(browser, judge, site, *ENLARGED, scripts=True)
    assert not is_wide(page)
    check_answers(page, *ENLARGED, whole=False)
    assert page.evaluate(CUT) == []
    # The answers stay at the bottom of the screen; what is behind them is scrolled to.
    page.locator(".side").first.evaluate("side => side.scrollIntoView()")
    assert violations(page) == []
    with page.expect_navigation():
        page.locator('button[value="right"]').click()
    context.close()


WEIGHTS = {"long text": 60_000, "scan": 400_000}
FONTS = 90_000
SEE_EVERY_PAGE = """async () => {
  for (const page of document.querySelectorAll(".page")) {
    page.scrollIntoView({behavior: "instant"});
    const image = page.querySelector("img");
    if (!image.complete) await new Promise(done => { image.onload = image.onerror = done; });
  }
}"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", WEIGHTS)
def test_a_pair_is_light_before_anything_is_enlarged(kinds, browser, kind):
    """Everything that comes over the wire to a browser that has nothing, every page read."""
    site = kinds(kind)
    judge = site.judge("en")
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    ((name, value),) = judge.client.cookies.items()
    context.add_cookies([{"name": name, "value": value, "url": site.url}])
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    sizes: dict[str, int] = {}
    types: dict[str, str] = {}
    session.on("Network.responseReceived", lambda e: types.update({e["requestId"]: e["type"]}))
    session.on(
        "Network.loadingFinished",
        lambda e: sizes.update({e["requestId"]: int(e["encodedDataLength"])}),
    )
    page.goto(f"{site.url}/pair", wait_until="networkidle")
    page.evaluate(SEE_EVERY_PAGE)
    page.wait_for_load_state("networkidle")
    fonts = sum(size for id_, size in sizes.items() if types.get(id_) == "Font")
    images = [id_ for id_ in sizes if types.get(id_) == "Image"]
    assert 10_000 < fonts <= FONTS
    assert sum(sizes.values()) - fonts <= WEIGHTS[kind]
    assert len(images) >= (8 if kind == "scan" else 0)
    context.close()
