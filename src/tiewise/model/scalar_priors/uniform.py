"""Uniform: δ is uniform on an interval."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tiewise.errors import InputError
from tiewise.model.scalar_priors.base import Floats, TiePrior


@dataclass(frozen=True)
class Uniform(TiePrior):
    """δ ~ uniform between `low` and `high`."""

    kind: ClassVar[str] = "uniform"
    numbers: ClassVar[str] = "from and to"

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high < np.inf:
            raise InputError(
                f"a uniform tie prior needs 0 <= low < high, not {self.low}, {self.high}"
            )

    def log_density(self, tie: Floats) -> Floats:
        """Log density of δ, up to a constant."""
        return np.zeros_like(tie)

    def derivative(self, tie: Floats) -> Floats:
        """Derivative of `log_density`."""
        return np.zeros_like(tie)

    def second_derivative(self, tie: Floats) -> Floats:
        """Second derivative of `log_density`."""
        return np.zeros_like(tie)

    def sample(self, rng: Generator) -> float:
        """A draw of δ."""
        return float(rng.uniform(self.low, self.high))

    @property
    def log_normaliser(self) -> float:
        """The constant that `log_density` leaves out."""
        return -log(self.high - self.low)
