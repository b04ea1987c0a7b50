"""Excel workbooks: the cells of the first sheet, within bounds of memory and time.

A workbook is a packed archive, and a small one may unpack to more than a machine has: everything is
measured before openpyxl sees it, and counted while its rows are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import ZipFile

from tiewise.data.spreadsheet_cells import restore
from tiewise.data.text_columns import as_text
from tiewise.errors import InputError

MOST_BYTES = 256 << 20
"""Of the unpacked archive, and of the texts in its cells."""
MOST_READ = 1 << 30
"""Bytes in all that openpyxl may have to go through: it looks into every sheet."""
MOST_FILES = 5_000
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
"""As many as Excel has."""
MOST_CELLS = 3_000_000
MOST_ELEMENTS = 500_000
"""XML elements in one row, or outside rows: these are in memory at the same time."""
CHUNK = 1 << 16


class _TooBigError(Exception):
    """A workbook has more of something than can be read."""


def read_workbook(path: Path) -> list[list[str]]:
    """The cells of the first sheet as text, row by row; rows may end early."""
    try:
        with ZipFile(path) as archive:
            _check_archive(archive)
        return list(_rows(path))
    except _TooBigError as error:
        raise InputError(
            f"{path}: this workbook has {error}, too many to be read; save its table as CSV"
        ) from None
    except Exception as error:  # openpyxl has no common ancestor for what it raises
        raise InputError(f"{path}: this is not an Excel workbook; save it as .xlsx") from error


def _check_archive(archive: ZipFile) -> None:
    """Refuse an archive that would unpack to too much."""
    members = archive.infolist()
    sizes = [member.file_size for member in members]
    _limit(len(members), MOST_FILES, "files in it")
    _limit(sum(sizes), MOST_BYTES, "bytes when unpacked")
    counts = [_ElementCount() for _ in members]
    for member, count in zip(members, counts, strict=True):
        with archive.open(member) as file:
            count.read(file)
    # Sheets without their size are gone through once more, and several may be the same file.
    sheets = sum(count.sheets for count in counts)
    _limit(sheets * max(sizes, default=0), MOST_READ, "bytes in its sheets")


class _ElementCount:
    """Counts the XML elements of a file as it is read."""

    def __init__(self) -> None:
        self.sheets = self.elements = 0

    def read(self, file: Any) -> None:
        """Go through a file; one that is not XML is nothing that openpyxl reads."""
        parser = ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        try:
            while chunk := file.read(CHUNK):
                parser.Parse(chunk)
        except ExpatError:
            pass

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self.elements += 1
        if name.endswith(" row") and attributes.get("r", "").isdecimal():
            _limit(int(attributes["r"][:20]), MOST_ROWS, "rows")
        self.sheets += name.endswith(" sheet")
        _limit(self.elements, MOST_ELEMENTS, "cells in one row")

    def _end(self, name: str) -> None:
        if name.endswith((" row", " si")):
            self.elements = 0


def _limit(number: int, most: int, what: str) -> None:
    if number > most:
        raise _TooBigError(f"more than {most:,} {what}")


def _rows(path: Path) -> Iterator[list[str]]:
    from openpyxl import load_workbook

    book = load_workbook(path, read_only=True, data_only=True)
    try:
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # what a file says of its own size need not be so
        cells = letters = 0
        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            _limit(number, MOST_ROWS, "rows")
            _limit(len(row), MOST_COLUMNS, "columns")
            texts = [_text(value) for value in row]
            cells, letters = cells + len(texts), letters + sum(map(len, texts))
            _limit(cells, MOST_CELLS, "cells")
            _limit(letters, MOST_BYTES, "letters")
            yield texts
    finally:
        book.close()


def _text(value: object) -> str:
    return as_text(restore(value) if isinstance(value, str) else value)
