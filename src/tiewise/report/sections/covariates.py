"""What goes with higher quality."""

from __future__ import annotations

from typing import Any

from tiewise.posterior.results_folder import Results
from tiewise.posterior.terms.sentences import column_label, covariate_sentences
from tiewise.posterior.terms.tables import coefficients, has_term
from tiewise.report.section import DataTable, Paragraphs, PictureRow, Section, not_meant
from tiewise.text import probability_percent, signed, true_minus

HEAD = ("", "Per unit", "95 % interval", "Per standard deviation", "Chance above 0")


def covariate_section(results: Results) -> Section | None:
    """What goes with it, for a model with covariates."""
    if not has_term(results.tree, "coefficient"):
        return None
    wording = results.wording
    rows = [_coefficient_row(row) for row in coefficients(results.tree).to_dict("records")]
    limits = not_meant(
        "These are associations, not causes: a column may stand for something that is not in the "
        f"table. They hold between {wording.nouns}, not between the people in them. And where "
        f"neighbouring {wording.nouns} are taken to be alike, what a column and a neighbourhood "
        "explain cannot be told apart altogether."
    )
    blocks = (
        Paragraphs(list(covariate_sentences(results))), PictureRow(("coefficients",)),
        DataTable(HEAD, rows), limits,
    )  # fmt: skip
    return Section("covariates", "What goes with it", f"What goes with {wording.higher}", blocks)


def _coefficient_row(row: dict[Any, Any]) -> tuple[str, ...]:
    return (
        column_label(row["covariate"]), _three_figures(row["median"]),
        f"{_three_figures(row['q2.5'])} to {_three_figures(row['q97.5'])}", signed(row["per_sd"]),
        probability_percent(row["above_0"]),
    )  # fmt: skip


def _three_figures(value: float) -> str:
    return true_minus(f"{value:+.3g}")
