"""How judges differ in sharpness and in their use of ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tiewise.posterior.phrases import has_ties
from tiewise.posterior.results_folder import Results
from tiewise.posterior.terms.judge_kinds import has_kinds, kind_table
from tiewise.posterior.terms.sentences import judge_label, judge_sentences
from tiewise.posterior.terms.tables import judge_terms
from tiewise.report.section import DataTable, Paragraphs, PictureRow, Section, not_meant
from tiewise.text import probability_percent

MOST_ROWS = 36
LIMITS = (
    "A judge of little sharpness need not be careless: they may know other places, weigh "
    "something else, or have had hard pairs. They weigh less in the estimates, and nothing "
    "more follows from it. Neither way of using “about equal” is wrong. This part names judges "
    "by their ids: think of that before the page is passed on."
)


def judge_section(results: Results) -> Section | None:
    """Judges, for a model in which each has a sharpness or a threshold."""
    if "judge" not in results.tree["posterior"].dims:
        return None
    if has_kinds(results.tree):
        return _kinds(results)
    blocks = (
        Paragraphs(list(judge_sentences(results))), PictureRow(("judge-terms",)),
        _judge_table(judge_terms(results.tree), has_ties(results.tree)), not_meant(LIMITS),
    )  # fmt: skip
    return Section("judges", "Judges", "How judges differ", blocks)


def _kinds(results: Results) -> Section:
    """Groups of judges with a sharpness or a threshold of their own."""
    table = kind_table(results.tree)
    columns = {"sharpness": "Sharpness", "worth": "An answer is worth"}
    columns = {name: head for name, head in columns.items() if name in table}
    head = ["Group", "Answers", *(f"{words} (95 % interval)" for words in columns.values())]
    rows = [_kind_row(row, list(columns)) for row in table.to_dict("records")]
    limits = not_meant(
        "Sharpness is relative to the group with the most answers, and what an answer is worth to "
        "the group whose answers tell most: how precisely one places two "
        f"{results.wording.nouns}. It does not say that a group is right: where groups disagree, "
        "look at what each says. Judges of one kind may repeat each other’s errors, machines above "
        "all."
    )
    blocks = (Paragraphs(list(judge_sentences(results))), DataTable(head, rows), limits)
    return Section("judges", "Kinds of judges", "What is an answer of each kind worth?", blocks)


def _kind_row(row: dict[Any, Any], columns: list[str]) -> tuple[str, ...]:
    cells = [str(row["group"]), f"{row['comparisons']:,}"]
    for name in columns:
        low, high = row[f"{name}_q2.5"], row[f"{name}_q97.5"]
        known = low == high  # of the group that others are relative to
        cells.append("1" if known else f"{row[name]:.2f} ({low:.2f} to {high:.2f})")
    return tuple(cells)


def _judge_table(table: pd.DataFrame, ties: bool) -> DataTable:
    head = ["Judge", "Answers", "“About equal”"]
    head += ["Sharpness (95 % interval)"] if "sharpness" in table else []
    answers = "Ties" if ties else "Weak choices"
    head += [f"{answers} between equals (95 % interval)"] if "threshold" in table else []
    return DataTable(head, [_judge_row(row) for row in _ends(table).to_dict("records")])


def _ends(table: pd.DataFrame) -> pd.DataFrame:
    """All judges, or of many those at both ends."""
    if len(table) <= MOST_ROWS:
        return table
    return pd.concat([table.head(MOST_ROWS // 2), table.tail(MOST_ROWS // 2)])


def _judge_row(row: dict[Any, Any]) -> tuple[str, ...]:
    cells = [judge_label(str(row["judge"])), f"{row['comparisons']:,}"]
    share = f" ({probability_percent(row['ties'] / row['comparisons'])})" if row["ties"] else ""
    cells.append(f"{row['ties']:,}{share}")
    if "sharpness" in row:
        cells.append(
            f"{row['sharpness']:.2f} ({row['sharpness_q2.5']:.2f} to {row['sharpness_q97.5']:.2f})"
        )
    if "threshold" in row:
        low, high = (
            probability_percent(np.tanh(row[f"threshold_{end}"] / 2)) for end in ("q2.5", "q97.5")
        )
        cells.append(f"{probability_percent(row['says_equal'])} ({low} to {high})")
    return tuple(cells)
