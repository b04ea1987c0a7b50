"""The priors of a fit in words, and what their numbers are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiewise.criticism.verdict_parts import THRESHOLDS
from tiewise.model.prior_sets import prior_set_name
from tiewise.model.quality_priors import describe_quality_prior
from tiewise.model.scalar_priors import format_prior
from tiewise.model.terms import describe_term
from tiewise.text import sentence_list

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


PRIOR_SET_WORDS = {
    "default": "the defaults of Tiewise",
    "paper": "those of the paper",
    None: "chosen for this fit",
}


def prior_rows(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The priors in the words of the command, and what these mean."""
    quality, terms = model["quality"], model.get("terms", [])
    lines = [
        ("Priors", PRIOR_SET_WORDS[prior_set_name(model)], ""),
        (
            "Qualities, Σ",
            describe_quality_prior(quality),
            QUALITY_MEANINGS.get(quality["kind"], ""),
        ),
    ]
    for key, label in (("variance", "Variance, α²"), ("tie", "Tie threshold, δ")):
        prior = model[key]
        words = NO_TIES if prior is None else format_prior(prior)
        kind = NO_TIES if prior is None else prior["kind"]
        lines.append((label, words, NUMBER_MEANINGS[key].get(kind, "")))
    for k, step in enumerate(model.get("step", ()), start=2):
        meaning = NUMBER_MEANINGS["tie"].get(step["kind"], "")
        lines.append((f"Step to cut {k}", format_prior(step), meaning))
    lines += [("Term", describe_term(term), "") for term in terms]
    return [
        (label, f"{words} ({meaning})" if meaning else words) for label, words, meaning in lines
    ]


SCALE_LABELS = {"alpha": "the spread α", "tie": "the tie threshold δ", "share": "the map's share ρ"}


def sensitivity_sentence(facts: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """How much the priors of the scales matter, from fit.json; empty where it is not known."""
    sensitivity = facts.get("prior_sensitivity", {})
    values = {name: value for name, value in sensitivity.items() if name != "item"}
    threshold = THRESHOLDS.prior_sensitivity
    if not values:
        return ""
    beyond = {name: value for name, value in values.items() if value > threshold}
    if not beyond:
        return (
            "The priors of the scales matter little: made a little stronger or weaker, they would "
            f"move nothing noticeably (power-scaling sensitivity at most {max(values.values()):.2g}"
            f"; {threshold:g} is where it would begin to matter)."
        )
    item = sensitivity["item"]
    labels = SCALE_LABELS | {"quality": f"the quality of {names.get(item, item)}"}
    moved = [f"{labels[name]} ({value:.2f})" for name, value in beyond.items()]
    return (
        f"The priors of the scales matter: made a little stronger or weaker, they would move "
        f"{sentence_list(moved)} (power-scaling sensitivity; above {threshold:g} it matters). More "
        "answers make it less; until then, say which priors were taken."
    )
