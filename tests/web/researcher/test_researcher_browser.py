"""The researcher's way in a real browser: phone and desk, scripts on and off, a whole study."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import uvicorn
from playwright.sync_api import Page, expect
from pypdf import PdfReader

from support.browser import is_wide, violations
from support.simulated_judges import answers, crowd, link_in, meanwhile
from support.site import edited, free_port, running
from support.snapshots import add_snapshot, body, judge_row
from tiewise.geo.areas import Areas
from tiewise.study.create import create_study
from tiewise.study.inviting.invitation_store import InvitationStore
from tiewise.study.inviting.people import Invitee
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study
from tiewise.study.values import Phase, TokenPurpose
from tiewise.web.app import make_app
from tiewise.web.live.cache import pack_rows
from tiewise.web.researcher.passwords import set_password

PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 800}
FITTING = 180_000
"""Milliseconds for what has to be fitted first, perhaps compiled, on a machine with other work."""
FLAG = {"kind": "left", "says": "Chose the left item in 39 of 40 decided comparisons."}


class Site:
    """A study that is being served, with pictures put in by hand."""

    def __init__(self, study: Study, store: JudgeStore, url: str) -> None:
        self.study, self.store, self.url = study, store, url
        self.researcher_store, self.ids = ResearcherStore(store), list(study.items)

    def picture(
        self, highest: int, *, comparisons: int = 20, never: tuple[int, ...] = (), **other
    ) -> None:
        """A new picture in which this item is the highest, and those of `never` uncompared."""
        median = [2.0 if k == highest else -2.0 * k / 100 for k in range(len(self.ids))]
        other["comparisons"] = [0 if k in never else 10 for k in range(len(self.ids))]
        rows = [judge_row("judge-0"), judge_row("judge-1", flags=[FLAG])]
        add_snapshot(
            self.store, body(self.ids, median, **other), comparisons=comparisons,
            beside={"judges": pack_rows(rows)},
        )  # fmt: skip


@contextmanager
def served(study: Study) -> Iterator[str]:
    """The site in a thread of this process; nobody fits."""
    port = free_port()
    app = make_app(study, study.store(), secret="b" * 40)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


def made(folder: Path) -> Study:
    Areas.synthetic(12, rng=3).to_gpkg(folder / "wards.gpkg")
    return create_study(
        folder / "study", question="Which ward is greener?", title="Green wards",
        areas=folder / "wards.gpkg",
    )  # fmt: skip


@pytest.fixture
def site(tmp_path) -> Iterator[Site]:
    study = made(tmp_path)
    store = study.store()
    ids = list(study.items)
    store.import_judgements(
        [
            {"judge": f"judge-{k % 2}", "left": ids[k % 11], "right": ids[11], "outcome": "left"}
            for k in range(20)
        ],
        consent="1",
    )
    with served(study) as url:
        result = Site(study, store, url)
        result.picture(3, comparisons=15, reliability=0.4)
        result.picture(0)
        yield result


@pytest.fixture
def watch(sit, site) -> Callable[..., Page]:
    """A researcher who signed in with a one-time link."""

    def begin(path: str = "/watch", **looks: object) -> Page:
        page = sit(**looks)
        who = site.researcher_store.researcher("Ada") or site.researcher_store.add_researcher("Ada")
        secret = site.researcher_store.make_token(TokenPurpose.SIGN_IN, researcher=who, by=who)
        page.goto(f"{site.url}/sign-in/{secret}")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()
        page.goto(site.url + path)
        return page

    return begin


def fills(page: Page, map_: str = "quality") -> dict[str, str]:
    """The colour of every area."""
    result: dict[str, str] = page.evaluate(
        """(map) => Object.fromEntries([...document.querySelectorAll(`[data-map=${map}] [data-k]`)]
           .map((area) => [area.dataset.k, area.getAttribute("fill")]))""",
        map_,
    )
    return result


def hatched(page: Page) -> list[str]:
    """The items whose areas are hatched, the same on both maps."""
    result: list[list[str]] = page.evaluate(
        """() => [...document.querySelectorAll("[data-map]")].map((map) => {
           const there = [...map.querySelectorAll("[data-hatches] use")]
             .map((area) => area.getAttribute("href"));
           return [...map.querySelectorAll("[data-k]")]
             .filter((area) => there.includes(area.getAttribute("href")))
             .map((area) => area.dataset.k);
        })"""
    )
    one, other = result
    assert one == other
    return one


# Every page, as axe sees it.


@pytest.mark.parametrize(
    "looks",
    [pytest.param(PHONE, id="phone"), pytest.param(DESK, id="desk")],
)
@pytest.mark.slow
def test_every_page_is_accessible_and_fits(watch, site, looks):
    site.store.import_judgements(
        [{"judge": "bad", "left": site.ids[0], "right": site.ids[1], "outcome": "tie"}],
        consent="1",
    )
    site.researcher_store.exclude("bad", "clicked at random")
    InvitationStore(site.store).add(
        [Invitee("Ann of Ashby", "ann@ashby.example"), Invitee("عائشة")]
    )
    page = watch(viewport=looks)
    share = site.researcher_store.make_token(TokenPurpose.SHARE, label="council")
    pages = (
        "/watch", "/watch/items", "/watch/items?by=name", "/watch/items?q=a", "/watch/items/0",
        "/watch/judges", "/watch/judges?by=misfit", "/watch/judges/bad", "/watch/invite",
        "/watch/history",
        "/watch/run", "/watch/trail", "/watch/erase", "/watch/password", f"/shared/{share}",
        "/sign-in",
    )  # fmt: skip
    for path in pages:
        page.goto(site.url + path)
        assert violations(page) == [], path
        assert not is_wide(page), path
    page.goto(f"{site.url}/watch/invite")
    page.get_by_role("button", name="Links with QR codes").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("2 fresh links")
    assert violations(page) == []
    assert not is_wide(page)


@pytest.mark.slow
def test_judges_are_cards_on_a_phone_and_a_table_on_a_desk(watch, site):
    """On a phone each figure stands below the one before it, with its name beside it."""
    for looks, columns in ((PHONE, 1), (DESK, 8)):
        page = watch("/watch/judges", viewport=looks)
        cells = page.locator("table.judges tbody tr").first.locator("td[data-label]")
        boxes = [cell.bounding_box() for cell in cells.all()]
        assert len(boxes) == 8
        assert len({round(box["y"]) for box in boxes}) == 8 // columns
        names = cells.evaluate_all(
            "cells => cells.map((cell) => getComputedStyle(cell, '::before').content)"
        )
        assert ('"Median time"' in names) == (columns == 1)


@pytest.mark.slow
def test_the_overview_begins_with_the_map_and_its_details_are_folded(watch, site):
    for looks in (PHONE, DESK):
        page = watch(viewport=looks)
        first = page.locator("main section").first
        expect(first.locator("[data-map=quality]")).to_have_count(1)
        assert first.bounding_box()["y"] < looks["height"]
        folded = page.locator(".folded > details")
        expect(folded).to_have_count(4)
        assert folded.evaluate_all("all => all.every((one) => !one.open)")
        expect(page.locator("[data-part=state] .lead")).to_have_count(1)


@pytest.mark.slow
def test_the_head_of_the_table_of_items_stays(watch, site):
    page = watch(viewport={"width": 1280, "height": 300})
    page.goto(f"{site.url}/watch/items")
    page.locator(".scroll.tall").evaluate("region => region.scrollTo(0, region.scrollHeight)")
    assert page.locator(".scroll.tall").evaluate("region => region.scrollTop") > 50
    head, region = page.locator(".scroll.tall thead th").first, page.locator(".scroll.tall")
    assert abs(head.bounding_box()["y"] - region.bounding_box()["y"]) < 2
    last = page.locator(".scroll.tall tbody tr").last.bounding_box()
    assert last["y"] >= head.bounding_box()["y"] + head.bounding_box()["height"] - 1


@pytest.mark.slow
def test_the_shares_of_graded_answers_are_accessible_and_fit(site, sit):
    study = edited(site.study, {"grades = 0": "grades = 4", "ties = true": "ties = false"})
    grades = [
        {"answer": side, "grade": grade, "count": 5}
        for side, grade in (("left", 2), ("left", 1), ("right", 1), ("right", 2))
    ]
    cuts = [{"median": cut, "low": cut, "high": cut} for cut in (0.0, 1.0)]
    share = [[0.2, 0.5], [0.3, 0.3], [0.3, 0.15], [0.2, 0.05]]
    curves = {"gap": [0.0, 2.0], "share": share}
    site.picture(1, tie=None, tie_curve=None, grades=grades, cuts=cuts, grade_curves=curves)
    who = site.researcher_store.researcher("Ada") or site.researcher_store.add_researcher("Ada")
    with served(study) as url:
        for size in (PHONE, DESK):
            page = sit(viewport=size)
            secret = site.researcher_store.make_token(TokenPurpose.SIGN_IN, researcher=who, by=who)
            page.goto(f"{url}/sign-in/{secret}")
            page.get_by_role("button", name="Sign in").click()
            page.goto(f"{url}/watch")
            page.locator("#ties").click()
            names = page.locator(".shares li").all_inner_texts()
            assert [name.strip() for name in names] == [
                "Much more: the lower one", "More: the lower one", "More", "Much more",
            ]  # fmt: skip
            assert (
                "Cut between these answers: 1.00" in page.locator("[data-part=ties]").inner_text()
            )
            assert violations(page) == []
            assert not is_wide(page)


@pytest.mark.slow
def test_forms_that_are_shown_again_are_accessible(browser, site):
    """Not at `sit`, whose browser complains of a page with status 403."""
    researchers = site.researcher_store
    ada = researchers.add_researcher("Ada")
    set_password(researchers, ada, "correct horse")
    page = browser.new_page()
    page.goto(f"{site.url}/sign-in")
    for password in ("wrong", "correct horse"):
        page.get_by_label("Name").fill("Ada")
        page.get_by_label("Password").fill(password)
        page.get_by_role("main").get_by_role("button", name="Sign in").click()
        if password == "wrong":
            expect(page.get_by_role("alert")).to_contain_text("do not belong together")
            assert violations(page) == []
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.goto(f"{site.url}/watch/password")
    for label in ("Current password", "New password", "The same again"):
        page.get_by_label(label).fill("another one")
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_role("alert")).to_contain_text("not your current password")
    assert violations(page) == []
    researchers.set_phase(Phase.CLOSED)
    page.goto(f"{site.url}/watch/erase")
    page.get_by_label("to confirm").fill("erase")
    page.get_by_label("Your password").fill("wrong")
    page.get_by_role("button", name="Erase for good").click()
    expect(page.get_by_role("alert")).to_contain_text("not your password")
    assert violations(page) == []
    page.close()


# What is new arrives by itself.


def test_a_new_picture_arrives_by_itself(watch, site):
    page = watch()
    before = fills(page)
    assert before["0"] == "#67001f"
    site.picture(7, comparisons=33)
    expect(page.locator(".age")).to_contain_text("From 33 judgements")
    after = fills(page)
    assert after["7"] == "#67001f"
    assert after["0"] != before["0"]
    first = page.locator(".ranked tbody tr").first
    expect(first).to_contain_text(site.study.items[site.ids[7]].name)


@pytest.mark.slow
def test_news_leave_focus_and_the_open_details_alone(watch, site):
    page = watch()
    page.locator("[data-map=quality] [data-k='5']").click()
    details = page.locator("[data-details]")
    expect(details).to_contain_text(site.study.items[site.ids[5]].name)
    expect(details).to_contain_text("−0.10")
    page.locator("#days").click()
    page.get_by_text("As a table").click()
    link = page.locator("[data-part=ranked] a[data-k='0']")
    link.focus()
    site.picture(5, comparisons=34)
    expect(page.locator(".age")).to_contain_text("From 34 judgements")
    assert page.evaluate("document.activeElement.dataset.k") == "0"
    assert page.evaluate("document.querySelector('[data-part=days] details').open")
    page.locator("h1").focus()
    page.mouse.move(5, 5)
    expect(details).to_contain_text(site.study.items[site.ids[5]].name)
    expect(details).to_contain_text("+2.00")


@pytest.mark.slow
def test_news_do_not_move_the_page(watch, site):
    page = watch(viewport=PHONE)
    page.locator("#coverage").scroll_into_view_if_needed()
    where = page.evaluate("scrollY")
    assert where > 500
    site.picture(2, comparisons=35)
    expect(page.locator(".age")).to_contain_text("From 35 judgements")
    assert abs(page.evaluate("scrollY") - where) < 60


@pytest.mark.slow
def test_the_first_picture_appears_without_anybody_asking(sit, tmp_path):
    study = made(tmp_path)
    with served(study) as url:
        site = Site(study, study.store(), url)
        who = site.researcher_store.add_researcher("Ada")
        page = sit()
        secret = site.researcher_store.make_token(TokenPurpose.SIGN_IN, researcher=who)
        page.goto(f"{url}/sign-in/{secret}")
        page.get_by_role("button", name="Sign in").click()
        page.goto(f"{url}/watch")
        expect(page.locator(".age")).to_have_text("No judgements yet.")
        site.picture(1)
        expect(page.locator("[data-map=quality]")).to_be_visible()


@pytest.mark.slow
def test_a_lost_network_is_said_and_survived(watch, site):
    page = watch()
    page.context.set_offline(True)
    expect(page.locator("[data-offline]")).to_be_visible()
    site.picture(4, comparisons=36)
    page.context.set_offline(False)
    expect(page.locator("[data-offline]")).to_be_hidden()
    expect(page.locator(".age")).to_contain_text("From 36 judgements")


@pytest.mark.slow
def test_whoever_is_signed_out_elsewhere_comes_to_the_sign_in(watch, site):
    page = watch()
    site.researcher_store.add_researcher("Bo")
    assert site.researcher_store.remove_researcher("Ada")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


@pytest.mark.slow
def test_other_pages_offer_what_is_new_and_do_not_take_the_table_away(watch, site):
    page = watch("/watch/items")
    expect(page.locator("[data-newer]")).to_be_hidden()
    site.picture(9, comparisons=37)
    expect(page.locator("[data-newer]")).to_be_visible()
    first = page.locator("[data-row]").first
    expect(first).to_contain_text(site.study.items[site.ids[0]].name)
    page.get_by_role("link", name="Show it").click()
    expect(first).to_contain_text(site.study.items[site.ids[9]].name)


# Pointing, tapping, keys.


def test_a_tap_tells_of_an_area_and_a_switch_shows_the_other_map(watch, site):
    page = watch(viewport=PHONE, has_touch=True, is_mobile=True)
    expect(page.locator("[data-map=doubt]")).to_be_hidden()
    page.locator("[data-map=quality] [data-k='6']").tap()
    expect(page.locator("[data-details]")).to_contain_text(site.study.items[site.ids[6]].name)
    page.get_by_role("radio", name="Uncertainty").check()
    expect(page.locator("[data-map=quality]")).to_be_hidden()
    expect(page.locator("[data-map=doubt]")).to_be_visible()
    expect(page.locator("[data-details]")).to_contain_text("sd 0.25")


@pytest.mark.slow
def test_keys_reach_the_figures_of_an_area(watch, site):
    page = watch()
    page.locator("[data-part=ranked] a").first.focus()
    expect(page.locator("[data-details]")).to_contain_text(site.study.items[site.ids[0]].name)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text(site.study.items[site.ids[0]].name)


# The past.


def test_the_past_is_replayed_on_the_map_and_in_the_list(watch, site):
    page = watch("/watch/history")
    slider = page.get_by_role("slider")
    expect(slider).to_be_visible()
    now = fills(page)
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("[data-when]")).to_contain_text("15 judgements, reliability 0.40")
    first = page.locator("[data-list] tbody tr").first
    expect(first).to_contain_text(site.study.items[site.ids[3]].name)
    assert fills(page)["3"] == "rgb(103,0,31)"  # the darkest red
    assert fills(page) != now
    page.get_by_role("button", name="Play").click()
    expect(page.locator("[data-when]")).to_contain_text("20 judgements, reliability 0.70")
    expect(first).to_contain_text(site.study.items[site.ids[0]].name)
    expect(page.get_by_role("button", name="Play")).to_be_visible()


@pytest.mark.slow
def test_the_replay_is_on_the_scale_of_the_study(watch, site):
    """Moments from before it had one, too: an Elo rating is a straight line of quality."""
    mean = np.array([2.0, *(-0.02 * k for k in range(1, 12))])
    facts = {"name": "elo", "title": "Elo rating", "digits": 0, "signed": False, "middle": 1500,
             "line": [1500, 100], "limits": None, "meaning": ["1500 is the average."]}  # fmt: skip
    scores = zip(("score", "score_low", "score_high"), (0, -50, 50), strict=True)
    site.picture(
        0, comparisons=40, scale=facts, score_sd=[25.0] * 12,
        **{name: (1500 + 100 * mean + by).tolist() for name, by in scores},
    )  # fmt: skip
    page = watch("/watch/history")
    first, panel = page.locator("[data-list] tbody tr").first, page.locator("[data-details]")
    expect(first).to_contain_text("1650 to 1750")
    page.locator("[data-map=quality] [data-k='0']").click()
    expect(panel).to_contain_text("Elo rating1700")
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("[data-when]")).to_contain_text("20 judgements")
    expect(first).to_contain_text("1651 to 1749")  # twice the standard deviation to both sides
    assert fills(page)["0"] == "rgb(103,0,31)"
    expect(panel).to_contain_text("sd 25")


@pytest.mark.slow
def test_moments_that_were_too_early_are_muted_in_a_replay(watch, site):
    """Ten judgements for twelve wards, three of them not compared; then enough of all."""
    site.picture(5, comparisons=10, never=(2, 7, 9))
    site.picture(0, comparisons=21)
    page = watch("/watch/history")
    expect(page.get_by_role("slider")).to_be_visible()
    ranked, note = page.locator("[data-ranked]"), page.locator("[data-early]")
    expect(ranked).to_be_visible()
    expect(note).to_be_hidden()
    assert hatched(page) == []
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowLeft")
    expect(note).to_contain_text("10 judgements for 12 areas")
    expect(ranked).to_be_hidden()
    expect(page.locator("[data-hatch-key]").first).to_contain_text("not compared yet (3)")
    assert hatched(page) == ["2", "7", "9"]
    assert violations(page) == []
    page.locator("[data-map=quality] [data-k='7']").click()
    expect(page.locator("[data-details]")).to_contain_text("too early to say")
    page.keyboard.press("ArrowRight")
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    expect(ranked).to_be_visible()
    expect(note).to_be_hidden()
    assert hatched(page) == []


@pytest.mark.slow
def test_an_open_page_follows_what_is_compared(watch, site):
    """Hatching goes where the first comparison comes, and comes back where it is taken out."""
    site.picture(0, comparisons=11, never=(4, 6))
    page = watch()
    expect(page.locator(".note.early")).to_be_visible()
    assert hatched(page) == ["4", "6"]
    assert violations(page) == []
    site.picture(0, comparisons=30, never=(6,))
    expect(page.locator(".note.early")).to_have_count(0)
    assert hatched(page) == ["6"]
    expect(page.locator("[data-figures].early")).to_have_count(0)
    expect(page.locator(".ranked")).to_be_visible()
    page.locator("[data-map=quality] [data-k='6']").click()
    expect(page.locator("[data-details]")).to_contain_text("borrowed from its neighbours")
    site.picture(0, comparisons=29, never=(4, 6))
    expect(page.locator(".age")).to_contain_text("From 29 judgements")
    assert hatched(page) == ["4", "6"]


@pytest.mark.slow
def test_without_scripts_everything_is_there_to_read(watch, site):
    page = watch(java_script_enabled=False)
    expect(page.locator(".age")).to_contain_text("From 20 judgements")
    expect(page.locator("[data-map=quality]")).to_be_visible()
    page.goto(f"{site.url}/watch/history")
    expect(page.get_by_role("slider")).to_be_hidden()
    page.get_by_role("link", name="15 judgements").click()
    expect(page.locator("[data-list] tbody tr").first).to_contain_text(
        site.study.items[site.ids[3]].name
    )
    page.goto(f"{site.url}/watch/judges")
    page.locator(".cards summary").click()
    page.locator(".cards").get_by_label("Reason").fill("Always left")
    page.locator(".cards").get_by_role("button", name="Leave out of the fit").click()
    expect(page.locator(".done")).to_contain_text("The map follows within seconds")
    assert site.researcher_store.excluded() == {"judge-1": "Always left"}


# A whole study: nobody's hand but the researcher's, the judges' and the site's own worker.


def estimates(page: Page) -> np.ndarray:
    message = json.loads(page.locator("[data-part=data] [data-drawn]").text_content())
    return np.array([figures[2] for figures in message["figures"]])


def picture_of(page: Page, comparisons: int) -> np.ndarray:
    """What the overview shows once it is made from so many judgements."""
    expect(page.locator(".age")).to_contain_text(f"{comparisons} judgements", timeout=FITTING)
    return estimates(page)


@pytest.mark.slow
def test_a_study_from_the_first_link_to_the_briefing(sit, tmp_path):
    """The researcher watches the map find the truth, and loses a bad judge from it."""
    study = made(tmp_path)
    names = [item.name for item in study.items.values()]
    truth = dict(zip(names, np.linspace(2.5, -2.5, 12), strict=True))
    actual = np.array(list(truth.values()))
    with running(study.folder) as (url, server):
        page = sit()
        page.goto(link_in(server))
        page.get_by_role("button", name="Sign in").click()
        page.get_by_label("New password").fill("correct horse battery")
        page.get_by_label("The same again").fill("correct horse battery")
        page.get_by_role("button", name="Set password").click()
        page.get_by_role("link", name="Overview").click()
        expect(page.locator(".age")).to_have_text("No judgements yet.")

        meanwhile(crowd(url, truth, judges=4, count=20))
        expect(page.locator("[data-map=quality]")).to_be_visible(timeout=FITTING)
        picture_of(page, 80)
        colours = fills(page)
        meanwhile(crowd(url, truth, judges=6, count=20))
        before = picture_of(page, 200)
        assert fills(page) != colours
        assert np.corrcoef(actual, before)[0, 1] > 0.9

        def contrary(left: str, right: str) -> str:
            return "right" if truth[left] > truth[right] else "left"

        meanwhile(answers(url, contrary, 50))
        misled = picture_of(page, 250)

        page.get_by_role("navigation").get_by_role("link", name="Judges").click()
        card = page.locator(".cards > li").first
        # Where fits take long, figures of judges follow with the full picture, after a pause.
        for _ in range(30):
            if card.count() and "50 judgements" in card.inner_text():
                break
            page.wait_for_timeout(1000)
            page.reload()
        expect(card).to_contain_text("50 judgements")
        card.locator("summary").click()
        card.get_by_label("Reason").fill("Read the question the other way round")
        card.get_by_role("button", name="Leave out of the fit").click()
        expect(page.locator(".done")).to_contain_text("The map follows within seconds")
        page.get_by_role("link", name="Overview").click()
        after = picture_of(page, 200)
        # The same judgements as before: what is left is Monte Carlo error.
        assert np.abs(after - before).max() < np.abs(misled - before).max() / 3

        page.get_by_role("link", name="Run").click()
        page.get_by_role("button", name="Close the study").click()
        expect(page.get_by_role("heading", name="The study is closed")).to_be_visible()
        page.get_by_role("button", name="Make report and briefing").click()
        ready = page.get_by_role("link", name="briefing.pdf")
        expect(ready.or_(page.locator(".fault"))).to_be_visible(timeout=FITTING)
        assert page.locator(".fault").all_text_contents() == []
        with page.expect_download() as waiting:
            ready.click()
        briefing = PdfReader(waiting.value.path())
        assert len(briefing.pages) == 2
        assert "Which ward is greener?" in " ".join(briefing.pages[0].extract_text().split())
