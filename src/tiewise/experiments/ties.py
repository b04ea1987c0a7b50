"""Tie handling: ties modelled, dropped, counted as half wins, or decided by a coin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from tiewise.data.counts import Counts
from tiewise.experiments.designs import (
    county,
    paper_model,
    simulate_county_study,
    tie_for_share,
)
from tiewise.experiments.experiment import (
    Experiment,
    ExperimentData,
    ResultColumn,
    group_means,
    records,
    with_root,
)
from tiewise.experiments.plots import lines
from tiewise.jobs.run import TaskResult
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import Likelihood
from tiewise.model.map_priors import Network
from tiewise.model.prior_sets import PAPER_VARIANCE
from tiewise.model.quality_priors import QualityPrior
from tiewise.planning.recovery import (
    PosteriorSample,
    centred,
    correlation,
    interval_covers,
    rank_positions,
    sample_posterior,
)
from tiewise.plots.canvas import heading, notes, page, styled
from tiewise.text import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

SHARES = (0.05, 0.2, 0.5, 0.75)
LABELS = {
    "modelled": "modelled", "dropped": "dropped", "half": "half a win each",
    "coin": "decided by a coin",
}  # fmt: skip
PAIRS = 400


class HalfWins(BradleyTerry):
    """A model without ties in which each tie is half a win for both.

    Counts are whole numbers, so these hold everything twice, and the likelihood halves them.
    """

    @classmethod
    def of(cls, counts: Counts, prior: QualityPrior) -> HalfWins:
        """The model of judgements with ties."""
        doubled = _wins(
            counts, 2 * counts.wins_first + counts.ties, 2 * counts.wins_second + counts.ties
        )
        return cls(doubled, prior, variance=PAPER_VARIANCE, tie=None)

    @cached_property
    def likelihood(self) -> Likelihood:
        """The likelihood of half the counts."""
        whole = Likelihood.plain(self.counts)
        return replace(
            whole,
            successes_first=whole.successes_first / 2,
            successes_second=whole.successes_second / 2,
        )


def break_ties_randomly(counts: Counts, rng: Generator) -> Counts:
    """The same judgements, every tie decided by a coin."""
    heads = rng.binomial(counts.ties, 0.5)
    return _wins(counts, counts.wins_first + heads, counts.wins_second + counts.ties - heads)


def _wins(counts: Counts, first: NDArray[np.int64], second: NDArray[np.int64]) -> Counts:
    return Counts.of(counts.items, counts.first, counts.second, first, second)


def tie_models(counts: Counts, prior: QualityPrior, rng: Generator) -> dict[str, BradleyTerry]:
    """The four ways to treat ties, as models."""
    return {
        "modelled": paper_model(counts, prior),
        "dropped": paper_model(counts.without_ties(), prior, tie=None),
        "half": HalfWins.of(counts, prior),
        "coin": paper_model(break_ties_randomly(counts, rng), prior, tie=None),
    }


def run_case(case: Mapping[str, Any], seed: SeedSequence) -> TaskResult:
    """One study, fitted in every way."""
    data_seed, *fit_seeds = seed.spawn(5)
    rng, graph = np.random.default_rng(data_seed), county(case["wards"])
    tie = tie_for_share(graph, case["share"])
    truth, counts = simulate_county_study(
        graph, comparisons=case["comparisons"], tie=tie, variance=1.0, rng=rng
    )
    models = tie_models(counts, Network(graph, share=1.0), rng)
    pairs = np.array([rng.choice(len(truth.items), 2, replace=False) for _ in range(PAIRS)])
    rows = [
        {"share": case["share"], "handling": way, "ties": counts.total_ties / counts.comparisons}
        | posterior_accuracy(sample_posterior(model, fit_seed), centred(truth.quality), pairs)
        for (way, model), fit_seed in zip(models.items(), fit_seeds, strict=True)
    ]
    return TaskResult(rows)


def posterior_accuracy(
    sample: PosteriorSample, truth: Floats, pairs: NDArray[np.int64]
) -> dict[str, float]:
    """Spread, error, order and intervals of a posterior, against the truth."""
    mean, one, two = sample.mean, pairs[:, 0], pairs[:, 1]
    scale = float(mean @ truth / (mean @ mean))
    difference = sample.quality[:, one] - sample.quality[:, two]
    return {
        "slope": float(mean @ truth / (truth @ truth)),
        "scale": scale,
        "square": float(((mean - truth) ** 2).mean()),
        "scaled_square": float(((scale * mean - truth) ** 2).mean()),
        "rank_correlation": correlation(rank_positions(mean), rank_positions(truth)),
        "held": float(interval_covers(difference, truth[one] - truth[two], 0.95).mean()),
        "width": float(np.ptp(np.quantile(difference, (0.025, 0.975), axis=0), axis=0).mean()),
    }


def table(results: pd.DataFrame, _timings: pd.DataFrame) -> pd.DataFrame:
    """Means over the studies, by share of ties and handling."""
    values = ["ties", "slope", "scale", "square", "scaled_square", "rank_correlation", "held",
              "width"]  # fmt: skip
    out = group_means(results, ["share", "handling"], values)
    for square, into in (("square", "rmse"), ("scaled_square", "scaled_rmse")):
        out = with_root(out, square, into)
    return out.assign(told=out["share"].map(percent), label=out["handling"].map(LABELS))


COLUMNS = (
    ResultColumn("ties", "told"),
    ResultColumn("ties are", "label"),
    ResultColumn("slope of estimate on truth", "slope", ".3f", "slope_error"),
    ResultColumn("slope of truth on estimate", "scale", ".3f", "scale_error"),
    ResultColumn("RMSE of λ", "rmse", ".3f", "rmse_error"),
    ResultColumn("RMSE, best scaled", "scaled_rmse", ".3f", "scaled_rmse_error"),
    ResultColumn("rank correlation", "rank_correlation", ".3f", "rank_correlation_error"),
    ResultColumn("95 % intervals of differences hold", "held", ".3f", "held_error"),
    ResultColumn("their width", "width", ".2f", "width_error"),
)


def finding(data: ExperimentData) -> list[str]:
    """What each way does to scale, error and intervals where ties are many."""
    rows = records(data.table)
    by = {(row["handling"], row["share"]): row for row in rows}
    shares = list(dict.fromkeys(row["share"] for row in rows))
    at = ", ".join(f"{100 * share:.0f}" for share in shares) + " % of ties"

    def each(form: Callable[[dict[str, Any], dict[str, Any]], str], ways: Iterable[str]) -> str:
        """What `form` says of each way beside ties modelled, share by share."""
        return "; ".join(
            f"{LABELS[way]} "
            + ", ".join(form(by[way, share], by["modelled", share]) for share in shares)
            for way in ways
        )

    others = [way for way in LABELS if way != "modelled"]
    return [
        f"Slope of truth on estimate (1 is right) at {at}: "
        + each(lambda row, _: f"{row['scale']:.2f}", LABELS) + ".",
        f"95 % intervals of differences that hold at {at}: "
        + each(lambda row, _: percent(row["held"]), LABELS) + ".",
        f"Error after the best scaling, beyond that of ties modelled, at {at}: "
        + each(
            lambda row, right: f"{100 * (row['scaled_rmse'] / right['scaled_rmse'] - 1):+.1f} %",
            others,
        ) + ".",
    ]  # fmt: skip


@styled
def figure(data: ExperimentData) -> Figure:
    """Scale, error, order and intervals against the share of ties, way by way."""
    shown = {
        "scale": "slope of truth on estimate (1 is right)",
        "scaled_rmse": "RMSE of λ after the best scaling",
        "rank_correlation": "rank correlation with the truth",
        "held": "share of 95 % intervals of differences that hold",
    }
    return page(
        heading("Four ways to treat ties", "the same studies fitted in each way"),
        *lines(
            data.table,
            "share",
            "label",
            shown,
            even={"scale": 1.0, "held": 0.95},
            doubling=("scale",),
        ),
        notes(
            "Lines: means over studies, with two Monte Carlo standard errors. Dotted: what would "
            "be right."
        ),
    )


def _case(share: float) -> dict[str, Any]:
    return {"name": f"{share:g}", "wards": 95, "comparisons": 800, "share": share}


EXPERIMENT = Experiment(
    name="ties",
    title="What to do with ties",
    question=(
        "Ties modelled, dropped, counted as half a win for each, or decided by a coin: what does "
        "each do to estimates and intervals?"
    ),
    job=run_case,
    cases=[_case(share) for share in SHARES],
    quick=[_case(share) for share in SHARES],
    repeats=60,
    quick_repeats=10,
    table=table,
    columns=COLUMNS,
    figure=figure,
    finding=finding,
)
