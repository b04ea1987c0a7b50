"""Tables are the same where Arrow is not installed; what cannot be read then says what it needs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from openpyxl import Workbook

from support.missing import hide
from tiewise.data.comparisons import Comparisons, read_comparisons
from tiewise.data.facts import number_columns
from tiewise.data.files import read_sheet, write_csv
from tiewise.data.tables import read_matrix
from tiewise.errors import InputError

ROWS = [
    ("winner", "loser", "tie", "judge", "hour"),
    ("79.0", "80", "0", "Zoë, M.", "1.5"),
    ("80", "", "1", "NA", ""),
    ("=a", "79", "false", "x\ny", " 2 "),
    ("80", "79", "yes", "", "-3e2"),
    ("80", "79", "yes", "", "-3e2"),
]
"""Numbers with a point, missing ids, formulas, commas, line breaks, rows that are there twice."""


def both(monkeypatch: pytest.MonkeyPatch, read) -> list[object]:
    """What is read with Arrow, and what without; a refusal is its words."""

    def attempt() -> object:
        try:
            return read()
        except InputError as error:
            return str(error)

    first = attempt()
    with monkeypatch.context() as patch:
        hide(patch, "pyarrow")
        return [first, attempt()]


def encoded(ending: str, delimiter: str = ",") -> bytes:
    lines = (
        delimiter.join(f'"{cell}"' if set(cell) & set(",;\n") else cell for cell in row)
        for row in ROWS
    )
    return ("\ufeff" + ending.join(lines) + ending).encode()


def described(read: Comparisons) -> tuple[object, ...]:
    rows = read.rows().fillna("none").to_dict("records")
    return read.items, read.judges, read.ties, rows


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_cells_are_the_same(monkeypatch, tmp_path, ending, delimiter):
    path = tmp_path / "table.csv"
    path.write_bytes(encoded(ending, delimiter))
    one, other = both(monkeypatch, lambda: read_sheet(path).table.rows())
    assert one == other
    assert len(one) == len(ROWS) - 1


@pytest.mark.parametrize(
    "text",
    [
        "winner,loser\na,b\na,b,c\n", "winner,loser\na,b\na,\"b\n", "winner,loser\n", "", "\n\n",
        "winner,winner\na,b\n", "winner,loser\na,b\xff\n", "a;b\n1,5;2\n", "winner,,loser\na,x,b\n",
    ],
)  # fmt: skip
def test_files_that_are_no_tables_are_refused_in_the_same_words(monkeypatch, tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode("latin-1"))
    one, other = both(monkeypatch, lambda: read_sheet(path).table.to_dict(as_series=False))
    assert one == other


@pytest.mark.parametrize("rows", [ROWS[1:2], [ROWS[1], *ROWS[3:]], ROWS[1:]])
def test_comparisons_are_the_same(monkeypatch, tmp_path, rows):
    path = tmp_path / "study.csv"
    write_csv(pd.DataFrame(rows, columns=ROWS[0]), path)
    one, other = both(monkeypatch, lambda: described(read_comparisons(path)))
    assert one == other


def test_comparisons_of_frames_arrays_and_workbooks_are_the_same(monkeypatch, tmp_path):
    columns = {
        "first": ["a", "b", None, 9.0], "second": ["b", "a", "a", "b"],
        "outcome": ["first", "tie", "skip", "second"], "judge": [1, 1, 2, 2],
    }  # fmt: skip
    book = Workbook()
    for row in zip(*([name, *values] for name, values in columns.items()), strict=True):
        book.active.append(row)
    book.save(tmp_path / "study.xlsx")
    sources = [pd.DataFrame(columns), pl.DataFrame(columns, strict=False), tmp_path / "study.xlsx"]
    for source in sources:
        one, other = both(
            monkeypatch, lambda source=source: described(read_comparisons(source, any_id=True))
        )
        assert one == other
    arrays = {name: [str(value) for value in values] for name, values in columns.items()}
    one, other = both(monkeypatch, lambda: described(Comparisons.from_columns(**arrays)))
    assert one == other


def test_numbers_beside_comparisons_are_the_same(monkeypatch, tmp_path):
    path = tmp_path / "study.csv"
    write_csv(pd.DataFrame([ROWS[1], *ROWS[3:]], columns=ROWS[0]), path)
    one, other = both(
        monkeypatch, lambda: number_columns(read_comparisons(path), ["hour"])["hour"].tolist()
    )
    assert one == other == [1.5, 2.0, -300.0, -300.0]


def test_a_matrix_is_the_same_and_so_is_its_fault(monkeypatch, tmp_path):
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text("item,a,b\na,1,0.5\nb,0.5,1\n", encoding="utf-8")
    bad.write_text("a,b\n1,half\n0.5,1\n", encoding="utf-8")
    (one, items), (other, same) = both(monkeypatch, lambda: read_matrix(good))
    assert items == same == ("a", "b")
    np.testing.assert_array_equal(one, other)
    one, other = both(monkeypatch, lambda: read_matrix(bad))
    assert one == other
    assert "'half'" in one


def test_parquet_says_what_it_needs(monkeypatch, tmp_path):
    (tmp_path / "study.parquet").write_bytes(b"PAR1")
    hide(monkeypatch, "pyarrow")
    with pytest.raises(InputError) as caught:
        read_comparisons(tmp_path / "study.parquet")
    assert str(caught.value) == (
        f"{tmp_path / 'study.parquet'}: a Parquet file needs pyarrow: pip install 'tiewise[data]'"
    )
