"""Models of four items with every combination of priors, and SciPy's distributions of these."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy import stats

from support.reference_formulas import repeated, tally
from tiewise.data.counts import Counts
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Covariance, Independent
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.gamma import Gamma
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.scalar_priors.uniform import Uniform

ITEMS = ("a", "b", "c", "d")
ANSWERS = repeated(
    (0, 1, 3, 1, 1), (1, 2, 2, 2, 1), (2, 3, 1, 1, 2), (0, 3, 1, 0, 1), (0, 2, 2, 1, 0)
)
DECIDED = [row for row in ANSWERS if row[2] != "tie"]
PATH = Network(Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")]), share=1)
ROOT = np.random.default_rng(2).normal(size=(4, 2))
PRIORS = {
    "independent": (Independent(), np.eye(4)),
    "network": (PATH, PATH.covariance()),
    "rank-deficient": (Covariance(ROOT @ ROOT.T, ITEMS), ROOT @ ROOT.T),
}
TIES = {
    "exponential": (Exponential(2.0), stats.expon(scale=0.5)),
    "gamma": (Gamma(2.0, 3.0), stats.gamma(2, scale=1 / 3)),
    "uniform": (Uniform(0.1, 1.5), stats.uniform(0.1, 1.4)),
    "fixed": (Fixed(0.4), None),
    "none": (None, None),
}
VARIANCES = {
    "inverse gamma": (InverseGamma(3, 2), stats.invgamma(3, scale=2)),
    "half-normal": (HalfNormalSpread(0.8), stats.chi2(1, scale=0.64)),
    "fixed": (Fixed(1.3), None),
}
NAMES = list(product(PRIORS, TIES, VARIANCES))


def model_of(names: tuple[str, str, str]) -> BradleyTerry:
    """The model with the priors of these names."""
    prior, tie, variance = PRIORS[names[0]][0], TIES[names[1]][0], VARIANCES[names[2]][0]
    counts = Counts.of(ITEMS, **tally(DECIDED if tie is None else ANSWERS))
    return BradleyTerry(counts, prior, tie=tie, variance=variance)
