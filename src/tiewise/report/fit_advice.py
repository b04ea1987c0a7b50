"""Which fit to try where a predictive check speaks against the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from xarray import DataTree


class FitAdvice(NamedTuple):
    """A term that answers a check: its variable of the posterior, its option, what it allows."""

    variable: str
    option: str
    meaning: str


ADVICE = {
    "judges": FitAdvice(
        "threshold", "thresholds", "in which judges differ in how readily they call a tie"
    ),
    "judge_strength": FitAdvice(
        "threshold", "thresholds", "in which judges differ in how readily they choose strongly"
    ),
    "agreement": FitAdvice(
        "sharpness", "sharpness", "in which judges who answer less predictably weigh less"
    ),
    "order": FitAdvice("order", "order", "in which the first of a pair may have an advantage"),
}
"""What to try, by the check that fails."""


def fit_to_try(key: str, tree: DataTree) -> str:
    """A sentence that names the fit to try; empty where the model has that term, or none helps."""
    advice = ADVICE.get(key)
    if advice is None or advice.variable in tree["posterior"]:
        return ""
    return (
        f"The fit to try is one {advice.meaning} (option {advice.option}); “tiewise models” "
        "compares it with others."
    )
