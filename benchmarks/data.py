"""The data sets: two real studies where they are at hand, and the paper's scalability study."""

from __future__ import annotations

import numpy as np

from benchmarks.plan import FILES, ITEMS, STUDIES
from tiewise.core.data import read_comparisons
from tiewise.core.graph import Graph
from tiewise.core.model import BradleyTerry
from tiewise.core.prior import Covariance, Network
from tiewise.core.simulate import Truth, simulate_counts

SEED = 20240607


def load(name: str) -> BradleyTerry:
    """The model of a data set, under the default priors of α² and δ."""
    if name not in FILES:
        return synthetic(ITEMS[name])
    judgements, *neighbours = (STUDIES / file for file in FILES[name])
    counts = read_comparisons(judgements).counts()
    if not neighbours:
        return BradleyTerry(counts)
    return BradleyTerry(counts, Network(Graph.from_edges(neighbours[0])))


def synthetic(size: int) -> BradleyTerry:
    """The paper's scalability study: Σ a normalised Wishart, ten comparisons an item, δ = 0.5.

    Σ is Wishart(I) with as many degrees of freedom as items, scaled to unit variances; qualities
    are drawn from N(0, Σ), so α² = 1; pairs are uniform.
    """
    rng = np.random.default_rng([SEED, size])
    root = rng.standard_normal((size, size))
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    items = tuple(f"ward {k + 1}" for k in range(size))
    truth = Truth(items, root @ rng.standard_normal(size), tie=0.5, variance=1.0)
    counts = simulate_counts(truth, 10 * size, rng)
    return BradleyTerry(counts, Covariance(root @ root.T, items))
