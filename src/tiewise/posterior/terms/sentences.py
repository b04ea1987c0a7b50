"""What the terms of a model say, in sentences that plots, report and terminal share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiewise.model.likelihood import answer_probabilities
from tiewise.posterior.map_share import map_share_sentence
from tiewise.posterior.phrases import has_ties, standalone_labels
from tiewise.posterior.predictions import has_facts
from tiewise.posterior.results_folder import Results
from tiewise.posterior.terms.judge_kinds import has_kinds, kind_sentences
from tiewise.posterior.terms.tables import (
    REAL,
    advantages,
    coefficients,
    contrasts,
    differences,
    group_names,
    judge_terms,
    stored_terms,
)
from tiewise.text import (
    capital,
    probability_percent,
    probability_words,
    quantity,
    sentence_list,
    signed,
    true_minus,
)

Floats = NDArray[np.float64]

CONFIDENT = 0.8  # below this probability no direction is named
MOST_NAMES = 5
LONGEST_NAME = 48  # letters


def term_sentences(results: Results) -> dict[str, list[str]]:
    """Sentences about each kind of term that the model has, by its variable in the posterior."""
    posterior = results.tree["posterior"]
    present = {*posterior.data_vars, *posterior.dims}
    return {name: list(SENTENCES[name](results)) for name in SENTENCES if name in present}


# Covariates.


def column_label(name: str) -> str:
    """A column of a formula as a person says it: `setting[T.urban]` is `setting: urban`."""
    return re.sub(r"\[(?:T\.)?([^\]]*)\]", r": \1", str(name))


def covariate_sentences(results: Results) -> Iterator[str]:
    """What goes with higher quality, and how much of the variance that explains."""
    table = coefficients(results.tree)
    low, middle, high = np.quantile(results.tree["posterior/explained"], (0.025, 0.5, 0.975))
    together = "It accounts" if len(table) == 1 else "Together they account"
    yield " ".join(_coefficient(row, results) for row in table.to_dict("records"))
    yield (
        f"{together} for {probability_percent(middle)} of the variance between "
        f"{results.wording.nouns} (95 % interval {probability_percent(low)} to "
        f"{probability_percent(high)}); the rest is each one’s own."
    )


def _coefficient(row: dict[Any, Any], results: Results) -> str:
    name, above, wording = column_label(str(row["covariate"])), row["above_0"], results.wording
    sure = max(above, 1 - above)
    if sure < CONFIDENT:
        return f"Whether {name} goes with {wording.higher} or {wording.lower} cannot be told."
    way = wording.higher if above > 0.5 else wording.lower
    size = f"{signed(row['per_sd'])} in quality for one standard deviation more"
    more = "more of "
    if ": " in name:
        more, size = "", f"{signed(row['median'])} in quality, against the first of its kind"
    return f"It is {probability_words(sure)} that {more}{name} goes with {way} ({size})."


# Order.


def order_sentences(results: Results) -> Iterator[str]:
    """Whether the first of a pair has an advantage."""
    draws = results.tree["posterior/order"]
    ties = results.tree["posterior/tie"].to_numpy().ravel()
    facts = advantages(results.tree).to_dict("records") if has_facts(results.tree) else None
    for k, kind in enumerate(draws["advantage"].to_numpy().astype(str)):
        own = draws.isel(advantage=k).to_numpy().ravel()
        if facts is not None and kind != "first":
            yield _fact(facts[k])
        else:
            yield from _advantage(own, ties, "" if kind == "first" else f" ({kind})", results)


def _fact(row: dict[Any, Any]) -> str:
    """What a fact of comparisons is worth to the first of a pair."""
    name, above = column_label(row["advantage"]), row["above_0"]
    sure = max(above, 1 - above)
    side = "first" if above > 0.5 else "second"
    direction = (
        f"It is {probability_words(sure)} that more {name} favours the {side} of a pair"
        if sure >= CONFIDENT
        else f"Whether more {name} favours the first or the second of a pair cannot be told"
    )
    return (
        f"{direction}: {signed(row['per_sd'])} in quality for one standard deviation of it (95 % "
        f"interval {signed(row['per_sd_q2.5'])} to {signed(row['per_sd_q97.5'])}), "
        f"{true_minus(format(row['median'], '+.3g'))} for one unit."
    )


def _advantage(own: Floats, ties: Floats, kind: str, results: Results) -> Iterator[str]:
    low, middle, high = np.quantile(own, (0.025, 0.5, 0.975))
    first, _, second = (float(each.mean()) for each in answer_probabilities(own, ties))
    above = float((own > 0).mean())
    sure = max(above, 1 - above)
    way = "an advantage" if above > 0.5 else "a disadvantage"
    direction = (
        f"It is {probability_words(sure)} that the first of a pair{kind} has {way}"
        if sure >= CONFIDENT
        else f"Whether the first of a pair{kind} has an advantage cannot be told"
    )
    yield (
        f"{direction}: {signed(middle)} in quality (95 % interval {signed(low)} to {signed(high)})."
    )
    yield (
        f"Of two {results.wording.nouns} of the same quality the first is chosen "
        f"{probability_percent(first)} of the time, and the second {probability_percent(second)}."
    )


# Groups of judges, and waves.


GROUPS_LINK = "Groups of judges"


class DifferenceWords(NamedTuple):
    """What a difference between groups or waves is called, and its two directions."""

    title: str
    higher: str
    lower: str
    several: bool = False
    waves: bool = False
    link: str = GROUPS_LINK
    """The entry of the section in the contents of a report."""

    def for_group(self, group: str) -> DifferenceWords:
        """The words for one of several groups."""
        if not self.several:
            return self
        return self._replace(
            higher=f"“{group}” places it higher", lower=f"“{group}” places it lower"
        )


def difference_words(results: Results) -> DifferenceWords:
    """The words for the differences in these results."""
    names = group_names(results.tree)
    waves, by = (stored_terms(results.tree).get(option) for option in ("waves", "by"))
    link = "What changed" if waves else f"By {by}" if by else GROUPS_LINK
    if len(names) > 2:
        groups = "leaderboards" if by else "groups of judges"
        title = "What changed?" if waves else f"Where do {groups} differ?"
        higher, lower = "this group places it higher", "this group places it lower"
        return DifferenceWords(title, higher, lower, several=True, waves=bool(waves), link=link)
    one, other = names
    if waves:
        title = f"What changed from {one} to {other}?"
        return DifferenceWords(title, "rose", "fell", waves=True, link=link)
    return DifferenceWords(
        f"Where do “{one}” and “{other}” differ?", f"“{other}” places it higher",
        f"“{one}” places it higher", link=link,
    )  # fmt: skip


def group_sentences(results: Results) -> Iterator[str]:
    """How large the differences are, and which of them are surely there."""
    yield from _difference_sizes(results)
    yield from _sure_differences(contrasts(results.tree), results, difference_words(results))


def _difference_sizes(results: Results) -> Iterator[str]:
    """How large differences are beside those between items, and how alike the views are."""
    tree = results.tree
    quality = tree["posterior/quality"].to_numpy()
    spread = float(np.median(quality.std(axis=-1)))
    typical = float(np.median([own.std(axis=-1) for _, _, own in differences(tree)]))
    yield (
        f"A typical difference is {typical:.2f}; {results.wording.nouns} themselves differ by "
        f"{spread:.2f} (standard deviations of quality)."
    )
    contrast = tree["posterior/contrast"]
    if contrast.sizes["group"] == 2:
        one, other = (quality + contrast.isel(group=k).to_numpy() for k in (0, 1))
        ends = np.quantile(_correlation(one, other), (0.025, 0.5, 0.975))
        low, middle, high = (true_minus(f"{value:.2f}") for value in ends)
        yield (
            f"The two views go together with a correlation of {middle} (95 % interval {low} to "
            f"{high})."
        )


def _correlation(one: Floats, other: Floats) -> Floats:
    a = one - one.mean(axis=-1, keepdims=True)
    b = other - other.mean(axis=-1, keepdims=True)
    both = (a * b).sum(axis=-1) / np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
    return np.asarray(both, np.float64)


def _sure_differences(
    table: pd.DataFrame, results: Results, words: DifferenceWords
) -> Iterator[str]:
    """How many differences are surely there, how many of those may be wrong, and which."""
    sure = table[table["real"] >= REAL]
    if sure.empty:
        yield f"For no {results.wording.one} is the direction almost certain (95 % or more)."
        return
    what = "differences" if words.several else results.wording.nouns
    wrong = float((1 - sure["real"]).sum())
    about = "fewer than one" if wrong < 0.95 else f"about {wrong:.0f}"
    yield (
        f"For {len(sure):,} of {len(table):,} {what} the direction is almost certain (95 % or "
        f"more); of these, {about} may be expected to lie the other way."
    )
    if words.several:
        return
    names, away = labels_by_item(results), sure["median"]
    for direction, own in ((words.higher, sure[away > 0]), (words.lower, sure[away < 0])):
        if len(own):
            largest = own.loc[own["median"].abs().sort_values(ascending=False).index]
            some = [str(names[item]) for item in largest["item"]]
            yield f"{capital(direction)}: {sentence_list(some, MOST_NAMES)}."


def labels_by_item(results: Results) -> pd.Series[str]:
    """The label of every item that can stand alone, by the item's id."""
    items = results.items
    labels = standalone_labels(items, results.wording, LONGEST_NAME)
    return labels.set_axis(pd.Index(items["item"]))


# Judges.


def judge_label(name: str) -> str:
    """`judge 12` where the name is but a number."""
    return f"judge {name}" if name.isdecimal() else name


def judge_sentences(results: Results) -> Iterator[str]:
    """How judges, or groups of them, differ in sharpness and in their use of ties."""
    if has_kinds(results.tree):
        yield from kind_sentences(results)
        return
    table = judge_terms(results.tree)
    if "sharpness" in table:
        yield from _sharpness(table)
    if "threshold" in table:
        yield from _thresholds(table, results)


def _sharpness(table: pd.DataFrame) -> Iterator[str]:
    dull, keen = table[table["sharpness_q97.5"] < 1], table[table["sharpness_q2.5"] > 1]
    if dull.empty and keen.empty:
        every = quantity(len(table), "judge")
        yield f"None of {every} is surely sharper or less sharp than a typical one."
    for own, words in ((dull, "less sharp"), (keen, "sharper")):
        if len(own):
            are = "judge is" if len(own) == 1 else "judges are"
            some = sentence_list([judge_label(name) for name in own["judge"]], MOST_NAMES)
            yield (
                f"{len(own):,} of {len(table):,} {are} almost certainly {words} than a typical "
                f"one ({some})."
            )
    low, high = table.iloc[0], table.iloc[-1]
    yield (
        f"Sharpness runs from {low['sharpness']:.2f} ({judge_label(low['judge'])}) to "
        f"{high['sharpness']:.2f} ({judge_label(high['judge'])}): how far apart a judge sees what "
        "a typical one sees 1 apart."
    )


def _thresholds(table: pd.DataFrame, results: Results) -> Iterator[str]:
    order = table.sort_values("says_equal", kind="stable")
    low, high = order.iloc[0], order.iloc[-1]
    # Graded answers without ties: the first cut is that of a choice which is more than weak.
    ties = has_ties(results.tree)
    never = int((table["ties"] == 0).sum()) if ties else 0
    answer = "say “about equal”" if ties else "choose one but weakly"
    yield (
        f"Shown two {results.wording.nouns} of the same quality, {judge_label(low['judge'])} is "
        f"expected to {answer} {probability_percent(low['says_equal'])} of the time, and "
        f"{judge_label(high['judge'])} {probability_percent(high['says_equal'])}."
    )
    if never:
        yield f"{quantity(never, 'judge')} of {len(table):,} never said so."


def map_sentences(results: Results) -> Iterator[str]:
    """How much of the differences follows the map."""
    yield map_share_sentence(results.tree, results.wording.nouns)


SENTENCES: dict[str, Callable[[Results], Iterator[str]]] = {
    "share": map_sentences,
    "coefficient": covariate_sentences,
    "order": order_sentences,
    "contrast": group_sentences,
    "judge": judge_sentences,
}
