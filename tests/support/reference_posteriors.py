"""Comparison of an engine with the reference posteriors of real studies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.random import SeedSequence
from scipy import stats

from support.prior_sets import PAPER
from support.reference_formulas import LEVEL, assert_normal_scores, monte_carlo_error
from tiewise.data.comparisons import read_comparisons
from tiewise.engines.base import Engine
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import QualityPrior
from tiewise.progress import no_progress


def assert_reference_posterior(
    real: Callable[[str], Path], name: str, prior: QualityPrior, engine: Engine
) -> None:
    """Means of δ, α² and all qualities: the largest |z|, and Σz² with their correlation."""
    z, correlation = _scores(real, name, prior, engine)
    assert_normal_scores(z)
    # Σz² has mean n and variance 2 tr R²: a scaled chi-square with these (Satterthwaite).
    scale = (correlation**2).sum() / len(z)
    total = stats.chi2(len(z) / scale)
    assert LEVEL < total.cdf((z**2).sum() / scale) < 1 - LEVEL


def _scores(
    real: Callable[[str], Path], name: str, prior: QualityPrior, engine: Engine
) -> tuple[np.ndarray, np.ndarray]:
    """z of every mean by the combined Monte Carlo error of both runs; correlation of the draws."""
    comparisons = read_comparisons(real(f"data/{name}-comparisons.csv"))
    gold = pd.read_csv(real(f"gold/{name}.csv"), dtype={"item": str})
    model = BradleyTerry(comparisons.counts(), prior, **PAPER)
    draws = engine.run(model, SeedSequence(2), no_progress)
    centred = draws.quality - draws.quality.mean(axis=-1, keepdims=True)
    table = np.concatenate([draws.tie[..., None], draws.variance[..., None], centred], axis=-1)
    rows = gold.set_index(gold["parameter"] + gold["item"].fillna(""))
    rows = rows.loc[["tie", "variance", *(f"quality{item}" for item in model.items)]]
    error = np.hypot(monte_carlo_error(table), rows["mcse_mean"])
    z = (table.mean(axis=(0, 1)) - rows["mean"].to_numpy()) / error.to_numpy()
    assert len(z) == len(gold) == model.size + 2
    return z, np.corrcoef(table.reshape(-1, len(z)).T)
