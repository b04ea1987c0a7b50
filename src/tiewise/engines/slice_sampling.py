"""Slice sampling of one number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# A slice is stepped out, and tried, so many places at a time.
SLICE_STEPS, SLICE_TRIES, FARTHEST_STEP = 3, 8, 51


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
