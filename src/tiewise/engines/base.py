"""What every engine is, and what it returns."""

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
    """What an engine found: qualities (chains, draws, items), threshold and variance beside them.

    A point engine has one draw, and `standard_error` per item where it knows one. `superchains`
    is the number of independent starts when several chains share each (nested R-hat), `spread`
    what an engine may start from when a little more has been judged. `more` is what the terms of a
    model have beyond quality, threshold and variance, each (chains, draws, ...).
    """

    quality: Floats
    tie: Floats
    variance: Floats
    more: Mapping[str, Floats] = field(default_factory=dict)
    stats: Mapping[str, Floats] = field(default_factory=dict)
    facts: Mapping[str, str | int | float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    build_seconds: float = 0.0
    superchains: int | None = None
    spread: object = None
    standard_error: Floats | None = None
    tie_standard_error: float | None = None


class Engine(Protocol):
    """A way to explore a model; a value that carries its own settings."""

    @property
    def name(self) -> str:
        """How the command line calls it."""

    @property
    def kind(self) -> str:
        """`exact`, `approximate` or `point`."""

    def run(self, model: BradleyTerry, seed: SeedSequence, progress: Progress) -> Draws:
        """Draws from the model's posterior, the same for the same seed."""


def refuse_terms(model: BradleyTerry, engine: Engine) -> None:
    """Say that an engine knows qualities and one threshold only, where a model has more."""
    if model.terms:
        kinds = ", ".join(type(term).__name__ for term in model.terms)
        raise InputError(
            f"{engine.name} cannot explore a model with {kinds}; leave the engine out, or use "
            "transport"
        )


class Unsuited(Exception):
    """An engine's word that it cannot explore this model well; the message says why."""
