"""The phase of a study, kept in memory so that not every page asks the database."""

from __future__ import annotations

import time
from collections.abc import Callable

from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.values import Phase

SECONDS = 1.0


class PhaseCache:
    """The phase of a study, read at most once a second."""

    def __init__(self, store: ResearcherStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._entry: tuple[float, Phase] | None = None

    def phase(self) -> Phase:
        """The phase; at most a second old."""
        entry, at = self._entry, self._clock()
        if entry is None or at - entry[0] >= SECONDS:
            entry = self._entry = (at, self._store.phase())
        return entry[1]

    def invalidate(self) -> None:
        """Read it again next time, as after a change."""
        self._entry = None
