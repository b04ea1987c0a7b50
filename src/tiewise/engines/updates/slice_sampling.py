"""Slice sampling of one number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Points per call when a slice is stepped out and when it is sampled, and the most steps out.
STEPS_PER_CALL, TRIES_PER_CALL, MAX_STEPS = 3, 8, 51


def slice_draw(
    log_density: Callable[[Floats], Floats], current: float, width: float, rng: Generator
) -> float:
    """One slice-sampling update of a number (Neal 2003: stepping out, then shrinking).

    `log_density` takes many points at once, which costs hardly more than one.
    """
    left = current - width * rng.uniform()
    steps = width * np.arange(STEPS_PER_CALL, dtype=np.float64)
    known = log_density(np.concatenate([[current], left - steps, left + width + steps]))
    floor = float(known[0]) - rng.exponential()
    if not floor > -np.inf:
        raise FloatingPointError("a slice starts where the density is positive")
    lower, upper = known[1 : STEPS_PER_CALL + 1] <= floor, known[STEPS_PER_CALL + 1 :] <= floor
    out = _first_below(log_density, upper, left + width, width, floor)
    right = left + width * (1 + out)
    left -= width * _first_below(log_density, lower, left, -width, floor)
    while True:
        # Uniform over the first bracket, so uniform over the shrunken one if inside it.
        tries = rng.uniform(left, right, size=TRIES_PER_CALL)
        for new, value in zip(tries, log_density(tries), strict=True):
            if not left < new < right:
                continue
            if value > floor:
                return float(new)
            left, right = (new, right) if new < current else (left, new)


def _first_below(
    log_density: Callable[[Floats], Floats],
    below: NDArray[np.bool_],
    end: float,
    step: float,
    floor: float,
) -> int:
    """Number of steps out from `end` to the first density below the floor.

    `below` has the answers for the first steps.
    """
    if below.any():
        return int(np.argmax(below))
    for out in range(STEPS_PER_CALL, MAX_STEPS, STEPS_PER_CALL):
        farther = np.arange(out, out + STEPS_PER_CALL, dtype=np.float64)
        below = log_density(end + step * farther) <= floor
        if below.any():
            return out + int(np.argmax(below))
    return MAX_STEPS
