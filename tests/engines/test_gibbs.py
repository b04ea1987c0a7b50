"""Gibbs draws from the posterior: by quadrature, Geweke's joint test, and calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator, SeedSequence
from scipy import stats

from support.calibration import RANKS, assert_uniform_ranks
from support.everyday import everyday
from support.prior_sets import PAPER
from support.quadrature_cases import CASES, EXP, IG, assert_quadrature_means
from support.reference_formulas import LEVEL, assert_normal_scores, monte_carlo_error
from tiewise.data.counts import Counts
from tiewise.engines.base import Draws
from tiewise.engines.gibbs import Gibbs, _polya_gamma, _Sampler, _State
from tiewise.engines.preconditioners.newton import ConditionalPosterior
from tiewise.engines.updates.slice_sampling import slice_draw
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Covariance, Independent
from tiewise.model.scalar_priors.gamma import Gamma
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.scalar_priors.uniform import Uniform
from tiewise.model.simulate import Truth, random_pairs, simulate_counts
from tiewise.progress import no_progress

# Pólya–Gamma variables: the library's own methods break down one by one as margins grow.


def log_transform(b: float, c: float, s: np.ndarray) -> np.ndarray:
    """log E[e^{-sX}] of PG(b, c), from log cosh (Polson, Scott and Windle 2013, equation 3)."""

    def log_cosh(x: np.ndarray) -> np.ndarray:
        return np.logaddexp(x, -x) - np.log(2)

    return b * (log_cosh(np.asarray(c) / 2) - log_cosh(np.sqrt(c**2 / 4 + s / 2)))


@pytest.mark.parametrize("margin", [0.0, 0.7, -5.0, 19.9, -20.1, 45.0, -300.0, 5000.0])
@pytest.mark.parametrize("successes", [1.0, 2.0, 9.0, 30.0, 50.0, 51.0, 400.0])
def test_weights_are_polya_gamma(successes, margin):
    """By their Laplace transform at several points, for few and many successes, near and far."""
    c = abs(margin)
    draws = _polya_gamma(np.full(4000, successes), np.full(4000, margin), np.random.default_rng(2))
    mean = successes / 4 if c == 0 else successes / (2 * c) * np.tanh(c / 2)
    s = np.array([0.5, 1.0, 2.0]) / mean
    value, square = (np.exp(log_transform(successes, c, k * s)) for k in (1, 2))
    error = np.sqrt((square - value**2) / len(draws))
    assert_normal_scores((np.exp(-np.outer(s, draws)).mean(axis=1) - value) / error, LEVEL / 56)


# Slices.


@pytest.mark.parametrize("width", [0.3, 3.0, 40.0])
def test_a_slice_leaves_its_density_alone(width):
    """The logarithm of a gamma, skewed: exact draws, moved once, are exact draws still."""
    target, rng = stats.loggamma(1.5), np.random.default_rng(2)
    start = target.rvs(4000, random_state=rng)
    moved = np.array([slice_draw(lambda x: 1.5 * x - np.exp(x), x, width, rng) for x in start])
    level = LEVEL / 6
    assert stats.kstest(moved, target.cdf).pvalue > level
    # Stationary also as a pair: as often up across any line as down.
    for cut in target.ppf([0.1, 0.5, 0.9]):
        up, down = ((start < cut) & (moved > cut)).sum(), ((start > cut) & (moved < cut)).sum()
        assert stats.binomtest(int(up), int(up + down)).pvalue > level / 3


def test_a_slice_starts_where_there_is_density():
    with pytest.raises(FloatingPointError):
        slice_draw(lambda x: np.where(x > 0, -x, -np.inf), -1.0, 1.0, np.random.default_rng(2))


# Posteriors small enough to integrate.


def explore(model: BradleyTerry, engine: Gibbs, seed: int = 2) -> Draws:
    return engine.run(model, SeedSequence(seed), no_progress)


@pytest.mark.parametrize("name", everyday(CASES, "gamma"))
def test_means_are_those_of_the_integral(name):
    """Gaps and their squares, δ, α² and log α², within Monte Carlo error of quadrature."""
    assert_quadrature_means(name, Gibbs(draws=2000, warmup=100, chains=2, threads=1))


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("name", CASES)
def test_means_are_those_of_the_integral_more_closely(name):
    assert_quadrature_means(name, Gibbs(draws=6000, warmup=100, chains=2, threads=1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["network", "uniform", "half-normal spread, rank-deficient", "fixed variance"]
)
def test_published_updates_have_the_same_posterior(name):
    """Slower to mix, not different."""
    engine = Gibbs(draws=6000, warmup=500, chains=2, threads=1, as_published=True)
    assert_quadrature_means(name, engine)


# Geweke (2004): a sampler that never leaves the prior when the data are redrawn at every sweep.

FARMS = ("a", "b", "c", "d", "e")
RING = Network(
    Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "a")]), share=1
)
THIN = np.random.default_rng(2).normal(size=(5, 2))
LOW_RANK = Covariance(THIN @ THIN.T, FARMS)
PAIRS = random_pairs(5, 12, np.random.default_rng(2))
JOINT = {
    "network": (RING, IG, EXP, False),
    "rank-deficient, bounded": (LOW_RANK, HalfNormalSpread(0.8), Uniform(0.1, 1.2), False),
    "as published": (RING, IG, Gamma(2.0, 3.0), True),
}


def one_prior_draw(name: str, rng: Generator) -> tuple[Truth, Counts]:
    prior, variance, tie, _ = JOINT[name]
    truth = Truth.from_priors(prior, variance, tie, rng)
    return truth, simulate_counts(truth, 0, rng, PAIRS)


def features(quality: np.ndarray, tie: float, variance: float, counts: Counts) -> list[float]:
    """Bounded, so that means behave: level and width of everything, and how data follow it."""
    low, wide = np.tanh(quality), np.tanh(quality**2)
    log_variance, decay, share = np.tanh(np.log(variance)), np.exp(-tie), counts.total_ties / 12
    gap = np.tanh(quality[counts.first] - quality[counts.second])
    follow = float(gap @ (counts.wins_first - counts.wins_second)) / 12
    return [
        *low, *wide, low[0] * low[1], log_variance, log_variance**2, decay, decay**2,
        share, share**2, follow, share * decay, log_variance * decay, log_variance * wide.mean(),
    ]  # fmt: skip


def marginal_conditional(name: str, number: int, rng: Generator) -> np.ndarray:
    """Independent draws of parameters and data: what the other simulator must give too."""
    rows = []
    for _ in range(number):
        truth, counts = one_prior_draw(name, rng)
        rows.append(features(truth.quality, truth.tie, truth.variance, counts))
    return np.array(rows)


def successive_conditional(name: str, number: int, rng: Generator) -> np.ndarray:
    """Data from parameters, a sweep from data, and again."""
    prior, variance, tie, as_published = JOINT[name]
    truth, counts = one_prior_draw(name, rng)

    def model_of(counts: Counts) -> BradleyTerry:
        return BradleyTerry(counts, prior, variance=variance, tie=tie)

    # Step widths are settings: any will do as long as they do not follow the data around.
    sampler = _Sampler.of(model_of(counts), as_published=as_published)
    state = _State(truth.quality, truth.tie, truth.variance)
    rows = []
    for _ in range(number):
        now = Truth(FARMS, state.quality, state.tie, state.variance)
        counts = simulate_counts(now, 0, rng, PAIRS)
        model = model_of(counts)
        state = replace(sampler, model=model, posterior=ConditionalPosterior(model)).sweep(
            state, rng
        )
        rows.append(features(state.quality, state.tie, state.variance, counts))
    return np.array(rows)


def gewekes_scores(name: str, number: int) -> np.ndarray:
    one, two = (np.random.default_rng(seed) for seed in SeedSequence(2).spawn(2))
    apart = marginal_conditional(name, number, one)
    along = np.stack([successive_conditional(name, number, rng) for rng in two.spawn(2)])
    error = np.hypot(apart.std(axis=0) / np.sqrt(number), monte_carlo_error(along))
    return (along.mean(axis=(0, 1)) - apart.mean(axis=0)) / error


@pytest.mark.slow
@pytest.mark.parametrize("name", JOINT)
def test_sweeps_leave_the_joint_distribution_alone(name):
    assert_normal_scores(gewekes_scores(name, 2500), LEVEL / len(JOINT))


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("name", JOINT)
def test_sweeps_leave_the_joint_distribution_alone_thoroughly(name):
    assert_normal_scores(gewekes_scores(name, 8000), LEVEL / len(JOINT))


@pytest.mark.slow
def test_gewekes_test_notices_a_recentred_sampler(monkeypatch):
    """The published fault, put back in, fails the test by far."""
    draw = _Sampler._draw_quality

    def recentred(self, state, rng):
        quality = draw(self, state, rng)
        return quality - quality.mean()

    monkeypatch.setattr(_Sampler, "_draw_quality", recentred)
    with pytest.raises(AssertionError, match="largest"):
        assert_normal_scores(gewekes_scores("network", 1000))


# Simulation-based calibration (Talts et al. 2018): the truth is one more draw.

CALIBRATED = {
    "exponential": (EXP, False),
    "gamma": (Gamma(2.0, 3.0), False),
    "as published": (EXP, True),
}


def ranks_of_truth(name: str, rng: Generator) -> np.ndarray:
    """Where the truth ranks among thinned draws: qualities, a gap, δ, α² and the likelihood."""
    tie, as_published = CALIBRATED[name]
    prior = Network(Graph.grid(2, 3), share=1)
    truth = Truth.from_priors(prior, IG, tie, rng)
    model = BradleyTerry(simulate_counts(truth, 24, rng), prior, variance=IG, tie=tie)
    # Far enough apart to be nearly independent; the paper's random walk of the threshold is slow.
    thin = 20 if as_published else 4
    engine = Gibbs(RANKS * thin, 10 * thin, chains=1, threads=1, as_published=as_published)
    draws = engine.run(model, SeedSequence(int(rng.integers(2**32))), no_progress)
    quality, ties, variance = (
        draws.quality[0, ::thin],
        draws.tie[0, ::thin],
        draws.variance[0, ::thin],
    )

    def quantities(quality, tie, variance):
        likelihood = model.log_likelihood(quality.T, tie)
        return np.column_stack([quality, quality[:, 0] - quality[:, 1], tie, variance, likelihood])

    true = quantities(truth.quality[None], np.array([truth.tie]), np.array([truth.variance]))
    return (quantities(quality, ties, variance) < true).sum(axis=0)


def ranks_over(name: str, data_sets: int) -> np.ndarray:
    generators = np.random.default_rng(2).spawn(data_sets)
    return np.array([ranks_of_truth(name, rng) for rng in generators])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exponential", "gamma"])
def test_truth_is_one_more_draw(name):
    assert_uniform_ranks(ranks_over(name, 60))


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("name", CALIBRATED)
def test_truth_is_one_more_draw_over_hundreds_of_studies(name):
    assert_uniform_ranks(ranks_over(name, 300))


# Seeds, threads, and data that other samplers stumble over.


def test_same_seed_same_draws_whatever_the_threads(village):
    runs = [explore(village.model, Gibbs(80, 10, threads=threads)) for threads in (1, 2, 3)]
    for run in runs[1:]:
        assert np.array_equal(run.quality, runs[0].quality)
        assert np.array_equal(run.tie, runs[0].tie)
        assert np.array_equal(run.variance, runs[0].variance)
    other = explore(village.model, Gibbs(80, 10), seed=3)
    assert not np.array_equal(other.quality, runs[0].quality)


def test_chains_differ(village):
    quality = explore(village.model, Gibbs(80, 10)).quality
    assert len(np.unique(quality[:, 0, 0])) == 4


@pytest.mark.parametrize(("draws", "chains"), [(100, 4), (101, 4), (7, 3)])
def test_at_least_the_draws_asked_for(village, draws, chains):
    """Shared out over chains, the last share rounded up."""
    quality = explore(village.model, Gibbs(draws, 5, chains)).quality
    assert quality.shape == (chains, -(-draws // chains), 8)


def test_progress_reaches_the_end_and_never_goes_back(village):
    steps: list[tuple[int, int]] = []
    engine = Gibbs(40, 10)
    engine.run(village.model, SeedSequence(2), lambda _, done, of: steps.append((done, of)))
    assert [done for done, _ in steps] == list(range(1, 81))
    assert {of for _, of in steps} == {80}


def test_an_interrupt_stops_every_chain(village):
    """Ctrl-C comes out of the progress callback, and the other chains do not run to their end."""
    steps = []

    def interrupt(_name: str, done: int, _total: int) -> None:
        steps.append(done)
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Gibbs(draws=4000).run(village.model, SeedSequence(2), interrupt)
    assert len(steps) < 1000


def hard_studies() -> Iterator[tuple[str, Counts]]:
    rng = np.random.default_rng(2)
    items = tuple("abcdef")
    quality = np.linspace(-1, 1, 6)
    yield "75 % ties", simulate_counts(Truth(items, quality, 2.1, 1.0), 200, rng)
    yield "no ties seen", simulate_counts(Truth(items, quality, 0.0, 1.0), 60, rng)
    yield "all ties", Counts.of(items, [0, 1, 2, 3, 4], [1, 2, 3, 4, 5], *[[0] * 5] * 2, [3] * 5)
    yield "never compared", Counts.of(items, [0, 1, 2, 3], [1, 2, 3, 4], [2] * 4, [1] * 4, [1] * 4)
    yield "disconnected", Counts.of(items, [0, 1, 3, 4], [1, 2, 4, 5], [2] * 4, [1] * 4, [1] * 4)
    yield "one judgement", Counts.of(items, [0], [1], [1], [0])
    yield "no judgement", Counts.of(items, [], [], [], [])
    yield "no circles", Counts.of(items, [0, 1, 2, 3, 4], [1, 2, 3, 4, 5], [9] * 5, [0] * 5)
    yield "thousands a pair", Counts.of(items, [0, 1, 2], [1, 2, 3], *[[2000] * 3] * 2, [999] * 3)


HARD = dict(hard_studies())
PRIORS: dict[str, Callable[[], object]] = {
    "independent": Independent,
    "network": lambda: Network(Graph.from_edges([*zip("abcde", "bcdef", strict=True)]), share=1),
}


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", HARD)
def test_hard_studies_run(name, prior):
    """Under vague priors, too: finite draws, and δ inside its support."""
    model = BradleyTerry(HARD[name], PRIORS[prior](), **PAPER)
    draws = explore(model, Gibbs(draws=200, warmup=50, chains=2))
    assert np.isfinite(draws.quality).all()
    assert np.isfinite(draws.tie).all()
    assert np.isfinite(draws.variance).all()
    assert (draws.tie > 0).all()
    assert (draws.variance > 0).all()
