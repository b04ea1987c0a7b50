"""The mixture prior: α² (ρR + (1 − ρ)I) with ρ inferred, in every exact engine."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from numpy.random import Generator, SeedSequence

from support.calibration import RANKS, assert_uniform_ranks
from support.everyday import everyday, thorough
from support.reference_formulas import assert_normal_scores, monte_carlo_error
from tiewise.engines.base import Draws, Engine
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.laplace import Laplace
from tiewise.engines.metropolis import Metropolis
from tiewise.engines.preconditioners import averaged_quadratic
from tiewise.engines.preconditioners.averaged_quadratic import Centre
from tiewise.engines.preconditioners.hierarchical_preconditioner import (
    build_hierarchical_preconditioner,
)
from tiewise.engines.preconditioners.mixture_marginal import fit_mixture_marginal
from tiewise.engines.preconditioners.mixture_preconditioner import build_mixture_preconditioner
from tiewise.engines.preconditioners.newton import ConditionalPosterior
from tiewise.engines.preconditioners.plain import Preconditioner
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network, log_share_prior, share_of
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.half_normal import HalfNormal
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.model.terms import Order
from tiewise.posterior.diagnostics import worst
from tiewise.posterior.fit import fit
from tiewise.posterior.map_share import map_share, map_share_sentence
from tiewise.posterior.tree import attach_record, build_tree, rebuild_model
from tiewise.progress import no_progress

SPREAD, TIE = HalfNormalSpread(2.0), HalfNormal(1.0)
MAP = Graph.grid(3, 4)


def explore(model: BradleyTerry, engine: Engine, seed: int = 1) -> Draws:
    return engine.run(model, SeedSequence(seed), no_progress)


def simulated(graph: Graph, share: float, number: int, rng: Generator, **model) -> BradleyTerry:
    truth = Truth.from_priors(Network(graph, share=share), Fixed(1.7), Fixed(0.4), rng)
    return BradleyTerry(simulate_counts(truth, number, rng), Network(graph), **model)


@cache
def county() -> BradleyTerry:
    return simulated(Graph.grid(6, 7), 0.7, 500, np.random.default_rng(1))


# The map to preconditioned coordinates.

VARIANTS = {
    "all inferred": {},
    "variance fixed": {"variance": Fixed(1.5)},
    "threshold fixed": {"tie": Fixed(0.4)},
    "both fixed": {"variance": Fixed(1.5), "tie": Fixed(0.4)},
}


def assert_gradient(preconditioner: Preconditioner) -> None:
    """The gradient of the log density against central differences."""
    q = np.random.default_rng(2).normal(size=(preconditioner.dimensions, 4))
    q[preconditioner.rank :, 3] *= 3
    step, numeric = 1e-5, np.empty_like(q)
    for k in range(len(q)):
        away = np.zeros_like(q)
        away[k] = step
        ahead, behind = (preconditioner.log_density(q + sign * away) for sign in (1, -1))
        numeric[k] = (ahead - behind) / (2 * step)
    analytic = preconditioner.gradient_at(preconditioner.parameters(q))
    assert np.allclose(analytic, numeric, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("build", [build_mixture_preconditioner, build_hierarchical_preconditioner])
def test_gradients_are_those_of_the_density(build, name):
    model = BradleyTerry(county().counts, county().prior, **VARIANTS[name])
    assert_gradient(build(model))


def test_the_density_is_that_of_the_model():
    """Written out with Σ itself, the Jacobian of the map taken numerically.

    The density of two layers is compared through draws: they stand for one.
    """
    rng = np.random.default_rng(5)
    model = simulated(Graph.grid(2, 3), 0.6, 60, rng)
    preconditioner = build_mixture_preconditioner(model)
    points = rng.normal(size=(preconditioner.dimensions, 3))
    ours = preconditioner.log_density(points)
    theirs = np.array([written_out(model, preconditioner, q) for q in points.T])
    assert np.allclose(np.diff(ours), np.diff(theirs), atol=1e-5)


def written_out(model: BradleyTerry, preconditioner, q: np.ndarray) -> float:
    def values(q: np.ndarray) -> np.ndarray:
        at = preconditioner.parameters(q[:, None])
        scalars = [at.tau, at.log_alpha, np.log(at.tie)]
        return np.concatenate([at.quality[:, 0], *scalars])

    here, step = values(q), 1e-6
    jacobian = np.array(
        [(values(q + e) - values(q - e)) / (2 * step) for e in step * np.eye(len(q))]
    )
    quality, (tau, log_alpha, log_tie) = here[:-3], here[-3:]
    share, variance, tie = 1 / (1 + np.exp(-tau)), np.exp(2 * log_alpha), np.exp(log_tie)
    correlation = Network(model.prior.graph, share=1).covariance()
    sigma = variance * (share * correlation + (1 - share) * np.eye(len(quality)))
    total = float(model.log_likelihood(quality[:, None], np.array([tie]))[0])
    total -= quality @ np.linalg.solve(sigma, quality) / 2 + np.linalg.slogdet(sigma)[1] / 2
    total += np.log(share) + np.log1p(-share)
    total += -variance / 8 + log_alpha - tie**2 / 2 + log_tie
    return total + np.linalg.slogdet(jacobian)[1]


# All engines tell one story.


def table(draws: Draws) -> np.ndarray:
    """Centred qualities, their squares, δ, log α² and ρ."""
    centred = draws.quality - draws.quality.mean(axis=-1, keepdims=True)
    scalars = [draws.tie, np.log(draws.variance), draws.terms["share"]]
    every = np.concatenate([centred, centred**2, np.stack(scalars, axis=-1)], axis=-1)
    return every[..., np.ptp(every, axis=(0, 1)) > 0]


def assert_one_story(one: Draws, two: Draws) -> None:
    first, second = table(one), table(two)
    error = np.hypot(monte_carlo_error(first), monte_carlo_error(second))
    assert_normal_scores((first.mean(axis=(0, 1)) - second.mean(axis=(0, 1))) / error)


class TwoLayers(Transport):
    """Transport in the coordinates that models with terms have, for a model without."""

    def _preconditioner(self, model):
        return build_hierarchical_preconditioner(model)


@pytest.mark.slow
def test_two_layers_tell_the_story_of_one():
    assert_one_story(explore(county(), Transport()), explore(county(), TwoLayers(), 2))


@pytest.mark.slow
def test_transport_and_gibbs_tell_one_story():
    assert_one_story(explore(county(), Transport(draws=8000)), explore(county(), Gibbs()))


@pytest.mark.slow
@pytest.mark.thorough
def test_transport_and_metropolis_tell_one_story():
    assert_one_story(explore(county(), Transport(draws=8000)), explore(county(), Metropolis()))


def test_laplace_knows_how_far_it_can_be_trusted():
    tree = fit(county(), Laplace(), rng=1)
    exact = fit(county(), rng=1, ess=0)
    assert tree.attrs["engine_k_hat"] < 0.7
    for name in ("tie", "variance", "share"):
        one, two = (some["posterior"][name].to_numpy() for some in (tree, exact))
        assert abs(one.mean() - two.mean()) < 0.3 * two.std()


# Simulation-based calibration (Talts et al. 2018): the truth is one more draw.


def spaced(draws: Draws, thin: int) -> tuple[np.ndarray, ...]:
    parts = draws.quality, draws.tie, draws.variance, draws.terms["share"]
    return tuple(part[0, ::thin][:RANKS] for part in parts)


def last(draws: Draws) -> tuple[np.ndarray, ...]:
    parts = draws.quality, draws.tie, draws.variance, draws.terms["share"]
    return tuple(part[:RANKS, -1] for part in parts)


ENGINES = {
    "transport": lambda model, seed: last(
        explore(model, Transport(50 * (RANKS + 1), RANKS + 1, threads=1), seed)
    ),
    "two layers": lambda model, seed: last(
        explore(model, TwoLayers(50 * (RANKS + 1), RANKS + 1, threads=1), seed)
    ),
    "gibbs": lambda model, seed: spaced(
        explore(model, Gibbs(RANKS * 6, 60, chains=1, threads=1), seed), 6
    ),
    "metropolis": lambda model, seed: spaced(
        explore(model, Metropolis(RANKS, 60, 40, chains=1, threads=1), seed), 1
    ),
}


def ranks_of_truth(name: str, rng: Generator) -> np.ndarray:
    """Where the truth ranks: qualities, a gap, δ, α², ρ, the map's share, and the likelihood."""
    prior = Network(MAP if name in ("transport", "two layers") else Graph.grid(2, 3))
    truth = Truth.from_priors(prior, SPREAD, TIE, rng)
    model = BradleyTerry(
        simulate_counts(truth, 10 * len(prior.items) // 2, rng), prior, variance=SPREAD, tie=TIE
    )
    draws = ENGINES[name](model, int(rng.integers(2**32)))

    def quantities(quality, tie, variance, share):
        likelihood = model.log_likelihood(quality.T, tie)
        gap = quality[:, 0] - quality[:, 1]
        return np.column_stack([quality, gap, tie, variance, share, likelihood])

    known = (truth.quality[None], np.array([truth.tie]), np.array([truth.variance]))
    true = quantities(*known, np.array([float(truth.terms["share"])]))
    return (quantities(*draws) < true).sum(axis=0)


def ranks_over(name: str, studies: int) -> np.ndarray:
    generators = np.random.default_rng(2).spawn(studies)
    return np.array([ranks_of_truth(name, rng) for rng in generators])


@pytest.mark.slow
@pytest.mark.parametrize("name", thorough(["transport", "gibbs"], "gibbs"))
def test_truth_is_one_more_draw(name):
    assert_uniform_ranks(ranks_over(name, 60))


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("name", ENGINES)
def test_truth_is_one_more_draw_over_hundreds_of_studies(name):
    assert_uniform_ranks(ranks_over(name, 300))


# Maps on which the paper's prior goes astray.


def complete(first: int, last: int) -> list[tuple[int, int]]:
    return list(combinations(range(first, last), 2))


def of_edges(size: int, edges) -> Graph:
    return Graph(tuple(str(k) for k in range(size)), np.array(edges))


def within_radius(size: int, degree: float) -> Graph:
    places = np.random.default_rng(1).uniform(size=(size, 2))
    apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    return of_edges(size, np.argwhere(np.triu(apart < np.sqrt(degree / size / np.pi), 1)))


AWKWARD = {
    "a clique with a path": of_edges(50, complete(0, 26) + [(k, k + 1) for k in range(25, 49)]),
    "a complete graph": of_edges(40, complete(0, 40)),
    "two cliques with islands": of_edges(40, complete(0, 15) + complete(15, 30)),
    "a star": of_edges(200, [(0, k) for k in range(1, 200)]),
    "a radius": within_radius(150, 22),
}


@pytest.mark.parametrize("name", everyday(AWKWARD, "a complete graph", "two cliques with islands"))
def test_awkward_maps_are_explored(name):
    rng = np.random.default_rng(3)
    graph = AWKWARD[name]
    tree = fit(simulated(graph, 0.7, 10 * len(graph.items), rng), rng=1, ess=0)
    assert tree.attrs["engine"] == "transport"
    assert tree.attrs["rhat_max"] < 1.02
    silent = name in ("a complete graph", "a star")
    assert (map_share(tree) is None) == silent
    assert ("cannot be said" in map_share_sentence(tree, "wards")) == silent


@pytest.mark.slow
@pytest.mark.parametrize("name", AWKWARD)
def test_intervals_on_awkward_maps_hold_what_they_promise(name):
    """95 % intervals of qualities over studies drawn from the prior, with binomial errors.

    Items of one study are alike, so that the error is that of the studies' own shares.
    """
    graph, shares = AWKWARD[name], []
    for rng in np.random.default_rng(4).spawn(12):
        truth = Truth.from_priors(Network(graph), SPREAD, TIE, rng)
        counts = simulate_counts(truth, 10 * len(graph.items), rng)
        tree = fit(BradleyTerry(counts, Network(graph)), rng=1, ess=0)
        draws = tree["posterior/quality"].to_numpy().reshape(-1, len(graph.items))
        low, high = np.quantile(draws, (0.025, 0.975), axis=0)
        centred = truth.quality - truth.quality.mean()
        shares.append(((low <= centred) & (centred <= high)).mean())
    error = max(np.std(shares, ddof=1) / np.sqrt(len(shares)), 0.01)
    assert abs(np.mean(shares) - 0.95) < 3 * error


def test_a_clique_does_not_take_the_path_beside_it():
    """The rank is cut from the correlation, not from e^A, beside whose clique a path is nothing."""
    graph, rng = AWKWARD["a clique with a path"], np.random.default_rng(5)
    prior = Network(graph, share=1)
    truth = Truth.from_priors(prior, Fixed(1.7), Fixed(0.4), rng)
    assert prior.factor(50).shape[1] >= 24
    model = BradleyTerry(simulate_counts(truth, 2000, rng), prior)
    tree = fit(model, rng=1, ess=0)
    estimate = tree["posterior/quality"].mean(("chain", "draw")).to_numpy()
    assert np.corrcoef(estimate, truth.quality)[0, 1] > 0.95
    assert "directions only" in tree.attrs["warnings"]


# What else is told, and kept.


def test_an_island_has_the_variance_of_everybody():
    graph = of_edges(5, [(0, 1), (1, 2)])
    for share in (0.0, 0.3, 1.0, None):
        assert np.allclose(np.diag(Network(graph, share=share).covariance()), 1)


def test_shares_between_are_mixtures_of_both_ends():
    graph = Graph.grid(3, 3)
    correlation = Network(graph, share=1).covariance()
    mixed = Network(graph, share=0.3).covariance()
    assert np.allclose(mixed, 0.3 * correlation + 0.7 * np.eye(9))
    assert np.allclose(np.linalg.inv(mixed), Network(graph).correlation.precision(0.3))


def test_the_unevenness_is_the_variance_of_differences_under_the_map():
    graph = Graph.grid(4, 5)
    centring = np.eye(20) - 1 / 20
    correlation = Network(graph, share=1).covariance()
    t = np.trace(centring @ correlation @ centring) / 19
    mixture = Network(graph).correlation
    assert mixture.unevenness == pytest.approx(t)
    expected = 0.8 * t / (0.8 * t + 0.2)
    assert mixture.share_of_map(np.array([0.8])) == pytest.approx([expected])


def test_the_start_of_similar_data_leads_to_the_same_place():
    model = county()
    cold = build_mixture_preconditioner(model)
    warm = build_mixture_preconditioner(model, cold.warm_start)
    assert warm.warm_start.tau == pytest.approx(cold.warm_start.tau, abs=0.2)
    one, two = (explore(model, Transport(start=start)) for start in (None, cold.warm_start))
    assert_one_story(one, two)


def test_the_marginal_of_the_share_is_that_of_the_draws():
    marginal = fit_mixture_marginal(county())
    quartiles = share_of(marginal.share.quantile(np.array([0.25, 0.5, 0.75])))
    drawn = np.quantile(explore(county(), Transport()).terms["share"], [0.25, 0.5, 0.75])
    assert np.allclose(quartiles, drawn, atol=0.05)


def test_standard_deviations_of_gaps_are_those_of_the_covariance_written_out():
    marginal = fit_mixture_marginal(county())
    quadratic, centre = marginal.quadratic, marginal.centre
    vectors = quadratic.mixture.vectors
    precision = np.diag(quadratic.prior_precision(centre.log_alpha, centre.tau))
    covariance = vectors @ np.linalg.inv(quadratic.hessian + precision) @ vectors.T
    first, second = county().counts.first, county().counts.second
    own = np.diag(covariance)
    expected = np.sqrt(own[first] + own[second] - 2 * covariance[first, second])
    assert np.allclose(quadratic.gap_sd(centre), expected)


@pytest.mark.parametrize("smallest", [0.03, 2.0], ids=["single", "double"])
def test_means_and_marginals_are_those_of_the_matrix_written_out(smallest, monkeypatch):
    """With many items they are factored in single precision, unless its pivots are too small."""
    monkeypatch.setattr(averaged_quadratic, "SMALLEST_PIVOT", smallest)
    model = simulated(Graph.grid(16, 17), 0.7, 2720, np.random.default_rng(1))
    posterior = ConditionalPosterior(model, model.mixture.precision(0.6))
    quadratic = averaged_quadratic.expand(
        posterior, Centre(np.zeros(model.size), 0.4, float(posterior.start()[-1]), 0.0)
    )
    values = []
    for log_alpha, tau in ((0.0, 0.4), (0.5, 5.0)):
        precision = quadratic.prior_precision(log_alpha, tau)
        matrix = quadratic.hessian + np.diag(precision)
        mean, value = quadratic.mean(log_alpha, tau)
        expected = np.linalg.solve(matrix, quadratic.linear)
        assert np.allclose(mean, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())
        own = value - log_share_prior(np.asarray(tau)) - model.variance.log_density(log_alpha)
        own -= np.linalg.slogdet(np.diag(precision))[1] / 2 + quadratic.linear @ expected / 2
        values.append(own + np.linalg.slogdet(matrix)[1] / 2)
    assert np.allclose(values, 0.0, atol=1e-3)


@pytest.mark.slow
def test_the_centre_is_nearer_to_the_mean_than_the_mode_is():
    """Sparse data are skewed: the mode is off by tenths of a standard deviation, mostly."""
    off = []
    for seed in range(1, 7):
        model = simulated(Graph.grid(8, 8), 0.7, 200, np.random.default_rng(seed))
        centre = fit_mixture_marginal(model).centre
        share = float(share_of(centre.tau))
        mode = ConditionalPosterior(model, model.mixture.precision(share)).mode(centre.log_alpha)
        quality = explore(model, Transport()).quality
        mean, sd = quality.mean(axis=(0, 1)), quality.std(axis=(0, 1))
        off.append([np.abs((point - mean) / sd).mean() for point in (centre.quality, mode.quality)])
    of_centre, of_mode = np.mean(off, axis=0)
    assert of_centre < 0.5 * of_mode


def test_a_map_without_a_border_is_no_map():
    graph = of_edges(6, np.empty((0, 2), int))
    model = simulated(graph, 1.0, 40, np.random.default_rng(1))
    assert model.mixture is None
    assert "share" not in fit(model, rng=1, ess=0)["posterior"]


def test_the_share_is_reported_and_the_model_can_be_built_again():
    model = county()
    tree = fit(model, rng=1, ess=0)
    attach_record(tree, model, None)
    again = rebuild_model(tree)
    assert again.prior.share is None
    assert np.array_equal(again.prior.graph.edges, model.prior.graph.edges)
    assert worst(tree)[1] < 1.01
    low, middle, high = map_share(tree)
    assert 0 < low < middle < high < 1


@pytest.mark.slow
def test_terms_and_the_mixture_go_together():
    counts = replace(county().counts, ordered=True)
    model = BradleyTerry(counts, county().prior, terms=(Order(),))
    tree = fit(model, rng=1, ess=0)
    assert {"share", "order"} <= set(tree["posterior"].data_vars)
    assert tree.attrs["rhat_max"] < 1.02
    plain = fit(county(), rng=1, ess=0)
    one, two = (float(some["posterior/share"].mean()) for some in (tree, plain))
    assert one == pytest.approx(two, abs=0.1)


def test_old_results_have_the_share_of_the_paper():
    tree = build_tree(county(), explore(county(), Transport(draws=400)), {})
    assert "share" in tree["posterior"]
    assert "share that is inferred" in Network.describe({"borders": 3, "share": None})
    assert Network.describe({"borders": 3}) == Network.describe({"borders": 3, "share": 1.0})
