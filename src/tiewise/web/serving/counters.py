"""Counts of requests and connections, in memory that all workers of a site share.

Each worker adds to a slot of its own; a total is the sum over slots. A worker that ends leaves its
counts behind, and the next one goes on with them.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from mmap import mmap
from pathlib import Path

from tiewise.web.serving.options import serving_options

KINDS = ("judge", "answer", "researcher", "api", "file", "health", "unknown")
"""Kinds of requests; `request_kind` says which is which."""
STATUSES = ("1xx", "2xx", "3xx", "4xx", "5xx")
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, math.inf)
"""Upper ends of the histogram's classes, in seconds."""
CUT_OFF = (
    "bad_request", "headers_too_large", "headers_too_slow", "body_too_large", "body_too_slow",
    "response_not_read",
)  # fmt: skip
"""Why a connection was ended before its request was answered."""
PROCESS, CONNECTIONS, REFUSED = "process", "connections", "connections_refused"
NAMES = (
    PROCESS, CONNECTIONS, REFUSED, *CUT_OFF,
    *(f"{kind} {status}" for kind in KINDS for status in STATUSES),
    *(f"{kind} {bucket}" for kind in KINDS for bucket in BUCKETS),
    *(f"{kind} seconds" for kind in KINDS),
)  # fmt: skip
INDEX = {name: place for place, name in enumerate(NAMES)}
WIDTH = len(NAMES)


def request_kind(route: str | None) -> str:
    """The kind of a request, by the route that answered it; None where there was none."""
    if route is None:
        return "unknown"
    if route == "/answer":
        return "answer"
    part = route.split("/")[1].partition(".")[0]
    kinds = {"watch": "researcher", "sign-in": "researcher", "shared": "researcher", "api": "api",
             "static": "file", "image": "file", "map": "file", "health": "health"}  # fmt: skip
    return kinds.get(part, "judge")


class Counters:
    """The counts of all workers, and the slot to which this one adds."""

    def __init__(self, cells: memoryview[float], slot: int = 0) -> None:
        self._cells, self._start = cells, slot * WIDTH

    @classmethod
    def private(cls) -> Counters:
        """Counts of one process alone."""
        counters = cls(memoryview(bytearray(8 * WIDTH)).cast("d"))
        counters.set(PROCESS, os.getpid())
        return counters

    @classmethod
    def open(cls, path: str) -> Counters:
        """The counts in a shared file, to read."""
        with Path(path).open("r+b") as file:
            return cls(memoryview(mmap(file.fileno(), 0)).cast("d"))

    @classmethod
    def claim(cls, path: str) -> Counters:
        """The counts in a shared file, with a slot that no living worker has."""
        counters = cls.open(path)
        with _locked(path):
            for slot in range(len(counters._cells) // WIDTH):
                if not _is_alive(int(counters._cells[slot * WIDTH])):
                    counters._start = slot * WIDTH
                    counters.set(PROCESS, os.getpid())
                    counters.set(CONNECTIONS, 0)
                    return counters
        return cls.private()

    def add(self, name: str, amount: float = 1) -> None:
        """Add to a count of this worker."""
        self._cells[self._start + INDEX[name]] += amount

    def set(self, name: str, value: float) -> None:
        """Set a count of this worker."""
        self._cells[self._start + INDEX[name]] = value

    def total(self, name: str) -> float:
        """A count, summed over all workers."""
        return sum(self._cells[INDEX[name] :: WIDTH].tolist())

    def workers(self) -> int:
        """How many workers are alive."""
        return sum(map(_is_alive, map(int, self._cells[::WIDTH].tolist())))

    def record(self, kind: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.add(f"{kind} {STATUSES[min(max(status // 100, 1), 5) - 1]}")
        self.add(f"{kind} {next(bucket for bucket in BUCKETS if seconds <= bucket)}")
        self.add(f"{kind} seconds", seconds)


@cache
def shared_counters() -> Counters:
    """The counters of this process: a slot of the site's file, or its own memory."""
    path = serving_options().counters
    return Counters.claim(path) if path else Counters.private()


@contextmanager
def counters_file(workers: int) -> Iterator[str]:
    """A file of counts for so many workers, and for those that replace them."""
    descriptor, path = tempfile.mkstemp(prefix="tiewise-counts-")
    try:
        os.truncate(descriptor, 8 * WIDTH * (2 * workers + 2))
        os.close(descriptor)
        yield path
    finally:
        Path(path).unlink(missing_ok=True)


@contextmanager
def _locked(path: str) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows, where there is one worker
        yield
        return
    with Path(path).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_alive(process: int) -> bool:
    if process == 0:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
