"""How often judges gave each answer, and what the tie threshold and other cuts make of that."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from tiewise.posterior.judgement_record import grade_counts
from tiewise.posterior.phrases import STRENGTHS, no_threshold
from tiewise.posterior.results_folder import Results
from tiewise.posterior.scales.display_scale import shown_scores
from tiewise.posterior.scales.scale import scored
from tiewise.posterior.summaries import tie_curve
from tiewise.report.section import Paragraphs, PictureRow, Section
from tiewise.text import probability_percent, sentence_list


def tie_section(results: Results) -> Section:
    """How judges used ties, or graded answers."""
    pictures = PictureRow(("tie-curve", "parameters"))
    if "cut" not in results.tree["posterior"]:
        blocks = (Paragraphs(_tie_sentences(results)), pictures)
        return Section("ties", "Ties", "How judges used ties", blocks)
    sentences = Paragraphs([*_grade_sentences(results), *_ties_of_grades(results)])
    return Section("ties", "Answers", "How judges used the answers", (sentences, pictures))


def _grade_sentences(results: Results) -> list[str]:
    """How often each strength was used, and how far apart two have to be for it."""
    counts = grade_counts(results.tree).sum(axis=1)
    levels, total = len(counts) // 2, max(int(counts.sum()), 1)
    used = [
        f"“{word}” in {number:,} ({probability_percent(number / total)})"
        for word, number in zip(
            STRENGTHS[levels], counts[levels + 1 :] + counts[:levels][::-1], strict=True
        )
    ]
    cut = results.parameters.loc[f"cut: {levels}"]
    strongest = STRENGTHS[levels][-1]
    scale = shown_scores(results).scale
    values = np.asarray(cut[["q2.5", "median", "q97.5"]], float).tolist()
    low, middle, high = map(scale.gap_text, values)
    low, high = low.split()[0], high.split()[0]
    interval = f" (95 % interval {low} to {high})" if cut["sd"] > 0 else ""
    return [
        f"Of {total:,} answers, judges chose an item {sentence_list(used)}, whichever of the two "
        "it was.",
        f"Where two differ by {middle}{interval}, the higher one is called “{strongest}” half of "
        "the time.",
    ]


def _ties_of_grades(results: Results) -> list[str]:
    """Sentences about ties where answers are graded."""
    if results.parameters.loc["tie"]["mean"] > 0:
        return _tie_sentences(results)
    return ["“About equal” has no part in this model: nobody said so, or nobody could."]


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
    scale = shown_scores(results).scale
    gap = scale.gap_text(gaps[halved]) if scored(scale) else f"{gaps[halved]:.1f}"
    return [
        "The further apart two qualities are, the fewer ties: at a difference of "
        f"{gap} the chance is half of that."
    ]
