"""The answer first, and the highest items."""

from __future__ import annotations

from typing import Any

from tiewise.posterior.results_folder import Results
from tiewise.report.answer import main_answer, top_items
from tiewise.report.item_rows import item_records, item_table
from tiewise.report.section import Fragment, Section
from tiewise.text import probability_words


def answer_section(results: Results) -> Section:
    """The main answer."""
    values = {"answer": main_answer(results), "rows": _top_rows(results)}
    return Section("answer", "Answer", "The answer", (Fragment("answer", values),))


def _top_rows(results: Results) -> list[dict[str, Any]]:
    top = item_records(item_table(results).loc[top_items(results).index])
    return [row | {"words": probability_words(row["top_k_probability"])} for row in top]
