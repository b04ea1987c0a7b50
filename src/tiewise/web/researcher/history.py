"""Earlier snapshots of a study, read once and kept in little memory: for trends and replays."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from datetime import datetime
from threading import Lock
from typing import NamedTuple

from tiewise.study.judge_store import JudgeStore
from tiewise.study.snapshot_store import Snapshot, SnapshotStore

MOST = 60
PRECISION = 100
"""A replay has hundredths; the eye sees no more."""
LARGEST = 32_000
MISSING = -32_768


class HistoryFrame(NamedTuple):
    """One snapshot: when it was made, of how many comparisons, and each item in hundredths."""

    id: int
    made: datetime
    comparisons: int
    reliability: float
    median: array[int]
    sd: array[int]

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, items: Sequence[str]) -> HistoryFrame:
        """A snapshot in little memory: items in this order, `MISSING` where it lacks them."""
        body = snapshot.body
        places = {item: k for k, item in enumerate(body["items"])}
        order = [places.get(item) for item in items]

        def hundredths(values: Sequence[float]) -> array[int]:
            return array("h", (MISSING if k is None else _hundredths(values[k]) for k in order))

        return cls(
            snapshot.id,
            snapshot.made,
            snapshot.comparisons,
            body["reliability"],
            hundredths(body["median"]),
            hundredths(body["sd"]),
        )


class HistoryScale(NamedTuple):
    """The largest sizes over all snapshots; never 0."""

    median: float
    sd: float


def history_scale(frames: Sequence[HistoryFrame]) -> HistoryScale:
    """The scale of estimates and uncertainties of all snapshots together."""
    median = max((abs(v) for one in frames for v in one.median if v != MISSING), default=0)
    sd = max((v for one in frames for v in one.sd if v != MISSING), default=0)
    return HistoryScale(median / PRECISION or 1.0, sd / PRECISION or 1.0)


def _hundredths(value: float) -> int:
    return max(-LARGEST, min(LARGEST, round(value * PRECISION)))


class SnapshotHistory:
    """The snapshots of a study so far; one for each process, for any number of threads."""

    def __init__(self, store: JudgeStore, items: Sequence[str]) -> None:
        self._snapshots, self._items = SnapshotStore(store), items
        self._frames: dict[int, HistoryFrame] = {}
        self._lock = Lock()

    def frames(self, most: int = MOST) -> list[HistoryFrame]:
        """Snapshots in the order of time, the first and the latest among them."""
        ids = self._snapshots.ids()
        shown = evenly_spaced(ids, most)
        with self._lock:
            unread = [one for one in shown if one not in self._frames]
            for snapshot in self._snapshots.by_ids(unread):
                self._frames[snapshot.id] = HistoryFrame.from_snapshot(snapshot, self._items)
            for gone in self._frames.keys() - set(ids):
                del self._frames[gone]
            return [self._frames[one] for one in shown if one in self._frames]

    def one(self, number: int) -> Snapshot | None:
        """A single snapshot, whole; None where there is none of this number."""
        snapshots = self._snapshots.by_ids([number])
        return snapshots[0] if snapshots else None


def evenly_spaced(ids: Sequence[int], most: int) -> list[int]:
    """At most so many of these, evenly spaced, with both ends."""
    if len(ids) <= most:
        return list(ids)
    step = (len(ids) - 1) / (most - 1)
    return [ids[round(k * step)] for k in range(most)]
