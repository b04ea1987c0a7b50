"""Comparisons: the judgements of a study, from any file or data frame, counted where they live."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike

from tiewise.data.about_table import read_levels_offered, read_ties_offered
from tiewise.data.answers import ANSWERS, FIRST, SECOND, TIE, on_scale
from tiewise.data.counts import Counts, Integers, natural_order
from tiewise.data.files import write_csv
from tiewise.data.format_rules import BadRow, Judgements
from tiewise.data.formats import heading, interface_table
from tiewise.data.frames import (
    Frame,
    Source,
    collect,
    distinct_rows,
    of_question,
    open_source,
    table_of,
    text_columns,
)
from tiewise.data.layout import Layout, column_list, recognise
from tiewise.data.text_columns import TextColumns
from tiewise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Stratified = tuple[Judgements, tuple[str, ...], Integers]

ANSWER_WORDS = np.array([answer.word for answer in ANSWERS], object)
GRADE = "grade"
"""The column of grades in tables that a study writes."""
SEPARATOR = ", "
"""What stands between the values of several columns in the name of a stratum."""


def read_comparisons(
    source: object,
    *,
    first: str | None = None,
    second: str | None = None,
    chosen: str | None = None,
    tie: str | None = None,
    grade: str | None = None,
    grades: Sequence[str] = (),
    judge: str | None = None,
    name: str | None = None,
    drop_invalid: bool = False,
    any_id: bool = False,
    question_id: str | None = None,
) -> Comparisons:
    """The comparisons in a file (CSV, TSV, XLSX, Parquet) or in any data frame narwhals knows.

    The format is recognised by the columns. Otherwise say which columns hold the two items
    (`first`, `second`), the id of the chosen one (`chosen`, empty for a tie) and, where there are
    ties, a flag for them (`tie`: 1/0, true/false, yes/no). `grade` names a column that says how
    strongly an item was chosen, from 1 to 3; or, without a chosen item, the graded answer itself:
    a whole number that favours the first item, or one of the words `grades`, which run from all
    for the first to all for the second. `judge` names the column of judges,
    and `name` is what messages call the source. Rows that are no pair (an item with itself, or a
    missing one) are refused, or with `drop_invalid` left out and counted in `left_out`. A text
    that means nothing, such as NA or null, is no id, unless `any_id` says so. `question_id` is
    that of the question whose answers are read, where a study asked several.
    """
    opened = open_source(source)
    if name:
        opened = opened._replace(name=name)
    names = opened.frame.collect_schema().names()
    opened = of_question(opened, names, question_id)
    offered_levels = read_levels_offered(source, question_id)
    if offered_levels > 1 and GRADE in names:
        grade = grade or GRADE
    named = {"first": first, "second": second, "chosen": chosen, "tie": tie, "grade": grade}
    layout = replace(
        recognise(opened.name, names, named, judge, grades),
        drop_invalid=drop_invalid,
        any_id=any_id,
    )
    tally, left_out = _pairs_of(opened, layout)
    offered = None
    if isinstance(source, (str, PathLike)):
        offered = read_ties_offered(source, question_id)
    offered = bool(len(grades) % 2) if grades else offered
    strongest = 1 if tally.strength is None else max(int(tally.strength.max()), offered_levels)
    levels = len(grades) // 2 or strongest
    return Comparisons(
        opened.frame, layout, opened.name, tally, left_out, offered, max(levels, 1), tuple(grades)
    )


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons:
    """The judgements of a study: who compared what with what, and the answer.

    `frame` holds the rows as they came and where they live, `layout` says how to read them, and
    `tally` holds each kind of row once, checked. `left_out` says how many rows were no pair of
    items and were left out, by the reason. `ties_offered` says whether judges could call a tie,
    where a file beside the table does. `levels` are the ways to choose an item, more than one
    where answers are graded, and `grades` the words of these answers, where they have any. Made by
    `read_comparisons` or `from_columns`.
    """

    frame: Frame
    layout: Layout
    source: str
    tally: Judgements
    left_out: Mapping[str, int] = field(default_factory=dict)
    ties_offered: bool | None = None
    levels: int = 1
    grades: tuple[str, ...] = ()

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
        columns = {"judge": judge, "first": first, "second": second, "outcome": outcome, **extra}
        arrays = {key: np.asarray(own) for key, own in columns.items() if own is not None}
        lengths = sorted({len(array) for array in arrays.values()})
        if len(lengths) > 1:
            raise InputError(f"{name}: columns of {lengths} rows; make them equally long")
        table = table_of(arrays)
        who = "judge" if "judge" in arrays else None
        return read_comparisons(table, judge=who, name=name, any_id=True)

    @cached_property
    def items(self) -> tuple[str, ...]:
        """The items that occur, skipped pairs included, in natural order."""
        used = np.union1d(self.tally.first, self.tally.second)
        return natural_order(self.tally.texts[k] for k in used)

    @cached_property
    def judges(self) -> frozenset[str] | None:
        """The judges that are named, or None where nobody is."""
        if self.layout.judge is None:
            return None
        return frozenset(name for (name,) in self.combinations("judge") if name) or None

    @property
    def ties(self) -> int:
        """Number of tied judgements."""
        return self._number(TIE)

    @property
    def skips(self) -> int:
        """Number of pairs that were shown and skipped."""
        return int(self.tally.times[~on_scale(self.tally.answer)].sum())

    @property
    def left_out_note(self) -> str:
        """How many rows were left out, and why, as a sentence; empty where none was."""
        number = sum(self.left_out.values())
        rows = "1 row was" if number == 1 else f"{number:,} rows were"
        return f"{rows} left out: {_reasons(self.left_out)}." if number else ""

    def _number(self, answer: int) -> int:
        return int(self.tally.times[self.tally.answer == answer].sum())

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
        tally, strata, stratum = self._stratified(by)
        wins_first, wins_second, ties = (
            np.where(tally.answer == answer, tally.times, 0) for answer in (FIRST, SECOND, TIE)
        )
        item = _positions(self.items, tally.texts)
        strengths = None
        if self.levels > 1 and tally.strength is not None:
            level = tally.strength[:, None] == np.arange(1, self.levels + 1)
            strengths = np.stack([level * wins_first[:, None], level * wins_second[:, None]], 1)
        return Counts.of(
            self.items, item[tally.first], item[tally.second], wins_first, wins_second, ties,
            stratum=stratum, strata=strata, skips=self.skips, judges=self.judges, ordered=ordered,
            strengths=strengths,
        )  # fmt: skip

    def combinations(self, *columns: str) -> list[tuple[str, ...]]:
        """Every combination of values in these columns that occurs; `judge` as for counts."""
        parts = self._parts(columns)
        # Rows that were left out do not count, and only all columns say which those are.
        needed = {**self.layout.columns, **parts} if self.left_out else parts
        rows, _ = distinct_rows(self.frame, needed, self.layout.ids)
        texts = rows.rows(parts)
        return sorted({texts[k] for k in self._parsed(rows).row} if self.left_out else set(texts))

    def _parts(self, by: str | Sequence[str]) -> dict[str, str]:
        """Columns to count by, as parts of a row beside those of the layout."""
        names = [by] if isinstance(by, str) else by
        return {f"by {name}": self._column(name) for name in names}

    def _stratified(self, by: str | Sequence[str] | None) -> Stratified:
        """The tally within strata, their names, and the stratum of each of its rows."""
        if by is None:
            return self.tally, ("all",), np.zeros_like(self.tally.first)
        parts = self._parts(by)
        rows, times = distinct_rows(self.frame, {**self.layout.columns, **parts}, self.layout.ids)
        judgements = self._parsed(rows)
        kept = np.unique(judgements.row)
        for part in parts:
            empty = kept[rows.columns[part][kept] == 0]
            if len(empty):
                raise InputError(
                    f"{self.source}: {part.removeprefix('by ')} is empty in "
                    f"{times[empty].sum()} row(s); fill it in, or count without it"
                )
        stratum_of_row = [SEPARATOR.join(texts) for texts in rows.rows(parts)]
        strata = natural_order(stratum_of_row[k] for k in kept)
        stratum = _positions(strata, stratum_of_row)[judgements.row]
        return judgements.repeated(times), strata, stratum

    def _column(self, by: str) -> str:
        if by == "judge" and self.layout.judge is not None:
            return self.layout.judge
        columns = self.frame.collect_schema().names()
        if by not in columns:
            raise InputError(f"{self.source}: no column {by!r}; there are {column_list(columns)}")
        return by

    def _parsed(self, rows: TextColumns) -> Judgements:
        judgements = self.layout.parse(rows)
        assert isinstance(judgements, Judgements), "the rows were checked when they were read"
        return judgements

    def rows(self) -> pd.DataFrame:
        """One row a judgement: judge, first, second, outcome, then the other columns as they came.

        Counted data have a row for each pair and outcome instead, and `times` says how often.
        """
        import pandas as pd

        table = collect(self.frame)
        judgements, judge = self._judgements(table)
        texts = np.array([None, *judgements.texts[1:]], object)
        columns = {
            "judge": None if judge is None else texts[judge],
            "first": texts[judgements.first],
            "second": texts[judgements.second],
            "outcome": ANSWER_WORDS[judgements.answer],
            **({"grade": judgements.strength} if judgements.strength is not None else {}),
            **({"times": judgements.times} if self.layout.counted else {}),
        }
        index = pd.RangeIndex(len(judgements.row))
        extras = self._extras(table, None).iloc[judgements.row].set_axis(index)
        frame = pd.DataFrame(columns, index).join(_renamed(extras, columns))
        return frame[frame["times"] > 0].reset_index(drop=True) if self.layout.counted else frame

    def coded_rows(self, *extras: str) -> tuple[Judgements, Integers | None, pd.DataFrame]:
        """The same as `rows`, as positions in a list of texts: a tenth of the memory, and quicker.

        The judge of each is one too, 0 where nobody is named and None where nobody ever is; of the
        other columns only `extras` are there, those that there are.
        """
        table = collect(self.frame)
        judgements, judge = self._judgements(table)
        others = self._extras(table, extras)
        return judgements, judge, others.iloc[judgements.row] if len(others.columns) else others

    def row_strata(self, by: str | Sequence[str]) -> list[str]:
        """The stratum of every row of `coded_rows`, by the name that `counts(by=...)` gives it."""
        table = collect(self.frame)
        parts = self._parts(by)
        rows = text_columns(table, {**self.layout.columns, **parts}, self.layout.ids)
        texts = [SEPARATOR.join(row) for row in rows.rows(parts)]
        return [texts[k] for k in self._parsed(rows).row]

    def _judgements(self, table: nw.DataFrame[Any]) -> tuple[Judgements, Integers | None]:
        judge = {"judge": self.layout.judge} if self.layout.judge is not None else {}
        rows = text_columns(table, {**self.layout.columns, **judge}, self.layout.ids)
        judgements = self._parsed(rows)
        return judgements, rows.columns["judge"][judgements.row] if judge else None

    def _extras(self, table: nw.DataFrame[Any], only: Sequence[str] | None) -> pd.DataFrame:
        """The columns that play no part, or some of them."""
        import pandas as pd

        names = self.layout.extras(table.columns)
        if only is not None:
            names = [name for name in names if name in only]
        columns = {name: table[name].to_pandas().reset_index(drop=True) for name in names}
        return pd.DataFrame(columns, pd.RangeIndex(len(table)))

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the columns of the comparison interface, then the others, to be read back alike.

        Where the data do not say which item was shown first, the pair is written in item order,
        so that the chosen one does not always stand on the same side.
        """
        rows = self.rows()
        if self.layout.counted:
            rows = rows.loc[rows.index.repeat(rows.pop("times"))].reset_index(drop=True)
        columns = interface_table(rows, None if self.layout.sides else self.items)
        own = {"judge", "first", "second", "outcome", "grade"}
        extras = _renamed(rows.drop(columns=list(own & set(rows.columns))), columns)
        if "comparison_id" not in extras:
            extras.insert(0, "comparison_id", range(1, len(rows) + 1))
        number = extras.pop("comparison_id").to_frame()
        write_csv(number.join(columns).join(extras), path)

    def __repr__(self) -> str:
        return (
            f"Comparisons({self.source}: {len(self)} judgements of {len(self.items)} items, "
            f"{self.ties} ties, {self.skips} skips"
            + (f", {sum(self.left_out.values())} rows left out)" if self.left_out else ")")
        )


def _pairs_of(opened: Source, layout: Layout) -> tuple[Judgements, dict[str, int]]:
    """The judgements of a table, each as often as its row occurs; rows left out, by the reason."""
    rows, times = distinct_rows(opened.frame, layout.columns, layout.ids)
    if not len(times):
        raise InputError(
            f"{opened.name}: there are column names but no rows; save it with its rows"
        )
    judgements = layout.parse(rows)
    if isinstance(judgements, BadRow):
        raise InputError(f"{opened.name}, {_first_fault(opened, layout, rows, judgements)}")
    left_out = {reason: int(times[gone].sum()) for reason, gone in judgements.left_out.items()}
    left_out = {reason: number for reason, number in left_out.items() if number}
    if not len(judgements.row):
        raise InputError(
            f"{opened.name}: none of its {times.sum()} rows is a pair of two items "
            f"({_reasons(left_out)}); check which columns hold them"
        )
    return judgements.repeated(times), left_out


def _positions(names: Iterable[str], texts: Iterable[str]) -> Integers:
    """Where each text stands among the names, or -1."""
    position = {name: k for k, name in enumerate(names)}
    return np.array([position.get(text, -1) for text in texts], np.int64)


def _reasons(left_out: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} in {number}" for reason, number in left_out.items())


def _first_fault(source: Source, layout: Layout, rows: TextColumns, bad: BadRow) -> str:
    """The first bad row and what is wrong with it; a lazy frame has no first row, only values."""
    if isinstance(source.frame, nw.LazyFrame):
        row = {layout.columns[part]: text for part, text in rows.row(bad.row).items()}
        texts = ", ".join(f"{column} {text!r}" for column, text in row.items())
        return f"a row with {texts}: {bad.message}"
    first = layout.parse(text_columns(source.frame, layout.columns, layout.ids))
    assert isinstance(first, BadRow), "a group was bad, so one of its rows is"
    return f"{source.row_name(first.row)}: {first.message}"


def _renamed(extras: pd.DataFrame, taken: Iterable[object]) -> pd.DataFrame:
    """The other columns, renamed where they are called like one of those that are taken."""
    names = set(map(heading, taken))
    clash = {name: f"{name}_in_file" for name in extras.columns if heading(name) in names}
    return extras.rename(columns=clash)
