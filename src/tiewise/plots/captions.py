"""Phrases that the captions of several plots share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tiewise.posterior.phrases import standalone_labels
from tiewise.text import quantity, sentence_list

if TYPE_CHECKING:
    from tiewise.posterior.results_folder import Results

NAMED = 3  # items at either end
LONGEST = 60  # letters of a name


def caption_names(results: Results) -> pd.Series[str]:
    """The name of every item in a caption, by its id."""
    table = results.items
    names = standalone_labels(table, results.wording, LONGEST)
    compared = table["comparisons"] > 0
    return names.where(compared, names + " (never compared)").set_axis(pd.Index(table["item"]))


def number_of_items(results: Results) -> str:
    """`14 wards`."""
    return quantity(len(results.items), results.wording.one, results.wording.nouns)


def uncompared_items(results: Results) -> str:
    """How many items were never compared, as a sentence after a space; else nothing."""
    count = int((results.items["comparisons"] == 0).sum())
    if not count:
        return ""
    were = "was never compared and is" if count == 1 else "were never compared and are"
    return f" {quantity(count, results.wording.one, results.wording.nouns)} {were} marked."


def highest_and_lowest(results: Results) -> str:
    """The items with the highest and the lowest estimates."""
    names = list(caption_names(results))
    few = min(NAMED, len(names) // 2)
    if not few:
        return f"The only one is {names[0]}."
    return (
        f"The estimate is highest for {sentence_list(names[:few])}, "
        f"and lowest for {sentence_list(names[: -few - 1 : -1])}."
    )
