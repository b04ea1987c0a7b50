"""A workbook is read within bounds: a small file may unpack to more than a machine has."""

from __future__ import annotations

import io
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from openpyxl import Workbook

from tiewise.data import workbook
from tiewise.data.workbook import read_workbook
from tiewise.errors import InputError

SHEET, STRINGS, BOOK = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/workbook.xml"
SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
TYPES, SHARED_STRINGS = (
    "[Content_Types].xml",
    (
        '<Override PartName="/xl/sharedStrings.xml" ContentType="application/vnd.openxmlformats-'
        'officedocument.spreadsheetml.sharedStrings+xml"/>'
    ),
)
MEMORY = 2 << 30
Members = dict[str, bytes]


def members() -> Members:
    """The files inside a small workbook of two judgements."""
    book, file = Workbook(), io.BytesIO()
    for row in (("winner", "loser"), ("a", "b"), ("b", "c")):
        book.active.append(row)
    book.save(file)
    with zipfile.ZipFile(file) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    types = files[TYPES].replace(b"</Types>", SHARED_STRINGS.encode() + b"</Types>")
    return files | {TYPES: types, STRINGS: f"<sst {SPACE}/>".encode()}


def pack(path: Path, files: Members) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def sheet(rows: str | bytes) -> bytes:
    inside = rows.encode() if isinstance(rows, str) else rows
    return f"<worksheet {SPACE}><sheetData>".encode() + inside + b"</sheetData></worksheet>"


def far_row(files: Members) -> Members:
    """A row whose number is a million million."""
    return files | {SHEET: sheet('<row r="1"><c r="A1"><v>1</v></c></row><row r="999999999999"/>')}


def far_column(files: Members) -> Members:
    """Rows that have nothing but a cell in column ZZZ."""
    return files | {SHEET: sheet("".join(f'<row><c r="ZZZ{k}"/></row>' for k in range(1, 999)))}


def long_row(files: Members) -> Members:
    """Three million cells in one row."""
    return files | {SHEET: sheet(b"<row>" + b"<c/>" * 3_000_000 + b"</row>")}


def repeated_text(files: Members) -> Members:
    """One long text in very many cells."""
    cell = '<c t="s"><v>0</v></c>'
    strings = f"<sst {SPACE}><si><t>{'x' * 1_000_000}</t></si></sst>".encode()
    return files | {SHEET: sheet(f"<row>{cell}</row>" * 1_000), STRINGS: strings}


def nested_entities(files: Members) -> Members:
    """A text that names another ten times, which names another ten times, and so on."""
    lines = "".join(f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 12))
    head = f'<!DOCTYPE sst [<!ENTITY a0 "aaaaaaaaaa">{lines}]>'
    return files | {STRINGS: f"{head}<sst {SPACE}><si><t>&a11;</t></si></sst>".encode()}


def many_files(files: Members) -> Members:
    return files | {f"xl/media/{k}.png": b"" for k in range(5_001)}


def many_sheets(files: Members) -> Members:
    """A thousand sheets that are all the same large file."""
    one = files[BOOK].partition(b"<sheets>")[2].partition(b"</sheets>")[0]
    text = sheet(b"<row/>" * 400_000)
    return files | {BOOK: files[BOOK].replace(one, one * 1_000), SHEET: text}


def unpacked(files: Members) -> Members:
    """A third of a gigabyte of nothing, in a third of a megabyte."""
    return files | {SHEET: sheet(b" " * (330 << 20))}


LARGE: tuple[Callable[[Members], Members], ...] = (long_row, many_files, many_sheets, unpacked)
READ_ALL = """
import sys
from pathlib import Path
from tiewise.data.files import read_sheet
from tiewise.errors import InputError
for path in sys.argv[1:]:
    try:
        read_sheet(Path(path))
    except InputError as error:
        print(error)
"""


@pytest.mark.parametrize(
    ("bomb", "why"),
    [
        (far_row, "more than 1,048,576 rows"),
        (far_column, "more than 16,384 columns"),
        (repeated_text, "more than 268,435,456 letters"),
        (nested_entities, "not an Excel workbook"),
    ],
)
def test_a_small_bomb_is_refused(tmp_path, bomb, why):
    path = pack(tmp_path / "bomb.xlsx", bomb(members()))
    with pytest.raises(InputError, match=f"bomb.xlsx: .*{why}"):
        read_workbook(path)


@pytest.mark.parametrize(
    ("limit", "most", "what"),
    [
        ("MOST_BYTES", 1_000, "bytes when unpacked"),
        ("MOST_FILES", 3, "files in it"),
        ("MOST_READ", 1_000, "bytes in its sheets"),
        ("MOST_ELEMENTS", 5, "cells in one row"),
        ("MOST_ROWS", 2, "rows"),
        ("MOST_COLUMNS", 1, "columns"),
        ("MOST_CELLS", 5, "cells"),
    ],
)
def test_every_limit_is_kept(tmp_path, monkeypatch, limit, most, what):
    path = pack(tmp_path / "book.xlsx", members())
    assert read_workbook(path) == [["winner", "loser"], ["a", "b"], ["b", "c"]]
    monkeypatch.setattr(workbook, limit, most)
    with pytest.raises(InputError, match=f"more than {most:,} {what}"):
        read_workbook(path)


def test_what_a_workbook_says_of_its_own_size_is_not_believed(tmp_path):
    """A sheet of four cells that calls itself as large as Excel allows."""
    files = members()
    text = files[SHEET].replace(b'"A1:B3"', b'"A1:XFD1048576"')
    assert text != files[SHEET]
    path = pack(tmp_path / "book.xlsx", files | {SHEET: text})
    assert read_workbook(path) == [["winner", "loser"], ["a", "b"], ["b", "c"]]


def _little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is that of Linux")
def test_large_bombs_are_one_line_within_bounds_of_memory_and_time(tmp_path):
    """In a process that may use 2 GiB of addresses, libraries included, and a minute for all."""
    paths = [pack(tmp_path / f"{bomb.__name__}.xlsx", bomb(members())) for bomb in LARGE]
    ended = subprocess.run(
        [sys.executable, "-c", READ_ALL, *map(str, paths)], capture_output=True, text=True,
        check=False, timeout=60, preexec_fn=_little_memory, env={"OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert [line.partition(": this workbook has more than")[0] for line in lines] == [
        str(path) for path in paths
    ]
