"""Data frames of any library, by narwhals: opened, grouped where they live, and read as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw  # 50 ms, and it brings no data frame library with it
import numpy as np
from numpy.typing import ArrayLike

from tiewise.data.counts import Integers
from tiewise.data.files import read_sheet
from tiewise.data.plain.tables import Objects, objects, value_columns
from tiewise.data.text_columns import TextColumns, as_text
from tiewise.errors import InputError
from tiewise.optional import is_installed

if TYPE_CHECKING:
    import pyarrow as pa

Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]

TIMES = "tiewise_times"
FEW_ROWS = 200_000
QUESTION = "question"
"""The column of questions in tables of studies that ask several."""


class IdColumns(NamedTuple):
    """Groups of columns that hold ids of the same things; with `any_id`, NA is one, too."""

    groups: tuple[frozenset[str], ...] = ()
    any_id: bool = False


NO_IDS = IdColumns()


class Source(NamedTuple):
    """A frame, its name in messages, and what its rows are called."""

    frame: Frame
    name: str
    row_name: Callable[[int], str]


def open_source(source: object) -> Source:
    """A path or a data frame, opened."""
    if isinstance(source, (str, PathLike)):
        sheet = read_sheet(Path(source))
        return Source(_frame(sheet.table.to_native(), str(source)), str(source), sheet.place)
    return Source(_frame(source, "data frame"), "data frame", lambda row: f"row {row + 1}")


def _frame(source: Any, name: str) -> Frame:
    if nw.dependencies.is_pyarrow_table(source):
        source = source.unify_dictionaries()  # else Arrow refuses to group by categories
    if nw.dependencies.is_pandas_dataframe(source):
        source = source.set_axis([str(column) for column in source.columns], axis=1)
    try:
        frame: Frame = nw.from_native(source)
        frame.collect_schema()
    except nw.exceptions.DuplicateError as error:
        twice = re.search(r"- (.*) \d+ times", str(error))
        raise InputError(
            f"{name}: two columns are called {twice[1] if twice else 'the same'}; rename one"
        ) from None
    except TypeError:
        kind = type(source).__name__
        raise InputError(
            f"comparisons cannot be read from {kind}; give a path or a data frame"
        ) from None
    return frame


def distinct_rows(
    frame: Frame, columns: Mapping[str, str], ids: IdColumns = NO_IDS
) -> tuple[TextColumns, Integers]:
    """Each distinct row of these columns, and how often it occurs, counted where the frame is."""
    # Rows are grouped as they came and turned to text afterwards: no library's own idea of text,
    # of missing values or of 26.0 comes in, and there are few groups.
    keys = list(dict.fromkeys(columns.values()))
    if (distinct := _distinct_texts(frame, keys)) is not None:
        rows, times = distinct
        return text_columns(rows, columns, ids), times
    groups = collect(frame.group_by(keys, drop_null_keys=False).agg(nw.len().alias(TIMES)))
    return text_columns(groups, columns, ids), groups[TIMES].to_numpy().astype(np.int64)


def _distinct_texts(frame: Frame, keys: Sequence[str]) -> tuple[nw.DataFrame[Any], Integers] | None:
    """Distinct rows of an Arrow table of texts, as the first of each, and how often they occur.

    None for other frames, and for so many rows that Arrow's own grouping pays: it brings the better
    part of Arrow's libraries with it.
    """
    table: Any = frame.to_native()
    if not nw.dependencies.is_pyarrow_table(table) or len(table) > FEW_ROWS:
        return None
    import pyarrow as pa

    if not all(table.schema.field(key).type == pa.string() for key in keys):
        return None
    code = np.zeros(len(table), np.int64)
    for key in keys:
        own = table.column(key).combine_chunks().dictionary_encode("encode")
        code = code * max(len(own.dictionary), 1) + own.indices.to_numpy()
        code = np.unique(code, return_inverse=True)[1]
    _, first, times = np.unique(code, return_index=True, return_counts=True)
    order = np.argsort(first)
    rows = nw.from_native(table.select(keys).take(first[order]), eager_only=True)
    return rows, times[order].astype(np.int64)


def collect(frame: Frame) -> nw.DataFrame[Any]:
    """The frame in memory."""
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def text_columns(
    frame: nw.DataFrame[Any], columns: Mapping[str, str], ids: IdColumns = NO_IDS
) -> TextColumns:
    """Columns as text, by part."""
    arrays = {part: arrow_column(frame[column]) for part, column in columns.items()}
    groups = ({part for part in columns if columns[part] in group} for group in ids.groups)
    return TextColumns.of(arrays, groups, any_id=ids.any_id)


def arrow_column(column: nw.Series[Any]) -> pa.ChunkedArray | Objects:
    """A column as an Arrow array, as text where types are mixed; without Arrow as it is."""
    if not is_installed("pyarrow"):
        return objects(column.to_list())
    import pyarrow as pa

    try:
        array = column.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # numbers and text in one column
        array = _texts(column.to_list())
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def table_of(columns: Mapping[str, ArrayLike]) -> Any:
    """Arrays of equal length as a table: of Arrow, or of pandas without it."""
    if not is_installed("pyarrow"):
        return value_columns(columns)
    import pyarrow as pa

    return pa.table({name: arrow_array(values) for name, values in columns.items()})


def arrow_array(values: ArrayLike) -> pa.Array:
    """Values of any type as an Arrow array; as text where types are mixed."""
    import pyarrow as pa

    try:
        return pa.array(np.asarray(values), from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return _texts(np.asarray(values, object))


def _texts(values: Iterable[object]) -> pa.Array:
    import pyarrow as pa

    return pa.array(map(as_text, values), pa.string())


def question_ids(opened: Source) -> list[str] | None:
    """The ids of the questions that a table answers; None where it has no column of them."""
    if QUESTION not in opened.frame.collect_schema().names():
        return None
    there = collect(opened.frame.select(QUESTION).unique())[QUESTION].to_list()
    return sorted(str(one) for one in there if one is not None)


def of_question(opened: Source, names: Sequence[str], question: str | None) -> Source:
    """The answers to one question; answers to several are refused where none is named."""
    if question is None and not {QUESTION, "comparison_id", "selected_item_id"} <= set(names):
        return opened
    ids = question_ids(opened)
    if ids is None:
        raise InputError(
            f"{opened.name} has no column {QUESTION}, from which question_id= could choose; leave "
            "it out"
        )
    if question is None:
        if len(ids) > 1:
            raise InputError(
                f"{opened.name} has answers to several questions; name one of "
                f"{', '.join(ids[:8])} (question_id=)"
            )
        return opened
    if question not in ids:
        raise InputError(
            f"{opened.name}: no answer is to question_id={question!r}; there are "
            f"{', '.join(ids[:8])}"
        )
    return opened._replace(frame=opened.frame.filter(nw.col(QUESTION).cast(nw.String) == question))
