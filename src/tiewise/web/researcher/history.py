"""Earlier pictures of a study, read once and kept small: for trends, and to be replayed."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from datetime import datetime
from threading import Lock
from typing import NamedTuple

from tiewise.study.judge_store import Store
from tiewise.study.snapshot_store import Snapshot, Snapshots

MOST = 60
FINE = 100
"""A replay has hundredths; the eye sees no more."""
FARTHEST = 32_000
MISSING = -32_768


class Frame(NamedTuple):
    """One picture: when it was made, from how much, and each item in hundredths."""

    id: int
    made: datetime
    comparisons: int
    reliability: float
    median: array[int]
    sd: array[int]

    @classmethod
    def of(cls, snapshot: Snapshot, items: Sequence[str]) -> Frame:
        """A snapshot made small; items in this order, `MISSING` where it did not have them."""
        body = snapshot.body
        places = {item: k for k, item in enumerate(body["items"])}
        order = [places.get(item) for item in items]

        def small(values: Sequence[float]) -> array[int]:
            return array("h", (MISSING if k is None else _hundredths(values[k]) for k in order))

        return cls(
            snapshot.id,
            snapshot.made,
            snapshot.comparisons,
            body["reliability"],
            small(body["median"]),
            small(body["sd"]),
        )


class Extremes(NamedTuple):
    """The largest sizes over all pictures, of which none is 0."""

    median: float
    sd: float


def extremes(frames: Sequence[Frame]) -> Extremes:
    """How far estimates and uncertainties reach in all pictures together."""
    median = max((abs(v) for one in frames for v in one.median if v != MISSING), default=0)
    sd = max((v for one in frames for v in one.sd if v != MISSING), default=0)
    return Extremes(median / FINE or 1.0, sd / FINE or 1.0)


def _hundredths(value: float) -> int:
    return max(-FARTHEST, min(FARTHEST, round(value * FINE)))


class Past:
    """The pictures of a study so far; one for each process, for any number of threads."""

    def __init__(self, store: Store, items: Sequence[str]) -> None:
        self._snapshots, self._items = Snapshots(store), items
        self._kept: dict[int, Frame] = {}
        self._lock = Lock()

    def frames(self, most: int = MOST) -> list[Frame]:
        """Pictures in the order of time, the first and the latest among them."""
        ids = self._snapshots.ids()
        wanted = spread(ids, most)
        with self._lock:
            unread = [one for one in wanted if one not in self._kept]
            for snapshot in self._snapshots.some(unread):
                self._kept[snapshot.id] = Frame.of(snapshot, self._items)
            for gone in self._kept.keys() - set(ids):
                del self._kept[gone]
            return [self._kept[one] for one in wanted if one in self._kept]

    def one(self, which: int) -> Snapshot | None:
        """A single snapshot, whole; None where it is not kept."""
        found = self._snapshots.some([which])
        return found[0] if found else None


def spread(ids: Sequence[int], most: int) -> list[int]:
    """At most so many of them, evenly over their order, with both ends."""
    if len(ids) <= most:
        return list(ids)
    step = (len(ids) - 1) / (most - 1)
    return [ids[round(k * step)] for k in range(most)]
