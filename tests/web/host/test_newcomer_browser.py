"""A newcomer with a browser and no terminal: to ten judgements, a report and a closed study.

Only what a command prints is read from the terminal, once: the link to sign in with.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from support.browser import is_wide, violations
from support.simulated_judges import link_in
from support.site import answering, running

PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 800}
MAKING = 180_000
"""Milliseconds for what is made or fitted first, perhaps compiled, on a machine with other work."""
TREES = b"name\nAsh\nBirch\nCedar\nElm\nFir\nHazel\n"

pytestmark = pytest.mark.slow


def looked_at(page: Page) -> Page:
    """The page once it is there as a whole, with nothing for axe, not to be scrolled sideways."""
    page.wait_for_load_state()
    assert not is_wide(page), page.url
    assert violations(page) == [], page.url
    return page


def left(page: Page) -> None:
    """Wait until another page takes the place of the one that was marked."""
    expect(page.locator("html[data-before]")).to_have_count(0, timeout=MAKING)


def mark(page: Page) -> None:
    """Mark the page, to know when another has come."""
    page.evaluate("document.documentElement.dataset.before = 'yes'")


def press(page: Page, name: str) -> None:
    """Press a button of the page, or follow a link that looks like one."""
    main = page.get_by_role("main")
    button = main.get_by_role("button", name=name, exact=True)
    mark(page)
    button.or_(main.get_by_role("link", name=name, exact=True)).first.click()
    left(page)
    looked_at(page)


def judge(page: Page, link: str, number: int) -> None:
    """Sign up at the link of a study and answer so many pairs."""
    page.goto(link)
    looked_at(page).locator("main a.main").click()
    page.locator("#consent").check()
    mark(looked_at(page))
    page.locator("main button.main").click()
    left(page)
    if page.url.endswith("/groups"):
        looked_at(page).get_by_role("button", name="Select all").click()
        page.locator("main button.main").click()
    for k in range(number):
        expect(page.locator(".side h2 bdi")).to_have_count(2)
        mark(looked_at(page))
        page.locator(f'button[value="{("left", "right")[k % 2]}"]').click()
        left(page)
        expect(page.locator("[data-offline]")).to_be_hidden()
        expect(page.locator(".counter span, .undo, h1").first).to_be_visible()


def close_and_report(page: Page) -> None:
    """From the overview: close the study, make the report as is suggested then, and open it."""
    page.get_by_role("navigation").get_by_role("link", name="Run").click()
    press(page, "Close the study")
    expect(page.get_by_role("heading", name="The study is closed")).to_be_visible()
    page.get_by_role("navigation").get_by_role("link", name="Overview").click()
    press(page, "Make report and briefing")
    for name in ("report.html", "briefing.pdf"):
        ready = page.get_by_role("link", name=name)
        expect(ready.or_(page.locator(".fault"))).to_be_visible(timeout=MAKING)
        assert page.locator(".fault").all_text_contents() == []
        with page.expect_download() as waiting:
            ready.click()
        start = waiting.value.path().read_bytes()[:400]
        assert start.startswith(b"%PDF" if name.endswith("pdf") else b"<!doctype html>")


@pytest.mark.parametrize("looks", [pytest.param(PHONE, id="phone"), pytest.param(DESK, id="desk")])
def test_from_an_empty_site_to_a_report_and_a_closed_study(sit, tmp_path, looks):
    with running(tmp_path / "site", command="host") as (url, server):
        page = sit(viewport=looks)
        page.goto(link_in(server))
        press(page, "Sign in")
        page.get_by_label("New password").fill("correct horse battery")
        page.get_by_label("The same again").fill("correct horse battery")
        press(page, "Set password")
        page.get_by_role("navigation").get_by_role("link", name="All studies").click()
        expect(page.get_by_role("main")).to_contain_text("There is no study yet")

        press(page, "Make a study")
        press(page, "Begin")
        trees = {"name": "trees.csv", "mimeType": "text/csv", "buffer": TREES}
        page.locator("#chosen").set_input_files(trees)
        expect(page.get_by_role("button", name="Take out trees.csv")).to_be_visible()
        page.get_by_label("The question of every pair").fill("Which tree is taller?")
        page.get_by_label("Title").fill("Tall trees")
        page.get_by_label("Comparisons asked of each judge").fill("10")
        press(page, "Make the study")
        expect(page.locator("h1")).to_have_text("The study is made", timeout=MAKING)
        press(page, "Go on to the study")

        press(page, "Preview")
        expect(page.locator("h1")).to_have_text("Tall trees")
        page.go_back()
        press(page, "Open the study")
        link = page.get_by_role("link", name=f"{url}/tall-trees/").get_attribute("href")
        judge(page, link, 10)
        expect(page.locator("h1")).to_have_text("Thank you")

        page.goto(url)
        expect(looked_at(page).locator(".studies dd").nth(1)).to_have_text("10")
        page.get_by_role("link", name="Tall trees", exact=True).click()
        expect(page.locator(".age")).to_contain_text("From 10 judgements", timeout=MAKING)
        close_and_report(looked_at(page))
        page.get_by_role("link", name="All studies").click()
        expect(page.locator(".studies .phase")).to_have_text("closed")


@pytest.mark.parametrize("looks", [pytest.param(PHONE, id="phone"), pytest.param(DESK, id="desk")])
def test_from_the_demonstration_to_a_report_and_a_closed_study(sit, tmp_path, looks):
    """Beside the judges that are simulated, on the map."""
    with answering("demo", "--no-browser", "--keep", str(tmp_path / "d")) as (url, server):
        page = sit(viewport=looks)
        watch = link_in(server)
        judge(page, f"{url}/county/", 10)
        page.goto(watch)
        press(page, "Sign in")
        page.get_by_role("navigation").get_by_role("link", name="Overview").click()
        expect(page.locator("[data-map=quality]")).to_be_visible(timeout=MAKING)
        close_and_report(looked_at(page))
