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
    "tiewise.core.data": ["Comparisons", "read_comparisons"],
    "tiewise.core.counts": ["Counts"],
    "tiewise.core.areas": ["Areas"],
    "tiewise.core.graph": ["Graph"],
    "tiewise.core.prior": ["Covariance", "Distance", "Independent", "Network", "Precision"],
    "tiewise.core.beliefs": [
        "Exponential", "Fixed", "Gamma", "HalfNormal", "HalfNormalSpread", "InverseGamma",
        "Uniform",
    ],
    "tiewise.core.model": ["BradleyTerry"],
    "tiewise.core.terms": ["Covariates", "Groups", "Order", "Sharpness", "Thresholds"],
    "tiewise.core.simulate": ["Truth", "judged_again", "simulate_comparisons", "simulate_counts"],
    "tiewise.engines.gibbs": ["Gibbs"],
    "tiewise.engines.caron_doucet": ["CaronDoucet"],
    "tiewise.engines.laplace": ["Laplace"],
    "tiewise.engines.metropolis": ["Metropolis"],
    "tiewise.engines.maximum_likelihood": ["MaximumLikelihood"],
    "tiewise.engines.transport": ["Transport"],
    "tiewise.judged": ["look_at_judges"],
    "tiewise.plan.experiments": ["run_experiment"],
    "tiewise.results.briefing": ["write_briefing"],
    "tiewise.results.checks": ["predictive_checks"],
    "tiewise.results.comparing": ["compare", "compare_results", "leave_one_out"],
    "tiewise.results.fit": ["fit"],
    "tiewise.results.folder": ["About", "Results", "read_results", "write_results"],
    "tiewise.results.report": ["reword", "write_report"],
    "tiewise.results.scrutiny": ["item_fit", "judge_table"],
    "tiewise.results.summaries": ["parameters", "preference", "summarise", "tie_curve"],
    "tiewise.analysis": ["Surroundings", "analyse", "build_model"],
    "tiewise.plan.size": ["plan_study"],
    "tiewise.plan.sizing_design": ["StudyDesign"],
    "tiewise.study.study": ["Study"],
    "tiewise.study.ledger": ["Ledger", "Opens", "Phase"],
    "tiewise.study.making": ["check_study", "new_study"],
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
