"""Bands in words, from the table of items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from tiewise.posterior.bands.bands import SURE
from tiewise.posterior.diagnostics import MANY_ITEMS
from tiewise.posterior.phrases import standalone_labels
from tiewise.text import isolate, percent, sentence_list

if TYPE_CHECKING:
    from tiewise.posterior.results_folder import Results, Wording

LONGEST_NAME = 40
MOST_NAMED = 3
MOST_BANDS = 8
NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def item_bands(table: pd.DataFrame) -> pd.Series[int] | None:
    """The band of each row of items.csv, 0 for those in none; None where it is not known."""
    if "band" not in table or table["band"].isna().all():
        return None
    return table["band"].fillna(0).astype(int)


def has_bands(table: pd.DataFrame) -> bool:
    """Whether two bands or more are told apart."""
    band = item_bands(table)
    return band is not None and int(band.max()) > 1


def shows_bands(results: Results) -> bool:
    """Whether bands are shown: two or more, and the verdict lets them be claimed."""
    claimed = results.facts.get("verdict", {}).get("headline", True)
    return bool(claimed) and has_bands(results.items)


def band_sentences(results: Results) -> list[str]:
    """Which parts of the list are told apart, and what that means; nothing where not known."""
    table, wording = results.items, results.wording
    band = item_bands(table)
    if band is None:
        return []
    if band.max() < 2:
        return [
            f"No band of {wording.nouns} can be told from the others: wherever the list is cut, "
            f"it is not sure ({percent(SURE)}) that all above are higher than all below."
        ]
    meaning = (
        f"Every {wording.one} of a band is higher than every {wording.one} of the next, all of "
        f"this together with a probability of {percent(SURE)} or more; within a band the order is "
        "open."
    )
    names = standalone_labels(table, wording, LONGEST_NAME).map(isolate)
    groups = [list(names[band == k]) for k in range(1, int(band.max()) + 1)]
    between = int((band == 0).sum())
    return [_ends(groups, between, wording) if between else _bands(groups, wording), meaning]


def _ends(groups: Sequence[Sequence[str]], between: int, wording: Wording) -> str:
    """Two bands with others between them."""
    high, low = groups
    above = high[0] if len(high) == 1 else f"the {len(high):,} highest {wording.nouns}"
    below = low[0] if len(low) == 1 else f"the {len(low):,} lowest"
    spans = [f" ({_span(group)})" if len(group) > 1 else "" for group in groups]
    middle = "the one between them belongs" if between == 1 else f"the {between:,} between belong"
    return (
        f"Two bands can be told apart: {above}{spans[0]} and {below}{spans[1]}; {middle} to "
        "neither."
    )


def _bands(groups: Sequence[Sequence[str]], wording: Wording) -> str:
    """Bands that take in every item."""
    number = len(groups)
    parts = [_part(group, wording) for group in groups[:MOST_BANDS]]
    more = [f"{number - MOST_BANDS:,} more"] if number > MOST_BANDS else []
    words = NUMBERS[number] if number < len(NUMBERS) else f"{number:,}"
    return f"{words} bands can be told apart: {'; '.join([*parts, *more])}."


def missing_bands(results: Results) -> list[str]:
    """Why very many items have no bands."""
    if len(results.items) <= MANY_ITEMS:
        return []
    return [f"Bands are not worked out for more than {MANY_ITEMS:,} {results.wording.nouns}."]


def _part(group: Sequence[str], wording: Wording) -> str:
    if len(group) <= MOST_NAMED:
        return sentence_list(group)
    return f"{len(group):,} {wording.nouns} ({_span(group)})"


def _span(group: Sequence[str]) -> str:
    """`Ash to Elm`: the first and the last of a band; all of few."""
    return sentence_list(group) if len(group) <= MOST_NAMED else f"{group[0]} to {group[-1]}"
