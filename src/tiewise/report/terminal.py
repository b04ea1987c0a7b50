"""A fit told on a terminal, in words and a short table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiewise.report.answer import number, percent
from tiewise.report.folder import Results
from tiewise.report.terms import told_shortly

if TYPE_CHECKING:
    from rich.console import RenderableType

SHOWN = 10


def tell(results: Results, console: Console | None = None) -> None:
    """Print what was found, what to beware of, and where the rest is."""
    console = console or Console(highlight=False)
    for part in (*_heading(results), "", _table(results), *_more(results), "", *_words(results)):
        # Text as it is: rich would read [brackets] and :colons: as its own language.
        console.print(Text(part) if isinstance(part, str) else part)
    # A path is for copying, and keeps to one line.
    report = results.folder / "report.html"
    page = f"; open {report} in a browser" if report.is_file() else ""
    console.print(Text(f"Results in {results.folder}{page}"), soft_wrap=True)


def _heading(results: Results) -> list[str]:
    facts = results.facts
    judges = f" by {number(facts['judges'], 'judge')}" if facts["judges"] else ""
    skipped = f", and {facts['skips']:,} skipped" if facts["skips"] else ""
    return [
        _line(results.about.question),
        f"{number(facts['items'], 'item')}, {number(facts['comparisons'], 'comparison')}"
        f"{judges} ({number(facts['ties'], 'tie')}){skipped}",
    ]


def _line(text: str, most: int | None = None) -> str:
    """Text on one line and without control characters, cut short where it is too long."""
    line = "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
    return line if most is None or len(line) <= most else line[: most - 1] + "…"


def _table(results: Results) -> RenderableType:
    items = results.items
    named = bool((items["name"] != items["item"]).any())
    # Everybody is among the top of as many as there are.
    ranked = results.about.top < len(items) and bool(items["top_k_probability"].notna().any())
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    words = ["item", "name"] if named else ["item"]
    top = [f"top {results.about.top}"] if ranked else []
    for heading in ("rank", *words, "quality", "95 % interval", *top, "compared"):
        # Where room is short, words give way and numbers do not.
        spoken = heading in words
        table.add_column(heading, justify="left" if spoken else "right", no_wrap=not spoken)
    for k in range(min(SHOWN, len(items))):
        cells = _row(items.iloc[k], named=named, ranked=ranked)
        table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in cells))
    return table


def _more(results: Results) -> list[str]:
    size = len(results.items)
    return [f"the highest {SHOWN} of {size}; items.csv has all"] if size > SHOWN else []


def _row(row: pd.Series, *, named: bool, ranked: bool) -> list[str]:
    told = row["comparisons"]
    return [
        f"{row['rank']:.0f}",
        _line(str(row["item"]), 16 if named else 32),
        *([_line(str(row["name"]), 24)] if named else []),
        f"{row['mean']:+.2f}",
        f"{row['q2.5']:+.2f} to {row['q97.5']:+.2f}",
        *([percent(row["top_k_probability"])] if ranked else []),
        f"{told}" if told else "never",
    ]


def _words(results: Results) -> list[str]:
    facts = results.facts
    # Draws that lean away from each other can be worth more than their number; at least that.
    worth = min(facts["ess_min"] or 0, facts["draws"])
    sure = {
        "exact": f"{facts['draws']} draws, worth at least {worth:.0f} independent ones; "
        f"largest R-hat {facts['rhat_max'] or np.nan:.3f}",
        "approximate": "approximate: an exact engine is the one to decide with",
        "point": "a point estimate with standard errors, no posterior",
    }[facts["kind"]]
    told = [*_tie_words(results), *told_shortly(results)]
    lines = [*told, f"Engine {facts['engine']} ({sure}), seed {facts['seed']}."]
    return [*lines, *(f"Note: {_line(warning)}" for warning in facts["warnings"])]


def _tie_words(results: Results) -> list[str]:
    table = pd.read_csv(results.folder / "parameters.csv", index_col="parameter")
    tie, variance = (table.T[name] for name in ("tie", "variance"))
    said = ["No ties in this model."]
    if tie["mean"] > 0:
        equal = 100 * np.tanh(tie["mean"] / 2)
        said = [
            f"Tie threshold {_interval(tie)}: of two equal items a judge says 'about equal' "
            f"{equal:.0f} % of the time."
        ]
    if np.isfinite(variance["mean"]):
        said.append(f"Variance of quality {_interval(variance)}.")
    return said


def _interval(row: pd.Series) -> str:
    ends = f" ({row['q2.5']:.2f} to {row['q97.5']:.2f})" if row["sd"] > 0 else ""
    return f"{row['mean']:.2f}{ends}"
