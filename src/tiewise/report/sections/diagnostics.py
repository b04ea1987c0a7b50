"""Whether the computation can be trusted, and the parameters common to all items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiewise.criticism.verdict import results_verdict
from tiewise.posterior.diagnostics import EXTREMES, LEAST_COMPARED, MANY_ITEMS, SPACED
from tiewise.posterior.results_folder import Results
from tiewise.report.priors import sensitivity_sentence
from tiewise.report.section import Fragment, Note, PictureRow, Section, SectionBlock, VerdictBox

LABELS = {
    "tie": "tie threshold δ", "variance": "variance of quality α²",
    "cut": "cut to stronger choices",
    "share": "weight of the map in the prior ρ", "map_share": "differences that follow the map",
    "order": "advantage of the first κ", "explained": "share of variance explained",
    "coefficient_sd": "spread of coefficients",
    "contrast_variance": "variance of differences ν²", "sharpness_sd": "spread of log sharpness τ",
    "threshold_sd": "spread of log thresholds ω",
}  # fmt: skip
"""Names of the rows of parameters.csv for readers."""


def diagnostics_section(results: Results) -> Section:
    """Diagnostics."""
    part = results_verdict(results).computation
    parameters = results.parameters
    rows = [(parameter_label(str(name)), dict(row)) for name, row in parameters.iterrows()]
    names = dict(zip(results.items["item"], results.items["name"], strict=True))
    effect = sensitivity_sentence(results.facts, names)
    blocks: tuple[SectionBlock, ...] = (
        VerdictBox(part.level, part.text, part.reasons),
        Fragment("parameters", {"rows": rows}),
        Note(
            "ESS is how many independent draws the draws are worth, for the middle and for the "
            "ends (5 and 95 %); R-hat says whether chains agree. A dash: not known, or not in this "
            "model."
        ),
        *(Note(text) for text in sampling_notes(results.facts)),
        *([Note(effect)] if effect else []),
        PictureRow(("traces", "ranks", "autocorrelation")),
    )
    return Section("diagnostics", "Diagnostics", "Diagnostics", blocks)


def sampling_notes(facts: Mapping[str, Any]) -> list[str]:
    """How long sampling went on, and what the least ESS is the least of."""
    notes = []
    if rounds := facts.get("rounds", 0):
        kept = f"; one draw of {facts['thin']} is kept" if facts["thin"] > 1 else ""
        notes.append(
            f"Sampling went on by itself to {2**rounds} times the draws that were planned{kept}."
        )
    if facts["exact"] and facts["items"] > MANY_ITEMS:
        notes.append(
            f"Of {facts['items']:,} items the least ESS is that of the parameters above and of "
            f"watched items: the {LEAST_COMPARED} least compared, the {EXTREMES} highest and the "
            f"{EXTREMES} lowest, {SPACED} along the list, and whoever could be named as one of the "
            "highest."
        )
    if facts.get("kept_one_of", 1) > 1:
        notes.append(
            f"Every figure here is of all {facts['draws']:,} draws; posterior.nc keeps one of "
            f"{facts['kept_one_of']}."
        )
    return notes


def parameter_label(name: str) -> str:
    """The name of a row of parameters.csv for readers."""
    kind, _, which = name.partition(": ")
    return LABELS.get(kind, kind) + (f", {which}" if which else "")
