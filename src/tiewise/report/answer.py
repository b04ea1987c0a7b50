"""What may be said of a posterior in plain words, and no more than that."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import floor
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tiewise.data.counts import Counts
from tiewise.posterior.warnings import ENOUGH_DRAWS, MIXED
from tiewise.report.folder import About, Results

SCALE = (
    (0.95, "almost certain"),
    (0.80, "very likely"),
    (0.60, "likely"),
    (0.40, "about as likely as not"),
    (0.20, "unlikely"),
    (0.05, "very unlikely"),
    (0.00, "almost ruled out"),
)
"""The words of a probability, each from its own number up to the next."""

NEARLY_MIXED = 1.05
SPOKEN = 0.60  # below this an item is not named as one of the highest
FEWEST_NAMED, MOST_NAMED, WORTH_NAMING = 5, 10, 0.20
LONGEST = 48  # letters of a name in a sentence
TURNING = {"R", "AL", "AN", "RLE", "RLO", "LRE", "LRO", "RLI", "LRI", "FSI"}  # of Unicode

SUPERLATIVES = {
    "higher": "highest", "greater": "greatest", "larger": "largest", "bigger": "biggest",
    "lower": "lowest", "smaller": "smallest", "better": "best", "worse": "worst",
    "stronger": "strongest", "weaker": "weakest",
}  # fmt: skip
"""Comparatives that stand before a noun: `higher risk` makes `the highest risk`."""


# Small words.


def chance_words(chance: float) -> str:
    """The word of `SCALE` for a probability."""
    return next((words for least, words in SCALE if chance >= least), "not computed")


def scale_rows() -> list[tuple[str, str]]:
    """Every word of the scale with its range, for the foot of a page."""
    ends = [round(100 * least) for least, _ in SCALE]
    spans = [f"{low} to {high - 1} %" for high, low in pairwise(ends[:-1])]
    spans = [f"{ends[0]} % or more", *spans, f"below {ends[-2]} %"]
    return [(words, span) for (_, words), span in zip(SCALE, spans, strict=True)]


def percent(chance: float) -> str:
    """A probability as a person reads it: never 0, never certainty, and as its word has it."""
    if np.isnan(chance):
        return "–"
    if chance < 0.01:
        return "below 1 %"
    if chance > 0.99:
        return "above 99 %"
    near = round(100 * chance)
    # 94.6 % is not yet almost certain, and must not look as if it were.
    return f"{near if chance_words(near / 100) == chance_words(chance) else floor(100 * chance)} %"


def number(count: int, one: str, many: str | None = None) -> str:
    """`1 ward`, `1,204 wards`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int = 10) -> str:
    """`A`, `A and B`, `A, B and C`; of very many some, and how many more."""
    shown = list(names[:most])
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most:,} more"
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def one_line(text: str, most: int | None = None) -> str:
    """Text on one line and without control characters, cut short where it is too long."""
    line = " ".join(text.split())
    plain = "".join(sign for sign in line if unicodedata.category(sign) not in ("Cc", "Cs"))
    return plain if most is None or len(plain) <= most else plain[: most - 1].rstrip() + "…"


def labels(table: pd.DataFrame, most: int | None = None) -> pd.Series[str]:
    """Names, with the id behind those that several items share; cut to `most` letters."""
    names = table["name"].map(lambda name: one_line(name, most))
    twice = names.duplicated(keep=False)
    return names.where(~twice, names + " (" + table["item"].map(lambda i: one_line(i, most)) + ")")


def called(table: pd.DataFrame, about: About, most: int | None = None) -> pd.Series[str]:
    """Labels that can stand alone: `ward 12` where the name is but a number."""
    names = labels(table, most)
    return names.where(~names.str.fullmatch(r"[\d\W]+"), f"{about.one} " + names)


def _in_a_sentence(table: pd.DataFrame, about: About) -> pd.Series[str]:
    """Names for running text: short, kept apart from what surrounds them, marked if never seen."""
    names = called(table, about, LONGEST).map(_isolated)
    return names.where(table["comparisons"] > 0, names + " (never compared)")


def _isolated(name: str) -> str:
    """A name that runs from right to left must not turn the numbers behind it around."""
    turned = any(unicodedata.bidirectional(sign) in TURNING for sign in name)
    return f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}" if turned else name


def borrowed(results: Results) -> str:
    """What to write beside an item that nobody compared."""
    prior = results.facts["model"].get("quality", "")
    if prior.startswith("network"):
        return "not compared: estimate borrowed from its neighbours"
    if prior.startswith(("distance", "covariance", "precision")):
        return f"not compared: estimate borrowed from {results.about.nouns} believed to be like it"
    return "not compared: nothing is known of it"


# The answer.


class Answer(NamedTuple):
    """The answer to the study's question, and how the rest stands to the average."""

    first: str
    then: tuple[str, ...]


def answer(results: Results) -> Answer:
    """The answer first: who is how surely among the highest, and how much can be told at all."""
    table, about = results.items, results.about
    if len(table) == 1:
        only = f"There is only one {about.one}, so there is nothing to compare it with."
        return Answer(only, tuple(_unseen(results)))
    rest = (_apart_from_average(table, about), *_unseen(results), *_sets_apart(results))
    return Answer(_highest(table, about), rest)


def ranked(results: Results) -> bool:
    """Whether the chance of the top k says something: computed, and not of everybody."""
    table = results.items
    return results.about.top < len(table) and bool(table["top_k_probability"].notna().any())


def _highest(table: pd.DataFrame, about: About) -> str:
    """Who is among the highest, by the word of the scale that each deserves."""
    table = table.loc[_by_chance(table["top_k_probability"])]
    chance, names = table["top_k_probability"], _in_a_sentence(table, about)
    if chance.isna().all():
        leading = listed(list(names.head(about.top)))
        return f"The estimate is highest for {leading}; how likely that is was not computed."
    if about.top >= len(table):
        return f"All {len(table)} {about.nouns} are among the top {about.top}: that says nothing."
    said: list[str] = []
    for least, words in SCALE:
        named = list(names[chance.map(chance_words) == words])
        if least >= SPOKEN and named:
            verb = "is" if len(named) == 1 else "are"
            what = "" if said else f" to be {'among ' if about.top > 1 else ''}{the_highest(about)}"
            said.append(f"{listed(named)} {verb} {words}{what}")
    return f"{begun('; '.join(said), about)}." if said else _nobody(names, chance, about)


def begun(sentence: str, about: About) -> str:
    """A sentence may begin with `Ward 12`; a name keeps its own letters."""
    ours = sentence.startswith(f"{about.one} ")
    return sentence[:1].upper() + sentence[1:] if ours else sentence


def _by_chance(chance: pd.Series[float]) -> pd.Index[int]:
    """The best chance first; among equals the order of the table."""
    return chance.sort_values(ascending=False, kind="stable").index


def _nobody(names: pd.Series[str], chance: pd.Series[float], about: About) -> str:
    leading = [f"{names[k]} at {percent(chance[k])}" for k in chance.index[:3]]
    return (
        f"No {about.one} can be named with confidence as {'one of ' if about.top > 1 else ''}"
        f"{the_highest(about)}. The nearest to it are {listed(leading)}."
    )


def the_highest(about: About) -> str:
    """`the 5 wards with the highest risk`; of words it cannot bend, `the top 5 wards (richer)`."""
    first, _, noun = about.higher.partition(" ")
    many = "" if about.top == 1 else f"{about.top} "
    what = about.one if about.top == 1 else about.nouns
    if noun and first.lower() in SUPERLATIVES:
        return f"the {many}{what} with the {SUPERLATIVES[first.lower()]} {noun}"
    return f"the top {many}{what} ({about.higher})"


def _apart_from_average(table: pd.DataFrame, about: About) -> str:
    """How many stand apart from the average, with the whole 95 % interval, of those compared."""
    seen = table[table["comparisons"] > 0]
    above, below = int((seen["q2.5"] > 0).sum()), int((seen["q97.5"] < 0).sum())
    rest = len(seen) - above - below
    every = number(len(seen), about.one, about.nouns)
    every += " that were compared" if len(seen) < len(table) else ""
    if rest == len(seen):
        return f"None of the {every} can be told from the average."
    said = (
        f"Of {every}, {_are(above)} almost certainly above the average ({about.higher}) "
        f"and {_are(below)} almost certainly below it ({about.lower})"
    )
    return said + (f"; the other {rest:,} cannot be told from it." if rest else ".")


def _are(count: int) -> str:
    return {0: "none is", 1: "1 is"}.get(count, f"{count:,} are")


def _unseen(results: Results) -> list[str]:
    table, about = results.items, results.about
    silent = table["comparisons"] == 0
    count, names = int(silent.sum()), called(table, about, LONGEST).map(_isolated)
    if not count:
        return []
    were, them = ("was", "it") if count == 1 else ("were", "them")
    return [
        f"{number(count, about.one, about.nouns)} ({listed(list(names[silent]), 5)}) {were} "
        f"never compared; what is shown for {them} is no measurement."
    ]


def _sets_apart(results: Results) -> list[str]:
    """Sets of items with no comparison between them stand to each other as the prior has it."""
    seen = results.tree["observed_data"]
    columns = ("first", "second", "wins_first", "wins_second", "ties")
    items = results.tree["constant_data"]["item"].to_numpy().astype(str)
    parts = Counts.of(list(items), *(seen[name].to_numpy() for name in columns)).components()
    count, about = sum(len(part) > 1 for part in parts), results.about
    if count < 2:
        return []
    return [
        f"The answers fall into {count} sets of {about.nouns} that were never compared with each "
        "other; how one set stands to another is no measurement."
    ]


def standing_out(results: Results) -> pd.DataFrame:
    """The five to ten items to name: those with the best chance to be among the highest."""
    table = results.items
    chance = table["top_k_probability"].fillna(0.0)
    shown = min(max(int((chance >= WORTH_NAMING).sum()), FEWEST_NAMED), MOST_NAMED)
    return table.loc[_by_chance(chance)[:shown]]


# How far to trust it.


class Verdict(NamedTuple):
    """How far the computation can be trusted: `good`, `care` or `stop`, why, and what to do."""

    level: str
    says: str
    reasons: tuple[str, ...]


def verdict(facts: Mapping[str, Any]) -> Verdict:
    """A word on the computation that a person can act on; cautions about the data stand apart."""
    if facts["kind"] == "point":
        return Verdict(
            "care", "A point estimate: standard errors, but no posterior.",
            ("Use an exact engine (the default) before anything is decided.",),
        )  # fmt: skip
    if facts["kind"] == "approximate":
        return _approximate(facts["engine_facts"])
    rhat, ess = (np.nan if facts[key] is None else facts[key] for key in ("rhat_max", "ess_min"))
    story = "tell the same story" if rhat <= MIXED else "do not tell the same story yet"
    measured = (
        f"Chains that began far apart {story}: largest R-hat {_known(rhat, 3)}, "
        f"wanted below {MIXED}.",
        f"The draws are worth at least {_known(ess)} independent ones; {ENOUGH_DRAWS} would do.",
    )
    if rhat <= MIXED and ess >= ENOUGH_DRAWS:
        return Verdict("good", "The computation can be trusted.", measured)
    if rhat <= NEARLY_MIXED:
        says = "Nearly there: fit again with more draws (--draws) before deciding."
        return Verdict("care", says, measured)
    says = "Do not use these numbers: fit again with more draws (--draws)."
    return Verdict("stop", says, measured)


def _approximate(told: Mapping[str, Any]) -> Verdict:
    health, k_hat = told.get("health", "unknown"), told.get("k_hat", np.nan)
    level = "stop" if health == "poor" else "care"
    return Verdict(
        level, "A quick approximation: good for a first look.",
        (f"Its fit to the posterior is {health} (Pareto k-hat {_known(k_hat, 2)}).",
         "Use an exact engine (the default) before anything is decided."),
    )  # fmt: skip


def _known(value: float, places: int = 0) -> str:
    return f"{value:.{places}f}" if np.isfinite(value) else "unknown"


def beware(facts: Mapping[str, Any]) -> str:
    """What somebody who did not make the fit must know before reading on; else nothing."""
    level = verdict(facts).level
    if facts["kind"] == "point":
        return "Preliminary: single estimates. How likely any order is has not been worked out."
    if facts["kind"] == "approximate":
        poor = ", which fits poorly here" if level == "stop" else ""
        return f"Preliminary: a quick approximation{poor}. Not to be decided upon."
    return {
        "good": "",
        "care": "Preliminary: the computation has nearly settled. Figures may still move a little.",
        "stop": "Do not use: the computation has not settled. Figures may be wrong.",
    }[level]


# What was done, and what it does not say.


def limits(results: Results) -> list[str]:
    """What the results do not say."""
    about, facts = results.about, results.facts
    judges = number(facts["judges"], "judge") if facts["judges"] else "the judges"
    said = [
        f"These are opinions: they say how {judges} saw these {about.nouns}, "
        "not what was counted there.",
        f"They are relative: each {about.one} is set against the average of these {about.nouns}, "
        "and nothing here says whether that average is high or low.",
        f"They are uncertain: {about.nouns} whose intervals overlap may stand the other way round.",
    ]
    if results.areas is None:
        return said
    whole = f"They are about whole {about.nouns}, and say nothing of any street or person there."
    return [*said, whole]


def what_was_done(results: Results) -> list[str]:
    """The study and its analysis in three sentences."""
    facts, about = results.facts, results.about
    judges = number(facts["judges"], "judge") if facts["judges"] else "Judges"
    were = "was" if facts["judges"] == 1 else "were"
    ties = f", {facts['ties']:,} of them “about equal”" if facts["ties"] else ""
    model = facts["model"]
    alike = (
        f", taking neighbouring {about.nouns} to be alike unless the answers say otherwise"
        if model.get("quality", "").startswith("network")
        else ""
    )
    kind = "Bradley–Terry" + ("" if model.get("tie") == "no ties" else " with ties")
    return [
        f"{judges} {were} shown pairs of {about.nouns} and asked: {about.question}",
        f"They gave {number(facts['comparisons'], 'answer')} about "
        f"{number(facts['items'], about.one, about.nouns)}{ties}.",
        f"A statistical model ({kind}) turned the answers into one scale, "
        f"with a measure of how sure it is{alike}.",
    ]
