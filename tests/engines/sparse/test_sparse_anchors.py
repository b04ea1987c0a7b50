"""Anchors of very many items: without matrices of items by items, the posterior stays the same."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy import sparse

from support.reference_formulas import (
    DIFFERENCE,
    assert_normal_scores,
    derivative,
    monte_carlo_error,
)
from tiewise.engines.base import Draws
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.sparse import anchor_covariance as anchor_covariances
from tiewise.engines.sparse import choice
from tiewise.engines.sparse.choice import build_sparse_preconditioner
from tiewise.engines.sparse.network_anchors import require_few_anchors
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.anchors.anchors import Anchors
from tiewise.model.anchors.factor import AnchorCheck
from tiewise.model.anchors.precision import LevelFreePrecision
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent, Precision
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.fit import fit
from tiewise.posterior.scales.quality_covariance import anchor_covariance
from tiewise.progress import no_progress

SLOPES = ("known slope", "learned slope", "linked")
PRIORS = ("independent", "given precision", "network")


@pytest.fixture
def always_sparse(monkeypatch):
    """Models of any size are sampled as those of very many items are."""
    monkeypatch.setattr(choice, "DENSE_ITEMS", 0)
    monkeypatch.setattr(choice, "DENSE_AREAS", 0)


def prior_of(name: str, graph: Graph):
    """A prior of areas on a grid."""
    if name == "independent":
        return Independent(graph.items)
    if name == "network":
        return Network(graph)
    around = graph.adjacency()
    degree = np.asarray(around.sum(axis=1), float).ravel()
    return Precision(sparse.csr_array(sparse.diags_array(degree + 0.5) - around), graph.items)


def anchors_of(name: str, items: tuple[str, ...], quality: np.ndarray, rng) -> Anchors:
    """Values of these items, surer than the answers, on a level of their own."""
    number = len(items)
    if name == "learned slope":
        values = 1500 + 120 * quality + rng.normal(0, 15, number)
        return Anchors(items, values, 15.0, slope="learned")
    values = 4 + quality + rng.normal(0, 0.15, number)
    if name == "known slope":
        return Anchors(items, values, 0.15)
    root = rng.normal(size=(number, 2 * number))
    square = 10 * root @ root.T / number
    sums = square.sum(axis=1)
    return Anchors(items, values, precision=square - np.outer(sums, sums) / sums.sum())


def study(prior: str, slope: str, rows=4, columns=5, number=200, known=7) -> BradleyTerry:
    """Areas on a grid of which some are anchors, their answers simulated."""
    graph, rng = Graph.grid(rows, columns), np.random.default_rng(2)
    quality = rng.normal(size=rows * columns)
    counts = simulate_counts(Truth(graph.items, quality, 0.3, 1.0), number, rng)
    some = tuple(graph.items[:known])
    anchors = anchors_of(slope, some, quality[:known], rng)
    return BradleyTerry(counts, prior_of(prior, graph), anchors=anchors)


def test_products_with_the_precision_of_many_anchors_take_no_matrix():
    weights = np.random.default_rng(1).uniform(1, 5, 6)
    x = np.random.default_rng(2).normal(size=(6, 3))
    quick = LevelFreePrecision(weights)
    written_out = np.diag(weights) - np.outer(weights, weights) / weights.sum()
    np.testing.assert_allclose(quick.product(x), written_out @ x, atol=1e-12)
    np.testing.assert_allclose(quick.diagonal, np.diag(written_out))


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("prior", PRIORS)
def test_gradient_is_the_derivative_of_the_density(prior, slope):
    preconditioner = build_sparse_preconditioner(study(prior, slope))
    points = np.random.default_rng(2).normal(size=(preconditioner.dimensions, 2))
    ours = preconditioner.gradient(points)
    for k, point in enumerate(points.T):
        differences = derivative(lambda q: preconditioner.log_density(q[:, None])[0], point)
        assert np.allclose(ours[:, k], differences, rtol=0, atol=100 * DIFFERENCE)


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("prior", PRIORS)
def test_coordinates_are_nearly_standard_normal_at_the_centre(prior, slope):
    """Even along the level of the anchors, and along what a slope that is learned leaves open."""
    preconditioner = build_sparse_preconditioner(study(prior, slope, 6, 8, 800, 20))
    steps = 1e-4 * np.eye(preconditioner.dimensions)
    hessian = (preconditioner.gradient(-steps) - preconditioner.gradient(steps)) / 2e-4
    low, *_, high = np.linalg.eigvalsh((hessian + hessian.T) / 2)
    assert low > 0.15
    assert high < 5.0


def table(draws: Draws) -> np.ndarray:
    """Centred qualities and their squares, δ and α²: (chains, draws, parameters)."""
    own = draws.centred()
    centred = own.quality - own.quality.mean(axis=(0, 1))
    scales = np.stack([own.tie, own.variance], axis=-1)
    return np.concatenate([own.quality, centred**2, scales], axis=-1)


def assert_same_posterior(one: Draws, other: Draws) -> None:
    """Means agree within Monte Carlo error."""
    tables = [table(draws) for draws in (one, other)]
    error = np.hypot(*map(monte_carlo_error, tables))
    assert_normal_scores((tables[0].mean(axis=(0, 1)) - tables[1].mean(axis=(0, 1))) / error)


def run(model: BradleyTerry, engine, seed: int) -> Draws:
    return engine.run(model, SeedSequence(seed), no_progress)


def test_sparse_and_dense_agree(monkeypatch):
    model = study("independent", "learned slope")
    dense = run(model, Transport(draws=2000), 3)
    monkeypatch.setattr(choice, "DENSE_ITEMS", 0)
    assert_same_posterior(run(model, Transport(draws=4000), 4), dense)


@pytest.mark.slow
def test_thousands_of_anchors_need_no_matrix(monkeypatch):
    """Neither of items by items nor of anchors by anchors; draws are the same for a seed."""
    model = study("independent", "learned slope", 40, 40, 8000, 1200)
    monkeypatch.setattr(Independent, "precision", None)
    monkeypatch.setattr(LevelFreePrecision, "matrix", None)
    engine = Transport(draws=16, chains=8)
    one, two = (run(model, engine, 3) for _ in range(2))
    assert one.quality.tobytes() == two.quality.tobytes()


# How well each anchor agrees.


def checks_of(model: BradleyTerry, monkeypatch) -> list[AnchorCheck]:
    """The check of each anchor with matrices of items by items, and without."""
    tree = fit(model, Transport(draws=200, chains=8), rng=3, ess=0)
    mean = tree["posterior/quality"].to_numpy().mean(axis=(0, 1))
    dense = anchor_covariance(tree, model)
    monkeypatch.setattr(choice, "DENSE_ITEMS", 0)
    monkeypatch.setattr(choice, "DENSE_AREAS", 0)
    without = anchor_covariance(tree, model)
    return [model.anchor_factor.check(mean, each) for each in (dense, without)]


@pytest.mark.parametrize("slope", ["known slope", "learned slope"])
@pytest.mark.parametrize("prior", PRIORS)
def test_anchors_are_checked_as_with_matrices(prior, slope, monkeypatch):
    """What anchors say of differences does not depend on a level that is held otherwise."""
    dense, without = checks_of(study(prior, slope), monkeypatch)
    np.testing.assert_allclose(without.z, dense.z, rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(without.expected_sd, dense.expected_sd, rtol=2e-3)


def test_very_many_anchors_are_checked_as_if_pairs_made_a_tree(monkeypatch):
    """Standard deviations of what is expected of them are close to those of the matrix."""
    monkeypatch.setattr(anchor_covariances, "MOST_COLUMNS", 10)
    model = study("independent", "known slope", 15, 20, 3000, 60)
    dense, without = checks_of(model, monkeypatch)
    np.testing.assert_allclose(without.expected_sd, dense.expected_sd, rtol=0.1)


def test_a_map_of_very_many_areas_takes_so_many_anchors():
    with pytest.raises(InputError, match="10,000 areas takes 2,000 anchors, and there are 2,001"):
        require_few_anchors(2001, 10_000)
    require_few_anchors(2000, 10_000)


# Larger, and against Gibbs.


@pytest.mark.slow
@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("prior", PRIORS)
def test_sparse_and_dense_agree_on_a_map(prior, slope, monkeypatch):
    model = study(prior, slope, 8, 10, 1500, 25)
    dense = run(model, Transport(draws=4000), 3)
    monkeypatch.setattr(choice, "DENSE_ITEMS", 0)
    monkeypatch.setattr(choice, "DENSE_AREAS", 0)
    assert_same_posterior(run(model, Transport(draws=12_000), 4), dense)


@pytest.mark.slow
@pytest.mark.usefixtures("always_sparse")
@pytest.mark.parametrize("slope", ["known slope", "learned slope"])
def test_sparse_transport_and_gibbs_agree(slope):
    model = study("given precision", slope, 8, 10, 1500, 25)
    gibbs = run(model, Gibbs(draws=8000), 3)
    assert_same_posterior(run(model, Transport(draws=8000), 4), gibbs)
