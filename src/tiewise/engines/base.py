"""The interface of an engine, and the draws that it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.progress import Progress

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Draws:
    """The result of an engine.

    `quality` is (chains, draws, items); `tie` and `variance` are (chains, draws). `terms` has the
    parameters of the model's terms by name, each (chains, draws, ...). A point engine returns one
    draw, with standard errors where it has them.

    `stats` are numbers per draw, `facts` numbers and words per run. `superchains` is the number of
    independent starts where several chains share each (nested R-hat). `warm_start` may be passed
    to the same engine as `start` when the data have changed a little.
    """

    quality: Floats
    tie: Floats
    variance: Floats
    terms: Mapping[str, Floats] = field(default_factory=dict)
    stats: Mapping[str, Floats] = field(default_factory=dict)
    facts: Mapping[str, str | int | float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    build_seconds: float = 0.0
    superchains: int | None = None
    warm_start: object = None
    standard_error: Floats | None = None
    tie_standard_error: float | None = None


class Engine(Protocol):
    """A method of computing a model's posterior: a value that carries its own settings."""

    @property
    def name(self) -> str:
        """Its name on the command line."""

    @property
    def kind(self) -> str:
        """`exact`, `approximate` or `point`."""

    def run(self, model: BradleyTerry, seed: SeedSequence, progress: Progress) -> Draws:
        """Draws from the model's posterior, the same for the same seed."""


class EngineUnsuitable(Exception):
    """Raised by an engine that cannot sample a model well: the reason, and what to use instead."""

    def __init__(self, reason: str, fallback: Engine | None = None) -> None:
        super().__init__(reason)
        self.fallback = fallback


def refuse_terms(model: BradleyTerry, engine: Engine) -> None:
    """Raise InputError if the model has terms, for engines that support the plain model only."""
    if model.terms:
        kinds = ", ".join(type(term).__name__ for term in model.terms)
        raise InputError(
            f"{engine.name} cannot explore a model with {kinds}; leave the engine out, or use "
            "transport"
        )
