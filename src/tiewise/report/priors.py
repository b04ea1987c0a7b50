"""The priors of a fit in words, and what their numbers are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiewise.criticism.verdict_parts import THRESHOLDS
from tiewise.model import QUALITY_PRIORS
from tiewise.model.prior_sets import prior_set_name
from tiewise.model.quality_priors import describe_quality_prior, quality_prior_class
from tiewise.model.scalar_priors import TIE_PRIORS, VARIANCE_PRIORS
from tiewise.model.scalar_priors.notation import format_prior
from tiewise.model.terms import describe_term
from tiewise.registry import load
from tiewise.text import sentence_list

NO_TIES = "no ties"
NO_TIES_MEANING = "δ = 0, tied answers left out"
SCALARS = (
    ("variance", "Variance, α²", VARIANCE_PRIORS),
    ("tie", "Tie threshold, δ", TIE_PRIORS),
)

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
            _quality_meaning(quality),
        ),
    ]
    for key, label, kinds in SCALARS:
        prior = model[key]
        words = NO_TIES if prior is None else format_prior(prior)
        meaning = NO_TIES_MEANING if prior is None else _number_meaning(prior, kinds)
        lines.append((label, words, meaning))
    for k, step in enumerate(model.get("step", ()), start=2):
        lines.append((f"Step to cut {k}", format_prior(step), _number_meaning(step, TIE_PRIORS)))
    lines += [("Term", describe_term(term), "") for term in terms]
    return [
        (label, f"{words} ({meaning})" if meaning else words) for label, words, meaning in lines
    ]


def _quality_meaning(prior: Mapping[str, Any]) -> str:
    """What a prior of quality makes of Σ; empty for one that is in no registry."""
    kind = prior["kind"]
    return quality_prior_class(kind).meaning if kind in QUALITY_PRIORS else ""


def _number_meaning(prior: Mapping[str, Any], kinds: Mapping[str, str]) -> str:
    """What the numbers of a prior are; empty for one that is in no registry."""
    return load(kinds[prior["kind"]]).numbers if prior["kind"] in kinds else ""


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
