"""Whether the first of a pair has an advantage."""

from __future__ import annotations

from typing import Any

from tiewise.posterior.predictions import has_facts
from tiewise.posterior.results_folder import Results
from tiewise.posterior.terms.sentences import column_label, order_sentences
from tiewise.posterior.terms.tables import advantages, has_term
from tiewise.report.section import (
    DataTable,
    Paragraphs,
    PictureRow,
    Section,
    SectionBlock,
    not_meant,
)
from tiewise.text import probability_percent, signed, true_minus

HEAD = (
    "", "Per unit", "95 % interval", "Per standard deviation", "95 % interval", "Chance above 0",
)  # fmt: skip


def order_section(results: Results) -> Section | None:
    """Order, for a model in which the first of a pair may have an advantage."""
    if not has_term(results.tree, "order"):
        return None
    limits = not_meant(
        "This is a habit of answering, or the home ground; it does not say why. Estimates of "
        f"{results.wording.nouns} are freed of it."
    )
    sentences = Paragraphs(list(order_sentences(results)))
    if not has_facts(results.tree):
        blocks: tuple[SectionBlock, ...] = (sentences, PictureRow(()), limits)
        return Section("order", "Order", "Does it matter which one comes first?", blocks)
    rows = [_fact_row(row) for row in advantages(results.tree).to_dict("records")]
    limits = not_meant(
        "These are associations within pairs, not causes: a column may stand for something that "
        f"is not in the file. Estimates of {results.wording.nouns} are freed of them, so far as "
        "the columns say it."
    )
    blocks = (sentences, DataTable(HEAD, rows), limits)
    return Section("order", "Facts", "What else favours one of a pair?", blocks)


def _fact_row(row: dict[Any, Any]) -> tuple[str, ...]:
    """A fact, its coefficient per unit and per standard deviation, with intervals."""
    return (
        column_label(row["advantage"]), _three_figures(row["median"]),
        f"{_three_figures(row['q2.5'])} to {_three_figures(row['q97.5'])}", signed(row["per_sd"]),
        f"{signed(row['per_sd_q2.5'])} to {signed(row['per_sd_q97.5'])}",
        probability_percent(row["above_0"]),
    )  # fmt: skip


def _three_figures(value: float) -> str:
    return true_minus(f"{value:+.3g}")
