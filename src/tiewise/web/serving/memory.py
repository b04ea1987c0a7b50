"""Memory of a process that runs for weeks: freed memory goes back to the system.

glibc gives each thread an arena of its own and keeps what is freed in it. Forty threads that each
read the answers of a judge left forty arenas with holes, and the site grew for as long as judges
went on. Elsewhere than on glibc, nothing is done here.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from functools import cache
from threading import Event, Thread
from typing import Any, TypeVar

T = TypeVar("T")

ARENAS = 1
"""Python runs one thread at a time, so that more of them gain little."""
TRIM_THRESHOLD = 128 * 1024
"""Bytes at the end of an arena from which they are given back at once; it would grow by itself."""
TRIM_SECONDS = 30.0
THREADS = 12
"""Requests answered at once: the others would wait for a connection to the database anyway."""
M_TRIM_THRESHOLD, M_ARENA_MAX = -1, -8


def one_arena() -> bool:
    """Have the threads of this process share one arena; False where that cannot be set."""
    libc = _glibc()
    if libc is None:
        return False
    libc.mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD)
    return bool(libc.mallopt(M_ARENA_MAX, ARENAS) == 1)


def few_threads() -> None:
    """Answer so many requests at once and no more; from within the event loop."""
    from anyio.to_thread import current_default_thread_limiter

    current_default_thread_limiter().total_tokens = THREADS


def release() -> None:
    """Give memory back that is free."""
    libc = _glibc()
    if libc is not None:
        libc.malloc_trim(0)


def collect_and_release() -> None:
    """Free what only refers to itself, as the tree of a posterior does, and give it back."""
    gc.collect()
    release()


def freeze() -> None:
    """Leave all that is there now out of later searches for garbage.

    Looking through the libraries of the site takes a tenth of a second, in which nobody is
    answered; requests leave enough behind to have it done every few seconds.
    """
    gc.collect()
    gc.freeze()


class MemoryRelease(Thread):
    """Gives free memory back every half minute, while the process runs.

    The first time it also freezes what requests have loaded and drawn until then.
    """

    def __init__(self, seconds: float = TRIM_SECONDS) -> None:
        super().__init__(name="memory", daemon=True)
        self._seconds, self._ended = seconds, Event()

    def run(self) -> None:
        """Give it back until it is stopped."""
        if not self._ended.wait(self._seconds):
            freeze()
            release()
        while not self._ended.wait(self._seconds):
            release()

    def stop(self) -> None:
        """End it."""
        self._ended.set()
        self.join()


@cache
def _glibc() -> Any:
    """The C library, where it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    has_both = hasattr(library, "gnu_get_libc_version") and hasattr(library, "malloc_trim")
    return library if has_both else None


async def in_own_thread(work: Callable[[], T]) -> T:
    """What comes of work in a thread beside those of requests: of these, all may wait for it."""
    from anyio import CapacityLimiter
    from anyio.to_thread import run_sync

    return await run_sync(work, limiter=CapacityLimiter(1))
