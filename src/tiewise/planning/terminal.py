"""A plan told on a terminal: a table for each prior, and words."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from tiewise.jobs.journal import Row
from tiewise.planning.plan import Plan
from tiewise.planning.sentences import sentences, upwards

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDE = 108
"""Columns of a terminal from which on there is room for everything."""
CALLED = {
    "independent": "Each item by itself (independent prior)",
    "network": "Each item with its neighbours (network prior)",
}


class Column(NamedTuple):
    """A figure as it is told: its heading, and how many decimals it has."""

    figure: str
    heading: str
    decimals: int = 2
    percent: bool = False


def columns(plan: Plan, *, wide: bool) -> list[Column]:
    """What a table shows; plan.csv has all."""
    top = plan.design.best
    shown = [
        Column("reliability", "reliability"),
        Column("rank_correlation", "rank corr."),
        Column("rank_error", "ranks off", 1),
        Column("top_share", f"top {top} found", percent=True),
        Column("width", "95 % width"),
    ]
    more = [
        Column("all_top", f"all of top {top}", percent=True),
        Column("rank_width", "rank width", 1),
        Column("covered", "hold truth", percent=True),
    ]
    return shown + (more if wide else [])


def tell(plan: Plan, console: Console | None = None) -> None:
    """Print the table and the words."""
    from rich.console import Console
    from rich.text import Text

    console = console or Console(highlight=False)
    for prior in plan.design.priors:
        rows = [row for row in plan.table if row["prior"] == prior]
        if len(plan.design.priors) > 1:
            console.print(Text(CALLED[prior]))
        console.print(_table(rows, columns(plan, wide=console.width >= WIDE), plan))
        console.print()
    console.print(Text("± standard error of the simulation; * what is recommended."))
    console.print()
    for sentence in sentences(plan):
        console.print(Text(sentence))


def _table(rows: Sequence[Row], shown: Sequence[Column], plan: Plan) -> Table:
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


def _cell(row: Row, column: Column) -> str:
    value, error = row[column.figure], row[f"{column.figure}_error"]
    if not isfinite(value):
        return "–"
    if column.percent:
        wide = f" ±{upwards(100 * error, 0):.0f}" if isfinite(error) else ""
        return f"{100 * value:.0f} %{wide}"
    wide = f" ±{upwards(error, column.decimals):.{column.decimals}f}" if isfinite(error) else ""
    return f"{value:.{column.decimals}f}{wide}"
