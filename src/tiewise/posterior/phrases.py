"""Names of items and phrases about results that plots and the report share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiewise.text import one_line, quantity

if TYPE_CHECKING:
    import pandas as pd
    from xarray import DataTree

    from tiewise.posterior.results_folder import Results, Wording

SUPERLATIVES = {
    "higher": "highest", "greater": "greatest", "larger": "largest", "bigger": "biggest",
    "lower": "lowest", "smaller": "smallest", "better": "best", "worse": "worst",
    "stronger": "strongest", "weaker": "weakest",
}  # fmt: skip
"""Comparatives that stand before a noun: `higher risk` makes `the highest risk`."""


STRENGTHS = {1: ("more",), 2: ("more", "much more"), 3: ("a little more", "more", "much more")}
"""What choices of each strength are called, by the number of strengths, the weakest first."""


def has_ties(tree: DataTree) -> bool:
    """Whether “about equal” is an answer of this model; graded answers may do without."""
    return bool((tree["posterior/tie"].to_numpy() > 0).any())


def answer_words(levels: int, *, ties: bool) -> list[str]:
    """Graded answers in words, from all for the first item to all for the second."""
    first = STRENGTHS[levels][::-1]
    second = [word.replace("more", "less") for word in STRENGTHS[levels]]
    return [*first, *(["about equal"] if ties else []), *second]


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


def no_threshold(results: Results) -> str:
    """Why a model has no tie threshold."""
    left_out = results.facts.get("ties_left_out", 0)
    if left_out:
        were = "was" if left_out == 1 else "were"
        answers = quantity(left_out, "tied answer")
        return f"{answers} {were} left out, and the model has no tie threshold."
    return (
        "Nobody called a tie, so the model has no tie threshold. If judges could have called one, "
        "that nobody did is information, and a fit with the option ties keeps one."
    )


def top_phrase(wording: Wording) -> str:
    """`the 5 wards with the highest risk`; of words it cannot bend, `the top 5 wards (richer)`."""
    first, _, noun = wording.higher.partition(" ")
    many = "" if wording.top == 1 else f"{wording.top} "
    what = wording.one if wording.top == 1 else wording.nouns
    if noun and first.lower() in SUPERLATIVES:
        return f"the {many}{what} with the {SUPERLATIVES[first.lower()]} {noun}"
    return f"the top {many}{what} ({wording.higher})"


def has_top_probabilities(results: Results) -> bool:
    """Whether the chance of the top k says something: computed, not of everybody, not withheld."""
    table = results.items
    if not results.facts.get("verdict", {}).get("headline", True):
        return False
    return results.wording.top < len(table) and bool(table["top_k_probability"].notna().any())
