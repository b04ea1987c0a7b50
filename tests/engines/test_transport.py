"""Transport: exact by quadrature, by calibration, by reference posteriors, and beside Gibbs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.random import SeedSequence

from conftest import FARMS
from support.calibration import RANKS, assert_uniform_ranks
from support.everyday import everyday
from support.missing import hide
from support.prior_sets import PAPER
from support.quadrature_cases import CASES, IG, assert_quadrature_means
from support.reference_formulas import assert_normal_scores, monte_carlo_error
from support.reference_posteriors import assert_reference_posterior
from tiewise.data.counts import Counts
from tiewise.engines import transport
from tiewise.engines.base import Draws, EngineUnsuitable
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.preconditioners import plain, skewness
from tiewise.engines.preconditioners.plain import build_preconditioner
from tiewise.engines.transport import PatientTransport, Transport
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Covariance, Independent
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.gamma import Gamma
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.fit import fit
from tiewise.progress import no_progress

LONG = Transport(draws=16_000, chains=8)


def explore(model: BradleyTerry, engine, seed: int = 2) -> Draws:
    return engine.run(model, SeedSequence(seed), no_progress)


@pytest.mark.parametrize("name", everyday(CASES, "network"))
def test_means_are_those_of_the_integral(name):
    """Gaps and their squares, δ, α² and log α², within Monte Carlo error of quadrature."""
    assert_quadrature_means(name, LONG)


def test_a_start_from_earlier_data_changes_the_way_and_not_the_posterior(village):
    fewer = Counts.of(FARMS, [0, 1, 2, 5], [1, 2, 3, 7], [2, 0, 1, 0], [0, 3, 0, 2], [1, 0, 0, 1])
    early = BradleyTerry(fewer, Network(village.graph, share=1))
    before = explore(early, Transport(draws=400)).warm_start
    assert before is not None
    afresh = explore(village.model, Transport(draws=2000))
    warm = explore(village.model, Transport(draws=2000, start=before))
    error = np.hypot(monte_carlo_error(afresh.quality), monte_carlo_error(warm.quality))
    apart = np.abs(warm.quality.mean(axis=(0, 1)) - afresh.quality.mean(axis=(0, 1)))
    assert np.all(apart < 5 * error)


# Reference posteriors by another system.


def test_south_yorkshire_is_the_reference_posterior(real):
    assert_reference_posterior(real, "south-yorkshire", Independent(), Transport(draws=16_000))


@pytest.mark.slow
def test_dar_es_salaam_is_the_reference_posterior(real):
    graph = Graph.from_edges(real("data/dar-es-salaam-edges.csv"))
    assert_reference_posterior(
        real, "dar-es-salaam", Network(graph, share=1), Transport(draws=8000)
    )


# Simulation-based calibration: the truth is one more draw.


MAP = Network(Graph.grid(3, 4), share=1)


def ranks_of_truth(rng: np.random.Generator, tie, prior=MAP) -> np.ndarray:
    """Where the truth ranks among the last draws of as many chains."""
    truth = Truth.from_priors(prior, IG, tie, rng)
    model = BradleyTerry(simulate_counts(truth, 60, rng), prior, variance=IG, tie=tie)
    engine = Transport(draws=50 * (RANKS + 1), chains=RANKS + 1, threads=1)
    draws = engine.run(model, SeedSequence(int(rng.integers(2**32))), no_progress)
    last = draws.quality[:RANKS, -1], draws.tie[:RANKS, -1], draws.variance[:RANKS, -1]

    def quantities(quality, tie, variance):
        likelihood = model.log_likelihood(quality.T, tie)
        return np.column_stack([quality, quality[:, 0] - quality[:, 1], tie, variance, likelihood])

    true = quantities(truth.quality[None], np.array([truth.tie]), np.array([truth.variance]))
    return (quantities(*last) < true).sum(axis=0)


TIES = {"exponential": Exponential(2.0), "gamma": Gamma(2.0, 3.0)}


@pytest.mark.slow
@pytest.mark.parametrize("name", TIES)
def test_truth_is_one_more_draw(name):
    generators = np.random.default_rng(2).spawn(60)
    assert_uniform_ranks(np.array([ranks_of_truth(rng, TIES[name]) for rng in generators]))


@pytest.fixture
def mapped(monkeypatch) -> None:
    """A map of each quality, which independent priors have with more items, in every study."""
    monkeypatch.setattr(skewness, "SKEWED_SIZE", 1)
    monkeypatch.setattr(skewness, "MOST_VARIANCE", np.inf)


@pytest.mark.slow
@pytest.mark.usefixtures("mapped")
def test_truth_is_one_more_draw_where_each_quality_has_a_map():
    items = Independent(tuple(map(str, range(12))))
    generators = np.random.default_rng(3).spawn(60)
    ranks = [ranks_of_truth(rng, TIES["gamma"], items) for rng in generators]
    assert_uniform_ranks(np.array(ranks))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["independent", "no ties seen", "one always wins"])
@pytest.mark.usefixtures("mapped")
def test_a_map_of_each_quality_leaves_the_posterior_alone(name):
    assert_quadrature_means(name, LONG)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("name", TIES)
def test_truth_is_one_more_draw_over_hundreds_of_studies(name):
    generators = np.random.default_rng(3).spawn(500)
    assert_uniform_ranks(np.array([ranks_of_truth(rng, TIES[name]) for rng in generators]))


# Beside Gibbs, where data are hard.


def hard_studies() -> dict[str, BradleyTerry]:
    rng = np.random.default_rng(2)
    graph = Graph.grid(3, 4)
    items, prior, proper = graph.items, Network(graph, share=1), InverseGamma(3, 2)
    quality = np.linspace(-1.5, 1.5, 12)

    def simulated(number: int, tie: float = 0.5) -> Counts:
        return simulate_counts(Truth(items, quality, tie, 1.0), number, rng)

    ring = np.arange(12)
    alone = Counts.of(items, ring[::2], ring[1::2], [1, 0] * 3, [0, 1] * 3)
    winner = simulated(80) + Counts.of(items, [0] * 11, ring[1:], [6] * 11, [0] * 11)
    apart = Counts.of(items, [*ring[:5], *ring[6:11]], [*ring[1:6], *ring[7:]], [3] * 10, [2] * 10)
    often = Counts.of(items, ring[:-1], ring[1:], [240] * 11, [180] * 11, [80] * 11)
    wishart = rng.normal(size=(12, 12))
    return {
        "one comparison an item, variance fixed": BradleyTerry(alone, prior, variance=Fixed(1.0)),
        "one comparison an item, proper prior": BradleyTerry(
            alone, prior, variance=proper, tie=Exponential(2.0)
        ),
        "75 % ties": BradleyTerry(simulated(150, 2.3), prior, variance=proper),
        "no ties seen": BradleyTerry(simulated(150, 0.0), prior, variance=proper),
        "ties not modelled": BradleyTerry(simulated(150, 0.0), prior, tie=None),
        "one that always wins": BradleyTerry(winner, prior, variance=proper),
        "disconnected": BradleyTerry(apart, prior, variance=proper, tie=Exponential(2.0)),
        "500 comparisons a pair": BradleyTerry(often, prior),
        "a covariance": BradleyTerry(simulated(120), Covariance(wishart @ wishart.T / 12, items)),
    }


HARD = hard_studies()


def table(draws: Draws) -> np.ndarray:
    """Centred qualities, their squares, δ and log α²; what does not move left out."""
    centred = draws.quality - draws.quality.mean(axis=-1, keepdims=True)
    scalars = [draws.tie[..., None], np.log(draws.variance)[..., None]]
    every = np.concatenate([centred, centred**2, *scalars], axis=-1)
    return every[..., np.ptp(every, axis=(0, 1)) > 0]


def one_story(model: BradleyTerry, ours: Transport, theirs: Gibbs) -> None:
    one, two = table(explore(model, ours)), table(explore(model, theirs))
    error = np.hypot(monte_carlo_error(one), monte_carlo_error(two))
    assert_normal_scores((one.mean(axis=(0, 1)) - two.mean(axis=(0, 1))) / error, 1e-3 / len(HARD))


@pytest.mark.slow
@pytest.mark.parametrize("name", HARD)
def test_hard_studies_tell_transport_and_gibbs_one_story(name):
    one_story(HARD[name], LONG, Gibbs(draws=6000, warmup=200, chains=4))


@pytest.mark.slow
def test_the_village_tells_transport_and_gibbs_one_story(village):
    one_story(village.model, LONG, Gibbs(draws=8000, warmup=200, chains=4))


# Trajectories, seeds, refusals.


@pytest.mark.parametrize("name", HARD)
def test_a_draw_costs_few_gradients(name):
    """Counted, not timed: no more steps than eight, and most trajectories accepted."""
    facts = explore(HARD[name], Transport()).facts
    assert facts["steps"] <= 8
    assert facts["acceptance"] > 0.6


def test_same_seed_same_draws_whatever_the_threads(village):
    runs = [explore(village.model, Transport(draws=400, threads=n)) for n in (1, 2, 3)]
    for run in runs[1:]:
        assert np.array_equal(run.quality, runs[0].quality)
        assert np.array_equal(run.tie, runs[0].tie)
        assert np.array_equal(run.variance, runs[0].variance)
    other = explore(village.model, Transport(draws=400), seed=3)
    assert not np.array_equal(other.quality, runs[0].quality)


@pytest.mark.parametrize("draws", [1, 100, 401, 4000])
def test_at_least_the_draws_asked_for(village, draws):
    tie = explore(village.model, Transport(draws=draws)).tie
    assert draws <= tie.size < draws + tie.shape[0]


@pytest.mark.parametrize("wrong", [{"chains": 6}, {"chains": 4}, {"blocks": 0}, {"draws": 0}])
def test_settings_that_cannot_be_are_refused(wrong):
    with pytest.raises(InputError):
        Transport(**wrong)


def test_chains_start_wider_than_the_posterior_and_forget_it(village):
    tree = fit(village.model, Transport(), rng=2)
    assert tree.attrs["superchains"] == 4
    assert tree.attrs["rhat_max"] < 1.01


@pytest.mark.slow
def test_gradients_in_single_precision_leave_the_posterior_alone(monkeypatch):
    """As with many items, in a study known by quadrature."""
    monkeypatch.setattr(plain, "SINGLE_PRECISION_SIZE", 1)
    assert_quadrature_means("network", LONG)


def test_the_density_that_decides_is_in_double_precision(village, monkeypatch):
    double = build_preconditioner(village.model)
    monkeypatch.setattr(plain, "SINGLE_PRECISION_SIZE", 1)
    single = build_preconditioner(village.model)
    q = np.random.default_rng(2).standard_normal((double.dimensions, 5))
    assert (single.log_density(q) == double.log_density(q)).all()
    assert (single.parameters(q).quality == double.parameters(q).quality).all()
    assert np.allclose(single.gradient(q), double.gradient(q), rtol=1e-4, atol=1e-4)
    assert (single.gradient(q) != double.gradient(q)).any()


def unsuitable() -> BradleyTerry:
    """Neither ties nor circles, and a prior that hardly bounds α²."""
    items = tuple("abcdefghijkl")
    counts = Counts.of(items, np.arange(11), np.arange(1, 12), [9] * 11, [0] * 11)
    return BradleyTerry(counts, **PAPER)


def test_low_acceptance_is_reported():
    with pytest.raises(EngineUnsuitable, match="accepted"):
        explore(unsuitable(), Transport())


def test_without_the_library_of_gibbs_small_steps_are_tried_first(monkeypatch):
    hide(monkeypatch, "polyagamma")
    with pytest.raises(EngineUnsuitable) as refusal:
        explore(unsuitable(), Transport())
    assert isinstance(refusal.value.fallback, PatientTransport)


@pytest.mark.slow
def test_what_small_steps_cannot_explore_names_the_extra_that_has_gibbs(monkeypatch):
    hide(monkeypatch, "polyagamma")
    monkeypatch.setattr(transport, "MIN_ACCEPTANCE", 1.1)
    with pytest.raises(InputError, match=r"Gibbs needs polyagamma: pip install 'tiewise\[gibbs\]'"):
        fit(unsuitable(), Transport(draws=400), rng=2)


@pytest.mark.slow
def test_fit_turns_to_gibbs_and_says_so():
    tree = fit(unsuitable(), Transport(draws=400), rng=2)
    assert tree.attrs["engine"] == "gibbs"
    assert any("unsuited" in warning for warning in json.loads(tree.attrs["warnings"]))


def test_progress_reaches_the_end(village):
    reports: dict[str, list[tuple[int, int]]] = {}

    def report(name: str, done: int, total: int) -> None:
        reports.setdefault(name, []).append((done, total))

    Transport(draws=400).run(village.model, SeedSequence(2), report)
    assert set(reports) == {"warming up", "sampling"}
    for steps in reports.values():
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)
        assert steps[-1][0] == steps[-1][1]


def test_a_preconditioner_can_start_from_an_earlier_one(village):
    """A few more judgements: the same preconditioner, from the last in fewer factorisations."""
    rng = np.random.default_rng(2)
    more = village.counts + simulate_counts(village.truth, 10, rng)
    model = BradleyTerry(more, village.model.prior, variance=IG, tie=Exponential(2.0))
    before = build_preconditioner(village.model).warm_start
    cold, warm = build_preconditioner(model), build_preconditioner(model, before)
    one, two = cold.warm_start.mode, warm.warm_start.mode
    assert np.allclose(two.quality, one.quality, atol=0.02)
    near = pytest.approx(cold.log_alpha_mean, abs=0.05 * cold.log_alpha_sd)
    assert warm.log_alpha_mean == near
