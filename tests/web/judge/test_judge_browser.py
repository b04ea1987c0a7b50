"""The judge's way in a real browser: phone and desk, scripts on and off, keys, Arabic, no net."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

import pytest
import uvicorn
from playwright.sync_api import BrowserContext, Page, expect
from starlette.applications import Starlette

from support.browser import is_wide, violations
from support.everyday import everyday, thorough
from support.form_browser import FIELDS, Visitor
from support.site import edited, free_port
from tiewise.geo.areas import Areas
from tiewise.study.create import create_study
from tiewise.study.judge_store import JudgeStore
from tiewise.study.study import Study
from tiewise.study.values import Phase
from tiewise.web.app import make_app
from tiewise.web.assets import Asset

PHONE, DESK = {"width": 320, "height": 568}, {"width": 1280, "height": 800}
SIZES = {"phone": PHONE, "desk": DESK}
ARABIC = """
[translations.ar]
study_title = "أحياء خضراء"
study_question = "أي حي أكثر خضرة؟"
study_welcome = "مرحبًا بكم في هذه الدراسة."
study_kept = "تُحفظ الإجابات سنتين."
consent_text = "ستُعرض عليك أزواج للمقارنة بينها."
"""


class Weather(BaseHTTPRequestHandler):
    """Somewhere else."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"rain")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[str]:
    """Another site, on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Weather)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}/weather"
    server.shutdown()


class Site:
    """A study that is being served, and what it has kept."""

    def __init__(self, study: Study, app: Starlette, url: str) -> None:
        self.study, self.app, self.url = study, app, url
        self.store: JudgeStore = study.store()

    def outcomes(self) -> list[str]:
        """What stands, over all judges."""
        return [row["outcome"] for row in self.store.rows() if row["undone"] is None]


@contextmanager
def served(study: Study) -> Iterator[Site]:
    """The site in a thread of this process."""
    port = free_port()
    app = make_app(study, study.store(), secret="b" * 40)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    yield Site(study, app, f"http://127.0.0.1:{port}")
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def site(tmp_path, elsewhere) -> Iterator[Site]:
    Areas.synthetic(12, rng=3).to_gpkg(tmp_path / "wards.gpkg")
    study = create_study(
        tmp_path / "study", question="Which ward is greener?", title="Green wards",
        areas=tmp_path / "wards.gpkg", target=4,
    )  # fmt: skip
    path = study.folder / "study.toml"
    text = path.read_text(encoding="utf-8")
    for old, new in {
        'languages = ["en"]': 'languages = ["en", "ar", "fr", "es"]',
        "contacts = []": 'contacts = ["Samaritans: 116 123"]',
        "practice = 0": "practice = 1",
        "https://www.bbc.co.uk/weather": elsewhere,
    }.items():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text + FIELDS + ARABIC, encoding="utf-8")
    with served(Study.open(study.folder)) as match:
        yield match


@pytest.fixture
def sit(browser, site, elsewhere) -> Iterator[Callable[..., Page]]:
    """Somebody sits down at a browser of their own; what it complains of fails the test."""
    open_: list[BrowserContext] = []
    complaints: list[str] = []
    strangers: list[str] = []

    def asked(url: str) -> None:
        if not url.startswith((site.url, "data:", elsewhere.removesuffix("weather"))):
            strangers.append(url)

    def down(**looks: object) -> Page:
        context = browser.new_context(**({"viewport": DESK} | looks))
        open_.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console", lambda message: complaints.append(message.text) if _bad(message) else None
        )
        page.on("request", lambda request: asked(request.url))
        return page

    yield down
    for context in open_:
        context.close()
    assert complaints == []
    assert strangers == []


def _bad(message) -> bool:
    """A page that says 404 or 422, or a lost connection, is what some tests look for."""
    expected = ("status of 4", "ERR_INTERNET_DISCONNECTED", "ERR_CONNECTION_RESET")
    return message.type in ("error", "warning") and not any(one in message.text for one in expected)


def join(page: Page, site: Site, *, language: str = "en") -> Page:
    """From the first page to the first pair, as somebody with a mouse would."""
    page.goto(f"{site.url}/?language={language}")
    follow(page, "main a.main")
    page.locator("#consent").check()
    page.locator("#about_role").select_option("nurse")
    follow(page, "main button.main")
    for box in page.locator('input[name="group"]').all():
        box.check()
    follow(page, "main button.main")
    expect(page).to_have_url(f"{site.url}/pair")
    return page


def seat(page: Page, site: Site, *, language: str = "en") -> Page:
    """Somebody who joined some other time, before their first pair."""
    judge = Visitor(site.app, base=site.url)
    judge.get(f"/?language={language}")
    judge.join(about_role="nurse")
    ((name, value),) = judge.client.cookies.items()
    page.context.add_cookies([{"name": name, "value": value, "url": site.url}])
    page.goto(f"{site.url}/pair")
    return page


def follow(page: Page, selector: str) -> None:
    """Click, and wait for the page that comes of it."""
    with page.expect_navigation():
        page.locator(selector).click()


def press(page: Page, outcome: str) -> None:
    follow(page, f'button[value="{outcome}"]')


def names(page: Page) -> list[str]:
    return page.locator(".side h2 bdi").all_inner_texts()


def counter(page: Page) -> str:
    return page.locator(".counter span").inner_text()


# The way.


@pytest.mark.parametrize(
    ("size", "scripts"),
    everyday(
        [(size, scripts) for size in SIZES for scripts in ("scripts", "no scripts")],
        ("desk", "scripts"),
    ),
)
def test_the_whole_way(site, sit, size, scripts):
    page = join(sit(viewport=SIZES[size], java_script_enabled=scripts == "scripts"), site)
    assert counter(page) == "Practice 1 of 1"
    press(page, "left")
    for number, outcome in enumerate(("left", "tie", "skip", "right"), 1):
        assert counter(page) == f"{min(number, 3)} of 4"
        press(page, outcome)
    follow(page, ".undo")
    press(page, "tie")
    press(page, "left")
    expect(page.locator("h1")).to_have_text("Thank you")
    follow(page, "main a.main")
    assert counter(page) == "Comparison 5"
    assert site.outcomes() == ["left", "left", "tie", "skip", "tie", "left"]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "ar", "fr", "es"])
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_all_answers_are_on_the_first_screen_of_a_small_phone(site, sit, language, scripts):
    page = seat(sit(viewport=PHONE, java_script_enabled=scripts), site, language=language)
    press(page, "left")
    assert not is_wide(page)
    buttons = page.locator(".bar button").all()
    assert len(buttons) == 5  # four answers and undo
    for button in buttons:
        box = button.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= PHONE["height"]
        assert box["height"] >= 44
        assert box["width"] >= 44
    for shown in (page.locator("h1"), *page.locator(".side h2").all()):
        box = shown.bounding_box()
        bar = page.locator(".bar").bounding_box()
        assert box["y"] + box["height"] <= bar["y"]


@pytest.mark.slow
def test_long_names_and_questions_leave_the_answers_in_place(tmp_path, browser):
    long = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch " * 4
    table = f"name,description\n{long},{long}\n<script>alert(1)</script>,قصير\n"
    (tmp_path / "items.csv").write_text(table, encoding="utf-8")
    study = create_study(
        tmp_path / "s", items=tmp_path / "items.csv", question=f"Which is better, {long}?"
    )
    context = browser.new_context(viewport=PHONE)
    with served(study) as site:
        page = context.new_page()
        page.goto(f"{site.url}/begin")
        page.locator("#consent").check()
        follow(page, "main button.main")
        assert not is_wide(page)
        for button in page.locator(".bar button").all():
            box = button.bounding_box()
            assert box["y"] + box["height"] <= PHONE["height"]
        assert "<script>alert(1)</script>" in names(page)
        assert violations(page) == []
    context.close()


# Keys.


@pytest.mark.parametrize(
    ("key", "outcome"),
    everyday(
        [
            ("ArrowLeft", "left"), ("1", "left"), ("ArrowDown", "tie"), ("2", "tie"),
            ("ArrowRight", "right"), ("3", "right"), ("s", "skip"), ("S", "skip"), ("0", "skip"),
        ],
        ("ArrowLeft", "left"), ("s", "skip"),
    ),
)  # fmt: skip
def test_a_key_answers(site, sit, key, outcome):
    page = seat(sit(), site)
    before = names(page)
    if key == "S":  # with caps lock on
        page.evaluate("document.body.dispatchEvent("
                      "new KeyboardEvent('keydown', {key: 'S', bubbles: true}))")  # fmt: skip
    else:
        page.keyboard.press(key)
    expect(page.locator(".undo")).to_be_visible()
    assert site.outcomes() == [outcome]
    # The page is there before its script: keys work once they are spoken of.
    expect(page.locator(".keys")).to_be_visible()
    page.keyboard.press("u")
    expect(page.locator(".undo")).to_have_count(0)
    assert names(page) == before
    assert site.outcomes() == []


@pytest.mark.slow
def test_keys_are_said_on_the_page_and_can_be_turned_off(site, sit):
    page = seat(sit(), site)
    shown = page.locator(".keys").inner_text()
    for key in ("1", "2", "3", "S", "U", "Esc"):
        assert key in shown
    page.locator("[data-keys-on]").uncheck()
    page.locator("h1").click()
    page.keyboard.press("1")
    page.reload()
    page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(200)
    assert site.outcomes() == []


@pytest.mark.slow
def test_keys_with_others_held_down_are_the_browsers(site, sit):
    page = seat(sit(), site)
    for keys in ("ctrlKey+1", "altKey+ArrowLeft", "shiftKey+s", "metaKey+2"):
        held, key = keys.split("+")
        page.evaluate(
            """([held, key]) => document.body.dispatchEvent(
                 new KeyboardEvent("keydown", {key, [held]: true, bubbles: true}))""",
            [held, key],
        )
    page.wait_for_timeout(200)
    assert site.outcomes() == []


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_the_way_with_a_keyboard_alone(site, sit, scripts):
    """Tab, space and enter; what has the focus can be seen."""
    page = sit(java_script_enabled=scripts)
    page.goto(site.url)

    def reach(selector: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            focused = page.locator(":focus")
            if focused.count() and page.locator(f"{selector}:focus").count():
                break
        match = page.locator(f"{selector}:focus")
        expect(match).to_have_count(1)
        box = match.bounding_box()
        assert box["y"] + box["height"] > 0
        assert box["y"] < DESK["height"]

    def enter() -> None:
        with page.expect_navigation():
            page.keyboard.press("Enter")

    reach("main a.main")
    enter()
    reach("#consent")
    page.keyboard.press("Space")
    reach("#about_role")
    page.keyboard.type("nurse")
    reach("main button.main")
    enter()
    for _ in page.locator('input[name="group"]').all():
        reach('input[name="group"]')
        page.keyboard.press("Space")
    reach("main button.main")
    enter()
    expect(page).to_have_url(f"{site.url}/pair")
    reach('button[value="tie"]')
    enter()
    expect(page.locator(".undo")).to_be_visible()
    assert site.outcomes() == ["tie"]


@pytest.mark.slow
def test_focus_is_visible(site, sit):
    page = seat(sit(), site)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


# Mishaps.


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_double_click_is_one_answer(site, sit, scripts):
    page = seat(sit(java_script_enabled=scripts), site)
    page.locator('button[value="left"]').dblclick()
    expect(page.locator(".undo")).to_be_visible()
    page.wait_for_timeout(300)
    page.goto(f"{site.url}/pair")
    # Without scripts the second click may land on the next page; it is then an answer of its own.
    assert len(site.outcomes()) <= (1 if scripts else 2)
    offers = [row["offer"] for row in site.store.rows()]
    assert len(offers) == len(set(offers))


@pytest.mark.slow
def test_buttons_rest_once_one_is_pressed(site, sit):
    page = seat(sit(), site)
    page.route("**/answer", lambda route: time.sleep(0.5) or route.continue_())
    pressed = page.evaluate(
        """async () => {
             const buttons = [...document.querySelectorAll("main button")];
             document.querySelector('button[value="left"]').click();
             document.querySelector('button[value="right"]').click();
             await new Promise(done => setTimeout(done, 50));
             return buttons.map(button => button.disabled);
           }"""
    )
    assert all(pressed)
    expect(page.locator(".undo")).to_be_visible()
    assert site.outcomes() == ["left"]


@pytest.mark.slow
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_the_back_button_leads_to_the_pair_that_is_open(site, sit, scripts):
    page = seat(sit(java_script_enabled=scripts), site)
    first = names(page)
    press(page, "left")
    expect(page.locator(".undo")).to_be_visible()
    second = names(page)
    page.go_back()
    page.wait_for_load_state()
    if "/pair" not in page.url:  # with scripts all pairs are one entry of the history
        page.goto(f"{site.url}/pair")
    assert names(page) == second
    press(page, "right")
    assert first != second
    page.goto(f"{site.url}/pair")
    assert site.outcomes() == ["left", "right"]


@pytest.mark.slow
def test_loading_again_keeps_the_pair(site, sit):
    page = seat(sit(), site)
    first = names(page)
    page.reload()
    assert names(page) == first
    press(page, "tie")
    expect(page.locator(".undo")).to_be_visible()
    second = names(page)
    page.reload()
    assert names(page) == second
    assert site.outcomes() == ["tie"]


def test_an_answer_is_kept_while_there_is_no_connection_and_sent_once(site, sit):
    page = seat(sit(), site)
    first = names(page)
    page.context.set_offline(True)
    page.locator('button[value="left"]').click()
    expect(page.locator("[data-offline]")).to_be_visible()
    assert names(page) == first
    assert site.outcomes() == []
    assert page.locator('button[value="right"]').is_disabled()
    with page.expect_navigation():  # by itself
        page.context.set_offline(False)
    expect(page.locator(".undo")).to_be_visible()
    assert names(page) != first
    assert site.outcomes() == ["left"]


@pytest.mark.slow
def test_an_answer_that_arrived_without_a_reply_counts_once(site, sit):
    """The server has it, the browser does not know: it is sent again, and changes nothing."""
    page = seat(sit(), site)
    times = []

    def lose_the_first(route) -> None:
        times.append(route.request.post_data)
        if len(times) == 1:
            route.fetch(max_redirects=0)
            route.abort("internetdisconnected")
        else:
            route.continue_()

    page.route("**/answer", lose_the_first)
    press(page, "left")
    expect(page.locator(".undo")).to_be_visible()
    assert len(times) == 2
    assert times[0] == times[1]
    assert site.outcomes() == ["left"]


@pytest.mark.slow
def test_a_page_that_is_out_of_date_is_told_so(site, sit):
    """What the script does not know is shown as the server says it: here a study that is closed."""
    page = seat(sit(), site)
    site.app.state.site.researcher_store.set_phase(Phase.CLOSED, why="enough")
    page.wait_for_timeout(1500)  # the phase may be a second old
    press(page, "left")
    expect(page.locator("h1")).to_have_text("The study is closed")
    assert site.outcomes() == []


def test_a_card_is_chosen_by_two_taps_and_not_by_a_double_click(site, sit):
    page = seat(sit(), site)
    card = page.locator(".side.right h2")
    card.dblclick()
    expect(page.locator(".right .again")).to_be_visible()
    assert site.outcomes() == []
    page.locator(".side.left h2").click()
    expect(page.locator(".right .again")).to_be_hidden()
    page.wait_for_timeout(400)
    with page.expect_navigation():
        page.locator(".side.left h2").click()
    assert site.outcomes() == ["left"]
    assert "Last:" in page.locator(".undo").inner_text()


@pytest.mark.slow
def test_an_answer_whose_reply_is_lost_can_be_sent_again(site, sit):
    """Without scripts the browser shows its own error; going back and on shows the next pair."""
    page = seat(sit(java_script_enabled=False), site)
    page.route("**/answer", lambda route: (route.fetch(max_redirects=0), route.abort()))
    page.locator('button[value="left"]').click()
    page.wait_for_timeout(300)
    page.unroute("**/answer")
    page.goto(f"{site.url}/pair")
    assert site.outcomes() == ["left"]
    press(page, "tie")
    assert site.outcomes() == ["left", "tie"]


@pytest.mark.slow
def test_two_judges_at_once_do_not_meet(site, sit):
    one, other = seat(sit(), site), seat(sit(viewport=PHONE), site)
    for k in range(3):
        press(one, "left")
        if k < 2:
            press(other, "right")
    expect(one.locator(".counter span")).to_have_text("3 of 4")
    expect(other.locator(".counter span")).to_have_text("2 of 4")
    by_judge: dict[str, list[str]] = {}
    for row in site.store.rows():
        by_judge.setdefault(row["judge"], []).append(row["outcome"])
    assert sorted(by_judge.values()) == [["left"] * 3, ["right"] * 2]


@pytest.mark.slow
def test_going_on_with_the_personal_link_on_another_device(site, sit):
    page = seat(sit(), site)
    press(page, "left")
    expect(page.locator(".undo")).to_be_visible()
    pair = names(page)
    follow(page, 'footer a[href="/link"]')
    link = page.locator("#link").input_value()
    phone = sit(viewport=PHONE)
    phone.goto(link)
    expect(phone).to_have_url(f"{site.url}/pair")
    assert names(phone) == pair
    press(phone, "right")
    expect(phone.locator(".counter span")).to_have_text("2 of 4")
    assert site.outcomes() == ["left", "right"]


# Leaving.


@pytest.mark.parametrize("how", everyday(["click", "escape", "no scripts"], "escape"))
def test_the_quick_exit_leaves_no_pair_behind(site, sit, elsewhere, how):
    page = seat(sit(java_script_enabled=how != "no scripts"), site)
    page.goto(f"{site.url}/privacy")
    page.goto(f"{site.url}/pair")
    shown = names(page)
    if how == "escape":
        page.keyboard.press("Escape")
    else:
        page.locator("[data-leave]").click()
    page.wait_for_url(elsewhere)
    page.go_back()
    page.wait_for_load_state()
    assert page.url.startswith(site.url)
    text = page.inner_text("body")
    assert not any(name in text for name in [*shown, "Green", "greener"])
    assert "Green" not in page.title()
    page.get_by_role("button", name="Go on").click()
    expect(page).to_have_url(f"{site.url}/pair")
    assert names(page) == shown


@pytest.mark.slow
def test_the_page_is_empty_before_the_exit_has_answered(site, sit):
    page = seat(sit(), site)
    page.route("**/leave", lambda route: time.sleep(0.5) or route.continue_())
    seen = page.evaluate(
        """() => { document.querySelector("[data-leave]").click();
                   return [document.body.innerText, document.title]; }"""
    )
    assert seen == ["", "…"]


@pytest.mark.slow
def test_help_is_one_tap_away(site, sit):
    page = seat(sit(viewport=PHONE), site)
    follow(page, "header .help")
    expect(page.get_by_role("link", name="Samaritans: 116 123")).to_have_attribute(
        "href", "tel:116123"
    )


# Groups.


@pytest.mark.slow
def test_select_all_ticks_all_and_then_none(site, sit):
    page = seat(sit(), site)
    page.goto(f"{site.url}/groups")
    boxes = page.locator('input[name="group"]')
    assert boxes.count() == len(site.study.groups)
    button = page.get_by_role("button", name="Select all")
    button.click()  # all are ticked already
    assert page.locator('input[name="group"]:checked').count() == 0
    button.click()
    assert page.locator('input[name="group"]:checked').count() == boxes.count()
    expect(page).to_have_url(f"{site.url}/groups")


# Arabic.


def test_arabic_runs_from_the_right_and_sides_stay(site, sit):
    page = seat(sit(), site, language="ar")
    assert page.locator("html").get_attribute("dir") == "rtl"
    assert page.locator("h1").inner_text() == "أي حي أكثر خضرة؟"
    leave, progress = (page.locator(s).bounding_box() for s in (".leave", ".counter"))
    assert leave["x"] < progress["x"]
    left, right = (page.locator(f".side.{s}").bounding_box() for s in ("left", "right"))
    assert left["x"] < right["x"]
    answers = [page.locator(f'button[value="{s}"]').bounding_box() for s in ("left", "right")]
    assert answers[0]["x"] < answers[1]["x"]
    on_the_left = names(page)[0]
    press(page, "left")  # practice
    on_the_left = names(page)[0]
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".counter span")).to_have_text(re.compile("^2 "))
    (row,) = [row for row in site.store.rows() if row["kind"] == "new"]
    assert row["outcome"] == "left"
    assert site.study.items[row["left"]].name == on_the_left


# For everybody.

PATHS = ["/", "/groups", "/pair", "/thanks", "/link", "/withdraw", "/support", "/privacy", "/x"]


def test_axe_finds_nothing_on_the_pages_that_every_judge_sees(site, sit):
    page = sit(viewport=PHONE)
    page.goto(f"{site.url}/begin?language=ar")
    assert violations(page) == []
    seat(page, site, language="ar")
    assert violations(page) == []
    assert not is_wide(page)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("language", thorough(["en", "ar", "fr", "es"], "en", "es"))
def test_axe_finds_nothing_on_any_page(site, sit, elsewhere, size, language):
    page = sit(viewport=SIZES[size])
    page.goto(f"{site.url}/?language={language}")
    assert violations(page) == []
    page.goto(f"{site.url}/begin")
    assert violations(page) == []
    page.evaluate("document.querySelector('form').noValidate = true")
    follow(page, "main button.main")
    expect(page.get_by_role("alert")).to_be_visible()
    assert violations(page) == []
    join(page, site, language=language)
    press(page, "left")
    for path in PATHS:
        page.goto(site.url + path)
        assert violations(page) == [], path
        assert not is_wide(page), path
    page.goto(f"{site.url}/groups")
    for box in page.locator('input[name="group"]').all():
        box.uncheck()
    follow(page, "main button.main")
    assert violations(page) == []
    page.goto(f"{site.url}/withdraw")
    follow(page, "button.danger")
    assert violations(page) == []
    page.locator("[data-leave]").click()
    page.wait_for_url(elsewhere)
    page.goto(site.url)
    assert violations(page) == []


@pytest.mark.slow
def test_axe_would_find_something(site, sit):
    page = seat(sit(), site)
    page.evaluate("document.documentElement.removeAttribute('lang')")
    assert violations(page) != []


@pytest.mark.slow
def test_enlarged_fourfold_a_page_is_still_read_and_answered(site, sit):
    """1280 by 1024 at 400 %: nothing sideways, and no bar in front of what is read."""
    page = seat(sit(viewport={"width": 320, "height": 256}), site)
    assert not is_wide(page)
    assert page.locator(".bar").evaluate("bar => getComputedStyle(bar).position") == "static"
    press(page, "tie")
    expect(page.locator(".undo")).to_be_visible()


@pytest.mark.slow
def test_targets_are_large_enough_for_a_thumb(site, sit):
    page = seat(sit(viewport=PHONE, has_touch=True), site)
    press(page, "left")
    for path in ("/", "/pair", "/groups", "/link", "/withdraw", "/support"):
        page.goto(site.url + path)
        large = "button:visible, header nav a, footer a, .tick:visible"
        for target in page.locator(large).all():
            box = target.bounding_box()
            assert box["height"] >= 44, (path, target.inner_text())


@pytest.mark.slow
def test_the_map_is_fetched_once_for_many_pairs(site, sit, monkeypatch):
    """The server is asked once; after that the browser has it."""
    asked = []
    real = Asset.answer

    def counted(asset: Asset, request, **cache):
        asked.append(request.url.path)
        return real(asset, request, **cache)

    monkeypatch.setattr(Asset, "answer", counted)
    page = seat(sit(), site)
    for _ in range(3):
        press(page, "left")
        page.wait_for_load_state("networkidle")
    assert asked.count("/map.svg") == 1
    assert asked.count("/static/site.css") == 1


# Graded answers.

GRADES = ["left_2", "left", "tie", "right", "right_2"]
LINES_OF_WORDS = """button => {
  const text = button.querySelector("span").firstChild;
  const lines = [...text.data.matchAll(/\\S+/g)].map((word) => {
    const range = document.createRange();
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;
  });
  return Math.max(...lines);
}"""
"""On how many lines the words of a button stand, each for itself."""


@pytest.fixture
def graded(site) -> Iterator[Site]:
    """The same study with five grades, on a site of its own."""
    study = edited(site.study, {"grades = 0": "grades = 5"})
    with served(study) as match:
        yield match


def stored_grades(site: Site) -> list[tuple[str, int | None]]:
    rows = site.store.rows()
    return [(row["outcome"], row["grade"]) for row in rows if row["undone"] is None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "language", "scripts"),
    [
        ("phone", "en", False),
        ("phone", "ar", True),
        ("phone", "es", True),
        ("desk", "en", True),
    ],
)
def test_the_way_with_five_grades(graded, browser, size, language, scripts):
    """From the first pair to thanks, with each grade once, one of them taken back."""
    context = browser.new_context(viewport=SIZES[size], java_script_enabled=scripts)
    page = seat(context.new_page(), graded, language=language)
    press(page, "right_2")  # for practice
    buttons = page.locator(".bar .answer").all()
    assert [button.get_attribute("value") for button in buttons] == GRADES
    boxes = [button.bounding_box() for button in buttons]
    # In order from left to right whatever the language, none over the other, each for a thumb.
    assert all(a["x"] + a["width"] <= b["x"] for a, b in pairwise(boxes))
    assert len({box["y"] for box in boxes}) == 1
    for box in boxes:
        assert min(box["width"], box["height"]) >= 44
        assert box["y"] + box["height"] <= SIZES[size]["height"]
    assert boxes[0]["width"] == pytest.approx(boxes[-1]["width"], abs=1)
    # No word is torn apart, and words of both sides are the same.
    for button in buttons:
        assert button.evaluate(LINES_OF_WORDS) == 1
    words = page.locator(".bar .answer > span").all_inner_texts()
    assert words == words[::-1]
    assert not is_wide(page)
    if scripts:
        assert violations(page) == []
    for name in ("left_2", "right_2"):
        press(page, name)
    follow(page, ".undo")
    for name in ("left", "tie", "right"):
        press(page, name)
    expect(page.locator("main .main")).to_be_visible()
    assert page.url.endswith("/thanks")
    assert stored_grades(graded) == [
        ("right", 2), ("left", 2), ("left", 1), ("tie", None), ("right", 1),
    ]  # fmt: skip
    context.close()


@pytest.mark.slow
def test_keys_press_every_grade(graded, browser):
    context = browser.new_context(viewport=DESK)
    page = seat(context.new_page(), graded)
    press(page, "left")  # for practice
    keys = {"5": ("right", 2), "ArrowLeft": ("left", 1), "3": ("tie", None), "1": ("left", 2)}
    for key in keys:
        expect(page.locator(".keys")).to_be_visible()
        with page.expect_navigation():
            page.keyboard.press(key)
    assert stored_grades(graded)[1:] == list(keys.values())
    page.goto(f"{graded.url}/pair")
    keys_list = page.locator(".keys dl").inner_text()
    assert "Much more (A)" in keys_list
    assert "Much more (B)" in keys_list
    context.close()
