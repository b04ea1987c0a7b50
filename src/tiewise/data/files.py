"""Files: a table from CSV, TSV, XLSX or Parquet, and the line on which each row stands."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

import narwhals as nw

from tiewise.data.about_table import is_raw
from tiewise.data.plain.tables import text_table
from tiewise.data.spreadsheet_cells import defuse_cell, defuse_frame, restore, restore_column
from tiewise.data.workbook import read_workbook
from tiewise.errors import InputError
from tiewise.optional import is_installed, require
from tiewise.text import first_line

if TYPE_CHECKING:
    import pandas as pd

PEEK = 1 << 20
BLOCK = 1 << 24
NUMBERS_BLOCK = 1 << 21
LONGEST_HEADING, MOST_COLUMNS = 10_000, 20_000


@dataclass(frozen=True, slots=True)
class Sheet:
    """A file's rows, and where each of them is to be found."""

    table: nw.DataFrame[Any]
    place: Callable[[int], str]


def read_sheet(path: Path) -> Sheet:
    """The rows of a file as they are; CSV, TSV and XLSX as text, so that 007 stays 007."""
    readers = {".csv": _csv, ".tsv": _csv, ".xlsx": _xlsx, ".parquet": _parquet}
    if not path.exists():
        raise InputError(f"{path}: there is no such file; check its name and folder")
    if path.is_dir():
        if (path / "posterior.nc").is_file():
            raise InputError(f"{path}: this is a folder of results; name the file that was fitted")
        raise InputError(f"{path}: this is a folder; name a file in it")
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"{path}: the name does not say what kind of file this is; "
            "save it as .csv, .tsv, .xlsx or .parquet"
        )
    try:
        if path.stat().st_size == 0:
            raise InputError(f"{path}: the file is empty; save it again with its rows")
        return reader(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be opened ({error.strerror or error})") from error


def _csv(path: Path) -> Sheet:
    delimiter, headings, lines = _headings(path)
    read = _arrow_table if is_installed("pyarrow") else _plain_table
    table = read(path, delimiter, headings, lines)
    return Sheet(table, lambda row: f"line {_line_of(path, delimiter, row)}")


def _arrow_table(
    path: Path, delimiter: str, headings: Sequence[str], lines: int
) -> nw.DataFrame[Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow

    names = [name or f"\x1f{k}" for k, name in enumerate(headings)]
    columns = [name for name, heading in zip(names, headings, strict=True) if heading]
    try:
        # Arrow reads columns, in parallel, and does not bring pandas with it.
        table = arrow.read_csv(
            path,
            arrow.ReadOptions(column_names=names, skip_rows=lines, block_size=BLOCK),
            arrow.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            arrow.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), include_columns=columns
            ),
        )
    except pa.ArrowInvalid as error:
        raise _explained(path, delimiter, len(names), error) from error
    if not is_raw(path):
        columns = [restore_column(column) for column in table.columns]
        table = pa.table(columns, names=[restore(name) for name in table.column_names])
    return nw.from_native(table, eager_only=True)


def _plain_table(
    path: Path, delimiter: str, headings: Sequence[str], _lines: int
) -> nw.DataFrame[Any]:
    """The same without Arrow, by Python's own reader."""
    _refuse_encoding(path)
    rows = []
    for line, fields in _records(path, delimiter):
        if len(fields) != len(headings):
            raise _wrong_width(path, line, len(fields), len(headings))
        rows.append(fields)
    texts = list(zip(*rows[1:], strict=True)) or [()] * len(headings)
    tidy = str if is_raw(path) else restore
    return text_table(
        {
            tidy(name): [tidy(cell) for cell in column]
            for name, column in zip(headings, texts, strict=True)
            if name
        }
    )


def read_numbers(path: Path, texts: Collection[str]) -> nw.DataFrame[Any] | None:
    """The rows of a CSV file of numbers; None where anything in it is none, or in another file.

    A first column with a heading among `texts` is read as text.
    """
    if path.suffix.lower() not in (".csv", ".tsv") or not path.is_file():
        return None
    if not is_installed("pyarrow"):
        return None
    import pyarrow as pa
    from pyarrow import csv as arrow

    delimiter, names, lines = _headings(path)
    if not all(names):
        return None
    types = dict.fromkeys(names, pa.float64())
    if names[0].lower() in texts:
        types[names[0]] = pa.string()
    try:
        table = arrow.read_csv(
            path,
            arrow.ReadOptions(column_names=names, skip_rows=lines, block_size=NUMBERS_BLOCK),
            arrow.ParseOptions(delimiter=delimiter),
            arrow.ConvertOptions(column_types=types, null_values=[]),
        )
    except pa.ArrowInvalid:
        return None
    numbers: nw.DataFrame[Any] = nw.from_native(table, eager_only=True)
    return numbers


def release_arrow_memory() -> None:
    """Give back the room of tables that are gone, which Arrow would keep."""
    if is_installed("pyarrow"):
        import pyarrow as pa

        pa.default_memory_pool().release_unused()


def _headings(path: Path) -> tuple[str, list[str], int]:
    """The delimiter, the column names and the number of lines they take."""
    with path.open("rb") as file:
        start = file.read(PEEK)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path}: the text is UTF-16; save it as CSV UTF-8")
    if b"\0" in start:
        raise InputError(f"{path}: this is not a text file; save the table as CSV UTF-8")
    lines = start.decode("utf-8-sig", errors="replace").splitlines(keepends=True)
    choices = ["\t"] if path.suffix.lower() == ".tsv" else [",", ";", "\t"]
    headers = [(delimiter, *_first_record(lines, delimiter)) for delimiter in choices]
    delimiter, fields, taken = max(headers, key=lambda header: len(header[1]))
    if "\N{REPLACEMENT CHARACTER}" in "".join(fields):
        _refuse_encoding(path)
    return delimiter, _distinct_names(path, fields), taken


def _first_record(lines: Sequence[str], delimiter: str) -> tuple[list[str], int]:
    with _long_fields():
        reader = csv.reader(lines, delimiter=delimiter)
        for fields in reader:
            if fields:
                return fields, reader.line_num
    return [], 0


@contextmanager
def _long_fields() -> Iterator[None]:
    """Fields of any length that a file may have, where Python's reader stops at 128 KiB."""
    limit = csv.field_size_limit(BLOCK)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _distinct_names(path: Path, fields: Sequence[str]) -> list[str]:
    names = [field.strip() for field in fields]
    if not any(names):
        raise InputError(f"{path}: there are no column names; write them in the first line")
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"{path}, line 1: {len(names):,} columns, and {MOST_COLUMNS:,} are the most that can "
            "be read; leave out those that are not needed"
        )
    longest = max(names, key=len)
    if len(longest) > LONGEST_HEADING:
        raise InputError(
            f"{path}, line 1: the column that begins {longest[:40]!r} has a name of "
            f"{len(longest):,} letters; is a quote missing? Names are short, in the first line"
        )
    name, times = Counter(filter(None, names)).most_common(1)[0]
    if times > 1:
        raise InputError(f"{path}, line 1: two columns are called {name!r}; rename one of them")
    return names


def _explained(path: Path, delimiter: str, width: int, error: Exception) -> InputError:
    """What ails a CSV file that Arrow refused, with the line."""
    _refuse_encoding(path)
    for line, fields in _records(path, delimiter):
        if len(fields) != width:
            return _wrong_width(path, line, len(fields), width)
    return InputError(
        f"{path}: cannot be read as a table ({first_line(error)}); save it again as CSV UTF-8"
    )


def _wrong_width(path: Path, line: int, fields: int, width: int) -> InputError:
    return InputError(
        f"{path}, line {line}: {fields} fields where the first line has {width}; "
        "add or remove delimiters, or put quotes around text that contains one"
    )


def _refuse_encoding(path: Path) -> None:
    line = 1
    with path.open("rb") as file:
        for line, text in enumerate(file, start=1):
            try:
                text.decode("utf-8")
            except UnicodeDecodeError:
                raise InputError(
                    f"{path}, line {line}: the text is not UTF-8; save the file as CSV UTF-8"
                ) from None


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The line on which each record begins, and its fields; blank lines are passed over."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from _numbered(file, delimiter)
    except csv.Error as error:
        raise InputError(
            f"{path}: cannot be read as a table ({error}); save it again as CSV UTF-8"
        ) from None


def _numbered(file: TextIO, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    with _long_fields():
        reader = csv.reader(file, delimiter=delimiter)
        line = 1
        for fields in reader:
            if fields:
                yield line, fields
            line = reader.line_num + 1


def _line_of(path: Path, delimiter: str, row: int) -> int:
    lines = (line for line, _ in _records(path, delimiter))
    return next(line for k, line in enumerate(lines) if k == row + 1)


def _xlsx(path: Path) -> Sheet:
    cells = read_workbook(path)
    lines = [k for k, row in enumerate(cells, start=1) if any(row)]
    if not lines:
        raise InputError(f"{path}: the first sheet is empty; move the table there")
    names = _distinct_names(path, cells[lines[0] - 1])
    # A row of a workbook may end early, where its last cells are empty.
    rows = [cells[line - 1] + [""] * len(names) for line in lines[1:]]
    columns = {name: [row[k] for row in rows] for k, name in enumerate(names) if name}
    return Sheet(_texts(columns), lambda row: f"line {lines[row + 1]}")


def _texts(columns: Mapping[str, Sequence[str]]) -> nw.DataFrame[Any]:
    """Columns of texts as a table, of Arrow where it is there."""
    if not is_installed("pyarrow"):
        return text_table(columns)
    import pyarrow as pa

    arrays = {name: pa.array(column, pa.string()) for name, column in columns.items()}
    return nw.from_native(pa.table(arrays), eager_only=True)


def _parquet(path: Path) -> Sheet:
    require(f"{path}: a Parquet file", "pyarrow")
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}: this is not a Parquet file; write it again") from error
    return Sheet(nw.from_native(table, eager_only=True), lambda row: f"row {row + 1}")


def write_csv(frame: pd.DataFrame, path: str | PathLike[str]) -> None:
    """Write a table as CSV in UTF-8, so that every text in it is read back as it is.

    Texts that a spreadsheet would run as formulas are defused; `read_sheet` undoes that.
    """
    frame = defuse_frame(frame)
    text = frame.select_dtypes(exclude="number").astype(str)
    bare = any(text[column].str.contains("\r", regex=False).any() for column in text)
    # Python's writer leaves a bare carriage return unquoted, and it would read as a new line.
    style: Literal[0, 1] = 1 if bare else 0
    frame.to_csv(path, index=False, lineterminator="\n", quoting=style, encoding="utf-8")


def write_rows(
    path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]], *, raw: bool = False
) -> None:
    """Write rows as `write_csv` does, whole or not at all; `raw` leaves texts as they are."""
    beside = path.with_name(f".{path.name}.new")
    with beside.open("w", encoding="utf-8", newline="") as file:
        usual, quoted = (
            csv.writer(file, lineterminator="\n", quoting=style)
            for style in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
        )
        for row in chain([head], rows):
            cells = row if raw else [defuse_cell(value) for value in row]
            bare = any(isinstance(value, str) and "\r" in value for value in cells)
            (quoted if bare else usual).writerow(cells)
    beside.replace(path)
