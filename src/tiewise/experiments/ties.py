"""Tie handling: ties modelled, dropped, counted as half wins, or decided by a coin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from tiewise.data.counts import Counts
from tiewise.experiments.designs import county, judged, tie_for
from tiewise.experiments.experiment import (
    Column,
    Evidence,
    Experiment,
    averaged,
    percent,
    records,
    rooted,
)
from tiewise.experiments.plots import lines
from tiewise.jobs.run import Found
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Network, Prior
from tiewise.planning.recovery import Found as Posterior
from tiewise.planning.recovery import centred, correlation, found, held, places
from tiewise.plots.canvas import heading, notes, page, styled

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

    Counts are whole, so these hold everything twice, and the likelihood is given half of it.
    """

    @classmethod
    def of(cls, counts: Counts, prior: Prior) -> HalfWins:
        """The model of judgements with ties."""
        return cls(_wins(counts, 2 * counts.wins_first + counts.ties,
                         2 * counts.wins_second + counts.ties), prior, tie=None)  # fmt: skip

    @cached_property
    def successes(self) -> tuple[Floats, Floats]:
        """Wins of first over second and back, row by row; a tie was half a win each way."""
        forth, back = self.counts.successes()
        return forth / 2, back / 2


def by_coin(counts: Counts, rng: Generator) -> Counts:
    """The same judgements, every tie decided by a coin."""
    heads = rng.binomial(counts.ties, 0.5)
    return _wins(counts, counts.wins_first + heads, counts.wins_second + counts.ties - heads)


def _wins(counts: Counts, first: NDArray[np.int64], second: NDArray[np.int64]) -> Counts:
    return Counts.of(counts.items, counts.first, counts.second, first, second)


def handled(counts: Counts, prior: Prior, rng: Generator) -> dict[str, BradleyTerry]:
    """The four ways to treat ties, as models."""
    return {
        "modelled": BradleyTerry(counts, prior),
        "dropped": BradleyTerry(counts.without_ties(), prior, tie=None),
        "half": HalfWins.of(counts, prior),
        "coin": BradleyTerry(by_coin(counts, rng), prior, tie=None),
    }


def fitted(case: Mapping[str, Any], source: SeedSequence) -> Found:
    """One study, fitted in every way."""
    data, *chances = source.spawn(5)
    rng, graph = np.random.default_rng(data), county(case["wards"])
    tie = tie_for(graph, case["share"])
    truth, counts = judged(graph, comparisons=case["comparisons"], tie=tie, variance=1.0, rng=rng)
    models = handled(counts, Network(graph), rng)
    pairs = np.array([rng.choice(len(truth.items), 2, replace=False) for _ in range(PAIRS)])
    rows = [
        {"share": case["share"], "handling": way, "ties": counts.total_ties / counts.comparisons}
        | judged_by(found(model, own), centred(truth.quality), pairs)
        for (way, model), own in zip(models.items(), chances, strict=True)
    ]
    return Found(rows)


def judged_by(got: Posterior, truth: Floats, pairs: NDArray[np.int64]) -> dict[str, float]:
    """Spread, error, order and intervals of a posterior, beside the truth."""
    mean, one, two = got.mean, pairs[:, 0], pairs[:, 1]
    scale = float(mean @ truth / (mean @ mean))
    apart = got.quality[:, one] - got.quality[:, two]
    return {
        "slope": float(mean @ truth / (truth @ truth)),
        "scale": scale,
        "square": float(((mean - truth) ** 2).mean()),
        "scaled_square": float(((scale * mean - truth) ** 2).mean()),
        "rank_correlation": correlation(places(mean), places(truth)),
        "held": float(held(apart, truth[one] - truth[two], 0.95).mean()),
        "width": float(np.ptp(np.quantile(apart, (0.025, 0.975), axis=0), axis=0).mean()),
    }


def table(results: pd.DataFrame, _timings: pd.DataFrame) -> pd.DataFrame:
    """Means over the studies, by share of ties and handling."""
    values = ["ties", "slope", "scale", "square", "scaled_square", "rank_correlation", "held",
              "width"]  # fmt: skip
    out = averaged(results, ["share", "handling"], values)
    for square, into in (("square", "rmse"), ("scaled_square", "scaled_rmse")):
        out = rooted(out, square, into)
    return out.assign(told=out["share"].map(percent), label=out["handling"].map(LABELS))


COLUMNS = (
    Column("ties", "told"),
    Column("ties are", "label"),
    Column("slope of estimate on truth", "slope", ".3f", "slope_error"),
    Column("slope of truth on estimate", "scale", ".3f", "scale_error"),
    Column("RMSE of λ", "rmse", ".3f", "rmse_error"),
    Column("RMSE, best scaled", "scaled_rmse", ".3f", "scaled_rmse_error"),
    Column("rank correlation", "rank_correlation", ".3f", "rank_correlation_error"),
    Column("95 % intervals of differences hold", "held", ".3f", "held_error"),
    Column("their width", "width", ".2f", "width_error"),
)


def finding(evidence: Evidence) -> list[str]:
    """What each way does to scale, error and intervals where ties are many."""
    rows = records(evidence.table)
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
def figure(evidence: Evidence) -> Figure:
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
            evidence.table,
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
    job=fitted,
    cases=[_case(share) for share in SHARES],
    quick=[_case(share) for share in SHARES],
    repeats=60,
    quick_repeats=10,
    table=table,
    columns=COLUMNS,
    figure=figure,
    finding=finding,
)
