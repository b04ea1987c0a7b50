"""What every engine shares: draws, seeds, chains side by side, and a word on progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry

Floats = NDArray[np.float64]
Result = TypeVar("Result")
Thing = TypeVar("Thing")

# A slice is stepped out, and tried, so many places at a time.
SLICE_STEPS, SLICE_TRIES, FARTHEST_STEP = 3, 8, 51

Watch = Callable[[str, int, int], None]
"""Told (what is being done, how much of it is done, of how much) now and then."""


def unwatched(_what: str, _done: int, _total: int) -> None:
    """A watch nobody looks at."""


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

    def explore(self, model: BradleyTerry, seed: SeedSequence, watch: Watch) -> Draws:
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


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Leave the cores to our own threads: a BLAS that also wants them only gets in the way."""
    # SciPy brings a BLAS of its own, and only those already loaded can be limited.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield


def one_blas_thread_for_good() -> None:
    """The same for the rest of this process, whose threads would else undo it for each other."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")


class Tally:
    """Progress of several chains as one number; also how an interrupted run stops its chains."""

    def __init__(self, watch: Watch, what: str, total: int) -> None:
        self._watch, self._what, self._total = watch, what, total
        self._done, self._lock, self.stopped = 0, threading.Lock(), threading.Event()

    def step(self, count: int = 1) -> None:
        """One more step is done; raises if the run was interrupted meanwhile."""
        if self.stopped.is_set():
            raise KeyboardInterrupt
        with self._lock:
            self._done += count
            self._watch(self._what, self._done, self._total)


def side_by_side(
    run: Callable[[Generator, Tally], Result],
    seeds: Sequence[SeedSequence],
    tally: Tally,
    threads: int,
) -> list[Result]:
    """One result per seed, in the order of seeds, whatever the number of threads."""
    return in_threads(run, [np.random.default_rng(seed) for seed in seeds], tally, threads)


def in_threads(
    run: Callable[[Thing, Tally], Result], things: Sequence[Thing], tally: Tally, threads: int
) -> list[Result]:
    """One result per thing, in the order of things, whatever the number of threads."""
    with ThreadPoolExecutor(max_workers=threads) as pool:
        try:
            futures = [pool.submit(run, thing, tally) for thing in things]
            # Whichever fails first speaks; the others are not waited for, but stopped.
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
            return [future.result() for future in futures]
        except BaseException:
            tally.stopped.set()
            raise


def slice_draw(
    density: Callable[[Floats], Floats], here: float, width: float, rng: Generator
) -> float:
    """One slice-sampling update of a number (Neal 2003: stepping out, then shrinking).

    `density` gives log densities at many places at once, which costs hardly more than at one.
    """
    left = here - width * rng.uniform()
    steps = width * np.arange(SLICE_STEPS, dtype=np.float64)
    known = density(np.concatenate([[here], left - steps, left + width + steps]))
    floor = float(known[0]) - rng.exponential()
    if not floor > -np.inf:
        raise FloatingPointError("a slice starts where the density is positive")
    lower, upper = known[1 : SLICE_STEPS + 1] <= floor, known[SLICE_STEPS + 1 :] <= floor
    out = _first_below(density, upper, left + width, width, floor)
    right = left + width * (1 + out)
    left -= width * _first_below(density, lower, left, -width, floor)
    while True:
        # Uniform over the first bracket, so uniform over what is left of it if it lies there.
        tries = rng.uniform(left, right, size=SLICE_TRIES)
        for new, height in zip(tries, density(tries), strict=True):
            if not left < new < right:
                continue
            if height > floor:
                return float(new)
            left, right = (new, right) if new < here else (left, new)


def _first_below(
    density: Callable[[Floats], Floats],
    below: NDArray[np.bool_],
    end: float,
    step: float,
    floor: float,
) -> int:
    """How many steps out from `end` the density is first below the floor; `below` knows some."""
    if below.any():
        return int(np.argmax(below))
    for out in range(SLICE_STEPS, FARTHEST_STEP, SLICE_STEPS):
        farther = np.arange(out, out + SLICE_STEPS, dtype=np.float64)
        below = density(end + step * farther) <= floor
        if below.any():
            return out + int(np.argmax(below))
    return FARTHEST_STEP
