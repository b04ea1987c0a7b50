"""Draws of an earlier study turned into those with α² held, and what a link makes of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tiewise.data.counts import Counts
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Covariance, Independent
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.fit import fit
from tiewise.posterior.scales.held_variance import hold_variance
from tiewise.posterior.scales.linking import linked_anchors
from tiewise.posterior.tree import attach_record

ITEMS = tuple("abcdefghijkl")
GRAPH = Graph(ITEMS, Graph.grid(3, 4).edges)
NEAR = np.exp(-0.4 * np.abs(np.subtract.outer(np.arange(12), np.arange(12))))
PRIORS = {
    "independent": Independent(ITEMS), "covariance": Covariance(NEAR, ITEMS),
    "share": Network(GRAPH),
}  # fmt: skip
COLUMNS = ("first", "second", "wins_first", "wins_second", "ties")


def year(seed: int, comparisons: int, items: tuple[str, ...] = ITEMS) -> Counts:
    truth = Truth(items, np.linspace(-2, 2, len(items)), 0.4, 1.5)
    return simulate_counts(truth, comparisons, np.random.default_rng(seed))


@pytest.mark.parametrize("name", PRIORS)
def test_draws_are_those_of_a_fit_with_the_variance_held(name):
    """Means and standard deviations, by a fit of its own; of few answers, where it matters."""
    model = BradleyTerry(year(1, 36), PRIORS[name], variance=InverseGamma(1.0, 1.0), tie=Fixed(0.4))
    tree = fit(model, Transport(draws=8000), rng=1)
    attach_record(tree, model, None)
    held, share = hold_variance(tree)
    value = float(held["posterior/variance"][0, 0])
    assert 0.2 < share < 1
    again = fit(replace(model, variance=Fixed(value)), Transport(draws=8000), rng=2)
    ours, theirs = (one["posterior/quality"].to_numpy().reshape(-1, 12) for one in (held, again))
    sd = theirs.std(axis=0)
    # Five standard errors of a mean, and of a standard deviation, of both sets of draws.
    error = 5 * (2 / (share * len(ours))) ** 0.5
    np.testing.assert_allclose((ours.mean(axis=0) - theirs.mean(axis=0)) / sd, 0, atol=error)
    np.testing.assert_allclose(ours.std(axis=0) / sd, 1, atol=error)
    if name == "share":
        shares = [float(one["posterior/share"].mean()) for one in (held, again)]
        assert shares[0] == pytest.approx(shares[1], abs=error)


def test_a_variance_that_is_known_is_left_alone():
    model = BradleyTerry(year(1, 36), variance=Fixed(1.0))
    tree = fit(model, Transport(draws=400), rng=1)
    assert hold_variance(tree) == (tree, 1.0)


@pytest.mark.slow
def test_a_link_agrees_with_a_fit_of_both_years_where_scales_are_inferred():
    """Of three answers an item, which leave α² open by a factor of two; as α² and δ are there."""
    ratios, away, variances = [], [], []
    for seed in range(4):
        items = tuple(f"i{k}" for k in range(24))
        years = [year(10 * seed + k, 72, items) for k in (1, 2)]
        rows = [np.concatenate([getattr(one, name) for one in years]) for name in COLUMNS]
        last, this, both = map(BradleyTerry, (*years, Counts.of(items, *rows)))
        earlier = fit(last, Transport(draws=4000), rng=1)
        attach_record(earlier, last, None)
        linked = replace(this, anchors=linked_anchors(earlier, items))
        trees = [fit(one, Transport(draws=4000), rng=2) for one in (linked, both)]
        ours, theirs = (tree["posterior/quality"].to_numpy().reshape(-1, 24) for tree in trees)
        sd = theirs.std(axis=0)
        ratios.append(ours.std(axis=0) / sd)
        away.append((ours.mean(axis=0) - theirs.mean(axis=0)) / sd)
        variances.append([float(np.log(tree["posterior/variance"]).mean()) for tree in trees])
    # A prior divided out as one Gaussian gives 0.8, means off by two sd, and a quarter of α².
    assert np.mean(ratios) == pytest.approx(1, abs=0.06)
    assert np.mean(np.square(away)) < 0.25**2
    assert np.mean(np.diff(variances)) == pytest.approx(0, abs=0.25)
