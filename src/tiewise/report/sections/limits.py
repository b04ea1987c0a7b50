"""What the results do not say, and what the words of the report mean."""

from __future__ import annotations

from tiewise.posterior.results_folder import Results
from tiewise.report.scope import limits
from tiewise.report.section import Fragment, Section
from tiewise.text import probability_scale_rows


def limits_section(results: Results) -> Section:
    """Words and limits."""
    values = {"limits": limits(results), "scale": probability_scale_rows()}
    return Section("words", "Words and limits", "Words and limits", (Fragment("limits", values),))
