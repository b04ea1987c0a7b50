"""Efficiency: effective draws a second of three engines on studies like South Yorkshire's.

Effective draws are counted over every sweep and every step: thinned first, a chain that mixes well
cannot have more of them than draws that were kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.random import SeedSequence

from tiewise.experiments.designs import county, paper_model, simulate_county_study
from tiewise.experiments.experiment import (
    Experiment,
    ExperimentData,
    ResultColumn,
    group_means,
    rows_by,
)
from tiewise.experiments.plots import by_engine
from tiewise.experiments.timing import FULL_RUNS, LABELS, quality_ess, tie_ess, time_fit
from tiewise.jobs.run import TaskResult
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.plots.canvas import heading, notes, page, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHORT_RUNS: Mapping[str, Mapping[str, Any]] = {
    "transport": {"draws": 4000},
    "gibbs": {"draws": 900, "warmup": 25, "as_published": True},
    "metropolis": {"draws": 9000, "warmup": 250, "thin": 1},
}
EVERY_STEP = {**FULL_RUNS, "metropolis": {"draws": 90_000, "warmup": 2500, "thin": 1}}
"""The runs of the paper with every step of the random walk kept."""
STUDY = {"name": "county", "wards": 95, "comparisons": 800}


def run_case(case: Mapping[str, Any], seed: SeedSequence) -> TaskResult:
    """One study fitted with every engine; δ ~ U[0, 1], and α² = 1 in truth and in the model."""
    data_seed, *fit_seeds = seed.spawn(1 + len(case["engines"]))
    rng, graph = np.random.default_rng(data_seed), county(case["wards"])
    tie = float(rng.uniform())
    _, counts = simulate_county_study(
        graph, comparisons=case["comparisons"], tie=tie, variance=1.0, rng=rng
    )

    def build() -> BradleyTerry:
        return paper_model(counts, Network(graph, share=1.0), variance=Fixed(1.0))

    rows, timings = [], []
    for (name, settings), fit_seed in zip(case["engines"].items(), fit_seeds, strict=True):
        run = time_fit(name, settings, build, fit_seed)
        quality = quality_ess(run.draws)
        rows.append(
            {"engine": name, "tie": tie, "ties": counts.total_ties, "draws": run.draws.tie.size,
             "ess_tie": tie_ess(run.draws), "ess_quality": float(quality.mean()),
             "ess_least": float(quality.min())}
        )  # fmt: skip
        timings.append({"engine": name, "build_seconds": run.build_seconds, "seconds": run.seconds})
    return TaskResult(rows, timings)


def effective_rates(results: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Effective draws a second of every fit."""
    both = results.merge(timings, on=["task", "engine"], suffixes=("", "_of_time"))
    return both.assign(
        tie_rate=both["ess_tie"] / both["seconds"],
        quality_rate=both["ess_quality"] / both["seconds"],
    )


def table(results: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Means over the studies, engine by engine."""
    values = ["draws", "seconds", "ess_tie", "ess_quality", "tie_rate", "quality_rate"]
    out = group_means(effective_rates(results, timings), ["engine"], values)
    return out.assign(label=out["engine"].map(LABELS))


COLUMNS = (
    ResultColumn("engine", "label"),
    ResultColumn("draws kept", "draws", ",.0f"),
    ResultColumn("seconds", "seconds", ".2f", "seconds_error"),
    ResultColumn("ESS of δ", "ess_tie", ",.0f", "ess_tie_error"),
    ResultColumn("ESS of λ, mean", "ess_quality", ",.0f", "ess_quality_error"),
    ResultColumn("ESS of δ a second", "tie_rate", "", "tie_rate_error"),
    ResultColumn("ESS of λ a second", "quality_rate", "", "quality_rate_error"),
)


def finding(data: ExperimentData) -> list[str]:
    """Ratios of the rates."""
    by = rows_by(data.table, "engine")

    def over(one: str, other: str) -> str:
        tie, quality = (by[one][key] / by[other][key] for key in ("tie_rate", "quality_rate"))
        if tie < 1:
            return (
                f"{LABELS[other]} gives {1 / tie:,.1f} times as many effective draws of δ a second "
                f"as {LABELS[one]}, and {LABELS[one]} {quality:,.1f} times as many of λ."
            )
        return (
            f"{LABELS[one]} gives {tie:,.1f} times as many effective draws of δ a second as "
            f"{LABELS[other]}, and {quality:,.1f} times as many of λ."
        )

    rows = data.results
    least = rows.loc[rows["engine"] == "metropolis", "ess_least"].min()
    return [
        over("transport", "gibbs"),
        over("transport", "metropolis"),
        f"The paper's own comparison: {over('gibbs', 'metropolis')}",
        f"In the worst study Metropolis has {least:,.0f} effective draws of the ward that it knows "
        "least.",
    ]


@styled
def figure(data: ExperimentData) -> Figure:
    """The paper's histograms: a row for each engine, a column for δ and one for λ."""
    rates = effective_rates(data.results, data.timings)
    studies = rates["task"].nunique()
    return page(
        heading("Effective draws a second", f"{studies} studies of 95 wards, 800 comparisons each"),
        *by_engine(rates, {"tie_rate": "tie threshold δ", "quality_rate": "mean over qualities λ"}),
        notes(
            "Every bar counts studies. All axes are logarithmic: a step between labels is ten "
            "times as many. Seconds are those of a whole fit on two threads, compiling left out."
        ),
    )


EXPERIMENT = Experiment(
    name="efficiency",
    title="Effective draws a second, engine by engine",
    question=(
        "On studies like South Yorkshire's, how many effective draws of the tie threshold and of "
        "the qualities does a second of each engine give?"
    ),
    job=run_case,
    cases=[STUDY | {"engines": EVERY_STEP}],
    quick=[STUDY | {"engines": SHORT_RUNS}],
    repeats=25,
    quick_repeats=5,
    table=table,
    columns=COLUMNS,
    figure=figure,
    finding=finding,
    timed=True,
)
