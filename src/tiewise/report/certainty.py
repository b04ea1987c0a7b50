"""The longer passages of the report: how sure, how ties were used, what was compared."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tiewise.data.counts import Counts
from tiewise.posterior.summaries import tie_curve
from tiewise.report.answer import LONGEST, labels, listed, number, percent
from tiewise.report.folder import Results


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign; a real minus, and none before zero."""
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text[1:] if float(f"{value:.{digits}f}") == 0 else text


def capital(words: str) -> str:
    """Words that begin a line; letters after the first stay as they are."""
    return words[:1].upper() + words[1:]


PRIORS = {
    "independent": "Σ is the identity: each item on its own",
    "network": "Σ = D^−½ e^A D^−½, with A who borders whom and D the diagonal of e^A",
    "distance": "Σ falls with the distance between centroids",
    "covariance": "Σ as it was given",
    "precision": "Σ is the inverse of the matrix that was given",
}
NUMBERS = {
    "variance": {
        "inverse-gamma": "shape and scale", "half-normal": "scale; α, not α², is half-normal",
        "fixed": "held at this value",
    },
    "tie": {
        "exponential": "rate", "gamma": "shape and rate", "half-normal": "scale",
        "uniform": "from and to", "fixed": "held at this value",
        "no ties": "δ = 0, tied answers left out",
    },
}  # fmt: skip
"""What the numbers of a prior are, by the name it is spoken with."""


def priors(model: Mapping[str, str]) -> list[tuple[str, str]]:
    """The priors in the words of the command, and what these mean."""
    quality = next(
        (words for name, words in PRIORS.items() if model["quality"].startswith(name)), ""
    )
    told = [("Qualities, Σ", model["quality"], quality)]
    for key, label in (("variance", "Variance, α²"), ("tie", "Tie threshold, δ")):
        told.append((label, model[key], NUMBERS[key].get(model[key].split("(")[0], "")))
    told += [("Term", said, "") for said in model.get("terms", "").split("; ") if said]
    return [(label, f"{said} ({means})" if means else said) for label, said, means in told]


def sureness(results: Results) -> list[str]:
    """What an interval means, how wide they are, and how sure places in the list are."""
    about, table = results.about, results.items
    if results.facts["kind"] == "point":
        meaning = (
            "The 95 % interval is the estimate plus and minus 1.96 standard errors. Where the "
            "model is right, about 95 of 100 intervals made this way hold the true value."
        )
    else:
        meaning = (
            f"Given the answers and the model, the quality of each {about.one} lies inside its "
            "95 % interval with a chance of 95 %."
        )
    return [meaning, *_widths(results), *_places(table, about.nouns)]


def _widths(results: Results) -> list[str]:
    about, table = results.about, results.items
    width = (table["q97.5"] - table["q2.5"]).where(np.isfinite(table["sd"]))
    if width.isna().any() or len(width) < 2:
        return []

    if f"{width.min():.2f}" == f"{width.max():.2f}":
        return [f"Every interval is {width.min():.2f} wide."]

    def of(k: int) -> str:
        told = int(table["comparisons"][k])
        seen = f"compared {number(told, 'time')}" if told else "never compared"
        return f"{labels(table, LONGEST)[k]} ({width[k]:.2f}, {seen})"

    return [
        f"A typical interval is {width.median():.2f} wide. The narrowest is that of "
        f"{of(int(width.argmin()))}, the widest that of {of(int(width.argmax()))}.",
        f"Where the intervals of two {about.nouns} overlap a good deal, "
        "the answers do not settle which of them is higher.",
    ]


def _places(table: pd.DataFrame, nouns: str) -> list[str]:
    span = table["rank_q97.5"] - table["rank_q2.5"] + 1
    if span.isna().any() or len(table) < 3:
        return []
    return [
        f"Places in the list are less certain than they look: for half of the {nouns} the 95 % "
        f"interval of the rank takes in {int(span.median())} or more of {len(table)} places."
    ]


def tie_words(results: Results, parameters: pd.DataFrame) -> list[str]:
    """How often judges called it about equal, and what the threshold makes of that."""
    facts, tie = results.facts, parameters.loc["tie"]
    share = percent(facts["ties"] / max(facts["comparisons"], 1))
    said = f"Judges said “about equal” in {facts['ties']:,} of {facts['comparisons']:,} answers"
    seen = f"{said} ({share})." if facts["ties"] else "Nobody said “about equal”."
    if not tie["mean"] > 0:
        return [seen, "This model has no ties: every answer in it chooses one of the two."]
    low, middle, high = (np.tanh(tie[key] / 2) for key in ("q2.5", "median", "q97.5"))
    sure = f" (95 % interval {percent(low)} to {percent(high)})" if high > low else ""
    words = (
        f"Shown two {results.about.nouns} of the same quality, a judge is expected to say so "
        f"{percent(middle)} of the time{sure}."
    )
    return [seen, words, *_fading(results)]


def _fading(results: Results) -> list[str]:
    curve = tie_curve(results.tree, np.linspace(0, 20, 801))
    gone = curve["median"] <= curve["median"].iloc[0] / 2
    if not gone.any():
        return []
    return [
        "The further apart two qualities are, the fewer ties: at a difference of "
        f"{curve['gap'][gone].iloc[0]:.1f} the chance is half of that."
    ]


def counts_of(results: Results) -> Counts:
    """The counts that were fitted, from the posterior's own record of them."""
    observed = {str(k): v.to_numpy() for k, v in results.tree["observed_data"].data_vars.items()}
    items = tuple(results.tree["constant_data/item"].to_numpy().astype(str))
    names = ("first", "second", "wins_first", "wins_second", "ties")
    return Counts.of(items, *(observed[name] for name in names))


def coverage(results: Results) -> list[tuple[str, str]]:
    """Numbers of answers, judges and pairs, and who was compared how often."""
    facts, about, table = results.facts, results.about, results.items
    told, counts = table["comparisons"], counts_of(results)
    size = len(table)
    pairs, possible = (
        len(set(zip(counts.first, counts.second, strict=True))),
        size * (size - 1) // 2,
    )
    few = table[told == told.min()]
    joined = [part for part in counts.components() if len(part) > 1]
    return [
        (capital(about.nouns), f"{size:,}"),
        ("Comparisons", f"{facts['comparisons']:,}"),
        ("Judges", f"{facts['judges']:,}" if facts["judges"] else "not named in the data"),
        ("Said “about equal”", _share(facts["ties"], facts["comparisons"])),
        ("Skipped pairs", f"{facts['skips']:,}; they have no part in the estimates"),
        ("Pairs compared", f"{_share(pairs, possible)} of {number(possible, 'possible one')}"),
        (
            f"Comparisons of each {about.one}",
            f"fewest {told.min():,}, median {told.median():g}, most {told.max():,}",
        ),
        ("Compared least", f"{listed(list(labels(few, LONGEST)), 5)} ({_times(int(told.min()))})"),
        (
            "Sets joined by comparisons",
            "one: all that were compared hang together" if len(joined) == 1 else f"{len(joined)}",
        ),
    ]


def _share(part: int, whole: int) -> str:
    if not part or not whole:
        return f"{part:,}"
    # Of a count all can be all; `percent` is for chances, which never are certain.
    return f"{part:,} ({'100 %' if part == whole else percent(part / whole)})"


def _times(count: int) -> str:
    return f"{number(count, 'time')}" if count else "never"
