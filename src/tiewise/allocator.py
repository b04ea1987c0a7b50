"""Memory: large arrays given back to the system (glibc), and how often garbage is looked for."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

MATRICES = range(500, 2_000)
"""Numbers of items of which matrices are held, each of megabytes."""
LARGE_ARRAY = 2**20
"""Bytes from which on an array has memory of its own, which is no longer than it."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
YOUNG_OBJECTS = 10_000
"""New objects after which Python looks for garbage among them, while it does so rarely."""


def give_back_matrices(items: int) -> None:
    """From now on give freed arrays back at once where a model has matrices of so many items.

    By itself glibc keeps them, once it has seen a few, and they leave holes between others.
    """
    library = _glibc() if items in MATRICES else None
    if library is not None:
        library.mallopt(M_MMAP_THRESHOLD, LARGE_ARRAY)
        library.mallopt(M_TRIM_THRESHOLD, 2 * LARGE_ARRAY)
    give_back_free(items)


def give_back_free(items: int) -> None:
    """Give back at once what is free now, where a model has matrices of so many items."""
    library = _glibc() if items in MATRICES else None
    if library is not None:
        library.malloc_trim(0)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for garbage rarely while the block runs: for commands that load much and end soon.

    Imported libraries and pictures are hundreds of thousands of objects, none of them garbage.
    """
    before = gc.get_threshold()
    gc.set_threshold(YOUNG_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def first_import(module: str) -> Iterator[None]:
    """Import `module` in the block: no garbage is looked for, and never among what is there then.

    Where it was imported before, nothing is done.
    """
    if module in sys.modules or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@cache
def _glibc() -> Any | None:
    """The C library, if it is glibc."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") else None
