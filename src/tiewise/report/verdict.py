"""How far the computation can be trusted, for those who made the fit and those who read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tiewise.posterior.warnings import ENOUGH_DRAWS, MAX_RHAT

NEARLY_MIXED = 1.05
USE_EXACT = "Use an exact engine (the default) before anything is decided."


class ComputationVerdict(NamedTuple):
    """How far the computation can be trusted: `good`, `care` or `stop`, why, and what to do."""

    level: str
    text: str
    reasons: tuple[str, ...]


def computation_verdict(facts: Mapping[str, Any]) -> ComputationVerdict:
    """A verdict on the computation that a person can act on; cautions about data stand apart."""
    if facts["kind"] == "point":
        text = "A point estimate: standard errors, but no posterior."
        return ComputationVerdict("care", text, (USE_EXACT,))
    if facts["kind"] == "approximate":
        return _approximation(facts["engine_facts"])
    rhat, ess = (np.nan if facts[key] is None else facts[key] for key in ("rhat_max", "ess_min"))
    story = "tell the same story" if rhat <= MAX_RHAT else "do not tell the same story yet"
    reasons = (
        f"Chains that began far apart {story}: largest R-hat {_number(rhat, 3)}, "
        f"wanted below {MAX_RHAT}.",
        f"The draws are worth at least {_number(ess)} independent ones; {ENOUGH_DRAWS} would do.",
    )
    if rhat <= MAX_RHAT and ess >= ENOUGH_DRAWS:
        return ComputationVerdict("good", "The computation can be trusted.", reasons)
    if rhat <= NEARLY_MIXED:
        text = "Nearly there: fit again with more draws (--draws) before deciding."
        return ComputationVerdict("care", text, reasons)
    text = "Do not use these numbers: fit again with more draws (--draws)."
    return ComputationVerdict("stop", text, reasons)


def _approximation(engine_facts: Mapping[str, Any]) -> ComputationVerdict:
    health, k_hat = engine_facts.get("health", "unknown"), engine_facts.get("k_hat", np.nan)
    level = "stop" if health == "poor" else "care"
    fit = f"Its fit to the posterior is {health} (Pareto k-hat {_number(k_hat, 2)})."
    text = "A quick approximation: good for a first look."
    return ComputationVerdict(level, text, (fit, USE_EXACT))


def _number(value: float, digits: int = 0) -> str:
    return f"{value:.{digits}f}" if np.isfinite(value) else "unknown"


def reader_warning(facts: Mapping[str, Any]) -> str:
    """What somebody who did not make the fit must know before reading on; else nothing."""
    level = computation_verdict(facts).level
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
