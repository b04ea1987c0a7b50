"""The data sets: real studies where they are at hand, the paper's scalability study, and others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from benchmarks.workload import FILES, ITEMS, STUDIES
from tiewise.data.comparisons import read_comparisons
from tiewise.data.counts import Counts
from tiewise.experiments.designs import paper_model, scaling_model, scaling_study
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent
from tiewise.model.simulate import Truth, simulate_counts

SEED = 20240607
TIE, ALPHA, SHARE = 0.3, 1.2, 0.7
"""The truth of simulated studies that are not the paper's; the share is the map's."""


def load(name: str) -> BradleyTerry:
    """The model of a data set, under the priors of the paper, as other samplers have them.

    Only the mixture and graded answers have our default priors; the share of the map is inferred.
    """
    if name == "independent-1000":
        _, counts = independent_study(1000, 10_000)
        return paper_model(counts, Independent(counts.items))
    if name in ("three-answers-95", "five-answers-95"):
        counts = graded_study(95, 877)
        return BradleyTerry(counts if name == "five-answers-95" else counts.ungraded())
    if name not in FILES:
        return synthetic(ITEMS[name])
    judgements, *neighbours = (STUDIES / file for file in FILES[name])
    counts = read_comparisons(judgements).counts()
    if not neighbours:
        return paper_model(counts, Independent(counts.items))
    graph = Graph.from_edges(neighbours[0])
    if name == "dar-es-salaam-mixture":
        return BradleyTerry(counts, Network(graph))
    return paper_model(counts, Network(graph, share=1.0))


def synthetic(size: int) -> BradleyTerry:
    """The paper's scalability study: Σ a normalised Wishart, ten comparisons an item, δ = 0.5."""
    return scaling_model(*scaling_study(size, np.random.default_rng([SEED, size])))


def independent_study(items: int, comparisons: int) -> tuple[Truth, Counts]:
    """Simulated judgements of random pairs, independent qualities."""
    rng = np.random.default_rng(1)
    quality = ALPHA * rng.normal(size=items)
    truth = Truth(tuple(str(k) for k in range(items)), quality, TIE, ALPHA**2)
    return truth, simulate_counts(truth, comparisons, rng)


def graded_study(items: int, comparisons: int) -> Counts:
    """The same with five answers; of as many items and comparisons as South Yorkshire."""
    truth, _ = independent_study(items, 0)
    graded = replace(truth, tie=0.5, terms={"cut": np.array([0.5, 1.75])})
    return simulate_counts(graded, comparisons, np.random.default_rng(2))


def map_truth(prior: Network, rng: Generator) -> Truth:
    """Qualities of which a share of the variance is the map's; of any number of areas."""
    smooth, own = rng.normal(size=(2, len(prior.items)))
    layers = SHARE**0.5 * prior.exponential.root(smooth[:, None])[:, 0] + (1 - SHARE) ** 0.5 * own
    return Truth(prior.items, ALPHA * layers, TIE, ALPHA**2)
