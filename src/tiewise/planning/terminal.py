"""A plan on a terminal: a table for each prior, and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from tiewise.jobs.journal import Row
from tiewise.planning.plan import Plan
from tiewise.planning.sentences import round_error_up, sentences
from tiewise.text import percent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDE = 108
"""Columns of a terminal from which on there is room for everything."""
PRIOR_TITLES = {
    "independent": "Each item by itself (independent prior)",
    "network": "Each item with its neighbours (network prior)",
}


class MeasureColumn(NamedTuple):
    """A column of the table: its measure, heading and number of decimals."""

    measure: str
    heading: str
    decimals: int = 2
    percent: bool = False


def columns(plan: Plan, *, wide: bool) -> list[MeasureColumn]:
    """The columns of a table; plan.csv has all measures."""
    top = plan.design.top_count
    shown = [
        MeasureColumn("reliability", "reliability"),
        MeasureColumn("rank_correlation", "rank corr."),
        MeasureColumn("rank_error", "ranks off", 1),
        MeasureColumn("top_share", f"top {top} found", percent=True),
        MeasureColumn("width", "95 % width"),
    ]
    more = [
        MeasureColumn("all_top", f"all of top {top}", percent=True),
        MeasureColumn("rank_width", "rank width", 1),
        MeasureColumn("covered", "hold truth", percent=True),
    ]
    return shown + (more if wide else [])


def print_plan(plan: Plan, console: Console | None = None) -> None:
    """Print the tables and the sentences."""
    from rich.console import Console
    from rich.text import Text

    console = console or Console(highlight=False)
    for prior in plan.design.priors:
        rows = [row for row in plan.table if row["prior"] == prior]
        if len(plan.design.priors) > 1:
            console.print(Text(PRIOR_TITLES[prior]))
        console.print(_table(rows, columns(plan, wide=console.width >= WIDE), plan))
        console.print()
    console.print(Text("± standard error of the simulation; * what is recommended."))
    console.print()
    for sentence in sentences(plan):
        console.print(Text(sentence))


def _table(rows: Sequence[Row], shown: Sequence[MeasureColumn], plan: Plan) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("more" if plan.design.before is not None else "comparisons", justify="right")
    for column in shown:
        table.add_column(column.heading, justify="right", no_wrap=True)
    for row in rows:
        mark = "*" if row["recommended"] else " "
        cells = [f"{row['comparisons']:,}{mark}", *(_cell(row, column) for column in shown)]
        table.add_row(*cells, style="bold" if row["recommended"] else "")
    return table


def _cell(row: Row, column: MeasureColumn) -> str:
    value, error = row[column.measure], row[f"{column.measure}_error"]
    if not isfinite(value):
        return "–"
    if column.percent:
        wide = f" ±{round_error_up(100 * error, 0):.0f}" if isfinite(error) else ""
        return f"{percent(value)}{wide}"
    wide = (
        f" ±{round_error_up(error, column.decimals):.{column.decimals}f}" if isfinite(error) else ""
    )
    return f"{value:.{column.decimals}f}{wide}"
