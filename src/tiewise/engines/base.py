"""The interface of an engine, and the draws that it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from tiewise.engines.stored_draws import StoredDraws, is_stored
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.progress import Progress

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Draws:
    """The result of an engine.

    `quality` is (chains, draws, items); `tie` and `variance` are (chains, draws). `terms` has the
    parameters of the model's terms by name, each (chains, draws, ...). A point engine returns one
    draw, with standard errors where it has them. `level` is None where qualities are as sampled,
    and what was subtracted from those of each draw where they are `centred`.

    `stats` are numbers per draw, `facts` numbers and words per run. `superchains` is the number of
    independent starts where several chains share each (nested R-hat). `warm_start` may be passed
    to the same engine as `start` when the data have changed a little.

    `more` continues the same chains without a warm-up: `more(each, thin, progress)` are the next
    `each` draws of every chain, each the last of `thin` times as many steps; its facts are of the
    whole run. None where an engine cannot be continued.

    Of very many items these are only some of the draws, evenly spaced and in single precision, and
    `stored` has all of them; None where these are all.
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
    cut_standard_error: Floats | None = None
    level: Floats | None = None
    stored: StoredDraws | None = field(default=None, repr=False, compare=False)
    more: Callable[[int, int, Progress], Draws] | None = field(
        default=None, repr=False, compare=False
    )

    @property
    def whole(self) -> Draws | StoredDraws:
        """All draws, in memory or stored."""
        return self if self.stored is None else self.stored

    def on_disk(self) -> Draws:
        """These draws stored where they are of very many items, and then only some in memory."""
        if self.stored is not None or not is_stored(self.quality.shape[-1], self.terms):
            return self
        stored = StoredDraws.of(self.quality, self.tie, self.variance, self.terms, self.stats)
        return replace(self, **stored.kept())

    def centred(self, *, in_place: bool = False) -> Draws:
        """These draws with qualities, and contrasts of groups, less their mean over items.

        With `in_place` qualities are overwritten: a copy of a thousand items' draws is large.
        """
        if self.level is not None:
            return self
        level = self.quality.mean(axis=-1)
        terms = dict(self.terms)
        if "contrast" in terms:
            # Only differences between items enter, as with quality.
            terms["contrast_level"] = terms["contrast"].mean(axis=-1)
            terms["contrast"] = terms["contrast"] - terms["contrast_level"][..., None]
        out = self.quality if in_place else None
        quality = np.subtract(self.quality, level[..., None], out=out)
        return replace(self, quality=quality, level=level, terms=terms)

    def joined(self, later: Draws) -> Draws:
        """These draws followed by later ones of the same chains, with the facts of the latter."""
        if self.stored is not None and later.stored is not None:
            stored = self.stored.joined(later.stored)
            return replace(later, **stored.kept(), warnings=self.warnings)

        def join(one: Floats, two: Floats | None) -> Floats:
            assert two is not None
            return np.concatenate([one, two], axis=1)

        return replace(
            later,
            quality=join(self.quality, later.quality),
            level=None if self.level is None else join(self.level, later.level),
            tie=join(self.tie, later.tie),
            variance=join(self.variance, later.variance),
            terms={name: join(own, later.terms[name]) for name, own in self.terms.items()},
            stats={name: join(own, later.stats[name]) for name, own in self.stats.items()},
            warnings=self.warnings,
        )

    def every_second(self) -> Draws:
        """Every second draw of each chain."""
        if self.stored is not None:
            return replace(self, **self.stored.every_second().kept())
        return replace(
            self,
            quality=np.ascontiguousarray(self.quality[:, 1::2]),
            level=None if self.level is None else self.level[:, 1::2],
            tie=self.tie[:, 1::2],
            variance=self.variance[:, 1::2],
            terms={name: own[:, 1::2] for name, own in self.terms.items()},
            stats={name: own[:, 1::2] for name, own in self.stats.items()},
        )


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
    """Raise InputError if the model has terms, for engines of models without."""
    if model.terms:
        kinds = ", ".join(type(term).__name__ for term in model.terms)
        raise InputError(
            f"{engine.name} cannot explore a model with {kinds}; leave the engine out, or use "
            "transport"
        )
