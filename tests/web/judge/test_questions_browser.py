"""Several questions, reasons and practice in a real browser: phone and desk, keys, axe."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Page, expect

from support.browser import is_wide, violations
from support.site import copy_study, edited, free_port, with_database
from support.snapshots import body
from tiewise.data.answers import FIRST, TIE
from tiewise.pairing.policies import OrderedPair
from tiewise.study.asking.comment_store import CommentStore
from tiewise.study.create import create_study
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study
from tiewise.study.values import Kind, Reply, TokenPurpose
from tiewise.web.app import make_app
from tiewise.web.live.cache import pack_rows

WIDTHS = (320, 360, 768, 1280)
ITEMS = "abcdef"
BOTH = ("argument", "style")
SETTINGS = """
[[questions]]
id = "argument"
question = "Which argues better?"
higher = "better argued"

[[questions]]
id = "style"
question = "Which is better written?"
higher = "better written"
[questions.answers]
grades = 5

[reasons]
ask = "required"
choices = ["The evidence", "The structure"]

[[practice]]
left = "a"
right = "b"
answers = { argument = "left", style = "tie" }
why = "The first gives evidence."
"""
LANGUAGES = {'languages = ["en"]': 'languages = ["en", "ar"]'}


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("asked")
    rows = "".join(f"{item},Essay {item},A text about {item}.\n" for item in ITEMS)
    (place / "list.csv").write_text(f"item,name,description\n{rows}", encoding="utf-8")
    question = "Compare these two essays."
    made = create_study(place / "s", items=place / "list.csv", question=question, title="Essays")
    return with_database(edited(made, LANGUAGES, SETTINGS))


@contextmanager
def served(study: Study, wait: float = 0.0) -> Iterator[str]:
    """The address of its site; answers take so many seconds to arrive."""
    port = free_port()
    site = make_app(study, study.store(), secret="b" * 40)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if wait and scope.get("path") == "/answer":
            await asyncio.sleep(wait)
        await site(scope, receive, send)

    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "s")


def join(page: Page, url: str, language: str = "en") -> Page:
    page.goto(f"{url}/begin?language={language}")
    page.check("input[name=consent]")
    page.click("form[action='/begin'] button")
    page.wait_for_url("**/pair")
    return page


def looked_at(page: Page, name: str) -> None:
    """The page as it is, for whoever wants to see it; accessible, and not too wide."""
    place = os.environ.get("TIEWISE_PICTURES")
    if place:
        page.screenshot(path=str(Path(place, f"{name}.png")), full_page=True)
    assert violations(page) == [], name
    assert not is_wide(page), name


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "ar"])
def test_every_step_of_a_judge_is_accessible_and_fits(study, browser, language):
    with served(study) as url:
        for width in WIDTHS:
            context = browser.new_context(viewport={"width": width, "height": 740})
            page = join(context.new_page(), url, language)
            looked_at(page, f"together-{language}-{width}")
            page.check("input[name=outcome-argument][value=right]")
            page.check("input[name=outcome-style][value=tie]")
            page.click(".save button")
            page.wait_for_url("**/feedback")
            looked_at(page, f"feedback-{language}-{width}")
            page.click(".choices a.button")
            page.wait_for_url("**/pair")
            page.check("input[name=outcome-argument][value=right]")
            page.check("input[name=outcome-style][value=left_2]")
            page.click(".save button")
            page.wait_for_url("**/why")
            looked_at(page, f"why-{language}-{width}")
            page.click("form.why button")
            expect(page.locator("#missing")).to_be_visible()
            looked_at(page, f"why-missing-{language}-{width}")
            page.check("input[name=reason][value='1']")
            page.click("form.why button")
            page.wait_for_url("**/pair")
            context.close()


def test_what_is_ticked_survives_a_reload_and_keys_do_everything(study, browser):
    with served(study) as url:
        page = join(browser.new_context().new_page(), url)
        with page.expect_response(lambda answer: answer.status == 204):
            page.check("input[name=outcome-style][value=right_2]")
        page.reload()
        expect(page.locator("input[name=outcome-style][value=right_2]")).to_be_checked()
        assert list(study.store().rows()) == []
        # From one answer to the next with the arrows, on with the tabulator, sent with Enter.
        page.focus("input[name=outcome-argument][value=left]")
        with page.expect_response(lambda answer: answer.status == 204):
            page.keyboard.press("ArrowRight")
        expect(page.locator("input[name=outcome-argument][value=tie]")).to_be_checked()
        page.keyboard.press("Enter")
        page.wait_for_url("**/feedback")
        stored = {row["question"]: row["outcome"] for row in study.store().rows()}
        assert stored == {"argument": "tie", "style": "right"}
        targets = page.evaluate(
            "[...document.querySelectorAll('.button, button')].map(b => b.offsetHeight)"
        )
        assert min(height for height in targets if height) >= 24


@pytest.mark.slow
def test_undo_waits_for_what_is_being_kept_and_takes_back_that_alone(study, browser):
    """A tick that is still on its way is taken back, not the pair before."""
    with served(study, wait=0.5) as url:
        page = join(browser.new_context().new_page(), url)
        for question in BOTH:
            page.check(f"input[name=outcome-{question}][value=tie]")
        page.click(".save button")
        page.wait_for_url("**/feedback")
        page.click(".choices a.button")
        page.wait_for_url("**/pair")
        names = page.locator("h2 bdi").all_inner_texts()
        with page.expect_response("**/answer"), page.expect_navigation():
            page.check("input[name=outcome-style][value=right_2]")
            page.click("button.undo")
        assert page.locator("h2 bdi").all_inner_texts() == names
        page.reload()
        assert page.locator(":checked[type=radio]").count() == 0
        standing = [row for row in study.store().rows() if row["undone"] is None]
        assert len(standing) == 2


@pytest.mark.slow
def test_a_reason_is_kept_while_there_is_no_connection_and_sent_once(study, browser):
    with served(study) as url:
        context = browser.new_context(viewport={"width": 360, "height": 740})
        page = join(context.new_page(), url)
        for after in ("**/feedback", "**/why"):
            for question in BOTH:
                page.check(f"input[name=outcome-{question}][value=tie]")
            page.click(".save button")
            page.wait_for_url(after)
            if page.locator(".choices a.button").count():
                page.click(".choices a.button")
                page.wait_for_url("**/pair")
        page.check("input[name=reason][value='1']")
        page.check("input[name=reason][value='2']")
        page.fill("textarea", "A long\nand careful reason.")
        context.set_offline(True)
        page.click("form.why button.main")
        expect(page.locator("[data-offline]")).to_be_visible()
        looked_at(page, "why-offline-360")
        assert page.input_value("textarea") == "A long\nand careful reason."
        with page.expect_navigation(url="**/pair"):
            context.set_offline(False)
        (kept,) = CommentStore(study.store()).all()
        assert kept.comment == "A long\nand careful reason."
        assert kept.reasons == ("The evidence", "The structure")


def test_answers_are_large_enough_for_a_thumb(study, browser):
    with served(study) as url:
        context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True)
        page = join(context.new_page(), url)
        heights = page.evaluate(
            "[...document.querySelectorAll('.asked label, .save button')].map(b => b.offsetHeight)"
        )
        assert min(heights) >= 44


@pytest.mark.slow
def test_the_researchers_pages_are_accessible_and_fit(study, browser):
    store = study.store()
    judge = store.add_judge(consent="1", language="en", about={}).judge
    for k in range(5):
        offer = store.offer(judge, OrderedPair(ITEMS[k], ITEMS[k + 1]), Kind.NEW)
        replies = {"argument": Reply(FIRST), "style": Reply(TIE)}
        store.answer_questions(judge, offer.id, replies, BOTH)
        CommentStore(store).add(judge, offer.id, ["The evidence"], "It says why.\n\nTwice.")
    for question in BOTH:
        snapshots = SnapshotStore(store, question)
        assert snapshots.take_lease("live", "me", 600)
        values = body(list(ITEMS), [k / 2 for k in range(len(ITEMS))])
        rows = {"judges": pack_rows([])}
        assert snapshots.add(
            values, pulse=snapshots.pulse(), comparisons=40, seconds=1.0, holder="me", current=rows
        )
    researchers = ResearcherStore(store)
    share = researchers.make_token(TokenPurpose.SHARE, label="council")
    pages = (
        "/watch?question=style", "/watch/items?question=style", "/watch/questions",
        "/watch/comments", "/watch/comments?item=b", "/watch/run",
        f"/shared/{share}?question=style",
    )  # fmt: skip
    with served(study) as url:
        for width in (320, 1280):
            page = browser.new_context(viewport={"width": width, "height": 800}).new_page()
            page.goto(f"{url}/sign-in/{researchers.invite_researcher('Ada')}")
            page.click("main button")
            page.wait_for_url("**/watch**")
            for path in pages:
                page.goto(url + path)
                name = path.strip("/").replace("/", "-").replace("?", "-").replace("=", "-")
                looked_at(page, f"{name.replace(share, 'x')}-{width}")
