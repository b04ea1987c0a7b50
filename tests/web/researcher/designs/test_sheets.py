"""Studies with a design: exactly its pairs on the site, sheets entered quickly, and the export."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from support.command import done, refusal, run
from support.form_browser import Visitor
from support.site import copy_study, edited, with_database
from tiewise.designs.design import make_design
from tiewise.designs.pair_lists import PairLists
from tiewise.designs.prior import DesignPrior
from tiewise.designs.wish import DesignWish
from tiewise.hosting.items_table import items_version, set_shown
from tiewise.study.access.judge_data import find_judge
from tiewise.study.create import create_study
from tiewise.study.export import comparisons, export
from tiewise.study.study import Study
from tiewise.web.app import make_app

import numpy as np  # isort: skip

ITEMS = tuple("abcdef")


def make_study(place: Path) -> Study:
    """Six items, three lists of five pairs, one of them a repeat, after one of practice."""
    (place / "items.csv").write_text(
        "item,name\n" + "".join(f"{item},Item {item.upper()}\n" for item in ITEMS),
        encoding="utf-8",
    )
    wish = DesignWish(items=ITEMS, judges=("Ann", "Bo", "Cy"), per_judge=5, repeats=1, practice=1)
    prior = DesignPrior(np.zeros(6), np.eye(6), np.array([0.5]))
    make_design(wish, prior).lists.write(place / "design.csv")
    study = create_study(
        place / "study", question="Which is taller?", items=place / "items.csv",
        design=place / "design.csv",
    )  # fmt: skip
    return with_database(study)


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    return make_study(tmp_path_factory.mktemp("listed"))


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "study")


@pytest.fixture
def app(study):
    return make_app(study, study.store(), secret="k" * 40)


@pytest.fixture
def ada(app) -> Visitor:
    return Visitor(app).sign_in()


def lists_of(study: Study) -> PairLists:
    assert study.design is not None
    return study.design


def names_of(study: Study, judge: str) -> list[tuple[str, str]]:
    return [
        (study.items[pair.left].name, study.items[pair.right].name)
        for pair in lists_of(study).lists[judge]
    ]


def shown_until_the_end(judge: Visitor) -> list[tuple[str, str]]:
    shown = []
    while 'id="left-name"' in judge.answer.text:
        shown.append(judge.names())
        judge.judge("left")
        if judge.path != "/pair":
            judge.get("/pair")
    return shown


def test_the_site_shows_exactly_these_pairs_judge_by_judge(app, study):
    for k, judge in enumerate(("Ann", "Bo", "Cy")):
        who = Visitor(app, address=f"198.51.100.{k}").join()
        assert shown_until_the_end(who) == names_of(study, judge)
        assert "You have answered every pair of your list." in who.answer.text
        assert "go on" not in who.get("/thanks").text.lower()
    late = Visitor(app, address="198.51.100.9")
    late.get("/begin")
    consent = next(t["value"] for _, t in late.page.tags if t.get("name") == "consent")
    late.send("/begin", consent=consent)
    assert 'name="outcome"' not in late.answer.text
    assert "No list of pairs is left for you" in late.answer.text
    assert "Comparisons you have made" not in late.answer.text


def hide(study: Study, item: str, shown: str = "hidden") -> Study:
    """The study with an item hidden, or shown again, as the page of items writes it."""
    set_shown(study.folder, item, shown, version=items_version(study.folder))
    return Study.open(study.folder)


def test_pairs_of_a_hidden_item_wait_until_it_is_shown_again(study):
    """Whoever has begun goes on with the others, and lists with it are still handed out."""
    store, secret = study.store(), "k" * 40
    who = Visitor(make_app(study, store, secret=secret)).join()
    listed = names_of(study, "Ann")
    who.judge("left")
    hidden = hide(study, "c")
    without = [pair for pair in listed[1:] if "Item C" not in pair]
    assert 0 < len(without) < len(listed) - 1
    browser = Visitor(make_app(hidden, store, secret=secret))
    browser.client.cookies = who.client.cookies
    browser.get("/pair")
    assert f"of {len(without)}" in browser.answer.text
    assert shown_until_the_end(browser) == without
    assert "You have answered every pair of your list." in browser.answer.text
    other = Visitor(make_app(hidden, store, secret=secret), address="198.51.100.1").join()
    listed_other = [pair for pair in names_of(study, "Bo") if "Item C" not in pair]
    assert shown_until_the_end(other) == listed_other
    again = Visitor(make_app(hide(study, "c", ""), store, secret=secret))
    again.client.cookies = who.client.cookies
    again.get("/pair")
    assert shown_until_the_end(again) == [pair for pair in listed[1:] if "Item C" in pair]
    assert len([row for row in store.rows() if row["undone"] is None]) == 6 + len(listed_other)


def test_a_list_longer_than_the_target_is_not_broken_off(study):
    target = study.settings.study.target
    study = edited(study, {f"target = {target} ": "target = 2 "})
    who = Visitor(make_app(study, study.store(), secret="k" * 40)).join()
    for _ in names_of(study, "Ann")[:-1]:
        who.judge("left")
        assert who.path == "/pair"


def test_a_panel_pays_for_a_list_and_not_for_finding_none(study):
    """The code comes at the end of a list, and not to whoever has none, on any page."""
    panel = '\n[panel]\nidentifiers = ["PID"]\ncompletion_code = "C1-DONE"\n'
    app = make_app(edited(study, {}, panel), study.store(), secret="k" * 40)
    for k in range(4):
        who = Visitor(app, address=f"198.51.100.{k}")
        who.get(f"/?PID=person{k}")
        who.get("/begin")
        consent = next(t["value"] for _, t in who.page.tags if t.get("name") == "consent")
        who.send("/begin", consent=consent)
        assert "C1-DONE" not in who.answer.text + who.get("/thanks").text
        who.get("/pair")
        assert bool(shown_until_the_end(who)) == (k < 3)
        assert ("C1-DONE" in who.answer.text) == (k < 3)
        assert ("C1-DONE" in who.get("/thanks").text) == (k < 3)


def test_a_pair_that_was_taken_back_comes_again_and_the_counter_counts_the_list(app, study):
    judge = Visitor(app).join()
    expected = names_of(study, "Ann")
    judge.judge("left")
    assert "1 of 5" in judge.answer.text or "1 / 5" in judge.answer.text
    judge.judge("skip")
    assert judge.names() == expected[2]
    judge.send("/undo")
    assert judge.names() == expected[1]
    judge.judge("right")
    assert judge.names() == expected[2]


def test_researchers_see_what_is_left(app, study, ada):
    judge = Visitor(app).join()
    judge.judge("left")
    ada.get("/watch/sheets")
    assert "17 pairs are left, and 2 lists are free" in ada.answer.text
    assert "on the site" in ada.answer.text


def test_what_is_left_is_told_in_the_singular_too(app, study, ada):
    for k, judge in enumerate(("Ann", "Bo")):
        who = Visitor(app, address=f"198.51.100.{k}").join()
        for _ in range(6 - (judge == "Bo")):
            who.judge("left")
    enter_sheet(ada, lists_of(study).codes["Cy"], "111111")
    ada.get("/watch/sheets")
    assert "3 lists were made beforehand; 1 pair is left, and 0 lists are free" in ada.answer.text


# Paper.


def enter_sheet(ada: Visitor, code: str, keys: str) -> None:
    ada.get("/watch/sheets")
    ada.send("/watch/sheets", code=code.lower())
    for key in keys:
        ada.send(f"/watch/sheets/{ada.path.rpartition('/')[2]}/answer", key)


def test_a_sheet_is_entered_key_by_key_checked_and_undone(app, study, ada):
    code = lists_of(study).codes["Bo"]
    enter_sheet(ada, code, "113")
    assert "3 of 6 entered" in ada.answer.text
    place = f"/watch/sheets/{code}"
    ada.send(f"{place}/undo")
    assert "2 of 6 entered" in ada.answer.text
    enter_sheet(ada, code, "2301")
    assert "The sheet is complete" in ada.answer.text
    assert ada.answer.text.count("Ada") >= 6  # who entered it
    rows = [row for row in study.store().rows() if row["undone"] is None]
    assert [row["outcome"] for row in rows] == ["left", "left", "tie", "right", "skip", "left"]
    assert [(row["left"], row["right"]) for row in rows] == [
        pair[:2] for pair in lists_of(study).lists["Bo"]
    ]
    assert {row["entered_by"] for row in rows} == {"Ada"}


def test_a_key_that_comes_twice_counts_once(app, study, ada):
    code = lists_of(study).codes["Bo"]
    ada.get(f"/watch/sheets/{code}")
    for _ in range(2):
        ada.post(f"/watch/sheets/{code}/answer", {"token": ada.token, "place": "0", "key": "1"})
    assert "1 of 6 entered" in ada.answer.text


def test_an_answer_out_of_turn_takes_no_list(app, study, ada):
    code = lists_of(study).codes["Bo"]
    ada.get(f"/watch/sheets/{code}")
    for place in ("1", "6", "99999"):
        ada.post(f"/watch/sheets/{code}/answer", {"token": ada.token, "place": place, "key": "1"})
    assert "0 of 6 entered" in ada.answer.text
    assert list(study.store().judge_rows()) == []


def test_codes_and_keys_that_are_none_are_refused(app, study, ada):
    ada.get("/watch/sheets")
    ada.send("/watch/sheets", code="2-ZZZ")
    assert ada.answer.status_code == 422
    assert "its letters are of another sheet or design" in ada.answer.text
    assert ada.get("/watch/sheets/2-ZZZ").status_code == 404
    code = lists_of(study).codes["Bo"]
    ada.get(f"/watch/sheets/{code}")
    for wrong in ({"key": "7"}, {"key": ""}, {"key": "1", "place": "-1"}):
        form = {"token": ada.token, "place": "0"} | wrong
        assert ada.client.post(f"/watch/sheets/{code}/answer", data=form).status_code == 400


def test_a_list_that_was_answered_on_the_site_is_not_entered_from_paper(app, study, ada):
    Visitor(app).join()  # takes the list of Ann
    ada.get("/watch/sheets")
    ada.send("/watch/sheets", code=lists_of(study).codes["Ann"])
    assert "taken by a judge on the site" in ada.answer.text
    # And a list that is on paper is not handed out on the site.
    enter_sheet(ada, lists_of(study).codes["Bo"], "1")
    judge = Visitor(app, address="198.51.100.8").join()
    assert judge.names() == names_of(study, "Cy")[0]


def test_paper_and_site_give_the_same_judgements_and_the_export_says_which(
    app, study, ada, tmp_path, template
):
    keys, words = "1231", {"1": "left", "2": "tie", "3": "right"}
    enter_sheet(ada, lists_of(study).codes["Ann"], keys)
    other = copy_study(template, tmp_path / "other")
    judge = Visitor(make_app(other, other.store(), secret="k" * 40)).join()
    for key in keys:
        judge.judge(words[key])
    one, two = (comparisons(each.store()).counts() for each in (study, other))
    assert one.digest() == two.digest()
    for each, medium in ((study, "paper"), (other, "site")):
        export(each, each.store(), each.folder / "export")
        with (each.folder / "export" / "comparisons.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert [row["medium"] for row in rows] == [medium] * 3  # without practice


def test_a_design_that_was_changed_under_answers_is_refused(app, study, ada):
    enter_sheet(ada, lists_of(study).codes["Bo"], "1")
    assert Study.open(study.folder).changed_meaning(study.store()) == []
    path = study.folder / "design.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    assert "design.csv" in Study.open(study.folder).changed_meaning(study.store())[0]


def test_a_judge_who_withdraws_takes_their_answers_and_frees_the_list(app, study, ada):
    judge = Visitor(app).join()
    judge.judge("left")
    store = study.store()
    (row,) = store.judge_rows()
    assert store.withdraw(find_judge(store, row["id"]), judgements_too=True) == 1
    ada.get("/watch/sheets")
    assert "18 pairs are left, and 3 lists are free" in ada.answer.text


# The command.


def test_the_command_enters_a_sheet_from_a_pipe(study):
    code = lists_of(study).codes["Cy"]
    result = done("enter", study.folder, "--by", "Grace", "--code", code, answer="11u2q")
    assert "2 of 6 entered, as boxes: 12" in result.output
    result = done("enter", study.folder, "--by", "Grace", answer=f"{code}\n3012\n")
    assert "6 of 6 entered, as boxes: 123012" in result.output
    assert {row["entered_by"] for row in study.store().rows()} == {"Grace"}
    assert "the sheets are numbered 1 to 3" in refusal("enter", study.folder, "--code", "8-AAA")


def test_a_design_of_other_items_is_refused_with_the_way_out(tmp_path):
    (tmp_path / "items.csv").write_text("item,name\na,A\nb,B\n", encoding="utf-8")
    (tmp_path / "design.csv").write_text("judge,left,right\nAnn,a,x\n", encoding="utf-8")
    new = ["new", tmp_path / "s", "--items", tmp_path / "items.csv", "--question", "Which?"]
    assert "'x' is not in items.csv" in refusal(*new, "--design", tmp_path / "design.csv")
    (tmp_path / "design.csv").write_text("judge,left,right\nAnn,a,b\n", encoding="utf-8")
    done(*new, "--design", tmp_path / "design.csv")
    (tmp_path / "s" / "design.csv").write_text("judge,left,right\nAnn,a,z\n", encoding="utf-8")
    result = run("check", tmp_path / "s")
    assert result.exit_code == 2
    assert "design.csv: 'z' is not in items.csv" in result.output
