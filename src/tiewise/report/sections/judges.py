"""How judges differ in sharpness and in their use of ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tiewise.posterior.results_folder import Results
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
    blocks = (
        Paragraphs(list(judge_sentences(results))), PictureRow(("judge-terms",)),
        _judge_table(judge_terms(results.tree)), not_meant(LIMITS),
    )  # fmt: skip
    return Section("judges", "Judges", "How judges differ", blocks)


def _judge_table(table: pd.DataFrame) -> DataTable:
    head = ["Judge", "Answers", "“About equal”"]
    head += ["Sharpness (95 % interval)"] if "sharpness" in table else []
    head += ["Ties between equals (95 % interval)"] if "threshold" in table else []
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
