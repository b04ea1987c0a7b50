"""Priors of the two scalars: the common variance α² and the tie threshold δ.

Those of α² speak through a = log α, so that inverse-gamma and half-normal look alike to every
engine. Those of δ give log density, slope and curvature in δ; `Threshold` lays their support out
along a line for engines to move on.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, is_dataclass
from typing import NamedTuple, Protocol, TypeVar

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

    value: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.value) and self.value >= 0):
            raise InputError(f"a fixed value is 0 or more, not {self.value!r}")

    def sample(self, rng: Generator) -> float:
        """The value."""
        return self.value


class VariancePrior(Protocol):
    """Belief about α², spoken of through a = log α."""

    def log_density(self, a: Floats) -> Floats:
        """Log density of a, up to a constant."""

    def slope(self, a: Floats) -> Floats:
        """Derivative of `log_density`."""

    def sample(self, rng: Generator) -> float:
        """A draw of α²."""


@dataclass(frozen=True)
class InverseGamma:
    """α² ~ inverse gamma; the default of the paper is shape = scale = 0.01."""

    shape: float = 0.01
    scale: float = 0.01

    def __post_init__(self) -> None:
        _positive(shape=self.shape, scale=self.scale)

    def log_density(self, a: Floats) -> Floats:
        """Log density of a = log α, up to a constant."""
        return -2 * self.shape * a - self.scale * np.exp(-2 * a)

    def slope(self, a: Floats) -> Floats:
        """Derivative of `log_density`."""
        out: Floats = -2 * self.shape + 2 * self.scale * np.exp(-2 * a)
        return out

    def sample(self, rng: Generator) -> float:
        """A draw of α²."""
        return self.scale / float(rng.gamma(self.shape))


@dataclass(frozen=True)
class HalfNormalSpread:
    """α (the spread of qualities, not its square) ~ half-normal."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        _positive(scale=self.scale)

    def log_density(self, a: Floats) -> Floats:
        """Log density of a = log α, up to a constant."""
        out: Floats = a - np.exp(2 * a) / (2 * self.scale**2)
        return out

    def slope(self, a: Floats) -> Floats:
        """Derivative of `log_density`."""
        out: Floats = 1 - np.exp(2 * a) / self.scale**2
        return out

    def sample(self, rng: Generator) -> float:
        """A draw of α²."""
        return float(self.scale * rng.normal()) ** 2


@dataclass(frozen=True)
class _TiePrior:
    """Belief about δ on (low, high)."""

    @property
    def low(self) -> float:
        """Lower end of the support."""
        return 0.0

    @property
    def high(self) -> float:
        """Upper end of the support, perhaps ∞."""
        return np.inf

    def log_density(self, tie: Floats) -> Floats:
        """Log density of δ, up to a constant."""
        raise NotImplementedError  # pragma: no cover

    def slope(self, tie: Floats) -> Floats:
        """Derivative of `log_density`."""
        raise NotImplementedError  # pragma: no cover

    def bend(self, tie: Floats) -> Floats:
        """Second derivative of `log_density`."""
        raise NotImplementedError  # pragma: no cover

    def sample(self, rng: Generator) -> float:
        """A draw of δ."""
        raise NotImplementedError  # pragma: no cover


@dataclass(frozen=True)
class Exponential(_TiePrior):
    """δ ~ exponential; the default of the paper is rate 0.01."""

    rate: float = 0.01

    def __post_init__(self) -> None:
        _positive(rate=self.rate)

    def log_density(self, tie: Floats) -> Floats:
        """Log density of δ, up to a constant."""
        return -self.rate * tie

    def slope(self, tie: Floats) -> Floats:
        """Derivative of `log_density`."""
        return np.full_like(tie, -self.rate)

    def bend(self, tie: Floats) -> Floats:
        """Second derivative of `log_density`."""
        return np.zeros_like(tie)

    def sample(self, rng: Generator) -> float:
        """A draw of δ."""
        return float(rng.exponential(1 / self.rate))


@dataclass(frozen=True)
class Gamma(_TiePrior):
    """δ ~ gamma with this shape and rate."""

    shape: float
    rate: float

    def __post_init__(self) -> None:
        _positive(shape=self.shape, rate=self.rate)

    def log_density(self, tie: Floats) -> Floats:
        """Log density of δ, up to a constant."""
        out: Floats = (self.shape - 1) * np.log(tie) - self.rate * tie
        return out

    def slope(self, tie: Floats) -> Floats:
        """Derivative of `log_density`."""
        return (self.shape - 1) / tie - self.rate

    def bend(self, tie: Floats) -> Floats:
        """Second derivative of `log_density`."""
        return -(self.shape - 1) / tie**2

    def sample(self, rng: Generator) -> float:
        """A draw of δ."""
        return float(rng.gamma(self.shape, 1 / self.rate))


@dataclass(frozen=True)
class HalfNormal(_TiePrior):
    """δ ~ half-normal with this scale."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        _positive(scale=self.scale)

    def log_density(self, tie: Floats) -> Floats:
        """Log density of δ, up to a constant."""
        return -(tie**2) / (2 * self.scale**2)

    def slope(self, tie: Floats) -> Floats:
        """Derivative of `log_density`."""
        return -tie / self.scale**2

    def bend(self, tie: Floats) -> Floats:
        """Second derivative of `log_density`."""
        return np.full_like(tie, -1 / self.scale**2)

    def sample(self, rng: Generator) -> float:
        """A draw of δ."""
        return float(abs(self.scale * rng.normal()))


@dataclass(frozen=True)
class Uniform(_TiePrior):
    """δ ~ uniform between `low` and `high`."""

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

    def slope(self, tie: Floats) -> Floats:
        """Derivative of `log_density`."""
        return np.zeros_like(tie)

    def bend(self, tie: Floats) -> Floats:
        """Second derivative of `log_density`."""
        return np.zeros_like(tie)

    def sample(self, rng: Generator) -> float:
        """A draw of δ."""
        return float(rng.uniform(self.low, self.high))


TiePrior = _TiePrior


class OnLine(NamedTuple):
    """δ at a point t of the line, with what a change of variable needs."""

    tie: Floats
    by_t: Floats
    by_t_twice: Floats
    log_stretch: Floats
    log_stretch_by_t: Floats
    log_stretch_by_t_twice: Floats


@dataclass(frozen=True)
class Threshold:
    """A prior of δ with its support laid out along a line, so that engines may move freely.

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

    def slope(self, tie: Floats) -> Floats:
        """Derivative of `log_density`."""
        return self.prior.slope(tie)

    def bend(self, tie: Floats) -> Floats:
        """Second derivative of `log_density`."""
        return self.prior.bend(tie)

    def to_line(self, tie: float) -> float:
        """The line coordinate t of δ."""
        up = tie - self.low
        if np.isinf(self.high):
            return float(up / self.unit + np.log(-np.expm1(-up / self.unit)))
        return float(np.log(up) - np.log(self.high - tie))

    def from_line(self, t: Floats) -> OnLine:
        """δ at t, its derivatives, and the log Jacobian with its own."""
        fall = np.exp(-np.abs(t))
        part = np.where(t > 0, 1.0, fall) / (1 + fall)
        rest = np.where(t > 0, fall, 1.0) / (1 + fall)
        log_part, log_rest = np.minimum(t, 0) - np.log1p(fall), -np.maximum(t, 0) - np.log1p(fall)
        if np.isinf(self.high):
            return OnLine(
                self.low - self.unit * log_rest, self.unit * part, self.unit * part * rest,
                np.log(self.unit) + log_part, rest, -part * rest,
            )  # fmt: skip
        width = self.high - self.low
        by_t = width * part * rest
        return OnLine(
            self.low + width * part, by_t, by_t * (rest - part),
            np.log(width) + log_part + log_rest, rest - part, -2 * part * rest,
        )  # fmt: skip


VARIANCE_PRIORS: dict[str, Callable[..., VariancePrior | Fixed]] = {
    "inverse-gamma": InverseGamma,
    "half-normal": HalfNormalSpread,
    "fixed": Fixed,
}
TIE_PRIORS: dict[str, Callable[..., TiePrior | Fixed]] = {
    "exponential": Exponential,
    "gamma": Gamma,
    "half-normal": HalfNormal,
    "uniform": Uniform,
    "fixed": Fixed,
}

Kind = TypeVar("Kind")


def spoken(text: str, kinds: Mapping[str, Callable[..., Kind]]) -> Kind:
    """A prior from words such as `gamma(2, 3)`."""
    said = re.fullmatch(r"\s*([a-z-]+)\s*(?:\(([^()]*)\))?\s*", text.lower())
    known = ", ".join(kinds)
    if said is None or said[1] not in kinds:
        raise InputError(f"{text!r} names no prior; say one of {known}, as in 'name(1, 2)'")
    try:
        numbers = [float(part) for part in (said[2] or "").split(",") if part.strip()]
        return kinds[said[1]](*numbers)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        takes = ", ".join(inspect.signature(kinds[said[1]]).parameters)
        raise InputError(f"{text!r}: {said[1]} takes numbers, ({takes})") from None


def say(prior: VariancePrior | TiePrior | Fixed) -> str:
    """A prior in the words that `spoken` understands; its repr where there are none."""
    both: list[tuple[str, object]] = [*VARIANCE_PRIORS.items(), *TIE_PRIORS.items()]
    name = next((name for name, kind in both if type(prior) is kind), None)
    if name is None or not is_dataclass(prior):
        return repr(prior)
    return f"{name}({', '.join(f'{number:g}' for number in astuple(prior))})"
