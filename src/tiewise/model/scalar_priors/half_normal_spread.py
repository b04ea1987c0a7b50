"""HalfNormalSpread: α is half-normal."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tiewise.model.scalar_priors.base import Floats, VariancePrior, require_positive


@dataclass(frozen=True)
class HalfNormalSpread(VariancePrior):
    """α (the spread of qualities, not its square) ~ half-normal."""

    kind: ClassVar[str] = "half-normal"
    numbers: ClassVar[str] = "scale; α, not α², is half-normal"
    power: ClassVar[int] = 1

    scale: float = 1.0

    def __post_init__(self) -> None:
        require_positive(scale=self.scale)

    def log_density(self, a: Floats) -> Floats:
        """Log density of a = log α, up to a constant."""
        out: Floats = a - np.exp(2 * a) / (2 * self.scale**2)
        return out

    def derivative(self, a: Floats) -> Floats:
        """Derivative of `log_density`."""
        out: Floats = 1 - np.exp(2 * a) / self.scale**2
        return out

    def sample(self, rng: Generator) -> float:
        """A draw of α²."""
        return float(self.scale * rng.normal()) ** 2

    @property
    def log_normaliser(self) -> float:
        """The constant that `log_density` leaves out."""
        return log(2 / pi) / 2 - log(self.scale)
