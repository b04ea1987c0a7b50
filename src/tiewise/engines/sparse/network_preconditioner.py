"""Preconditioning of a network prior without matrices of items by items: two whitened layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.preconditioners.newton import unconstrained_tie
from tiewise.engines.sparse.network_centre import NetworkCentre, NetworkPoint, find_network_centre
from tiewise.engines.sparse.preconditioner import tiled_likelihood
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import Likelihood, LikelihoodArguments
from tiewise.model.map_priors import GraphExponential, Network, log_share_prior, share_of
from tiewise.model.scalar_priors.base import VariancePrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.unconstrained_tie import UnconstrainedTie

Floats = NDArray[np.float64]


class NetworkParameters(NamedTuple):
    """Parameters at a matrix q (dimensions, chains): layers, G η₁, qualities and scales."""

    layers: Floats
    smooth: Floats
    quality: Floats
    log_alpha: Floats
    tau: Floats
    unconstrained_tie: Floats
    tie: Floats


@dataclass(frozen=True, eq=False)
class NetworkPreconditioner:
    """The preconditioner of a model with a network prior and very many items.

    Rows of q: both layers, then log α, ρ and δ as far as they are inferred.
    """

    model: BradleyTerry
    likelihood: Likelihood
    exponential: GraphExponential
    centre: NetworkCentre
    mean_quality: Floats
    tie_prior: UnconstrainedTie | None
    variance_prior: VariancePrior | None
    share_inferred: bool

    @property
    def rank(self) -> int:
        """Rows of both layers."""
        return 2 * self.model.size

    @property
    def dimensions(self) -> int:
        """Number of rows of q."""
        free = (self.variance_prior is not None) + self.share_inferred
        return self.rank + int(free) + (self.tie_prior is not None)

    @property
    def warm_start(self) -> NetworkPoint:
        """A start for similar data."""
        return self.centre.point

    @property
    def uncertain_rows(self) -> slice:
        """Rows of q in which a start may be too wide: those of scales and threshold.

        The whitening is that of the centre, so that far from it layers leave the scales less room.
        """
        return slice(self.rank, None)

    def _scales(self, q: Floats) -> Floats:
        """log α and τ less their means (2, chains)."""
        rows, free = np.zeros((2, q.shape[1])), self.rank
        if self.variance_prior is not None:
            rows[0], free = q[free], free + 1
        if self.share_inferred:
            rows[1] = q[free]
        out: Floats = self.centre.scale_root @ rows
        return out

    def parameters(self, q: Floats, *, single: bool = False) -> NetworkParameters:
        """Layers, qualities, scales and threshold at q."""
        centre, size = self.centre, self.model.size
        offset = self._scales(q)
        layers = centre.whitened(q[: self.rank])
        layers += centre.layers[:, None] + centre.layer_slopes @ offset
        smooth = self.exponential.root(np.ascontiguousarray(layers[:size]))
        log_alpha = centre.quadratic.layers.scale.log_alpha + offset[0]
        tau = centre.quadratic.layers.scale.tau + offset[1]
        one, two = _roots(log_alpha, tau)
        quality = one * smooth + two * layers[size:]
        if self.tie_prior is None:
            t = np.zeros(q.shape[1])
            tie = np.full(q.shape[1], self.model.fixed_tie, dtype=float)
        else:
            own = centre.quadratic.likelihood
            shift = (own.cross / own.own) @ (quality - self.mean_quality[:, None])
            t = own.centre.unconstrained_tie + q[-1] * own.own**-0.5 - shift
            tie = self.tie_prior.constrain(t).tie
        return NetworkParameters(layers, smooth, quality, log_alpha, tau, t, tie)

    def draws(self, parameters: NetworkParameters) -> dict[str, Floats]:
        """Quality, threshold, variance and, where it is inferred, the share, by name."""
        out = {
            "quality": parameters.quality,
            "tie": parameters.tie,
            "variance": np.exp(2 * parameters.log_alpha),
        }
        return out | ({"share": share_of(parameters.tau)} if self.share_inferred else {})

    def log_density(self, q: Floats) -> Floats:
        """Log density of q for each chain, up to a constant."""
        return self.log_density_at(self.parameters(q))

    def log_density_at(self, parameters: NetworkParameters) -> Floats:
        """Log density of the q with these parameters."""
        layers, _, quality, log_alpha, tau, t, tie = parameters
        with np.errstate(all="ignore"):
            total = self.likelihood.log_likelihood(LikelihoodArguments.plain(quality, tie))
            if self.model.anchor_factor is not None:
                total += self.model.anchor_factor.log_density(quality)
            total -= np.einsum("ic,ic->c", layers, layers) / 2
            if self.variance_prior is not None:
                total += self.variance_prior.log_density(log_alpha)
            if self.share_inferred:
                total += log_share_prior(tau)
            if self.tie_prior is not None:
                total += self.tie_prior.log_density_at(t)
        return np.where(np.isfinite(total), total, -np.inf)

    def gradient(self, q: Floats) -> Floats:
        """Gradient of `log_density`."""
        return self.gradient_at(self.parameters(q))

    def gradient_at(self, parameters: NetworkParameters) -> Floats:
        """Gradient of `log_density` by the q with these parameters."""
        layers, smooth, quality, log_alpha, tau, t, tie = parameters
        size, centre, out = self.model.size, self.centre, np.empty((self.dimensions, len(tie)))
        by = self.likelihood.gradient(LikelihoodArguments.plain(quality, tie))
        by_quality = by.quality
        if self.model.anchor_factor is not None:
            self.model.anchor_factor.add_gradient(quality, by_quality)
        if self.tie_prior is not None:
            own, by_t = centre.quadratic.likelihood, self.tie_prior.slope_at(t, by.tie[0])
            out[-1] = by_t * own.own**-0.5
            by_quality = by_quality - np.multiply.outer(own.cross / own.own, by_t)
        one, two = _roots(log_alpha, tau)
        by_layers = np.vstack(
            [self.exponential.root_transposed(one * by_quality), two * by_quality]
        )
        by_layers -= layers
        out[: self.rank] = centre.whitened_transposed(by_layers)
        by_scales = centre.layer_slopes.T @ by_layers
        by_scales[0] += np.einsum("ic,ic->c", by_quality, quality)
        share = share_of(tau)
        # α √ρ and α √(1−ρ) change by (1 − ρ)/2 and −ρ/2 of themselves.
        by_scales[1] += one * (1 - share) / 2 * np.einsum("ic,ic->c", by_quality, smooth)
        by_scales[1] -= two * share / 2 * np.einsum("ic,ic->c", by_quality, layers[size:])
        free = self.rank
        if self.variance_prior is not None:
            by_scales[0] += self.variance_prior.derivative(log_alpha)
        if self.share_inferred:
            by_scales[1] += 1 - 2 * share
        by_q = centre.scale_root.T @ by_scales
        if self.variance_prior is not None:
            out[free], free = by_q[0], free + 1
        if self.share_inferred:
            out[free] = by_q[1]
        return out


def _roots(log_alpha: Floats, tau: Floats) -> tuple[Floats, Floats]:
    """α √ρ and α √(1−ρ) of each chain."""
    alpha = np.exp(log_alpha)
    return alpha * np.sqrt(share_of(tau)), alpha * np.sqrt(share_of(-tau))


def build_network_preconditioner(
    model: BradleyTerry, start: object = None
) -> NetworkPreconditioner:
    """That of a model with a network prior and without terms; `start` is that of similar data."""
    assert isinstance(model.prior, Network)
    likelihood = tiled_likelihood(model)
    if not isinstance(start, NetworkPoint) or len(start.quality) != model.size:
        start = None
    centre = find_network_centre(model, likelihood, start)
    mean = centre.quadratic.layers.qualities(centre.layers[:, None])[:, 0]
    variance = model.variance
    return NetworkPreconditioner(
        model=model, likelihood=likelihood, exponential=model.prior.exponential, centre=centre,
        mean_quality=mean, tie_prior=unconstrained_tie(model),
        variance_prior=None if isinstance(variance, Fixed) else variance,
        share_inferred=model.prior.share is None,
    )  # fmt: skip
