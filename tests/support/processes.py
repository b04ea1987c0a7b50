"""What the processes of the tests share, and what one of them does at a time."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """A folder of this run for all of its processes; with one process, its own."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@contextmanager
def one_process_at_a_time(lock: Path) -> Iterator[None]:
    """What only one of the processes of the tests does at a time."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def made_once(place: Path, make: Callable[[Path], object]) -> Path:
    """A folder that `make` fills: the first process that asks for it does, and others wait."""
    with one_process_at_a_time(place.with_name(f"{place.name}.lock")):
        if not place.exists():
            begun = place.with_name(f"{place.name}.begun")
            shutil.rmtree(begun, ignore_errors=True)
            begun.mkdir()
            make(begun)
            begun.rename(place)
    return place
