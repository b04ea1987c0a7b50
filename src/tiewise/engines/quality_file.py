"""Qualities of very many items on disk: a temporary file of draws in single precision."""

from __future__ import annotations

import errno
import os
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from tiewise.errors import InputError

Singles = NDArray[np.float32]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
WIDTH = 4  # bytes of a number
BLOCK_NUMBERS = 4_000_000
"""Numbers read at once: 16 MB, or one draw of all chains."""


class QualityFile:
    """Rows of numbers (draws, chains, items) in a temporary file, which vanishes with this object.

    Read and written by plain calls at stated places, so that threads may share it; a mapped file
    would count as memory in use. It lies where `tempfile` puts it: TMPDIR chooses another disk.
    """

    def __init__(self, draws: int, chains: int, items: int) -> None:
        self.shape = (draws, chains, items)
        file = tempfile.TemporaryFile(prefix="tiewise-", buffering=0)  # noqa: SIM115
        weakref.finalize(self, file.close)
        self._number = file.fileno()
        with _disk_errors(self.bytes):
            _reserve(self._number, self.bytes)

    @property
    def bytes(self) -> int:
        """Its size."""
        return int(np.prod(self.shape)) * WIDTH

    def write(self, draw: int, chain: int, rows: Singles) -> None:
        """Put rows (chains, items) in their place: this draw of this chain and those after it."""
        _, chains, items = self.shape
        view = np.ascontiguousarray(rows, np.float32).data.cast("B")
        place = (draw * chains + chain) * items * WIDTH
        with _disk_errors(self.bytes):
            while view:
                written = os.pwrite(self._number, view, place)
                view, place = view[written:], place + written

    def rows(self, draw: int, stop: int) -> Singles:
        """All chains and items of these draws: (draws, chains, items)."""
        _, chains, items = self.shape
        out = np.empty((stop - draw, chains, items), np.float32)
        self._read(out.reshape(-1), draw * chains * items * WIDTH)
        return out

    def items(self, first: int, stop: int) -> Singles:
        """All draws and chains of these items: (draws, chains, items)."""
        draws, chains, items = self.shape
        out = np.empty((draws * chains, stop - first), np.float32)
        for k in range(len(out)):
            self._read(out[k], (k * items + first) * WIDTH)
        return out.reshape(draws, chains, -1)

    def _read(self, out: Singles, place: int) -> None:
        view = out.data.cast("B")
        while view:
            number = os.preadv(self._number, [view], place)
            if number <= 0:
                raise EOFError("the temporary file of draws is shorter than was written")
            view, place = view[number:], place + number


class StoredQualities:
    """Centred qualities of all draws, in one file or several that follow one another."""

    def __init__(self, *parts: QualityFile) -> None:
        self.parts = parts

    @property
    def chains(self) -> int:
        """Number of chains."""
        return self.parts[0].shape[1]

    @property
    def size(self) -> int:
        """Number of items."""
        return self.parts[0].shape[2]

    @property
    def draws(self) -> int:
        """Number of draws of each chain."""
        return sum(part.shape[0] for part in self.parts)

    def joined(self, later: StoredQualities) -> StoredQualities:
        """These, followed by later ones of the same chains."""
        return StoredQualities(*self.parts, *later.parts)

    def rows(self, draw: int, stop: int) -> Singles:
        """All chains and items of these draws: (draws, chains, items)."""
        pieces, begin = [], 0
        for part in self.parts:
            own = max(draw - begin, 0), min(stop - begin, part.shape[0])
            if own[0] < own[1]:
                pieces.append(part.rows(*own))
            begin += part.shape[0]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def items(self, first: int, stop: int) -> Singles:
        """All draws of these items: (chains, draws, items)."""
        pieces = [part.items(first, stop) for part in self.parts]
        whole = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        return np.ascontiguousarray(whole.transpose(1, 0, 2))

    def some_items(self, which: NDArray[np.int64]) -> Singles:
        """All draws of these items (chains, draws, items), in their order."""
        out = np.empty((self.chains, self.draws, len(which)), np.float32)
        for start, stop in self.draw_blocks():
            out[:, start:stop] = self.rows(start, stop)[..., which].transpose(1, 0, 2)
        return out

    def some_draws(self, which: NDArray[np.int64]) -> Singles:
        """These draws of all items: (chains, draws, items)."""
        out = np.empty((self.chains, len(which), self.size), np.float32)
        for k, draw in enumerate(which):
            out[:, k] = self.rows(int(draw), int(draw) + 1)[0]
        return out

    def every_second(self) -> StoredQualities:
        """Every second draw of each chain, in a file of its own."""
        kept = range(1, self.draws, 2)
        file = QualityFile(len(kept), self.chains, self.size)
        for k, draw in enumerate(kept):
            file.write(k, 0, self.rows(draw, draw + 1)[0])
        return StoredQualities(file)

    def draw_blocks(self, most: int = BLOCK_NUMBERS) -> Iterator[tuple[int, int]]:
        """Ranges of draws to be read together, at most so many numbers each."""
        step = max(most // (self.chains * self.size), 1)
        return ((k, min(k + step, self.draws)) for k in range(0, self.draws, step))

    def item_blocks(self, most: int = BLOCK_NUMBERS) -> Iterator[tuple[int, int]]:
        """Ranges of items to be read together, at most so many numbers each."""
        step = max(most // (self.chains * self.draws), 1)
        return ((k, min(k + step, self.size)) for k in range(0, self.size, step))


def _reserve(file: int, size: int) -> None:
    """Take the space at once, so that a full disk is known before any sampling."""
    if hasattr(os, "posix_fallocate") and size:
        os.posix_fallocate(file, 0, size)


@contextmanager
def _disk_errors(size: int) -> Iterator[None]:
    """A full disk as one line that names the way out."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise InputError(
            f"draws of so many items need {size / 1e9:.1f} GB for a while, and there is no room "
            f"in {tempfile.gettempdir()}; free some, or name a folder on a larger disk in the "
            "variable TMPDIR"
        ) from None
