"""A cache of the latest snapshot for pages, refreshed at most twice a second."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from tiewise.study.judge_store import JudgeStore
from tiewise.study.snapshot_store import Snapshot, SnapshotStore

if TYPE_CHECKING:
    from tiewise.pairing.state import PairingState

REFRESH_SECONDS = 0.5
"""Seconds for which the versions in memory are taken to be the latest."""
SNAPSHOT = "snapshot"

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no newer snapshot, since when, and how often it was tried."""

    message: str
    since: datetime
    times: int


class SnapshotCache:
    """The last results of the live worker; one for each process, for any number of threads."""

    def __init__(self, store: JudgeStore, question: str = "") -> None:
        self._snapshots = SnapshotStore(store, question)
        self._lock = Lock()
        self._refreshed = -REFRESH_SECONDS
        self._versions: dict[str, Any] = {}
        self._entries: dict[str, tuple[Any, Any]] = {}

    def snapshot(self) -> Snapshot | None:
        """The latest snapshot; None before the first comparison."""
        return self._latest(SNAPSHOT, self._snapshots.last)

    def judges(self) -> list[dict[str, Any]]:
        """A row for each judge, as docs/live.md says; [] before the first."""
        return self._latest("judges", lambda: self._current("judges", unpack_rows)) or []

    def pairing_state(self) -> PairingState | None:
        """The state that pairs are chosen from."""
        from tiewise.pairing.state import PairingState

        return self._latest("standing", lambda: self._current("standing", PairingState.from_bytes))

    def failure(self) -> Failure | None:
        """Why the snapshot is not renewed, while it is not."""
        return self._latest("failure", lambda: self._current("failure", _unpack_failure))

    def _latest(self, key: str, read: Callable[[], Value | None]) -> Value | None:
        """The value of a key, read again where its version in the database has changed."""
        with self._lock:
            if monotonic() - self._refreshed >= REFRESH_SECONDS:
                self._versions = self._snapshots.versions()
                self._refreshed = monotonic()
            version = self._versions.get(key)
            if version is None:
                self._entries.pop(key, None)
                return None
            if key not in self._entries or self._entries[key][0] != version:
                self._entries[key] = (version, read())
            value: Value | None = self._entries[key][1]
            return value

    def _current(self, key: str, unpack: Callable[[bytes], Value]) -> Value | None:
        row = self._snapshots.current(key)
        return None if row is None else unpack(row[1])


def unpack_rows(packed: bytes) -> list[dict[str, Any]]:
    """The rows that `pack_rows` packed."""
    rows: list[dict[str, Any]] = json.loads(zlib.decompress(packed))
    return rows


def pack_rows(rows: list[dict[str, Any]]) -> bytes:
    """Rows as compressed JSON, for the database."""
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode(), 1)


def _unpack_failure(packed: bytes) -> Failure:
    values = json.loads(packed)
    return Failure(values["message"], datetime.fromisoformat(values["since"]), values["times"])


def pack_failure(failure: Failure) -> bytes:
    """A failure as JSON, for the database."""
    since = failure.since.isoformat()
    values = {"message": failure.message, "since": since, "times": failure.times}
    return json.dumps(values).encode()
