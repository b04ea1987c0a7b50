"""Whether judges may judge, known to a web process without asking for every page."""

from __future__ import annotations

import time
from collections.abc import Callable

from tiewise.study.researcher_store import Ledger, Phase

SECONDS = 1.0


class Doors:
    """The phase of a study, asked for at most once a second."""

    def __init__(self, ledger: Ledger, clock: Callable[[], float] = time.monotonic) -> None:
        self._ledger, self._clock = ledger, clock
        self._known: tuple[float, Phase] | None = None

    def phase(self) -> Phase:
        """The phase, as it was a second ago at the earliest."""
        known, at = self._known, self._clock()
        if known is None or at - known[0] >= SECONDS:
            known = self._known = (at, self._ledger.phase())
        return known[1]

    def look_again(self) -> None:
        """Somebody changed it here: ask anew."""
        self._known = None
