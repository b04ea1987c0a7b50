"""Gamma: δ is gamma."""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tiewise.model.scalar_priors.base import Floats, TiePrior, require_positive


@dataclass(frozen=True)
class Gamma(TiePrior):
    """δ ~ gamma with this shape and rate."""

    kind: ClassVar[str] = "gamma"
    numbers: ClassVar[str] = "shape and rate"

    shape: float
    rate: float

    def __post_init__(self) -> None:
        require_positive(shape=self.shape, rate=self.rate)

    def log_density(self, tie: Floats) -> Floats:
        """Log density of δ, up to a constant."""
        out: Floats = (self.shape - 1) * np.log(tie) - self.rate * tie
        return out

    def derivative(self, tie: Floats) -> Floats:
        """Derivative of `log_density`."""
        return (self.shape - 1) / tie - self.rate

    def second_derivative(self, tie: Floats) -> Floats:
        """Second derivative of `log_density`."""
        return -(self.shape - 1) / tie**2

    def sample(self, rng: Generator) -> float:
        """A draw of δ."""
        return float(rng.gamma(self.shape, 1 / self.rate))

    @property
    def log_normaliser(self) -> float:
        """The constant that `log_density` leaves out."""
        return self.shape * log(self.rate) - lgamma(self.shape)
