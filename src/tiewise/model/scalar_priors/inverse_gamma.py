"""InverseGamma: α² is inverse gamma, as in the paper."""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tiewise.model.scalar_priors.base import Floats, VariancePrior, require_positive


@dataclass(frozen=True)
class InverseGamma(VariancePrior):
    """α² ~ inverse gamma; the default of the paper is shape = scale = 0.01."""

    kind: ClassVar[str] = "inverse-gamma"
    numbers: ClassVar[str] = "shape and scale"

    shape: float = 0.01
    scale: float = 0.01

    def __post_init__(self) -> None:
        require_positive(shape=self.shape, scale=self.scale)

    def log_density(self, a: Floats) -> Floats:
        """Log density of a = log α, up to a constant."""
        return -2 * self.shape * a - self.scale * np.exp(-2 * a)

    def derivative(self, a: Floats) -> Floats:
        """Derivative of `log_density`."""
        out: Floats = -2 * self.shape + 2 * self.scale * np.exp(-2 * a)
        return out

    def sample(self, rng: Generator) -> float:
        """A draw of α²."""
        # A gamma variable of small shape may be too small for a float.
        return self.scale / max(float(rng.gamma(self.shape)), 1e-300)

    @property
    def log_normaliser(self) -> float:
        """The constant that `log_density` leaves out."""
        return log(2) + self.shape * log(self.scale) - lgamma(self.shape)
