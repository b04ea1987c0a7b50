"""Several questions, reasons and practice on the site: asked, kept, taken back, shown and read."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from support.form_browser import Visitor
from support.races import Asked, race
from support.site import copy_study, edited, with_database
from tiewise.data.answers import FIRST, SECOND
from tiewise.pairing.policies import OrderedPair
from tiewise.study.asking.comment_store import CommentStore
from tiewise.study.create import create_study
from tiewise.study.schema import comments
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study
from tiewise.study.values import Kind, Reply, TokenPurpose
from tiewise.web.app import make_app
from tiewise.web.live.worker import live_fit
from tiewise.web.security import RateLimit, RateLimits

ITEMS = "abcdefgh"
BOTH = ("age", "beauty")
QUESTIONS = """
[[questions]]
id = "age"
question = "Which is older?"
higher = "older"

[[questions]]
id = "beauty"
question = "Which is more beautiful?"
higher = "more beautiful"
weight = 3.0
[questions.answers]
skips = false
grades = 5
"""
IN_TURN = {'languages = ["en"]': 'languages = ["en"]\nasked = "in turn"'}
WHY = """
[reasons]
ask = "{}"
every = 2
question = "What made you choose?"
choices = ["Its bark", "Its crown"]
"""
PRACTICE = """
[[practice]]
left = "a"
right = "b"
answer = "left"
why = "Ash is a hundred years older."
"""
NO_LIMIT = RateLimits(*[RateLimit(10**9, 60)] * len(RateLimits()))
AT_ONCE = 50


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("questions")
    names = "".join(f"{item},Tree {item}\n" for item in ITEMS)
    (place / "list.csv").write_text(f"item,name\n{names}", encoding="utf-8")
    made = create_study(
        place / "s", items=place / "list.csv", question="Compare two trees.", target=2
    )
    return with_database(made)


def site(template: Study, folder: Path, more: str, swaps: dict[str, str] | None = None) -> Any:
    study = edited(copy_study(template, folder), swaps or {}, more)
    return make_app(study, study.store(), secret="k" * 40, limits=NO_LIMIT)


def stored(visitor: Visitor) -> list[tuple[str, str, int | None]]:
    rows = visitor.client.app.state.site.store.rows()
    return [(r["question"], r["outcome"], r["grade"]) for r in rows if r["undone"] is None]


# Together.


def test_questions_are_asked_together_and_each_has_its_own_answers(template, tmp_path):
    judge = Visitor(site(template, tmp_path / "s", QUESTIONS)).join()
    assert judge.heading == "Compare two trees."
    radios = [t for name, t in judge.page.tags if t.get("type") == "radio"]
    ages = [t["value"] for t in radios if t["name"] == "outcome-age"]
    beauties = [t["value"] for t in radios if t["name"] == "outcome-beauty"]
    assert ages == ["left", "tie", "right", "skip"]
    assert beauties == ["left_2", "left", "tie", "right", "right_2"]
    judge.send("/answer", **{"outcome-age": "right", "outcome-beauty": "left_2"})
    assert judge.path == "/pair"
    assert stored(judge) == [("age", "right", None), ("beauty", "left", 2)]
    assert "2 of 2" in judge.answer.text


def test_half_given_answers_survive_a_reload(template, tmp_path):
    judge = Visitor(site(template, tmp_path / "s", QUESTIONS)).join()
    pair = judge.names()
    judge.send("/answer", **{"outcome-beauty": "tie"})
    for _ in range(2):
        assert judge.names() == pair
        ticked = [t for _, t in judge.page.tags if t.get("type") == "radio" and "checked" in t]
        assert [(t["name"], t["value"]) for t in ticked] == [("outcome-beauty", "tie")]
        assert "Please answer every question" in judge.answer.text
        judge.get("/pair")
    assert stored(judge) == []
    judge.send("/answer", **{"outcome-age": "left"})
    assert stored(judge) == [("beauty", "tie", None), ("age", "left", None)]


def test_a_script_keeps_what_is_ticked_without_ending_the_pair(template, tmp_path):
    judge = Visitor(site(template, tmp_path / "s", QUESTIONS)).join()
    fields = {"token": judge.token, "offer": judge.hidden("offer"), "half": "1"}
    answers = {"outcome-age": "left", "outcome-beauty": "tie"}
    assert judge.client.post("/answer", data=fields | answers).status_code == 204
    assert stored(judge) == []
    judge.get("/pair")
    assert "Please answer every question" not in judge.answer.text
    judge.send("/answer")
    assert len(stored(judge)) == 2


def test_undo_takes_back_the_pair_or_what_is_half_given(template, tmp_path):
    judge = Visitor(site(template, tmp_path / "s", QUESTIONS)).join()
    first = judge.names()
    judge.send("/answer", **{"outcome-age": "right", "outcome-beauty": "left"})
    second = judge.names()
    judge.send("/answer", **{"outcome-age": "right"})
    judge.send("/undo")
    assert judge.names() == second
    assert not [t for _, t in judge.page.tags if t.get("type") == "radio" and "checked" in t]
    assert len(stored(judge)) == 2
    judge.send("/undo")
    assert judge.names() == first
    assert stored(judge) == []


def test_undo_of_what_a_script_has_just_kept_leaves_the_pair_before(template, tmp_path):
    """The page has the field that the script counts ticks in, before anything is ticked."""
    judge = Visitor(site(template, tmp_path / "s", QUESTIONS)).join()
    judge.send("/answer", **{"outcome-age": "right", "outcome-beauty": "left"})
    second = judge.names()
    fields = {"token": judge.token, "offer": judge.hidden("offer"), "half": "1"}
    judge.client.post("/answer", data=fields | {"outcome-age": "left"})
    (form,) = [one for one in judge.page.forms if one.action == "/undo"]
    assert dict(form.fields)["half"] == "0"
    judge.send("/undo", half="1")
    assert judge.names() == second
    assert len(stored(judge)) == 2


def test_nothing_ticked_is_said(template, tmp_path):
    judge = Visitor(site(template, tmp_path / "s", QUESTIONS)).join()
    radios = [t for _, t in judge.page.tags if t.get("type") == "radio"]
    assert all("required" in radio for radio in radios)
    assert "Please answer every question" not in judge.answer.text
    answer = judge.send("/answer")
    assert answer.status_code == 422
    assert "Please answer every question" in answer.text
    judge.send("/answer", **{"outcome-age": "right", "outcome-beauty": "left"})
    assert len(stored(judge)) == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"outcome-age": "left_2"}, {"outcome-beauty": "skip"}, {"outcome": "left"},
        {"outcome": "left", "question": "height"}, {"outcome-age": "left", "offer": "x"},
    ],
)  # fmt: skip
def test_answers_that_are_not_offered_are_refused(template, tmp_path, fields):
    judge = Visitor(site(template, tmp_path / "s", QUESTIONS)).join()
    sent = {"token": judge.token, "offer": judge.hidden("offer")} | fields
    assert judge.client.post("/answer", data=sent).status_code == 400
    assert stored(judge) == []


# In turn.


def test_questions_are_asked_in_turn_in_an_order_that_rotates(template, tmp_path):
    judge = Visitor(site(template, tmp_path / "s", QUESTIONS, IN_TURN)).join()
    asked = []
    for pair in range(2):
        names = judge.names()
        for step in (1, 2):
            assert f"Question {step} of 2" in judge.answer.text
            assert judge.names() == names
            asked.append(judge.hidden("question"))
            heading = judge.heading
            judge.get("/pair")  # a reload asks the same
            assert judge.heading == heading
            judge.judge("right")
        assert judge.path == ("/thanks" if pair else "/pair")
    assert asked == ["age", "beauty", "beauty", "age"]
    assert [one[0] for one in stored(judge)] == asked
    # Beyond the target, half a pair is no reason to say thanks again.
    judge.get("/pair")
    judge.judge("left")
    assert judge.path == "/pair"


# Fifty at once, and two tabs.


def test_fifty_answers_at_once_make_one_to_each_question(template, tmp_path):
    app = site(template, tmp_path / "s", QUESTIONS + WHY.format("optional").replace("2", "1"))
    judge = Visitor(app).join()
    cookies = {one.name: one.value for one in judge.client.cookies.jar}
    shared = {"token": judge.token, "offer": judge.hidden("offer")}
    sent = [
        {"outcome-age": "left"},
        {"outcome-beauty": "tie"},
        {"outcome-age": "right", "half": "1"},
    ]
    asked = [Asked("POST", "/answer", shared | sent[k % 3]) for k in range(AT_ONCE)]
    assert set(race(app, [(one, cookies) for one in asked])) <= {204, 303}
    assert sorted(question for question, _, _ in stored(judge)) == sorted(BOTH)
    why = Asked("POST", "/why", shared | {"reason": "1", "comment": "x"})
    assert set(race(app, [(why, cookies)] * AT_ONCE)) == {303}
    (kept,) = CommentStore(app.state.site.store).all()
    assert (kept.reasons, kept.comment) == (("Its bark",), "x")
    undo = Asked("POST", "/undo", {"token": judge.token, "answers": "1"})
    assert set(race(app, [(undo, cookies)] * AT_ONCE)) == {303}
    assert stored(judge) == []


def test_an_answer_of_an_old_tab_changes_nothing(template, tmp_path):
    judge = Visitor(site(template, tmp_path / "s", QUESTIONS)).join()
    old = {"token": judge.token, "offer": judge.hidden("offer")}
    judge.send("/answer", **{"outcome-age": "right", "outcome-beauty": "left"})
    judge.post("/answer", old | {"outcome-age": "left", "outcome-beauty": "left_2"})
    assert stored(judge) == [("age", "right", None), ("beauty", "left", 1)]


# Reasons.


def test_reasons_are_asked_after_every_second_pair_and_may_be_left_out(template, tmp_path):
    judge = Visitor(site(template, tmp_path / "s", WHY.format("optional"))).join()
    judge.judge("left")
    assert judge.path == "/pair"
    judge.judge("tie")
    assert judge.path == "/why"
    assert judge.heading == "What made you choose?"
    assert "About equal" in judge.answer.text
    judge.get("/pair")
    assert judge.path == "/why"
    judge.send("/why")
    assert judge.path == "/thanks"
    judge.get("/pair")
    assert judge.path == "/pair"
    assert list(CommentStore(judge.client.app.state.site.store).all()) == []


def test_a_required_reason_is_asked_for_until_there_is_one(template, tmp_path):
    judge = Visitor(site(template, tmp_path / "s", WHY.format("required"))).join()
    judge.judge("left")
    judge.judge("right")
    answer = judge.send("/why", comment="   ")
    assert (answer.status_code, judge.path) == (422, "/why")
    assert "Please say why" in answer.text
    judge.get("/pair")
    assert judge.path == "/why"
    judge.send("/why", reason=["2", "99"], comment="<b>tall</b>")
    (kept,) = CommentStore(judge.client.app.state.site.store).all()
    assert (kept.reasons, kept.comment) == (("Its crown",), "<b>tall</b>")


def test_a_reason_may_be_asked_of_each_question(template, tmp_path):
    """What was said of one stays in the form while that of another is missing."""
    each = WHY.format("required").replace("every = 2", "every = 1\nper_question = true")
    judge = Visitor(site(template, tmp_path / "s", QUESTIONS + each)).join()
    judge.send("/answer", **{"outcome-age": "right", "outcome-beauty": "left"})
    assert judge.path == "/why"
    assert judge.answer.text.count("Which is older?") == 1
    answer = judge.send("/why", **{"comment-age": "It is <old>", "reason-age": "2"})
    assert answer.status_code == 422
    assert answer.text.count("Please say why") == 1
    assert 'name="reason-age" value="2" checked' in answer.text
    assert "It is &lt;old&gt;</textarea>" in answer.text
    judge.send("/why", **{"comment-age": "It is <old>", "reason-beauty": "1"})
    assert judge.path != "/why"
    kept = CommentStore(judge.client.app.state.site.store).all()
    assert [(one.question, one.reasons, one.comment) for one in kept] == [
        ("age", ("Its crown",), "It is <old>"), ("beauty", ("Its bark",), ""),
    ]  # fmt: skip
    page = Visitor(judge.client.app).sign_in().get("/watch/comments").text
    assert "<code>beauty</code>" in page


def test_a_script_may_send_a_reason_again_and_is_told_where_to_go_on(template, tmp_path):
    judge = Visitor(site(template, tmp_path / "s", WHY.format("optional"))).join()
    judge.judge("left")
    judge.judge("right")
    sent = {"token": judge.token, "offer": judge.hidden("offer"), "comment": "Tall."}
    for _ in range(2):
        answer = judge.client.post("/why", data=sent, headers={"X-Next-Page": "?"})
        assert (answer.status_code, answer.headers["X-Next-Page"]) == (204, "/thanks")
    assert [one.comment for one in CommentStore(judge.client.app.state.site.store).all()] == [
        "Tall."
    ]


def test_a_comment_keeps_joined_letters_and_loses_what_shows_nothing(template, tmp_path):
    judge = Visitor(site(template, tmp_path / "s", WHY.format("required"))).join()
    judge.judge("left")
    judge.judge("right")
    assert judge.send("/why", comment="\u200d\u200f").status_code == 422
    joined = "می\u200cخواهم 👨\u200d👩\u200d👧 क्\u200dष"
    judge.send("/why", comment=f" {joined}\x07\u202e\n10\u00a0kg ")
    (kept,) = CommentStore(judge.client.app.state.site.store).all()
    assert kept.comment == f"{joined}\n10 kg"


def test_undo_of_an_answer_takes_its_reason_with_it(template, tmp_path):
    judge = Visitor(site(template, tmp_path / "s", WHY.format("required"))).join()
    judge.judge("left")
    judge.judge("right")
    judge.send("/undo")
    assert judge.path == "/pair"
    judge.judge("left")
    assert judge.path == "/why"
    judge.send("/why", comment="Anna wrote it.")
    judge.get("/pair")
    judge.send("/undo")
    store = judge.client.app.state.site.store
    with store.reading() as connection:
        assert connection.execute(select(comments)).all() == []


def test_without_reasons_there_is_nothing_to_send(template, tmp_path):
    judge = Visitor(site(template, tmp_path / "s", "")).join()
    judge.judge("left")
    fields = {"token": judge.token, "offer": "1", "comment": "x"}
    assert judge.client.post("/why", data=fields).status_code == 400
    judge.get("/why")
    assert judge.path == "/pair"
    judge.get("/feedback")
    assert judge.path == "/pair"
    assert Visitor(judge.client.app).sign_in().get("/watch/comments").status_code == 404
    assert Visitor(judge.client.app).sign_in().get("/watch/questions").status_code == 404


@pytest.fixture
def commented(template, tmp_path) -> Visitor:
    app = site(template, tmp_path / "s", WHY.format("optional").replace("every = 2", "every = 1"))
    judge = Visitor(app).join()
    judge.judge("left")
    judge.send("/why", reason=["1"], comment="Only <researchers> read this.")
    return judge


def test_the_privacy_page_says_that_reasons_are_kept_where_they_are_asked(commented, template):
    line = "when you are asked why"
    assert line in commented.get("/privacy").text
    plain = Visitor(make_app(template, template.store(), secret="k" * 40))
    assert line not in plain.get("/privacy").text


def test_researchers_read_comments_beside_the_item_and_in_the_table(commented):
    app = commented.client.app
    researcher = Visitor(app).sign_in()
    page = researcher.get("/watch/comments").text
    assert "Only &lt;researchers&gt; read this." in page
    assert "Its bark</span>: 1" in page
    (kept,) = CommentStore(app.state.site.store).all()
    assert "Only &lt;" in researcher.get(f"/watch/comments?item={kept.left}").text
    other = next(item for item in ITEMS if item not in (kept.left, kept.right))
    assert "Only &lt;" not in researcher.get(f"/watch/comments?item={other}").text
    assert researcher.get("/watch/comments?item=nothing").status_code == 404
    (row,) = csv.DictReader(io.StringIO(researcher.get("/watch/download/comments.csv").text))
    assert row["comment"] == "Only <researchers> read this."
    stranger = Visitor(app)
    stranger.get("/watch/comments")
    assert stranger.path == "/sign-in"
    share = app.state.site.researcher_store.make_token(TokenPurpose.SHARE, label="p")
    assert "read this" not in Visitor(app).get(f"/shared/{share}").text


def test_programs_read_comments_only_with_a_token_made_for_it(commented):
    app = commented.client.app
    researcher = Visitor(app).sign_in()
    researcher.get("/watch/run")
    answer = researcher.send("/watch/links", kind="api-comments", label="reader")
    assert "what judges wrote" in answer.text
    store = app.state.site.researcher_store
    plain = store.make_token(TokenPurpose.API, label="plain")
    scoped = store.make_token(TokenPurpose.COMMENTS, label="scoped")

    def ask(path: str, token: str) -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        return Visitor(app).client.get(f"/api/v1/{path}", headers=headers)

    assert ask("comments", plain).status_code == 403
    assert ask("comments", "0" * 32).status_code == 401
    (one,) = ask("comments", scoped).json()["comments"]
    assert one["comment"] == "Only <researchers> read this."
    for path in ("", "study", "items", "estimates", "coverage", "export", "openapi.json"):
        for token in (plain, scoped):
            answer = ask(path, token)
            assert answer.status_code == 200
            assert "read this" not in answer.text


def test_a_judge_who_leaves_takes_their_comments_along(commented):
    commented.get("/withdraw")
    commented.send("/withdraw", erase="about")
    store = commented.client.app.state.site.store
    assert list(CommentStore(store).all()) == []
    assert len(list(store.rows())) == 1


# Practice.


def test_a_practice_pair_is_followed_by_what_is_agreed_on(template, tmp_path):
    judge = Visitor(site(template, tmp_path / "s", PRACTICE)).join()
    assert judge.names() == ("Tree a", "Tree b")
    assert "Practice 1 of 1" in judge.answer.text
    judge.judge("right")
    assert judge.path == "/feedback"
    assert "Ash is a hundred years older." in judge.answer.text
    assert "The agreed answer" in judge.answer.text
    judge.send("/undo")
    assert judge.names() == ("Tree a", "Tree b")
    judge.judge("left")
    assert "also what others agree on" in judge.answer.text
    judge.get("/pair")
    assert "1 of 2" in judge.answer.text
    judge.judge("left")
    assert judge.path == "/pair"
    judge.get("/feedback")
    assert judge.path == "/pair"


@pytest.mark.parametrize("swaps", [{}, IN_TURN])
def test_feedback_comes_once_whatever_is_half_given_of_the_next_pair(template, tmp_path, swaps):
    more = PRACTICE.replace('answer = "left"', 'answers = { age = "left" }')
    judge = Visitor(site(template, tmp_path / "s", QUESTIONS + more, swaps)).join()
    judge.send("/answer", **{"outcome-age": "left", "outcome-beauty": "left"})
    assert judge.path == "/feedback"
    judge.get("/pair")
    judge.send("/answer", **{"outcome-beauty": "tie"})
    assert judge.path == "/pair"
    judge.send("/answer", **{"outcome-age": "tie"})
    assert judge.path == "/pair"
    assert len(stored(judge)) == 4


def test_practice_with_several_questions_has_an_answer_for_each(template, tmp_path):
    more = PRACTICE.replace('answer = "left"', 'answers = { age = "left", beauty = "right_2" }')
    judge = Visitor(site(template, tmp_path / "s", QUESTIONS + more)).join()
    judge.send("/answer", **{"outcome-age": "left", "outcome-beauty": "right_2"})
    assert judge.path == "/feedback"
    assert "also what others agree on" in judge.answer.text
    judge.send("/undo")
    judge.send("/answer", **{"outcome-age": "left", "outcome-beauty": "right"})
    assert "The agreed answer" in judge.answer.text


# The researcher's pages.


@pytest.fixture(scope="module")
def fitted(template, tmp_path_factory) -> Any:
    """A study whose second question puts the trees in the opposite order."""
    app = site(template, tmp_path_factory.mktemp("fitted") / "s", QUESTIONS)
    store = app.state.site.store
    rng = np.random.default_rng(8)
    judge = store.add_judge(consent="1", language="en", about={}).judge
    for _ in range(160):
        left, right = rng.choice(len(ITEMS), 2, replace=False)
        offer = store.offer(judge, OrderedPair(ITEMS[left], ITEMS[right]), Kind.NEW)
        older = rng.random() < 1 / (1 + np.exp(0.8 * (right - left)))
        age, beauty = (FIRST, SECOND) if older else (SECOND, FIRST)
        store.answer_questions(
            judge, offer.id, {"age": Reply(age), "beauty": Reply(beauty, 1)}, BOTH
        )
    snapshots = SnapshotStore(store)
    assert snapshots.take_lease("live", "me", 600)
    live_fit(app.state.site.study, store, "me").renew(snapshots.pulse())
    return app


def test_the_live_picture_is_that_of_each_question(fitted):
    store = fitted.state.site.store
    first = {q: SnapshotStore(store, q).last().body for q in BOTH}
    best = {q: body["items"][int(np.argmax(body["mean"]))] for q, body in first.items()}
    assert best["age"] in "gh"
    assert best["beauty"] in "ab"
    assert SnapshotStore(store).last() is None
    researcher = Visitor(fitted).sign_in()
    for path in ("/watch", "/watch/items", "/watch/judges", "/watch/history", "/watch/run"):
        for question, word in (("age", "older"), ("beauty", "more beautiful")):
            page = researcher.get(f"{path}?question={question}").text
            assert researcher.answer.status_code == 200
            if path == "/watch/items":
                assert f"above it is {word}" in page
            if question == "beauty":
                assert "/watch/items?question=beauty" in page
                assert 'href="/watch/items"' not in page
    frames = researcher.get("/watch/history.json?question=beauty").json()
    ages = researcher.get("/watch/history.json").json()
    assert frames[0]["estimate"] != ages[0]["estimate"]
    assert researcher.get("/watch/fresh?question=beauty&after=0").status_code == 200


def test_questions_stand_side_by_side(fitted):
    researcher = Visitor(fitted).sign_in()
    page = researcher.get("/watch/questions").text
    assert "Which is older?" in page
    assert "−0.9" in page  # the correlation of opposite orders
    rows = [row.split("</tr>")[0] for row in page.split("<tbody>")[2].split("<tr>")[1:]]
    assert len(rows) == len(ITEMS)
    # Beauty weighs three times as much as age, and puts a above h.
    assert ">Tree h<" in rows[-1] or ">Tree g<" in rows[-1]
    page = researcher.get("/watch/questions?weight-age=1&weight-beauty=0").text
    first = page.split("<tbody>")[2].split("</tr>")[0]
    assert ">Tree h<" in first or ">Tree g<" in first
    for odd in ("weight-age=nan&weight-beauty=-1", "weight-age=0&weight-beauty=0", "weight-age=x"):
        assert researcher.get(f"/watch/questions?{odd}").status_code == 200


def test_of_a_map_no_correlation_is_shown_and_the_page_says_why(fitted):
    """Neighbours are alike: taken one by one they would make it far too sure."""
    path = fitted.state.site.study.folder / "areas.gpkg"
    path.touch()
    try:
        page = Visitor(fitted).sign_in().get("/watch/questions").text
    finally:
        path.unlink()
    assert "not worked out for a map" in page
    assert "−0.9" not in page
    assert "Neighbours on the map are alike" in page
    assert page.count("<tbody>") == 2  # the composite is there


def test_partners_see_each_question_and_programs_ask_for_one(fitted):
    store = fitted.state.site.researcher_store
    share = store.make_token(TokenPurpose.SHARE, label="p")
    page = Visitor(fitted).get(f"/shared/{share}?question=beauty").text
    assert '<h1 dir="auto">Which is more beautiful?</h1>' in page
    assert "Side by side" not in page
    headers = {"Authorization": f"Bearer {store.make_token(TokenPurpose.API, label='t')}"}
    client = Visitor(fitted).client
    body = client.get("/api/v1/study?question=beauty", headers=headers).json()
    assert (body["question_id"], body["question"]) == ("beauty", "Which is more beautiful?")
    assert [one["id"] for one in body["questions"]] == list(BOTH)
    assert client.get("/api/v1/study", headers=headers).json()["question_id"] == "age"
    assert client.get("/api/v1/study?question=x", headers=headers).status_code == 404
    export = client.get("/api/v1/export?format=csv", headers=headers).text
    assert export.splitlines()[0].endswith(",grade,question")
    assert len(export.splitlines()) == 321
