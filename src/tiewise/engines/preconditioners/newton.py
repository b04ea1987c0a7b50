"""Newton's method for the mode of qualities and tie threshold, conditional on α."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import PlainHessian
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.unconstrained_tie import UnconstrainedTie

Floats = NDArray[np.float64]
CholeskyFactor = tuple[Floats, bool]

TOLERANCE = 1e-8  # nats that another Newton step would still gain
ROUGH_TOLERANCE = 1e-3  # the same, while the maximum of the marginal of log α is searched for


class Maximum(NamedTuple):
    """A local maximum, and the Cholesky factor of the negative Hessian there."""

    point: Floats
    value: float
    log_determinant: float
    factor: CholeskyFactor


class Objective(Protocol):
    """A function to maximise."""

    def value(self, point: Floats) -> float:
        """Its value."""

    def gradient(self, point: Floats) -> Floats:
        """Its first derivatives."""

    def negative_hessian(self, point: Floats) -> Floats:
        """Minus its second derivatives."""


def maximise(
    objective: Objective,
    point: Floats,
    *,
    max_step: float = np.inf,
    tolerance: float = TOLERANCE,
    stale_factor: CholeskyFactor | None = None,
) -> Maximum:
    """Newton's method with backtracking, from a starting point.

    `max_step` bounds the last coordinate of a step. The step that would gain less than `tolerance`
    is the last one, and is not evaluated. `stale_factor`, of a similar matrix, is used for as long
    as it converges.
    """
    from scipy.linalg import cho_solve

    value, fresh, factor = objective.value(point), stale_factor is None, stale_factor
    for _ in range(200):
        gradient = objective.gradient(point)
        if fresh or factor is None:
            factor = cholesky(partial(objective.negative_hessian, point))
        step = cho_solve(factor, gradient, check_finite=False)
        decrement = float(gradient @ step)
        if decrement < tolerance:
            if fresh:
                point, value = point + step, value + decrement / 2
                break
            fresh = True
            continue
        step *= min(1.0, max_step / max(abs(float(step[-1])), 1e-300))
        improved = _backtrack(objective, point, step, value)
        if improved is not None:
            point, value = improved
        elif fresh:
            break
        # A stale factor saves time only while its steps succeed.
        fresh = fresh or improved is None
    assert factor is not None
    log_determinant = 2 * float(np.log(np.diag(factor[0])).sum())
    return Maximum(point, value, log_determinant, factor)


def _backtrack(
    objective: Objective, point: Floats, step: Floats, value: float
) -> tuple[Floats, float] | None:
    """The first of the step, half of it, a quarter, … that does not lower the value."""
    for _ in range(40):
        new = objective.value(point + step)
        if new >= value:
            return point + step, new
        step = step / 2
    return None


def cholesky(build: Callable[[], Floats]) -> CholeskyFactor:
    """Cholesky factor of the matrix that `build` makes, in place.

    A matrix that is not positive definite is built again with a larger ridge on its diagonal.
    """
    from scipy.linalg import LinAlgError, cho_factor

    ridge = 0.0
    for _ in range(60):
        matrix = build()
        largest = float(np.abs(np.diag(matrix)).max())
        matrix[np.diag_indices(len(matrix))] += ridge
        try:
            # Transposed, a symmetric matrix is the same and LAPACK needs no copy of it.
            return cho_factor(matrix.T, lower=True, overwrite_a=True)
        except LinAlgError:
            ridge = max(2 * ridge, 1e-10 * largest)
    raise FloatingPointError("Newton's matrix is not finite")


@dataclass(frozen=True)
class ConditionalMode:
    """The mode conditional on α, and the Laplace approximation of the marginal of log α there.

    `unconstrained_tie` is the coordinate t of the tie threshold δ, 0 where δ is not inferred.
    """

    log_alpha: float
    point: Floats
    quality: Floats
    tie: float
    unconstrained_tie: float
    log_marginal: float
    factor: CholeskyFactor | None


class ConditionalPosterior:
    """The posterior of qualities and tie threshold, conditional on α.

    A point is y, with λ = L y, followed by the unconstrained threshold t where δ is inferred.
    L is the identity where the prior's precision can be trusted, else the prior's factor F; either
    way a Newton step takes one Cholesky factorisation. `precision` stands in for the prior's.
    """

    def __init__(self, model: BradleyTerry, precision: Floats | None = None) -> None:
        self.model = model = near_the_mean(model)
        # None stands for the identity, which is the precision of y = F⁻¹λ.
        self.precision = model.precision if precision is None else precision
        self.factor = None if self.precision is not None else model.factor
        self.rank = model.size if self.factor is None else self.factor.shape[1]
        self.tie_prior = unconstrained_tie(model)

    def start(self) -> Floats:
        """Equal qualities, and the threshold that explains the share of ties at equal quality."""
        y = np.zeros(self.rank)
        if self.tie_prior is None:
            return y
        return np.append(y, initial_threshold(self.tie_prior))

    def unpack(self, point: Floats) -> tuple[Floats, float]:
        """Qualities and threshold at a point."""
        y = point[: self.rank]
        quality = y if self.factor is None else self.factor @ y
        if self.tie_prior is None:
            assert self.model.fixed_tie is not None
            return quality, self.model.fixed_tie
        return quality, float(self.tie_prior.constrain(point[-1:]).tie[0])

    def log_density(self, point: Floats, log_alpha: float) -> float:
        """Log density conditional on α, without the normalising −rank·log α."""
        quality, tie = self.unpack(point)
        with np.errstate(all="ignore"):
            total = float(self.model.log_likelihood(quality[:, None], np.array([tie]))[0])
            y = point[: self.rank]
            total -= float(y @ self._times_precision(y)) * np.exp(-2 * log_alpha) / 2
            if self.tie_prior is not None:
                total += float(self.tie_prior.log_density_at(point[-1:])[0])
        return total if np.isfinite(total) else -np.inf

    def gradient(self, point: Floats, log_alpha: float) -> Floats:
        """First derivatives of `log_density`."""
        quality, tie = self.unpack(point)
        by_quality, by_tie = self.model.gradient(quality[:, None], np.array([tie]))
        y = point[: self.rank]
        prior_precision = float(np.exp(-2 * log_alpha))
        by_y: Floats = self.pullback(by_quality[:, 0]) - prior_precision * self._times_precision(y)
        if self.tie_prior is None:
            return by_y
        return np.append(by_y, self.tie_prior.slope_at(point[-1:], by_tie))

    def negative_hessian(self, point: Floats, log_alpha: float) -> Floats:
        """Minus the second derivatives of `log_density`."""
        quality, tie = self.unpack(point)
        likelihood = self.model.negative_hessian(quality, tie)
        matrix = np.empty((len(point), len(point)))
        by_y = matrix[: self.rank, : self.rank]
        by_y[:] = likelihood.through(self.factor)
        prior_precision = float(np.exp(-2 * log_alpha))
        if self.precision is None:
            by_y[np.diag_indices(self.rank)] += prior_precision
        else:
            by_y += prior_precision * self.precision
        if self.tie_prior is not None:
            cross, own = self.tie_hessian(quality, point[-1], likelihood)
            matrix[-1, :-1] = matrix[:-1, -1] = self.pullback(cross)
            matrix[-1, -1] = own
        return matrix

    def _times_precision(self, y: Floats) -> Floats:
        return y if self.precision is None else self.precision @ y

    def pullback(self, by_quality: Floats) -> Floats:
        """Derivatives by y from derivatives by quality."""
        return by_quality if self.factor is None else self.factor.T @ by_quality

    def tie_hessian(
        self, quality: Floats, t: float, likelihood: PlainHessian
    ) -> tuple[Floats, float]:
        """Minus the second derivatives by t: with quality, and by t twice, prior included."""
        assert self.tie_prior is not None
        tie = self.tie_prior.constrain(np.array([t])).tie
        by_tie = float(self.model.gradient(quality[:, None], tie)[1][0])
        return self.tie_derivatives(t, by_tie, likelihood)[1:]

    def tie_derivatives(
        self, t: float, by_tie: float, likelihood: PlainHessian
    ) -> tuple[float, Floats, float]:
        """The slope by t and `tie_hessian`, from the likelihood's derivatives; prior included."""
        assert self.tie_prior is not None
        return tie_derivatives(self.tie_prior, t, by_tie, likelihood)

    def mode(
        self,
        log_alpha: float,
        start: ConditionalMode | None = None,
        *,
        tolerance: float = TOLERANCE,
    ) -> ConditionalMode:
        """The mode conditional on α, and the Laplace marginal of log α there."""
        usable = start is not None and len(start.point) == len(self.start())
        maximum = maximise(
            _FixedAlpha(self, log_alpha),
            start.point if start is not None and usable else self.start(),
            max_step=np.inf if self.tie_prior is None else 2.0,
            tolerance=tolerance,
            stale_factor=start.factor if start is not None and usable else None,
        )
        point, factor = maximum.point, maximum.factor
        quality, tie = self.unpack(point)
        marginal = maximum.value - self.rank * log_alpha - maximum.log_determinant / 2
        if not isinstance(self.model.variance, Fixed):
            marginal += float(self.model.variance.log_density(np.array([log_alpha]))[0])
        t = float(point[-1]) if self.tie_prior is not None else 0.0
        return ConditionalMode(log_alpha, point, quality, tie, t, marginal, factor)


def near_the_mean(model: BradleyTerry) -> BradleyTerry:
    """The model, or where the slope of its anchors is learned one whose mode is near the mean.

    The number of directions that anchors fix is about the sum of their shares in what is known of
    their qualities, at the mode of the answers alone, whatever terms and grades there are.
    """
    anchors = model.anchors
    if anchors is None or not anchors.is_slope_learned or model.anchor_factor is None:
        return model
    counts = model.counts.ungraded().pooled()
    answers = BradleyTerry(counts, Independent(model.items), variance=Fixed(1.0), tie=model.tie)
    mode = ConditionalPosterior(answers).mode(0.0, tolerance=ROUGH_TOLERANCE)
    rows = answers.negative_hessian(mode.quality, mode.tie)
    known = 1.0 + np.bincount(rows.first, rows.weight, model.size)
    known += np.bincount(rows.second, rows.weight, model.size)
    own = model.anchor_factor.curvature(mode.quality).diagonal(model.size)
    out = replace(model)
    directions = float((own / (own + known)).sum())
    out.__dict__["anchor_factor"] = model.anchor_factor.averaged(directions)
    return out


def tie_derivatives(
    prior: UnconstrainedTie, t: float, by_tie: float, likelihood: PlainHessian
) -> tuple[float, Floats, float]:
    """The slope by t; minus the second derivatives with quality, and by t twice; prior included."""
    at = prior.constrain(np.array([t]))
    by_delta = by_tie + prior.derivative(at.tie)
    slope = by_delta * at.by_t + at.log_jacobian_by_t
    own = likelihood.tie - prior.second_derivative(at.tie)
    by_t_twice = own * at.by_t**2 - by_delta * at.by_t_twice - at.log_jacobian_by_t_twice
    return float(slope[0]), likelihood.quality_and_tie * at.by_t[0], float(by_t_twice[0])


def unconstrained_tie(model: BradleyTerry) -> UnconstrainedTie | None:
    """The prior of the unconstrained threshold, its unit about δ; None where δ is not inferred."""
    if model.tie is None or isinstance(model.tie, Fixed):
        return None
    return UnconstrainedTie(model.tie, _moment_tie(model))


def unconstrained_thresholds(model: BradleyTerry) -> list[UnconstrainedTie | None]:
    """The same for δ and, of graded answers, for the steps from there to further cuts."""
    steps = zip(model.steps, _moment_steps(model), strict=True)
    return [unconstrained_tie(model), *(UnconstrainedTie(prior, unit) for prior, unit in steps)]


def initial_threshold(prior: UnconstrainedTie) -> float:
    """Unconstrained threshold to start from: that of its unit, inside the support."""
    width = min(prior.high - prior.low, 1.0)
    inside = np.clip(prior.unit, prior.low + 1e-3 * width, prior.high - 1e-2 * width)
    return prior.unconstrain(float(inside))


def _moment_tie(model: BradleyTerry) -> float:
    """The threshold that explains the share of ties if all items had the same quality."""
    share = (model.counts.total_ties + 0.5) / (model.counts.comparisons + 1)
    return float(2 * np.arctanh(min(share, 0.99)))


def _moment_steps(model: BradleyTerry) -> Floats:
    """The steps that explain the shares of graded answers if all items had the same quality."""
    if model.counts.strengths is None:
        return np.empty(0)
    number = model.counts.strengths.sum(axis=(0, 1))
    beyond = np.cumsum(number[::-1])[::-1] + 0.5
    share = np.minimum(beyond / (model.counts.comparisons + 1), 0.99)
    return np.asarray(np.maximum(np.diff(2 * np.arctanh(1 - share)), 0.1), np.float64)


@dataclass(frozen=True)
class _FixedAlpha:
    """The conditional posterior at one α, as an objective."""

    posterior: ConditionalPosterior
    log_alpha: float

    def value(self, point: Floats) -> float:
        return self.posterior.log_density(point, self.log_alpha)

    def gradient(self, point: Floats) -> Floats:
        return self.posterior.gradient(point, self.log_alpha)

    def negative_hessian(self, point: Floats) -> Floats:
        return self.posterior.negative_hessian(point, self.log_alpha)
