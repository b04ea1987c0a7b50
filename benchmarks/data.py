"""The data sets: two real studies where they are at hand, and the paper's scalability study."""

from __future__ import annotations

import numpy as np

from benchmarks.workload import FILES, ITEMS, STUDIES
from tiewise.data.comparisons import read_comparisons
from tiewise.experiments.designs import paper_model, scaling_model, scaling_study
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent

SEED = 20240607


def load(name: str) -> BradleyTerry:
    """The model of a data set, under the priors of the paper, as other samplers have them."""
    if name not in FILES:
        return synthetic(ITEMS[name])
    judgements, *neighbours = (STUDIES / file for file in FILES[name])
    counts = read_comparisons(judgements).counts()
    if not neighbours:
        return paper_model(counts, Independent(counts.items))
    return paper_model(counts, Network(Graph.from_edges(neighbours[0]), share=1.0))


def synthetic(size: int) -> BradleyTerry:
    """The paper's scalability study: Σ a normalised Wishart, ten comparisons an item, δ = 0.5."""
    return scaling_model(*scaling_study(size, np.random.default_rng([SEED, size])))
