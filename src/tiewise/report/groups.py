"""Where groups of judges or two waves differ, in plain words, and what that does not mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiewise.posterior.term_tables import REAL, contrasts, differences, group_names, said_terms
from tiewise.report.answer import called, listed, percent
from tiewise.report.certainty import capital, signed
from tiewise.report.folder import Results
from tiewise.report.section import NAMED, SHOWN, Section

Floats = NDArray[np.float64]

LIKELY = 0.8  # below this a difference is not put into a table


class Sides(NamedTuple):
    """Two sides of a difference in words."""

    title: str
    higher: str
    lower: str
    several: bool = False
    waves: bool = False

    def of(self, group: str) -> Sides:
        """The words for one of several groups."""
        if not self.several:
            return self
        return self._replace(
            higher=f"“{group}” places it higher", lower=f"“{group}” places it lower"
        )


def sides_of(results: Results) -> Sides:
    """What the two ends of a difference are called."""
    names = group_names(results.tree)
    waves = "waves" in said_terms(results.tree)
    if len(names) > 2:
        title = "What changed?" if waves else "Where do groups of judges differ?"
        higher, lower = "this group places it higher", "this group places it lower"
        return Sides(title, higher, lower, several=True, waves=waves)
    one, other = names
    if waves:
        return Sides(f"What changed from {one} to {other}?", "rose", "fell", waves=True)
    return Sides(
        f"Where do “{one}” and “{other}” differ?", f"“{other}” places it higher",
        f"“{one}” places it higher",
    )  # fmt: skip


def group_section(results: Results) -> Section:
    """Where groups of judges differ, or what changed between waves."""
    tree, sides = results.tree, sides_of(results)
    table = contrasts(tree)
    says = [*_sizes(results), *_real(table, results, sides)]
    rows = tuple(_difference_row(row, sides) for row in _first_rows(table, results))
    names = listed([f"“{name}”" for name in group_names(tree)])
    changed = (
        "Change is relative: if all rose alike, nothing would be seen. " if sides.waves else ""
    )
    return Section(
        "groups", "What changed" if sides.waves else "Groups of judges", sides.title, tuple(says),
        (results.about.one.capitalize(), "Which way", "Difference", "95 % interval", "Chance"),
        rows, ("difference", "difference-real"),
        f"{changed}Each view is centred, so a difference says where {names} place one "
        f"{results.about.one} against the others, not that one of them sees everything higher. It "
        "does not say why: they may know other places, or have been asked about other pairs. "
        "The chance is that of the direction; a difference that is surely there may be small.",
    )  # fmt: skip


def _sizes(results: Results) -> Iterator[str]:
    """How large differences are beside those between items, and how alike the views are."""
    tree, about = results.tree, results.about
    quality = tree["posterior/quality"].to_numpy()
    spread = float(np.median(quality.std(axis=-1)))
    draws = differences(tree)
    typical = float(np.median([own.std(axis=-1) for _, _, own in draws]))
    yield (
        f"A typical difference is {typical:.2f}; {about.nouns} themselves differ by {spread:.2f} "
        "(standard deviations of quality)."
    )
    contrast = tree["posterior/contrast"]
    if contrast.sizes["group"] == 2:
        one, other = (quality + contrast.isel(group=k).to_numpy() for k in (0, 1))
        low, middle, high = np.quantile(_correlation(one, other), (0.025, 0.5, 0.975))
        low, middle, high = (f"{value:.2f}".replace("-", "−") for value in (low, middle, high))
        yield (
            f"The two views go together with a correlation of {middle} (95 % interval {low} to "
            f"{high})."
        )


def _correlation(one: Floats, other: Floats) -> Floats:
    a = one - one.mean(axis=-1, keepdims=True)
    b = other - other.mean(axis=-1, keepdims=True)
    both = (a * b).sum(axis=-1) / np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
    return np.asarray(both, np.float64)


def _real(table: pd.DataFrame, results: Results, sides: Sides) -> Iterator[str]:
    """How many differences are surely there, how many of those may be wrong, and which."""
    sure = table[table["real"] >= REAL]
    what = "differences" if sides.several else results.about.nouns
    if sure.empty:
        yield f"For no {results.about.one} is the direction almost certain (95 % or more)."
        return
    wrong = float((1 - sure["real"]).sum())
    yield (
        f"For {len(sure):,} of {len(table):,} {what} the direction is almost certain (95 % or "
        f"more); of these, {_about(wrong)} may be expected to lie the other way."
    )
    if sides.several:
        return
    names, away = _names(results), sure["median"]
    for words, own in ((sides.higher, sure[away > 0]), (sides.lower, sure[away < 0])):
        if len(own):
            largest = own.loc[own["median"].abs().sort_values(ascending=False).index]
            some = [str(names[item]) for item in largest["item"]]
            yield f"{capital(words)}: {listed(some, NAMED)}."


def _about(value: float) -> str:
    return "fewer than one" if value < 0.95 else f"about {value:.0f}"


def _first_rows(table: pd.DataFrame, results: Results) -> list[dict[Any, Any]]:
    """The surest differences, and among equals the largest."""
    order = np.lexsort((-table["median"].abs(), -table["real"].round(3)))
    surest, names = table.iloc[order], _names(results)
    # Some of each side: the surest of all may all lie on one.
    sides = [surest[surest["median"] > 0], surest[surest["median"] <= 0]]
    shown = pd.concat([side[side["real"] >= LIKELY].head(SHOWN // 2) for side in sides])
    return [{**row, "label": names[row["item"]]} for row in shown.to_dict("records")]


def _names(results: Results) -> pd.Series[str]:
    """How to speak of every item, by its id."""
    items = results.items
    return called(items, results.about, 48).set_axis(pd.Index(items["item"]))


def _difference_row(row: dict[Any, Any], sides: Sides) -> tuple[str, ...]:
    told = sides.of(str(row["group"]))
    return (
        str(row["label"]), told.higher if row["median"] > 0 else told.lower,
        signed(row["median"]), f"{signed(row['q2.5'])} to {signed(row['q97.5'])}",
        percent(row["real"]),
    )  # fmt: skip
