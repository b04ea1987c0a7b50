"""Comparisons: the judgements of a study, from any file or data frame, counted where they live."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw  # 50 ms, and it brings no data frame library with it
import numpy as np
from numpy.typing import ArrayLike

from tiewise.data.counts import Counts, Integers, natural_order
from tiewise.data.files import read_sheet, write_csv
from tiewise.data.format_rules import FIRST, OUTCOMES, SECOND, SKIP, TIE, Coded, Judgements, as_text
from tiewise.data.formats import Layout, heading, listed, recognise
from tiewise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]

Stratified = tuple[Judgements, tuple[str, ...], Integers]

TIMES = "tiewise_times"
BETWEEN = ", "
"""What stands between the values of several columns in the name of a stratum."""


def read_comparisons(
    source: object,
    *,
    first: str | None = None,
    second: str | None = None,
    chosen: str | None = None,
    tie: str | None = None,
    judge: str | None = None,
    name: str | None = None,
) -> Comparisons:
    """The comparisons in a file (CSV, TSV, XLSX, Parquet) or in any data frame narwhals knows.

    The format is recognised by the columns. Otherwise say which columns hold the two items
    (`first`, `second`), the id of the chosen one (`chosen`, empty for a tie) and, where there are
    ties, a flag for them (`tie`: 1/0, true/false, yes/no). `judge` names the column of judges,
    and `name` is what messages call the source.
    """
    frame, called, place = _opened(source)
    called = name or called
    named = {"first": first, "second": second, "chosen": chosen, "tie": tie}
    layout = recognise(called, frame.collect_schema().names(), named, judge)
    rows, times = _grouped(frame, layout.columns)
    if not len(times):
        raise InputError(f"{called}: there are column names but no rows; save it with its rows")
    told = layout.understand(rows)
    if not isinstance(told, Judgements):
        raise InputError(f"{called}, {_whereabouts(frame, layout, place, rows, told)}")
    return Comparisons(frame, layout, called, _repeated(told, times))


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons:
    """The judgements of a study: who compared what with what, and the answer.

    `frame` holds the rows as they came and where they live, `layout` says how to read them, and
    `tally` holds each kind of row once, checked. Made by `read_comparisons` or `from_columns`.
    """

    frame: Frame
    layout: Layout
    source: str
    tally: Judgements

    @classmethod
    def from_columns(
        cls,
        *,
        first: ArrayLike,
        second: ArrayLike,
        outcome: ArrayLike,
        judge: ArrayLike | None = None,
        name: str = "comparisons",
        **extra: ArrayLike,
    ) -> Comparisons:
        """Comparisons from arrays of equal length; outcomes are first, second, tie or skip."""
        import pyarrow as pa

        columns = {"judge": judge, "first": first, "second": second, "outcome": outcome, **extra}
        arrays = {key: _array(values) for key, values in columns.items() if values is not None}
        lengths = sorted({len(array) for array in arrays.values()})
        if len(lengths) > 1:
            raise InputError(f"{name}: columns of {lengths} rows; make them equally long")
        table = pa.table(arrays)
        return read_comparisons(table, judge="judge" if "judge" in arrays else None, name=name)

    @cached_property
    def items(self) -> tuple[str, ...]:
        """The items that occur, skipped pairs included, in natural order."""
        used = np.union1d(self.tally.first, self.tally.second)
        return natural_order(self.tally.words[k] for k in used)

    @cached_property
    def judges(self) -> frozenset[str] | None:
        """The judges that are named, or None where nobody is."""
        if self.layout.judge is None:
            return None
        rows, _ = _grouped(self.frame, {"judge": self.layout.judge})
        return frozenset(rows.words[1:]) or None

    @property
    def ties(self) -> int:
        """Number of tied judgements."""
        return self._number(TIE)

    @property
    def skips(self) -> int:
        """Number of pairs that were shown and skipped."""
        return self._number(SKIP)

    def _number(self, outcome: int) -> int:
        return int(self.tally.times[self.tally.outcome == outcome].sum())

    def __len__(self) -> int:
        return int(self.tally.times.sum())

    def counts(self, *, by: str | Sequence[str] | None = None, ordered: bool = False) -> Counts:
        """How often each pair was compared, and the answers; `by` a column, one stratum a value.

        `by="judge"` is the column of judges, whatever its name; of several columns each combination
        is a stratum. `ordered` keeps (i, j) apart from (j, i), for data that say which item was
        shown first.
        """
        if ordered and not self.layout.sides:
            raise InputError(
                f"{self.source}: {self.layout.name} data do not say which item was shown first; "
                "count them without ordered"
            )
        told, strata, stratum = self._within(by)
        wins_first, wins_second, ties = (
            np.where(told.outcome == kind, told.times, 0) for kind in (FIRST, SECOND, TIE)
        )
        place = _places(self.items, told.words)
        return Counts.of(
            self.items, place[told.first], place[told.second], wins_first, wins_second, ties,
            stratum=stratum, strata=strata, skips=self.skips, judges=self.judges, ordered=ordered,
        )  # fmt: skip

    def kinds(self, *columns: str) -> list[tuple[str, ...]]:
        """Every combination of values in these columns that occurs; `judge` as for counts."""
        rows, _ = _grouped(self.frame, {name: self._column(name) for name in columns})
        return sorted(set(_told(rows, columns)))

    def _within(self, by: str | Sequence[str] | None) -> Stratified:
        """The tally within strata, their names, and the stratum of each of its rows."""
        if by is None:
            return self.tally, ("all",), np.zeros_like(self.tally.first)
        names = {f"by {name}": name for name in ([by] if isinstance(by, str) else by)}
        columns = {part: self._column(name) for part, name in names.items()}
        rows, times = _grouped(self.frame, {**self.layout.columns, **columns})
        for part, name in names.items():
            empty = rows.columns[part] == 0
            if empty.any():
                raise InputError(
                    f"{self.source}: {name} is empty in {times[empty].sum()} row(s); "
                    "fill it in, or count without it"
                )
        told = _repeated(self._understood(rows), times)
        kinds = [BETWEEN.join(words) for words in _told(rows, list(names))]
        strata = natural_order(kinds)
        return told, strata, _places(strata, kinds)[told.row]

    def _column(self, by: str) -> str:
        if by == "judge" and self.layout.judge is not None:
            return self.layout.judge
        columns = self.frame.collect_schema().names()
        if by not in columns:
            raise InputError(f"{self.source}: no column {by!r}; there are {listed(columns)}")
        return by

    def _understood(self, rows: Coded) -> Judgements:
        told = self.layout.understand(rows)
        assert isinstance(told, Judgements), "the rows were checked when they were read"
        return told

    def rows(self) -> pd.DataFrame:
        """One row a judgement: judge, first, second, outcome, then the other columns as they came.

        Counted data have a row for each pair and outcome instead, and `times` says how often.
        """
        import pandas as pd

        here = _here(self.frame)
        told, judge = self._one_by_one(here)
        words = np.array([None, *told.words[1:]], object)
        ours = {
            "judge": None if judge is None else words[judge],
            "first": words[told.first],
            "second": words[told.second],
            "outcome": np.array(OUTCOMES, object)[told.outcome],
            **({"times": told.times} if self.layout.counted else {}),
        }
        index = pd.RangeIndex(len(told.row))
        extras = self._extras(here, None).iloc[told.row].set_axis(index)
        frame = pd.DataFrame(ours, index).join(_apart(extras, ours))
        return frame[frame["times"] > 0].reset_index(drop=True) if self.layout.counted else frame

    def one_by_one(self, *extras: str) -> tuple[Judgements, Integers | None, pd.DataFrame]:
        """What `rows` tells, as positions in a list of texts: a tenth of the memory, and quicker.

        The judge of each is one too, 0 where nobody is named and None where nobody ever is; of the
        other columns only `extras` are there, those that there are.
        """
        here = _here(self.frame)
        told, judge = self._one_by_one(here)
        table = self._extras(here, extras)
        return told, judge, table.iloc[told.row] if len(table.columns) else table

    def _one_by_one(self, here: nw.DataFrame[Any]) -> tuple[Judgements, Integers | None]:
        judge = {"judge": self.layout.judge} if self.layout.judge is not None else {}
        rows = _coded(here, {**self.layout.columns, **judge})
        told = self._understood(rows)
        return told, rows.columns["judge"][told.row] if judge else None

    def _extras(self, here: nw.DataFrame[Any], wanted: Sequence[str] | None) -> pd.DataFrame:
        """The columns that play no part, or only those wanted of them."""
        import pandas as pd

        names = self.layout.extras(here.columns)
        if wanted is not None:
            names = [name for name in names if name in wanted]
        columns = {name: here[name].to_pandas().reset_index(drop=True) for name in names}
        return pd.DataFrame(columns, pd.RangeIndex(len(here)))

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the columns of the comparison interface, then the others, to be read back alike.

        Where the data do not say which item was shown first, the pair is written in item order,
        so that the chosen one does not always stand on the same side.
        """
        rows = self.rows()
        if self.layout.counted:
            rows = rows.loc[rows.index.repeat(rows.pop("times"))].reset_index(drop=True)
        ours = _interface(rows, None if self.layout.sides else self.items)
        extras = _apart(rows.drop(columns=["judge", "first", "second", "outcome"]), ours)
        if "comparison_id" not in extras:
            extras.insert(0, "comparison_id", range(1, len(rows) + 1))
        number = extras.pop("comparison_id").to_frame()
        write_csv(number.join(ours).join(extras), path)

    def __repr__(self) -> str:
        return (
            f"Comparisons({self.source}: {len(self)} judgements of {len(self.items)} items, "
            f"{self.ties} ties, {self.skips} skips)"
        )


def _opened(source: object) -> tuple[Frame, str, Callable[[int], str]]:
    """The source as a narwhals frame, its name, and what its rows are called."""
    if isinstance(source, (str, PathLike)):
        sheet = read_sheet(Path(source))
        return _framed(sheet.table, str(source)), str(source), sheet.place
    return _framed(source, "data frame"), "data frame", lambda row: f"row {row + 1}"


def _framed(source: Any, called: str) -> Frame:
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
            f"{called}: two columns are called {twice[1] if twice else 'the same'}; rename one"
        ) from None
    except TypeError:
        kind = type(source).__name__
        raise InputError(
            f"comparisons cannot be read from {kind}; give a path or a data frame"
        ) from None
    return frame


def _grouped(frame: Frame, columns: Mapping[str, str]) -> tuple[Coded, Integers]:
    """Each kind of row once, and how often it occurs, counted where the frame lives."""
    # Rows are grouped as they came and understood afterwards: no library's own idea of text,
    # of missing values or of 26.0 comes in, and there are few groups.
    keys = list(dict.fromkeys(columns.values()))
    groups = _here(frame.group_by(keys, drop_null_keys=False).agg(nw.len().alias(TIMES)))
    return _coded(groups, columns), groups[TIMES].to_numpy().astype(np.int64)


def _here(frame: Frame) -> nw.DataFrame[Any]:
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def _coded(frame: nw.DataFrame[Any], columns: Mapping[str, str]) -> Coded:
    return Coded.of({part: _arrow(frame[column]) for part, column in columns.items()})


def _arrow(column: nw.Series[Any]) -> pa.ChunkedArray:
    import pyarrow as pa

    try:
        array = column.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # numbers and text in one column
        array = _texts(column.to_list())
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _told(rows: Coded, parts: Sequence[str]) -> list[tuple[str, ...]]:
    """The texts of each row, part by part."""
    columns = (rows.columns[part] for part in parts)
    return [tuple(rows.words[k] for k in codes) for codes in zip(*columns, strict=True)]


def _array(values: ArrayLike) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(np.asarray(values), from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return _texts(np.asarray(values, object))


def _texts(values: Iterable[object]) -> pa.Array:
    import pyarrow as pa

    return pa.array(map(as_text, values), pa.string())


def _places(names: Iterable[str], words: Iterable[str]) -> Integers:
    """Where each word stands among the names, or -1."""
    place = {name: k for k, name in enumerate(names)}
    return np.array([place.get(word, -1) for word in words], np.int64)


def _repeated(told: Judgements, times: Integers) -> Judgements:
    """The judgements of grouped rows, each as often as its group occurs."""
    return replace(told, times=told.times * times[told.row])


def _whereabouts(
    frame: Frame, layout: Layout, place: Callable[[int], str], rows: Coded, bad: tuple[int, str]
) -> str:
    """The first bad row and what is wrong with it; a lazy frame has no first row, only values."""
    if isinstance(frame, nw.LazyFrame):
        row = {layout.columns[part]: text for part, text in rows.texts(bad[0]).items()}
        return f"a row with {', '.join(f'{c} {text!r}' for c, text in row.items())}: {bad[1]}"
    told = layout.understand(_coded(frame, layout.columns))
    assert not isinstance(told, Judgements), "a group was bad, so one of its rows is"
    return f"{place(told[0])}: {told[1]}"


def _interface(rows: pd.DataFrame, items: tuple[str, ...] | None) -> pd.DataFrame:
    """Our rows in the columns of the comparison interface; pairs in the order of `items` if any."""
    import pandas as pd

    first, second, outcome = rows["first"], rows["second"], rows["outcome"]
    chosen = first.where(outcome == "first", second.where(outcome == "second", None))
    if items is not None:
        turn = _places(items, first) > _places(items, second)
        first, second = first.mask(turn, second), second.mask(turn, first)
    return pd.DataFrame(
        {
            "user_id": rows["judge"],
            "item_1_id": first,
            "item_2_id": second,
            "selected_item_id": chosen,
            "state": outcome.map({"tie": "tied", "skip": "skipped"}).fillna("selected"),
        }
    )


def _apart(extras: pd.DataFrame, ours: Iterable[object]) -> pd.DataFrame:
    """The other columns, renamed where they are called like one of ours."""
    taken = set(ours)
    clash = {name: f"{name}_in_file" for name in extras.columns if heading(name) in taken}
    return extras.rename(columns=clash)
