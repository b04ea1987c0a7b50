"""The random walk of BSBT has the posterior of quadrature and of Gibbs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.random import SeedSequence
from scipy import stats

from support.everyday import everyday
from support.prior_sets import PAPER
from support.reference_formulas import (
    LEVEL,
    Nodes,
    assert_normal_scores,
    at,
    between,
    exact_posterior,
    half_line,
    monte_carlo_error,
    repeated,
    tally,
)  # fmt: skip
from tiewise.data.comparisons import read_comparisons
from tiewise.data.counts import Counts
from tiewise.engines.base import Draws
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.metropolis import Metropolis
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Covariance, Independent, Precision
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.gamma import Gamma
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.scalar_priors.uniform import Uniform
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.fit import fit
from tiewise.progress import no_progress


def explore(engine: Metropolis | Gibbs, model: BradleyTerry, seed: int = 2) -> Draws:
    return engine.run(model, SeedSequence(seed), no_progress)


# Posteriors small enough to integrate.

PATH = Network(Graph.from_edges([("a", "b"), ("b", "c")]), share=1)
ROOT = np.array([[1.0, 0.2], [-0.5, 0.8], [0.3, -1.1]])
FLAT = Covariance(ROOT @ ROOT.T, ("a", "b", "c"))
MIXED = repeated((0, 1, 6, 3, 2), (1, 2, 4, 2, 4), (0, 2, 3, 3, 1))
NO_TIES = repeated((0, 1, 6, 0, 2), (1, 2, 4, 0, 4), (0, 2, 3, 0, 1))
TWO = repeated((0, 1, 6, 3, 2))
IG, EXP = InverseGamma(3, 2), Exponential(2.0)
SPREAD = half_line(stats.halfnorm(scale=0.8).pdf, -11, 2)
NODES: dict[object, Nodes] = {
    IG: half_line(stats.invgamma(3, scale=2).pdf, -9, 10),
    HalfNormalSpread(0.8): Nodes(SPREAD.points**2, SPREAD.weights),
    Fixed(1.3): at(1.3),
    EXP: half_line(stats.expon(scale=0.5).pdf, -14, 3),
    Gamma(2.0, 3.0): half_line(stats.gamma(2, scale=1 / 3).pdf, -9, 2),
    Uniform(0.1, 1.2): between(0.1, 1.2),
    Fixed(0.4): at(0.4),
    None: at(0.0),
}
CASES = {
    "two items": (TWO, Independent(), IG, EXP),
    "three items": (MIXED, Independent(), IG, EXP),
    "network, ties left out": (NO_TIES, PATH, IG, None),
    "rank-deficient, half-normal spread": (MIXED, FLAT, HalfNormalSpread(0.8), Gamma(2.0, 3.0)),
    "fixed variance, bounded threshold": (MIXED, PATH, Fixed(1.3), Uniform(0.1, 1.2)),
    "both fixed": (MIXED, FLAT, Fixed(1.3), Fixed(0.4)),
}


def quantities(draws: Draws) -> np.ndarray:
    """Gaps to the first item, their squares, δ, α² and log α²: (chains, draws, numbers)."""
    gaps = draws.quality[..., :1] - draws.quality[..., 1:]
    ours = [gaps, gaps**2, draws.tie, draws.variance, np.log(draws.variance)]
    return np.concatenate([np.reshape(f, (*draws.tie.shape, -1)) for f in ours], axis=-1)


@pytest.mark.parametrize("name", everyday(CASES, "rank-deficient, half-normal spread"))
def test_means_are_those_of_the_integral(name):
    answers, prior, variance, tie = CASES[name]
    size = len({one for pair in answers for one in pair[:2]})
    covariance = np.eye(size) if isinstance(prior, Independent) else prior.covariance()
    exact = exact_posterior(answers, covariance, NODES[tie], NODES[variance])
    counts = Counts.of("abc"[:size], **tally(answers))
    model = BradleyTerry(counts, prior, variance=variance, tie=tie)
    table = quantities(explore(Metropolis(draws=1000, thin=8, warmup=60), model))
    known = np.concatenate([np.ravel(expectation) for expectation in exact])
    free = np.ptp(table, axis=(0, 1)) > 0
    assert np.allclose(table[..., ~free], known[~free])
    error = monte_carlo_error(table[..., free])
    assert_normal_scores((table.mean(axis=(0, 1)) - known)[free] / error, LEVEL / len(CASES))


# Agreement with Gibbs.


def assert_agrees_with_gibbs(model: BradleyTerry, engine: Metropolis) -> None:
    """Means of everything, and of its square, agree within the Monte Carlo error of both."""
    one, two = (quantities(explore(each, model)) for each in (engine, Gibbs(1200)))
    error = np.hypot(monte_carlo_error(one), monte_carlo_error(two))
    assert_normal_scores((one.mean(axis=(0, 1)) - two.mean(axis=(0, 1))) / error)


@pytest.mark.slow
def test_the_village_tells_metropolis_and_gibbs_assert_agrees_with_gibbs(village):
    assert_agrees_with_gibbs(village.model, Metropolis(draws=800, thin=15, warmup=60))


@pytest.mark.slow
def test_qualities_that_sum_to_zero_tell_assert_agrees_with_gibbs(village):
    border = village.graph.adjacency().toarray()
    prior = Precision(np.diag(border.sum(axis=0)) - border, village.graph.items, sum_to_zero=True)
    model = BradleyTerry(village.counts, prior, variance=HalfNormalSpread(2.0), tie=EXP)
    assert np.allclose(explore(Metropolis(8, 1, 1), model).quality.sum(axis=-1), 0)
    assert_agrees_with_gibbs(model, Metropolis(draws=600, thin=15, warmup=60))


@pytest.mark.slow
@pytest.mark.thorough
def test_the_village_tells_one_story_under_vague_priors(village):
    model = BradleyTerry(village.counts, Network(village.graph, share=1), **PAPER)
    assert_agrees_with_gibbs(model, Metropolis())


@pytest.mark.slow
@pytest.mark.thorough
def test_south_yorkshire_agrees_with_the_reference_posterior(real):
    """Every quality, δ and α², within the Monte Carlo error of both."""
    gold = pd.read_csv(real("gold/south-yorkshire.csv"), dtype={"item": str})
    counts = read_comparisons(real("data/south-yorkshire-comparisons.csv")).counts()
    model = BradleyTerry(counts, **PAPER)
    draws = explore(Metropolis(thin=150), model)
    centred = draws.quality - draws.quality.mean(axis=-1, keepdims=True)
    index = [model.items.index(item) for item in gold["item"][2:]]
    scalars = np.stack([draws.tie, draws.variance], axis=-1)
    table = np.concatenate([scalars, centred[..., index]], axis=-1)
    error = np.hypot(monte_carlo_error(table), gold["mcse_mean"])
    assert_normal_scores((table.mean(axis=(0, 1)) - gold["mean"].to_numpy()) / error)


# Simulation-based calibration (Talts et al. 2018): the truth is one more draw.

RANKS = 31


def ranks_of_truth(rng: np.random.Generator) -> list[int]:
    """Where the truth ranks among draws far apart: a quality, a gap, δ and α²."""
    truth = Truth.from_priors(PATH, IG, EXP, rng)
    model = BradleyTerry(simulate_counts(truth, 10, rng), PATH, variance=IG, tie=EXP)
    engine = Metropolis(draws=RANKS, thin=16, warmup=20, chains=1)
    draws = explore(engine, model, int(rng.integers(2**32)))
    quality = draws.quality[0]
    pairs = (
        (quality[:, 1], truth.quality[1]),
        (quality[:, 0] - quality[:, 2], truth.quality[0] - truth.quality[2]),
        (draws.tie[0], truth.tie),
        (draws.variance[0], truth.variance),
    )
    return [int((values < true).sum()) for values, true in pairs]


def assert_uniform_ranks(data_sets: int) -> None:
    generators = np.random.default_rng(2).spawn(data_sets)
    ranks = np.array([ranks_of_truth(rng) for rng in generators])
    share = (ranks + np.random.default_rng(3).uniform(size=ranks.shape)) / (RANKS + 1)
    chi = [stats.chisquare(np.histogram(column, 8, (0, 1))[0]).pvalue for column in share.T]
    ks = [stats.kstest(column, "uniform").pvalue for column in share.T]
    assert min(chi + ks) > LEVEL / (2 * share.shape[1])


@pytest.mark.slow
def test_truth_is_one_more_draw():
    assert_uniform_ranks(40)


@pytest.mark.slow
@pytest.mark.thorough
def test_truth_is_one_more_draw_over_hundreds_of_studies():
    assert_uniform_ranks(600)


# Settings, seeds, and how it behaves where a random walk is at its worst or best.


def test_same_seed_same_draws_whatever_the_threads(village):
    runs = [explore(Metropolis(40, 3, 5, threads=threads), village.model) for threads in (1, 2, 3)]
    for run in runs[1:]:
        assert np.array_equal(run.quality, runs[0].quality)
        assert np.array_equal(run.tie, runs[0].tie)
        assert np.array_equal(run.variance, runs[0].variance)
    other = explore(Metropolis(40, 3, 5), village.model, seed=3)
    assert not np.array_equal(other.quality, runs[0].quality)


def test_at_least_the_draws_asked_for(village):
    draws = explore(Metropolis(draws=10, thin=2, warmup=0, chains=3), village.model)
    assert draws.quality.shape == (3, 4, 8)
    assert draws.tie.shape == draws.variance.shape == (3, 4)


def test_progress_reaches_the_end_and_never_goes_back(village):
    steps: list[tuple[int, int]] = []
    engine = Metropolis(draws=40, thin=3, warmup=10)
    engine.run(village.model, SeedSequence(2), lambda _, done, of: steps.append((done, of)))
    assert steps == [(done, 80) for done in range(1, 81)]


@pytest.mark.slow
def test_step_sizes_are_tuned_to_the_target_acceptance(village):
    facts = explore(Metropolis(draws=400, thin=10, warmup=150), village.model).facts
    assert facts["acceptance"] == pytest.approx(0.234, abs=0.04)
    assert facts["tie_acceptance"] == pytest.approx(0.44, abs=0.04)


def test_without_a_threshold_there_is_no_step_size_of_it(village):
    model = BradleyTerry(village.counts.without_ties(), tie=None)
    assert "tie_step" not in explore(Metropolis(8, 1, 1), model).facts


def test_with_next_to_no_data_a_proposal_is_nearly_a_fresh_draw_of_the_prior():
    model = BradleyTerry(Counts.of("ab", [0], [1], [1], [0]), variance=Fixed(1.0), tie=None)
    facts = explore(Metropolis(draws=40, thin=3, warmup=100), model).facts
    assert facts["step"] == pytest.approx(1.0, abs=0.02)
    assert facts["step"] <= 1.0


def test_a_random_walk_too_short_to_mix_is_reported():
    rng = np.random.default_rng(3)
    prior = Network(Graph.grid(6, 6), share=1)
    truth = Truth.from_priors(prior, Fixed(1.0), Fixed(0.5), rng)
    model = BradleyTerry(simulate_counts(truth, 2000, rng), prior)
    tree = fit(model, Metropolis(draws=400, thin=1, warmup=100), rng=1)
    assert "chains do not agree" in tree.attrs["warnings"]


@pytest.mark.parametrize(
    "counts",
    [
        Counts.of("abc", [], [], [], []),
        Counts.of("abc", [0, 1], [1, 2], [9, 9], [0, 0]),
        Counts.of("abc", [0, 1], [1, 2], [0, 0], [0, 0], [5, 5]),
        Counts.of("abc", [0], [1], [10**6], [10**6], [10**6]),
    ],
    ids=["no judgement", "no circles", "all ties", "millions"],
)
def test_hard_studies_run(counts):
    """Under vague priors, too: finite draws, and δ inside its support."""
    draws = explore(Metropolis(draws=40, thin=10, warmup=5), BradleyTerry(counts, **PAPER))
    assert np.isfinite(draws.quality).all()
    assert (np.isfinite(draws.tie) & (draws.tie > 0)).all()
    assert (np.isfinite(draws.variance) & (draws.variance > 0)).all()


def test_a_draw_needs_a_step():
    with pytest.raises(InputError, match="thin must be 1 step or more"):
        Metropolis(thin=0)
