"""The Laplace marginal of log α and of the share ρ of the map, for qualities with a mixture prior.

Around the mode the likelihood is a quadratic, with the threshold eliminated. Under it the marginal
of (log α, τ), τ = logit ρ, takes one Cholesky factorisation a point, in the basis in which the
prior is diagonal for every α and ρ (docs/inference.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tiewise.engines.preconditioners.laplace_marginal import MAX_LOG_SCALE, fit_laplace_marginal
from tiewise.engines.preconditioners.newton import ConditionalMode, ConditionalPosterior
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Mixture
from tiewise.model.scalar_priors import Fixed

Floats = NDArray[np.float64]

START_SHARE = 0.6
ROUNDS = 4
SCAN = np.linspace(-5.0, 6.0, 8)  # values of τ at which its marginal is computed first
NODES = np.array([-3.0, -2.1, -1.4, -0.7, 0.0, 0.7, 1.4, 2.1, 3.0])  # then, as normal quantiles
FIRST_STEP, SMALLEST_STEP, LARGEST_STEP = 0.3, 0.03, 0.6  # of log α, for parabolas


def share_of(tau: ArrayLike) -> Floats:
    """ρ = 1 / (1 + e^{−τ})."""
    out: Floats = 0.5 * (1 + np.tanh(np.asarray(tau, float) / 2))
    return out


def log_share_prior(tau: Floats) -> Floats:
    """Log density of τ where ρ is uniform."""
    out: Floats = -np.abs(tau) - 2 * np.log1p(np.exp(-np.abs(tau)))
    return out


class ConditionalScale(NamedTuple):
    """log α conditional on τ: its mode and sd, and the log marginal of τ.

    `points` are the values of log α that were tried around the mode, with the `means` of z there.
    """

    log_alpha: float
    sd: float
    log_marginal: float
    points: Floats
    means: Floats


@dataclass(frozen=True, eq=False)
class QuadraticLikelihood:
    """The log likelihood kᵀz − ½ zᵀGz in the basis of the mixture, threshold eliminated."""

    model: BradleyTerry
    mixture: Mixture
    hessian: Floats
    linear: Floats

    @cached_property
    def diagonal(self) -> Floats:
        """The diagonal of G."""
        return np.ascontiguousarray(np.diag(self.hessian))

    def prior_precision(self, log_alpha: float, tau: float) -> Floats:
        """p = 1 / (α² (ρ r + 1 − ρ))."""
        out: Floats = np.exp(-2 * log_alpha) / self.mixture.variances(float(share_of(tau)))
        return out

    def mean(self, log_alpha: float, tau: float) -> tuple[Floats, float]:
        """The mean of z conditional on α and ρ, and the log marginal of both there."""
        from scipy.linalg import cho_factor, cho_solve

        precision = self.prior_precision(log_alpha, tau)
        matrix = self.hessian.copy()
        matrix.flat[:: len(matrix) + 1] += precision
        factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
        mean = cho_solve(factor, self.linear, check_finite=False)
        value = float(self.linear @ mean) / 2 - float(np.log(np.diag(factor[0])).sum())
        value += float(np.log(precision).sum()) / 2 + float(log_share_prior(np.asarray(tau)))
        if not isinstance(self.model.variance, Fixed):
            value += float(self.model.variance.log_density(np.array([log_alpha]))[0])
        return mean, value

    def scale(self, tau: float, start: float, step: float = FIRST_STEP) -> ConditionalScale:
        """log α conditional on τ, by parabolas from a start with about its sd as the step."""
        fixed = self.model.fixed_variance
        if fixed is not None:
            log_alpha = float(np.log(fixed) / 2)
            mean, value = self.mean(log_alpha, tau)
            return ConditionalScale(log_alpha, 0.0, value, np.array([log_alpha]), mean[None])
        centre, known = start, dict[float, tuple[Floats, float]]()
        for last in range(13, -1, -1):
            step = float(np.clip(step, SMALLEST_STEP, LARGEST_STEP))
            points = np.array([centre - step, centre, centre + step])
            for a in points:
                if a not in known:
                    known[a] = self.mean(float(a), tau)
            low, middle, high = (known[a][1] for a in points)
            second, inside = low + high - 2 * middle, middle >= max(low, high)
            if second < -1e-3 and (inside or last == 0):
                move, sd = step * (low - high) / (2 * second), step / np.sqrt(-second)
                # A parabola much wider than the marginal does not tell its sd.
                if step < 3 * sd or step <= SMALLEST_STEP or last == 0:
                    best = middle - (high - low) ** 2 / (8 * second) + float(np.log(sd))
                    means = np.stack([known[a][0] for a in points])
                    return ConditionalScale(centre + move, sd, best, points, means)
                centre, step = centre + move, 1.2 * sd
                continue
            if abs(centre) >= MAX_LOG_SCALE or last == 0:
                break
            centre = float(points[2 if high > low else 0])
        means = np.stack([known[a][0] for a in points])
        return ConditionalScale(centre, LARGEST_STEP, middle, points, means)


Scales = dict[float, ConditionalScale]


class ShareDistribution(NamedTuple):
    """The distribution of τ under a quadratic, on a grid, and log α conditional on some τ."""

    grid: Floats
    cumulative: Floats
    scales: Scales

    @classmethod
    def of(cls, scales: Scales) -> ShareDistribution:
        """The distribution through the marginals at these τ."""
        from scipy.interpolate import PchipInterpolator

        tau = np.array(sorted(scales))
        marginal = np.array([scales[one].log_marginal for one in tau])
        # Far out the marginal falls at least as its prior does, like e^{−|τ|}.
        tau = np.array([tau[0] - 9.0, *tau, tau[-1] + 9.0])
        ends = [-max(1.0, float(slope)) * 9.0 for slope in _outward_slopes(tau[1:-1], marginal)]
        marginal = np.array([marginal[0] + ends[0], *marginal, marginal[-1] + ends[1]])
        grid = np.unique(np.concatenate([np.linspace(*pair, 60) for pair in pairwise(tau)]))
        log_density = PchipInterpolator(tau, marginal)(grid)
        density = np.exp(log_density - log_density.max())
        steps = np.diff(grid) * (density[1:] + density[:-1]) / 2
        cumulative = np.concatenate([[0.0], np.cumsum(steps)])
        return cls(grid, cumulative / cumulative[-1], scales)

    def quantile(self, probability: Floats) -> Floats:
        """τ of these probabilities."""
        out: Floats = np.interp(probability, self.cumulative, self.grid)
        return out

    def probability(self, tau: Floats) -> Floats:
        """Probability of a smaller τ."""
        out: Floats = np.interp(tau, self.grid, self.cumulative)
        return out

    def nearest(self, tau: float) -> ConditionalScale:
        """log α conditional on the τ that is nearest to this one."""
        return self.scales[min(self.scales, key=lambda one: abs(one - tau))]


def _outward_slopes(tau: Floats, marginal: Floats) -> tuple[float, float]:
    """How fast the marginal falls at either end."""
    first = (marginal[1] - marginal[0]) / (tau[1] - tau[0])
    last = (marginal[-2] - marginal[-1]) / (tau[-1] - tau[-2])
    return float(first), float(last)


@dataclass(frozen=True, eq=False)
class MixtureMarginal:
    """The mode of everything, the quadratic there, and the distribution of τ under it."""

    posterior: ConditionalPosterior
    mode: ConditionalMode
    tau: float
    quadratic: QuadraticLikelihood
    share: ShareDistribution
    tie_cross: Floats
    tie_own: float


def fit_mixture_marginal(
    model: BradleyTerry, start: tuple[float, ConditionalMode] | None = None
) -> MixtureMarginal:
    """Rounds of a mode, a quadratic there, and the maximum of the marginal under it."""
    mixture = model.mixture
    assert mixture is not None
    if start is None:
        tau = float(np.log(START_SHARE / (1 - START_SHARE)))
        posterior = _conditional(model, mixture, tau)
        mode = fit_laplace_marginal(posterior).mode
    else:
        tau, mode = start
    share: ShareDistribution | None = None
    for _ in range(ROUNDS):
        posterior = _conditional(model, mixture, tau)
        mode = posterior.mode(mode.log_alpha, mode)
        quadratic, cross, own = _quadratic(posterior, mixture, mode)
        near = None if share is None else share.quantile(normal_probabilities(NODES))
        share = _explore_share(quadratic, mode.log_alpha, near)
        low, middle, high = share.quantile(np.array([0.159, 0.5, 0.841]))
        log_alpha = share.nearest(middle).log_alpha
        settled = abs(middle - tau) < (high - low) / 6 and near is not None
        if settled:
            break
        tau, mode = float(middle), posterior.mode(log_alpha, mode)
    assert share is not None
    return MixtureMarginal(posterior, mode, tau, quadratic, share, cross, own)


def normal_probabilities(q: Floats) -> Floats:
    """Φ(q)."""
    normal = NormalDist()
    return np.array([normal.cdf(float(one)) for one in q])


def _conditional(model: BradleyTerry, mixture: Mixture, tau: float) -> ConditionalPosterior:
    return ConditionalPosterior(model, precision=mixture.precision(float(share_of(tau))))


def _quadratic(
    posterior: ConditionalPosterior, mixture: Mixture, mode: ConditionalMode
) -> tuple[QuadraticLikelihood, Floats, float]:
    """The quadratic at a mode, and the threshold's second derivatives there."""
    model = posterior.model
    likelihood = model.negative_hessian(mode.quality, mode.tie)
    gradient, _ = model.gradient(mode.quality[:, None], np.array([mode.tie]))
    cross, own = np.zeros(model.size), 1.0
    if posterior.tie_prior is not None:
        cross, own = posterior.tie_hessian(mode.quality, mode.unconstrained_tie, likelihood)
    matrix = likelihood.through(mixture.vectors)
    by_z = mixture.vectors.T @ cross
    matrix -= np.outer(by_z, by_z / own)
    z = mixture.vectors.T @ mode.quality
    # At the mode the threshold's own slope is zero, so that nothing of it is eliminated.
    linear = matrix @ z + mixture.vectors.T @ gradient[:, 0]
    return QuadraticLikelihood(model, mixture, matrix, linear), by_z, own


def _explore_share(
    quadratic: QuadraticLikelihood, log_alpha: float, near: Floats | None
) -> ShareDistribution:
    """The distribution of τ: through a scan, or values near its quantiles, and its peak."""
    scales: Scales = {}

    def add(tau: float) -> None:
        start, step = log_alpha, FIRST_STEP
        if scales:
            beside = scales[min(scales, key=lambda one: abs(one - tau))]
            start, step = beside.log_alpha, beside.sd or FIRST_STEP
        scales[tau] = quadratic.scale(tau, start, step)

    points = SCAN if near is None else near
    middle = len(points) // 2
    for k in (*range(middle, len(points)), *range(middle - 1, -1, -1)):
        add(float(points[k]))
    for _ in range(3):
        peak, sd, gap = _peak(scales)
        if gap < 2 * sd:
            break
        for tau in (peak - sd, peak, peak + sd):
            add(tau)
    return ShareDistribution.of(scales)


def _peak(scales: Scales) -> tuple[float, float, float]:
    """Where the marginal of τ peaks, its sd there, and the distance of the points around it."""
    tau = np.array(sorted(scales))
    marginal = np.array([scales[one].log_marginal for one in tau])
    best = int(np.clip(np.argmax(marginal), 1, len(tau) - 2))
    around = slice(best - 1, best + 2)
    quadratic, linear, _ = np.polyfit(tau[around] - tau[best], marginal[around], 2)
    gap = float((tau[best + 1] - tau[best - 1]) / 2)
    if quadratic >= -1e-6:
        return float(tau[best]), gap, 0.0
    move = float(np.clip(-linear / (2 * quadratic), -gap, gap))
    return float(tau[best]) + move, float(1 / np.sqrt(-2 * quadratic)), gap
