"""Sensitivity to δ: how well threshold and qualities come back with few ties and with many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.random import SeedSequence

from tiewise.experiments.designs import (
    county,
    expected_information,
    paper_model,
    tie_for_share,
)
from tiewise.experiments.experiment import (
    Experiment,
    ExperimentData,
    ResultColumn,
    comparison_words,
    group_means,
    mean_difference,
    records,
    with_root,
)
from tiewise.experiments.plots import strips
from tiewise.jobs.run import TaskResult
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, random_pairs, simulate_counts
from tiewise.planning.recovery import centred, correlation, interval_covers, sample_posterior
from tiewise.plots.canvas import heading, notes, page, styled
from tiewise.text import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STUDY = {
    "name": "county", "wards": 95, "comparisons": 800, "variance": 1.0,
    "shares": [0.05, 0.2, 0.5, 0.75],
}  # fmt: skip


def run_case(case: Mapping[str, Any], seed: SeedSequence) -> TaskResult:
    """One set of qualities and pairs, judged at every threshold.

    The same qualities and pairs throughout: what differs between thresholds is then theirs.
    """
    data_seed, *fit_seeds = seed.spawn(1 + len(case["shares"]))
    rng, graph = np.random.default_rng(data_seed), county(case["wards"])
    prior = Network(graph, share=1.0)
    base = Truth.from_priors(prior, Fixed(case["variance"]), None, rng)
    pairs = random_pairs(len(base.items), case["comparisons"], rng)
    rows = []
    for share, fit_seed in zip(case["shares"], fit_seeds, strict=True):
        tie = tie_for_share(graph, share, variance=case["variance"])
        truth = Truth(base.items, base.quality, tie, case["variance"])
        counts = simulate_counts(truth, case["comparisons"], rng, pairs)
        rows.append(
            {"share": share, "tie": tie, "ties": counts.total_ties / counts.comparisons}
            | recovery_errors(paper_model(counts, prior), truth, fit_seed)
            | {"information": expected_information(graph, tie, variance=case["variance"])}
        )
    return TaskResult(rows)


def recovery_errors(model: BradleyTerry, truth: Truth, seed: SeedSequence) -> dict[str, float]:
    """Errors of threshold and qualities, and whether 95 % intervals hold them."""
    sample, true_quality = sample_posterior(model, seed), centred(truth.quality)
    off = float(sample.tie.mean()) - truth.tie
    return {
        "tie_off": off, "tie_square": off**2, "tie_relative_square": (off / truth.tie) ** 2,
        "tie_sd": float(sample.tie.std(ddof=1)),
        "tie_held": float(interval_covers(sample.tie, truth.tie, 0.95)),
        "quality_square": float(((sample.mean - true_quality) ** 2).mean()),
        "quality_held": float(interval_covers(sample.quality, true_quality, 0.95).mean()),
        "correlation": correlation(sample.mean, true_quality),
    }  # fmt: skip


def table(results: pd.DataFrame, _timings: pd.DataFrame) -> pd.DataFrame:
    """Recovery by share of ties, with Monte Carlo errors."""
    values = [
        "tie", "ties", "tie_off", "tie_square", "tie_relative_square", "tie_held",
        "quality_square", "quality_held", "correlation", "information",
    ]  # fmt: skip
    out = group_means(results, ["share"], values)
    for square, into in (
        ("tie_square", "tie_rmse"), ("tie_relative_square", "tie_relative"),
        ("quality_square", "quality_rmse"),
    ):  # fmt: skip
        out = with_root(out, square, into)
    return out


COLUMNS = (
    ResultColumn("ties, aimed at", "share", ".0%"),
    ResultColumn("δ", "tie", ".3f"),
    ResultColumn("ties, got", "ties", ".1%"),
    ResultColumn("bias of δ", "tie_off", "+.4f", "tie_off_error"),
    ResultColumn("RMSE of δ", "tie_rmse", ".4f", "tie_rmse_error"),
    ResultColumn("RMSE of δ over δ", "tie_relative", ".3f", "tie_relative_error"),
    ResultColumn("95 % intervals hold δ", "tie_held", ".3f", "tie_held_error"),
    ResultColumn("RMSE of λ", "quality_rmse", ".4f", "quality_rmse_error"),
    ResultColumn("correlation of λ", "correlation", ".4f", "correlation_error"),
    ResultColumn("95 % intervals hold λ", "quality_held", ".3f", "quality_held_error"),
    ResultColumn("information an answer", "information", ".3f"),
)


def contrasts(results: pd.DataFrame, key: str) -> list[tuple[float, float, float, float]]:
    """How much larger the mean of a column is at the outer shares than at the inner ones.

    Each with its standard error, from differences within studies.
    """
    shares = sorted(float(share) for share in results["share"].unique())
    by = {share: results[results["share"] == share].sort_values("task") for share in shares}
    return [
        (outer, inner, *mean_difference(by[outer][key], by[inner][key]))
        for outer in (shares[0], shares[-1])
        for inner in shares[1:-1]
    ]


SCALES = {
    "quality_square": "The mean squared error of λ",
    "tie_square": "The mean squared error of δ",
    "tie_relative_square": "The mean squared error of δ, relative to δ²,",
}


def finding(data: ExperimentData) -> list[str]:
    """Where errors are larger at few and at many ties than in between, on each scale."""
    sentences = []
    for key, words in SCALES.items():
        parts = [
            f"at {percent(outer)} ties {comparison_words(gap, error)} at {percent(inner)} "
            f"({gap:+.2g} ± {error:.1g})"
            for outer, inner, gap, error in contrasts(data.results, key)
        ]
        sentences.append(f"{words} is " + "; ".join(parts) + ".")
    each = ", ".join(
        f"{row['information']:.3f} at {percent(row['share'])}" for row in records(data.table)
    )
    sentences.append(
        "What an answer tells about the difference of its pair (Fisher information, over uniform "
        f"pairs): {each}."
    )
    return sentences


@styled
def figure(data: ExperimentData) -> Figure:
    """Errors against the share of ties."""
    rows = data.results.assign(
        label=data.results["share"].map(lambda share: f"{percent(share)} ties"),
        quality_rmse=np.sqrt(data.results["quality_square"]),
        tie_away=np.sqrt(data.results["tie_square"]),
        tie_relative=np.sqrt(data.results["tie_relative_square"]),
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
    job=run_case,
    cases=[STUDY],
    quick=[STUDY],
    repeats=300,
    quick_repeats=20,
    table=table,
    columns=COLUMNS,
    figure=figure,
    finding=finding,
)
