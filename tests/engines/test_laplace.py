"""Laplace: how far its weighted means may be trusted, and what it reports about that."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.random import SeedSequence

from support.prior_sets import PAPER
from support.quadrature_cases import IG
from tiewise.data.comparisons import read_comparisons
from tiewise.data.counts import Counts
from tiewise.engines.laplace import Laplace
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.simulate import simulate_counts
from tiewise.posterior.fit import fit
from tiewise.posterior.summaries import summarise
from tiewise.progress import no_progress


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_weighted_means_come_close_to_the_reference_of_south_yorkshire(real, seed):
    """Within a tenth of a posterior sd at the median over wards, and half an sd at worst."""
    counts = read_comparisons(real("data/south-yorkshire-comparisons.csv")).counts()
    gold = pd.read_csv(real("gold/south-yorkshire.csv"), dtype={"item": str}).dropna()
    gold = gold.set_index("item")
    tree = fit(BradleyTerry(counts, **PAPER), Laplace(), rng=seed)
    table = summarise(tree).set_index("item")
    off = ((table["mean"] - gold["mean"]) / gold["sd"]).abs()
    assert len(off) == 95
    assert off.median() < 0.1
    assert off.max() < 0.5
    assert 0.3 < tree.attrs["engine_k_hat"] < 1.0


@pytest.mark.slow
def test_plain_laplace_is_skew_blind_and_the_weights_mend_it(real):
    """What the weights are for: without them the worst ward is more than twice as far off."""
    counts = read_comparisons(real("data/south-yorkshire-comparisons.csv")).counts()
    gold = pd.read_csv(real("gold/south-yorkshire.csv"), dtype={"item": str}).dropna()
    gold = gold.set_index("item")
    worst = []
    for engine in (Laplace(draws=64_000), Laplace(draws=64_000, weighted=False)):
        table = summarise(fit(BradleyTerry(counts, **PAPER), engine, rng=2)).set_index("item")
        worst.append(((table["mean"] - gold["mean"]) / gold["sd"]).abs().max())
    assert worst[0] < worst[1] / 2


def test_a_misfit_is_reported():
    """Three items, one that always wins, hardly any data: k-hat is high and the user is warned."""
    counts = Counts.of(("a", "b", "c"), [0, 0, 1], [1, 2, 2], [4, 4, 1], [0, 0, 1])
    tree = fit(BradleyTerry(counts), Laplace(), rng=2)
    poor = tree.attrs["engine_health"] == "poor"
    assert poor == (tree.attrs["engine_k_hat"] > 0.7)
    assert poor == ("poorly" in tree.attrs["warnings"])


def test_it_can_start_from_an_earlier_mode(village):
    """More judgements arrive: the same draws as afresh, up to how well the mode is known."""
    before = Laplace(draws=200).run(village.model, SeedSequence(2), no_progress)
    more = village.counts + simulate_counts(village.truth, 10, np.random.default_rng(2))
    model = BradleyTerry(more, village.model.prior, variance=IG, tie=Exponential(2.0))
    afresh, warm = Laplace(draws=200), Laplace(draws=200, start=before.warm_start)
    one, two = (engine.run(model, SeedSequence(2), no_progress) for engine in (afresh, warm))
    assert np.allclose(one.quality.mean(axis=1), two.quality.mean(axis=1), atol=0.05)
    assert fit(model, warm, rng=2).attrs["engine_health"] in {"good", "fair", "poor"}
