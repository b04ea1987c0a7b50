"""Graded answers on the site: buttons, words, what is stored, and the picture made of it."""

from __future__ import annotations

import csv
import html
import io
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from support.form_browser import Visitor
from support.site import copy_study, edited, with_database
from tiewise.data.answers import grade_probabilities
from tiewise.model.build import build_model
from tiewise.posterior.fit import fit
from tiewise.posterior.snapshot import GAPS
from tiewise.posterior.summaries import summarise
from tiewise.study.create import create_study
from tiewise.study.export import comparisons
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study
from tiewise.study.values import TokenPurpose
from tiewise.web.app import make_app
from tiewise.web.live.live_fit import LiveFit

FIVE = {"grades = 0": "grades = 5", 'languages = ["en"]': 'languages = ["en", "ar"]'}
FOUR = {"grades = 0": "grades = 4", "ties = true": "ties = false"}
ITEMS = "abcdefgh"


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("graded")
    names = "".join(f"{item},Tree {item}\n" for item in ITEMS)
    (place / "list.csv").write_text(f"item,name\n{names}", encoding="utf-8")
    made = create_study(place / "s", items=place / "list.csv", question="Which is older?")
    return with_database(made)


def visit(template: Study, folder: Path, swaps: dict[str, str], more: str = "") -> Visitor:
    study = edited(copy_study(template, folder), swaps, more)
    return Visitor(make_app(study, study.store(), secret="k" * 40))


def stored(visitor: Visitor) -> list[tuple[str, int | None]]:
    rows = visitor.client.app.state.site.store.rows()
    return [(row["outcome"], row["grade"]) for row in rows if row["undone"] is None]


def written(visitor: Visitor) -> list[str]:
    """What stands on the buttons, with the names of items left out."""
    texts = [text for text, href in visitor.page.links if href == ""]
    return [html.unescape(re.sub(r" (A|B|أ|ب) Tree \w$", r": \1", text)) for text in texts]


# The page of a pair.


def test_five_buttons_run_from_one_item_to_the_other(template, tmp_path):
    judge = visit(template, tmp_path / "s", FIVE).join()
    assert written(judge)[:6] == [
        "Much more: A", "More: A", "About equal", "More: B", "Much more: B", "I don’t know",
    ]  # fmt: skip
    form = next(form for form in judge.page.forms if form.action == "/answer")
    assert [button["aria-keyshortcuts"] for button in form.buttons] == [
        "1", "2 ArrowLeft", "3 ArrowDown", "4 ArrowRight", "5", "0 S",
    ]  # fmt: skip
    for name in ("left_2", "left", "tie", "right", "right_2", "skip"):
        judge.judge(name)
    expected = [("left", 2), ("left", 1), ("tie", None), ("right", 1), ("right", 2), ("skip", None)]
    assert stored(judge) == expected
    judge.send("/undo")
    judge.send("/undo")
    judge.judge("left_2")
    assert stored(judge) == [*expected[:4], ("left", 2)]


def test_an_answer_that_is_not_offered_is_not_taken(template, tmp_path):
    """Neither a stronger one than there is, nor a grade in a study without any."""
    cases = (FIVE, ("left_3", "right_", "left-2", "2")), (FOUR, ("tie",)), ({}, ("left_2",))
    for swaps, names in cases:
        judge = visit(template, tmp_path / names[0], swaps).join()
        for name in names:
            fields = {"token": judge.token, "offer": judge.hidden("offer"), "outcome": name}
            assert judge.client.post("/answer", data=fields).status_code == 400
        assert stored(judge) == []


def test_grades_are_worded_in_arabic_and_left_stays_left(template, tmp_path):
    judge = visit(template, tmp_path / "s", FIVE)
    judge.get("/?language=ar")
    judge.join()
    assert written(judge)[:5] == [
        "أكثر بكثير: أ", "أكثر: أ", "متساويان تقريبًا", "أكثر: ب", "أكثر بكثير: ب",
    ]  # fmt: skip
    assert '<div class="three graded odd" dir="ltr">' in judge.answer.text


def test_a_study_has_its_own_words_and_long_ones_get_room(template, tmp_path):
    own = {'left = ""  ': 'left = "Rather"\nleft_2 = "Certainly"\n#',
           'right = ""': 'right = "Rather"\nright_2 = "Certainly"'}  # fmt: skip
    judge = visit(template, tmp_path / "s", FOUR | own).join()
    assert written(judge)[:4] == ["Certainly: A", "Rather: A", "Rather: B", "Certainly: B"]
    assert '<div class="three graded columns" dir="ltr">' in judge.answer.text


# What is made of the answers.


def add_answers(study: Study, number: int) -> None:
    """Answers of three judges, with qualities in the order of the items and cuts of ½ and 1½."""
    rng, scale, rows = np.random.default_rng(5), study.scale, []
    for k in range(number):
        one, two = rng.choice(len(ITEMS), 2, replace=False)
        level = (one - two) / 3 + rng.logistic()
        answer = scale.grades[4 - int(np.searchsorted([-1.5, -0.5, 0.5, 1.5], level))]
        rows.append({"judge": f"judge {k % 3}", "left": ITEMS[one], "right": ITEMS[two],
                     "outcome": answer.stored, "grade": answer.strength})  # fmt: skip
    store = study.store()
    store.import_judgements(rows, consent="1")
    store.close()


@pytest.fixture(scope="module")
def fitted(template, tmp_path_factory) -> Study:
    """A study with answers, and its first snapshot."""
    study = edited(copy_study(template, tmp_path_factory.mktemp("fitted") / "s"), FIVE)
    add_answers(study, 240)
    store = study.store()
    assert SnapshotStore(store).take_lease("live", "me", 600)
    LiveFit(study, store, "me").renew(SnapshotStore(store).pulse())
    store.close()
    return study


@pytest.fixture(scope="module")
def body(fitted) -> dict:
    snapshot = SnapshotStore(fitted.store()).last()
    assert snapshot is not None
    return snapshot.body


def test_the_picture_is_what_tiewise_fit_finds_of_the_grades(fitted, body):
    tree = fit(build_model(comparisons(fitted.store(), levels=2)), rng=5)
    table = summarise(tree).set_index("item").loc[body["items"]]
    # Two sets of nearly independent draws, the smaller of 1,000.
    error = np.array(table["sd"]) * np.sqrt(1 / 1000 + 1 / 4000)
    assert np.all(np.abs(np.array(table["mean"]) - body["mean"]) < 5 * error)
    cuts = tree["posterior/cut"]
    mean, sd = (getattr(cuts, name)(("chain", "draw")).to_numpy() for name in ("mean", "std"))
    assert np.all(np.abs(mean - [cut["median"] for cut in body["cuts"]]) < 0.3 * sd)
    assert body["tie"] == body["cuts"][0]


def test_shares_of_answers_over_the_gap_are_those_of_the_cuts(body):
    """To the second order in the width of the posterior of the cuts, which is small."""
    share = np.array(body["grade_curves"]["share"])
    assert body["grade_curves"]["gap"] == pytest.approx(GAPS)
    assert np.allclose(share.sum(axis=0), 1.0, atol=1e-3)
    cuts = np.array([cut["median"] for cut in body["cuts"]])
    every = np.broadcast_to(cuts[:, None], (2, len(GAPS)))
    assert np.allclose(share, grade_probabilities(GAPS, every), atol=0.01)


def test_answers_are_counted_by_grade_beside_what_was_always_counted(fitted, body):
    stored_answers = Counter((row["outcome"], row["grade"]) for row in fitted.store().rows())
    counted = {(one["answer"], one["grade"]): one["count"] for one in body["grades"]}
    assert counted == stored_answers
    assert list(counted) == [("left", 2), ("left", 1), ("tie", None), ("right", 1), ("right", 2)]
    assert body["answers"]["left"] == stored_answers["left", 1] + stored_answers["left", 2]
    assert sum(body["answers"].values()) == 240


def test_the_overview_shows_how_answers_were_used(fitted, body):
    researcher = Visitor(make_app(fitted, fitted.store(), secret="k" * 40)).sign_in()
    page = researcher.get("/watch").text
    assert '<h2 id="ties">Answers</h2>' in page
    strong = sum(one["count"] for one in body["grades"] if one["grade"] == 2)
    assert f"“Much more” {100 * strong / 240:.0f} %" in page
    for cut in body["cuts"]:
        assert f"<b>{cut['median']:.2f}</b>" in page
    assert page.count('<polygon class="share"') == 5
    assert '<span dir="auto">Much more: the lower one</span>' in page
    assert "Much more" in researcher.get("/watch/fresh").text
    for path in ("judges", "items", "history", "history.json", "run"):
        assert researcher.get(f"/watch/{path}").status_code == 200
    secret = ResearcherStore(fitted.store()).make_token(TokenPurpose.SHARE, label="partners")
    assert "From <b>240 judgements</b>" in researcher.get(f"/shared/{secret}").text


def test_programs_get_grades_beside_what_they_had(fitted, body):
    store = fitted.store()
    token = ResearcherStore(store).make_token(TokenPurpose.API, label="tests")
    client = Visitor(make_app(fitted, store, secret="k" * 40)).client

    def ask(path: str):
        return client.get(f"/api/v1/{path}", headers={"authorization": f"Bearer {token}"})

    assert ask("study").json()["grades"] == body["grades"]
    assert ask("estimates").json()["cuts"] == body["cuts"]
    line = ask("export").text.splitlines()[0]
    rows = list(csv.DictReader(io.StringIO(ask("export?format=csv").text)))
    assert '"grade": "' in line or '"grade": null' in line
    assert Counter(row["grade"] for row in rows)["2"] == sum(
        one["count"] for one in body["grades"] if one["grade"] == 2
    )
    assert {row["state"] for row in rows} == {"selected", "tied"}


def test_graded_answers_are_replayed_and_forecast(template, tmp_path):
    """Two moments of a study with five grades: frames, its pages, and when it is enough."""
    study = edited(copy_study(template, tmp_path / "s"), FIVE | {"goal = 0": "goal = 400"})
    store = study.store()
    assert SnapshotStore(store).take_lease("live", "me", 600)
    live = LiveFit(study, store, "me")
    for number in (60, 80):
        add_answers(study, number)
        live.renew(SnapshotStore(store).pulse())
    researcher = Visitor(make_app(study, study.store(), secret="k" * 40)).sign_in()
    first, last = researcher.get("/watch/history.json").json()
    assert (first["comparisons"], last["comparisons"]) == (60, 140)
    assert np.mean(last["sd"]) < np.mean(first["sd"])
    body = SnapshotStore(store).last().body
    assert last["estimate"] == [
        round(100 * body["mean"][body["items"].index(item)]) for item in ITEMS
    ]
    early = researcher.get(f"/watch/history?at={first['id']}").text
    assert "<b>60 judgements</b>" in early
    page = re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", researcher.get("/watch").text))
    assert "Goal 400 140 At the pace of the last days" in page
    secret = ResearcherStore(store).make_token(TokenPurpose.SHARE, label="partners")
    partner = researcher.get(f"/shared/{secret}").text
    assert "From <b>140 judgements</b>" in partner
    assert "Tree h" in partner


def test_answers_that_were_brought_in_are_not_called_hasty(fitted):
    """They have one moment, in place of those at which a pair was shown and answered."""
    site = make_app(fitted, fitted.store(), secret="k" * 40).state.site
    rows = site.snapshot_cache.judges()
    assert [row["comparisons"] for row in rows] == [80] * 3
    assert [row["median_seconds"] for row in rows] == [None] * 3
    assert not [flag for row in rows for flag in row["flags"] if flag["kind"] == "haste"]
