"""Locks of the folders of a site: one for each study, and one for the names of all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import sleep

from tiewise.errors import InputError

BUSY = ".busy"
"""A file in the folder of a study that is locked while something takes long."""
POLL_SECONDS = 0.02


class StudyBusy(InputError):
    """Somebody else does something with the study that takes long."""


@contextmanager
def file_lock(folder: Path, *, long: bool = False) -> Iterator[None]:
    """A lock under which nobody else changes files of this study, or moves studies of this site.

    Who holds it for `long` is not waited for: others are refused, because every thread that waits
    is one fewer for all studies.
    """
    import fcntl

    with _busy(folder) if long else nullcontext():
        file = os.open(folder, os.O_RDONLY)
        try:
            while not _lock(file, fcntl.LOCK_EX):
                if not long and _is_busy(folder):
                    raise _refusal()
                sleep(POLL_SECONDS)
            yield
        finally:
            os.close(file)


@contextmanager
def _busy(folder: Path) -> Iterator[None]:
    import fcntl

    file = os.open(folder / BUSY, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if not _lock(file, fcntl.LOCK_EX):
            raise _refusal()
        yield
    finally:
        os.close(file)


def _is_busy(folder: Path) -> bool:
    import fcntl

    try:
        file = os.open(folder / BUSY, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _lock(file, fcntl.LOCK_SH)
    finally:
        os.close(file)


def _lock(file: int, how: int) -> bool:
    import fcntl

    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _refusal() -> StudyBusy:
    return StudyBusy(
        "somebody else exports the answers of this study, to delete it or to set a pilot apart, or "
        "adds an item with a file; try again in a minute"
    )
