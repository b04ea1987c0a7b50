"""Judges, model checks and compared models on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiewise.criticism.model_comparison import ModelComparison
from tiewise.criticism.robustness.assessment import RobustnessAssessment
from tiewise.criticism.robustness.sentences import caution, finding_sentences, labels
from tiewise.criticism.split_half import ReliabilityFigures
from tiewise.criticism.verdict import results_verdict
from tiewise.posterior.results_folder import Results
from tiewise.report.model_checks import ModelAssessment, finding_lines
from tiewise.report.reliability import reliability_sentences
from tiewise.text import one_line, percent, quantity, sentence_list

SHOWN = 25
ODD = 0.01


def print_judges(
    judges: pd.DataFrame,
    items: pd.DataFrame,
    reliability: ReliabilityFigures,
    console: Console | None = None,
) -> None:
    """Print the judges, what is worth a look, and how reliable the results are."""
    console = console or Console(highlight=False)
    shown = judges.head(SHOWN)
    heads = ("judge", "compared", "ties", "left", "agrees", "expected", "infit", "p", "influence")
    console.print(_table(heads, [_judge(row) for _, row in shown.iterrows()]))
    more = [f"the first {SHOWN} of {len(judges)}; judges.csv has all"] * (len(judges) > SHOWN)
    _print(
        console, [*more, "", *_flags(judges), *_odd_items(items), "", *_reliability(reliability)]
    )


def _judge(row: pd.Series) -> list[str]:
    return [
        one_line(str(row["judge"]), 24), f"{row['comparisons']}", percent(row["tie_share"]),
        percent(row["left_share"]), percent(row["agreement"]),
        percent(row["expected_agreement"]), _fixed(row["infit"]), _p_value(row["infit_p"]),
        _fixed(row["influence"]),
    ]  # fmt: skip


def _flags(judges: pd.DataFrame) -> list[str]:
    some = judges[judges["flags"] != ""]
    lines = [f"Judge {one_line(str(r['judge']), 40)} {r['flags']}." for _, r in some.iterrows()]
    odd = [one_line(str(name), 24) for name in judges["judge"][judges["infit_p"] < ODD]]
    if odd:
        lines.append(
            "Less predictable from the others than 99 of 100 such judges (infit, p below 0.01): "
            f"{sentence_list(odd)}."
        )
    return lines or ["No judge stands out."]


def _odd_items(items: pd.DataFrame) -> list[str]:
    odd = items[items["infit_p"] < ODD].sort_values("infit_p", kind="stable")
    if odd.empty:
        return []
    names = [f"{one_line(n, 40)} ({v:.1f})" for n, v in zip(odd["name"], odd["infit"], strict=True)]
    return [
        f"Judges see these items more differently than the model expects: {sentence_list(names)}."
    ]


def _reliability(reliability: ReliabilityFigures) -> list[str]:
    lines = reliability_sentences(asdict(reliability), "items")
    if reliability.ssr_without_prior is not None:
        lines.append(
            f"SSR by maximum likelihood, without a prior: {reliability.ssr_without_prior:.2f}."
        )
    if reliability.consistency is not None:
        lines.append(
            f"Asked again, judges gave the same answer to {percent(reliability.consistency)} of "
            f"{quantity(reliability.repeats, 'pair')}."
        )
    return lines


def print_assessment(assessment: ModelAssessment, console: Console | None = None) -> None:
    """Print whether the results can be believed."""
    console = console or Console(highlight=False)
    _print(console, [assessment.text, "", *finding_lines(assessment.findings)])


def print_robustness(
    results: Results, assessment: RobustnessAssessment, console: Console | None = None
) -> None:
    """Print how few answers and judges decide it."""
    console = console or Console(highlight=False)
    names = None
    if results_verdict(results).headline:  # else it may not be said who is the highest
        names = {item: one_line(name, printable=True) for item, name in labels(results).items()}
    _print(console, finding_sentences(assessment.findings, results.wording, names))
    note = caution(assessment.findings)
    _print(console, ["", note] if note else [])


def print_comparison(comparison: ModelComparison, console: Console | None = None) -> None:
    """Print models from best to worst, and how surely they differ."""
    console = console or Console(highlight=False)
    heads = ("model", "log score", "se", "behind", "se of that", "parameters", "weight")
    rows = [
        [
            one_line(str(row["model"]), 40), f"{row['elpd']:.1f}", f"{row['se']:.1f}",
            f"{-row['difference']:.1f}" if k else "–",
            f"{row['difference_se']:.1f}" if k else "–",
            f"{row['parameters']:.1f}", f"{row['weight']:.2f}",
        ]
        for k, (_, row) in enumerate(comparison.table.iterrows())
    ]  # fmt: skip
    console.print(_table(heads, rows))
    _print(console, ["", *comparison.sentences])


def print_candidates(
    table: pd.DataFrame, sentences: Sequence[str], command: str, console: Console | None = None
) -> None:
    """Print candidate models from best to worst, the one to take, and how to fit it."""
    console = console or Console(highlight=False)
    heads = ("model", "log score", "behind", "se of that", "ESS", "misses")
    rows = [
        [
            one_line(str(row["model"]), 40), _decimal(row["elpd"]),
            _decimal(-row["difference"]) if k else "–",
            _decimal(row["difference_se"]) if k else "–",
            f"{row['ess_min']:,.0f}", row["misses"] or "–",
        ]
        for k, (_, row) in enumerate(table.iterrows())
    ]  # fmt: skip
    console.print(_table(heads, rows))
    first, *others = sentences
    _print(console, ["", first])
    # A command is copied: it must not be broken where the terminal ends.
    console.print(Text(f"  {command}"), soft_wrap=True)
    _print(console, ["", *others])


def _decimal(value: Any) -> str:
    return "–" if pd.isna(value) else f"{float(value):.1f}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for k, head in enumerate(heads):
        table.add_column(head, justify="left" if k == 0 else "right", no_wrap=k > 0)
    for row in rows:
        table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in row))
    return table


def _print(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        # Text as it is: rich would read [brackets] and :colons: as its own language.
        console.print(Text(line))


def _fixed(value: Any) -> str:
    return "–" if value is None or pd.isna(value) else f"{float(value):.2f}"


def _p_value(p: Any) -> str:
    if p is None or pd.isna(p):
        return "–"
    return "<0.01" if float(p) < 0.01 else f"{float(p):.2f}"
