"""Names of items and phrases about results that plots and the report share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiewise.text import one_line

if TYPE_CHECKING:
    import pandas as pd

    from tiewise.posterior.results_folder import Results, Wording

SUPERLATIVES = {
    "higher": "highest", "greater": "greatest", "larger": "largest", "bigger": "biggest",
    "lower": "lowest", "smaller": "smallest", "better": "best", "worse": "worst",
    "stronger": "strongest", "weaker": "weakest",
}  # fmt: skip
"""Comparatives that stand before a noun: `higher risk` makes `the highest risk`."""


def item_labels(table: pd.DataFrame, most: int | None = None) -> pd.Series[str]:
    """Names, with the id behind those that several items share; cut to `most` letters."""
    names = table["name"].map(lambda name: one_line(name, most))
    twice = names.duplicated(keep=False)
    return names.where(~twice, names + " (" + table["item"].map(lambda i: one_line(i, most)) + ")")


def standalone_labels(
    table: pd.DataFrame, wording: Wording, most: int | None = None
) -> pd.Series[str]:
    """Labels that can stand alone: `ward 12` where the name is but a number."""
    names = item_labels(table, most)
    return names.where(~names.str.fullmatch(r"[\d\W]+"), f"{wording.one} " + names)


def uncompared_note(results: Results) -> str:
    """What to write beside an item that nobody compared."""
    kind = results.facts["model"].get("quality", {}).get("kind", "")
    if kind == "network":
        return "not compared: estimate borrowed from its neighbours"
    if kind not in ("", "independent", "other"):
        return (
            f"not compared: estimate borrowed from {results.wording.nouns} believed to be like it"
        )
    return "not compared: nothing is known of it"


def top_phrase(wording: Wording) -> str:
    """`the 5 wards with the highest risk`; of words it cannot bend, `the top 5 wards (richer)`."""
    first, _, noun = wording.higher.partition(" ")
    many = "" if wording.top == 1 else f"{wording.top} "
    what = wording.one if wording.top == 1 else wording.nouns
    if noun and first.lower() in SUPERLATIVES:
        return f"the {many}{what} with the {SUPERLATIVES[first.lower()]} {noun}"
    return f"the top {many}{what} ({wording.higher})"


def has_top_probabilities(results: Results) -> bool:
    """Whether the chance of the top k says something: computed, and not of everybody."""
    table = results.items
    return results.wording.top < len(table) and bool(table["top_k_probability"].notna().any())
