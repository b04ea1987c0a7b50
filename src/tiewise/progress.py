"""Progress: how long work says how far it is, everywhere the same way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic

Progress = Callable[[str, int, int], None]
"""Called now and then with (what is being done, how much of it is done, of how much)."""


def no_progress(_what: str, _done: int, _total: int) -> None:
    """A progress report that nobody reads."""


FILE_VARIABLE = "TIEWISE_PROGRESS_FILE"
"""The environment variable that names a file into which a command says how far it is."""
SECONDS = 0.3


def progress_in_file(path: Path) -> Progress:
    """Progress that another process can read, a few times a second."""
    written = -SECONDS

    def write(what: str, done: int, total: int) -> None:
        nonlocal written
        if monotonic() - written >= SECONDS:
            written = monotonic()
            path.write_text(f"{what}, {100 * done // max(total, 1)} %", encoding="utf-8")

    return write


class ProgressCounter:
    """Progress of several chains as one number; also how an interrupted run stops its chains."""

    def __init__(self, progress: Progress, what: str, total: int) -> None:
        self._progress, self._what, self._total = progress, what, total
        self._done, self._lock, self.stopped = 0, threading.Lock(), threading.Event()

    def step(self, count: int = 1) -> None:
        """One more step is done; raises if the run was interrupted meanwhile."""
        if self.stopped.is_set():
            raise KeyboardInterrupt
        with self._lock:
            self._done += count
            self._progress(self._what, self._done, self._total)
