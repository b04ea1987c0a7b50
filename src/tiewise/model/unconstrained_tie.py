"""The tie threshold δ on the real line, where engines move freely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.model.scalar_priors.base import TiePrior

Floats = NDArray[np.float64]


class ConstrainedTie(NamedTuple):
    """δ at a point t of the real line, with what a change of variable needs."""

    tie: Floats
    by_t: Floats
    by_t_twice: Floats
    log_jacobian: Floats
    log_jacobian_by_t: Floats
    log_jacobian_by_t_twice: Floats


@dataclass(frozen=True)
class UnconstrainedTie:
    """A prior of δ whose support is mapped to the real line.

    δ = low + unit · log(1 + eᵗ) on (low, ∞): below the unit t is a log δ, above it δ itself, and
    neither tail is steep. δ = low + (high − low) σ(t) on a bounded support.
    """

    prior: TiePrior
    unit: float = 1.0

    @property
    def low(self) -> float:
        """Lower end of the support."""
        return self.prior.low

    @property
    def high(self) -> float:
        """Upper end of the support, perhaps ∞."""
        return self.prior.high

    def log_density(self, tie: Floats) -> Floats:
        """Log density of δ, up to a constant."""
        return self.prior.log_density(tie)

    def derivative(self, tie: Floats) -> Floats:
        """Derivative of `log_density`."""
        return self.prior.derivative(tie)

    def second_derivative(self, tie: Floats) -> Floats:
        """Second derivative of `log_density`."""
        return self.prior.second_derivative(tie)

    def log_density_at(self, t: Floats) -> Floats:
        """Log density of t, up to a constant."""
        at = self.constrain(t)
        return self.log_density(at.tie) + at.log_jacobian

    def slope_at(self, t: Floats, by_tie: Floats) -> Floats:
        """Derivative by t of `log_density_at` and of whatever has the derivative `by_tie` by δ."""
        at = self.constrain(t)
        return (by_tie + self.derivative(at.tie)) * at.by_t + at.log_jacobian_by_t

    def unconstrain(self, tie: float) -> float:
        """The point t of the line for δ."""
        above = tie - self.low
        if np.isinf(self.high):
            return float(above / self.unit + np.log(-np.expm1(-above / self.unit)))
        return float(np.log(above) - np.log(self.high - tie))

    def constrain(self, t: Floats) -> ConstrainedTie:
        """δ at t, its derivatives, and the log Jacobian with its own."""
        decay = np.exp(-np.abs(t))
        share = np.where(t > 0, 1.0, decay) / (1 + decay)
        rest = np.where(t > 0, decay, 1.0) / (1 + decay)
        log_share = np.minimum(t, 0) - np.log1p(decay)
        log_rest = -np.maximum(t, 0) - np.log1p(decay)
        if np.isinf(self.high):
            return ConstrainedTie(
                self.low - self.unit * log_rest, self.unit * share, self.unit * share * rest,
                np.log(self.unit) + log_share, rest, -share * rest,
            )  # fmt: skip
        width = self.high - self.low
        by_t = width * share * rest
        return ConstrainedTie(
            self.low + width * share, by_t, by_t * (rest - share),
            np.log(width) + log_share + log_rest, rest - share, -2 * share * rest,
        )  # fmt: skip
