"""Scalability: how long each engine takes as there are more items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.random import SeedSequence

from tiewise.experiments.designs import scaling_model, scaling_study
from tiewise.experiments.experiment import Case, Column, Evidence, Experiment, averaged, records
from tiewise.experiments.plots import growth
from tiewise.experiments.timing import LABELS, WHOLE, clocked, quality_ess, steps, tie_ess
from tiewise.jobs.run import Found
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.plots.canvas import heading, notes, page, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (16, 32, 64, 128, 256, 512, 1024)
QUICK_SIZES = (16, 64, 256, 1024)
STEEP_FROM = 256  # from here on a fit is mostly matrices

# Sweeps and steps cost the same from first to last, so a part of a run tells the time of all of it.
PART: Mapping[str, Mapping[str, Any]] = {
    "gibbs": {"draws": 900, "warmup": 25, "as_published": True},
    "metropolis": {"draws": 64, "warmup": 4, "thin": 50},
}
SMALL_PART: Mapping[str, Mapping[str, Any]] = {
    "gibbs": {"draws": 80, "warmup": 5, "as_published": True},
    "metropolis": {"draws": 32, "warmup": 2, "thin": 50},
}
WHOLE_TO, PART_TO = 64, 256


def case(items: int, *, quick: bool = False) -> Case:
    """Engines and how much of a run each is given, by the number of items."""
    if quick:
        given = SMALL_PART
    else:
        whole = {"gibbs": WHOLE["gibbs"], "metropolis": PART["metropolis"]}
        given = whole if items <= WHOLE_TO else PART if items <= PART_TO else SMALL_PART
    engines = {"transport": WHOLE["transport"]} | dict(given)
    return {"name": str(items), "items": items, "engines": engines}


def fitted(case: Mapping[str, Any], source: SeedSequence) -> Found:
    """One study of so many items, fitted with every engine."""
    data, *others = source.spawn(1 + len(case["engines"]))
    covariance, counts = scaling_study(case["items"], np.random.default_rng(data))

    def build() -> BradleyTerry:
        return scaling_model(covariance, counts)

    rows, timings = [], []
    for (name, settings), own in zip(case["engines"].items(), others, strict=True):
        run = clocked(name, settings, build, own)
        ran, whole = steps(name, settings), steps(name, WHOLE[name])
        about = {"items": case["items"], "engine": name}
        # The draws of a part of a run are too few to count what they are worth.
        worth = ran == whole
        rows.append(
            about
            | {"steps": ran, "whole_steps": whole, "ties": counts.total_ties,
               "ess_tie": tie_ess(run.draws) if worth else None,
               "ess_least": float(quality_ess(run.draws).min()) if worth else None}
        )  # fmt: skip
        sampling = (run.seconds - run.build_seconds) * whole / ran
        timings.append(
            about
            | {"build_seconds": run.build_seconds, "seconds": run.seconds,
               "whole_seconds": run.build_seconds + sampling}
        )  # fmt: skip
    return Found(rows, timings)


def table(results: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Mean seconds of a whole run by items (rows) and engine (columns)."""
    long = averaged(timings, ["items", "engine"], ["whole_seconds"])
    out = pd.DataFrame({"items": sorted(long["items"].unique())})
    for name in long["engine"].unique():
        own = long[long["engine"] == name].set_index("items")
        out[name] = out["items"].map(own["whole_seconds"])
        out[f"{name}_error"] = out["items"].map(own["whole_seconds_error"])
    ours = results[results["engine"] == "transport"].groupby("items")["ess_least"].mean()
    return out.assign(ess_least=out["items"].map(ours))


COLUMNS = (
    Column("items", "items", ",.0f"),
    Column("Transport, 4,000 draws: s", "transport", "", "transport_error"),
    Column("its smallest ESS of λ", "ess_least", ",.0f"),
    Column("Gibbs, 5,000 sweeps: s", "gibbs", "", "gibbs_error"),
    Column("Metropolis, 100,000 steps: s", "metropolis", "", "metropolis_error"),
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


def finding(evidence: Evidence) -> list[str]:
    """How times grow, and what was not run in full."""
    said = []
    for name in evidence.timings["engine"].unique():
        low, error = exponent(evidence.timings, name, 0)
        high, wrong = exponent(evidence.timings, name, STEEP_FROM)
        said.append(
            f"{LABELS[name]}: time grows as N^{low:.2f} (± {error:.2f}) over all sizes, and as "
            f"N^{high:.2f} (± {wrong:.2f}) from {STEEP_FROM} items on."
        )
    last = records(evidence.table)[-1]
    said.append(
        f"At {last['items']:,.0f} items Transport takes {last['transport']:.3g} s, Gibbs "
        f"{last['gibbs'] / last['transport']:,.0f} times and Metropolis "
        f"{last['metropolis'] / last['transport']:,.0f} times as long."
    )
    part = evidence.results[evidence.results["steps"] < evidence.results["whole_steps"]]
    runs = "; ".join(
        f"{LABELS[str(name)]} at {sizes} items"
        for name, rows in part.groupby("engine", sort=False)
        for sizes in [", ".join(f"{n:,}" for n in sorted(rows["items"].unique()))]
    )
    if runs:
        said.append(
            f"Run in part, and the time of a whole run worked out from it: {runs}. Every sweep or "
            "step costs the same."
        )
    return said


@styled
def figure(evidence: Evidence) -> Figure:
    """Seconds against items, both logarithmic."""
    studies = evidence.timings.groupby(["items", "engine"]).size().max()
    return page(
        heading("Seconds of a fit as there are more items", f"{studies} studies of each size"),
        growth(evidence.table, evidence.timings, lambda name: exponent(
            evidence.timings, name, STEEP_FROM)[0]),
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
    job=fitted,
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
