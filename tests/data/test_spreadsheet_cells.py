"""What people open in a spreadsheet holds no formula, and is read back as it was."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from tiewise.data.about_table import write_about
from tiewise.data.comparisons import read_comparisons
from tiewise.data.files import read_sheet, write_csv, write_rows
from tiewise.data.spreadsheet_cells import defuse, restore
from tiewise.data.tables import read_names, read_table

FORMULAS = (
    "=a", "=1+1", "+a", "-a", "@SUM(A1)", "\ta", "\ra", "\na", "=", "-", "+44 20 7946 0000", "-5-3",
    "-inf", "\N{FULLWIDTH EQUALS SIGN}a", '=HYPERLINK("https://example.org")', "=cmd|' /C x'!A0",
)  # fmt: skip
HARMLESS = ("", "a", "a=b", "5", "-5", "+5", "-5.25", "-.5", "-1e-9", " =a", "'a", "''", "NA", "é")
CELLS = st.text(st.sampled_from("'=+-@\t\r\n05.e \"a,;é\N{FULLWIDTH PLUS SIGN}"), max_size=6)


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_becomes_text(text):
    assert defuse(text) == "'" + text
    assert restore(defuse(text)) == text
    assert restore(defuse(defuse(text))) == defuse(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_numbers_and_plain_text_stay_as_they_are(text):
    assert defuse(text) == text
    assert restore(text) == text


@given(st.one_of(CELLS, st.text()))
def test_every_text_comes_back_and_none_begins_as_a_formula(text):
    safe = defuse(text)
    assert restore(safe) == text
    if safe[:1] in ("=", "@", "\t", "\r", "\n"):
        raise AssertionError(f"{safe!r} would be run")
    if safe[:1] in ("+", "-"):
        float(safe)


@settings(max_examples=25)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=5))
def test_a_table_is_read_back_as_it_was(tmp_path_factory, rows):
    """By either writer; our reader takes the space around texts off, as it always did."""
    path = tmp_path_factory.getbasetemp() / "table.csv"
    expected = [tuple(map(str.strip, row)) for row in rows]
    head = ("=first", "second")
    for write in (
        lambda: write_csv(pd.DataFrame(rows, columns=list(head)).assign(end="x"), path),
        lambda: write_rows(path, (*head, "end"), [(*row, "x") for row in rows]),
    ):
        write()
        table = read_sheet(path).table
        assert table.columns == [*head, "end"]
        columns = (table[name].to_list() for name in head)
        assert [tuple(map(str.strip, row)) for row in zip(*columns, strict=True)] == expected
        with path.open(encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if cell[:1] in ("=", "@", "\t", "\r", "\n")]


def test_numbers_stay_numbers(tmp_path):
    table = pd.DataFrame({"mean": [-1.5, 2.0], "item": ["-5", "=a"], "sure": [True, False]})
    write_csv(table, tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == (
        "mean,item,sure\n-1.5,-5,True\n2.0,'=a,False\n"
    )


ODD = ("-5", "=a", "'=a", "+x", "@b", "12")


def judgements(path: Path) -> None:
    """Judgements of items with odd names, by a judge with one."""
    frame = pd.DataFrame(
        [("=Ada", one, two, one, "selected") for one in ODD for two in ODD if one != two],
        columns=["user_id", "item_1_id", "item_2_id", "selected_item_id", "state"],
    )
    read_comparisons(frame).to_csv(path)


def test_odd_ids_survive_a_round_trip(tmp_path):
    judgements(tmp_path / "comparisons.csv")
    text = (tmp_path / "comparisons.csv").read_text(encoding="utf-8")
    assert ",=" not in text
    again = read_comparisons(tmp_path / "comparisons.csv")
    assert set(again.items) == set(ODD)
    assert set(again.rows()["judge"]) == {"=Ada"}
    again.to_csv(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text(encoding="utf-8") == text


def test_a_workbook_made_of_our_table_has_the_same_ids(tmp_path):
    """Spreadsheets keep the apostrophe that they read from CSV."""
    judgements(tmp_path / "comparisons.csv")
    book = Workbook()
    with (tmp_path / "comparisons.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            book.active.append(row)
    book.save(tmp_path / "comparisons.xlsx")
    assert set(read_comparisons(tmp_path / "comparisons.xlsx").items) == set(ODD)


def test_a_raw_table_is_read_as_it_is(tmp_path):
    rows = [("comparison_id", "'=a", "=a")]
    path = tmp_path / "comparisons.csv"
    write_rows(path, ("one", "two", "three"), rows, raw=True)
    assert path.read_text(encoding="utf-8") == "one,two,three\ncomparison_id,'=a,=a\n"
    write_about(path, ties_offered=True, raw=True)
    assert list(read_sheet(path).table.rows(named=True)[0].values()) == list(rows[0])


def test_names_and_covariates_are_restored(tmp_path):
    path = tmp_path / "table.csv"
    write_csv(pd.DataFrame({"item": ["-5", "=a"], "name": ["=x", "'=x"], "=kind": "@b"}), path)
    assert read_names(path) == {"-5": "=x", "=a": "'=x"}
    assert read_table(path, ["item"])["=kind"] == ["@b", "@b"]
