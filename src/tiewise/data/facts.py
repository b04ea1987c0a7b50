"""Facts of single comparisons: columns of numbers in their table, and counts that keep them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tiewise.data.answers import FIRST, SECOND, TIE, on_scale
from tiewise.data.comparisons import Comparisons
from tiewise.data.counts import Counts, Integers, natural_order
from tiewise.data.frames import arrow_column, collect
from tiewise.data.layout import column_list
from tiewise.data.plain.tables import numbers
from tiewise.data.text_columns import as_text, is_missing
from tiewise.errors import InputError
from tiewise.text import one_line

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


def table_columns(comparisons: Comparisons) -> list[str]:
    """The names of the columns of a table of comparisons."""
    return list(comparisons.frame.collect_schema().names())


def number_columns(comparisons: Comparisons, names: Sequence[str]) -> pd.DataFrame:
    """Columns of numbers, a row for each row of the table; NaN in rows without an answer."""
    import pandas as pd

    columns = table_columns(comparisons)
    unknown = [name for name in names if name not in columns]
    if unknown:
        raise InputError(
            f"{comparisons.source}: no column {unknown[0]!r}; there are {column_list(columns)}"
        )
    judgements, _, _ = comparisons.coded_rows()
    table = collect(comparisons.frame)
    used = np.zeros(len(table), bool)
    used[judgements.row[on_scale(judgements.answer) & (judgements.times > 0)]] = True
    values = {name: _numbers(comparisons.source, table[name], used) for name in names}
    return pd.DataFrame(values, pd.RangeIndex(len(table)))


def _numbers(source: str, column: nw.Series[Any], used: NDArray[np.bool_]) -> Floats:
    """A column as numbers; refused where a row with an answer has none."""
    array = arrow_column(column)
    if isinstance(array, np.ndarray):
        out = numbers(array, lambda value: _number(as_text(value)))
    else:
        out = _arrow_numbers(array)
    wrong = np.flatnonzero(used & ~np.isfinite(out))
    if len(wrong):
        text = as_text(column.item(int(wrong[0])))
        raise InputError(f"{source}, row {wrong[0] + 1}: {_complaint(column.name, text)}")
    out[~used] = np.nan
    return out


def _arrow_numbers(array: Any) -> Floats:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        cast = pc.cast(pc.utf8_trim_whitespace(array), pa.float64()) if _is_text(array) else (
            pc.cast(array, pa.float64())
        )  # fmt: skip
        return np.array(cast.to_numpy(zero_copy_only=False), np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return np.array([_number(as_text(value)) for value in array.to_pylist()])


def _is_text(array: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_string(array.type) or types.is_large_string(array.type))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _complaint(name: str, text: str) -> str:
    if is_missing(text):
        return f"{name} is empty, and an advantage is a number for every comparison; fill it in"
    if np.isinf(_number(text)):
        return f"{name} is {text}, and an advantage is a finite number; correct it"
    return (
        f"{name} is {one_line(text, 40)!r}, which is no number; write how much favours the first "
        "of the pair, and below 0 what favours the second"
    )


def count_with_facts(
    comparisons: Comparisons,
    facts: Floats,
    names: Sequence[str],
    by: str | Sequence[str] | None = None,
) -> Counts:
    """Ordered counts with facts (rows of the table, facts); `by` as for `Comparisons.counts`."""
    judgements, _, _ = comparisons.coded_rows()
    used = on_scale(judgements.answer)
    strata: tuple[str, ...] = ("all",)
    stratum = np.zeros(len(judgements.row), np.int64)
    if by is not None:
        texts = comparisons.row_strata(by)
        strata = natural_order(texts)
        if "" in strata:
            raise InputError(
                f"{comparisons.source}: {by} is empty in {texts.count('')} row(s); fill it in, or "
                "count without it"
            )
        stratum = _positions(strata, texts)
    item = _positions(comparisons.items, judgements.texts)
    first, second, row = item[judgements.first], item[judgements.second], judgements.row
    answers = [
        np.where(judgements.answer == code, judgements.times, 0) for code in (FIRST, SECOND, TIE)
    ]
    strengths = None
    if comparisons.levels > 1 and judgements.strength is not None:
        level = judgements.strength[:, None] == np.arange(1, comparisons.levels + 1)
        strengths = np.stack([level * answers[0][:, None], level * answers[1][:, None]], 1)[used]
    return Counts.of(
        comparisons.items, first[used], second[used], *(own[used] for own in answers),
        stratum=stratum[used], strata=strata, skips=comparisons.skips, judges=comparisons.judges,
        ordered=True, strengths=strengths, facts=facts[row[used]], fact_names=names,
    )  # fmt: skip


def facts_of_judgements(comparisons: Comparisons, facts: Floats) -> Floats:
    """The facts of each judgement, in the order of a record of them."""
    judgements, _, _ = comparisons.coded_rows()
    each = judgements.row
    if comparisons.layout.counted:
        each = np.repeat(each, judgements.times)
    return facts[each]


def _positions(names: Sequence[str], texts: Sequence[str]) -> Integers:
    position = {name: k for k, name in enumerate(names)}
    return np.array([position.get(text, -1) for text in texts], np.int64)
