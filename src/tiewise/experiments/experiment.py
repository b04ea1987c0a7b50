"""Experiment: a simulation study as a value, and its tables."""

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
SIGNIFICANCE = 2.0  # standard errors beyond which a difference is reported


class ExperimentData(NamedTuple):
    """The data of an experiment: rows of results, rows of times, and the table made of them."""

    results: pd.DataFrame
    timings: pd.DataFrame
    table: pd.DataFrame


class ResultColumn(NamedTuple):
    """A column of a printed table: its heading, and the columns of the data it shows.

    Without a `form` a number has three significant digits, and its error as many places.
    """

    heading: str
    key: str
    form: str = ""
    error: str | None = None

    def cell(self, row: Mapping[str, Any]) -> str:
        """The value as text, with its Monte Carlo error where it has one."""
        value = row[self.key]
        if isinstance(value, str):
            return value
        if value is None or np.isnan(value):
            return "–"
        form = self.form or f",.{decimal_places(value)}f"
        error = row.get(self.error) if self.error else None
        suffix = "" if error is None or np.isnan(error) else f" ± {error:{form.lstrip('+')}}"
        return f"{value:{form}}{suffix}".replace("%", " %")


def decimal_places(value: float, digits: int = 3) -> int:
    """Decimal places that show so many significant digits of a number."""
    size = int(np.floor(np.log10(abs(value)))) if value else 0
    return max(digits - 1 - size, 0)


@dataclass(frozen=True)
class Experiment:
    """A question, the cases that answer it, and how the answer is presented.

    `job` is a pure function of a case (with its `repeat`) and a seed, in a module that other
    processes can import. Each case has a `name`. `table` is made from rows of
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
    columns: Sequence[ResultColumn]
    figure: Callable[[ExperimentData], Figure]
    finding: Callable[[ExperimentData], Sequence[str]]
    timed: bool = False
    """Whether it measures times: then tasks run one at a time, unless workers are named."""

    def tasks(self, *, quick: bool, repeats: int | None = None) -> list[Task]:
        """All cases once, then all of them again, as often as they are repeated."""
        cases = self.quick if quick else self.cases
        return [
            Task(f"{self.name}/{case['name']}/{k}", {**case, "repeat": k})
            for k in range(1, self.times(quick=quick, repeats=repeats) + 1)
            for case in cases
        ]

    def times(self, *, quick: bool, repeats: int | None = None) -> int:
        """How often each case is done."""
        return repeats or (self.quick_repeats if quick else self.repeats)


def group_means(rows: pd.DataFrame, by: Sequence[str], values: Sequence[str]) -> pd.DataFrame:
    """Means of the values within groups, each with its standard error in `<value>_error`."""
    groups = rows.groupby(list(by), sort=False)
    mean, error = groups[list(values)].mean(), groups[list(values)].sem()
    joined = mean.join(error.add_suffix("_error"))
    return joined.assign(repeats=groups.size()).reset_index()


def with_root(table: pd.DataFrame, square: str, into: str) -> pd.DataFrame:
    """A table with the root of a mean square and its error, by the delta method."""
    root = np.sqrt(table[square])
    return table.assign(**{into: root, f"{into}_error": table[f"{square}_error"] / (2 * root)})


def mean_difference(one: pd.Series[float], two: pd.Series[float]) -> tuple[float, float]:
    """Mean difference of two columns of the same studies, and its standard error."""
    gap = one.to_numpy() - two.to_numpy()
    return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else np.nan


def rows_by(table: pd.DataFrame, key: str) -> dict[Any, dict[str, Any]]:
    """The rows of a table by their value in one column."""
    return {row[key]: row for row in records(table)}


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as dictionaries."""
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def comparison_words(gap: float, error: float) -> str:
    """Words for a difference, such as 'larger than'."""
    if not np.isfinite(error) or abs(gap) <= SIGNIFICANCE * error:
        return "no different from that"
    return "larger than" if gap > 0 else "smaller than"


def markdown(table: pd.DataFrame, columns: Sequence[ResultColumn]) -> str:
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
