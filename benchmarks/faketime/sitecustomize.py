"""Python's sleep under libfaketime 0.9.10, which answers EINVAL to an absolute time to wake up.

Python 3.11 sleeps until such a time; waiting for a lock does not, and lasts as long.
"""

from __future__ import annotations

import _thread
import time


def sleep(seconds: float) -> None:
    """Wait for a lock that nobody gives back."""
    lock = _thread.allocate_lock()
    lock.acquire()
    lock.acquire(True, max(seconds, 0))


time.sleep = sleep
