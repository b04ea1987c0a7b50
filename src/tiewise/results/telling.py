"""A fit told on a terminal, in words and a short table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from tiewise.results.folder import Results

if TYPE_CHECKING:
    from rich.console import RenderableType

SHOWN = 10


def tell(results: Results, console: Console | None = None) -> None:
    """Print what was found, what to beware of, and where the rest is."""
    console = console or Console(highlight=False, soft_wrap=True)
    for part in (_heading(results), _table(results), *_words(results)):
        console.print(part, markup=False) if isinstance(part, str) else console.print(part)


def _heading(results: Results) -> str:
    facts = results.facts
    judges = f" by {facts['judges']} judges" if facts["judges"] else ""
    skipped = f", and {facts['skips']} skipped" if facts["skips"] else ""
    return (
        f"{results.about.question}\n{facts['items']} items, {facts['comparisons']} comparisons"
        f"{judges} ({facts['ties']} ties){skipped}"
    )


def _table(results: Results) -> RenderableType:
    items = results.items
    table = Table(box=SIMPLE, pad_edge=False)
    named = bool((items["name"] != items["item"]).any())
    top = f"top {results.about.top}"
    for heading in ("rank", "item", *(["name"] if named else [])):
        table.add_column(heading, justify="right" if heading == "rank" else "left")
    for heading in ("quality", "95 % interval", top, "compared"):
        table.add_column(heading, justify="right", no_wrap=heading == "95 % interval")
    for k in range(min(SHOWN, len(items))):
        table.add_row(*_row(items.iloc[k], named))
    if len(items) > SHOWN:
        table.caption = f"the highest {SHOWN} of {len(items)}; items.csv has all"
    return table


def _row(row: pd.Series, named: bool) -> list[str]:
    from rich.markup import escape

    told = row["comparisons"]
    return [
        f"{row['rank']:.0f}",
        escape(str(row["item"])),
        *([escape(str(row["name"]))] if named else []),
        f"{row['mean']:+.2f}",
        f"{row['q2.5']:+.2f} to {row['q97.5']:+.2f}",
        "" if np.isnan(row["top_k_probability"]) else _chance(row["top_k_probability"]),
        f"{told}" if told else "never",
    ]


def _chance(chance: float) -> str:
    percent = 100 * chance
    if percent < 1:
        return "below 1 %"
    return "above 99 %" if percent > 99 else f"{percent:.0f} %"


def _words(results: Results) -> list[str]:
    facts = results.facts
    sure = {
        "exact": f"{facts['draws']} draws, worth at least {facts['ess_min'] or 0:.0f} independent "
        f"ones; largest R-hat {facts['rhat_max'] or np.nan:.3f}",
        "approximate": "approximate: an exact engine is the one to decide with",
        "point": "a point estimate with standard errors, no posterior",
    }[facts["kind"]]
    lines = [_tie_words(results), f"Engine {facts['engine']} ({sure}), seed {facts['seed']}."]
    lines += [f"Note: {warning}" for warning in facts["warnings"]]
    return [*lines, f"Results in {results.folder}"]


def _tie_words(results: Results) -> str:
    table = pd.read_csv(results.folder / "parameters.csv").set_index("parameter")
    tie, variance = table.loc["tie"], table.loc["variance"]
    said = f"Tie threshold {tie['mean']:.2f}"
    if tie["sd"] > 0:
        said += f" ({tie['q2.5']:.2f} to {tie['q97.5']:.2f})"
    equal = 100 * np.tanh(tie["mean"] / 2)
    said += f": of two equal items a judge says 'about equal' {equal:.0f} % of the time."
    if np.isfinite(variance["mean"]):
        said += f"\nVariance of quality {variance['mean']:.2f}"
        if variance["sd"] > 0:
            said += f" ({variance['q2.5']:.2f} to {variance['q97.5']:.2f})"
        said += "."
    return said
