"""Exports hold no formulas for a spreadsheet, and every id comes back."""

from __future__ import annotations

import csv
import io
import json
from itertools import pairwise

import pytest
from click.testing import CliRunner

from support.form_browser import Visitor
from support.judging import add_answer, add_judge
from support.site import copy_study, edited
from tiewise.cli.main import main
from tiewise.data.comparisons import read_comparisons
from tiewise.data.spreadsheet_cells import defuse
from tiewise.pairing.policies import OrderedPair
from tiewise.study.asking.comment_store import CommentStore
from tiewise.study.create import create_study
from tiewise.study.export import comparisons, export, export_one, import_file
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study, read_items
from tiewise.study.values import TokenPurpose
from tiewise.web.app import make_app

ITEMS = {"-5": "Ash", "=a": "=cmd|' /C calc'!A0", "'=a": "'=a", "+x": "+44 20", "@b": "plain"}
REASON = '=HYPERLINK("https://example.org","see")'
RISKY = ("=", "+", "-", "@", "\t", "\r")


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    """A study whose items, judges and reasons look like formulas."""
    place = tmp_path_factory.mktemp("odd")
    with (place / "list.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [(defuse(id_), defuse(name)) for id_, name in ITEMS.items()]
        csv.writer(file).writerows([("item", "name"), *rows])
    study = create_study(place / "odd", items=place / "list.csv", question="Which is older?")
    assert list(study.items) == list(ITEMS)
    store, ids = study.store(), list(ITEMS)
    answers = [
        {"judge": judge, "left": one, "right": two, "outcome": "left"}
        for judge in ("=Ada", "@Bob")
        for one, two in pairwise(ids)
    ]
    store.import_judgements(answers, consent="imported")
    ResearcherStore(store).exclude("@Bob", REASON)
    store.close()
    return study


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "odd")


def cells(text: str) -> list[str]:
    return [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]


def risky_cells(text: str) -> set[str]:
    """Cells that a spreadsheet would run: they begin as formulas do and are no numbers."""
    return {cell for cell in cells(text) if cell.startswith(RISKY) and cell != "-5"}


def test_no_table_of_an_export_holds_a_formula(study, tmp_path):
    written = export(study, study.store(), tmp_path / "out")
    texts = {path.name: path.read_text(encoding="utf-8") for path in written}
    assert [name for name, text in texts.items() if risky_cells(text)] == []
    assert "'" + REASON in cells(texts["judges.csv"])
    assert "-5" in cells(texts["comparisons.csv"])


@pytest.mark.parametrize("cut", [";", "\t"])
def test_what_judges_wrote_holds_no_formula_wherever_a_spreadsheet_cuts_it(tmp_path, cut):
    """Some languages' spreadsheets take a semicolon for the end of a cell, and quotes for text."""
    (tmp_path / "list.csv").write_text("item,name\na,Ash\nb,Birch\n", encoding="utf-8")
    made = create_study(tmp_path / "s", items=tmp_path / "list.csv", question="Which is older?")
    field = '[[judges.fields]]\nname = "job"\nlabel = "Job"\nkind = "text"\n'
    study = edited(made, {}, f'{field}[reasons]\nask = "optional"\n')
    store = study.store()
    wrote = f'x{cut}=1+1{cut} +2\n@3{cut}"=4"{cut}\uff1d5{cut}fine - or not'
    judge = add_judge(store, about={"job": wrote})
    CommentStore(store).add(judge, add_answer(store, judge, OrderedPair("a", "b")), [], wrote)
    ResearcherStore(store).exclude(add_judge(store).id, wrote)
    for name in ("judges.csv", "comments.csv"):
        text = export_one(study, store, name, tmp_path / "out").read_text(encoding="utf-8")
        rows = csv.reader(text.split("\n"), delimiter=cut)
        pieces = [piece.strip(' "') for row in rows for piece in row]
        assert "fine - or not" in text
        assert [one for one in pieces if one.startswith((*RISKY, "\uff1d"))] == []
    raw = export_one(study, store, "judges.csv", tmp_path / "out", raw=True)
    assert cells(raw.read_text(encoding="utf-8")).count(wrote) == 2


def test_an_export_is_read_back_as_it_was(study, tmp_path):
    store = study.store()
    export(study, store, tmp_path / "out")
    again = read_comparisons(tmp_path / "out" / "comparisons.csv")
    assert again.counts().digest() == comparisons(store).counts().digest()
    assert set(again.rows()["judge"]) == {"=Ada"}
    assert read_items(tmp_path / "out" / "items.csv") == study.items


def test_an_export_can_be_imported(study, tmp_path):
    export(study, study.store(), tmp_path / "out")
    other = create_study(
        tmp_path / "other", items=tmp_path / "out" / "items.csv", question="Which is older?"
    )
    assert import_file(other, other.store(), tmp_path / "out" / "comparisons.csv") == 4
    assert comparisons(other.store()).counts().digest() == (
        comparisons(study.store()).counts().digest()
    )


def test_a_raw_export_has_texts_as_they_are(study, tmp_path):
    result = CliRunner().invoke(
        main, ["export", str(study.folder), "--out", str(tmp_path / "out"), "--raw"]
    )
    assert result.exit_code == 0, result.output
    text = (tmp_path / "out" / "comparisons.csv").read_text(encoding="utf-8")
    assert {"=Ada", *ITEMS} <= set(cells(text))
    assert REASON in cells((tmp_path / "out" / "judges.csv").read_text(encoding="utf-8"))
    again = read_comparisons(tmp_path / "out" / "comparisons.csv")
    assert again.counts().digest() == comparisons(study.store()).counts().digest()


def test_the_interface_for_programs_has_texts_as_they_are(study):
    store = study.store()
    app = make_app(study, store, secret="k" * 40)
    token = ResearcherStore(store).make_token(TokenPurpose.API, label="tests")
    headers = {"authorization": f"Bearer {token}"}
    ask = Visitor(app).client.get
    lines = ask("/api/v1/export", headers=headers).text.splitlines()
    assert {json.loads(line)["user_id"] for line in lines} == {"=Ada"}
    assert "=a" in cells(ask("/api/v1/export?format=csv", headers=headers).text)
