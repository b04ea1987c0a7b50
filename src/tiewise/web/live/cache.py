"""The live picture as pages read it: the latest of everything, asked for at most twice a second."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from tiewise.study.judge_store import Store
from tiewise.study.snapshot_store import Snapshot, Snapshots

if TYPE_CHECKING:
    from tiewise.pairing.state import Standing

ASK_AGAIN = 0.5
"""Seconds for which what was found is taken to be the latest."""
SNAPSHOT = "snapshot"

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no newer picture, since when, and how often it was tried."""

    message: str
    since: datetime
    times: int


class Latest:
    """What the live worker found last; one for each process, for any number of threads."""

    def __init__(self, store: Store) -> None:
        self._snapshots = Snapshots(store)
        self._lock = Lock()
        self._asked = -ASK_AGAIN
        self._marks: dict[str, Any] = {}
        self._kept: dict[str, tuple[Any, Any]] = {}

    def snapshot(self) -> Snapshot | None:
        """The latest snapshot; None before the first comparison."""
        return self._latest(SNAPSHOT, self._snapshots.last)

    def judges(self) -> list[dict[str, Any]]:
        """A row for each judge, as docs/live.md says; [] before the first."""
        return self._latest("judges", lambda: self._current("judges", read_rows)) or []

    def standing(self) -> Standing | None:
        """What is known of the items so far, for choosing pairs."""
        from tiewise.pairing.state import Standing

        return self._latest("standing", lambda: self._current("standing", Standing.from_bytes))

    def failure(self) -> Failure | None:
        """Why the picture is not renewed, while it is not."""
        return self._latest("failure", lambda: self._current("failure", _read_failure))

    def _latest(self, what: str, read: Callable[[], Found | None]) -> Found | None:
        """What was read last, read again where its mark in the database has changed."""
        with self._lock:
            if monotonic() - self._asked >= ASK_AGAIN:
                self._marks = self._snapshots.marks()
                self._asked = monotonic()
            mark = self._marks.get(what)
            if mark is None:
                self._kept.pop(what, None)
                return None
            if what not in self._kept or self._kept[what][0] != mark:
                self._kept[what] = (mark, read())
            found: Found | None = self._kept[what][1]
            return found

    def _current(self, key: str, read: Callable[[bytes], Found]) -> Found | None:
        found = self._snapshots.current(key)
        return None if found is None else read(found[1])


def read_rows(kept: bytes) -> list[dict[str, Any]]:
    """Rows as `written_rows` wrote them."""
    rows: list[dict[str, Any]] = json.loads(zlib.decompress(kept))
    return rows


def written_rows(rows: list[dict[str, Any]]) -> bytes:
    """Rows as they are kept."""
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode(), 1)


def _read_failure(kept: bytes) -> Failure:
    told = json.loads(kept)
    return Failure(told["message"], datetime.fromisoformat(told["since"]), told["times"])


def written_failure(failure: Failure) -> bytes:
    """A failure as it is kept."""
    told = {"message": failure.message, "since": failure.since.isoformat(), "times": failure.times}
    return json.dumps(told).encode()
