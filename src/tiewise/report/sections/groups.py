"""Where groups of judges differ, or what changed between waves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tiewise.posterior.results_folder import Results
from tiewise.posterior.terms.sentences import (
    DifferenceWords,
    difference_words,
    group_sentences,
    labels_by_item,
)
from tiewise.posterior.terms.tables import contrasts, group_names, has_term
from tiewise.report.section import DataTable, Note, Paragraphs, PictureRow, Section, not_meant
from tiewise.text import probability_percent, sentence_list, signed

LIKELY = 0.8  # below this a difference is not put into the table
MOST_ROWS = 12


def group_section(results: Results) -> Section | None:
    """Groups of judges or waves, for a model that compares them."""
    if not has_term(results.tree, "contrast"):
        return None
    words = difference_words(results)
    head = (results.wording.one.capitalize(), "Which way", "Difference", "95 % interval", "Chance")
    rows = [_difference_row(row, words) for row in _surest(contrasts(results.tree), results)]
    blocks = (
        Paragraphs(list(group_sentences(results))), PictureRow(("difference", "difference-real")),
        DataTable(head, rows), _limits(results, words),
    )  # fmt: skip
    link = "What changed" if words.waves else "Groups of judges"
    return Section("groups", link, words.title, blocks)


def _limits(results: Results, words: DifferenceWords) -> Note:
    names = sentence_list([f"“{name}”" for name in group_names(results.tree)])
    changed = (
        "Change is relative: if all rose alike, nothing would be seen. " if words.waves else ""
    )
    return not_meant(
        f"{changed}Each view is centred, so a difference says where {names} place one "
        f"{results.wording.one} against the others, not that one of them sees everything higher. "
        "It does not say why: they may know other places, or have been asked about other pairs. "
        "The chance is that of the direction; a difference that is surely there may be small."
    )


def _surest(table: pd.DataFrame, results: Results) -> list[dict[Any, Any]]:
    """The surest differences, and among equals the largest."""
    order = np.lexsort((-table["median"].abs(), -table["real"].round(3)))
    surest, names = table.iloc[order], labels_by_item(results)
    # Some of each direction: the surest of all may all lie on one side.
    sides = [surest[surest["median"] > 0], surest[surest["median"] <= 0]]
    rows = pd.concat([side[side["real"] >= LIKELY].head(MOST_ROWS // 2) for side in sides])
    return [{**row, "label": names[row["item"]]} for row in rows.to_dict("records")]


def _difference_row(row: dict[Any, Any], words: DifferenceWords) -> tuple[str, ...]:
    own = words.for_group(str(row["group"]))
    return (
        str(row["label"]), own.higher if row["median"] > 0 else own.lower,
        signed(row["median"]), f"{signed(row['q2.5'])} to {signed(row['q97.5'])}",
        probability_percent(row["real"]),
    )  # fmt: skip
