"""Priors of the two scalars: the common variance α² and the tie threshold δ.

Those of α² are densities of a = log α, in which every engine moves. Those of δ have a log density
and its first two derivatives in δ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.errors import InputError

Floats = NDArray[np.float64]


class VariancePrior(ABC):
    """A prior of α², as a density of a = log α."""

    kind: ClassVar[str] = ""
    """Its name on the command line and in results; empty for one that has none."""
    numbers: ClassVar[str] = ""
    """What its numbers are, in the words of the report."""
    power: ClassVar[int] = 2
    """The power of α whose density is stated."""

    @abstractmethod
    def log_density(self, a: Floats) -> Floats:
        """Log density of a = log α, up to a constant."""

    @abstractmethod
    def derivative(self, a: Floats) -> Floats:
        """Derivative of `log_density`."""

    @abstractmethod
    def sample(self, rng: Generator) -> float:
        """A draw of α²."""

    @property
    def log_normaliser(self) -> float | None:
        """The constant that `log_density` leaves out; None where it is not known."""
        return None


class TiePrior(ABC):
    """A prior of δ on (low, high)."""

    kind: ClassVar[str] = ""
    """Its name on the command line and in results; empty for one that has none."""
    numbers: ClassVar[str] = ""
    """What its numbers are, in the words of the report."""

    @property
    def low(self) -> float:
        """Lower end of the support."""
        return 0.0

    @property
    def high(self) -> float:
        """Upper end of the support, perhaps ∞."""
        return np.inf

    @abstractmethod
    def log_density(self, tie: Floats) -> Floats:
        """Log density of δ, up to a constant."""

    @abstractmethod
    def derivative(self, tie: Floats) -> Floats:
        """Derivative of `log_density`."""

    @abstractmethod
    def second_derivative(self, tie: Floats) -> Floats:
        """Second derivative of `log_density`."""

    @abstractmethod
    def sample(self, rng: Generator) -> float:
        """A draw of δ."""

    @property
    def log_normaliser(self) -> float | None:
        """The constant that `log_density` leaves out; None where it is not known."""
        return None


def require_positive(**values: float) -> None:
    """Refuse numbers of a prior that are not positive; each is named by its keyword."""
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name} must be a positive number, not {value!r}")
