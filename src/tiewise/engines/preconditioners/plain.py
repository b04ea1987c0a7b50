"""Preconditioning: coordinates q in which the posterior is nearly N(0, I) (docs/inference.md).

Prior and likelihood are diagonalised together once, so that a change of α costs nothing beyond
products with one matrix: in λ = B x the prior is x ~ N(0, α² I) for every α, and the likelihood is
about −½ Σ d_k (x_k − m_k)².

With many items, gradients are computed with the basis in single precision. A trajectory need only
be reversible, which it is with any gradient that depends on its position alone; the density that
decides about its end, and the draws, are computed in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.preconditioners.averaged_quadratic import (
    Centre,
    QuadraticLikelihood,
    expand,
    first_gap_sd,
)
from tiewise.engines.preconditioners.fused_kernels import (
    FusedPlain,
    FusedTrajectories,
    Scalars,
    tie_slope,
    variance_slope,
)
from tiewise.engines.preconditioners.laplace_marginal import (
    MANY_DIRECTIONS,
    LaplaceMarginal,
    fit_laplace_marginal,
)
from tiewise.engines.preconditioners.newton import ConditionalPosterior
from tiewise.engines.preconditioners.plain_kernels import (
    log_prior_and_jacobian,
    transform,
    transform_gradient,
)
from tiewise.engines.preconditioners.skewness import (
    is_too_wide,
    latent_gradient,
    qualities,
    skew_log_density,
    skew_map,
)
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.scalar_priors.base import VariancePrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.unconstrained_tie import UnconstrainedTie

Floats = NDArray[np.float64]

AVERAGING_ROUNDS = 3
CLOSE = 0.1  # posterior sd by which qualities still move in a round that is the last
WIDE = 0.25  # sd of log α from which on qualities are not waited for: they follow α too far
SINGLE_PRECISION_SIZE = 256  # items from which on casting to single precision pays


class Preconditioner(Protocol):
    """A map from q, nearly N(0, I), to the parameters of a model, and the log density of q.

    Parameters are a tuple of arrays whose last axis runs over chains.
    """

    @property
    def rank(self) -> int:
        """Number of leading rows of q that a pilot run may pool."""

    @property
    def dimensions(self) -> int:
        """Number of rows of q."""

    @property
    def warm_start(self) -> object:
        """A start for the preconditioner of similar data."""

    def parameters(self, q: Floats, *, single: bool = False) -> Any:
        """The model's parameters at q; `single` allows single precision."""

    def log_density(self, q: Floats) -> Floats:
        """Log density of q for each chain, up to a constant."""

    def log_density_at(self, parameters: Any) -> Floats:
        """Log density of the q with these parameters."""

    def gradient_at(self, parameters: Any) -> Floats:
        """Gradient of the log density by the q with these parameters."""

    def draws(self, parameters: Any) -> dict[str, Floats]:
        """The parameters that are results, by name."""


class PlainParameters(NamedTuple):
    """Parameters of a model without terms at a matrix q (dimensions, chains).

    `x` and its conditional standard deviations `sd` are (directions, chains). `latent` has what
    qualities are made of where there is a map of each (`skewness`), and else no rows.
    """

    x: Floats
    sd: Floats
    log_alpha: Floats
    unconstrained_tie: Floats
    quality: NDArray[Any]
    tie: Floats
    latent: NDArray[Any]


@dataclass(frozen=True)
class PlainPreconditioner:
    """The preconditioner of a model without terms.

    Rows of q: one per direction of the basis B, then log α if it is inferred, then δ if it is.
    `eigenvalues` are d, those of the likelihood's Hessian; `mode` is x̂ and `precision_mean` is
    (d + α̂⁻²) x̂. Conditional on x the unconstrained threshold has its mean at
    `tie_mode` − `tie_coefficients`·(x − x̂) and the standard deviation `tie_sd`. `skew` is the map
    of each quality from B x, which else is the quality.
    """

    model: BradleyTerry
    basis: Floats
    basis_single: NDArray[np.float32] | None
    eigenvalues: Floats
    precision_mean: Floats
    mode: Floats
    tie_mode: float
    tie_coefficients: Floats
    tie_sd: float
    log_alpha_mean: float
    log_alpha_sd: float
    tie_prior: UnconstrainedTie | None
    variance_prior: VariancePrior | None
    warm_start: LaplaceMarginal
    skew: Floats | None = None

    @property
    def rank(self) -> int:
        """Number of directions of quality."""
        return len(self.eigenvalues)

    @property
    def dimensions(self) -> int:
        """Number of rows of q."""
        free = (self.variance_prior is not None) + (self.tie_prior is not None)
        return self.rank + int(free)

    def parameters(self, q: Floats, *, single: bool = False) -> PlainParameters:
        """Qualities, log α and threshold at q; `single` is precise enough for a gradient."""
        log_alpha = np.full(q.shape[1], self.log_alpha_mean)
        if self.variance_prior is not None:
            log_alpha += self.log_alpha_sd * q[self.rank]
        x, sd, tie_shift = transform(
            q,
            self.eigenvalues,
            self.precision_mean,
            np.exp(-2 * log_alpha),
            self.tie_coefficients,
            self.mode,
        )
        if self.tie_prior is None:
            t, tie = tie_shift, np.full(q.shape[1], self.model.fixed_tie, dtype=float)
        else:
            t = self.tie_mode + q[-1] * self.tie_sd - tie_shift
            tie = self.tie_prior.constrain(t).tie
        latent: NDArray[Any]
        if single and self.basis_single is not None:
            latent = self.basis_single @ x.astype(np.float32)
        else:
            latent = self.basis @ x
        if self.skew is None:
            return PlainParameters(x, sd, log_alpha, t, latent, tie, latent[:0])
        quality = qualities(self.skew, latent)[0]
        return PlainParameters(x, sd, log_alpha, t, quality, tie, latent)

    def draws(self, parameters: PlainParameters) -> dict[str, Floats]:
        """Quality, threshold and variance, by name."""
        variance = np.exp(2 * parameters.log_alpha)
        return {"quality": parameters.quality, "tie": parameters.tie, "variance": variance}

    def log_density(self, q: Floats) -> Floats:
        """Log density of q for each chain, up to a constant."""
        return self.log_density_at(self.parameters(q))

    def log_density_at(self, parameters: PlainParameters) -> Floats:
        """Log density of the q with these parameters."""
        x, sd, log_alpha, t, quality, tie, latent = parameters
        precision = np.exp(-2 * log_alpha)
        with np.errstate(all="ignore"):
            total = self.model.log_likelihood(quality, tie) - self.rank * log_alpha
            total += log_prior_and_jacobian(x, sd, precision)
            if self.skew is not None:
                slope = qualities(self.skew, latent)[1]
                total += skew_log_density(quality, latent, slope, precision)
            if self.variance_prior is not None:
                total += self.variance_prior.log_density(log_alpha)
            if self.tie_prior is not None:
                total += self.tie_prior.log_density_at(t)
        return np.where(np.isfinite(total), total, -np.inf)

    def gradient(self, q: Floats) -> Floats:
        """Gradient of `log_density`."""
        return self.gradient_at(self.parameters(q))

    def gradient_at(self, parameters: PlainParameters) -> Floats:
        """Gradient of `log_density` by the q with these parameters, perhaps in single precision."""
        x, sd, log_alpha, t, quality, tie, latent = parameters
        precision = np.exp(-2 * log_alpha)
        out = np.empty((self.dimensions, len(tie)))
        if self.basis_single is not None:
            quality = quality.astype(np.float32)
        by_quality, by_tie = self.model.gradient(quality, tie)
        by_t = np.zeros_like(by_tie)
        if self.tie_prior is not None:
            by_t = self.tie_prior.slope_at(t, by_tie)
            out[-1] = by_t * self.tie_sd
        basis = self.basis if self.basis_single is None else self.basis_single
        by_scale = np.zeros_like(by_tie)
        if self.skew is not None:
            _, slope, bend = qualities(self.skew, latent)
            by_scale = latent_gradient(by_quality, quality, latent, slope, bend, precision)
        by_x = basis.T @ by_quality
        by_log_alpha = by_scale + transform_gradient(
            by_x, x, sd, self.precision_mean, precision, self.tie_coefficients, by_t, out
        )
        if self.variance_prior is not None:
            by_log_alpha += self.variance_prior.derivative(log_alpha)
            out[self.rank] = self.log_alpha_sd * by_log_alpha
        return out

    @cached_property
    def fused(self) -> FusedTrajectories | None:
        """Trajectories in one compiled loop; None for priors that it does not know, and anchors."""
        own_tie = None if self.tie_prior is None else self.tie_prior.prior
        slopes = variance_slope(self.variance_prior), tie_slope(own_tie)
        if slopes[0] is None or slopes[1] is None or self.model.anchors is not None:
            return None
        prior, fixed, pairs = self.tie_prior, self.model.fixed_tie, self.model.likelihood
        _, _, *kick_successes = pairs.pairs if self.basis_single is None else pairs.single_pairs
        scalars = Scalars(
            self.variance_prior is not None, float(self.log_alpha_mean), float(self.log_alpha_sd),
            slopes[0], prior is not None, float(self.tie_mode), float(self.tie_sd),
            1.0 if prior is None else float(prior.unit), 0.0 if prior is None else float(prior.low),
            np.inf if prior is None else float(prior.high), slopes[1],
            0.0 if fixed is None else float(fixed), float(pairs.ties[0]),
        )  # fmt: skip
        return FusedTrajectories(
            FusedPlain(
                self.basis, self.basis if self.basis_single is None else self.basis_single,
                self.eigenvalues, self.precision_mean, self.mode, self.tie_coefficients,
                *pairs.pairs, kick_successes[0], kick_successes[1], scalars,
                np.empty((0, 6)) if self.skew is None else self.skew,
            ),
            PlainParameters,
        )  # fmt: skip


def build_preconditioner(
    model: BradleyTerry, start: LaplaceMarginal | None = None, *, rounds: int = AVERAGING_ROUNDS
) -> PlainPreconditioner:
    """The preconditioner of a model without terms; `start` is the marginal of a similar one.

    Without rounds of averaging its centre is the mode.
    """
    posterior = ConditionalPosterior(model)
    mode = None if start is None else start.mode
    marginal = fit_laplace_marginal(posterior, mode, width=rounds == 0)
    rounds = 0 if marginal.at_edge else rounds
    quadratic, log_alpha, sd, gaps = _average_quadratic(posterior, marginal, rounds)
    tie, skew = quadratic.tie, skew_map(model, quadratic, gaps, log_alpha)
    eigenvalues, rotation = diagonalise(quadratic.hessian)
    factor = quadratic.basis
    basis = rotation if factor is None else np.ascontiguousarray(factor @ rotation)
    spread = 1 / (eigenvalues + np.exp(-2 * log_alpha))
    if skew is not None and is_too_wide(skew, basis, spread):
        skew = None
    large, variance = model.size >= SINGLE_PRECISION_SIZE, model.variance
    return PlainPreconditioner(
        model=model, basis=basis, basis_single=basis.astype(np.float32) if large else None,
        eigenvalues=eigenvalues, precision_mean=rotation.T @ quadratic.linear,
        mode=rotation.T @ tie.z, tie_mode=tie.mean, tie_coefficients=rotation.T @ tie.coefficients,
        tie_sd=tie.sd, log_alpha_mean=marginal.mean + log_alpha - marginal.mode.log_alpha,
        log_alpha_sd=sd, tie_prior=posterior.tie_prior,
        variance_prior=None if isinstance(variance, Fixed) else variance,
        warm_start=replace(marginal, mode=replace(marginal.mode, factor=None)), skew=skew,
    )  # fmt: skip


def _average_quadratic(
    posterior: ConditionalPosterior, marginal: LaplaceMarginal, rounds: int
) -> tuple[QuadraticLikelihood, float, float, Floats | None]:
    """The quadratic averaged around a centre that starts at the mode, log α there, and its sd.

    Last the standard deviations of gaps over which it was averaged, if it was.
    """
    centre, sd = Centre.of(marginal.mode), marginal.sd
    if not rounds:
        return expand(posterior, centre), centre.log_alpha, sd, None
    averaged = gaps = first_gap_sd(posterior, marginal.mode)
    for _ in range(rounds):
        averaged = gaps
        before = centre.quality
        quadratic = expand(posterior, centre, gaps)
        scale = quadratic.scale(0.0, centre.log_alpha, sd)
        move = scale.log_alpha - centre.log_alpha
        centre = quadratic.centre(scale.log_alpha)
        moved = 0.0 if sd > WIDE else quadratic.distance(before, centre)
        if posterior.rank >= MANY_DIRECTIONS:
            sd = scale.sd
        if abs(move) < 0.1 * sd and moved < CLOSE:
            break
        gaps = quadratic.gap_sd(centre)
    return quadratic, centre.log_alpha, sd, averaged


def diagonalise(matrix: Floats) -> tuple[Floats, Floats]:
    """d ≥ 0 and U with Uᵀ M U = diag(d); the matrix is overwritten."""
    from scipy.linalg import eigh

    # Transposed, a symmetric matrix is the same and LAPACK needs no copy of it.
    values, vectors = eigh(matrix.T, driver="evd", overwrite_a=True, check_finite=False)
    return np.clip(values, 0.0, None), np.ascontiguousarray(vectors)
