"""Posteriors of two or three items, small enough to integrate by quadrature."""

from __future__ import annotations

import numpy as np
from numpy.random import SeedSequence
from scipy import stats

from support.reference_formulas import (
    LEVEL,
    Exact,
    Nodes,
    assert_normal_scores,
    at,
    between,
    exact_posterior,
    half_line,
    monte_carlo_error,
    repeated,
    tally,
)
from tiewise.data.counts import Counts
from tiewise.engines.base import Engine
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Covariance, Independent
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.gamma import Gamma
from tiewise.model.scalar_priors.half_normal import HalfNormal
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.scalar_priors.uniform import Uniform
from tiewise.progress import no_progress

ITEMS = ("a", "b", "c")
LANE = Network(Graph.from_edges([("a", "b"), ("b", "c")]), share=1)
ROOT = np.array([[1.0, 0.2], [-0.5, 0.8], [0.3, -1.1]])
FLAT = Covariance(ROOT @ ROOT.T, ITEMS)

MIXED = repeated((0, 1, 6, 3, 2), (1, 2, 4, 2, 4), (0, 2, 3, 3, 1))
NO_TIES = repeated((0, 1, 6, 0, 2), (1, 2, 4, 0, 4), (0, 2, 3, 0, 1))
MOSTLY_TIES = repeated((0, 1, 2, 9, 1), (1, 2, 1, 10, 1), (0, 2, 3, 8, 1))
ALL_TIES = repeated((0, 1, 0, 4, 0), (1, 2, 0, 4, 0))
ONE_NEVER_COMPARED = repeated((0, 1, 6, 3, 2))
ONE_ALWAYS_WINS = repeated((0, 1, 6, 0, 0), (1, 2, 4, 1, 4), (0, 2, 5, 0, 0))
MANY = repeated((0, 1, 160, 90, 60))

# Wide enough for what is left out, and close enough for a mean, to be a thousandth at most.
PROPER = half_line(stats.invgamma(3, scale=2).pdf, -5, 7)
RARE = half_line(stats.expon(scale=0.5).pdf, -8, 2.5)
SPREAD = half_line(stats.halfnorm(scale=0.8).pdf, -11, 2)
NODES: dict[object, Nodes] = {
    InverseGamma(3, 2): PROPER,
    HalfNormalSpread(0.8): Nodes(SPREAD.points**2, SPREAD.weights),
    Fixed(1.3): at(1.3),
    Exponential(2.0): RARE,
    Exponential(1.0): half_line(stats.expon.pdf, -4, 2, 160),
    Gamma(2.0, 3.0): half_line(stats.gamma(2, scale=1 / 3).pdf, -9, 2),
    HalfNormal(0.7): half_line(stats.halfnorm(scale=0.7).pdf, -14, 2),
    Uniform(0.1, 1.2): between(0.1, 1.2),
    Fixed(0.4): at(0.4),
    None: at(0.0),
}
IG, EXP = InverseGamma(3, 2), Exponential(2.0)
CASES = {
    "independent": (MIXED, Independent(), IG, EXP),
    "network": (MIXED, LANE, IG, EXP),
    "rank-deficient": (MIXED, FLAT, IG, EXP),
    "half-normal spread": (MIXED, LANE, HalfNormalSpread(0.8), EXP),
    "half-normal spread, rank-deficient": (MIXED, FLAT, HalfNormalSpread(0.8), None),
    "fixed variance": (MIXED, LANE, Fixed(1.3), EXP),
    "gamma": (MIXED, LANE, IG, Gamma(2.0, 3.0)),
    "half-normal": (MIXED, LANE, IG, HalfNormal(0.7)),
    "uniform": (MIXED, LANE, IG, Uniform(0.1, 1.2)),
    "fixed tie": (MIXED, LANE, IG, Fixed(0.4)),
    "both fixed": (MIXED, LANE, Fixed(1.3), Fixed(0.4)),
    "ties left out": (NO_TIES, LANE, IG, None),
    "no ties seen": (NO_TIES, Independent(), IG, HalfNormal(0.7)),
    "mostly ties": (MOSTLY_TIES, LANE, IG, EXP),
    "all ties": (ALL_TIES, LANE, IG, EXP),
    "one never compared": (ONE_NEVER_COMPARED, LANE, IG, EXP),
    "one always wins": (ONE_ALWAYS_WINS, Independent(), IG, EXP),
    "two items, hundreds of judgements": (MANY, Independent(ITEMS[:2]), IG, Exponential(1.0)),
}


def _few_items(name: str) -> tuple[BradleyTerry, Exact]:
    """A model, and the expectations that quadrature gives for it."""
    judgements, prior, variance, tie = CASES[name]
    judgements = [row for row in judgements if tie is not None or row[2] != "tie"]
    items = prior.items or ITEMS
    covariance = prior.covariance() if hasattr(prior, "covariance") else np.eye(len(items))
    model = BradleyTerry(Counts.of(items, **tally(judgements)), prior, variance=variance, tie=tie)
    return model, exact_posterior(judgements, covariance, NODES[tie], NODES[variance])


def assert_quadrature_means(name: str, engine: Engine) -> None:
    """Gaps and their squares, δ, α² and log α², within Monte Carlo error of quadrature."""
    model, exact = _few_items(name)
    draws = engine.run(model, SeedSequence(2), no_progress)
    gaps = draws.quality[..., :1] - draws.quality[..., 1:]
    ours = [gaps, gaps**2, draws.tie, draws.variance, np.log(draws.variance)]
    table = np.concatenate([np.reshape(f, (*draws.tie.shape, -1)) for f in ours], axis=-1)
    known = np.concatenate([np.ravel(expectation) for expectation in exact])
    free = np.ptp(table, axis=(0, 1)) > 0
    assert np.allclose(table[..., ~free], known[~free])
    error = monte_carlo_error(table[..., free])
    assert_normal_scores((table.mean(axis=(0, 1)) - known)[free] / error, LEVEL / len(CASES))
