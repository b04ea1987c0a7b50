"""Watched items: those of very many whose draws are looked at one by one, all that are named first.

A report may name the k highest for any k; whoever it would name is watched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.quality_file import StoredQualities
from tiewise.engines.threads import in_threads
from tiewise.posterior.diagnostics import watched_by_mean
from tiewise.progress import ProgressCounter, no_progress

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]

PLACES = 200
"""The highest items of every draw that are stored, so that k may be as large."""
CONFIDENT = 0.60
"""Below this probability an item is not named as one of the highest."""
THREADS = 2


class WatchedItems(NamedTuple):
    """Positions of watched items, and all their draws (chains, draws, items)."""

    items: Integers
    quality: Floats


def watch(quality: StoredQualities, comparisons: Integers) -> WatchedItems:
    """The items that are watched, and their draws."""
    means = np.zeros(quality.size)
    highest = np.empty((quality.draws, quality.chains, places(quality.size)), np.int32)

    def one_block(block: tuple[int, int], counter: ProgressCounter) -> Floats:
        rows = quality.rows(*block)
        highest[slice(*block)] = highest_items(rows.reshape(-1, quality.size)).reshape(
            *rows.shape[:2], -1
        )
        counter.step()
        out: Floats = rows.sum(axis=(0, 1), dtype=np.float64)
        return out

    blocks = list(quality.draw_blocks())
    counter = ProgressCounter(no_progress, "", len(blocks))
    for total in in_threads(one_block, blocks, counter, THREADS):
        means += total
    means /= quality.draws * quality.chains
    items = watched_by_mean(means, comparisons, named_items(highest))
    return WatchedItems(items, quality.some_items(items).astype(np.float64))


def places(items: int) -> int:
    """How many of the highest items of every draw are stored."""
    return min(PLACES, items - 1)


def highest_items(rows: Singles) -> NDArray[np.int32]:
    """The highest items of each row (rows, items), from the highest down."""
    number = places(rows.shape[1])
    some = np.argpartition(rows, -number, axis=1)[:, -number:]
    some.sort(axis=1)  # so that of equal values the first item comes first
    order = np.argsort(-np.take_along_axis(rows, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1).astype(np.int32)


def top_counts(highest: NDArray[np.int32]) -> tuple[Integers, Integers]:
    """Items that are ever among the highest (..., places), and how often among the k highest.

    The latter is (items, places), for k from 1 upwards.
    """
    number = highest.shape[-1]
    flat = highest.reshape(-1, number)
    items, own = np.unique(flat, return_inverse=True)
    cell = own.reshape(flat.shape) * number + np.arange(number)
    times = np.bincount(cell.ravel(), minlength=len(items) * number).reshape(-1, number)
    return items.astype(np.int64), np.cumsum(times, axis=1)


def named_items(highest: NDArray[np.int32]) -> Integers:
    """Items that would be named among the k highest, for whichever k."""
    items, times = top_counts(highest)
    probability = times / (highest.size // highest.shape[-1])
    enough = np.minimum(CONFIDENT, probability.max(axis=0))
    out: Integers = items[(probability >= enough).any(axis=1)]
    return out
