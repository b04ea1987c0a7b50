"""Where groups of judges differ, or what changed between waves; leaderboards by a column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tiewise.posterior.results_folder import Results
from tiewise.posterior.scales.display_scale import shown_leaderboard, shown_scores
from tiewise.posterior.terms.judge_kinds import has_kinds
from tiewise.posterior.terms.sentences import (
    DifferenceWords,
    difference_words,
    group_sentences,
    labels_by_item,
)
from tiewise.posterior.terms.tables import contrasts, group_names, has_term, stored_terms
from tiewise.report.section import (
    DataTable,
    Note,
    Paragraphs,
    PictureRow,
    Section,
    SectionBlock,
    not_meant,
)
from tiewise.text import probability_percent, rank_range, sentence_list, signed

LIKELY = 0.8  # below this a difference is not put into the table
MOST_ROWS = 12
MOST_LISTED = 50  # items of a leaderboard
KINDS_NOTE = (
    " “All” is what the groups have in common. A group’s own column is its view, with what the "
    "others say as far as they were found to agree; for one group’s answers with nothing of the "
    "others, fit these answers alone."
)


def group_section(results: Results) -> Section | None:
    """Groups of judges or waves, for a model that compares them."""
    if not has_term(results.tree, "contrast"):
        return None
    words = difference_words(results)
    blocks = (
        *_leaderboards(results),
        Paragraphs(list(group_sentences(results))), PictureRow(("difference", "difference-real")),
        _differences(results, words), _limits(results, words),
    )  # fmt: skip
    return Section("groups", words.link, words.title, blocks)


# Leaderboards by a column of the judgements.


def _leaderboards(results: Results) -> tuple[SectionBlock, ...]:
    """The leaderboard of all beside that of each group, where a column was asked for.

    Kinds of judges have it, too.
    """
    kinds = has_kinds(results.tree)
    if "by" not in stored_terms(results.tree) and not kinds:
        return ()
    scale, board = shown_scores(results).scale, shown_leaderboard(results)
    groups = list(dict.fromkeys(board["group"]))
    cells = {
        (row["group"], row["item"]): _standing(row, scale.text(row["score"]))
        for row in board.to_dict("records")
    }
    names = labels_by_item(results)
    items = board["item"][: min(len(names), MOST_LISTED)]
    rows = [[str(names[item]), *(cells[group, item] for group in groups)] for item in items]
    more = " The first 50 are listed; leaderboard.csv has all." if len(names) > MOST_LISTED else ""
    note = f"{scale.title}, and in brackets the ranks it could have (95 %).{more}"
    note += KINDS_NOTE if kinds else ""
    return DataTable((results.wording.one.capitalize(), "All", *groups[1:]), rows), Note(note)


def _standing(row: dict[Any, Any], score: str) -> str:
    """`1610 (1 to 3)`: a score with the range of its rank; a dash for an item without votes."""
    ranks = f"{score} ({rank_range(row['rank_q2.5'], row['rank_q97.5'])})"
    return ranks if row["votes"] else f"{ranks}, no votes"


def _differences(results: Results, words: DifferenceWords) -> DataTable:
    """The surest differences between groups, or of each leaderboard from that of all."""
    one = results.wording.one.capitalize()
    if "by" not in stored_terms(results.tree):
        head = (one, "Which way", "Difference", "95 % interval", "Chance")
        rows = [_difference_row(row, words) for row in _surest(contrasts(results.tree), results)]
        return DataTable(head, rows)
    board = shown_leaderboard(results)
    board = board[board["sure"].notna()].rename(columns={"difference": "median", "sure": "real"})
    head = (one, "Group", "Difference from all", "95 % interval", "Chance")
    digits = shown_scores(results).scale.digits
    rows = [_board_row(row, digits) for row in _surest(board, results)]
    return DataTable(head, rows)


def _board_row(row: dict[Any, Any], digits: int) -> tuple[str, ...]:
    low, high = (signed(row[f"difference_{end}"], digits) for end in ("q2.5", "q97.5"))
    return (
        str(row["label"]), str(row["group"]), signed(row["median"], digits), f"{low} to {high}",
        probability_percent(row["real"]),
    )  # fmt: skip


# Differences between groups.


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
