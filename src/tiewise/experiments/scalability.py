"""Scalability: how long each engine takes as there are more items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.random import SeedSequence

from tiewise.experiments.designs import scaling_model, scaling_study
from tiewise.experiments.experiment import (
    Case,
    Experiment,
    ExperimentData,
    ResultColumn,
    group_means,
    records,
)
from tiewise.experiments.plots import growth
from tiewise.experiments.timing import (
    FULL_RUNS,
    LABELS,
    quality_ess,
    tie_ess,
    time_fit,
    total_steps,
)
from tiewise.jobs.run import TaskResult
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.plots.canvas import heading, notes, page, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (16, 32, 64, 128, 256, 512, 1024)
QUICK_SIZES = (16, 64, 256, 1024)
STEEP_FROM = 256  # from here on a fit is mostly matrices

# Every sweep or step costs the same, so a partial run tells the time of a whole one.
PARTIAL_RUNS: Mapping[str, Mapping[str, Any]] = {
    "gibbs": {"draws": 900, "warmup": 25, "as_published": True},
    "metropolis": {"draws": 64, "warmup": 4, "thin": 50},
}
SHORT_RUNS: Mapping[str, Mapping[str, Any]] = {
    "gibbs": {"draws": 80, "warmup": 5, "as_published": True},
    "metropolis": {"draws": 32, "warmup": 2, "thin": 50},
}
WHOLE_TO, PART_TO = 64, 256


def case(items: int, *, quick: bool = False) -> Case:
    """Engines and the length of their runs, by the number of items."""
    if quick:
        runs = SHORT_RUNS
    else:
        whole = {"gibbs": FULL_RUNS["gibbs"], "metropolis": PARTIAL_RUNS["metropolis"]}
        runs = whole if items <= WHOLE_TO else PARTIAL_RUNS if items <= PART_TO else SHORT_RUNS
    engines = {"transport": FULL_RUNS["transport"]} | dict(runs)
    return {"name": str(items), "items": items, "engines": engines}


def run_case(case: Mapping[str, Any], seed: SeedSequence) -> TaskResult:
    """One study of so many items, fitted with every engine."""
    data_seed, *fit_seeds = seed.spawn(1 + len(case["engines"]))
    covariance, counts = scaling_study(case["items"], np.random.default_rng(data_seed))

    def build() -> BradleyTerry:
        return scaling_model(covariance, counts)

    rows, timings = [], []
    for (name, settings), fit_seed in zip(case["engines"].items(), fit_seeds, strict=True):
        run = time_fit(name, settings, build, fit_seed)
        ran, whole = total_steps(name, settings), total_steps(name, FULL_RUNS[name])
        keys = {"items": case["items"], "engine": name}
        # The draws of a partial run are too few for an effective sample size.
        complete = ran == whole
        rows.append(
            keys
            | {"steps": ran, "whole_steps": whole, "ties": counts.total_ties,
               "ess_tie": tie_ess(run.draws) if complete else None,
               "ess_least": float(quality_ess(run.draws).min()) if complete else None}
        )  # fmt: skip
        sampling = (run.seconds - run.build_seconds) * whole / ran
        timings.append(
            keys
            | {"build_seconds": run.build_seconds, "seconds": run.seconds,
               "whole_seconds": run.build_seconds + sampling}
        )  # fmt: skip
    return TaskResult(rows, timings)


def table(results: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Mean seconds of a whole run by items (rows) and engine (columns)."""
    long = group_means(timings, ["items", "engine"], ["whole_seconds"])
    out = pd.DataFrame({"items": sorted(long["items"].unique())})
    for name in long["engine"].unique():
        own = long[long["engine"] == name].set_index("items")
        out[name] = out["items"].map(own["whole_seconds"])
        out[f"{name}_error"] = out["items"].map(own["whole_seconds_error"])
    ours = results[results["engine"] == "transport"].groupby("items")["ess_least"].mean()
    return out.assign(ess_least=out["items"].map(ours))


COLUMNS = (
    ResultColumn("items", "items", ",.0f"),
    ResultColumn("Transport, 4,000 draws: s", "transport", "", "transport_error"),
    ResultColumn("its smallest ESS of λ", "ess_least", ",.0f"),
    ResultColumn("Gibbs, 5,000 sweeps: s", "gibbs", "", "gibbs_error"),
    ResultColumn("Metropolis, 100,000 steps: s", "metropolis", "", "metropolis_error"),
)


def exponent(timings: pd.DataFrame, engine: str, start: int) -> tuple[float, float]:
    """Slope of log seconds on log items from `start` items on, and its standard error."""
    own = timings[(timings["engine"] == engine) & (timings["items"] >= start)]
    x, y = np.log(own["items"].to_numpy(float)), np.log(own["whole_seconds"].to_numpy(float))
    if len(set(x)) < 2:
        return np.nan, np.nan
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    left = y - y.mean() - slope * x
    return slope, float(np.sqrt(left @ left / max(len(x) - 2, 1) / (x @ x)))


def finding(data: ExperimentData) -> list[str]:
    """How times grow, and what was not run in full."""
    sentences = []
    for name in data.timings["engine"].unique():
        low, error = exponent(data.timings, name, 0)
        high, high_error = exponent(data.timings, name, STEEP_FROM)
        sentences.append(
            f"{LABELS[name]}: time grows as N^{low:.2f} (± {error:.2f}) over all sizes, and as "
            f"N^{high:.2f} (± {high_error:.2f}) from {STEEP_FROM} items on."
        )
    last = records(data.table)[-1]
    sentences.append(
        f"At {last['items']:,.0f} items Transport takes {last['transport']:.3g} s, Gibbs "
        f"{last['gibbs'] / last['transport']:,.0f} times and Metropolis "
        f"{last['metropolis'] / last['transport']:,.0f} times as long."
    )
    part = data.results[data.results["steps"] < data.results["whole_steps"]]
    runs = "; ".join(
        f"{LABELS[str(name)]} at {sizes} items"
        for name, rows in part.groupby("engine", sort=False)
        for sizes in [", ".join(f"{n:,}" for n in sorted(rows["items"].unique()))]
    )
    if runs:
        sentences.append(
            f"Run in part, and the time of a whole run worked out from it: {runs}. Every sweep or "
            "step costs the same."
        )
    return sentences


@styled
def figure(data: ExperimentData) -> Figure:
    """Seconds against items, both logarithmic."""
    studies = data.timings.groupby(["items", "engine"]).size().max()
    return page(
        heading("Seconds of a fit as there are more items", f"{studies} studies of each size"),
        growth(data.table, data.timings, lambda name: exponent(
            data.timings, name, STEEP_FROM)[0]),
        notes(
            "Lines join means; dots are studies. Transport: 4,000 draws. Gibbs: 5,000 sweeps. "
            f"Metropolis: 100,000 steps. The powers of N are fitted from {STEEP_FROM} items on.",
            "Ten comparisons an item; two threads; compiling left out.",
        ),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="scalability",
    title="Seconds of a fit, from 16 to 1,024 items",
    question="How long does a fit take with each engine as there are more items?",
    job=run_case,
    cases=[case(items) for items in SIZES],
    quick=[case(items, quick=True) for items in QUICK_SIZES],
    repeats=10,
    quick_repeats=3,
    table=table,
    columns=COLUMNS,
    figure=figure,
    finding=finding,
    timed=True,
)
