"""Simulated designs: a county like South Yorkshire, and the paper's larger studies."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import answer_probabilities
from tiewise.model.map_priors import Network
from tiewise.model.prior_sets import PAPER_TIE, PAPER_VARIANCE
from tiewise.model.quality_priors import Covariance, QualityPrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.pairing.information import information

Floats = NDArray[np.float64]

COUNTY_SEED = 1  # of the made-up county
NODES = 41
KNOWN_SD = 0.01  # the sd of a difference that is as good as known
MAX_TIE = 50.0


@lru_cache(maxsize=4)
def county(wards: int) -> Graph:
    """The graph of a made-up county, always the same one."""
    return Graph.from_areas(Areas.synthetic(wards, rng=COUNTY_SEED))


def simulate_county_study(
    graph: Graph, *, comparisons: int, tie: float, variance: float, rng: Generator
) -> tuple[Truth, Counts]:
    """Qualities drawn from the network prior, and judgements of uniform pairs."""
    truth = Truth.from_priors(Network(graph, share=1.0), Fixed(variance), Fixed(tie), rng)
    return truth, simulate_counts(truth, comparisons, rng)


def scaling_study(items: int, rng: Generator) -> tuple[Floats, Counts]:
    """The paper's scalability study: Σ a normalised Wishart, ten comparisons an item, δ = 0.5.

    Σ is Wishart(I) with as many degrees of freedom as items, scaled to unit variances; qualities
    are drawn from N(0, Σ), so α² = 1; pairs are uniform.
    """
    root = rng.standard_normal((items, items))
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    names = tuple(f"ward {k + 1}" for k in range(items))
    truth = Truth(names, root @ rng.standard_normal(items), tie=0.5, variance=1.0)
    counts = simulate_counts(truth, 10 * items, rng)
    return root @ root.T, counts


def scaling_model(covariance: Floats, counts: Counts) -> BradleyTerry:
    """The model of such a study, under the paper's priors of α² and δ."""
    return paper_model(counts, Covariance(covariance, counts.items))


def paper_model(counts: Counts, prior: QualityPrior, **changes: Any) -> BradleyTerry:
    """The model that the paper fits: its priors of α² and δ, unless `changes` say others."""
    return BradleyTerry(counts, prior, **{"variance": PAPER_VARIANCE, "tie": PAPER_TIE, **changes})


# Expected ties and information under the prior.


def expected_ties(graph: Graph, tie: float, *, variance: float = 1.0) -> float:
    """Share of uniform pairs that are called equal, over qualities from the network prior."""
    gap, weight = _gaps(graph, variance)
    return float(answer_probabilities(gap, np.asarray(tie))[1].mean(axis=0) @ weight)


@lru_cache(maxsize=64)
def expected_information(graph: Graph, tie: float, *, variance: float = 1.0) -> float:
    """Fisher information of an answer about the difference of its pair, over the same pairs."""
    gap, weight = _gaps(graph, variance)
    info = information(np.abs(gap).ravel(), np.full(gap.size, KNOWN_SD), tie)
    return float(info.reshape(gap.shape).mean(axis=0) @ weight)


@lru_cache(maxsize=64)
def tie_for_share(graph: Graph, share: float, *, variance: float = 1.0) -> float:
    """The threshold δ at which this share of uniform pairs is called equal."""
    from scipy.optimize import brentq

    if not 0 < share < 1:
        raise InputError(f"a share of ties lies between 0 and 1, and {share:g} does not")
    return float(
        brentq(lambda tie: expected_ties(graph, tie, variance=variance) - share, 1e-9, MAX_TIE)
    )


def _gaps(graph: Graph, variance: float) -> tuple[Floats, Floats]:
    """Differences (pairs, nodes) of quality as the prior has them, and the weight of each node."""
    covariance = Network(graph, share=1.0).covariance()
    one, two = np.triu_indices(len(covariance), 1)
    square = covariance[one, one] + covariance[two, two] - 2 * covariance[one, two]
    z, weight = np.polynomial.hermite_e.hermegauss(NODES)
    return np.sqrt(variance * square)[:, None] * z, weight / weight.sum()
