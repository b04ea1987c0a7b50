"""When the live worker makes a full picture, and when a quick one: where full ones take long."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

QUICK_ABOVE = 2.5
"""Seconds of a full picture above which quick ones are made while judgements arrive."""
MANY_ITEMS = 400
"""Items from which the first picture is a quick one: how long a full one takes is not known yet."""
PAUSE = 4.0
"""Seconds without a judgement after which a full picture is made."""
FULL_EVERY = 40.0
"""While they never pause, one after so many times as long as it takes."""
REST, REST_OF_QUICK = 1.0, 0.25
"""Rest after a picture, as a multiple of the time it took, to leave the cores to others."""


JUDGES_EVERY = 15.0
"""Seconds between figures of judges, where pictures are quick."""


class Rhythm:
    """Chooses between full and quick pictures of one fit."""

    def __init__(self, items: int, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._full_seconds = float("inf") if items >= MANY_ITEMS else 0.0
        self._full_at = clock()
        self._last_quick, self._quick_seconds, self._judges_at = False, 0.0, float("-inf")

    def quick(self) -> bool:
        """Whether the next picture is a quick one."""
        if self._full_seconds <= QUICK_ABOVE:
            return False
        return self._clock() < self._full_at + FULL_EVERY * self._full_seconds

    def judges_due(self, *, quick: bool) -> bool:
        """Whether figures of judges are made with this picture."""
        if quick and self._clock() < self._judges_at + max(JUDGES_EVERY, 10 * self._quick_seconds):
            return False
        self._judges_at = self._clock()
        return True

    def made(self, seconds: float, *, quick: bool) -> None:
        """A picture was made, in so many seconds."""
        self._last_quick = quick
        if quick:
            self._quick_seconds = seconds
        else:
            self._full_seconds, self._full_at = seconds, self._clock()

    def owes_full(self, idle_seconds: float) -> bool:
        """Whether it is time for a full picture of what a quick one was made of."""
        return self._last_quick and idle_seconds >= PAUSE

    def rest(self, seconds: float) -> float:
        """How long to rest after a picture that took so long."""
        return seconds * (REST_OF_QUICK if self._last_quick else REST)
