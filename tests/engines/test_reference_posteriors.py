"""South Yorkshire and Dar es Salaam, against reference posteriors by another system."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.random import SeedSequence
from scipy import stats

from support.reference_formulas import LEVEL, monte_carlo_error, within_chance
from tiewise.data.comparisons import read_comparisons
from tiewise.engines.gibbs import Gibbs
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Independent, Network, Prior
from tiewise.progress import no_progress

Real = Callable[[str], Path]


def scores(real: Real, name: str, prior: Prior, engine: Gibbs) -> tuple[np.ndarray, np.ndarray]:
    """z of every mean by the combined Monte Carlo error of both runs, and how draws correlate."""
    comparisons = read_comparisons(real(f"data/{name}-comparisons.csv"))
    gold = pd.read_csv(real(f"gold/{name}.csv"), dtype={"item": str})
    model = BradleyTerry(comparisons.counts(), prior)
    draws = engine.run(model, SeedSequence(2), no_progress)
    centred = draws.quality - draws.quality.mean(axis=-1, keepdims=True)
    table = np.concatenate([draws.tie[..., None], draws.variance[..., None], centred], axis=-1)
    rows = gold.set_index(gold["parameter"] + gold["item"].fillna(""))
    rows = rows.loc[["tie", "variance", *(f"quality{item}" for item in model.items)]]
    error = np.hypot(monte_carlo_error(table), rows["mcse_mean"])
    z = (table.mean(axis=(0, 1)) - rows["mean"].to_numpy()) / error.to_numpy()
    assert len(z) == len(gold) == model.size + 2
    return z, np.corrcoef(table.reshape(-1, len(z)).T)


def judge(z: np.ndarray, together: np.ndarray) -> None:
    """The largest |z| within chance; and Σz², whose spread the correlation of parameters tells."""
    within_chance(z)
    # Σz² has mean n and variance 2 tr R²: a scaled chi-square with these (Satterthwaite).
    scale = (together**2).sum() / len(z)
    total = stats.chi2(len(z) / scale)
    assert LEVEL < total.cdf((z**2).sum() / scale) < 1 - LEVEL


def test_south_yorkshire_is_the_reference_posterior(real):
    """δ, α² and every quality, independent prior."""
    engine = Gibbs(draws=5000, warmup=200)
    judge(*scores(real, "south-yorkshire", Independent(), engine))


@pytest.mark.slow
def test_south_yorkshire_as_published_is_the_reference_posterior_too(real):
    engine = Gibbs(draws=8000, warmup=400, as_published=True)
    judge(*scores(real, "south-yorkshire", Independent(), engine))


@pytest.mark.slow
def test_dar_es_salaam_is_the_reference_posterior(real):
    """δ, α² and every quality of 452 subwards, network prior."""
    graph = Graph.from_edges(real("data/dar-es-salaam-edges.csv"))
    engine = Gibbs(draws=1000, warmup=60)
    judge(*scores(real, "dar-es-salaam", Network(graph), engine))
