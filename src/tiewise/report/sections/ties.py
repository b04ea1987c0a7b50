"""How often judges said “about equal”, and what the tie threshold makes of that."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from tiewise.posterior.phrases import no_threshold
from tiewise.posterior.results_folder import Results
from tiewise.posterior.summaries import tie_curve
from tiewise.report.section import Paragraphs, PictureRow, Section
from tiewise.text import probability_percent


def tie_section(results: Results) -> Section:
    """How judges used ties."""
    blocks = (Paragraphs(_tie_sentences(results)), PictureRow(("tie-curve", "parameters")))
    return Section("ties", "Ties", "How judges used ties", blocks)


def _tie_sentences(results: Results) -> list[str]:
    tie = results.parameters.loc["tie"]
    if not tie["mean"] > 0:
        return [no_threshold(results)]
    low, middle, high = (np.tanh(tie[key] / 2) for key in ("q2.5", "median", "q97.5"))
    interval = f" (95 % interval {probability_percent(low)} to {probability_percent(high)})"
    between_equals = (
        f"Shown two {results.wording.nouns} of the same quality, a judge is expected to say so "
        f"{probability_percent(middle)} of the time{interval if high > low else ''}."
    )
    return [_tie_share(results), between_equals, *_half_way(results)]


def _tie_share(results: Results) -> str:
    facts = results.facts
    if not facts["ties"]:
        return "Nobody said “about equal”."
    share = probability_percent(facts["ties"] / max(facts["comparisons"], 1))
    return (
        f"Judges said “about equal” in {facts['ties']:,} of {facts['comparisons']:,} answers "
        f"({share})."
    )


def _half_way(results: Results) -> list[str]:
    """At which difference ties are half as frequent as between equals."""
    gaps = np.linspace(0, 20, 801)

    def tie_probability(gap: float) -> float:
        return float(tie_curve(results.tree, [gap])["median"][0])

    half = tie_probability(0.0) / 2
    # It falls with the difference.
    halved = bisect_left(gaps, True, key=lambda gap: tie_probability(gap) <= half)
    if halved == len(gaps):
        return []
    return [
        "The further apart two qualities are, the fewer ties: at a difference of "
        f"{gaps[halved]:.1f} the chance is half of that."
    ]
