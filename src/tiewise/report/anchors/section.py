"""Anchors: what was known of some items, and whether this study's answers agree."""

from __future__ import annotations

from typing import Any

from tiewise.posterior.results_folder import Results
from tiewise.posterior.scales.anchored import anchor_sentences, anchor_table
from tiewise.posterior.scales.scale import digits_for
from tiewise.posterior.terms.sentences import labels_by_item
from tiewise.report.section import DataTable, Paragraphs, Section, not_meant
from tiewise.text import signed, true_minus

MOST_ROWS = 30


def anchor_section(results: Results) -> Section | None:
    """The anchors, those that disagree most first."""
    table = anchor_table(results.tree)
    if table is None:
        return None
    order = table["z"].abs().sort_values(ascending=False, kind="stable").index[:MOST_ROWS]
    names = {str(item): str(name) for item, name in labels_by_item(results).items()}
    digits = 2
    if "anchor_slope" in results.tree["posterior"]:
        digits = digits_for(float(table["value"].std(ddof=0)))
    records = table.loc[order].to_dict("records")
    rows = [_row(row, names[row["item"]], digits) for row in records]
    head = (results.wording.one.capitalize(), "Value", "Expected without it", "z")
    note = not_meant(
        "an anchor that disagrees need not be wrong: the item may have changed since, or these "
        "judges may see it differently."
    )
    blocks = (
        Paragraphs(anchor_sentences(results.tree, names)),
        DataTable(head, rows),
        note,
    )
    return Section("anchors", "Anchors", "Do the anchors agree?", blocks)


def _row(row: dict[Any, Any], name: str, digits: int) -> tuple[str, ...]:
    value, expected = (
        f"{true_minus(format(row[key], f'.{digits}f'))} (sd {row[sd]:.{digits}f})"
        for key, sd in (("value", "sd"), ("expected", "expected_sd"))
    )
    return name, value, expected, signed(row["z"], 1)
