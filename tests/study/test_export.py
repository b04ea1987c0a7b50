"""Exports hold no formulas for a spreadsheet, and every id comes back."""

from __future__ import annotations

import csv
import io
import json
from itertools import pairwise

import pytest
from click.testing import CliRunner

from support.form_browser import Visitor
from support.site import copy_study
from tiewise.cli.main import main
from tiewise.data.comparisons import read_comparisons
from tiewise.data.spreadsheet_cells import defuse
from tiewise.study.create import create_study
from tiewise.study.export import comparisons, export, import_file
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
