"""The network prior without matrices of items by items, against dense and exact ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SeedSequence

from support.calibration import RANKS, assert_uniform_ranks
from support.everyday import everyday
from support.quadrature_cases import CASES, EXP, IG, assert_quadrature_means
from support.reference_formulas import (
    DIFFERENCE,
    assert_normal_scores,
    derivative,
    monte_carlo_error,
)
from support.trajectories import assert_reversible
from tiewise.engines.base import Draws
from tiewise.engines.preconditioners.mixture_preconditioner import build_mixture_preconditioner
from tiewise.engines.sparse import choice, network_centre
from tiewise.engines.sparse.network_preconditioner import (
    NetworkPreconditioner,
    build_network_preconditioner,
)
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.progress import no_progress

OPTIONS = {
    "share inferred": (None, {}),
    "share inferred, variance fixed": (None, {"variance": Fixed(1.3), "tie": Fixed(0.4)}),
    "share 1": (1.0, {}),
    "share held": (0.6, {"tie": None}),
}


@pytest.fixture
def always_sparse(monkeypatch):
    """Models of any size are sampled as those of very many items are."""
    monkeypatch.setattr(choice, "DENSE_AREAS", 0)


def town(name: str, rows: int = 4, columns: int = 5, number: int = 300) -> BradleyTerry:
    """Areas on a grid, their answers simulated from a map that matters."""
    share, options = OPTIONS[name]
    graph, rng = Graph.grid(rows, columns), np.random.default_rng(2)
    factor = Network(graph, share=0.7).factor(rows * columns)
    tie = 0.0 if "tie" in options and options["tie"] is None else 0.3
    truth = Truth(graph.items, factor @ rng.normal(size=factor.shape[1]), tie, 1.0)
    return BradleyTerry(simulate_counts(truth, number, rng), Network(graph, share=share), **options)


@pytest.mark.parametrize("name", OPTIONS)
def test_gradient_is_the_derivative_of_the_density(name):
    preconditioner = build_network_preconditioner(town(name))
    points = np.random.default_rng(2).normal(size=(preconditioner.dimensions, 2))
    ours = preconditioner.gradient(points)
    for k, point in enumerate(points.T):
        differences = derivative(lambda q: preconditioner.log_density(q[:, None])[0], point)
        assert np.allclose(ours[:, k], differences, rtol=0, atol=100 * DIFFERENCE)


@pytest.mark.parametrize("steps", [4, 6, 9])
@pytest.mark.parametrize("name", OPTIONS)
def test_trajectories_are_reversible(name, steps):
    assert_reversible(build_network_preconditioner(town(name)), steps, 1e-9)


@pytest.mark.parametrize("name", ["share inferred", "share 1"])
def test_coordinates_are_nearly_standard_normal_at_the_centre(name):
    """Even in the direction of the common level, of which no comparison speaks."""
    preconditioner = build_network_preconditioner(town(name, number=600))
    steps = 1e-4 * np.eye(preconditioner.dimensions)
    hessian = (preconditioner.gradient(-steps) - preconditioner.gradient(steps)) / 2e-4
    assert np.allclose(hessian, hessian.T, rtol=0, atol=1e-5)
    low, *_, high = np.linalg.eigvalsh(hessian)
    assert low > 0.2
    assert high < 4.0


def test_centre_is_that_of_the_dense_preconditioner():
    model = town("share inferred", 8, 10, 2000)
    ours, dense = build_network_preconditioner(model), build_mixture_preconditioner(model)
    quality = dense.parameters(np.zeros((dense.dimensions, 1))).quality[:, 0]
    mine = ours.mean_quality - ours.mean_quality.mean()
    assert np.abs(mine - quality + quality.mean()).max() < 0.15
    assert isinstance(ours, NetworkPreconditioner)


def test_a_start_from_similar_data_leads_to_the_same_centre(monkeypatch):
    """In fewer rounds, with pairs that were not compared before; and what is fixed stays so."""
    model, more = town("share inferred", number=600), town("share inferred", number=615)
    steps = []
    newton = network_centre._newton
    monkeypatch.setattr(network_centre, "_newton", lambda *all_: steps.append(1) or newton(*all_))
    first = build_network_preconditioner(model)
    cold = build_network_preconditioner(more)
    each = len(steps) / 2
    build_network_preconditioner(model, first.warm_start)
    assert len(steps) == 2 * each + 2  # a round that moves nothing, and the last step
    warm = build_network_preconditioner(more, first.warm_start)
    assert len(steps) < 3 * each + 2
    assert len(more.counts.first) != len(model.counts.first)
    one, other = cold.warm_start, warm.warm_start
    # Rounds end where none moves anything by more than three hundredths of an sd, twice over.
    sd = np.sqrt(np.diag(cold.centre.scale_root @ cold.centre.scale_root.T))
    assert np.all(np.abs(np.array(one.scale) - other.scale) < 0.12 * sd)
    assert np.abs(one.quality - other.quality).max() < 0.05
    held = build_network_preconditioner(town("share held"), first.warm_start)
    assert held.warm_start.scale.tau == pytest.approx(np.log(0.6 / 0.4))


LANES = [name for name, case in CASES.items() if isinstance(case[1], Network)]


@pytest.mark.usefixtures("always_sparse")
@pytest.mark.parametrize("name", everyday(LANES, "network"))
def test_means_are_those_of_the_integral(name):
    assert_quadrature_means(name, Transport(draws=4000, chains=8))


def table(draws: Draws) -> np.ndarray:
    """Centred qualities, δ, α² and ρ: (chains, draws, parameters)."""
    own = draws.centred()
    scales = np.stack([own.tie, own.variance, own.terms["share"]], axis=-1)
    return np.concatenate([own.quality, scales], axis=-1)


@pytest.mark.slow
def test_sparse_and_dense_agree_on_a_map(monkeypatch):
    model = town("share inferred", 10, 12, 3000)
    dense = table(Transport(draws=4000).run(model, SeedSequence(3), no_progress))
    monkeypatch.setattr(choice, "DENSE_AREAS", 0)
    ours = table(Transport(draws=12_000).run(model, SeedSequence(4), no_progress))
    error = np.hypot(monte_carlo_error(dense), monte_carlo_error(ours))
    assert_normal_scores((dense.mean(axis=(0, 1)) - ours.mean(axis=(0, 1))) / error)
    assert np.allclose(ours.std(axis=(0, 1)), dense.std(axis=(0, 1)), rtol=0.2)


@pytest.mark.slow
def test_maps_of_many_areas_need_no_matrix(monkeypatch):
    model = town("share inferred", 10, 10, 800)
    monkeypatch.setattr(choice, "DENSE_AREAS", 0)
    monkeypatch.delattr(Network, "correlation")
    monkeypatch.setattr(Network, "factor", None)
    engine = Transport(draws=16, chains=8)
    one, two = (engine.run(model, SeedSequence(3), no_progress) for _ in range(2))
    assert one.quality.tobytes() == two.quality.tobytes()
    assert ((one.terms["share"] > 0) & (one.terms["share"] < 1)).all()


def ranks_of_truth(rng: np.random.Generator) -> np.ndarray:
    """Where the truth ranks: qualities, their level, δ, α², the map's share, and the likelihood."""
    prior = Network(Graph.grid(5, 6))
    truth = Truth.from_priors(prior, IG, EXP, rng)
    model = BradleyTerry(simulate_counts(truth, 90, rng), prior, variance=IG, tie=EXP)
    engine = Transport(draws=50 * (RANKS + 1), chains=RANKS + 1, threads=1)
    draws = engine.run(model, SeedSequence(int(rng.integers(2**32))), no_progress)
    parts = draws.quality, draws.tie, draws.variance, draws.terms["share"]
    last = [part[:RANKS, -1] for part in parts]

    def quantities(quality, tie, variance, share):
        likelihood = model.log_likelihood(quality.T, tie)
        level = quality.mean(axis=1)
        return np.column_stack([quality[:, :8], level, tie, variance, share, likelihood])

    scalars = truth.tie, truth.variance, truth.terms["share"]
    true = quantities(truth.quality[None], *(np.array([float(value)]) for value in scalars))
    return (quantities(*last) < true).sum(axis=0)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.usefixtures("always_sparse")
def test_truth_is_one_more_draw_over_hundreds_of_studies():
    generators = np.random.default_rng(3).spawn(300)
    assert_uniform_ranks(np.array([ranks_of_truth(rng) for rng in generators]))
