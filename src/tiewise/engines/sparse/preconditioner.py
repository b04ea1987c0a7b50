"""Preconditioning without matrices of items by items: coordinates scaled item by item.

With x_k = μ_k + (log α − a₀) ∂μ_k/∂log α + q_k s_k(α), s_k = (d_k + α⁻² Q_kk)^−½, the posterior of
q is near N(0, I) as far as a diagonal can bring it there; d is the diagonal of the likelihood's
averaged Hessian, μ the variational mean (docs/inference.md). All costs are linear in comparisons
and items.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.preconditioners.newton import unconstrained_tie
from tiewise.engines.sparse.centre import SparseCentre, find_centre
from tiewise.engines.sparse.kernels import (
    diagonal_log_prior_and_jacobian,
    transform_diagonal,
    transform_diagonal_gradient,
)
from tiewise.engines.sparse.precision import SparsePrecision, precision_of
from tiewise.engines.sparse.wide_directions import WideDirections, wide_directions
from tiewise.model.anchors.factor import AnchorFactor
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import Likelihood, LikelihoodArguments
from tiewise.model.scalar_priors.base import VariancePrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.unconstrained_tie import UnconstrainedTie

Floats = NDArray[np.float64]

TILE = 4096  # items whose values for eight chains fit a small cache


class SparseParameters(NamedTuple):
    """Parameters at a matrix q (dimensions, chains); x are qualities but for their level."""

    x: Floats
    log_alpha: Floats
    unconstrained_tie: Floats
    tie: Floats


@dataclass(frozen=True, eq=False)
class DiagonalPreconditioner:
    """The preconditioner of a model without terms whose prior has a sparse precision.

    Rows of q: one per item, then log α if it is inferred, then δ if it is. Conditional on x the
    unconstrained threshold has its mean at `centre.unconstrained_tie` − `tie_coefficients`·(x − μ).
    Anchors speak of differences, which x has, and leave few directions `wide`.
    """

    model: BradleyTerry
    likelihood: Likelihood
    precision: SparsePrecision
    centre: SparseCentre
    curvature: Floats
    mean_slope: Floats
    tie_coefficients: Floats
    tie_sd: float
    log_alpha_sd: float
    tie_prior: UnconstrainedTie | None
    variance_prior: VariancePrior | None
    anchors: AnchorFactor | None = None
    wide: WideDirections | None = None

    @property
    def rank(self) -> int:
        """Number of items."""
        return len(self.curvature)

    @property
    def dimensions(self) -> int:
        """Number of rows of q."""
        free = (self.variance_prior is not None) + (self.tie_prior is not None)
        return self.rank + int(free)

    @property
    def warm_start(self) -> SparseCentre:
        """A start for similar data."""
        return self.centre

    @property
    def uncertain_rows(self) -> slice:
        """Rows of q in which a start may be too wide: those of items."""
        return slice(0, self.rank)

    @cached_property
    def _diagonal(self) -> Floats:
        return self.precision.diagonal

    def parameters(self, q: Floats, *, single: bool = False) -> SparseParameters:
        """Qualities, log α and threshold at q."""
        offset = np.zeros(q.shape[1])
        if self.variance_prior is not None:
            offset += self.log_alpha_sd * q[self.rank]
        log_alpha = self.centre.log_alpha + offset
        scaled = q if self.wide is None else self.wide.stretched(q[: self.rank])
        x, tie_shift = transform_diagonal(
            scaled, self.centre.quality, self.mean_slope, self.curvature, self._diagonal, offset,
            np.exp(-2 * log_alpha), self.tie_coefficients,
        )  # fmt: skip
        if self.tie_prior is None:
            t, tie = tie_shift, np.full(q.shape[1], self.model.fixed_tie, dtype=float)
        else:
            t = self.centre.unconstrained_tie + q[-1] * self.tie_sd - tie_shift
            tie = self.tie_prior.constrain(t).tie
        return SparseParameters(x, log_alpha, t, tie)

    def draws(self, parameters: SparseParameters) -> dict[str, Floats]:
        """Quality, threshold and variance, by name."""
        quality = self.precision.qualities(parameters.x)
        variance = np.exp(2 * parameters.log_alpha)
        return {"quality": quality, "tie": parameters.tie, "variance": variance}

    def log_density(self, q: Floats) -> Floats:
        """Log density of q for each chain, up to a constant."""
        return self.log_density_at(self.parameters(q))

    def log_density_at(self, parameters: SparseParameters) -> Floats:
        """Log density of the q with these parameters."""
        x, log_alpha, t, tie = parameters
        with np.errstate(all="ignore"):
            total = self.likelihood.log_likelihood(LikelihoodArguments.plain(x, tie))
            if self.anchors is not None:
                total += self.anchors.log_density(x)
            total -= self.rank * log_alpha
            total += diagonal_log_prior_and_jacobian(
                x, self.precision.product(x), self.curvature, self._diagonal, np.exp(-2 * log_alpha)
            )
            if self.variance_prior is not None:
                total += self.variance_prior.log_density(log_alpha)
            if self.tie_prior is not None:
                total += self.tie_prior.log_density_at(t)
        return np.where(np.isfinite(total), total, -np.inf)

    def gradient(self, q: Floats) -> Floats:
        """Gradient of `log_density`."""
        return self.gradient_at(self.parameters(q))

    def gradient_at(self, parameters: SparseParameters) -> Floats:
        """Gradient of `log_density` by the q with these parameters."""
        x, log_alpha, t, tie = parameters
        out = np.empty((self.dimensions, len(tie)))
        by = self.likelihood.gradient(LikelihoodArguments.plain(x, tie))
        if self.anchors is not None:
            self.anchors.add_gradient(x, by.quality)
        by_t = np.zeros_like(tie)
        if self.tie_prior is not None:
            by_t = self.tie_prior.slope_at(t, by.tie[0])
            out[-1] = by_t * self.tie_sd
        by_log_alpha = transform_diagonal_gradient(
            by.quality, x, self.precision.product(x), self.centre.quality, self.mean_slope,
            self.curvature, self._diagonal, log_alpha - self.centre.log_alpha,
            np.exp(-2 * log_alpha), self.tie_coefficients, by_t, out,
        )  # fmt: skip
        if self.variance_prior is not None:
            by_log_alpha += self.variance_prior.derivative(log_alpha)
            out[self.rank] = self.log_alpha_sd * by_log_alpha
        if self.wide is not None:
            out[: self.rank] = self.wide.stretched(out[: self.rank])
        return out


def build_diagonal_preconditioner(
    model: BradleyTerry, start: object = None
) -> DiagonalPreconditioner:
    """That of a model whose prior has a sparse precision; `start` is that of similar data."""
    precision = precision_of(model.prior, model.size)
    assert precision is not None
    likelihood = tiled_likelihood(model)
    if not isinstance(start, SparseCentre) or len(start.quality) != model.size:
        start = None
    quadratic, scale = find_centre(model, likelihood, precision, start)
    variance = model.variance
    return DiagonalPreconditioner(
        model=model, likelihood=likelihood, precision=quadratic.precision, centre=quadratic.centre,
        curvature=quadratic.curvature, mean_slope=scale.mean_slope,
        tie_coefficients=quadratic.cross / quadratic.own, tie_sd=quadratic.own**-0.5,
        log_alpha_sd=scale.sd, tie_prior=unconstrained_tie(model),
        variance_prior=None if isinstance(variance, Fixed) else variance,
        anchors=model.anchor_factor, wide=wide_directions(quadratic),
    )  # fmt: skip


def tiled_likelihood(model: BradleyTerry) -> Likelihood:
    """The likelihood with rows in an order that is kind to caches.

    Rows of a tile have their first items close together, and their second ones in order.
    """
    plain = Likelihood.plain(model.counts.pooled())
    order = np.lexsort((plain.second, plain.first // TILE))
    return replace(
        plain, first=plain.first[order], second=plain.second[order],
        successes_first=plain.successes_first[order],
        successes_second=plain.successes_second[order],
    )  # fmt: skip
