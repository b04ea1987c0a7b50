"""The live worker's Gaussian, out of which the answers of one judge are taken."""

from __future__ import annotations

import numpy as np

from tiewise.engines.preconditioners.mixture_preconditioner import build_mixture_preconditioner
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network, share_of
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.web.live.live_fit import _at_mode


def test_where_the_share_is_inferred_one_judges_answers_are_taken_out_of_a_mode():
    """At a mode the pull of the answers is that of the prior; at a mean it is not."""
    graph, rng = Graph.grid(5, 6), np.random.default_rng(1)
    truth = Truth.from_priors(Network(graph, share=0.7), Fixed(1.5), Fixed(0.4), rng)
    model = BradleyTerry(simulate_counts(truth, 120, rng), Network(graph))
    start = build_mixture_preconditioner(model).warm_start
    at = _at_mode(model, start)
    pull, _ = model.gradient(at.mean[:, None], np.array([at.tie]))
    covariance = model.prior.at(float(share_of(start.tau))).factor(model.size)
    prior = np.linalg.solve(covariance @ covariance.T, at.mean) * np.exp(-2 * start.log_alpha)
    assert np.allclose(pull[:, 0], prior, atol=1e-4)
