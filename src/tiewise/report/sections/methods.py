"""The study, the model, how it was computed, and how to repeat it."""

from __future__ import annotations

from tiewise.posterior.predictions import has_facts
from tiewise.posterior.results_folder import Results
from tiewise.posterior.terms.judge_kinds import has_kinds
from tiewise.report import reproduce
from tiewise.report.priors import prior_rows
from tiewise.report.scope import what_was_done
from tiewise.report.section import Fragment, Section

TERM_FORMULAS = {
    "cut": "answers are graded: one between the cuts a and b of the difference in quality has the "
    "chance σ(λi − λj − a) − σ(λi − λj − b), the cuts are alike on both sides, and δ is the first",
    "share": "the prior covariance of qualities is a mixture, α² (ρΣ + (1 − ρ)I), ρ uniform",
    "coefficient": "part of each quality is explained by covariates (λ = u + Zβ)",
    "order": "the first of a pair has an advantage κ, so that λi − λj + κ stands for λi − λj",
    "contrast": "each group of judges has its own view, λ plus a contrast",
    "sharpness": "each judge sees differences as many times as large as their sharpness says",
    "threshold": "each judge has a threshold δ of their own",
}
"""What each term changes in the model, by its variable in the posterior."""
FACTS = "facts x of a comparison favour its first, so that λi − λj + xᵀβ stands for λi − λj"
KINDS = {
    "sharpness": "each group of judges sees differences as many times as large as its sharpness "
    "says",
    "threshold": "each group of judges has a threshold δ of its own",
}


def methods_section(results: Results) -> Section:
    """Methods."""
    model = results.facts["model"]
    values = {
        "done": what_was_done(results),
        "terms": _term_formulas(results),
        "priors": prior_rows(model) if "quality" in model else [],
        "source": reproduce.source_name(results.wording),
        "command": reproduce.fit_command(results),
        "python": reproduce.python_call(results),
        "notes": reproduce.repeat_notes(results),
    }
    return Section("methods", "Methods", "Methods", (Fragment("methods", values),))


def _term_formulas(results: Results) -> str:
    """What the model has in place of the plain difference of two qualities, in a sentence."""
    present = {*map(str, results.tree["posterior"].data_vars)}
    words = TERM_FORMULAS | ({"order": FACTS} if has_facts(results.tree) else {})
    words = words | (KINDS if has_kinds(results.tree) else {})
    formulas = [formula for name, formula in words.items() if name in present]
    return f"In this model {'; '.join(formulas)}." if formulas else ""
