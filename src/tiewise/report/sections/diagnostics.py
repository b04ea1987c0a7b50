"""Whether the computation can be trusted, and the parameters common to all items."""

from __future__ import annotations

import pandas as pd

from tiewise.posterior.results_folder import Results
from tiewise.report.section import Fragment, Note, PictureRow, Section, VerdictBox
from tiewise.report.verdict import computation_verdict

LABELS = {
    "tie": "tie threshold δ", "variance": "variance of quality α²",
    "order": "advantage of the first κ", "explained": "share of variance explained",
    "coefficient_sd": "spread of coefficients",
    "contrast_variance": "variance of differences ν²", "sharpness_sd": "spread of log sharpness τ",
    "threshold_sd": "spread of log thresholds ω",
}  # fmt: skip
"""Names of the rows of parameters.csv for readers."""


def diagnostics_section(results: Results) -> Section:
    """Diagnostics."""
    verdict = computation_verdict(results.facts)
    parameters = pd.read_csv(results.folder / "parameters.csv", index_col="parameter")
    rows = [(parameter_label(str(name)), dict(row)) for name, row in parameters.iterrows()]
    blocks = (
        VerdictBox(verdict.level, verdict.text, verdict.reasons),
        Fragment("parameters", {"rows": rows}),
        Note(
            "ESS is how many independent draws the draws are worth; R-hat says whether chains "
            "agree. A dash: not known, or not in this model."
        ),
        PictureRow(("traces", "ranks", "autocorrelation")),
    )
    return Section("diagnostics", "Diagnostics", "Diagnostics", blocks)


def parameter_label(name: str) -> str:
    """The name of a row of parameters.csv for readers."""
    kind, _, which = name.partition(": ")
    return LABELS.get(kind, kind) + (f", {which}" if which else "")
