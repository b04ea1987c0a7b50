"""HalfNormal: δ is half-normal."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tiewise.model.scalar_priors.base import Floats, TiePrior, require_positive


@dataclass(frozen=True)
class HalfNormal(TiePrior):
    """δ ~ half-normal with this scale."""

    kind: ClassVar[str] = "half-normal"
    numbers: ClassVar[str] = "scale"

    scale: float = 1.0

    def __post_init__(self) -> None:
        require_positive(scale=self.scale)

    def log_density(self, tie: Floats) -> Floats:
        """Log density of δ, up to a constant."""
        return -(tie**2) / (2 * self.scale**2)

    def derivative(self, tie: Floats) -> Floats:
        """Derivative of `log_density`."""
        return -tie / self.scale**2

    def second_derivative(self, tie: Floats) -> Floats:
        """Second derivative of `log_density`."""
        return np.full_like(tie, -1 / self.scale**2)

    def sample(self, rng: Generator) -> float:
        """A draw of δ."""
        return float(abs(self.scale * rng.normal()))

    @property
    def log_normaliser(self) -> float:
        """The constant that `log_density` leaves out."""
        return log(2 / pi) / 2 - log(self.scale)
