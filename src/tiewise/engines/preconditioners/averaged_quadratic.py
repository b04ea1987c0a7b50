"""The log likelihood as a quadratic around a centre, averaged over the posterior there.

In the basis of the quality prior, λ = F z, with the threshold eliminated. Its slopes and second
derivatives are averages over a Gaussian for the gaps of pairs, in place of those at the mode:
sparse data are skewed, and their mean is tenths of a standard deviation from their mode. Under the
quadratic the mean of z and the marginal of log α take one Cholesky factorisation a point. Where the
prior is a mixture, its share ρ is a second argument, τ = logit ρ (docs/inference.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.preconditioners.laplace_marginal import MAX_LOG_SCALE
from tiewise.engines.preconditioners.newton import ConditionalMode, ConditionalPosterior
from tiewise.engines.preconditioners.plain_kernels import gap_sd
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Mixture, log_share_prior, share_of
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.unconstrained_tie import UnconstrainedTie

Floats = NDArray[np.float64]

SMALLEST_STEP, LARGEST_STEP = 0.03, 0.6  # of log α, for parabolas
SINGLE_PRECISION_SIZE = 256  # directions from which on a factor in single precision pays
SMALLEST_CURVATURE = 1e-6  # of the threshold
SMALLEST_PIVOT = 0.03  # of a factor in single precision, below which its digits do not suffice


class ConditionalScale(NamedTuple):
    """log α conditional on τ: its mode and sd, and the log marginal of τ.

    `points` are the values of log α that were tried around the mode, with the `means` of z there.
    """

    log_alpha: float
    sd: float
    log_marginal: float
    points: Floats
    means: Floats


class Centre(NamedTuple):
    """Mean qualities and threshold, at one α and ρ, around which the likelihood is expanded."""

    quality: Floats
    tie: float
    unconstrained_tie: float
    log_alpha: float
    tau: float = 0.0

    @classmethod
    def of(cls, mode: ConditionalMode, tau: float = 0.0) -> Centre:
        """A mode as the centre."""
        return cls(mode.quality, mode.tie, mode.unconstrained_tie, mode.log_alpha, tau)


class TieLine(NamedTuple):
    """The unconstrained threshold conditional on z: its mean is a line in z, its sd a constant.

    `fixed` is δ at the centre, and `z` what z is there.
    """

    prior: UnconstrainedTie | None
    fixed: float
    mean: float
    coefficients: Floats
    sd: float
    z: Floats

    def at(self, z: Floats) -> float:
        """The mean at z."""
        return self.mean - float(self.coefficients @ (z - self.z))

    def constrain(self, t: float) -> float:
        """δ at t; where it is not inferred, what it is."""
        if self.prior is None:
            return self.fixed
        return float(self.prior.constrain(np.array([t])).tie[0])


class PosteriorFactor(NamedTuple):
    """Cholesky factor of a posterior's precision H, scaled to a diagonal of ones: LLᵀ = SHS."""

    lower: NDArray[Any]
    scale: Floats

    @property
    def half_log_determinant(self) -> float:
        """½ log det H."""
        pivots = np.diag(self.lower).astype(np.float64)
        return float(np.log(pivots).sum() - np.log(self.scale).sum())

    def solve(self, right: Floats) -> Floats:
        """H⁻¹ b."""
        from scipy.linalg import cho_solve

        scaled = (self.scale * right).astype(self.lower.dtype)
        out: Floats = self.scale * cho_solve((self.lower, True), scaled, check_finite=False)
        return out

    def root(self, basis: Floats | None) -> NDArray[Any]:
        """R with RᵀR = B H⁻¹ Bᵀ; None stands for the identity."""
        from scipy.linalg import solve_triangular

        scaled = np.diag(self.scale) if basis is None else self.scale[:, None] * basis.T
        right = np.asfortranarray(scaled.astype(self.lower.dtype))
        return solve_triangular(self.lower, right, lower=True, overwrite_b=True, check_finite=False)


@dataclass(frozen=True, eq=False)
class QuadraticLikelihood:
    """The log likelihood kᵀz − ½ zᵀGz in the basis of the prior, threshold eliminated."""

    model: BradleyTerry
    hessian: Floats
    linear: Floats
    tie: TieLine

    @property
    def mixture(self) -> Mixture | None:
        """The prior's mixture, where its share is inferred."""
        return self.model.mixture

    @cached_property
    def basis(self) -> Floats | None:
        """F with λ = F z; None stands for the identity."""
        return basis_of(self.model)

    @cached_property
    def diagonal(self) -> Floats:
        """The diagonal of G."""
        return np.ascontiguousarray(np.diag(self.hessian))

    def prior_precision(self, log_alpha: float, tau: float = 0.0) -> Floats:
        """p = 1 / (α² (ρ r + 1 − ρ)); 1 / α² where there is no share to infer."""
        own = np.full(len(self.linear), np.exp(-2 * log_alpha))
        if self.mixture is None:
            return own
        out: Floats = own / self.mixture.variances(float(share_of(tau)))
        return out

    @cached_property
    def _single_hessian(self) -> NDArray[np.float32]:
        """G in single precision."""
        return self.hessian.astype(np.float32)

    def _factor(self, precision: Floats) -> PosteriorFactor:
        """Factor of the posterior's precision G + diag(p), in single precision if that will do."""
        from scipy.linalg import LinAlgError, cholesky

        scale = (self.diagonal + precision) ** -0.5
        if len(scale) >= SINGLE_PRECISION_SIZE:
            try:
                lower = cholesky(
                    _scaled(self._single_hessian, scale).T, lower=True, overwrite_a=True,
                    check_finite=False,
                )  # fmt: skip
                if np.diag(lower).min() > SMALLEST_PIVOT:
                    return PosteriorFactor(lower, scale)
            except LinAlgError:
                pass
        matrix = _scaled(self.hessian, scale)
        lower = cholesky(matrix.T, lower=True, overwrite_a=True, check_finite=False)
        return PosteriorFactor(lower, scale)

    def gap_sd(self, centre: Centre) -> Floats:
        """Standard deviation of every row's gap, at the centre's α and ρ."""
        factor = self._factor(self.prior_precision(centre.log_alpha, centre.tau))
        root = factor.root(self.basis)
        return gap_sd(root, self.model.counts.first, self.model.counts.second)

    def centre(self, log_alpha: float, tau: float = 0.0) -> Centre:
        """Mean qualities at this α and ρ, and the threshold there."""
        z, _ = self.mean(log_alpha, tau)
        t = self.tie.at(z)
        quality = z if self.basis is None else self.basis @ z
        return Centre(quality, self.tie.constrain(t), t, log_alpha, tau)

    def distance(self, quality: Floats, centre: Centre) -> float:
        """Root mean square of how far the centre is from these qualities, in posterior sd."""
        move = centre.quality - quality
        z = move if self.basis is None else self.model.prior.coordinates(move)
        precision = self.diagonal + self.prior_precision(centre.log_alpha, centre.tau)
        return float(np.sqrt((z**2 * precision).mean()))

    def mean(self, log_alpha: float, tau: float = 0.0) -> tuple[Floats, float]:
        """The mean of z conditional on α and ρ, and the log marginal of both there."""
        precision = self.prior_precision(log_alpha, tau)
        factor = self._factor(precision)
        mean = factor.solve(self.linear)
        if factor.lower.dtype == np.float32:  # the digits that it lacks
            mean += factor.solve(self.linear - self.hessian @ mean - precision * mean)
        value = float(self.linear @ mean) / 2 - factor.half_log_determinant
        value += float(np.log(precision).sum()) / 2
        if self.mixture is not None:
            value += float(log_share_prior(np.asarray(tau)))
        if not isinstance(self.model.variance, Fixed):
            value += float(self.model.variance.log_density(np.array([log_alpha]))[0])
        return mean, value

    @property
    def first_step(self) -> float:
        """About the conditional sd of log α, if the qualities were known."""
        return float((2 * len(self.linear)) ** -0.5)

    def scale(self, tau: float, start: float, step: float) -> ConditionalScale:
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


def _scaled(matrix: NDArray[Any], scale: Floats) -> NDArray[Any]:
    """SGS with ones on its diagonal, in the precision of G."""
    own = scale.astype(matrix.dtype)
    out: NDArray[Any] = matrix * own
    out *= own[:, None]
    out.flat[:: len(out) + 1] = 1.0
    return out


def basis_of(model: BradleyTerry) -> Floats | None:
    """The basis in which the quality prior is diagonal; None stands for the identity."""
    return model.factor if model.mixture is None else model.mixture.vectors


def expand(
    posterior: ConditionalPosterior, centre: Centre, gap_sd: Floats | None = None
) -> QuadraticLikelihood:
    """The quadratic around a centre, averaged over gaps with these standard deviations."""
    model, t = posterior.model, centre.unconstrained_tie
    if gap_sd is None:
        gap_sd = np.zeros(len(model.counts.first))
    by_quality, by_tie, hessian = model.averaged_derivatives(centre.quality, centre.tie, gap_sd)
    slope, cross, own = 0.0, np.zeros(model.size), 1.0
    if posterior.tie_prior is not None:
        slope, cross, own = posterior.tie_derivatives(t, by_tie, hessian)
        # Far from all data nothing is left of it.
        own = max(own, 0.01 * hessian.tie, SMALLEST_CURVATURE)
    basis = basis_of(model)
    matrix = hessian.through(basis)
    if model.mixture is None:
        z = model.prior.coordinates(centre.quality)
    else:
        z = model.mixture.vectors.T @ centre.quality
    by_z = cross if basis is None else basis.T @ cross
    # The threshold is eliminated by its Schur complement.
    matrix -= np.outer(by_z, by_z / own)
    linear = matrix @ z + (by_quality if basis is None else basis.T @ by_quality)
    linear -= by_z * (slope / own)
    line = TieLine(posterior.tie_prior, centre.tie, t + slope / own, by_z / own, own**-0.5, z)
    return QuadraticLikelihood(model, matrix, linear, line)


def first_gap_sd(posterior: ConditionalPosterior, mode: ConditionalMode) -> Floats:
    """Standard deviation of every row's gap at a mode: by Newton's last factor if it is kept."""
    from scipy.linalg import solve_triangular

    model = posterior.model
    if mode.factor is None:
        centre = Centre.of(mode)
        return expand(posterior, centre).gap_sd(centre)
    lower = np.asarray(mode.factor[0], np.float32 if model.size >= SINGLE_PRECISION_SIZE else float)
    right = np.zeros((len(lower), model.size), lower.dtype, order="F")
    right[: posterior.rank] = np.eye(model.size) if posterior.factor is None else posterior.factor.T
    root = solve_triangular(lower, right, lower=True, overwrite_b=True, check_finite=False)
    return gap_sd(root, model.counts.first, model.counts.second)


def average(
    posterior: ConditionalPosterior, quadratic: QuadraticLikelihood, centre: Centre, *, times: int
) -> tuple[QuadraticLikelihood, Centre]:
    """The quadratic averaged over the Gaussian of the last one, and its centre, at one α and ρ."""
    for _ in range(times):
        quadratic = expand(posterior, centre, quadratic.gap_sd(centre))
        centre = quadratic.centre(centre.log_alpha, centre.tau)
    return quadratic, centre
