"""Experiment: a simulation study as a value, and what its tables look like."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from tiewise.jobs.run import Job, Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Case = Mapping[str, Any]
TELLING = 2.0  # standard errors from which on a difference is one


class Evidence(NamedTuple):
    """What an experiment left: rows of results, rows of times, and the table made of them."""

    results: pd.DataFrame
    timings: pd.DataFrame
    table: pd.DataFrame


class Column(NamedTuple):
    """A column of a printed table: what it says, and which columns of the data it is made of.

    Without a `form` a number has three digits that count, and its error as many places.
    """

    heading: str
    key: str
    form: str = ""
    error: str | None = None

    def cell(self, row: Mapping[str, Any]) -> str:
        """The value in writing, with its Monte Carlo error where it has one."""
        value = row[self.key]
        if isinstance(value, str):
            return value
        if value is None or np.isnan(value):
            return "–"
        form = self.form or f",.{places_of(value)}f"
        wrong = row.get(self.error) if self.error else None
        told = "" if wrong is None or np.isnan(wrong) else f" ± {wrong:{form.lstrip('+')}}"
        return f"{value:{form}}{told}".replace("%", " %")


def places_of(value: float, digits: int = 3) -> int:
    """Places after the point with which so many digits of a number count."""
    size = int(np.floor(np.log10(abs(value)))) if value else 0
    return max(digits - 1 - size, 0)


@dataclass(frozen=True)
class Experiment:
    """A question, the cases that answer it, and how the answer is told.

    `job` is a pure function of a case (with its `repeat`) and a source of chance, and lives in a
    module, where other processes find it. Each case has a `name`. `table` is made from rows of
    results and of times; `figure` and `finding` from all three.
    """

    name: str
    title: str
    question: str
    job: Job
    cases: Sequence[Case]
    quick: Sequence[Case]
    repeats: int
    quick_repeats: int
    table: Callable[[pd.DataFrame, pd.DataFrame], pd.DataFrame]
    columns: Sequence[Column]
    figure: Callable[[Evidence], Figure]
    finding: Callable[[Evidence], Sequence[str]]
    timed: bool = False
    """Whether times are what it is about: then tasks run one at a time unless somebody insists."""

    def tasks(self, *, quick: bool, repeats: int | None = None) -> list[Task]:
        """Every case as often as it is repeated, all cases once before any is repeated."""
        cases = self.quick if quick else self.cases
        return [
            Task(f"{self.name}/{case['name']}/{k}", {**case, "repeat": k})
            for k in range(1, self.times(quick=quick, repeats=repeats) + 1)
            for case in cases
        ]

    def times(self, *, quick: bool, repeats: int | None = None) -> int:
        """How often each case is done."""
        return repeats or (self.quick_repeats if quick else self.repeats)


def averaged(rows: pd.DataFrame, by: Sequence[str], values: Sequence[str]) -> pd.DataFrame:
    """Means of the values within groups, each with its standard error in `<value>_error`."""
    groups = rows.groupby(list(by), sort=False)
    mean, error = groups[list(values)].mean(), groups[list(values)].sem()
    joined = mean.join(error.add_suffix("_error"))
    return joined.assign(repeats=groups.size()).reset_index()


def rooted(table: pd.DataFrame, square: str, into: str) -> pd.DataFrame:
    """A table with the root of a mean square and its error, by the delta method."""
    root = np.sqrt(table[square])
    return table.assign(**{into: root, f"{into}_error": table[f"{square}_error"] / (2 * root)})


def apart(one: pd.Series[float], two: pd.Series[float]) -> tuple[float, float]:
    """Mean difference of two columns of the same studies, and its standard error."""
    gap = one.to_numpy() - two.to_numpy()
    return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else np.nan


def keyed(table: pd.DataFrame, key: str) -> dict[Any, dict[str, Any]]:
    """The rows of a table by what they have in one column."""
    return {row[key]: row for row in records(table)}


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as they are read out."""
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def percent(share: float, digits: int = 0) -> str:
    """A share in per cent."""
    return f"{100 * share:.{digits}f} %"


def versus(gap: float, error: float) -> str:
    """Whether what is here is larger than what is there, in words that end before `there`."""
    if not np.isfinite(error) or abs(gap) <= TELLING * error:
        return "no different from that"
    return "larger than" if gap > 0 else "smaller than"


def markdown(table: pd.DataFrame, columns: Sequence[Column]) -> str:
    """A table as Markdown, numbers to the right."""
    head = "| " + " | ".join(column.heading for column in columns) + " |"
    kinds = [
        "---" if len(table) and isinstance(table[c.key].iloc[0], str) else "---:" for c in columns
    ]
    rule = "|" + "|".join(kinds) + "|"
    rows = [
        "| " + " | ".join(column.cell(row) for column in columns) + " |" for row in records(table)
    ]
    return "\n".join([head, rule, *rows])
