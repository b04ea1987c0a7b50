"""Sensitivity to α²: what fixing the strength of the spatial prior does to the estimates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.random import SeedSequence
from numpy.typing import NDArray

from tiewise.experiments.designs import county, paper_model, simulate_county_study
from tiewise.experiments.experiment import (
    Experiment,
    ExperimentData,
    ResultColumn,
    group_means,
    rows_by,
)
from tiewise.experiments.plots import strips
from tiewise.geo.graph import Graph
from tiewise.jobs.run import TaskResult
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.planning.recovery import centred, correlation, rank_positions, rmse, sample_posterior
from tiewise.plots.canvas import heading, notes, page, styled
from tiewise.posterior.summaries import ENDS
from tiewise.text import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

STUDY = {"name": "county", "wards": 95, "comparisons": 800, "tie": 0.5, "variance": 1.0}
VERY_STRONG = 0.1  # of the lower end of the interval of α²
LABELS = {
    "inferred": "inferred",
    "weak": "weak: upper end of the 95 % interval",
    "strong": "strong: lower end of the 95 % interval",
    "very strong": "very strong: a tenth of the lower end",
}


def run_case(case: Mapping[str, Any], seed: SeedSequence) -> TaskResult:
    """One study with α² inferred, then fixed at both ends of its interval, and far below."""
    data_seed, *fit_seeds = seed.spawn(5)
    graph = county(case["wards"])
    truth, counts = simulate_county_study(
        graph, comparisons=case["comparisons"], tie=case["tie"], variance=case["variance"],
        rng=np.random.default_rng(data_seed),
    )  # fmt: skip
    prior, true_quality = Network(graph, share=1.0), centred(truth.quality)
    free = sample_posterior(paper_model(counts, prior), fit_seeds[0])
    low, high = (float(end) for end in np.quantile(free.variance, ENDS))
    means = {"inferred": free.mean}
    at = {"inferred": float(free.variance.mean()), "weak": high, "strong": low}
    at["very strong"] = VERY_STRONG * low
    for fit_seed, strength in zip(fit_seeds[1:], list(at)[1:], strict=True):
        model = paper_model(counts, prior, variance=Fixed(at[strength]))
        means[strength] = sample_posterior(model, fit_seed).mean
    sd = free.quality.std(axis=0, ddof=1)
    rows = [
        {"strength": strength, "variance": at[strength]}
        | change_from_inferred(mean, free.mean, sd, graph)
        | {"rmse": rmse(mean, true_quality), "correlation": correlation(mean, true_quality)}
        for strength, mean in means.items()
    ]
    return TaskResult(rows)


def change_from_inferred(
    mean: Floats, inferred: Floats, sd: Floats, graph: Graph
) -> dict[str, float]:
    """Posterior means against those with α² inferred: how far off, how smooth, how much smaller."""
    return {
        "moved": float((np.abs(mean - inferred) / sd).mean()),
        "rank_moved": float(np.abs(rank_positions(mean) - rank_positions(inferred)).mean()),
        "spread": float(mean.std() / inferred.std()),
        "between": _between(mean, graph) / _between(inferred, graph),
    }


def _between(mean: Floats, graph: Graph) -> float:
    """Typical difference between two neighbours."""
    one, two = graph.edges.T
    return float(np.sqrt(((mean[one] - mean[two]) ** 2).mean()))


def table(results: pd.DataFrame, _timings: pd.DataFrame) -> pd.DataFrame:
    """Means over the studies, strength by strength."""
    values = ["variance", "moved", "rank_moved", "spread", "between", "rmse", "correlation"]
    out = group_means(results, ["strength"], values)
    return out.assign(label=out["strength"].map(LABELS))


COLUMNS = (
    ResultColumn("prior", "label"),
    ResultColumn("α², mean", "variance", ".2f", "variance_error"),
    ResultColumn("estimates moved by, in posterior sd", "moved", ".2f", "moved_error"),
    ResultColumn("ranks moved by", "rank_moved", ".2f", "rank_moved_error"),
    ResultColumn("spread of estimates", "spread", ".3f", "spread_error"),
    ResultColumn("differences of neighbours", "between", ".3f", "between_error"),
    ResultColumn("RMSE of λ", "rmse", ".3f", "rmse_error"),
    ResultColumn("correlation with the truth", "correlation", ".3f", "correlation_error"),
)


def finding(data: ExperimentData) -> list[str]:
    """Which priors move estimates, and by how much."""
    by = rows_by(data.table, "strength")
    sentences = [
        f"{strength.capitalize()} prior: estimates move by {row['moved']:.2f} posterior sd and "
        f"{row['rank_moved']:.1f} places; their spread is {percent(row['spread'])} and the "
        f"differences between neighbours {percent(row['between'])} of what they are with α² "
        "inferred."
        for strength, row in by.items()
        if strength != "inferred"
    ]
    worse = max(by["weak"]["moved"], by["strong"]["moved"])
    return [
        *sentences,
        f"The very strong prior moves estimates {by['very strong']['moved'] / worse:.1f} times as "
        "far as the worse end of the interval does.",
    ]


@styled
def figure(data: ExperimentData) -> Figure:
    """How far estimates move, and what is left of their spread and of neighbours' differences."""
    fixed = data.results[data.results["strength"] != "inferred"]
    shown = {
        "moved": "how far estimates move, in posterior sd",
        "spread": "spread of estimates (1: as with α² inferred)",
        "between": "differences of neighbours (1: as with α² inferred)",
        "rank_moved": "places by which ranks move",
    }
    return page(
        heading("What a prior held too strong does", "α² held, against α² inferred"),
        *strips(fixed, "strength", shown, even={"spread": 1.0, "between": 1.0}),
        notes(
            "Dots: studies, with their median and quartiles beside them. Weak and strong: α² held "
            "at the upper and the lower end of its 95 % interval. Very strong: at a tenth of the "
            "lower end."
        ),
    )


EXPERIMENT = Experiment(
    name="alpha",
    title="Sensitivity to the prior variance α²",
    question=(
        "How much do estimates change when α² is held at a weak, strong or very strong value "
        "instead of being inferred?"
    ),
    job=run_case,
    cases=[STUDY],
    quick=[STUDY],
    repeats=100,
    quick_repeats=8,
    table=table,
    columns=COLUMNS,
    figure=figure,
    finding=finding,
)
