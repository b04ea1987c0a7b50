"""The preconditioner of a model without terms, against differences and SciPy's priors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from support.plain_models import (
    ANSWERS,
    DECIDED,
    NAMES,
    PRIORS,
    TIES,
    VARIANCES,
    model_of,
)
from support.reference_formulas import DIFFERENCE, derivative, log_likelihood
from tiewise.engines.preconditioners import skewness
from tiewise.engines.preconditioners.plain import build_preconditioner
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, simulate_counts

every_model = pytest.mark.parametrize("names", NAMES)


def some_points(dimensions: int, number: int = 4) -> np.ndarray:
    return np.random.default_rng(2).normal(size=(dimensions, number))


@pytest.fixture(params=[False, True], ids=["plain", "skewed"])
def skewed(request, monkeypatch) -> bool:
    """Without and with a map of each quality, which independent priors have from some size on."""
    if request.param:
        monkeypatch.setattr(skewness, "SKEWED_SIZE", 1)
        monkeypatch.setattr(skewness, "MOST_VARIANCE", np.inf)
    return bool(request.param)


@every_model
@pytest.mark.usefixtures("skewed")
def test_gradient_is_the_derivative_of_the_density(names):
    preconditioner = build_preconditioner(model_of(names))
    points = some_points(preconditioner.dimensions)
    ours = preconditioner.gradient(points)
    for k, point in enumerate(points.T):
        differences = derivative(lambda q: preconditioner.log_density(q[:, None])[0], point)
        assert np.allclose(ours[:, k], differences, rtol=0, atol=10 * DIFFERENCE)


@every_model
@pytest.mark.usefixtures("skewed")
def test_the_density_is_the_posterior_times_the_jacobian(names):
    """The reference likelihood and SciPy's priors at q, and the determinant by differences.

    Of a covariance of rank r the first r qualities are a coordinate system for all of them.
    """
    preconditioner = build_preconditioner(model_of(names))
    points = some_points(preconditioner.dimensions)
    reference = [
        log_posterior(preconditioner, names, q) + log_jacobian(preconditioner, q) for q in points.T
    ]
    difference = preconditioner.log_density(points) - np.array(reference)
    assert np.allclose(difference, difference[0], rtol=0, atol=1e-7)


def coordinates(preconditioner, q: np.ndarray) -> np.ndarray:
    at = preconditioner.parameters(q[:, None])
    free = [at.quality[: preconditioner.rank, 0]]
    free += [at.log_alpha] if preconditioner.variance_prior is not None else []
    free += [at.tie] if preconditioner.tie_prior is not None else []
    return np.concatenate(free)


def log_jacobian(preconditioner, q: np.ndarray) -> float:
    return float(np.linalg.slogdet(derivative(lambda p: coordinates(preconditioner, p), q))[1])


def log_posterior(preconditioner, names: tuple[str, str, str], q: np.ndarray) -> float:
    at = preconditioner.parameters(q[:, None])
    quality, a, tie = at.quality[:, 0], float(at.log_alpha[0]), float(at.tie[0])
    covariance, tie_prior = PRIORS[names[0]][1], TIES[names[1]][1]
    variance_prior = VARIANCES[names[2]][1]
    rank = np.linalg.matrix_rank(covariance)
    total = log_likelihood(DECIDED if names[1] == "none" else ANSWERS, quality, tie)
    quality_prior = stats.multivariate_normal(cov=np.exp(2 * a) * covariance[:rank, :rank])
    total += quality_prior.logpdf(quality[:rank])
    if variance_prior is not None:
        total += variance_prior.logpdf(np.exp(2 * a)) + 2 * a
    else:
        assert np.exp(2 * a) == pytest.approx(1.3)
    if tie_prior is not None:
        total += tie_prior.logpdf(tie)
    else:
        assert tie == (0.4 if names[1] == "fixed" else 0.0)
    return float(total)


@every_model
def test_the_density_at_fixed_alpha_is_standard_normal(names):
    """Around the mode, at its own α, it is N(0, I) to second order in all other directions."""
    model = model_of(names)
    preconditioner = build_preconditioner(model, rounds=0)
    q = np.zeros(preconditioner.dimensions)
    free = np.ones(preconditioner.dimensions, bool)
    if preconditioner.variance_prior is not None:
        mode = preconditioner.warm_start.mode
        q[preconditioner.rank] = (
            mode.log_alpha - preconditioner.log_alpha_mean
        ) / preconditioner.log_alpha_sd
        free[preconditioner.rank] = False
    hessian = -derivative(lambda p: preconditioner.gradient(p[:, None])[:, 0], q)[
        np.ix_(free, free)
    ]
    # The mode is known to 1e-4 of a sd (TOLERANCE nats), and so is the Hessian there.
    assert np.allclose(hessian, np.eye(free.sum()), atol=1e-3)


def test_around_an_averaged_centre_slopes_and_hessians_are_those_of_a_normal_on_average():
    """At the centre's α, over N(0, I): slopes vanish, and minus the Hessian is the identity.

    Around the mode both are off where data are sparse.
    """
    rng = np.random.default_rng(1)
    truth = Truth.from_priors(Independent(tuple(map(str, range(40)))), Fixed(1.5), Fixed(0.4), rng)
    model = BradleyTerry(simulate_counts(truth, 120, rng), variance=Fixed(1.5), tie=Fixed(0.4))
    q = rng.normal(size=(40, 4000))
    q = np.concatenate([q, -q], axis=1)
    off = {}
    for rounds in (0, 8):
        preconditioner = build_preconditioner(model, rounds=rounds)
        slopes = preconditioner.gradient(q)
        # By parts, the mean of minus the Hessian is that of −(slope) qᵀ.
        hessian = -(slopes @ q.T) / q.shape[1]
        off[rounds] = (np.abs(slopes.mean(axis=1)).max(), np.abs(np.diag(hessian) - 1).mean())
    assert off[8][0] < 0.02 < 0.2 < off[0][0]
    assert off[8][1] < 0.5 * off[0][1]


def test_only_independent_priors_have_a_map_of_each_quality(monkeypatch):
    monkeypatch.setattr(skewness, "SKEWED_SIZE", 1)
    maps = {
        prior: build_preconditioner(model_of((prior, "gamma", "fixed"))).skew for prior in PRIORS
    }
    assert [prior for prior, numbers in maps.items() if numbers is not None] == ["independent"]


def test_many_answers_leave_nothing_to_bend(monkeypatch):
    """Where all items move together by more than one by itself, there is no map."""
    monkeypatch.setattr(skewness, "SKEWED_SIZE", 1)
    rng = np.random.default_rng(1)
    truth = Truth.from_priors(Independent(tuple(map(str, range(8)))), Fixed(1.5), Fixed(0.4), rng)
    few, many = (
        build_preconditioner(BradleyTerry(simulate_counts(truth, number, rng)))
        for number in (20, 4000)
    )
    assert few.skew is not None
    assert many.skew is None


def test_higher_derivatives_are_those_of_the_likelihood():
    """At gaps without spread: differences of the curvature by each quality."""
    names = ("independent", "gamma", "fixed")
    model, quality, tie = model_of(names), np.array([0.9, -0.4, 0.3, -1.1]), 0.6
    counts, rows = model.counts, model.likelihood
    third, fourth = skewness.averaged_higher_derivatives(
        counts.first, counts.second, rows.successes_first, rows.successes_second,
        quality, np.zeros(len(counts.first)), tie,
    )  # fmt: skip

    def curvature(i: int, x: float) -> float:
        at = quality.copy()
        at[i] += x
        return -float(model.negative_hessian(at, tie).through(None)[i, i])

    for i in range(4):
        low, middle, high = (curvature(i, x) for x in (-1e-3, 0.0, 1e-3))
        assert np.isclose(third[i], (high - low) / 2e-3, atol=1e-5)
        assert np.isclose(fourth[i], (high - 2 * middle + low) / 1e-6, atol=1e-4)


def test_over_normal_latent_values_qualities_keep_mean_and_slope():
    """By quadrature: the mean is m and the derivative is 1 on average, but for second order."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    level = np.expm1(0.005) / 0.1 / (1 + skewness.STRAIGHT)
    numbers = np.array([[0.7, 0.5, 0.1, 0.15, np.exp(-(0.15**2) / 2), level]])
    quality, slope, bend = skewness.qualities(numbers, 0.7 + 0.5 * nodes[None])
    weights = weights / weights.sum()
    assert np.isclose(quality[0] @ weights, 0.7, atol=1e-3)
    assert np.isclose(slope[0] @ weights, 1.0, atol=0.01)
    near = 1e-6 * np.array([-1.0, 1.0])
    low, high = skewness.qualities(numbers, 1.1 + near[None])[0][0]
    assert np.isclose((high - low) / 2e-6, skewness.qualities(numbers, np.array([[1.1]]))[1][0, 0])
    assert (slope > 0).all()
    assert np.isfinite(bend).all()


@pytest.mark.parametrize("skew", [-skewness.MOST, skewness.MOST])
@pytest.mark.parametrize("tail", [skewness.LEAST_TAIL, skewness.MOST])
def test_every_quality_has_a_latent_value(skew, tail):
    """However skewed the map is, it ends nowhere, and its derivatives are those of differences."""
    level = np.expm1(skew**2 / 2) / skew / (1 + skewness.STRAIGHT)
    numbers = np.array([[0.7, 0.5, skew, np.sqrt(tail), np.exp(-tail / 2), level]])
    far = 0.7 + 0.5 * np.array([[-1e4, -300.0, -3.0, 0.0, 3.0]])
    quality, slope, bend = skewness.qualities(numbers, far if skew > 0 else 1.4 - far)
    reached = np.sign(skew) * (quality[0] - 0.7) / 0.5
    assert reached[0] < -6
    assert (np.diff(reached) > 0).all()
    assert (slope > 0).all()
    h = 1e-5
    for u in (0.2, 0.7, 1.9):
        near, steep, _ = (one[0] for one in skewness.qualities(numbers, np.array([[u - h, u + h]])))
        _, slope, bend = (one[0, 0] for one in skewness.qualities(numbers, np.array([[u]])))
        assert np.isclose((near[1] - near[0]) / (2 * h), slope, rtol=1e-7)
        assert np.isclose(np.log(steep[1] / steep[0]) / (2 * h), bend, atol=1e-6)
