"""Predictive checks and reliability in sentences: can these results be believed?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from tiewise.criticism.predictive_checks import Check, results_checks
from tiewise.criticism.verdict_parts import THRESHOLDS, model_part
from tiewise.posterior.reliability import reliability_facts
from tiewise.posterior.results_folder import Results
from tiewise.report.fit_advice import fit_to_try
from tiewise.report.reliability import reliability_sentences
from tiewise.text import sentence_list

UNUSUAL, RARE = THRESHOLDS.unusual, THRESHOLDS.rare
"""p-values below which a check is worth a look, and below which it speaks against the model."""
HIGH, FAIR = THRESHOLDS.reliability, THRESHOLDS.low_reliability


class Finding(NamedTuple):
    """One thing that speaks for the results or against them: `good`, `care` or `stop`."""

    level: str
    title: str
    text: str
    p: float | None = None


class ModelAssessment(NamedTuple):
    """A verdict on the results, and the findings behind it."""

    level: str
    text: str
    findings: tuple[Finding, ...]


def model_assessment(results: Results) -> ModelAssessment | None:
    """Whether the results can be believed, as far as the judgements themselves can tell.

    None where nothing was checked: of a point estimate nothing can be made up.
    """
    if not results_checks(results):
        return None
    checked = [_with_advice(check, results) for check in results_checks(results)]
    unusual = [finding.title.lower() for finding in checked if finding.level == "care"]
    look = f" Worth a look: {sentence_list(unusual)}." if unusual else ""
    part = model_part(results_checks(results), int(results.facts["comparisons"]))
    findings = (reliability_finding(results), *checked)
    return ModelAssessment(part.level, f"{part.text}{look}", findings)


def reliability_finding(results: Results) -> Finding:
    """How much of the differences between items is known: SSR, split halves, which to quote."""
    facts = reliability_facts(results.tree)
    share = facts["ssr"]
    level, meaning = (
        ("good", "That is usually taken to be enough.") if share >= HIGH
        else ("care", "That will do to tell the ends of the list apart, not neighbours on it.")
        if share >= FAIR
        else ("stop", "That is little: more comparisons are needed before places on the list mean "
              "much.")
    )  # fmt: skip
    ssr, *others = reliability_sentences(facts, results.wording.nouns)
    return Finding(level, "Reliability", " ".join([ssr, meaning, *others]))


def _with_advice(check: Check, results: Results) -> Finding:
    """A check in words, and which fit to try where it speaks against the model."""
    finding = check_finding(check, results.wording.nouns)
    advice = fit_to_try(check.key, results.tree) if finding.level == "stop" else ""
    return finding._replace(text=f"{finding.text} {advice}") if advice else finding


def check_finding(check: Check, nouns: str) -> Finding:
    """A predictive check in words."""
    level = "stop" if check.p < RARE else "care" if check.p < UNUSUAL else "good"
    title, text = CHECK_SENTENCES[check.key](check, level == "good", nouns)
    return Finding(level, title, text if level == "good" else f"{text} {odds(check.p)}", check.p)


def odds(p: float) -> str:
    """A p-value as how often it happens."""
    if p >= RARE:
        return (
            f"If the model were right, about {round(100 * p)} of 100 studies would be as far out."
        )
    return "If the model were right, fewer than 1 of 100 studies would be as far out."


def _range(check: Check, digits: int = 0) -> str:
    return f"{check.low:.{digits}f} to {check.high:.{digits}f}"


def _ties(check: Check, good: bool, nouns: str) -> tuple[str, str]:
    if good:
        return "Ties", f"Pairs of {nouns} near and far apart are called equal as often as expected."
    return (
        "Ties by difference",
        f"Ties are not where the model expects them: {_where(check.parts)}.",
    )


def _where(parts: pd.DataFrame | None) -> str:
    """In which piece the given answers are farthest from what is expected, in figures."""
    assert parts is not None
    wide = np.maximum(parts["high"] - parts["low"], 1e-9)
    row = parts.iloc[int((np.abs(parts["observed"] - parts["middle"]) / wide).argmax())]
    return (
        f"of pairs that are {row['part']}, {row['observed']:.0f} % were called equal; "
        f"{row['low']:.0f} to {row['high']:.0f} % expected"
    )


def _judges(check: Check, good: bool, nouns: str) -> tuple[str, str]:
    figures = (
        f"their shares of ties spread by {check.observed:.0f} points (standard deviation), "
        f"{_range(check)} expected"
    )
    if good:
        return "Judges and ties", f"Judges use “about equal” alike: {figures}."
    if check.observed < check.middle:
        return "Judges and ties", f"Judges use “about equal” more alike than expected: {figures}."
    return "Judges differ in ties", (
        f"Judges use “about equal” more differently than chance explains: {figures}. "
        "What is said of ties is about an average of judges."
    )


def _strength(check: Check, good: bool, nouns: str) -> tuple[str, str]:
    figures = f"a mean strength of {check.observed:.2f}, {_range(check, 2)} expected"
    if good:
        return "Strength of choices", (
            f"Of pairs near and far apart, {nouns} are chosen as strongly as expected: {figures}."
        )
    return "Strength of choices", (
        f"Strong choices are not where the model expects them: {figures}. Judges may see the "
        "distances between answers in another way than equal for all pairs."
    )


def _judge_strength(check: Check, good: bool, nouns: str) -> tuple[str, str]:
    figures = (
        f"their mean strengths spread by {check.observed:.2f} (standard deviation), "
        f"{_range(check, 2)} expected"
    )
    if good:
        return "Judges and strength", f"Judges use strong answers alike: {figures}."
    if check.observed < check.middle:
        return (
            "Judges and strength",
            f"Judges use strong answers more alike than expected: {figures}.",
        )
    return "Judges differ in strength", (
        f"Judges use strong answers more differently than chance explains: {figures}."
    )


def _agreement(check: Check, good: bool, nouns: str) -> tuple[str, str]:
    figures = f"{check.observed:.2f} times what chance explains, {_range(check, 2)} expected"
    if good:
        return "Judges agree", f"Judges differ about {nouns} no more than by chance: {figures}."
    if check.observed < check.middle:
        return "Judges agree", f"Judges differ less about {nouns} than expected: {figures}."
    return "Judges disagree", (
        f"Judges disagree about {nouns} more than by chance: {figures}. "
        "The estimates are an average of views that not all judges share."
    )


def _triads(check: Check, good: bool, nouns: str) -> tuple[str, str]:
    figures = f"{check.observed:.1f} % of triads, {_range(check, 1)} % expected"
    if good:
        return (
            "Circles",
            f"One scale is enough: circles (A over B over C over A) make up {figures}.",
        )
    if check.observed < check.middle:
        return (
            "Few circles",
            f"Answers are more consistent than expected: circles make up {figures}.",
        )
    return "Many circles", (
        f"Answers go in circles (A over B over C over A) more than one scale explains: {figures}. "
        "Judges may weigh several things."
    )


def _order(check: Check, good: bool, nouns: str) -> tuple[str, str]:
    figures = f"chosen in {check.observed:.1f} % of decided answers, {_range(check, 1)} % expected"
    if good:
        return "Left and right", f"The side does not matter: the one on the left was {figures}."
    side = "left" if check.observed > check.middle else "right"
    return "Left and right", f"Judges lean to the {side}: the one on the left was {figures}."


def _wins(check: Check, good: bool, nouns: str) -> tuple[str, str]:
    if good:
        return "Wins", f"All {nouns} win about as often as their estimates say."
    return "Wins", (
        f"Some {nouns} win more or less often than their estimates say: the prior may hold them "
        "too close together, or to their neighbours."
    )


CHECK_SENTENCES = {
    "ties": _ties, "judges": _judges, "strength": _strength, "judge_strength": _judge_strength,
    "agreement": _agreement, "triads": _triads, "order": _order,
    "wins": _wins,
}  # fmt: skip


def finding_lines(findings: Sequence[Finding]) -> list[str]:
    """Findings as lines for a terminal."""
    marks = {"good": "ok  ", "care": "look", "stop": "miss"}
    return [f"{marks[finding.level]}  {finding.title}: {finding.text}" for finding in findings]
