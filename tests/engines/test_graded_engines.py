"""Graded answers in every engine: an integral, each other, a blind search, another sampler."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy import stats
from scipy.optimize import minimize

from support.everyday import everyday
from support.nuts import nuts
from support.reference_formulas import LEVEL, assert_normal_scores, monte_carlo_error
from tiewise.data.counts import Counts
from tiewise.engines.base import Draws, Engine
from tiewise.engines.caron_doucet import CaronDoucet
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.laplace import Laplace
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.engines.metropolis import Metropolis
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.half_normal import HalfNormal
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.model.terms import Thresholds
from tiewise.posterior.fit import fit
from tiewise.posterior.summaries import parameters
from tiewise.progress import no_progress


def explore(engine: Engine, model: BradleyTerry, seed: int = 2) -> Draws:
    return engine.run(model, SeedSequence(seed), no_progress)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def probability(gap, grade: int, cuts):
    """Of a grade from −levels to levels (0: about equal), as the difference of two sigmoids."""
    bounds = [0.0, *cuts, np.inf]
    if grade == 0:
        return sigmoid(gap + cuts[0]) - sigmoid(gap - cuts[0])
    side, k = np.sign(grade), abs(grade)
    return sigmoid(side * gap - bounds[k]) - sigmoid(side * gap - bounds[k + 1])


# An integral: two items, α² held, so that there are a gap, δ and one step.

FIRST, TIED, SECOND = (4, 3), 3, (2, 1)
PAIR = Counts.of(("a", "b"), [0], [1], [7], [3], [3], strengths=[[FIRST, SECOND]])
TWO_ITEMS = BradleyTerry(
    PAIR, variance=Fixed(1.3), tie=Exponential(2.0), step=Exponential(1.0)
)  # fmt: skip


@cache
def integral() -> np.ndarray:
    """Means of the gap, its square, and both cuts, by sums over a fine grid."""
    gap = np.linspace(-8, 8, 97)[:, None, None]
    delta, step = (np.exp(np.linspace(-9, 2.5, 100)) for _ in range(2))
    delta, step = delta[:, None], step
    weight = stats.norm(scale=np.sqrt(2 * 1.3)).pdf(gap) * delta * step
    weight = weight * stats.expon(scale=0.5).pdf(delta) * stats.expon().pdf(step)
    for grade, times in zip((1, 2, 0, -1, -2), (*FIRST, TIED, *SECOND), strict=True):
        weight = weight * probability(gap, grade, (delta, delta + step)) ** times
    return np.array([(weight * f).sum() / weight.sum() for f in (gap, gap**2, delta, delta + step)])


def quantities(draws: Draws) -> np.ndarray:
    """The same of draws: (chains, draws, quantities)."""
    gap = draws.quality[..., :1] - draws.quality[..., 1:2]
    return np.concatenate([gap, gap**2, draws.terms["cut"]], axis=-1)


@pytest.mark.parametrize(
    "engine",
    everyday(
        [Gibbs(600, 50, 2, 1), Metropolis(500, 6, 40, 2, 1), Transport(1600, threads=1)],
        Gibbs(600, 50, 2, 1), Transport(1600, threads=1),
    ),
    ids=lambda engine: engine.name,
)  # fmt: skip
def test_means_are_those_of_the_integral(engine):
    draws = explore(engine, TWO_ITEMS)
    assert np.array_equal(draws.terms["cut"][..., 0], draws.tie)
    table = quantities(draws)
    scores = (table.mean(axis=(0, 1)) - integral()) / monte_carlo_error(table)
    assert_normal_scores(scores, LEVEL / 3)


def test_weighted_draws_of_laplace_have_the_means_of_the_integral():
    draws = explore(Laplace(draws=4000), TWO_ITEMS)
    table, weight = quantities(draws)[0], np.exp(draws.stats["log_weight"][0])
    weight = weight / weight.sum()
    mean = weight @ table
    error = np.sqrt(weight**2 @ (table - mean) ** 2)
    assert_normal_scores((mean - integral()) / error)


# Agreement of exact engines.


def small_study(answers: int, seed: int = 3) -> BradleyTerry:
    """A hundred answers about seven areas in a row, with priors of its own for each step."""
    rng, graph = np.random.default_rng(seed), Graph.grid(1, 7)
    tie = 0.4 if answers % 2 else 0.0
    cuts = tie + 0.9 * np.arange(answers // 2)
    truth = Truth(graph.items, rng.normal(size=7), tie, 1.0, {"cut": cuts})
    return BradleyTerry(
        simulate_counts(truth, 100, rng), Network(graph, share=1), variance=InverseGamma(3, 2),
        tie=Exponential(2.0) if tie else None, step=HalfNormal(1.5),
    )  # fmt: skip


def everything(draws: Draws) -> np.ndarray:
    """Qualities, cuts that are inferred, log α², and squares."""
    cuts = draws.terms["cut"]
    own = [
        draws.quality,
        cuts[..., np.ptp(cuts, axis=(0, 1)) > 0],
        np.log(draws.variance)[..., None],
    ]
    table = np.concatenate(own, axis=-1)
    return np.concatenate([table, table**2], axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize("answers", [5, 4])
def test_exact_engines_agree(answers):
    model = small_study(answers)
    engines = (Transport(8000), Gibbs(1200, 100, 2, 1), Metropolis(500, 10, 60, 2, 1))
    tables = [everything(explore(engine, model)) for engine in engines]
    means, errors = (
        [f(own) for own in tables] for f in (lambda x: x.mean((0, 1)), monte_carlo_error)
    )
    for other in (1, 2):
        scores = (means[other] - means[0]) / np.hypot(errors[other], errors[0])
        assert_normal_scores(scores, LEVEL / 4)


@pytest.mark.slow
def test_a_share_of_the_map_is_inferred_beside_cuts():
    model = small_study(5)
    graph = Graph.grid(1, 7)
    model = BradleyTerry(model.counts, Network(graph), variance=model.variance, tie=model.tie)
    one, two = (explore(engine, model) for engine in (Transport(4000), Gibbs(800, 100, 2, 1)))
    tables = [np.concatenate([d.terms["cut"], d.terms["share"][..., None]], -1) for d in (one, two)]
    error = np.hypot(*(monte_carlo_error(table) for table in tables))
    assert_normal_scores((tables[0].mean((0, 1)) - tables[1].mean((0, 1))) / error)


@pytest.mark.parametrize("engine", [Gibbs(20, 5), Metropolis(20, 2, 3)], ids=lambda e: e.name)
def test_chains_go_on_where_they_were_with_their_cuts(engine):
    draws = explore(engine, TWO_ITEMS)
    later = draws.more(5, 1, no_progress)
    both = draws.joined(later)
    assert both.terms["cut"].shape == (4, 10, 2)
    assert (np.diff(both.terms["cut"], axis=-1) > 0).all()
    again = explore(engine, TWO_ITEMS)
    assert np.array_equal(again.more(5, 1, no_progress).terms["cut"], later.terms["cut"])


def test_caron_and_doucet_say_who_knows_grades():
    with pytest.raises(
        InputError, match=r"does not know graded answers; leave the grades out .*gibbs"
    ):
        explore(CaronDoucet(), BradleyTerry(PAIR))


# Maximum likelihood.

TRIANGLE = Counts.of(
    ("a", "b", "c"), [0, 0, 1], [1, 2, 2], [6, 7, 6], [5, 4, 4], [3, 2, 4],
    strengths=[[[4, 2], [3, 2]], [[3, 4], [3, 1]], [[5, 1], [2, 2]]],
)  # fmt: skip


def longhand(counts: Counts, quality, cuts) -> float:
    """The log likelihood, answer by answer."""
    total = 0.0
    for r, (i, j) in enumerate(zip(counts.first, counts.second, strict=True)):
        gap, levels = quality[i] - quality[j], counts.levels
        first, second = counts.strengths[r]
        for k, side in product(range(levels), (1, -1)):
            times = (first if side == 1 else second)[k]
            total += times * np.log(probability(gap, side * (k + 1), cuts)) if times else 0.0
        total += counts.ties[r] * np.log(probability(gap, 0, cuts)) if counts.ties[r] else 0.0
    return float(total)


def test_maximum_likelihood_is_where_a_blind_search_ends():
    """Estimates, and standard errors from differences of the same longhand likelihood."""

    def cost(x: np.ndarray) -> float:
        return -longhand(TRIANGLE, (x[0], x[1], -x[0] - x[1]), np.cumsum(np.exp(x[2:])))

    tight = {"xatol": 1e-8, "fatol": 1e-12, "maxiter": 4000, "maxfev": 4000}
    best = minimize(cost, np.zeros(4), method="Nelder-Mead", options=tight)
    tree = fit(BradleyTerry(TRIANGLE), MaximumLikelihood(), rng=1)
    assert tree["posterior/quality"].to_numpy()[0, 0, :2] == pytest.approx(best.x[:2], abs=1e-5)
    cuts = np.cumsum(np.exp(best.x[2:]))
    assert tree["posterior/cut"].to_numpy()[0, 0] == pytest.approx(cuts, abs=1e-5)
    step, eye = 1e-3, np.eye(4)
    hessian = np.empty((4, 4))
    for i, j in product(range(4), repeat=2):
        ends = [
            a * b * cost(best.x + step * (a * eye[i] + b * eye[j]))
            for a, b in product((1, -1), (1, -1))
        ]
        hessian[i, j] = sum(ends) / (4 * step**2)
    covariance = np.linalg.inv(hessian)
    by_log = np.tri(2) * np.exp(best.x[2:])
    errors = np.sqrt(np.diag(by_log @ covariance[2:, 2:] @ by_log.T))
    assert tree["constant_data/cut_standard_error"].to_numpy() == pytest.approx(errors, rel=1e-3)
    ours = parameters(tree)["sd"]
    assert [ours["tie"], ours["cut: 2"]] == pytest.approx(errors, rel=1e-3)
    quality_errors = tree["constant_data/standard_error"].to_numpy()[:2]
    assert quality_errors == pytest.approx(np.sqrt(np.diag(covariance)[:2]), rel=1e-3)


def test_a_grade_that_nobody_gave_has_no_width():
    """The second of three strengths is never used: its cuts meet, as in the study without it."""
    strengths = np.insert(TRIANGLE.strengths, 1, 0, axis=2)
    columns = (getattr(TRIANGLE, name) for name in ("wins_first", "wins_second", "ties"))
    counts = Counts.of("abc", [0, 0, 1], [1, 2, 2], *columns, strengths=strengths)
    wide, plain = (
        explore(MaximumLikelihood(), BradleyTerry(own)) for own in (counts, TRIANGLE)
    )  # fmt: skip
    cuts = wide.terms["cut"][0, 0]
    assert cuts == pytest.approx(plain.terms["cut"][0, 0][[0, 1, 1]], abs=1e-6)
    assert wide.quality == pytest.approx(plain.quality, abs=1e-6)
    counts = Counts.of("ab", [0], [1], [4], [4], strengths=[[[2, 2], [3, 1]]])
    without = explore(MaximumLikelihood(), BradleyTerry(counts, tie=None))
    assert without.terms["cut"][0, 0, 0] == without.tie[0, 0] == 0.0
    assert without.tie_standard_error == 0.0


@pytest.mark.parametrize(
    ("strengths", "ties", "words"),
    [
        ([[[2, 0], [3, 0]]], [1], "nobody chose as strongly as 2 of 2"),
        ([[[0, 3], [0, 0]]], [0], "ever more likely as 'a' rises above 'b'"),
        # A weak choice and a tie: the gap grows together with the cuts.
        ([[[0, 2], [0, 0]]], [2], "ever more likely as 'a' rises above 'b'"),
    ],
)
def test_maximum_likelihood_names_what_keeps_it_from_an_estimate(strengths, ties, words):
    wins = np.array(strengths).sum(axis=2).T
    counts = Counts.of("ab", [0], [1], wins[0], wins[1], ties, strengths=strengths)
    with pytest.raises(InputError, match=words):
        explore(MaximumLikelihood(), BradleyTerry(counts))


def test_a_weak_choice_counts_both_ways():
    """a always won over b, but once weakly and once strongly: there is a finite estimate."""
    counts = Counts.of("ab", [0], [1], [3], [1], [1], strengths=[[[2, 1], [1, 0]]])
    draws = explore(MaximumLikelihood(), BradleyTerry(counts))
    assert np.isfinite(draws.quality).all()
    gap, cuts = draws.quality[0, 0, 0] - draws.quality[0, 0, 1], draws.terms["cut"][0, 0]
    there = longhand(counts, draws.quality[0, 0], cuts)
    for move in np.random.default_rng(1).normal(size=(50, 3)) * 0.3:
        near = np.array([gap + move[0], 0.0])
        assert (
            longhand(counts, near, np.cumsum(np.diff(cuts, prepend=0) * np.exp(move[1:]))) < there
        )


# Another sampler and another density: five grades, and judges with thresholds of their own.


JUDGES = 3


def judged_study() -> tuple[BradleyTerry, list[tuple[int, int, int, int, int]]]:
    """Ninety answers by three judges about four items: the model, and (i, j, judge, grade, n)."""
    rng = np.random.default_rng(8)
    quality, scale = np.array([0.9, 0.2, -0.3, -0.8]), np.array([0.6, 1.0, 1.7])
    tally: dict[tuple[int, int, int, int], int] = {}
    for k in range(90):
        i, j = rng.choice(4, 2, replace=False)
        cuts = scale[k % JUDGES] * np.array([0.4, 1.4])
        shares = [probability(quality[i] - quality[j], g, cuts) for g in (2, 1, 0, -1, -2)]
        grade = 2 - int(rng.choice(5, p=shares))
        tally[i, j, k % JUDGES, grade] = tally.get((i, j, k % JUDGES, grade), 0) + 1
    rows = [(*key, number) for key, number in tally.items()]
    one, two, judge, grade, times = np.array(rows).T
    strengths = np.zeros((len(rows), 2, 2), int)
    for side, sign in enumerate((1, -1)):
        for level in (1, 2):
            strengths[:, side, level - 1] = times * (grade == sign * level)
    counts = Counts.of(
        "abcd", one, two, times * (grade > 0), times * (grade < 0), times * (grade == 0),
        stratum=judge, strata=("x", "y", "z"), strengths=strengths,
    )  # fmt: skip
    model = BradleyTerry(
        counts, variance=InverseGamma(3, 2), tie=Exponential(2.0), step=Exponential(1.0),
        terms=(Thresholds(variance=InverseGamma(3, 1)),),
    )  # fmt: skip
    return model, rows


def judged_density(rows, x: np.ndarray) -> tuple[float, np.ndarray]:
    """The posterior of (λ, log α², log δ, log step, log scales of judges, log ω²), from scratch.

    An answer between the cuts a and b has σ(g − a) − σ(g − b), and a judge scales all cuts.
    """
    one, two, judge, grade, times = np.array(rows).T
    quality, log_variance, scale, log_spread = x[:4], x[4], x[7 : 7 + JUDGES], x[-1]
    variance, spread = np.exp(log_variance), np.exp(log_spread)
    tie, step = np.exp(x[5] + scale)[judge], np.exp(x[6] + scale)[judge]
    side, size = np.where(grade < 0, -1, 1), abs(grade)
    gap = side * (quality[one] - quality[two])
    above = sigmoid(gap - np.select([size == 0, size == 1], [-tie, tie], tie + step))
    below = sigmoid(gap - np.select([size == 0, size == 1], [tie, tie + step], np.inf))
    between = above - below
    # Inverse gamma (3, 2) of α² and (3, 1) of ω², exponentials (2) of δ and (1) of the step.
    value = -5 * log_variance - (2 + quality @ quality / 2) / variance
    value += -(3 + JUDGES / 2) * log_spread - (1 + scale @ scale / 2) / spread
    value += x[5] - 2 * np.exp(x[5]) + x[6] - np.exp(x[6]) + times @ np.log(between)

    by_gap = times * side * (1 - above - below)
    by_lower = -times * above * (1 - above) / between
    by_upper = times * below * (1 - below) / between
    by_tie = tie * (np.where(size == 0, -by_lower, by_lower) + by_upper * (size < 2))
    by_step = step * (by_lower * (size == 2) + by_upper * (size == 1))
    slope = np.zeros(len(x))
    np.add.at(slope, one, by_gap)
    np.add.at(slope, two, -by_gap)
    np.add.at(slope, 7 + judge, by_tie + by_step)
    slope[:4] -= quality / variance
    slope[4] = -5 + (2 + quality @ quality / 2) / variance
    slope[5] = 1 - 2 * np.exp(x[5]) + by_tie.sum()
    slope[6] = 1 - np.exp(x[6]) + by_step.sum()
    slope[7 : 7 + JUDGES] -= scale / spread
    slope[-1] = -(3 + JUDGES / 2) + (1 + scale @ scale / 2) / spread
    return float(value), slope


def test_the_density_written_anew_has_its_own_gradient():
    """By central differences, so that the sampler that follows it has the right one."""
    _, rows = judged_study()
    eye = np.eye(8 + JUDGES)
    for x in np.random.default_rng(1).normal(size=(5, 8 + JUDGES)):
        ends = [[judged_density(rows, x + h * own)[0] for own in eye] for h in (1e-5, -1e-5)]
        slope = np.subtract(*ends) / 2e-5
        assert judged_density(rows, x)[1] == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.slow
def test_the_other_sampler_knows_a_gaussian():
    """Means, variances and covariances of a Gaussian that is far from a sphere."""
    rng = np.random.default_rng(4)
    root = np.diag([0.2, 0.5, 1.0, 3.0]) @ (np.eye(4) + np.tri(4, k=-1) * rng.uniform(size=(4, 4)))
    mean, precision = rng.normal(size=4), np.linalg.inv(root @ root.T)

    def density(x):
        slope = -precision @ (x - mean)
        return float(slope @ (x - mean) / 2), slope

    chains = np.array([nuts(density, rng.normal(size=4), 400, rng) for _ in range(4)])
    off = chains - mean
    products = (off[..., :, None] * off[..., None, :]).reshape(*off.shape[:2], 16)
    table = np.concatenate([off, products[..., np.tri(4, dtype=bool).ravel()]], axis=-1)
    truth = np.concatenate([np.zeros(4), (root @ root.T)[np.tri(4, dtype=bool)]])
    assert_normal_scores((table.mean(axis=(0, 1)) - truth) / monte_carlo_error(table))


@pytest.mark.slow
@pytest.mark.thorough
def test_judges_thresholds_are_those_of_another_sampler():
    """The posterior written anew, and a No-U-Turn sampler that knows nothing of the package."""
    model, rows = judged_study()
    draws = explore(Transport(20_000), model)
    own = np.concatenate(
        [draws.quality[..., :1] - draws.quality[..., 1:], np.log(draws.terms["cut"]),
         np.log(draws.terms["threshold"]), np.log(draws.variance)[..., None],
         2 * np.log(draws.terms["threshold_sd"])[..., None]], axis=-1,
    )  # fmt: skip
    rng = np.random.default_rng(9)
    starts = 0.5 * rng.normal(size=(4, 8 + JUDGES))
    walk = np.array([nuts(lambda x: judged_density(rows, x), x, 2500, rng) for x in starts])
    log_tie, log_step = walk[..., 5], walk[..., 6]
    cut = np.stack([log_tie, np.logaddexp(log_tie, log_step)], axis=-1)
    other = np.concatenate(
        [walk[..., :1] - walk[..., 1:4], cut, log_tie[..., None] + walk[..., 7 : 7 + JUDGES],
         walk[..., 4:5], walk[..., -1:]], axis=-1,
    )  # fmt: skip
    # Means, and standard deviations as the means of squares around the same centre.
    centre = other.mean(axis=(0, 1))
    tables = [np.concatenate([one - centre, (one - centre) ** 2], axis=-1) for one in (own, other)]
    ours, theirs = (table.mean(axis=(0, 1)) for table in tables)
    assert_normal_scores((ours - theirs) / np.hypot(*map(monte_carlo_error, tables)))
