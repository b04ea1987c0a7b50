"""A link: what an earlier study says of shared items, and whether this study's answers agree."""

from __future__ import annotations

from typing import Any

from tiewise.posterior.results_folder import Results
from tiewise.posterior.scales.link_check import link_table, link_warnings
from tiewise.posterior.terms.sentences import labels_by_item
from tiewise.report.section import DataTable, Paragraphs, Section, not_meant
from tiewise.text import percent, signed

MOST_ROWS = 30


def link_section(results: Results) -> Section | None:
    """The items of the earlier study, those that disagree most first."""
    table = link_table(results.tree)
    if table is None:
        return None
    order = table["z"].abs().sort_values(ascending=False, kind="stable").index[:MOST_ROWS]
    names = {str(item): str(name) for item, name in labels_by_item(results).items()}
    rows = [_row(row, names[row["item"]]) for row in table.loc[order].to_dict("records")]
    head = (results.wording.one.capitalize(), "Earlier study", "Expected without it", "z")
    note = not_meant(
        "an item that disagrees need not have changed: the judges of either study may see it "
        "differently."
    )
    sentences = (_sentence(results, len(table)), *link_warnings(results.tree, names))
    blocks = (Paragraphs(sentences), DataTable(head, rows), note)
    return Section("link", "Earlier study", "Does the earlier study agree?", blocks)


def _sentence(results: Results, number: int) -> str:
    by_chance = percent(float(results.tree["link"].attrs["p"]))
    return (
        f"What the answers of an earlier study say of {number} {results.wording.nouns} counts "
        f"here, too. By chance {by_chance} of studies would be as far from it as this one. Values "
        "are in logits; their level is that of the earlier study."
    )


def _row(row: dict[Any, Any], name: str) -> tuple[str, ...]:
    expected = f"{signed(row['expected'])} (sd {row['expected_sd']:.2f})"
    return name, signed(row["value"]), expected, signed(row["z"], 1)
