"""Exponential: δ is exponential, as in the paper."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tiewise.model.scalar_priors.base import Floats, TiePrior, require_positive


@dataclass(frozen=True)
class Exponential(TiePrior):
    """δ ~ exponential; the default of the paper is rate 0.01."""

    kind: ClassVar[str] = "exponential"
    numbers: ClassVar[str] = "rate"

    rate: float = 0.01

    def __post_init__(self) -> None:
        require_positive(rate=self.rate)

    def log_density(self, tie: Floats) -> Floats:
        """Log density of δ, up to a constant."""
        return -self.rate * tie

    def derivative(self, tie: Floats) -> Floats:
        """Derivative of `log_density`."""
        return np.full_like(tie, -self.rate)

    def second_derivative(self, tie: Floats) -> Floats:
        """Second derivative of `log_density`."""
        return np.zeros_like(tie)

    def sample(self, rng: Generator) -> float:
        """A draw of δ."""
        return float(rng.exponential(1 / self.rate))

    @property
    def log_normaliser(self) -> float:
        """The constant that `log_density` leaves out."""
        return log(self.rate)
