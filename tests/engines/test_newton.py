"""Modes, the Laplace marginal of log α, and the chart, held against quadrature and differences."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from support.reference_formulas import DIFFERENCE, derivative, log_likelihood, repeated, tally
from tiewise.data.counts import Counts
from tiewise.engines.newton import CLOSE_ENOUGH, Slopes, find_spread
from tiewise.engines.preconditioner import draw_chart
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Covariance, Independent, Network
from tiewise.model.scalar_priors import (
    Exponential,
    Fixed,
    Gamma,
    HalfNormalSpread,
    InverseGamma,
    Uniform,
)

ITEMS = ("a", "b", "c", "d")
SAID = repeated((0, 1, 3, 1, 1), (1, 2, 2, 2, 1), (2, 3, 1, 1, 2), (0, 3, 1, 0, 1), (0, 2, 2, 1, 0))
DECIDED = [row for row in SAID if row[2] != "tie"]
LANE = Network(Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")]))
ROOT = np.random.default_rng(2).normal(size=(4, 2))
PRIORS = {
    "independent": (Independent(), np.eye(4)),
    "network": (LANE, LANE.covariance()),
    "rank-deficient": (Covariance(ROOT @ ROOT.T, ITEMS), ROOT @ ROOT.T),
}
TIES = {
    "exponential": (Exponential(2.0), stats.expon(scale=0.5)),
    "gamma": (Gamma(2.0, 3.0), stats.gamma(2, scale=1 / 3)),
    "uniform": (Uniform(0.1, 1.5), stats.uniform(0.1, 1.4)),
    "fixed": (Fixed(0.4), None),
    "none": (None, None),
}
VARIANCES = {
    "inverse gamma": (InverseGamma(3, 2), stats.invgamma(3, scale=2)),
    "half-normal": (HalfNormalSpread(0.8), stats.chi2(1, scale=0.64)),
    "fixed": (Fixed(1.3), None),
}
every_model = pytest.mark.parametrize("names", list(product(PRIORS, TIES, VARIANCES)))


def model_of(names: tuple[str, str, str]) -> BradleyTerry:
    prior, tie, variance = PRIORS[names[0]][0], TIES[names[1]][0], VARIANCES[names[2]][0]
    counts = Counts.of(ITEMS, **tally(DECIDED if tie is None else SAID))
    return BradleyTerry(counts, prior, tie=tie, variance=variance)


@every_model
@pytest.mark.parametrize("log_alpha", [-2.0, 0.0, 2.0])
def test_the_mode_is_level_ground(names, log_alpha):
    """By differences of `value`: at the peak another Newton step would gain nothing."""
    slopes = Slopes(model_of(names))
    peak = slopes.peak(log_alpha)
    slope = derivative(lambda p: slopes.value(p, log_alpha), peak.point)
    matrix = slopes.bend(peak.point, log_alpha)
    assert slope @ np.linalg.solve(matrix, slope) < CLOSE_ENOUGH


@every_model
def test_slopes_and_bends_are_derivatives_of_the_value(names):
    slopes = Slopes(model_of(names))
    point = slopes.start() + np.random.default_rng(2).normal(0, 0.5, len(slopes.start()))
    slope, matrix = slopes.slope(point, 0.3), slopes.bend(point, 0.3)
    # The prior's precision scales what a difference of the value can resolve.
    scale = 10 * (1.0 if slopes.precision is None else np.abs(slopes.precision).max())
    differences = derivative(lambda p: slopes.value(p, 0.3), point)
    assert np.allclose(slope, differences, rtol=0, atol=DIFFERENCE * scale)
    bends = -derivative(lambda p: slopes.slope(p, 0.3), point)
    assert np.allclose(matrix, bends, rtol=0, atol=DIFFERENCE * scale)


def test_without_judgements_the_marginal_of_alpha_is_its_prior():
    """The Gaussian integral is then exact, and no power of α may be left over."""
    counts = Counts.of(ITEMS, [], [], [], [])
    for prior in (Independent(), LANE, PRIORS["rank-deficient"][0]):
        model = BradleyTerry(counts, prior, variance=InverseGamma(3, 2), tie=None)
        a = np.array([-1.0, 0.0, 0.7, 2.0])
        marginal = np.array([Slopes(model).peak(at).log_marginal for at in a])
        known = stats.invgamma(3, scale=2).logpdf(np.exp(2 * a)) + 2 * a
        assert np.allclose(np.diff(marginal), np.diff(known), rtol=0, atol=1e-10)


def marginal_by_integration(times: int, a: float) -> float:
    """log ∫∫ L(gap, δ) N(gap; 0, 2α²) p(δ) p(a), two items, by trapezoids in gap and log δ."""
    gap, tie = np.linspace(-12, 12, 2401)[:, None], np.exp(np.linspace(-15, 2.5, 701))
    first, second = np.logaddexp(0, tie - gap), np.logaddexp(0, tie + gap)
    log = -8 * times * first - 5 * times * second + 3 * times * np.log(np.expm1(2 * tie))
    log += stats.norm.logpdf(gap, 0, np.sqrt(2) * np.exp(a)) - 2 * tie + np.log(tie)
    known = stats.invgamma(3, scale=2).logpdf(np.exp(2 * a)) + 2 * a
    return float(logsumexp(log) + known)


def test_laplace_marginal_of_alpha_is_right_to_first_order():
    """Its error against integration falls like one over the number of judgements."""
    places, errors = (-0.5, 0.2, 0.9), []
    for times in (1, 4, 16):
        counts = Counts.of(("a", "b"), [0], [1], [5 * times], [2 * times], [3 * times])
        model = BradleyTerry(counts, variance=InverseGamma(3, 2), tie=Exponential(2.0))
        slopes = Slopes(model)
        laplace = np.array([slopes.peak(a).log_marginal for a in places])
        exact = np.array([marginal_by_integration(times, a) for a in places])
        errors.append(np.abs(np.diff(laplace) - np.diff(exact)).max())
    assert errors[1] < errors[0] / 2
    assert errors[2] < errors[1] / 2
    assert errors[2] < 1 / 160


def test_spread_finds_the_top_and_the_width_of_the_marginal(village):
    """Against the moments of a fine and wide grid of the same marginals."""
    slopes = Slopes(village.model)
    spread = find_spread(slopes)
    grid = np.linspace(-2.5, 2.5, 101)
    marginal = np.array([slopes.peak(a).log_marginal for a in grid])
    assert spread.peak.log_marginal > marginal.max() - 0.01
    weight = np.exp(marginal - marginal.max())
    mean = weight @ grid / weight.sum()
    sd = np.sqrt(weight @ (grid - mean) ** 2 / weight.sum())
    # The chart only needs a fair centre and width; a tenth of a sd costs nothing in acceptance.
    assert abs(spread.mean - mean) < sd / 10
    assert spread.sd == pytest.approx(sd, rel=0.1)


def test_a_variance_the_data_cannot_bound_ends_the_search_all_the_same():
    counts = Counts.of(ITEMS, [0, 1, 2], [1, 2, 3], [40, 40, 40], [0, 0, 0])
    for tie in (None, Exponential()):
        spread = find_spread(Slopes(BradleyTerry(counts, tie=tie)))
        assert np.isfinite([spread.mean, spread.sd, *spread.peak.quality]).all()


# The chart.


def some_points(dimensions: int, number: int = 4) -> np.ndarray:
    return np.random.default_rng(2).normal(size=(dimensions, number))


@every_model
def test_chart_slope_is_the_derivative_of_its_density(names):
    chart = draw_chart(model_of(names))
    points = some_points(chart.dimensions)
    ours = chart.slope(points)
    for k, point in enumerate(points.T):
        differences = derivative(lambda q: chart.log_density(q[:, None])[0], point)
        assert np.allclose(ours[:, k], differences, rtol=0, atol=10 * DIFFERENCE)


@every_model
def test_chart_density_is_the_posterior_times_the_jacobian(names):
    """Longhand likelihood and SciPy's priors at place(q), and the determinant by differences.

    Of a covariance of rank r the first r qualities are a coordinate system for all of them.
    """
    chart = draw_chart(model_of(names))
    points = some_points(chart.dimensions)
    witness = [log_posterior(chart, names, q) + log_jacobian(chart, q) for q in points.T]
    difference = chart.log_density(points) - np.array(witness)
    assert np.allclose(difference, difference[0], rtol=0, atol=1e-7)


def coordinates(chart, q: np.ndarray) -> np.ndarray:
    at = chart.place(q[:, None])
    free = [at.quality[: chart.rank, 0]]
    free += [at.log_alpha] if chart.variance_prior is not None else []
    free += [at.tie] if chart.tie_prior is not None else []
    return np.concatenate(free)


def log_jacobian(chart, q: np.ndarray) -> float:
    return float(np.linalg.slogdet(derivative(lambda p: coordinates(chart, p), q))[1])


def log_posterior(chart, names: tuple[str, str, str], q: np.ndarray) -> float:
    at = chart.place(q[:, None])
    quality, a, tie = at.quality[:, 0], float(at.log_alpha[0]), float(at.tie[0])
    covariance, known_tie = PRIORS[names[0]][1], TIES[names[1]][1]
    known_variance = VARIANCES[names[2]][1]
    rank = np.linalg.matrix_rank(covariance)
    total = log_likelihood(DECIDED if names[1] == "none" else SAID, quality, tie)
    of_quality = stats.multivariate_normal(cov=np.exp(2 * a) * covariance[:rank, :rank])
    total += of_quality.logpdf(quality[:rank])
    if known_variance is not None:
        total += known_variance.logpdf(np.exp(2 * a)) + 2 * a
    else:
        assert np.exp(2 * a) == pytest.approx(1.3)
    if known_tie is not None:
        total += known_tie.logpdf(tie)
    else:
        assert tie == (0.4 if names[1] == "fixed" else 0.0)
    return float(total)


@every_model
def test_chart_is_flat_where_alpha_does_not_move(names):
    """At the mode's own α the density is N(0, I) to second order in all other directions."""
    model = model_of(names)
    chart = draw_chart(model)
    q = np.zeros(chart.dimensions)
    free = np.ones(chart.dimensions, bool)
    if chart.variance_prior is not None:
        q[chart.rank] = (chart.spread.peak.log_alpha - chart.alpha_mean) / chart.alpha_sd
        free[chart.rank] = False
    bends = -derivative(lambda p: chart.slope(p[:, None])[:, 0], q)[np.ix_(free, free)]
    # The mode is known to 1e-4 of a sd (CLOSE_ENOUGH nats), and so is the curvature there.
    assert np.allclose(bends, np.eye(free.sum()), atol=1e-3)
