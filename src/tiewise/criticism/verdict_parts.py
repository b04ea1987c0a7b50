"""The three parts of a verdict: computation, answers, model; and every limit they go by."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from xarray import DataTree

from tiewise.criticism.claim import CONFIDENT, Claim
from tiewise.criticism.predictive_checks import Check
from tiewise.data.counts import Counts
from tiewise.posterior.warnings import ENOUGH_DRAWS, MAX_RHAT
from tiewise.text import capital, percent, quantity, sentence_list


@dataclass(frozen=True)
class VerdictThresholds:
    """Every limit that the verdict goes by; docs/verdict.md has the same table."""

    rhat: float = MAX_RHAT
    nearly_mixed_rhat: float = 1.05
    draws: float = ENOUGH_DRAWS
    fewest_draws: float = 100
    reliability: float = 0.8
    low_reliability: float = 0.5
    comparisons_per_item: float = 1
    named: float = CONFIDENT
    prior_share: float = 0.7
    anchor_share: float = 0.7
    prior_sensitivity: float = 0.05
    checked_answers: float = 30
    rare: float = 0.01
    unusual: float = 0.05


THRESHOLDS = VerdictThresholds()
CANNOT_SAY = {
    "ties": "Every answer is a tie, so nothing is known about differences.",
    "semiorder": "No answer stands against another, so differences could be of any size.",
    "order": "No answer stands against another, so differences could be of any size.",
}
"""Why answers that contradict nothing say little, by the `cannot_say` of a fit."""
CHECKED = {
    "ties": "which pairs are called equal", "judges": "how judges use “about equal”",
    "strength": "how strongly items are chosen",
    "judge_strength": "how differently judges use strong answers",
    "agreement": "how far judges disagree", "triads": "circles (A over B over C over A)",
    "order": "the side an item is shown on", "wins": "how often items win",
}  # fmt: skip


class VerdictPart(NamedTuple):
    """One of the three questions: `good`, `care` or `stop`, in a sentence, with its reasons."""

    level: str
    text: str
    reasons: tuple[str, ...] = ()


# Is the computation sound?


def computation_part(attrs: Mapping[Any, Any]) -> VerdictPart:
    """Whether the computation is sound, from the attributes of a fit."""
    if attrs["kind"] == "point":
        text = "Single estimates: how likely any order is was not worked out."
        return VerdictPart("care", text, ("An exact engine (the default) works it out.",))
    if attrs["kind"] == "approximate":
        return _approximation(str(attrs.get("engine_health", "")), attrs.get("engine_k_hat"))
    rhat, ess = (float(attrs.get(key, np.nan)) for key in ("rhat_max", "ess_min"))
    mixed = "agree" if rhat <= THRESHOLDS.rhat else "do not agree yet"
    reasons = (
        f"Chains that began far apart {mixed}: largest R-hat {_number(rhat, 3)}, "
        f"at most {THRESHOLDS.rhat} is wanted.",
        f"The draws are worth at least {_number(ess)} independent ones, "
        f"{THRESHOLDS.draws:.0f} are wanted.",
        *filter(None, [str(attrs.get("ess_cause", ""))]),
    )
    if rhat <= THRESHOLDS.rhat and ess >= THRESHOLDS.draws:
        return VerdictPart("good", "The computation has settled.", reasons)
    if rhat <= THRESHOLDS.nearly_mixed_rhat and ess >= THRESHOLDS.fewest_draws:
        text = "The computation has nearly settled: figures may still move a little."
        return VerdictPart("care", text, reasons)
    text = "The computation has not settled: figures may be wrong."
    return VerdictPart("stop", text, reasons)


def _approximation(health: str, k_hat: float | None) -> VerdictPart:
    reasons = (
        f"It fits the posterior {_fits(health)} (Pareto k-hat {_number(k_hat, 2)}).",
        "An exact engine (the default) is the one to decide with.",
    )
    if health == "poor":
        return VerdictPart("stop", "A quick approximation, which fits poorly here.", reasons)
    return VerdictPart("care", "A quick approximation, good for a first look.", reasons)


def _fits(health: str) -> str:
    return {"good": "well", "fair": "fairly well", "poor": "poorly"}.get(health, "unknown how well")


def _number(value: float | None, digits: int = 0) -> str:
    known = value is not None and np.isfinite(value)
    return f"{value:,.{digits}f}" if known else "unknown"


# Do the answers suffice?


def answers_part(tree: DataTree, claim: Claim) -> VerdictPart:
    """Whether the answers suffice, above all for what would be claimed."""
    items = len(claim.named)
    number = number_of_comparisons(tree)
    never = int((tree["constant_data/comparisons"].to_numpy() == 0).sum())
    sets = _sets(tree)
    reasons = [
        f"{quantity(number, 'comparison')} of {quantity(items, 'item')}"
        + (f", {never:,} of them never compared." if never else "."),
        f"Reliability {claim.reliability:.2f} (from 0 to 1), {THRESHOLDS.reliability} is wanted.",
        *_prior_reasons(claim, _known_before(tree)),
    ]
    stop = _why_no_claim(str(tree.attrs.get("cannot_say", "")), number, items, claim)
    if stop:
        return VerdictPart("stop", stop, tuple(reasons))
    care = _why_care(sets, never, claim.reliability) or _why_not_the_answers(
        claim, _known_before(tree)
    )
    if care:
        return VerdictPart("care", care, tuple(reasons))
    return VerdictPart("good", "The answers suffice.", tuple(reasons))


def number_of_comparisons(tree: DataTree) -> int:
    """How many comparisons were fitted."""
    observed = tree["observed_data"]
    return sum(int(observed[name].sum()) for name in ("wins_first", "wins_second", "ties"))


def _known_before(tree: DataTree) -> str:
    """What a fit knows of its items besides answers: anchors, an earlier study, or nothing."""
    anchors = json.loads(tree.attrs.get("model", "{}")).get("anchors")
    if anchors is None:
        return ""
    return "the earlier study" if "linked" in anchors else "the anchors"


def _prior_reasons(claim: Claim, known_before: str) -> list[str]:
    """What the claim rests on, in figures."""
    reasons = []
    if np.isfinite(claim.prior_share):
        before = f"without {known_before} and" if known_before else "before"
        reasons.append(
            f"Of what was open about the highest {before} any answer, {percent(claim.prior_share)} "
            f"still is (standard deviations); at most {percent(THRESHOLDS.prior_share)} is wanted."
        )
    if np.isfinite(claim.anchor_share):
        reasons.append(
            f"Of what {known_before} left open, {percent(claim.anchor_share)} still is with the "
            f"answers; at most {percent(THRESHOLDS.anchor_share)} is wanted."
        )
    if np.isfinite(claim.prior_sensitivity):
        reasons.append(
            f"The priors of the scales move it by {claim.prior_sensitivity:.3f} "
            f"(power-scaling), at most {THRESHOLDS.prior_sensitivity} is wanted."
        )
    return reasons


def _why_no_claim(cannot_say: str, comparisons: int, items: int, claim: Claim) -> str:
    """Why nothing can be said about the highest; empty where it can."""
    if cannot_say:
        return CANNOT_SAY.get(cannot_say, CANNOT_SAY["semiorder"])
    if comparisons < THRESHOLDS.comparisons_per_item * items:
        return "There are fewer comparisons than items, too few to say anything."
    if not claim.prior_share <= THRESHOLDS.prior_share:
        return "The answers are too few: more is assumed about the highest than was learnt."
    if claim.prior_sensitivity > THRESHOLDS.prior_sensitivity:
        return "The answers are too few: what is highest changes with what is assumed."
    return ""


def _why_not_the_answers(claim: Claim, known_before: str) -> str:
    """Where anchors or an earlier study say what would be claimed, and answers add little."""
    if not claim.anchor_share > THRESHOLDS.anchor_share:
        return ""
    says = "says" if known_before.endswith("study") else "say"
    return f"This is what {known_before} {says}: the answers add little to it yet."


def _why_care(sets: int, never: int, reliability: float) -> str:
    if sets > 1:
        return f"The answers fall into {sets} sets that nobody compared with each other."
    if reliability < THRESHOLDS.low_reliability:
        return "The answers say little yet: places on the list mean little."
    if reliability < THRESHOLDS.reliability:
        return "The answers tell the ends of the list apart, not neighbours on it."
    if never:
        some = "One item was" if never == 1 else f"{never:,} items were"
        return f"The answers suffice for what was compared; {some.lower()} never compared."
    return ""


def _sets(tree: DataTree) -> int:
    """The number of sets of two or more items that comparisons connect."""
    observed = tree["observed_data"]
    items = list(tree["constant_data/item"].to_numpy().astype(str))
    columns = ("first", "second", "wins_first", "wins_second", "ties")
    counts = Counts.of(items, *(observed[name].to_numpy() for name in columns))
    return sum(len(part) > 1 for part in counts.components())


# Does the model describe them?


def model_part(checks: Sequence[Check], comparisons: int, contradicted: str = "") -> VerdictPart:
    """Whether the model describes the answers, from predictive checks, and what is `contradicted`.

    That is what was known before and does not agree with the answers: anchors or an earlier study.
    """
    part = _checked_part(checks, comparisons)
    if not contradicted:
        return part
    text = f"The answers contradict {contradicted}."
    reason = f"By chance fewer than 1 of 100 studies would be as far from {contradicted}."
    if part.level != "good":
        text = f"{part.text} {text}"
    return VerdictPart("care", text, (*part.reasons, reason))


def _checked_part(checks: Sequence[Check], comparisons: int) -> VerdictPart:
    if not checks:
        return VerdictPart("care", "Whether the model describes the answers was not checked.")
    if comparisons < THRESHOLDS.checked_answers:
        return VerdictPart("care", "There are too few answers to check the model against.")
    missed = [check.key for check in checks if check.p < THRESHOLDS.rare]
    reasons = tuple(f"{capital(CHECKED[check.key])}: {_how_usual(check)}." for check in checks)
    if missed:
        text = f"The model misses something: {sentence_list([CHECKED[key] for key in missed])}."
        return VerdictPart("care", text, reasons)
    return VerdictPart("good", "The model describes the answers.", reasons)


def _how_usual(check: Check) -> str:
    if check.p < THRESHOLDS.rare:
        return "not as the model expects (fewer than 1 of 100 studies would be as far out)"
    if check.p < THRESHOLDS.unusual:
        return f"unusual (about {round(100 * check.p)} of 100 studies would be as far out)"
    return "as the model expects"
