"""The preconditioner of a model whose quality prior is a mixture: α and the share ρ are inferred.

In the eigenbasis E of the map's correlation, λ = E z, the prior of z is diagonal for every α and
ρ, and the likelihood's Hessian is not. Coordinates blend the widths of both, z = s(α, ρ) ∘ K x,
with K from one eigendecomposition at the median of ρ. What else depends on ρ is small and smooth:
it is fitted by cubics in a bounded function w of ρ's coordinate (docs/inference.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.preconditioners.averaged_quadratic import (
    Centre,
    QuadraticLikelihood,
    TieLine,
)
from tiewise.engines.preconditioners.laplace_marginal import LaplaceMarginal
from tiewise.engines.preconditioners.mixture_kernels import (
    log_prior_and_widths,
    position_gradient,
    positions,
    width_gradient,
    widths,
)
from tiewise.engines.preconditioners.mixture_marginal import (
    MixtureMarginal,
    fit_mixture_marginal,
    normal_probabilities,
)
from tiewise.engines.preconditioners.plain import (
    SINGLE_PRECISION_SIZE,
    PlainPreconditioner,
    build_preconditioner,
    diagonalise,
)
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import log_share_prior, share_of
from tiewise.model.scalar_priors.base import VariancePrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.unconstrained_tie import UnconstrainedTie

Floats = NDArray[np.float64]

BOUND = 4.0  # w = BOUND · tanh(q / BOUND)
REACH = 4.5  # of q of the share, beyond which τ is linear in it


@dataclass(frozen=True, eq=False)
class ShareMap:
    """τ = logit ρ as a smooth increasing function of q, under which q is nearly N(0, 1)."""

    spline: Any
    ends: tuple[float, float]
    slopes: tuple[float, float]

    @classmethod
    def of(cls, marginal: MixtureMarginal) -> ShareMap:
        """Quantiles of τ at normal quantiles q."""
        from scipy.interpolate import CubicSpline, PchipInterpolator

        q = np.linspace(-REACH, REACH, 19)
        tau = marginal.share.quantile(normal_probabilities(q))
        spline: Any = CubicSpline(q, tau)
        if spline(np.linspace(-REACH, REACH, 400), 1).min() < 1e-3:
            spline = PchipInterpolator(q, tau)
        slopes = (max(float(spline(-REACH, 1)), 1e-3), max(float(spline(REACH, 1)), 1e-3))
        return cls(spline, (float(tau[0]), float(tau[-1])), slopes)

    def __call__(self, q: Floats) -> tuple[Floats, Floats, Floats]:
        """τ and its first two derivatives at q."""
        inside = np.clip(q, -REACH, REACH)
        tau, slope, curvature = (self.spline(inside, order) for order in (0, 1, 2))
        below, above = q < -REACH, q > REACH
        beyond = below | above
        slope = np.where(below, self.slopes[0], np.where(above, self.slopes[1], slope))
        tau = np.where(beyond, tau + (q - inside) * slope, tau)
        return tau, np.maximum(slope, 1e-6), np.where(beyond, 0.0, curvature)


class ShareValues(NamedTuple):
    """What depends on q of share and scale alone, for each chain."""

    w: Floats
    by_q: Floats
    tau: Floats
    slope: Floats
    curvature: Floats
    sd: Floats
    sd_by_w: Floats
    log_alpha: Floats
    log_alpha_by_w: Floats


class MixtureParameters(NamedTuple):
    """Parameters of a model with a mixture prior at a matrix q (dimensions, chains)."""

    q: Floats
    x: Floats
    z: Floats
    tau: Floats
    log_alpha: Floats
    unconstrained_tie: Floats
    quality: Floats
    tie: Floats


class Cubics(NamedTuple):
    """Coefficients of cubics in w, lowest power first: (4) of scalars, (4, directions) of others.

    The ridge of log α and the log of its conditional sd; means of x, their derivatives by log α,
    and logs of the conditional sd of x.
    """

    ridge: Floats
    log_sd: Floats
    mean: Floats
    mean_by_scale: Floats
    log_width: Floats


@dataclass(frozen=True, eq=False)
class MixturePreconditioner:
    """Rows of q: one per direction, then the share, then log α and δ where they are inferred."""

    model: BradleyTerry
    vectors: Floats
    values: Floats
    rotation: Floats
    single: tuple[NDArray[np.float32], NDArray[np.float32]] | None
    diagonal: Floats
    cubics: Cubics
    share_map: ShareMap
    tie_line: TieLine
    tie_prior: UnconstrainedTie | None
    variance_prior: VariancePrior | None
    warm_start: Centre

    @property
    def rank(self) -> int:
        """Number of directions of quality."""
        return len(self.values)

    @property
    def dimensions(self) -> int:
        """Number of rows of q."""
        free = (self.variance_prior is not None) + (self.tie_prior is not None)
        return self.rank + 1 + int(free)

    @property
    def tie_sd(self) -> float:
        """Conditional standard deviation of the unconstrained threshold."""
        return self.tie_line.sd

    def _share_values(self, q: Floats) -> ShareValues:
        """Everything that depends on the rows of share and scale alone."""
        at = q[self.rank]
        w = BOUND * np.tanh(at / BOUND)
        tau, slope, curvature = self.share_map(at)
        ridge, ridge_by_w = _cubic(self.cubics.ridge, w)
        log_sd, log_sd_by_w = _cubic(self.cubics.log_sd, w)
        sd = np.exp(log_sd) if self.variance_prior is not None else np.zeros_like(w)
        scaled = sd * q[self.rank + 1] if self.variance_prior is not None else np.zeros_like(w)
        return ShareValues(
            w, 1 - (w / BOUND) ** 2, tau, slope, curvature, sd, log_sd_by_w,
            ridge + scaled, ridge_by_w + log_sd_by_w * scaled,
        )  # fmt: skip

    def parameters(self, q: Floats, *, single: bool = False) -> MixtureParameters:
        """Qualities, log α, share and threshold at q; `single` is precise enough for a gradient."""
        at = self._share_values(q)
        scaled = at.log_alpha - _cubic(self.cubics.ridge, at.w)[0]
        x = positions(q, at.w, scaled, *self.cubics[2:])
        y = self._product(self.rotation, 0, x, single=single)
        share = share_of(at.tau)
        z, tie_shift = widths(
            y, self.values, self.diagonal, np.exp(-2 * at.log_alpha), share,
            self.tie_line.coefficients, self.tie_line.z,
        )  # fmt: skip
        quality = self._product(self.vectors, 1, z, single=single)
        if self.tie_prior is None:
            t, tie = tie_shift, np.full(q.shape[1], self.model.fixed_tie, dtype=float)
        else:
            t = self.tie_line.mean + q[-1] * self.tie_line.sd - tie_shift
            tie = self.tie_prior.constrain(t).tie
        return MixtureParameters(q, x, z, at.tau, at.log_alpha, t, quality, tie)

    def _product(self, matrix: Floats, which: int, x: Floats, *, single: bool) -> NDArray[Any]:
        if single and self.single is not None:
            return self.single[which] @ x.astype(np.float32)
        return matrix @ x

    def _transposed(self, matrix: NDArray[Any], which: int, x: NDArray[Any]) -> NDArray[Any]:
        if self.single is not None:
            matrix, x = self.single[which], x.astype(np.float32)
        out: NDArray[Any] = matrix.T @ x
        return out

    def draws(self, parameters: MixtureParameters) -> dict[str, Floats]:
        """Quality, threshold, variance and share, by name."""
        return {
            "quality": parameters.quality,
            "tie": parameters.tie,
            "variance": np.exp(2 * parameters.log_alpha),
            "share": share_of(parameters.tau),
        }

    def log_density(self, q: Floats) -> Floats:
        """Log density of q for each chain, up to a constant."""
        return self.log_density_at(self.parameters(q))

    def log_density_at(self, parameters: MixtureParameters) -> Floats:
        """Log density of the q with these parameters."""
        with np.errstate(all="ignore"):
            at = self._share_values(parameters.q)
            total = self.model.log_likelihood(parameters.quality, parameters.tie)
            total = total + log_prior_and_widths(
                parameters.z, self.values, self.diagonal, np.exp(-2 * at.log_alpha),
                share_of(at.tau),
            )  # fmt: skip
            total += _cubic(self.cubics.log_width.sum(axis=1), at.w)[0]
            total += np.log(at.slope) + log_share_prior(at.tau)
            if self.variance_prior is not None:
                total += self.variance_prior.log_density(at.log_alpha) + np.log(at.sd)
            if self.tie_prior is not None:
                total += self.tie_prior.log_density_at(parameters.unconstrained_tie)
        return np.where(np.isfinite(total), total, -np.inf)

    def gradient(self, q: Floats) -> Floats:
        """Gradient of `log_density`."""
        return self.gradient_at(self.parameters(q))

    def gradient_at(self, parameters: MixtureParameters) -> Floats:
        """Gradient of `log_density` by the q with these parameters, perhaps in single precision."""
        q, at = parameters.q, self._share_values(parameters.q)
        out = np.empty((self.dimensions, q.shape[1]))
        quality = parameters.quality
        if self.single is not None:
            quality = quality.astype(np.float32)
        by_quality, by_tie = self.model.gradient(quality, parameters.tie)
        by_t = np.zeros_like(by_tie)
        if self.tie_prior is not None:
            by_t = self.tie_prior.slope_at(parameters.unconstrained_tie, by_tie)
            out[-1] = by_t * self.tie_line.sd
        share = share_of(at.tau)
        by_z = self._transposed(self.vectors, 1, by_quality)
        by_y, by_log_alpha, by_tau = width_gradient(
            by_z, parameters.z, self.values, self.diagonal, np.exp(-2 * at.log_alpha), share,
            self.tie_line.coefficients, by_t,
        )  # fmt: skip
        by_x = self._transposed(self.rotation, 0, by_y)
        scaled = at.log_alpha - _cubic(self.cubics.ridge, at.w)[0]
        by_w, by_scaled = position_gradient(by_x, q, at.w, scaled, *self.cubics[2:], out)
        by_tau += 1 - 2 * share
        if self.variance_prior is not None:
            by_log_alpha += self.variance_prior.derivative(at.log_alpha)
            out[self.rank + 1] = (by_log_alpha + by_scaled) * at.sd
            by_w += at.sd_by_w * (1 + by_scaled * scaled)
        by_w += by_log_alpha * at.log_alpha_by_w
        out[self.rank] = by_tau * at.slope + at.curvature / at.slope + by_w * at.by_q
        return out


def _cubic(coefficients: Floats, w: Floats) -> tuple[Floats, Floats]:
    """A cubic and its derivative at w."""
    a, b, c, d = coefficients
    return a + w * (b + w * (c + w * d)), b + w * (2 * c + 3 * w * d)


WarmStart = LaplaceMarginal | Centre


def plain_or_mixture(
    model: BradleyTerry, start: WarmStart | None = None
) -> PlainPreconditioner | MixturePreconditioner:
    """The preconditioner of a model without terms; a start of another kind is not used."""
    if model.mixture is None:
        return build_preconditioner(model, start if isinstance(start, LaplaceMarginal) else None)
    return build_mixture_preconditioner(model, start if isinstance(start, Centre) else None)


def build_mixture_preconditioner(
    model: BradleyTerry, start: Centre | None = None
) -> MixturePreconditioner:
    """The preconditioner of a model with a mixture prior; `start` is that of similar data."""
    marginal = fit_mixture_marginal(model, start)
    quadratic = marginal.quadratic
    share_map = ShareMap.of(marginal)
    rotation, inverse = _rotation(marginal, float(share_map(np.zeros(1))[0][0]))
    cubics = _fit_cubics(marginal, rotation, inverse)
    vectors, values = marginal.mixture
    large, variance = model.size >= SINGLE_PRECISION_SIZE, model.variance
    return MixturePreconditioner(
        model=model, vectors=vectors, values=values, rotation=rotation,
        single=(rotation.astype(np.float32), vectors.astype(np.float32)) if large else None,
        diagonal=quadratic.diagonal, cubics=cubics, share_map=share_map,
        tie_line=quadratic.tie,
        tie_prior=marginal.posterior.tie_prior,
        variance_prior=None if isinstance(variance, Fixed) else variance,
        warm_start=marginal.centre,
    )  # fmt: skip


def _scale_at(
    quadratic: QuadraticLikelihood, log_alpha: float, tau: float
) -> tuple[Floats, Floats]:
    """Conditional widths s of z, and p, at α and ρ."""
    precision = quadratic.prior_precision(log_alpha, tau)
    return (quadratic.diagonal + precision) ** -0.5, precision


def _rotation(marginal: MixtureMarginal, tau: float) -> tuple[Floats, Floats]:
    """K = U d^{-1/2} at the median of the share, M = U d Uᵀ, and its inverse."""
    quadratic = marginal.quadratic
    width, precision = _scale_at(quadratic, marginal.share.nearest(tau).log_alpha, tau)
    matrix = width[:, None] * quadratic.hessian * width
    matrix.flat[:: len(matrix) + 1] += width**2 * precision
    values, vectors = diagonalise(matrix)
    root = np.sqrt(np.maximum(values, 1e-12))
    return np.ascontiguousarray(vectors / root), np.ascontiguousarray((vectors * root).T)


def _fit_cubics(marginal: MixtureMarginal, rotation: Floats, inverse: Floats) -> Cubics:
    """Cubics through the values of τ that were tried."""
    normal = NormalDist()
    tau = np.array(sorted(marginal.share.scales))
    probability = marginal.share.probability(tau)
    tau = tau[(probability > 5e-4) & (probability < 1 - 5e-4)]
    q = np.array([normal.inv_cdf(float(one)) for one in marginal.share.probability(tau)])
    single = marginal.quadratic.hessian.astype(np.float32)
    rows = [_node(marginal, float(one), rotation, inverse, single) for one in tau]
    w = BOUND * np.tanh(q / BOUND)
    powers = w[:, None] ** np.arange(min(4, len(w)))
    # They count as the normal density, a little flattened, would have them.
    weight = np.exp(-(q**2) / 8)
    solve = np.linalg.lstsq(powers * weight[:, None], np.diag(weight), rcond=None)[0]
    solve = np.pad(solve, ((0, 4 - len(solve)), (0, 0)))
    return Cubics(*(solve @ np.array([row[k] for row in rows]) for k in range(5)))


def _node(
    marginal: MixtureMarginal,
    tau: float,
    rotation: Floats,
    inverse: Floats,
    single_hessian: NDArray[np.float32],
) -> tuple[float, float, Floats, Floats, Floats]:
    """Ridge, log sd of log α, means, their derivatives by log α, log widths, at one share."""
    quadratic, scale = marginal.quadratic, marginal.share.scales[tau]
    means = np.stack(
        [
            inverse @ (mean / _scale_at(quadratic, float(a), tau)[0])
            for a, mean in zip(scale.points, scale.means, strict=True)
        ]
    )
    mean, slope = _interpolate(scale.points, means, scale.log_alpha)
    width, precision = _scale_at(quadratic, scale.log_alpha, tau)
    # Widths need no more than a few digits, and single precision halves the time.
    scaled = (width[:, None] * rotation).astype(np.float32)
    own = np.einsum("ik,ik->k", scaled, single_hessian @ scaled).astype(np.float64)
    own += np.einsum("ik,i->k", scaled**2, precision)
    return scale.log_alpha, float(np.log(max(scale.sd, 1e-6))), mean, slope, -np.log(own) / 2


def _interpolate(points: Floats, values: Floats, at: float) -> tuple[Floats, Floats]:
    """Value and slope at a point of the polynomials through a few values (points, directions)."""
    centred = points - at
    powers = centred[:, None] ** np.arange(len(points))
    coefficients: Floats = np.asarray(np.linalg.solve(powers, values), np.float64)
    return coefficients[0], coefficients[1] if len(points) > 1 else np.zeros_like(values[0])
