"""Whether the results can be believed, from predictive checks and reliability."""

from __future__ import annotations

from tiewise.criticism.replicates import MAX_JUDGEMENTS
from tiewise.posterior.results_folder import Results
from tiewise.report.model_checks import model_assessment
from tiewise.report.section import Fragment, PictureRow, Section


def model_check_section(results: Results) -> Section | None:
    """Can these results be believed? Nothing where nothing was checked."""
    assessment = model_assessment(results)
    if assessment is None:
        return None
    values = {"assessment": assessment, "most_judged": MAX_JUDGEMENTS}
    blocks = (Fragment("model_checks", values), PictureRow(("checks",)))
    return Section("belief", "Can it be believed", "Can these results be believed?", blocks)
