"""Earlier snapshots of a study, read once and kept in little memory: for trends and replays."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from datetime import datetime
from math import isnan, nan
from threading import Lock
from typing import NamedTuple

from tiewise.study.judge_store import JudgeStore
from tiewise.study.snapshot_store import Snapshot, SnapshotStore
from tiewise.web.researcher.choropleth import colour_limit, quality_limit
from tiewise.web.researcher.estimates import LOGITS, ShownScale

MOST = 60
SD_ROOM = 2.0
"""The darkest uncertainty of a replay, in those of its last frame: there was more at first."""
MISSING = nan


class FrameScores(NamedTuple):
    """Each item of a snapshot on another scale than logits."""

    scale: str
    estimate: array[float]
    sd: array[float]


class HistoryFrame(NamedTuple):
    """One snapshot: when it was made, of how many comparisons, and each item's estimate."""

    id: int
    made: datetime
    comparisons: int
    reliability: float
    estimate: array[float]
    sd: array[float]
    uncompared: frozenset[int]
    """Positions of the items that nobody had compared yet."""
    scores: FrameScores | None = None
    """The same on another scale than logits, where the snapshot has it."""

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, items: Sequence[str]) -> HistoryFrame:
        """A snapshot in little memory: items in this order, `MISSING` where it lacks them."""
        body = snapshot.body
        places = {item: k for k, item in enumerate(body["items"])}
        order, counts = [places.get(item) for item in items], body["comparisons"]

        def column(name: str) -> array[float]:
            return array("f", (MISSING if k is None else body[name][k] for k in order))

        return cls(
            snapshot.id,
            snapshot.made,
            snapshot.comparisons,
            body["reliability"],
            column("mean"),
            column("sd"),
            frozenset(at for at, k in enumerate(order) if k is not None and not counts[k]),
            FrameScores(body["scale"]["name"], column("score"), column("score_sd"))
            if "scale" in body
            else None,
        )

    def on(self, scale: ShownScale) -> HistoryFrame | None:
        """The same on this scale; None where the snapshot does not tell."""
        if self.scores and self.scores.scale == scale.name:
            return self._replace(estimate=self.scores.estimate, sd=self.scores.sd)
        if scale.line is None:
            return None
        origin, slope = scale.line
        estimate = array("f", (origin + slope * value for value in self.estimate))
        return self._replace(estimate=estimate, sd=array("f", (slope * sd for sd in self.sd)))

    def highest_first(self) -> list[int]:
        """Positions of items in the order of their quality, to be taken before it is rescaled."""
        known = [k for k, value in enumerate(self.estimate) if not isnan(value)]
        return sorted(known, key=lambda k: (-self.estimate[k], k))


class Replay(NamedTuple):
    """Frames that are all on one scale, and the scale."""

    frames: list[HistoryFrame]
    scale: ShownScale

    @classmethod
    def of(cls, frames: Sequence[HistoryFrame], scale: ShownScale) -> Replay:
        """The frames on this scale, or in logits where some of them are not known on it."""
        own = [frame.on(scale) for frame in frames]
        known = [frame for frame in own if frame is not None]
        return cls(known, scale) if len(known) == len(own) else cls(list(frames), LOGITS)


class HistoryScale(NamedTuple):
    """The sizes that have the darkest colours in every frame; never 0.

    That of estimates is how far they lie from the middle of their scale.
    """

    estimate: float
    sd: float


def history_scale(frames: Sequence[HistoryFrame], middle: float = 0.0) -> HistoryScale:
    """The scale of all frames, from what the last one says of items that were compared.

    The first frames know next to nothing; on a scale that holds them the last would be white.
    """
    if not frames:
        return HistoryScale(1.0, 1.0)
    last = frames[-1]
    known = [k for k, value in enumerate(last.estimate) if not isnan(value)]
    compared = [k for k in known if k not in last.uncompared] or known
    estimates = [last.estimate[k] - middle for k in compared]
    sds = [last.sd[k] for k in compared]
    return HistoryScale(quality_limit(estimates, sds), SD_ROOM * colour_limit(sds))


def without_superseded(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Points (comparisons, reliability) in the order of time that later ones do not go back behind.

    Comparisons become fewer when a judge is left out or withdraws: what was before is superseded.
    """
    kept: list[tuple[int, float]] = []
    for point in points:
        while kept and kept[-1][0] >= point[0]:
            kept.pop()
        kept.append(point)
    return kept


class SnapshotHistory:
    """The snapshots of a study so far; one for each process, for any number of threads."""

    def __init__(self, store: JudgeStore, items: Sequence[str], question: str = "") -> None:
        self._snapshots, self._items = SnapshotStore(store, question), items
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
