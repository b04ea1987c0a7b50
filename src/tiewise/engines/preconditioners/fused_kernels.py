"""A whole trajectory of all chains of the plain preconditioner in one compiled loop.

The same kicks and rotations as `ChainBlock.unfused_trajectory`, without the interpreter between
them. Kicks are in the precision of `kick_basis`; the density at the end is in double precision.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.preconditioners.plain_kernels import (
    SERIES_RANGE,
    exponential,
    log_prior_and_jacobian,
    transform,
    transform_gradient,
)
from tiewise.engines.preconditioners.skewness import (
    latent_gradient,
    qualities,
    skew_log_density,
)
from tiewise.model.kernels import (
    MAX_RANGE,
    MAX_RANGE_SINGLE,
    any_pair_gradient,
    any_pair_value,
    close_pair_gradient,
    close_pair_value,
    compiled,
    inlined,
)
from tiewise.model.scalar_priors.base import TiePrior, VariancePrior
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.gamma import Gamma
from tiewise.model.scalar_priors.half_normal import HalfNormal
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.scalar_priors.uniform import Uniform

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Coefficients = tuple[float, float, float]


class Scalars(NamedTuple):
    """The numbers of log α and of the threshold, and whether each is inferred.

    Slopes of log priors are a + b e^{−2x} + c e^{2x} in x = log α, and a/δ + b + c δ in δ.
    """

    has_variance: bool
    log_alpha_mean: float
    log_alpha_sd: float
    variance_slope: Coefficients
    has_tie: bool
    tie_mode: float
    tie_sd: float
    unit: float
    low: float
    high: float
    tie_slope: Coefficients
    fixed_tie: float
    ties: float


class FusedPlain(NamedTuple):
    """What the compiled loop reads of a plain preconditioner; without a map `skew` has no rows."""

    basis: Floats
    kick_basis: NDArray[Any]
    eigenvalues: Floats
    precision_mean: Floats
    mode: Floats
    tie_coefficients: Floats
    first: Integers
    second: Integers
    s_first: Floats
    s_second: Floats
    kick_s_first: NDArray[Any]
    kick_s_second: NDArray[Any]
    scalars: Scalars
    skew: Floats


def variance_slope(prior: VariancePrior | None) -> Coefficients | None:
    """Coefficients of the slope of log p(log α); None where it has another form."""
    if prior is None:
        return 0.0, 0.0, 0.0
    if type(prior) is InverseGamma:
        return -2.0 * prior.shape, 2.0 * prior.scale, 0.0
    if type(prior) is HalfNormalSpread:
        return 1.0, 0.0, -1.0 / prior.scale**2
    return None


def tie_slope(prior: TiePrior | None) -> Coefficients | None:
    """Coefficients of the slope of log p(δ); None where it has another form."""
    if prior is None or type(prior) is Uniform:
        return 0.0, 0.0, 0.0
    if type(prior) is Exponential:
        return 0.0, -float(prior.rate), 0.0
    if type(prior) is Gamma:
        return prior.shape - 1.0, -float(prior.rate), 0.0
    if type(prior) is HalfNormal:
        return 0.0, 0.0, -1.0 / prior.scale**2
    return None


@compiled
def fused_trajectory(
    at: FusedPlain, q: Floats, p: Floats, kick: Floats, kicks: Floats, rotations: Floats
) -> tuple[
    Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats
]:  # fmt: skip
    """Position, momentum, kick, log density and parameters at the end of a trajectory."""
    q, p = q.copy(), p.copy()
    for k in range(rotations.size - 1):
        _kick_and_rotate(q, p, kick, kicks[k], rotations[k])
        x, sd, log_alpha, t, tie = _coordinates(at, q)
        latent = np.dot(at.kick_basis, x.astype(at.kick_basis.dtype))
        quality, slope, bend = _qualities(at, latent)
        kick = _kick(at, q, x, sd, log_alpha, t, tie, quality, latent, slope, bend)
    _kick_and_rotate(q, p, kick, kicks[-2], rotations[-1])
    x, sd, log_alpha, t, tie = _coordinates(at, q)
    whole_latent = np.dot(at.basis, x)
    whole, slope, bend = _qualities(at, whole_latent)
    kick = _kick(at, q, x, sd, log_alpha, t, tie, whole, whole_latent, slope, bend)
    for i in range(q.shape[0]):
        for c in range(q.shape[1]):
            p[i, c] += kicks[-1] * kick[i, c]
    density = _log_density(at, x, sd, log_alpha, t, tie, whole, whole_latent, slope)
    if at.skew.shape[0] == 0:
        whole_latent = np.empty((0, q.shape[1]))
    return q, p, kick, density, x, sd, log_alpha, t, whole, tie, whole_latent


@compiled
def _qualities(at: FusedPlain, latent: Floats) -> tuple[Floats, Floats, Floats]:
    """Qualities at latent values, which they are themselves without a map, and its slopes."""
    if at.skew.shape[0] == 0:
        nothing = np.empty((0, latent.shape[1]))
        return latent, nothing, nothing
    return qualities(at.skew, latent)


@compiled
def _kick_and_rotate(q: Floats, p: Floats, kick: Floats, weight: float, angle: float) -> None:
    """A kick of the momentum, then a rotation of (q, p), in place."""
    cos, sin = math.cos(angle), math.sin(angle)
    for k in range(q.shape[0]):
        for c in range(q.shape[1]):
            momentum = p[k, c] + weight * kick[k, c]
            position = q[k, c]
            q[k, c] = cos * position + sin * momentum
            p[k, c] = cos * momentum - sin * position


@compiled
def _coordinates(at: FusedPlain, q: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """x, its conditional sd, log α, and the threshold, on the line and in its support."""
    s, rank, chains = at.scalars, at.eigenvalues.size, q.shape[1]
    log_alpha, precision = np.empty(chains), np.empty(chains)
    for c in range(chains):
        log_alpha[c] = s.log_alpha_mean
        if s.has_variance:
            log_alpha[c] += s.log_alpha_sd * q[rank, c]
        precision[c] = math.exp(-2.0 * log_alpha[c])
    x, sd, t = transform(
        q, at.eigenvalues, at.precision_mean, precision, at.tie_coefficients, at.mode
    )
    tie = np.full(chains, s.fixed_tie)
    if s.has_tie:
        for c in range(chains):
            t[c] = s.tie_mode + q[-1, c] * s.tie_sd - t[c]
            tie[c] = _constrain(t[c], s.unit, s.low, s.high)[0]
    return x, sd, log_alpha, t, tie


@inlined
def _constrain(t: float, unit: float, low: float, high: float) -> tuple[float, float, float, float]:
    """δ at t, its derivative, the log Jacobian and its derivative."""
    decay = math.exp(-abs(t))
    share = (1.0 if t > 0 else decay) / (1.0 + decay)
    rest = (decay if t > 0 else 1.0) / (1.0 + decay)
    log_share = min(t, 0.0) - math.log1p(decay)
    log_rest = -max(t, 0.0) - math.log1p(decay)
    if math.isinf(high):
        return low - unit * log_rest, unit * share, math.log(unit) + log_share, rest
    width = high - low
    jacobian = math.log(width) + log_share + log_rest
    return low + width * share, width * share * rest, jacobian, rest - share


@compiled
def _kick(
    at: FusedPlain,
    q: Floats,
    x: Floats,
    sd: Floats,
    log_alpha: Floats,
    t: Floats,
    tie: Floats,
    quality: Floats,
    latent: Floats,
    slope: Floats,
    bend: Floats,
) -> Floats:
    """Gradient of what the log density has beyond that of N(0, I)."""
    s, rank, chains = at.scalars, at.eigenvalues.size, q.shape[1]
    by_quality, by_tie = _slopes(at, quality, tie)
    by_t, precision, out = np.zeros(chains), np.empty(chains), np.empty(q.shape)
    for c in range(chains):
        precision[c] = math.exp(-2.0 * log_alpha[c])
    by_scale = np.zeros(chains)
    if at.skew.shape[0] > 0:
        by_scale = latent_gradient(by_quality, quality, latent, slope, bend, precision)
    by_x = np.dot(at.kick_basis.T, by_quality)
    for c in range(chains):
        if s.has_tie:
            _, by_line, _, jacobian_slope = _constrain(t[c], s.unit, s.low, s.high)
            if s.ties > 0:
                by_tie[c] += 2.0 * s.ties / -math.expm1(-2.0 * tie[c])
            own = s.tie_slope[0] / tie[c] + s.tie_slope[1] + s.tie_slope[2] * tie[c]
            by_t[c] = (by_tie[c] + own) * by_line + jacobian_slope
            out[-1, c] = by_t[c] * s.tie_sd
    by_log_alpha = transform_gradient(
        by_x, x, sd, at.precision_mean, precision, at.tie_coefficients, by_t, out
    )
    if s.has_variance:
        one, two, three = s.variance_slope
        for c in range(chains):
            own = one + two * precision[c] + three / precision[c]
            out[rank, c] = s.log_alpha_sd * (by_log_alpha[c] + by_scale[c] + own)
    for k in range(q.shape[0]):
        for c in range(chains):
            out[k, c] += q[k, c]
    return out


@compiled
def _slopes(at: FusedPlain, quality: Floats, tie: Floats) -> tuple[Floats, Floats]:
    """Derivatives of the pairs' log likelihood by quality, as precise as kicks are, and by δ."""
    limit = MAX_RANGE_SINGLE if at.kick_basis.itemsize == 4 else MAX_RANGE
    low, high, near = _range(quality, tie, limit)
    if near:
        one, two = _exponentials(quality, low, high)
        return close_pair_gradient(
            at.first, at.second, at.kick_s_first, at.kick_s_second, tie,
            one.astype(at.kick_basis.dtype), two.astype(at.kick_basis.dtype),
        )  # fmt: skip
    by_quality, by_tie = any_pair_gradient(
        at.first, at.second, at.s_first, at.s_second, quality.astype(np.float64), tie
    )
    return by_quality.astype(at.kick_basis.dtype), by_tie


@compiled
def _range(quality: Floats, tie: Floats, limit: float) -> tuple[Floats, Floats, bool]:
    """The lowest and highest quality of each chain, and whether they are near enough everywhere."""
    low, high = quality[0].copy(), quality[0].copy()
    for i in range(quality.shape[0]):
        for c in range(tie.size):
            value = quality[i, c]
            low[c] = value if value < low[c] else low[c]
            high[c] = value if value > high[c] else high[c]
    near = True
    for c in range(tie.size):
        near = near and high[c] - low[c] + tie[c] < limit
    return low, high, near


@compiled
def _exponentials(quality: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """e^λ and e^−λ about the middle of each chain's range."""
    one, two = np.empty_like(quality), np.empty_like(quality)
    middle, widest = (low + high) / 2, (high - low).max()
    unit = np.ones(1, quality.dtype)[0]
    if widest > 2 * SERIES_RANGE:
        for i in range(quality.shape[0]):
            for c in range(low.size):
                one[i, c] = math.exp(quality[i, c] - middle[c])
                two[i, c] = unit / one[i, c]
        return one, two
    for i in range(quality.shape[0]):
        for c in range(low.size):
            one[i, c] = exponential(quality[i, c] - middle[c])
        for c in range(low.size):
            two[i, c] = unit / one[i, c]
    return one, two


@compiled
def _log_density(
    at: FusedPlain, x: Floats, sd: Floats, log_alpha: Floats, t: Floats, tie: Floats,
    quality: Floats, latent: Floats, slope: Floats,
) -> Floats:  # fmt: skip
    """Log density of q for each chain, up to a constant; −∞ where it is not finite."""
    s, rank, chains = at.scalars, at.eigenvalues.size, tie.size
    low, high, near = _range(quality, tie, MAX_RANGE)
    if near:
        one, two = _exponentials(quality, low, high)
        total = close_pair_value(
            at.first, at.second, at.s_first, at.s_second, quality, tie, one, two
        )
    else:
        total = any_pair_value(at.first, at.second, at.s_first, at.s_second, quality, tie)
    precision = np.exp(-2.0 * log_alpha)
    total += log_prior_and_jacobian(x, sd, precision)
    if at.skew.shape[0] > 0:
        total += skew_log_density(quality, latent, slope, precision)
    for c in range(chains):
        a = log_alpha[c]
        total[c] -= rank * a
        if s.has_variance:
            one_, two_, three_ = s.variance_slope
            total[c] += one_ * a - two_ * math.exp(-2.0 * a) / 2 + three_ * math.exp(2.0 * a) / 2
        if s.ties > 0:
            total[c] += s.ties * (2.0 * tie[c] + math.log(-math.expm1(-2.0 * tie[c])))
        if s.has_tie:
            power, linear, square = s.tie_slope
            if power != 0.0:
                total[c] += power * math.log(tie[c])
            total[c] += linear * tie[c] + square * tie[c] * tie[c] / 2
            total[c] += _constrain(t[c], s.unit, s.low, s.high)[2]
        if not math.isfinite(total[c]):
            total[c] = -math.inf
    return total


class FusedTrajectories:
    """Compiled trajectories of a plain preconditioner whose parameters are of this type."""

    def __init__(self, at: FusedPlain, parameters: Any) -> None:
        self.at, self.parameters = at, parameters

    def trajectory(
        self, q: Floats, p: Floats, kick: Floats, kicks: Floats, rotations: Floats
    ) -> tuple[Floats, Floats, Any, Floats, Floats]:
        """Position, momentum, parameters, kick and log density at the end of a trajectory."""
        q, p, kick, density, *rest = fused_trajectory(self.at, q, p, kick, kicks, rotations)
        return q, p, self.parameters(*rest), kick, density
