"""The results of a fit on a terminal: a short table, and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiewise.criticism.verdict import PART_TITLES, Verdict, results_verdict
from tiewise.posterior.bands.sentences import band_sentences
from tiewise.posterior.phrases import has_top_probabilities, no_threshold
from tiewise.posterior.predictions import has_facts
from tiewise.posterior.reliability import reliability_facts
from tiewise.posterior.results_folder import Results
from tiewise.posterior.scales.anchored import anchor_sentences
from tiewise.posterior.scales.display_scale import shown_leaderboard, shown_scores
from tiewise.posterior.scales.scale import Scale, scored
from tiewise.posterior.terms.sentences import term_sentences
from tiewise.posterior.terms.tables import stored_terms
from tiewise.report.reliability import reliability_sentences
from tiewise.text import (
    one_line,
    percent,
    probability_percent,
    quantity,
    rank_range,
    sentence_list,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_ROWS = 10


def print_results(results: Results, console: Console | None = None) -> None:
    """Print the highest items, what the parameters say, cautions, and where the rest is."""
    console = console or Console(highlight=False)
    for part in (
        *_heading(results),
        "",
        *verdict_lines(results_verdict(results)),
        "",
        _table(results),
        *_more(results),
        *_group_tables(results),
        "",
        *_sentences(results),
    ):
        # Text as it is: rich would read [brackets] and :colons: as its own language.
        console.print(Text(part) if isinstance(part, str) else part)
    # A path is for copying, and keeps to one line.
    report = results.folder / "report.html"
    page = f"; open {report} in a browser" if report.is_file() else ""
    console.print(Text(f"Results in {results.folder}{page}"), soft_wrap=True)


def _heading(results: Results) -> list[str]:
    facts = results.facts
    judges = f" by {quantity(facts['judges'], 'judge')}" if facts["judges"] else ""
    skipped = f", and {facts['skips']:,} skipped" if facts["skips"] else ""
    return [
        one_line(results.wording.question, printable=True),
        f"{quantity(facts['items'], 'item')}, {quantity(facts['comparisons'], 'comparison')}"
        f"{judges} ({quantity(facts['ties'], 'tie')}){skipped}",
    ]


def verdict_lines(verdict: Verdict) -> list[str]:
    """The verdict and its three parts, a line each."""
    marks = {"good": "ok  ", "care": "look", "stop": "stop"}
    rows = zip(PART_TITLES, verdict.parts, strict=True)
    # A second sentence stands below the first.
    lines = [
        f"  {marks[part.level]}  {title + ':':12} " + part.text.replace(". ", f".\n{' ' * 21}")
        for title, part in rows
    ]
    return [verdict.text, *lines]


def _table(results: Results) -> RenderableType:
    scale, _, items = shown_scores(results)
    named = bool((items["name"] != items["item"]).any())
    ranked = has_top_probabilities(results)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    words = ["item", "name"] if named else ["item"]
    top = [f"top {results.wording.top}"] if ranked else []
    ranges = ["could be"] if items["rank_q2.5"].notna().any() else []
    estimate = scale.title if scored(scale) else "quality"
    for heading in ("", *ranges, *words, estimate, "95 % interval", *top, "compared"):
        # Where room is short, words give way and numbers do not.
        is_text = heading in words
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=not is_text)
    for k in range(min(MOST_ROWS, len(items))):
        row = _row(items.iloc[k], scale, named=named, ranked=ranked, ranges=bool(ranges))
        cells = [f"{k + 1}", *row]
        table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in cells))
    return table


def _group_tables(results: Results) -> list[RenderableType]:
    """The leaderboard of all beside that of each group, where a column was asked for."""
    by = stored_terms(results.tree).get("by")
    if by is None:
        return []
    scale, board = shown_scores(results).scale, shown_leaderboard(results)
    cells = board.set_index(["item", "group"])
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("item")
    groups = list(dict.fromkeys(board["group"]))
    for group in groups:
        table.add_column(one_line(group, 16, printable=True), justify="right", no_wrap=True)
    for item in results.items["item"][:MOST_ROWS]:
        rows = [cells.loc[(item, group)] for group in groups]
        standings = [
            f"{scale.plain_text(row['score'])} ({rank_range(row['rank_q2.5'], row['rank_q97.5'])})"
            for row in rows
        ]
        table.add_row(Text(one_line(str(item), 24, printable=True)), *map(Text, standings))
    return ["", f"By {one_line(by, printable=True)}, with the ranks that each could have:", table]


def _more(results: Results) -> list[str]:
    size = len(results.items)
    return [f"the highest {MOST_ROWS} of {size:,}; items.csv has all"] if size > MOST_ROWS else []


def _row(row: pd.Series, scale: Scale, *, named: bool, ranked: bool, ranges: bool) -> list[str]:
    count = row["comparisons"]
    return [
        *([rank_range(row["rank_q2.5"], row["rank_q97.5"])] if ranges else []),
        one_line(str(row["item"]), 16 if named else 32, printable=True),
        *([one_line(str(row["name"]), 24, printable=True)] if named else []),
        scale.plain_text(row["score"]),
        f"{scale.plain_text(row['score_q2.5'])} to {scale.plain_text(row['score_q97.5'])}",
        *([probability_percent(row["top_k_probability"])] if ranked else []),
        f"{count}" if count else "never",
    ]


def _sentences(results: Results) -> list[str]:
    facts = results.facts
    sure = {
        "exact": f"{facts['draws']:,} draws{_went_on(facts)}, worth at least "
        f"{facts['ess_min'] or 0:,.0f} independent ones; largest R-hat "
        f"{facts['rhat_max'] or np.nan:.3f}",
        "approximate": "approximate: an exact engine is the one to decide with",
        "point": "a point estimate with standard errors, no posterior",
    }[facts["kind"]]
    return [
        *shown_scores(results).meaning(results),
        *anchor_sentences(results.tree)[:1],
        *_band_sentences(results),
        *_parameter_sentences(results),
        *_term_sentences(results),
        " ".join(reliability_sentences(reliability_facts(results.tree), results.wording.nouns)),
        f"Engine {facts['engine']} ({sure}), seed {facts['seed']}.",
        *(f"Note: {one_line(warning, printable=True)}" for warning in facts["warnings"]),
    ]


def _band_sentences(results: Results) -> list[str]:
    """Which bands are told apart, unless nothing may be claimed."""
    lines = band_sentences(results)[:1] if results_verdict(results).headline else []
    return [one_line(line, printable=True) for line in lines]


def _went_on(facts: Mapping[str, Any]) -> str:
    rounds = facts.get("rounds", 0)
    return f" (sampled {2**rounds} times as long as planned)" if rounds else ""


def _term_sentences(results: Results) -> list[str]:
    """The first sentences about each term; of facts of comparisons, one about each of several."""
    most = {"order": 6} if has_facts(results.tree) else {}
    by_term = term_sentences(results)
    return [" ".join(sentences[: most.get(name, 3)]) for name, sentences in by_term.items()]


def _parameter_sentences(results: Results) -> list[str]:
    table = results.parameters
    tie, variance = (table.T[name] for name in ("tie", "variance"))
    sentences = [no_threshold(results)]
    if tie["mean"] > 0:
        sentences = [
            f"Tie threshold {_interval(tie)}: of two equal items a judge says 'about equal' "
            f"{percent(np.tanh(tie['mean'] / 2))} of the time."
        ]
    cuts = [name for name in table.index if str(name).startswith("cut: ")]
    if cuts:
        further = sentence_list([_interval(table.T[name]) for name in cuts])
        ties = sentences if tie["mean"] > 0 else []
        sentences = [*ties, f"Differences at which an item is chosen more strongly: {further}."]
    if np.isfinite(variance["mean"]):
        sentences.append(f"Variance of quality {_interval(variance)}.")
    return sentences


def _interval(row: pd.Series) -> str:
    ends = f" ({row['q2.5']:.2f} to {row['q97.5']:.2f})" if row["sd"] > 0 else ""
    return f"{row['mean']:.2f}{ends}"
