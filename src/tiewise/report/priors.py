"""The priors of a fit in words, and what their numbers are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiewise.model.quality_priors import describe_quality_prior
from tiewise.model.scalar_priors import format_prior
from tiewise.model.terms import describe_term

NO_TIES = "no ties"

QUALITY_MEANINGS = {
    "independent": "Σ is the identity: each item on its own",
    "network": "Σ = D^−½ e^A D^−½, with A who borders whom and D the diagonal of e^A",
    "distance": "Σ falls with the distance between centroids",
    "covariance": "Σ as it was given",
    "precision": "Σ is the inverse of the matrix that was given",
}
NUMBER_MEANINGS = {
    "variance": {
        "inverse-gamma": "shape and scale", "half-normal": "scale; α, not α², is half-normal",
        "fixed": "held at this value",
    },
    "tie": {
        "exponential": "rate", "gamma": "shape and rate", "half-normal": "scale",
        "uniform": "from and to", "fixed": "held at this value",
        NO_TIES: "δ = 0, tied answers left out",
    },
}  # fmt: skip
"""What the numbers of a prior are, by its kind."""


def prior_rows(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The priors in the words of the command, and what these mean."""
    quality, terms = model["quality"], model.get("terms", [])
    lines = [
        ("Qualities, Σ", describe_quality_prior(quality), QUALITY_MEANINGS.get(quality["kind"], ""))
    ]
    for key, label in (("variance", "Variance, α²"), ("tie", "Tie threshold, δ")):
        prior = model[key]
        words = NO_TIES if prior is None else format_prior(prior)
        kind = NO_TIES if prior is None else prior["kind"]
        lines.append((label, words, NUMBER_MEANINGS[key].get(kind, "")))
    lines += [("Term", describe_term(term), "") for term in terms]
    return [
        (label, f"{words} ({meaning})" if meaning else words) for label, words, meaning in lines
    ]
