"""The page of an item: its estimate, what judges see of it, and who answered what."""

from __future__ import annotations

import re

import pytest

from support.form_browser import Visitor
from support.judging import add_answer, add_judge
from support.site import edited
from support.snapshots import add_snapshot, body
from tiewise.data.answers import FIRST, SECOND
from tiewise.pairing.policies import OrderedPair
from tiewise.study.asking.comment_store import CommentStore
from tiewise.study.create import create_study
from tiewise.study.items.item_answers import item_answers, verdict_counts
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.values import Kind, Reply, TokenPurpose
from tiewise.web.app import make_app
from tiewise.web.researcher.items.item_page import PAGE

KEY = "k" * 40
ROWS = "item,name,group,description\na/1,Ash,North,Tall & slim\nb,Birch,South,\nc,Cedar,South,\n"
ANSWERS = [
    ("amy", "a/1", "b", "left"), ("amy", "c", "a/1", "left"), ("bob", "b", "a/1", "right"),
    ("bob", "a/1", "c", "tie"), ("cleo", "a/1", "b", "skip"), ("cleo", "b", "c", "left"),
]  # fmt: skip


@pytest.fixture
def study(tmp_path):
    (tmp_path / "items.csv").write_text(ROWS, encoding="utf-8")
    made = create_study(
        tmp_path / "trees", question="Which is taller?", items=tmp_path / "items.csv", noun="tree"
    )
    store = made.store()
    names = ("judge", "left", "right", "outcome")
    store.import_judgements([dict(zip(names, row, strict=True)) for row in ANSWERS], consent="1")
    add_snapshot(store, body(list(made.items), [0.5, 0.1, -0.6]))
    store.close()
    return made


def opened(study, path: str = "/watch/items/0"):
    store = study.store()
    return Visitor(make_app(study, store, secret=KEY)).sign_in().get(path)


def rows_of(page: str) -> list[str]:
    """The answers of the table as plain text."""
    table = page.partition('<table class="answers">')[2].partition("</table>")[0]
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", table, re.S)
    return [" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in rows]


def test_an_item_opens_with_everything_that_was_answered_about_it(study):
    page = opened(study).text
    assert '<h1 dir="auto">Ash</h1>' in page
    assert "Tall &amp; slim" in page
    assert "1 of 3" in page
    assert "+0.50" in page
    assert "0.00 to +1.00" in page
    shown = [re.sub(r" \d+ \w+ \d{4}, .*", "", row) for row in rows_of(page)]
    assert shown == [
        "Birch I don’t know cleo left", "Cedar About equal bob left", "Birch chosen bob right",
        "Cedar not chosen amy right", "Birch chosen amy left",
    ]  # fmt: skip


def test_counts_are_those_of_the_answers(study):
    store = study.store()
    counts = verdict_counts(store, "a/1")
    assert counts == {"chosen": 2, "other": 1, "tie": 1, "skip": 1}
    verdicts = [one.verdict for one in item_answers(store, "a/1")]
    assert {name: verdicts.count(name) for name in set(verdicts)} == counts


def test_practice_and_what_was_taken_back_are_left_out(study):
    store = study.store()
    judge, before = add_judge(store), verdict_counts(store, "a/1")
    add_answer(store, judge, OrderedPair("a/1", "b"), FIRST, Kind.PRACTICE)
    assert verdict_counts(store, "a/1") == before
    add_answer(store, judge, OrderedPair("a/1", "b"), FIRST)
    assert verdict_counts(store, "a/1")["chosen"] == before["chosen"] + 1
    store.undo(judge, of=2)
    assert verdict_counts(store, "a/1") == before
    assert judge.id not in {one.judge for one in item_answers(store, "a/1")}


def test_a_judge_who_is_left_out_is_marked(study):
    store = study.store()
    ResearcherStore(store).exclude("amy", "clicked at random")
    marked = [row for row in rows_of(opened(study).text) if "left out" in row]
    assert len(marked) == 2
    assert all(" amy " in row for row in marked)


def test_graded_answers_have_their_strength(study):
    graded = edited(study, {"grades = 0": "grades = 5"})
    store = graded.store()
    row = {"judge": "dan", "left": "a/1", "right": "b", "outcome": "left", "grade": 2}
    store.import_judgements([row], consent="1")
    assert rows_of(opened(graded).text)[0].startswith("Birch Much more, for this one dan")


def test_items_lead_to_each_other_and_back_to_the_table(study):
    page = opened(study, "/watch/items/1").text
    assert 'href="/watch/items/0"' in page
    assert 'href="/watch/items/2"' in page
    assert 'href="/watch/items#i1"' in page
    for path in ("/watch/items", "/watch"):
        assert 'href="/watch/items/0"' in opened(study, path).text


@pytest.mark.parametrize("number", ["3", "-1", "x", "1e0", "٠", "0" * 10, "%00", "0/1"])
def test_there_is_no_other_item(study, number):
    assert opened(study, f"/watch/items/{number}").status_code == 404


def test_before_the_first_picture_there_are_answers_and_no_estimate(tmp_path):
    (tmp_path / "items.csv").write_text(ROWS, encoding="utf-8")
    new = create_study(tmp_path / "s", question="Which is taller?", items=tmp_path / "items.csv")
    page = opened(new).text
    assert "There is no estimate yet." in page
    assert "Nobody has compared it yet." in page


def test_too_early_to_read_is_too_early_here(study):
    add_snapshot(study.store(), body(list(study.items), [0.5, 0.1, -0.6]), comparisons=2, pulse="2")
    page = opened(study).text
    assert "Too early to read" in page
    assert "+0.50" not in page


def test_many_answers_come_in_pages(study):
    store = study.store()
    row = {"judge": "eve", "left": "a/1", "right": "b", "outcome": "left"}
    store.import_judgements([row] * (2 * PAGE), consent="1")
    first, last = opened(study).text, opened(study, "/watch/items/0?page=3").text
    assert (len(rows_of(first)), len(rows_of(last))) == (PAGE, len(ANSWERS) - 1)
    assert "1 to 100 of 205" in first
    assert "page=2#answers" in first
    assert "201 to 205 of 205" in last
    assert rows_of(opened(study, "/watch/items/0?page=99").text) == rows_of(last)
    for odd in ("0", "-1", "x", "9" * 30):
        assert "1 to 100 of 205" in opened(study, f"/watch/items/0?page={odd}").text


def test_partners_are_led_to_no_item(study):
    store = study.store()
    secret = ResearcherStore(store).make_token(TokenPurpose.SHARE, label="council")
    partner = Visitor(make_app(study, store, secret=KEY))
    assert "/watch/items" not in partner.get(f"/shared/{secret}").text
    assert partner.get("/watch/items/0").url.path == "/sign-in"


def test_each_question_has_its_answers_and_links_keep_to_it(study):
    more = "".join(
        f'[[questions]]\nid = "{id_}"\nquestion = "Which is {id_}?"\n' for id_ in ("tall", "old")
    )
    asking = edited(study, {}, more)
    store = asking.store()
    judge = add_judge(store)
    offer = store.offer(judge, OrderedPair("a/1", "b"), Kind.NEW)
    replies = {"tall": Reply(FIRST), "old": Reply(SECOND)}
    assert store.answer_questions(judge, offer.id, replies, ("tall", "old"))
    assert verdict_counts(store, "a/1", "tall") == {"chosen": 1}
    assert verdict_counts(store, "a/1", "old") == {"other": 1}
    app = make_app(asking, store, secret=KEY)
    page = Visitor(app).sign_in().get("/watch/items/0?question=old").text
    assert rows_of(page)[0].startswith("Birch not chosen")
    assert 'href="/watch/items/1?question=old"' in page


def test_comments_on_its_pairs_are_beside_an_item(study):
    asking = edited(study, {}, '[reasons]\nask = "optional"\n')
    store = asking.store()
    judge = add_judge(store)
    offer = add_answer(store, judge, OrderedPair("a/1", "b"))
    assert CommentStore(store).add(judge, offer, [], "It has <b>more</b> room to grow")
    page = opened(asking).text
    assert "Comments: 1" in page
    assert "It has &lt;b&gt;more&lt;/b&gt; room to grow" in page
    assert "room to grow" not in opened(asking, "/watch/items/2").text
