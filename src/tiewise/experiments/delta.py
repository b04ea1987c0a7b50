"""Sensitivity to δ: how well threshold and qualities come back with few ties and with many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.random import SeedSequence

from tiewise.experiments.designs import county, expected_information, tie_for
from tiewise.experiments.experiment import (
    Column,
    Evidence,
    Experiment,
    apart,
    averaged,
    percent,
    records,
    rooted,
    versus,
)  # fmt: skip
from tiewise.experiments.plots import strips
from tiewise.jobs.run import Found
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Network
from tiewise.model.scalar_priors import Fixed
from tiewise.model.simulate import Truth, random_pairs, simulate_counts
from tiewise.planning.recovery import centred, correlation, found, held
from tiewise.plots.canvas import heading, notes, page, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STUDY = {
    "name": "county", "wards": 95, "comparisons": 800, "variance": 1.0,
    "shares": [0.05, 0.2, 0.5, 0.75],
}  # fmt: skip


def fitted(case: Mapping[str, Any], source: SeedSequence) -> Found:
    """One set of qualities and pairs, judged at every threshold.

    The same qualities and pairs throughout: what differs between thresholds is then theirs.
    """
    data, *chances = source.spawn(1 + len(case["shares"]))
    rng, graph = np.random.default_rng(data), county(case["wards"])
    prior = Network(graph)
    drawn = Truth.drawn(prior, Fixed(case["variance"]), None, rng)
    pairs = random_pairs(len(drawn.items), case["comparisons"], rng)
    rows = []
    for share, own in zip(case["shares"], chances, strict=True):
        tie = tie_for(graph, share, variance=case["variance"])
        truth = Truth(drawn.items, drawn.quality, tie, case["variance"])
        counts = simulate_counts(truth, case["comparisons"], rng, pairs)
        rows.append(
            {"share": share, "tie": tie, "ties": counts.total_ties / counts.comparisons}
            | recovered(BradleyTerry(counts, prior), truth, own)
            | {"information": expected_information(graph, tie, variance=case["variance"])}
        )
    return Found(rows)


def recovered(model: BradleyTerry, truth: Truth, source: SeedSequence) -> dict[str, float]:
    """Errors of threshold and qualities, and whether 95 % intervals hold them."""
    got, known = found(model, source), centred(truth.quality)
    off = float(got.tie.mean()) - truth.tie
    return {
        "tie_off": off, "tie_square": off**2, "tie_relative_square": (off / truth.tie) ** 2,
        "tie_sd": float(got.tie.std(ddof=1)), "tie_held": float(held(got.tie, truth.tie, 0.95)),
        "quality_square": float(((got.mean - known) ** 2).mean()),
        "quality_held": float(held(got.quality, known, 0.95).mean()),
        "correlation": correlation(got.mean, known),
    }  # fmt: skip


def table(results: pd.DataFrame, _timings: pd.DataFrame) -> pd.DataFrame:
    """Recovery by share of ties, with Monte Carlo errors."""
    values = [
        "tie", "ties", "tie_off", "tie_square", "tie_relative_square", "tie_held",
        "quality_square", "quality_held", "correlation", "information",
    ]  # fmt: skip
    out = averaged(results, ["share"], values)
    for square, into in (
        ("tie_square", "tie_rmse"), ("tie_relative_square", "tie_relative"),
        ("quality_square", "quality_rmse"),
    ):  # fmt: skip
        out = rooted(out, square, into)
    return out


COLUMNS = (
    Column("ties, aimed at", "share", ".0%"),
    Column("δ", "tie", ".3f"),
    Column("ties, got", "ties", ".1%"),
    Column("bias of δ", "tie_off", "+.4f", "tie_off_error"),
    Column("RMSE of δ", "tie_rmse", ".4f", "tie_rmse_error"),
    Column("RMSE of δ over δ", "tie_relative", ".3f", "tie_relative_error"),
    Column("95 % intervals hold δ", "tie_held", ".3f", "tie_held_error"),
    Column("RMSE of λ", "quality_rmse", ".4f", "quality_rmse_error"),
    Column("correlation of λ", "correlation", ".4f", "correlation_error"),
    Column("95 % intervals hold λ", "quality_held", ".3f", "quality_held_error"),
    Column("information an answer", "information", ".3f"),
)


def contrasts(results: pd.DataFrame, key: str) -> list[tuple[float, float, float, float]]:
    """How much larger the mean of a column is at the outer shares than at the inner ones.

    Each with its standard error, from differences within studies.
    """
    shares = sorted(float(share) for share in results["share"].unique())
    by = {share: results[results["share"] == share].sort_values("task") for share in shares}
    return [
        (outer, inner, *apart(by[outer][key], by[inner][key]))
        for outer in (shares[0], shares[-1])
        for inner in shares[1:-1]
    ]


SCALES = {
    "quality_square": "The mean squared error of λ",
    "tie_square": "The mean squared error of δ",
    "tie_relative_square": "The mean squared error of δ, relative to δ²,",
}


def finding(evidence: Evidence) -> list[str]:
    """Where errors are larger at few and at many ties than in between, on each scale."""
    said = []
    for key, words in SCALES.items():
        parts = [
            f"at {percent(outer)} ties {versus(gap, error)} at {percent(inner)} "
            f"({gap:+.2g} ± {error:.1g})"
            for outer, inner, gap, error in contrasts(evidence.results, key)
        ]
        said.append(f"{words} is " + "; ".join(parts) + ".")
    each = ", ".join(
        f"{row['information']:.3f} at {percent(row['share'])}" for row in records(evidence.table)
    )
    said.append(
        "What an answer tells about the difference of its pair (Fisher information, over uniform "
        f"pairs): {each}."
    )
    return said


@styled
def figure(evidence: Evidence) -> Figure:
    """Errors against the share of ties."""
    rows = evidence.results.assign(
        label=evidence.results["share"].map(lambda share: f"{percent(share)} ties"),
        quality_rmse=np.sqrt(evidence.results["quality_square"]),
        tie_away=np.sqrt(evidence.results["tie_square"]),
        tie_relative=np.sqrt(evidence.results["tie_relative_square"]),
    )
    shown = {
        "quality_rmse": "error of λ in a study (RMSE)",
        "tie_away": "error of δ in a study",
        "tie_relative": "error of δ as a share of δ",
    }
    return page(
        heading("Errors by share of ties", "the same qualities and pairs at every share"),
        *strips(rows, "label", shown),
        notes(
            "Dots: studies; bars: their quartiles and median. Shares are of comparisons that are "
            "expected to tie."
        ),
    )


EXPERIMENT = Experiment(
    name="delta",
    title="Sensitivity to the tie threshold δ",
    question=(
        "How well are the threshold and the qualities recovered when 5, 20, 50 and 75 % of "
        "comparisons tie?"
    ),
    job=fitted,
    cases=[STUDY],
    quick=[STUDY],
    repeats=300,
    quick_repeats=20,
    table=table,
    columns=COLUMNS,
    figure=figure,
    finding=finding,
)
