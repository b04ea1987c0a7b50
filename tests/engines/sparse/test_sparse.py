"""Transport without matrices of items by items: its density, its posterior and its limits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy import sparse

from support.agreement import assert_same_posterior, assert_witness_agrees, differences
from support.calibration import RANKS, assert_uniform_ranks
from support.everyday import everyday
from support.plain_models import ANSWERS, DECIDED, ITEMS, TIES, VARIANCES
from support.quadrature_cases import CASES, IG, assert_quadrature_means
from support.reference_formulas import (
    DIFFERENCE,
    derivative,
    tally,
)
from support.trajectories import assert_reversible
from tiewise.data.counts import Counts
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.preconditioners.plain import build_preconditioner
from tiewise.engines.sparse import choice
from tiewise.engines.sparse.choice import build_sparse_preconditioner
from tiewise.engines.sparse.conjugate_gradients import conjugate_gradients
from tiewise.engines.sparse.precision import precision_of
from tiewise.engines.sparse.preconditioner import DiagonalPreconditioner
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import icar
from tiewise.model.quality_priors import Independent, Precision
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.progress import no_progress

SQUARE = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
DEFINITE = np.diag([2.0, 3.0, 2.5, 2.0]) - SQUARE.adjacency().toarray()
UNEVEN = DEFINITE + np.diag([0.5, 0.0, 0.0, 1.0])
PRIORS = {
    "independent": Independent(),
    "given precision": Precision(sparse.csr_array(DEFINITE), ITEMS),
    "neighbours": icar(SQUARE),
    "sum to zero": Precision(UNEVEN, ITEMS, sum_to_zero=True),
}
MODELS = [
    (prior, tie, variance)
    for prior in PRIORS
    for tie, variance in (
        ("exponential", "inverse gamma"), ("none", "half-normal"), ("uniform", "fixed"),
        ("fixed", "fixed"),
    )
]  # fmt: skip
every_model = pytest.mark.parametrize("names", MODELS)


@pytest.fixture
def always_sparse(monkeypatch):
    """Models of any size are sampled as those of very many items are."""
    monkeypatch.setattr(choice, "DENSE_ITEMS", 0)


def model_of(names: tuple[str, str, str]) -> BradleyTerry:
    prior, tie, variance = PRIORS[names[0]], TIES[names[1]][0], VARIANCES[names[2]][0]
    counts = Counts.of(ITEMS, **tally(DECIDED if tie is None else ANSWERS))
    return BradleyTerry(counts, prior, tie=tie, variance=variance)


def random_pairs(size: int, number: int, seed: int = 2, **options) -> BradleyTerry:
    """A study of random pairs, its answers simulated."""
    rng = np.random.default_rng(seed)
    truth = Truth([str(k) for k in range(size)], rng.normal(size=size), 0.3, 1.0)
    return BradleyTerry(simulate_counts(truth, number, rng), **options)


def some_points(dimensions: int, number: int = 4) -> np.ndarray:
    return np.random.default_rng(2).normal(size=(dimensions, number))


# The density.


@pytest.mark.parametrize("steps", [4, 6, 9])
@pytest.mark.parametrize("prior", PRIORS)
def test_trajectories_are_reversible(prior, steps):
    model = model_of((prior, "exponential", "inverse gamma"))
    assert_reversible(build_sparse_preconditioner(model), steps, 1e-9)


@every_model
def test_gradient_is_the_derivative_of_the_density(names):
    preconditioner = build_sparse_preconditioner(model_of(names))
    points = some_points(preconditioner.dimensions)
    ours = preconditioner.gradient(points)
    for k, point in enumerate(points.T):
        differences = derivative(lambda q: preconditioner.log_density(q[:, None])[0], point)
        assert np.allclose(ours[:, k], differences, rtol=0, atol=10 * DIFFERENCE)


def unconstrained(preconditioner: DiagonalPreconditioner, q: np.ndarray) -> np.ndarray:
    """Qualities, log α and the unconstrained threshold, as far as they are inferred."""
    at = preconditioner.parameters(q[:, None])
    parts = [preconditioner.draws(at)["quality"][:, 0]]
    parts += [at.log_alpha] if preconditioner.variance_prior is not None else []
    parts += [at.unconstrained_tie] if preconditioner.tie_prior is not None else []
    return np.concatenate(parts)


def log_posterior(model: BradleyTerry, precision: np.ndarray, preconditioner, q) -> float:
    """The model's posterior of qualities, log α and unconstrained threshold, written out."""
    at = preconditioner.parameters(q[:, None])
    values = preconditioner.draws(at)
    quality, variance = values["quality"][:, 0], values["variance"][0]
    total = model.log_likelihood(values["quality"], values["tie"])[0]
    total -= quality @ precision @ quality / variance / 2 + len(quality) * np.log(variance) / 2
    if preconditioner.variance_prior is not None:
        total += preconditioner.variance_prior.log_density(at.log_alpha)[0]
    if preconditioner.tie_prior is not None:
        tie = preconditioner.tie_prior.constrain(at.unconstrained_tie)
        total += (preconditioner.tie_prior.log_density(tie.tie) + tie.log_jacobian)[0]
    return total


@pytest.mark.parametrize(
    "names", [names for names in MODELS if names[0] in ("independent", "given precision")]
)
def test_density_is_the_posterior_times_the_jacobian(names):
    model = model_of(names)
    preconditioner = build_sparse_preconditioner(model)
    precision = np.eye(4) if names[0] == "independent" else DEFINITE
    points = some_points(preconditioner.dimensions).T
    ours = [preconditioner.log_density(q[:, None])[0] for q in points]
    jacobians = [derivative(lambda q: unconstrained(preconditioner, q).T, q) for q in points]
    known = [
        log_posterior(model, precision, preconditioner, q) + np.linalg.slogdet(jacobian)[1]
        for q, jacobian in zip(points, jacobians, strict=True)
    ]
    assert np.allclose(np.diff(ours), np.diff(known), rtol=0, atol=1e-6)


def test_mean_and_scale_are_those_of_the_dense_preconditioner():
    model = random_pairs(200, 3000)
    ours, dense = build_sparse_preconditioner(model), build_preconditioner(model)
    quality = dense.parameters(np.zeros((dense.dimensions, 1))).quality[:, 0]
    mine = ours.centre.quality - ours.centre.quality.mean()
    assert np.abs(mine - quality + quality.mean()).max() < 0.05
    assert abs(ours.centre.log_alpha - dense.log_alpha_mean) < 0.3 * dense.log_alpha_sd
    assert 0.8 < ours.log_alpha_sd / dense.log_alpha_sd < 1.25


@pytest.mark.parametrize("name", PRIORS)
def test_conjugate_gradients_solve(name):
    matrix = DEFINITE @ DEFINITE + np.eye(4)
    right = some_points(4, 3)
    right[:, 1] = 0.0
    solved = conjugate_gradients(lambda x: matrix @ x, np.diag(matrix), right, tolerance=1e-10)
    assert np.allclose(solved, np.linalg.solve(matrix, right), rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", PRIORS)
def test_products_are_those_of_the_prior_but_for_its_level(name):
    precision = precision_of(PRIORS[name], 4).with_level(50.0)
    written_out = precision.product(np.eye(4))
    assert np.allclose(np.diag(written_out), precision.diagonal)
    assert np.isclose(written_out.sum(), 50.0)
    factor = PRIORS[name].factor(4)
    covariance = np.eye(4) if factor is None else factor @ factor.T
    # Qualities that are results: what was sampled, its level stretched.
    stretched = precision.qualities(np.eye(4))
    assert np.allclose(stretched @ np.linalg.inv(written_out) @ stretched.T, covariance)


# The posterior.


SPARSE_CASES = [name for name, case in CASES.items() if isinstance(case[1], Independent)]


@pytest.mark.usefixtures("always_sparse")
@pytest.mark.parametrize("name", everyday(SPARSE_CASES, "independent"))
def test_means_are_those_of_the_integral(name):
    assert_quadrature_means(name, Transport(draws=4000, chains=8))


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["independent", "neighbours"])
@pytest.mark.parametrize("ties", [True, False])
def test_sparse_and_dense_agree_at_500_items(prior, ties, monkeypatch):
    rng = np.random.default_rng(2)
    graph = Graph.grid(20, 25)
    quality = rng.normal(size=500)
    counts = simulate_counts(Truth(graph.items, quality, 0.3 if ties else 0.0, 1.0), 4000, rng)
    options = {} if ties else {"tie": None, "variance": Fixed(0.8)}
    chosen = Independent(graph.items) if prior == "independent" else icar(graph)
    model = BradleyTerry(counts, chosen, **options)
    dense = Transport(draws=4000).run(model, SeedSequence(3), no_progress)
    monkeypatch.setattr(choice, "DENSE_ITEMS", 0)
    ours = Transport(draws=4000).run(model, SeedSequence(4), no_progress)
    assert_same_posterior(ours, dense)
    assert np.allclose(ours.quality.sum(axis=-1), 0, atol=1e-8) == (prior == "neighbours")


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.usefixtures("always_sparse")
def test_sparse_transport_and_gibbs_agree_at_500_items():
    model = random_pairs(500, 4000)
    gibbs = Gibbs(draws=8000).run(model, SeedSequence(3), no_progress)
    ours = Transport(draws=8000).run(model, SeedSequence(4), no_progress)
    assert_same_posterior(ours, gibbs)


@pytest.mark.slow
@pytest.mark.usefixtures("always_sparse")
def test_gibbs_by_perturbation_agrees_at_500_items():
    assert_witness_agrees(random_pairs(500, 3000), 1000)


@pytest.mark.slow
@pytest.mark.thorough
def test_gibbs_by_perturbation_agrees_at_2000_items():
    assert_witness_agrees(random_pairs(2000, 16_000), 2000)


@pytest.mark.slow
@pytest.mark.thorough
def test_gibbs_by_perturbation_agrees_on_a_map_of_2000_areas():
    graph = Graph.grid(40, 50)
    rng = np.random.default_rng(2)
    counts = simulate_counts(Truth(graph.items, rng.normal(size=2000), 0.3, 1.0), 16_000, rng)
    assert_witness_agrees(BradleyTerry(counts, icar(graph)), 2000, differences(graph))


def ranks_of_truth(rng: np.random.Generator) -> np.ndarray:
    """Where the truth ranks among the last draws of as many chains."""
    tie = Exponential(2.0)
    prior = Independent(tuple(str(k) for k in range(30)))
    truth = Truth.from_priors(prior, IG, tie, rng)
    model = BradleyTerry(simulate_counts(truth, 90, rng), prior, variance=IG, tie=tie)
    engine = Transport(draws=50 * (RANKS + 1), chains=RANKS + 1, threads=1)
    draws = engine.run(model, SeedSequence(int(rng.integers(2**32))), no_progress)
    last = draws.quality[:RANKS, -1], draws.tie[:RANKS, -1], draws.variance[:RANKS, -1]

    def quantities(quality, tie, variance):
        likelihood = model.log_likelihood(quality.T, tie)
        level = quality.mean(axis=1)
        return np.column_stack([quality[:, :8], level, tie, variance, likelihood])

    true = quantities(truth.quality[None], np.array([truth.tie]), np.array([truth.variance]))
    return (quantities(*last) < true).sum(axis=0)


@pytest.mark.slow
@pytest.mark.usefixtures("always_sparse")
def test_truth_is_one_more_draw():
    generators = np.random.default_rng(2).spawn(20)
    assert_uniform_ranks(np.array([ranks_of_truth(rng) for rng in generators]))


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.usefixtures("always_sparse")
def test_truth_is_one_more_draw_over_hundreds_of_studies():
    generators = np.random.default_rng(3).spawn(500)
    assert_uniform_ranks(np.array([ranks_of_truth(rng) for rng in generators]))


# Many items.


def test_many_items_need_no_matrix(monkeypatch):
    """Nothing of items by items is made on the way to draws, which are the same for a seed."""
    model = random_pairs(1600, 8000)
    monkeypatch.setattr(Independent, "precision", None)
    engine = Transport(draws=16, chains=8)
    one, two = (engine.run(model, SeedSequence(3), no_progress) for _ in range(2))
    assert one.quality.tobytes() == two.quality.tobytes()
    assert one.warm_start.quality.shape == (1600,)


def test_large_precisions_are_refused_where_they_are_none():
    graph = Graph.grid(40, 40)
    degree = sparse.diags_array(np.asarray(graph.adjacency().sum(axis=1), float))
    laplacian = (degree - graph.adjacency()).tocsr()
    with pytest.raises(InputError, match="singular or indefinite"):
        Precision(laplacian, graph.items)
    with pytest.raises(InputError, match="singular or indefinite"):
        Precision(laplacian - 0.1 * sparse.eye_array(1600), graph.items, sum_to_zero=True)
    with pytest.raises(InputError, match="not symmetric"):
        Precision(sparse.triu(laplacian), graph.items)
    with pytest.raises(InputError, match="1600 square"):
        Precision(laplacian[1:], graph.items)
    with pytest.raises(InputError, match="no factor that fits in memory"):
        icar(graph).factor(1600)
