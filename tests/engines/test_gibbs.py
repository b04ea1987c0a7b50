"""Gibbs draws from the posterior: by quadrature, Geweke's joint test, and calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator, SeedSequence
from scipy import stats

from support.reference_formulas import (
    LEVEL,
    Exact,
    Nodes,
    at,
    between,
    exact_posterior,
    half_line,
    monte_carlo_error,
    repeated,
    tally,
    within_chance,
)
from tiewise.data.counts import Counts
from tiewise.engines.base import Draws
from tiewise.engines.gibbs import Gibbs, _Sampler, _State, _weights
from tiewise.engines.newton import Slopes
from tiewise.engines.slice_sampling import slice_draw
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Covariance, Independent, Network
from tiewise.model.scalar_priors import (
    Exponential,
    Fixed,
    Gamma,
    HalfNormal,
    HalfNormalSpread,
    InverseGamma,
    Uniform,
)
from tiewise.model.simulate import Truth, random_pairs, simulate_counts
from tiewise.progress import no_progress

# Pólya–Gamma weights: the library's own methods break down one by one as margins grow.


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
    draws = _weights(np.full(4000, successes), np.full(4000, margin), np.random.default_rng(2))
    mean = successes / 4 if c == 0 else successes / (2 * c) * np.tanh(c / 2)
    s = np.array([0.5, 1.0, 2.0]) / mean
    value, square = (np.exp(log_transform(successes, c, k * s)) for k in (1, 2))
    error = np.sqrt((square - value**2) / len(draws))
    within_chance((np.exp(-np.outer(s, draws)).mean(axis=1) - value) / error, LEVEL / 56)


# Slices.


@pytest.mark.parametrize("width", [0.3, 3.0, 40.0])
def test_a_slice_leaves_its_density_alone(width):
    """The logarithm of a gamma, skewed: exact draws, moved once, are exact draws still."""
    known, rng = stats.loggamma(1.5), np.random.default_rng(2)
    start = known.rvs(4000, random_state=rng)
    moved = np.array([slice_draw(lambda x: 1.5 * x - np.exp(x), x, width, rng) for x in start])
    level = LEVEL / 6
    assert stats.kstest(moved, known.cdf).pvalue > level
    # Stationary also as a pair: as often up across any line as down.
    for line in known.ppf([0.1, 0.5, 0.9]):
        up, down = ((start < line) & (moved > line)).sum(), ((start > line) & (moved < line)).sum()
        assert stats.binomtest(int(up), int(up + down)).pvalue > level / 3


def test_a_slice_starts_where_there_is_density():
    with pytest.raises(FloatingPointError):
        slice_draw(lambda x: np.where(x > 0, -x, -np.inf), -1.0, 1.0, np.random.default_rng(2))


# Posteriors small enough to integrate.

ITEMS = ("a", "b", "c")
LANE = Network(Graph.from_edges([("a", "b"), ("b", "c")]))
ROOT = np.array([[1.0, 0.2], [-0.5, 0.8], [0.3, -1.1]])
FLAT = Covariance(ROOT @ ROOT.T, ITEMS)

MIXED = repeated((0, 1, 6, 3, 2), (1, 2, 4, 2, 4), (0, 2, 3, 3, 1))
NO_TIES = repeated((0, 1, 6, 0, 2), (1, 2, 4, 0, 4), (0, 2, 3, 0, 1))
MOSTLY_TIES = repeated((0, 1, 2, 9, 1), (1, 2, 1, 10, 1), (0, 2, 3, 8, 1))
ALL_TIES = repeated((0, 1, 0, 4, 0), (1, 2, 0, 4, 0))
ONE_NEVER_COMPARED = repeated((0, 1, 6, 3, 2))
ONE_ALWAYS_WINS = repeated((0, 1, 6, 0, 0), (1, 2, 4, 1, 4), (0, 2, 5, 0, 0))
MANY = repeated((0, 1, 160, 90, 60))

# Wide enough for what is left out, and close enough for a mean, to be a thousandth at most.
PROPER = half_line(stats.invgamma(3, scale=2).pdf, -5, 7)
RARE = half_line(stats.expon(scale=0.5).pdf, -8, 2.5)
SPREAD = half_line(stats.halfnorm(scale=0.8).pdf, -11, 2)
BELIEFS: dict[object, Nodes] = {
    InverseGamma(3, 2): PROPER,
    HalfNormalSpread(0.8): Nodes(SPREAD.points**2, SPREAD.weights),
    Fixed(1.3): at(1.3),
    Exponential(2.0): RARE,
    Exponential(1.0): half_line(stats.expon.pdf, -4, 2, 160),
    Gamma(2.0, 3.0): half_line(stats.gamma(2, scale=1 / 3).pdf, -9, 2),
    HalfNormal(0.7): half_line(stats.halfnorm(scale=0.7).pdf, -14, 2),
    Uniform(0.1, 1.2): between(0.1, 1.2),
    Fixed(0.4): at(0.4),
    None: at(0.0),
}
IG, EXP = InverseGamma(3, 2), Exponential(2.0)
CASES = {
    "independent": (MIXED, Independent(), IG, EXP),
    "network": (MIXED, LANE, IG, EXP),
    "rank-deficient": (MIXED, FLAT, IG, EXP),
    "half-normal spread": (MIXED, LANE, HalfNormalSpread(0.8), EXP),
    "half-normal spread, rank-deficient": (MIXED, FLAT, HalfNormalSpread(0.8), None),
    "fixed variance": (MIXED, LANE, Fixed(1.3), EXP),
    "gamma": (MIXED, LANE, IG, Gamma(2.0, 3.0)),
    "half-normal": (MIXED, LANE, IG, HalfNormal(0.7)),
    "uniform": (MIXED, LANE, IG, Uniform(0.1, 1.2)),
    "fixed tie": (MIXED, LANE, IG, Fixed(0.4)),
    "both fixed": (MIXED, LANE, Fixed(1.3), Fixed(0.4)),
    "ties left out": (NO_TIES, LANE, IG, None),
    "no ties seen": (NO_TIES, Independent(), IG, HalfNormal(0.7)),
    "mostly ties": (MOSTLY_TIES, LANE, IG, EXP),
    "all ties": (ALL_TIES, LANE, IG, EXP),
    "one never compared": (ONE_NEVER_COMPARED, LANE, IG, EXP),
    "one always wins": (ONE_ALWAYS_WINS, Independent(), IG, EXP),
    "two items, hundreds of judgements": (MANY, Independent(ITEMS[:2]), IG, Exponential(1.0)),
}


def few_items(name: str) -> tuple[BradleyTerry, Exact]:
    """A model, and the expectations that quadrature gives for it."""
    said, prior, variance, tie = CASES[name]
    said = [row for row in said if tie is not None or row[2] != "tie"]
    items = prior.items or ITEMS
    covariance = prior.covariance() if hasattr(prior, "covariance") else np.eye(len(items))
    model = BradleyTerry(Counts.of(items, **tally(said)), prior, variance=variance, tie=tie)
    return model, exact_posterior(said, covariance, BELIEFS[tie], BELIEFS[variance])


def explore(model: BradleyTerry, engine: Gibbs, seed: int = 2) -> Draws:
    return engine.run(model, SeedSequence(seed), no_progress)


def agree_with_quadrature(name: str, engine: Gibbs) -> None:
    model, exact = few_items(name)
    draws = explore(model, engine)
    gaps = draws.quality[..., :1] - draws.quality[..., 1:]
    ours = [gaps, gaps**2, draws.tie, draws.variance, np.log(draws.variance)]
    table = np.concatenate([np.reshape(f, (*draws.tie.shape, -1)) for f in ours], axis=-1)
    known = np.concatenate([np.ravel(expectation) for expectation in exact])
    free = np.ptp(table, axis=(0, 1)) > 0
    assert np.allclose(table[..., ~free], known[~free])
    error = monte_carlo_error(table[..., free])
    within_chance((table.mean(axis=(0, 1)) - known)[free] / error, LEVEL / len(CASES))


@pytest.mark.parametrize("name", CASES)
def test_means_are_those_of_the_integral(name):
    """Gaps and their squares, δ, α² and log α², within Monte Carlo error of quadrature."""
    agree_with_quadrature(name, Gibbs(draws=2000, warmup=100, chains=2, threads=1))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_means_are_those_of_the_integral_more_closely(name):
    agree_with_quadrature(name, Gibbs(draws=6000, warmup=100, chains=2, threads=1))


@pytest.mark.parametrize(
    "name", ["network", "uniform", "half-normal spread, rank-deficient", "fixed variance"]
)
def test_published_updates_have_the_same_posterior(name):
    """Slower to mix, not different."""
    engine = Gibbs(draws=6000, warmup=500, chains=2, threads=1, as_published=True)
    agree_with_quadrature(name, engine)


# Geweke (2004): a sampler that never leaves the prior when the data are redrawn at every sweep.

FARMS = ("a", "b", "c", "d", "e")
RING = Network(Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "a")]))
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
    truth = Truth.drawn(prior, variance, tie, rng)
    return truth, simulate_counts(truth, 0, rng, PAIRS)


def features(quality: np.ndarray, tie: float, variance: float, counts: Counts) -> list[float]:
    """Bounded, so that means behave: level and width of everything, and how data follow it."""
    low, wide = np.tanh(quality), np.tanh(quality**2)
    spread, held, share = np.tanh(np.log(variance)), np.exp(-tie), counts.total_ties / 12
    gap = np.tanh(quality[counts.first] - quality[counts.second])
    follow = float(gap @ (counts.wins_first - counts.wins_second)) / 12
    return [
        *low, *wide, low[0] * low[1], spread, spread**2, held, held**2, share, share**2,
        follow, share * held, spread * held, spread * wide.mean(),
    ]  # fmt: skip


def marginal_conditional(name: str, number: int, rng: Generator) -> np.ndarray:
    """Independent draws of parameters and data: what the other simulator must give too."""
    rows = []
    for _ in range(number):
        truth, counts = one_prior_draw(name, rng)
        rows.append(features(truth.quality, truth.tie, truth.variance, counts))
    return np.array(rows)


def successive_conditional(name: str, number: int, rng: Generator) -> np.ndarray:
    """Data given parameters, a sweep given data, and again."""
    prior, variance, tie, as_published = JOINT[name]
    truth, counts = one_prior_draw(name, rng)

    def about(counts: Counts) -> BradleyTerry:
        return BradleyTerry(counts, prior, variance=variance, tie=tie)

    # Step widths are settings: any will do as long as they do not follow the data around.
    sampler = _Sampler.of(about(counts), as_published=as_published)
    state = _State(truth.quality, truth.tie, truth.variance)
    rows = []
    for _ in range(number):
        now = Truth(FARMS, state.quality, state.tie, state.variance)
        counts = simulate_counts(now, 0, rng, PAIRS)
        model = about(counts)
        state = replace(sampler, model=model, slopes=Slopes(model)).sweep(state, rng)
        rows.append(features(state.quality, state.tie, state.variance, counts))
    return np.array(rows)


def gewekes_scores(name: str, number: int) -> np.ndarray:
    one, two = (np.random.default_rng(seed) for seed in SeedSequence(2).spawn(2))
    apart = marginal_conditional(name, number, one)
    along = np.stack([successive_conditional(name, number, rng) for rng in two.spawn(2)])
    error = np.hypot(apart.std(axis=0) / np.sqrt(number), monte_carlo_error(along))
    return (along.mean(axis=(0, 1)) - apart.mean(axis=0)) / error


@pytest.mark.parametrize("name", JOINT)
def test_sweeps_leave_the_joint_distribution_alone(name):
    within_chance(gewekes_scores(name, 2500), LEVEL / len(JOINT))


@pytest.mark.slow
@pytest.mark.parametrize("name", JOINT)
def test_sweeps_leave_the_joint_distribution_alone_thoroughly(name):
    within_chance(gewekes_scores(name, 8000), LEVEL / len(JOINT))


def test_gewekes_test_notices_a_recentred_sampler(monkeypatch):
    """The published fault, put back in, is far beyond chance."""
    draw = _Sampler._draw_quality

    def recentred(self, state, rng):
        quality = draw(self, state, rng)
        return quality - quality.mean()

    monkeypatch.setattr(_Sampler, "_draw_quality", recentred)
    with pytest.raises(AssertionError, match="largest"):
        within_chance(gewekes_scores("network", 1000))


# Simulation-based calibration (Talts et al. 2018): the truth is one more draw.

RANKS = 31
CALIBRATED = {
    "exponential": (EXP, False),
    "gamma": (Gamma(2.0, 3.0), False),
    "as published": (EXP, True),
}


def ranks_of_truth(name: str, rng: Generator) -> np.ndarray:
    """Where the truth ranks among thinned draws: qualities, a gap, δ, α² and the likelihood."""
    tie, as_published = CALIBRATED[name]
    prior = Network(Graph.grid(2, 3))
    truth = Truth.drawn(prior, IG, tie, rng)
    model = BradleyTerry(simulate_counts(truth, 24, rng), prior, variance=IG, tie=tie)
    # Far enough apart to be nearly independent; the paper's threshold walks slowly.
    thin = 20 if as_published else 4
    engine = Gibbs(RANKS * thin, 10 * thin, chains=1, threads=1, as_published=as_published)
    draws = engine.run(model, SeedSequence(int(rng.integers(2**32))), no_progress)
    quality, ties, variance = (
        draws.quality[0, ::thin],
        draws.tie[0, ::thin],
        draws.variance[0, ::thin],
    )

    def told(quality, tie, variance):
        likelihood = model.log_likelihood(quality.T, tie)
        return np.column_stack([quality, quality[:, 0] - quality[:, 1], tie, variance, likelihood])

    true = told(truth.quality[None], np.array([truth.tie]), np.array([truth.variance]))
    return (told(quality, ties, variance) < true).sum(axis=0)


def judge_ranks(ranks: np.ndarray) -> None:
    """Uniform over data sets: Kolmogorov and Smirnov, chi-square, and the first two moments."""
    number, quantities = ranks.shape
    spread = np.random.default_rng(2).uniform(size=ranks.shape)
    share = (ranks + spread) / (RANKS + 1)
    ks = [stats.kstest(column, "uniform").pvalue for column in share.T]
    bins = [np.histogram(column, 8, (0, 1))[0] for column in share.T]
    chi = [stats.chisquare(column).pvalue for column in bins]
    assert min(ks + chi) > LEVEL / (2 * quantities * len(CALIBRATED))
    scores = stats.norm.ppf(share)
    moments = [scores.mean(axis=0), (scores**2 - 1).mean(axis=0) / np.sqrt(2)]
    within_chance(np.array(moments) * np.sqrt(number), LEVEL / len(CALIBRATED))


def ranks_over(name: str, data_sets: int) -> np.ndarray:
    generators = np.random.default_rng(2).spawn(data_sets)
    return np.array([ranks_of_truth(name, rng) for rng in generators])


@pytest.mark.parametrize("name", ["exponential", "gamma"])
def test_truth_is_one_more_draw(name):
    judge_ranks(ranks_over(name, 60))


@pytest.mark.slow
@pytest.mark.parametrize("name", CALIBRATED)
def test_truth_is_one_more_draw_over_hundreds_of_studies(name):
    judge_ranks(ranks_over(name, 300))


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
    seen: list[tuple[int, int]] = []
    engine = Gibbs(40, 10)
    engine.run(village.model, SeedSequence(2), lambda _, done, of: seen.append((done, of)))
    assert [done for done, _ in seen] == list(range(1, 81))
    assert {of for _, of in seen} == {80}


def test_an_interrupt_stops_every_chain(village):
    """Ctrl-C comes out of the watch, and the other chains do not run on to their end."""
    seen = []

    def watch(_what: str, done: int, _total: int) -> None:
        seen.append(done)
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Gibbs(draws=4000).run(village.model, SeedSequence(2), watch)
    assert len(seen) < 1000


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
    "network": lambda: Network(Graph.from_edges([*zip("abcde", "bcdef", strict=True)])),
}


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", HARD)
def test_hard_studies_run(name, prior):
    """With every default, vague priors included: finite draws, and δ inside its support."""
    model = BradleyTerry(HARD[name], PRIORS[prior]())
    draws = explore(model, Gibbs(draws=200, warmup=50, chains=2))
    assert np.isfinite(draws.quality).all()
    assert np.isfinite(draws.tie).all()
    assert np.isfinite(draws.variance).all()
    assert (draws.tie > 0).all()
    assert (draws.variance > 0).all()
