"""What may be said of a model's terms in plain words, and what they do not mean."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiewise.model.bradley_terry import answer_probabilities
from tiewise.posterior.term_tables import MEAN, coefficients
from tiewise.report.answer import chance_words, percent
from tiewise.report.certainty import signed
from tiewise.report.folder import Results
from tiewise.report.groups import group_section, sides_of
from tiewise.report.judges import judge_section
from tiewise.report.section import Section

Floats = NDArray[np.float64]

LABELS = {
    "tie": "tie threshold δ", "variance": "variance of quality α²",
    "order": "advantage of the first κ", "explained": "share of variance explained",
    "coefficient_sd": "spread of coefficients",
    "contrast_variance": "variance of differences ν²", "sharpness_sd": "spread of log sharpness τ",
    "threshold_sd": "spread of log thresholds ω",
}  # fmt: skip
"""What parameters.csv speaks of."""


def column_label(name: str) -> str:
    """A column of a formula as a person says it: `setting[T.urban]` is `setting: urban`."""
    return re.sub(r"\[(?:T\.)?([^\]]*)\]", r": \1", str(name))


def parameter_label(name: str) -> str:
    """What a row of parameters.csv is called."""
    kind, _, which = name.partition(": ")
    return LABELS.get(kind, kind) + (f", {which}" if which else "")


def sections(results: Results) -> list[Section]:
    """A section for each kind of term that the model has."""
    tree = results.tree
    parts = {
        "coefficient": covariate_section, "order": order_section, "contrast": group_section,
        "judge": judge_section,
    }  # fmt: skip
    present = {*tree["posterior"].data_vars, *tree["posterior"].dims}
    return [make(results) for name, make in parts.items() if name in present]


def told_shortly(results: Results) -> list[str]:
    """The first sentences of each section, for a terminal."""
    return [" ".join(section.says[:3]) for section in sections(results)]


def gap_formula(results: Results) -> str:
    """What the model has in place of the plain difference of two qualities, in a sentence."""
    present = {*map(str, results.tree["posterior"].data_vars)}
    kinds = {
        "coefficient": "part of each quality is explained by covariates (λ = u + Zβ)",
        "order": "the first of a pair has an advantage κ, so that λi − λj + κ stands for λi − λj",
        "contrast": "each group of judges has its own view, λ plus a contrast",
        "sharpness": "each judge sees differences as many times as large as their sharpness says",
        "threshold": "each judge has a threshold δ of their own",
    }
    said = [words for name, words in kinds.items() if name in present]
    return f"In this model {'; '.join(said)}." if said else ""


# Covariates.


def covariate_section(results: Results) -> Section:
    """What goes with higher quality."""
    table, about = coefficients(results.tree), results.about
    low, middle, high = np.quantile(results.tree["posterior/explained"], (0.025, 0.5, 0.975))
    together = "It accounts" if len(table) == 1 else "Together they account"
    says = (
        " ".join(_goes_with(row, results) for row in table.to_dict("records")),
        f"{together} for {percent(middle)} of the variance between {about.nouns} "
        f"(95 % interval {percent(low)} to {percent(high)}); the rest is each one’s own.",
    )
    rows = tuple(
        (
            column_label(row["covariate"]), _figure(row["median"]),
            f"{_figure(row['q2.5'])} to {_figure(row['q97.5'])}", signed(row["per_sd"]),
            percent(row["above_0"]),
        )
        for row in table.to_dict("records")
    )  # fmt: skip
    return Section(
        "covariates", "What goes with it", f"What goes with {about.higher}", says,
        ("", "Per unit", "95 % interval", "Per standard deviation", "Chance above 0"), rows,
        ("coefficients",),
        "These are associations, not causes: a column may stand for something that is not in the "
        f"table. They hold between {about.nouns}, not between the people in them. And where "
        f"neighbouring {about.nouns} are taken to be alike, what a column and a neighbourhood "
        "explain cannot be told apart altogether.",
    )  # fmt: skip


def _goes_with(row: dict[Any, Any], results: Results) -> str:
    """One coefficient as a sentence."""
    name, above, about = column_label(str(row["covariate"])), row["above_0"], results.about
    sure = max(above, 1 - above)
    if sure < 0.8:
        return f"Whether {name} goes with {about.higher} or {about.lower} cannot be told."
    way = about.higher if above > 0.5 else about.lower
    size = f"{signed(row['per_sd'])} in quality for one standard deviation more"
    more = "more of "
    if ": " in name:
        more, size = "", f"{signed(row['median'])} in quality, against the first of its kind"
    return f"It is {chance_words(sure)} that {more}{name} goes with {way} ({size})."


def _figure(value: float) -> str:
    """A number to three figures, with its sign."""
    return f"{value:+.3g}".replace("-", "−")


# Order.


def order_section(results: Results) -> Section:
    """Whether the first of a pair has an advantage."""
    draws = results.tree["posterior/order"]
    ties = results.tree["posterior/tie"].to_numpy().ravel()
    kinds = draws["advantage"].to_numpy().astype(str)
    says: list[str] = []
    for k, kind in enumerate(kinds):
        own = draws.isel(advantage=k).to_numpy().ravel()
        says += _advantage(own, ties, "" if kind == "first" else f" ({kind})", results)
    return Section(
        "order", "Order", "Does it matter which one comes first?", tuple(says), (), (), (),
        "This is a habit of answering, or the home ground; it does not say why. Estimates of "
        f"{results.about.nouns} are freed of it.",
    )  # fmt: skip


def _advantage(own: Floats, ties: Floats, kind: str, results: Results) -> list[str]:
    low, middle, high = np.quantile(own, (0.025, 0.5, 0.975))
    first, _, second = (float(chance.mean()) for chance in answer_probabilities(own, ties))
    above = float((own > 0).mean())
    sure = max(above, 1 - above)
    way = "an advantage" if above > 0.5 else "a disadvantage"
    verdict = (
        f"It is {chance_words(sure)} that the first of a pair{kind} has {way}"
        if sure >= 0.8
        else f"Whether the first of a pair{kind} has an advantage cannot be told"
    )
    return [
        f"{verdict}: {signed(middle)} in quality (95 % interval {signed(low)} to {signed(high)}).",
        f"Of two {results.about.nouns} of the same quality the first is chosen {percent(first)} of "
        f"the time, and the second {percent(second)}.",
    ]


# Pictures.


def alt_text(results: Results, key: str) -> str:
    """What is to be seen in a picture of a term, for those who cannot see it."""
    told = {section.key: section for section in sections(results)}
    if key == "coefficients":
        return f"Coefficients with their intervals. {told['covariates'].says[0]}"
    if key == "judge-terms":
        return f"Judges with their intervals. {' '.join(told['judges'].says)}"
    sides = sides_of(results)
    kind = "Map" if results.areas is not None else "Ranking"
    what = "by how surely" if key == "difference-real" else "by how much"
    against = f" against {MEAN}" if sides.several else ""
    return f"{kind} of differences{against}, {what}. {' '.join(told['groups'].says)}"
