"""The answer to the study's question in sentences, no stronger than the posterior."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from tiewise.criticism.claim import CONFIDENT
from tiewise.criticism.verdict import Verdict, results_verdict
from tiewise.data.counts import Counts
from tiewise.posterior.bands.sentences import band_sentences
from tiewise.posterior.phrases import standalone_labels, top_phrase
from tiewise.posterior.results_folder import Results, Wording
from tiewise.text import (
    PROBABILITY_SCALE,
    capital,
    isolate,
    probability_percent,
    probability_words,
    quantity,
    sentence_list,
)

FEWEST_NAMED, MOST_NAMED, WORTH_NAMING = 5, 10, 0.20
LONGEST_NAME = 48  # letters of a name in a sentence


class MainAnswer(NamedTuple):
    """The answer to the study's question, and how the rest stands to the average."""

    first: str
    rest: tuple[str, ...]


def main_answer(results: Results) -> MainAnswer:
    """Which items are among the highest, how surely, and how much can be told at all."""
    table, wording = results.items, results.wording
    if len(table) == 1:
        only = f"There is only one {wording.one}, so there is nothing to compare it with."
        return MainAnswer(only, tuple(_uncompared(results)))
    unmeasured = (*_uncompared(results), *_separate_sets(results))
    verdict = results_verdict(results)
    if not verdict.headline:
        return MainAnswer(_withheld(verdict, wording), (_way_out(verdict), *unmeasured))
    apart = (_against_average(table, wording), *_told_apart(results))
    return MainAnswer(_highest(table, wording), (*apart, *unmeasured))


def top_items(results: Results) -> pd.DataFrame:
    """The five to ten highest, everybody named among them; none without a headline."""
    if not results_verdict(results).headline:
        return results.items.head(0)
    probability = results.items["top_k_probability"].fillna(0.0)
    last = max((k + 1 for k, one in enumerate(probability) if one >= CONFIDENT), default=0)
    worth = int((probability >= WORTH_NAMING).sum())
    count = min(max(worth, last, FEWEST_NAMED), MOST_NAMED)
    return results.items.head(count)


def sentence_start(sentence: str, wording: Wording) -> str:
    """A sentence may begin with `Ward 12`; a name keeps its own letters."""
    return capital(sentence) if sentence.startswith(f"{wording.one} ") else sentence


def fitted_counts(results: Results) -> Counts:
    """The counts that were fitted, from the posterior's own record of them."""
    observed = results.tree["observed_data"]
    columns = ("first", "second", "wins_first", "wins_second", "ties")
    items = results.tree["constant_data"]["item"].to_numpy().astype(str)
    return Counts.of(list(items), *(observed[name].to_numpy() for name in columns))


def _withheld(verdict: Verdict, wording: Wording) -> str:
    """That nothing is claimed."""
    which = f"{'is' if wording.top == 1 else 'are'} {top_phrase(wording)}"
    if verdict.answers.level == "stop":
        return f"The answers so far do not say which {which}."
    return f"It cannot be said yet which {which}."


def _way_out(verdict: Verdict) -> str:
    if verdict.answers.level == "stop":
        return "More comparisons are needed, by several judges, above all of pairs that had none."
    return "Fit again, with an exact engine and more draws."


def _highest(table: pd.DataFrame, wording: Wording) -> str:
    """Which items are among the highest, by the word of the scale that each deserves."""
    probability, names = table["top_k_probability"], _sentence_names(table, wording)
    if probability.isna().all():
        leading = sentence_list(list(names.head(wording.top)))
        return f"The estimate is highest for {leading}; how likely that is was not computed."
    if wording.top >= len(table):
        return (
            f"All {len(table)} {wording.nouns} are among the top {wording.top}: that says nothing."
        )
    clauses: list[str] = []
    for least, words in PROBABILITY_SCALE:
        named = list(names[probability.map(probability_words) == words])
        if least >= CONFIDENT and named:
            verb = "is" if len(named) == 1 else "are"
            among = f" to be {'among ' if wording.top > 1 else ''}{top_phrase(wording)}"
            clauses.append(f"{sentence_list(named)} {verb} {words}{'' if clauses else among}")
    if not clauses:
        return _none_confident(names, probability, wording)
    return f"{sentence_start('; '.join(clauses), wording)}."


def _sentence_names(table: pd.DataFrame, wording: Wording) -> pd.Series[str]:
    """Names for running text: short, isolated from what surrounds them, marked if uncompared."""
    names = standalone_labels(table, wording, LONGEST_NAME).map(isolate)
    return names.where(table["comparisons"] > 0, names + " (never compared)")


def _none_confident(names: pd.Series[str], probability: pd.Series[float], wording: Wording) -> str:
    most = probability.sort_values(ascending=False, kind="stable").index[:3]
    nearest = [f"{names[k]} at {probability_percent(probability[k])}" for k in most]
    return (
        f"No {wording.one} can be named with confidence as {'one of ' if wording.top > 1 else ''}"
        f"{top_phrase(wording)}. The nearest to it are {sentence_list(nearest)}."
    )


def _against_average(table: pd.DataFrame, wording: Wording) -> str:
    """How many of those compared lie with their whole 95 % interval on one side of the average."""
    compared = table[table["comparisons"] > 0]
    above, below = int((compared["q2.5"] > 0).sum()), int((compared["q97.5"] < 0).sum())
    rest = len(compared) - above - below
    every = quantity(len(compared), wording.one, wording.nouns)
    every += " that were compared" if len(compared) < len(table) else ""
    if rest == len(compared):
        return f"None of the {every} can be told from the average."
    sides = (
        f"Of {every}, {_count_are(above)} almost certainly above the average ({wording.higher}) "
        f"and {_count_are(below)} almost certainly below it ({wording.lower})"
    )
    return sides + (f"; the other {rest:,} cannot be told from it." if rest else ".")


def _told_apart(results: Results) -> list[str]:
    """Bands of the list, as one paragraph."""
    return [" ".join(sentences)] if (sentences := band_sentences(results)) else []


def _count_are(count: int) -> str:
    return {0: "none is", 1: "1 is"}.get(count, f"{count:,} are")


def _uncompared(results: Results) -> list[str]:
    table, wording = results.items, results.wording
    uncompared = table["comparisons"] == 0
    count = int(uncompared.sum())
    if not count:
        return []
    names = standalone_labels(table, wording, LONGEST_NAME).map(isolate)
    were, them = ("was", "it") if count == 1 else ("were", "them")
    return [
        f"{quantity(count, wording.one, wording.nouns)} "
        f"({sentence_list(list(names[uncompared]), 5)}) "
        f"{were} never compared; what is shown for {them} is no measurement."
    ]


def _separate_sets(results: Results) -> list[str]:
    """Sets of items with no comparison between them stand to each other as the prior has it."""
    count = sum(len(part) > 1 for part in fitted_counts(results).components())
    if count < 2:
        return []
    return [
        f"The answers fall into {count} sets of {results.wording.nouns} that were never compared "
        "with each other; how one set stands to another is no measurement."
    ]
