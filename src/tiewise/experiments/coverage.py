"""Coverage: whether intervals hold the truth as often as they say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.random import SeedSequence

from tiewise.experiments.designs import county, paper_model
from tiewise.experiments.experiment import (
    SIGNIFICANCE,
    Experiment,
    ExperimentData,
    ResultColumn,
    group_means,
    records,
)
from tiewise.experiments.plots import coverage_rows
from tiewise.jobs.run import TaskResult
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.base import TiePrior, VariancePrior
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.planning.recovery import centred, interval_covers, sample_posterior
from tiewise.plots.canvas import heading, notes, page, styled
from tiewise.text import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = (0.5, 0.95)
SIZE = {"wards": 95, "comparisons": 800}
# Priors from which a study can be drawn: the default ones give variances of 10²⁸.
RANDOM_TRUTH = SIZE | {"name": "drawn", "variance": [3.0, 2.0], "tie": 2.0}
FIXED_TRUTH = SIZE | {"name": "fixed", "variance": 1.0, "tie": 0.5}
LABELS = {
    "drawn": "drawn from the prior",
    "fixed": "α² = 1, δ = 0.5; the paper's priors",
}
WORDS = {"quality": "qualities λ", "tie": "threshold δ", "variance": "variance α²"}

Scalars = tuple[VariancePrior | Fixed, TiePrior | Fixed]


def scalars(case: Mapping[str, Any]) -> tuple[Scalars, Mapping[str, Any]]:
    """Where α² and δ come from, and the priors of the model (none named: the paper's)."""
    if case["name"] == "drawn":
        variance, tie = InverseGamma(*case["variance"]), Exponential(case["tie"])
        return (variance, tie), {"variance": variance, "tie": tie}
    return (Fixed(case["variance"]), Fixed(case["tie"])), {}


def run_case(case: Mapping[str, Any], seed: SeedSequence) -> TaskResult:
    """One study, and whether each kind of interval holds the truth (of λ: which share)."""
    data_seed, fit_seed = seed.spawn(2)
    rng, prior = np.random.default_rng(data_seed), Network(county(case["wards"]), share=1.0)
    (variance, tie), priors = scalars(case)
    truth = Truth.from_priors(prior, variance, tie, rng)
    counts = simulate_counts(truth, case["comparisons"], rng)
    sample = sample_posterior(paper_model(counts, prior, **priors), fit_seed)
    true_values: dict[str, Any] = {
        "quality": centred(truth.quality), "tie": truth.tie, "variance": truth.variance,
    }  # fmt: skip
    rows = [
        {"truth": case["name"], "parameter": name}
        | {f"held_{100 * level:.0f}": float(interval_covers(draws, true_values[name], level).mean())
           for level in LEVELS}
        for name, draws in sample._asdict().items()
    ]  # fmt: skip
    return TaskResult(rows)


def table(results: pd.DataFrame, _timings: pd.DataFrame) -> pd.DataFrame:
    """Shares of intervals that hold the truth, with Monte Carlo errors."""
    out = group_means(results, ["truth", "parameter"], ["held_50", "held_95"])
    return out.assign(label=out["truth"].map(LABELS), what=out["parameter"].map(WORDS))


COLUMNS = (
    ResultColumn("truth", "label"),
    ResultColumn("of", "what"),
    ResultColumn("50 % intervals hold", "held_50", ".3f", "held_50_error"),
    ResultColumn("95 % intervals hold", "held_95", ".3f", "held_95_error"),
    ResultColumn("studies", "repeats", ",.0f"),
)


def finding(data: ExperimentData) -> list[str]:
    """Which shares are off by more than Monte Carlo error explains."""
    sentences = []
    for name, rows in data.table.groupby("truth", sort=False):
        off = [
            f"{percent(level)} intervals of {row['what']} hold {percent(row[key], 1)} of the time "
            f"(± {percent(row[f'{key}_error'], 1)})"
            for row in records(rows)
            for level in LEVELS
            for key in [f"held_{100 * level:.0f}"]
            if abs(row[key] - level) > SIGNIFICANCE * row[f"{key}_error"]
        ]
        words = "; ".join(off) if off else "no share is off by more than two standard errors"
        sentences.append(f"Truth {LABELS[str(name)]}: {words}.")
    return sentences


@styled
def figure(data: ExperimentData) -> Figure:
    """Shares of intervals that hold the truth, against their nominal level."""
    return page(
        heading("How often intervals hold the truth"),
        *coverage_rows(data.table, LEVELS),
        notes(
            "Dots: share of intervals that hold the truth; lines: two Monte Carlo standard errors "
            "either way. Dashed: what the intervals promise."
        ),
    )


EXPERIMENT = Experiment(
    name="coverage",
    title="Are the intervals right?",
    question=(
        "Do 50 % and 95 % intervals of qualities, threshold and variance hold the truth as often "
        "as they say?"
    ),
    job=run_case,
    cases=[RANDOM_TRUTH, FIXED_TRUTH],
    quick=[RANDOM_TRUTH, FIXED_TRUTH],
    repeats=400,
    quick_repeats=30,
    table=table,
    columns=COLUMNS,
    figure=figure,
    finding=finding,
)
