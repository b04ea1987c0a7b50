"""Whether a study was erased while its site runs, which has its items in memory."""

from __future__ import annotations

import time
from collections.abc import Callable

from tiewise.study.connection import Database, now
from tiewise.study.retention.reminder import erased_at

SECONDS = 1.0


class ErasureWatch:
    """Looks at most once a second whether a study was erased, by whichever process."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._clock = database, clock
        self._since, self._read_at, self._erased = now(), float("-inf"), False

    def is_erased(self) -> bool:
        """Whether the study was erased since this began; at most a second old."""
        if not self._erased and self._clock() - self._read_at >= SECONDS:
            self._read_at, moment = self._clock(), erased_at(self._database)
            self._erased = moment is not None and moment >= self._since
        return self._erased

    def invalidate(self) -> None:
        """Look again next time, as after an erasure."""
        self._read_at = float("-inf")
