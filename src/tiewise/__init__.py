"""Comparative judgement with ties: from the first pair a judge sees to the page a councillor reads.

Values in, values out: `read_comparisons(...)` gives `Comparisons`, `Graph` and a prior say what was
believed before, `BradleyTerry(counts, prior)` is the model, `fit(model, engine, seed=...)` gives an
ArviZ DataTree, and `summarise`, `preference`, `tie_curve`, `parameters` say what it means.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Where each public name lives; read when it is first asked for, so that `import tiewise` is quick.
_HOMES = {
    "tiewise.data.comparisons": ["Comparisons", "read_comparisons"],
    "tiewise.data.counts": ["Counts"],
    "tiewise.geo.areas": ["Areas"],
    "tiewise.geo.graph": ["Graph"],
    "tiewise.model.quality_priors": [
        "Covariance", "Distance", "Independent", "Network", "Precision",
    ],
    "tiewise.model.scalar_priors": [
        "Exponential", "Fixed", "Gamma", "HalfNormal", "HalfNormalSpread", "InverseGamma",
        "Uniform",
    ],
    "tiewise.model.bradley_terry": ["BradleyTerry"],
    "tiewise.model.terms": ["Covariates", "Groups", "Order", "Sharpness", "Thresholds"],
    "tiewise.model.simulate": ["Truth", "judged_again", "simulate_comparisons", "simulate_counts"],
    "tiewise.engines.gibbs": ["Gibbs"],
    "tiewise.engines.caron_doucet": ["CaronDoucet"],
    "tiewise.engines.laplace": ["Laplace"],
    "tiewise.engines.metropolis": ["Metropolis"],
    "tiewise.engines.maximum_likelihood": ["MaximumLikelihood"],
    "tiewise.engines.transport": ["Transport"],
    "tiewise.workflows.assess_judges": ["look_at_judges"],
    "tiewise.experiments.run": ["run_experiment"],
    "tiewise.report.briefing": ["write_briefing"],
    "tiewise.criticism.predictive_checks": ["predictive_checks"],
    "tiewise.criticism.model_comparison": ["compare", "compare_results", "leave_one_out"],
    "tiewise.posterior.fit": ["fit"],
    "tiewise.report.folder": ["About", "Results", "read_results", "write_results"],
    "tiewise.report.html": ["reword", "write_report"],
    "tiewise.criticism.judge_fit": ["item_fit", "judge_table"],
    "tiewise.posterior.summaries": ["parameters", "preference", "summarise", "tie_curve"],
    "tiewise.workflows.analyse": ["Surroundings", "analyse", "build_model"],
    "tiewise.planning.plan_study": ["plan_study"],
    "tiewise.planning.design": ["StudyDesign"],
    "tiewise.study.study": ["Study"],
    "tiewise.study.researcher_store": ["Ledger", "Opens", "Phase"],
    "tiewise.study.create": ["check_study", "new_study"],
    "tiewise.web.serve": ["open_site", "serve"],
    "tiewise.errors": ["InputError", "InputWarning"],
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("tiewise")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"tiewise has no {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
