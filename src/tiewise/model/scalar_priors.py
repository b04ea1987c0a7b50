"""Priors of the two scalars: the common variance α² and the tie threshold δ.

Those of α² are densities of a = log α, in which every engine moves. Those of δ have a log density
and its first two derivatives in δ. The registries at the end name each for the command line.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from math import lgamma, log, pi
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.errors import InputError

Floats = NDArray[np.float64]


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name} must be a positive number, not {value!r}")


@dataclass(frozen=True)
class Fixed:
    """Known, not inferred: α² or δ set to a value."""

    kind: ClassVar[str] = "fixed"

    value: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.value) and self.value >= 0):
            raise InputError(f"a fixed value is 0 or more, not {self.value!r}")

    def sample(self, rng: Generator) -> float:
        """The value."""
        return self.value


class VariancePrior(ABC):
    """A prior of α², as a density of a = log α."""

    kind: ClassVar[str] = ""
    """Its name on the command line and in results; empty for one that has none."""
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


@dataclass(frozen=True)
class InverseGamma(VariancePrior):
    """α² ~ inverse gamma; the default of the paper is shape = scale = 0.01."""

    kind: ClassVar[str] = "inverse-gamma"

    shape: float = 0.01
    scale: float = 0.01

    def __post_init__(self) -> None:
        _positive(shape=self.shape, scale=self.scale)

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


@dataclass(frozen=True)
class HalfNormalSpread(VariancePrior):
    """α (the spread of qualities, not its square) ~ half-normal."""

    kind: ClassVar[str] = "half-normal"
    power: ClassVar[int] = 1

    scale: float = 1.0

    def __post_init__(self) -> None:
        _positive(scale=self.scale)

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


class TiePrior(ABC):
    """A prior of δ on (low, high)."""

    kind: ClassVar[str] = ""
    """Its name on the command line and in results; empty for one that has none."""

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


@dataclass(frozen=True)
class Exponential(TiePrior):
    """δ ~ exponential; the default of the paper is rate 0.01."""

    kind: ClassVar[str] = "exponential"

    rate: float = 0.01

    def __post_init__(self) -> None:
        _positive(rate=self.rate)

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


@dataclass(frozen=True)
class Gamma(TiePrior):
    """δ ~ gamma with this shape and rate."""

    kind: ClassVar[str] = "gamma"

    shape: float
    rate: float

    def __post_init__(self) -> None:
        _positive(shape=self.shape, rate=self.rate)

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


@dataclass(frozen=True)
class HalfNormal(TiePrior):
    """δ ~ half-normal with this scale."""

    kind: ClassVar[str] = "half-normal"

    scale: float = 1.0

    def __post_init__(self) -> None:
        _positive(scale=self.scale)

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


@dataclass(frozen=True)
class Uniform(TiePrior):
    """δ ~ uniform between `low` and `high`."""

    kind: ClassVar[str] = "uniform"

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


DEFAULT_VARIANCE, DEFAULT_TIE, DEFAULT_STEP = (
    HalfNormalSpread(2.0),
    HalfNormal(1.0),
    HalfNormal(2.0),
)
"""Proper, and wide enough for real studies: docs/priors.md has what they predict."""
PAPER_VARIANCE, PAPER_TIE = InverseGamma(), Exponential()
"""The choices of the paper, which are next to improper."""

VARIANCE_PRIORS: dict[str, type[VariancePrior | Fixed]] = {
    prior.kind: prior for prior in (InverseGamma, HalfNormalSpread, Fixed)
}
TIE_PRIORS: dict[str, type[TiePrior | Fixed]] = {
    prior.kind: prior for prior in (Exponential, Gamma, HalfNormal, Uniform, Fixed)
}

ScalarPrior = VariancePrior | TiePrior | Fixed
Kind = TypeVar("Kind")


def require_variance_prior(prior: object, name: str = "variance") -> None:
    """Refuse what is no prior of a variance, such as a prior of δ."""
    if not isinstance(prior, VariancePrior | Fixed):
        mistake = "a prior of the tie threshold δ" if isinstance(prior, TiePrior) else "no prior"
        raise InputError(
            f"{name} is {prior!r}, which is {mistake}; give a prior of a variance, such as "
            "InverseGamma() or HalfNormalSpread(), or Fixed with a value"
        )


def require_tie_prior(prior: object, name: str = "tie") -> None:
    """Refuse what is no prior of δ, such as a prior of α²."""
    if prior is not None and not isinstance(prior, TiePrior | Fixed):
        mistake = "a prior of a variance" if isinstance(prior, VariancePrior) else "no prior"
        raise InputError(
            f"{name} is {prior!r}, which is {mistake}; give a prior of the tie threshold δ, such "
            "as Exponential() or HalfNormal(), Fixed with a value, or None for no ties"
        )


# Priors as data, and as the command writes them.


def prior_to_dict(prior: ScalarPrior) -> dict[str, Any]:
    """A prior as data: its kind and its numbers; of one without a kind, its repr as `text`."""
    if type(prior) not in (*VARIANCE_PRIORS.values(), *TIE_PRIORS.values()):
        return {"kind": "other", "text": repr(prior)}
    return {"kind": prior.kind, **asdict(cast("Any", prior))}


def prior_from_dict(facts: Mapping[str, Any], kinds: Mapping[str, type[Kind]]) -> Kind:
    """The prior that `prior_to_dict` was given."""
    if facts["kind"] not in kinds:
        raise InputError(_unknown(format_prior(facts), kinds))
    return kinds[facts["kind"]](**{name: facts[name] for name in facts if name != "kind"})


def format_prior(facts: Mapping[str, Any]) -> str:
    """A prior, given as data, as the command writes it, such as `gamma(2, 3)`."""
    if facts["kind"] == "other":
        return str(facts["text"])
    numbers = ", ".join(f"{value:g}" for name, value in facts.items() if name != "kind")
    return f"{facts['kind']}({numbers})"


def parse_prior(text: str, kinds: Mapping[str, type[Kind]]) -> Kind:
    """The prior that `format_prior` writes as this text."""
    match = re.fullmatch(r"\s*([a-z-]+)\s*(?:\(([^()]*)\))?\s*", text.lower())
    if match is None or match[1] not in kinds:
        raise InputError(_unknown(text, kinds))
    try:
        numbers = [float(part) for part in (match[2] or "").split(",") if part.strip()]
        return kinds[match[1]](*numbers)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        takes = ", ".join(inspect.signature(kinds[match[1]]).parameters)
        raise InputError(f"{text!r}: {match[1]} takes numbers, ({takes})") from None


def _unknown(text: str, kinds: Iterable[str]) -> str:
    return f"{text!r} names no prior; say one of {', '.join(kinds)}, as in 'name(1, 2)'"
