"""Anchors in units of their own, held against integrals written out and simulated studies."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy import integrate, stats

from support.calibration import RANKS, assert_uniform_ranks
from support.reference_formulas import assert_normal_scores
from tiewise.data.counts import Counts
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.model.anchors.anchors import Anchors
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.build import build_model
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.diagnostics import mcse
from tiewise.posterior.fit import fit, run_engine
from tiewise.posterior.scales.anchored import ANCHORED, anchor_table
from tiewise.posterior.scales.scale import quality_draws, scores
from tiewise.posterior.tree import rebuild_model
from tiewise.progress import no_progress

ITEMS = tuple("abcd")
VALUES, SD = np.array([1420.0, 1580.0, 1650.0]), np.array([60.0, 40.0, 90.0])
SCALE, VARIANCE = 250.0, 0.8
ANCHORS = Anchors(ITEMS[:3], VALUES, SD, slope="learned", slope_scale=SCALE)
# Chosen first, chosen second, of every pair of a, b and c; d is never compared.
PAIRS = [(0, 1, 1, 3), (0, 2, 2, 3), (1, 2, 2, 2)]
COUNTS = Counts.of(ITEMS, *zip(*PAIRS, strict=True), [0, 0, 0])
MODEL = BradleyTerry(COUNTS, variance=Fixed(VARIANCE), tie=None, anchors=ANCHORS)


@pytest.fixture(scope="module")
def tree():
    return fit(MODEL, Transport(draws=8000), rng=3)


def grid_expectations() -> tuple[np.ndarray, np.ndarray]:
    """Means of b − a, c − a, slope and level + slope·a, and of their squares, by sums over a grid.

    The level's prior is flat and the answers know differences alone, so that of a, b, c and the
    level three numbers are left: both differences, and what a itself is worth.
    """
    axis = np.linspace(-2.5, 4.5, 71)
    b, c = (one.ravel() for one in np.meshgrid(axis, axis))
    gaps = np.stack([np.zeros_like(b), b, c])
    prior = -(b**2 + c**2 - b * c) / (3 * VARIANCE)
    answers = sum(
        wins * -np.logaddexp(0, gaps[j] - gaps[i]) + losses * -np.logaddexp(0, gaps[i] - gaps[j])
        for i, j, wins, losses in PAIRS
    )
    worth, total, sums = np.linspace(1050, 1850, 28)[:, None], 0.0, np.zeros((2, 4))
    nodes, lengths = np.polynomial.legendre.leggauss(44)
    for slope, length in zip(550 * (1 + nodes), lengths, strict=True):
        log = prior + answers - (slope / SCALE) ** 2 / 2
        for k in range(3):
            log = log - ((VALUES[k] - worth - slope * gaps[k]) / SD[k]) ** 2 / 2
        weight = length * np.exp(log)
        total += weight.sum()
        for k, quantity in enumerate((b, c, slope, worth)):
            sums[:, k] += (weight * quantity).sum(), (weight * quantity**2).sum()
    return sums[0] / total, sums[1] / total


def test_level_and_slope_are_integrated_out():
    """Differences of the log density are those of the double integral by quadrature."""

    def mass(quality):
        def density(level, slope):
            error = (VALUES - level - slope * quality) / SD
            return np.exp(-(error**2).sum() / 2 - (slope / SCALE) ** 2 / 2)

        return integrate.dblquad(density, 0, 2500, -2500, 5000, epsrel=1e-7)[0]

    points = np.array([[-0.6, 0.2, 0.5], [0.6, -0.2, -0.5], [0.1, 0.0, 0.02]])
    expected = np.log([mass(point) for point in points])
    actual = MODEL.anchor_factor.log_density(np.column_stack([points, np.zeros(3)]).T)
    np.testing.assert_allclose(actual - actual[0], expected - expected[0], rtol=1e-5)


@pytest.mark.parametrize("slope", ["learned", 170.0])
def test_the_gradient_is_that_of_the_density(slope):
    """By finite differences, also where anchors and qualities have opposite orders."""
    anchors = Anchors(ITEMS[:3], VALUES, SD, slope=slope, slope_scale=SCALE)
    factor, step = anchors.over(ITEMS), 1e-5
    quality = np.random.default_rng(2).normal(size=(4, 6))
    quality[:3, 0] = 3 - VALUES / 500
    actual = np.zeros_like(quality)
    factor.add_gradient(quality, actual)
    moves = step * np.eye(4)[:, :, None]
    up, down = ([factor.log_density(quality + sign * move) for move in moves] for sign in (1, -1))
    np.testing.assert_allclose(actual, (np.array(up) - down) / (2 * step), rtol=1e-5, atol=1e-6)


def test_a_known_slope_only_changes_the_units():
    """Values and errors 50 times as large with a slope of 50 say the same."""
    plain = Anchors(ITEMS[:3], VALUES / 50, SD / 50).over(ITEMS)
    wide = Anchors(ITEMS[:3], VALUES, SD, slope=50).over(ITEMS)
    quality = np.random.default_rng(1).normal(size=(4, 5))
    np.testing.assert_allclose(wide.log_density(quality), plain.log_density(quality))
    one, two = (factor.curvature(quality[:, 0]).matrix for factor in (wide, plain))
    np.testing.assert_allclose(one, two)
    one, two = (
        each.level(quality.T, np.full(5, slope), np.random.default_rng(6))
        for each, slope in ((plain, 1.0), (wide, 50.0))
    )
    np.testing.assert_allclose(two, 50 * one)


def test_draws_are_those_of_the_posterior_summed_over_a_grid(tree):
    """Qualities, slope and anchored scores, and their squares, within Monte Carlo error."""
    mean, square = grid_expectations()
    posterior = tree["posterior"]
    quality, slope = posterior["quality"].to_numpy(), posterior["anchor_slope"].to_numpy()
    score = scores(ANCHORED, quality_draws(tree))[..., 0]
    draws = np.stack(
        [quality[..., 1] - quality[..., 0], quality[..., 2] - quality[..., 0], slope, score], -1
    )
    for each, expected in ((draws, mean), (draws**2, square)):
        assert_normal_scores((each.mean(axis=(0, 1)) - expected) / mcse(each))


def test_the_gradient_of_the_average_is_that_of_its_density():
    factor = ANCHORS.over(ITEMS).averaged(2.5)
    quality, step = np.random.default_rng(4).normal(size=(4, 3)), 1e-5
    actual = np.zeros_like(quality)
    factor.add_gradient(quality, actual)
    moves = step * np.eye(4)[:, :, None]
    up, down = ([factor.log_density(quality + sign * move) for move in moves] for sign in (1, -1))
    np.testing.assert_allclose(actual, (np.array(up) - down) / (2 * step), rtol=1e-5, atol=1e-6)


def all_anchors(cuts: tuple[float, ...]) -> tuple[BradleyTerry, float]:
    """A study whose items are all anchors, its answers with these cuts, and the true slope."""
    rng, slope = np.random.default_rng(6), 120.0
    terms = {"cut": np.array(cuts)} if len(cuts) > 1 else {}
    items = tuple(f"item {k}" for k in range(60))
    truth = Truth(items, rng.normal(size=60), cuts[0], 1.0, terms)
    counts = simulate_counts(truth, 900, rng).over(items)
    values = 1500 + slope * truth.quality + rng.normal(0, 15, 60)
    return BradleyTerry(counts, anchors=Anchors(items, values, 15, slope="learned")), slope


@pytest.mark.parametrize("cuts", [(0.3,), (0.3, 1.3)])
def test_many_anchors_do_not_draw_qualities_together(cuts):
    """Where the density is highest they are all but equal, and the posterior has no mass there."""
    model, slope = all_anchors(cuts)
    posterior = fit(model, Transport(draws=400), rng=3, ess=0)["posterior"]
    low, high = np.quantile(posterior["anchor_slope"], [0.001, 0.999])
    assert low < slope < high
    assert 0.4 < float(posterior["variance"].mean()) < 2.0


def test_each_anchor_is_checked_with_the_slope_free():
    """The z of an anchor is that of the linear model without it, where the slope is nearly sure."""
    items = tuple("abcdef")
    pairs = np.array([*combinations(range(6), 2)])
    truth = np.linspace(-1.5, 1.5, 6)
    first = np.round(4000 / (1 + np.exp(truth[pairs[:, 1]] - truth[pairs[:, 0]])))
    counts = Counts.of(items, *pairs.T, first, 4000 - first, np.zeros(15))
    values, sd = 50 + 10 * truth + [1.0, -1.5, 0.5, 2.0, -1.0, 0.3], np.linspace(1, 2, 6)
    anchors = Anchors(items, values, sd, slope="learned")
    model = BradleyTerry(counts, variance=Fixed(2.0), tie=None, anchors=anchors)
    table = anchor_table(fit(model, Transport(draws=400), rng=1))
    for k in range(6):
        keep = np.arange(6) != k
        design = np.column_stack([np.ones(6), truth])
        weighted = design[keep] / sd[keep, None]
        covariance = np.linalg.inv(weighted.T @ weighted)
        line = covariance @ weighted.T @ (values[keep] / sd[keep])
        spread = np.sqrt(sd[k] ** 2 + design[k] @ covariance @ design[k])
        # Qualities are known to 0.02, a fifth of a unit, which the linear model does not know.
        assert table["z"][k] == pytest.approx((values[k] - design[k] @ line) / spread, abs=0.15)


def test_a_model_is_rebuilt_with_its_slope(tree):
    again = rebuild_model(tree).anchors
    assert (again.slope, again.slope_scale) == ("learned", SCALE)
    table = {"item": list(ITEMS[:3]), "value": list(VALUES), "sd": list(SD)}
    known = build_model(COUNTS, anchors=table, anchor_slope="170")
    assert known.to_dict()["anchors"]["slope"] == 170


def test_the_prior_is_scaled_by_the_values():
    """Values in other units have the same posterior, in these units."""
    one, two = (
        Anchors(ITEMS[:3], factor * VALUES, factor * SD, slope="learned").over(ITEMS)
        for factor in (1.0, 1e-3)
    )
    quality = np.random.default_rng(4).normal(size=(4, 5))
    gap = one.log_density(quality) - two.log_density(quality)
    np.testing.assert_allclose(gap, gap[0])


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        ([1, 2], {"slope": "learned"}, "give three or more, or the slope"),
        ([2, 2, 2], {"slope": "learned"}, "the same value do not say"),
        ([1, 1e6, 3], {"slope": "learned"}, "an sd below 471, surer than"),
        ([1, 2, 3], {"slope": -2}, "the slope of anchors is -2"),
        ([1, 2, 3], {"slope": "steep"}, "the slope of anchors is 'steep'"),
    ],
)
def test_slopes_that_cannot_be_are_refused(values, options, words):
    with pytest.raises(InputError, match=words):
        Anchors(ITEMS[: len(values)], values, 1.0, **options)


def test_a_slope_without_anchors_is_refused():
    with pytest.raises(InputError, match="there are none; give anchors="):
        build_model(COUNTS, anchor_slope="learned")
    linked = np.eye(3) - 1 / 3
    with pytest.raises(InputError, match="give sd, not a precision"):
        Anchors(ITEMS[:3], [1, 2, 3], precision=linked, slope="learned")


# Calibration.


def slope_ranks(rng: np.random.Generator) -> np.ndarray:
    """Ranks of slope, anchored scores, a difference, α² and δ of a study from the priors."""
    items, priors = tuple("abcdef"), {"variance": InverseGamma(3, 2), "tie": Exponential(2)}
    truth = Truth.from_priors(Independent(items), *priors.values(), rng, items=items)
    slope, level = np.array([100 * abs(rng.normal())]), np.array([rng.normal(0, 1000)])
    sd = rng.uniform(10, 80, 5)
    values = level + slope * truth.quality[:5] + rng.normal(0, sd)
    anchors = Anchors(items[:5], values, sd, slope="learned", slope_scale=100)
    model = BradleyTerry(simulate_counts(truth, 40, rng).over(items), **priors, anchors=anchors)
    settings = {"draws": 60 * (RANKS + 1), "chains": RANKS + 1, "threads": 1}
    seed = SeedSequence(int(rng.integers(2**32)))
    draws = run_engine(model, Transport(**settings), seed, no_progress)[1]
    quality = draws.quality[:RANKS, -1]
    slopes = model.anchor_factor.slope_draws(quality, rng)
    levels = model.anchor_factor.level(quality, slopes, rng)

    def quantities(quality, slope, level, *scalars):
        score = slope[:, None] * quality[:, [0, 5]] + level[:, None]
        return np.column_stack([slope, score, quality[:, 1] - quality[:, 4], *scalars])

    scalars = draws.tie[:RANKS, -1], draws.variance[:RANKS, -1]
    known = quantities(truth.quality[None], slope, level, [truth.tie], [truth.variance])
    return (quantities(quality, slopes, levels, *scalars) < known).sum(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("studies", [30, pytest.param(300, marks=pytest.mark.thorough)])
def test_truth_is_one_more_draw_over_many_studies(studies):
    """Simulation-based calibration in which slope, level and values are simulated, too."""
    seeds = SeedSequence(9).spawn(studies)
    assert_uniform_ranks(np.array([slope_ranks(np.random.default_rng(seed)) for seed in seeds]))


def test_a_draw_of_the_slope_is_a_normal_one_cut_at_zero():
    """Kolmogorov–Smirnov against scipy's truncated normal, also far out in the tail."""
    factor, rng = MODEL.anchor_factor, np.random.default_rng(7)
    for sign in (1.0, -1.0):
        quality = sign * np.array([-0.6, 0.2, 0.5, 0.0])
        own, weights = quality[:3], 1 / SD**2
        away, values = (each - each @ weights / weights.sum() for each in (own, VALUES))
        precision = away @ (weights * away) + SCALE**-2
        mean, sd = away @ (weights * values) / precision, precision**-0.5
        draws = factor.slope_draws(np.tile(quality, (2000, 1)), rng)
        assert draws.min() > 0
        assert stats.kstest(draws, stats.truncnorm(-mean / sd, np.inf, mean, sd).cdf).pvalue > 1e-3
