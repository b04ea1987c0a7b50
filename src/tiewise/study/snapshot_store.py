"""SnapshotStore: posteriors while judgements come in, what is current beside them, and leases."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import IntegrityError

from tiewise.study.connection import CLOCK_SET_BACK, now
from tiewise.study.judge_store import JudgeStore
from tiewise.study.schema import (
    current_values,
    erasures,
    exclusions,
    judgements,
    leases,
    offers,
    snapshots,
    undone,
)

EVERYBODY = "*"
"""In place of a judge, in the record of the erasure of a whole study."""
MAX_SNAPSHOTS = 240
"""Snapshots stored at most, spread over the comparisons of the study."""
HEARTBEAT, SCRATCH = "heartbeat", "health"
"""Rows of what is current: the live worker's sign of life, and one for health checks to write."""
SHARED = (HEARTBEAT, SCRATCH)
OF = ":"
"""Between what is current and the question that it is of."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A posterior in figures: when, from which judgements, and the figures."""

    id: int
    made: datetime
    pulse: str
    comparisons: int
    """Judgements that carry likelihood."""
    seconds: float
    body: Mapping[str, Any]
    """What `web/live/worker.py` wrote; docs/live.md has its keys."""


class SnapshotStore:
    """What the live worker of a study writes and everybody else reads.

    Where a study asks several questions, judgements, snapshots and what is current with them are
    those of one, by its id.
    """

    def __init__(self, store: JudgeStore, question: str = "") -> None:
        self.store, self._question = store, question
        self._judgements = judgements.c.question == question
        self._mine = snapshots.c.question == question

    def pulse(self) -> str:
        """Changes whenever judgements that count may have changed; cheap to ask for."""
        query = select(
            select(func.max(judgements.c.id)).scalar_subquery(),
            # PostgreSQL hands out numbers before it commits: a lower one may come to light later.
            select(func.count()).select_from(judgements).scalar_subquery(),
            select(func.count()).select_from(undone).scalar_subquery(),
            select(func.max(erasures.c.id)).scalar_subquery(),
            select(func.max(exclusions.c.id)).scalar_subquery(),
        )
        with self.store.reading() as connection:
            return ".".join(str(part or 0) for part in connection.execute(query).one())

    # Judgements, as the worker reads them.

    def judgements_after(self, number: int) -> Sequence[Any]:
        """Judgements with higher numbers than this one, oldest first."""
        after = (judgements.c.id > number, self._judgements)
        query = _JUDGEMENTS.where(*after).order_by(judgements.c.id)
        with self.store.reading() as connection:
            return connection.execute(query).all()

    def judgements_up_to(self, number: int) -> int:
        """How many judgements there are with numbers up to this one."""
        up_to = (judgements.c.id <= number, self._judgements)
        query = select(func.count()).select_from(judgements).where(*up_to)
        with self.store.reading() as connection:
            return connection.scalar(query) or 0

    def undone_ids(self) -> Sequence[int]:
        """The numbers of judgements that were taken back."""
        with self.store.reading() as connection:
            return connection.scalars(select(undone.c.judgement)).all()

    def last_erasure(self) -> int:
        """The number of the last erasure, 0 before the first."""
        with self.store.reading() as connection:
            return connection.scalar(select(func.max(erasures.c.id))) or 0

    # Snapshots.

    def add(
        self, body: Mapping[str, Any], *, pulse: str, comparisons: int, seconds: float, holder: str,
        current: Mapping[str, bytes] | None = None,
    ) -> bool:  # fmt: skip
        """Store a snapshot, and what is `current` with it; False where the lease was lost.

        Also where all judgements were erased since the pulse.
        """
        row = {
            "made": now(), "pulse": pulse, "comparisons": comparisons, "seconds": seconds,
            "body": zlib.compress(json.dumps(body, separators=(",", ":")).encode()),
            "question": self._question,
        }  # fmt: skip
        with self.store.writing() as connection:
            if not _holds(connection, "live", holder) or _erased_since(connection, pulse):
                return False
            connection.execute(snapshots.insert().values(row))
            for key, value in (current or {}).items():
                _put(connection, self._key(key), value)
            # Whatever went wrong before, it went well now.
            failed = current_values.c.key == self._key("failure")
            connection.execute(current_values.delete().where(failed))
            self._thin_out(connection)
        return True

    def last(self) -> Snapshot | None:
        """The latest snapshot."""
        query = select(snapshots).where(self._mine).order_by(snapshots.c.id.desc()).limit(1)
        with self.store.reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else _read(row)

    def last_id(self) -> int:
        """The number of the latest snapshot, 0 before the first."""
        with self.store.reading() as connection:
            return connection.scalar(select(func.max(snapshots.c.id)).where(self._mine)) or 0

    def versions(self) -> dict[str, Any]:
        """What there is, each with something that changes when it does."""
        latest = select(func.max(snapshots.c.id)).where(self._mine)
        with self.store.reading() as connection:
            rows = [tuple(row) for row in connection.execute(_VERSIONS)]
            number = connection.scalar(latest)
        versions = {key.partition(OF)[0]: made for key, made in rows if self._owns(key)}
        return versions if number is None else versions | {"snapshot": number}

    def history(self, most: int = MAX_SNAPSHOTS) -> list[Snapshot]:
        """Snapshots in the order of time, the latest among them, at most so many of them."""
        with self.store.reading() as connection:
            ids = list(connection.scalars(self._ids()))
            step = -(-len(ids) // most)
            spread = ids[::-1][:: max(step, 1)]
            rows = connection.execute(
                select(snapshots).where(snapshots.c.id.in_(spread)).order_by(snapshots.c.id)
            )
            return [_read(row) for row in rows]

    def ids(self) -> list[int]:
        """The numbers of all snapshots that are stored, oldest first."""
        with self.store.reading() as connection:
            return list(connection.scalars(self._ids()))

    def _ids(self) -> Any:
        return select(snapshots.c.id).where(self._mine).order_by(snapshots.c.id)

    def by_ids(self, ids: Collection[int]) -> list[Snapshot]:
        """The snapshots of these numbers that are still stored, oldest first."""
        if not ids:
            return []
        these = (snapshots.c.id.in_(ids), self._mine)
        query = select(snapshots).where(*these).order_by(snapshots.c.id)
        with self.store.reading() as connection:
            return [_read(row) for row in connection.execute(query)]

    # What is current.

    def replace_current(self, current: Mapping[str, bytes], *, holder: str) -> bool:
        """Make things current without a snapshot; False where the lease was lost."""
        with self.store.writing() as connection:
            if not _holds(connection, "live", holder):
                return False
            for key, value in current.items():
                _put(connection, self._key(key), value)
        return True

    def current(self, key: str) -> tuple[datetime, bytes] | None:
        """Something that is current, and since when."""
        query = select(current_values.c.made, current_values.c.value).where(
            current_values.c.key == self._key(key)
        )
        with self.store.reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else (row.made, row.value)

    def set_current(self, key: str, value: bytes) -> None:
        """Make something current."""
        with self.store.writing() as connection:
            _put(connection, self._key(key), value)

    def record_heartbeat(self) -> None:
        """The live worker's sign that it is at work."""
        self.set_current(HEARTBEAT, b"")

    def last_heartbeat(self) -> datetime | None:
        """When the live worker gave its last sign; None before the first."""
        row = self.current(HEARTBEAT)
        return None if row is None else row[0]

    def check_write(self) -> None:
        """Write a row that means nothing, and commit it: only that finds a full disk."""
        try:
            self.set_current(SCRATCH, b"")
        except IntegrityError:  # another wrote the first one
            self.set_current(SCRATCH, b"")

    def drop_current(self, key: str) -> None:
        """It is current no more."""
        with self.store.writing() as connection:
            gone = current_values.c.key == self._key(key)
            connection.execute(current_values.delete().where(gone))

    def _key(self, key: str) -> str:
        """The key of something that is current for this question; some are for all."""
        return key if not self._question or key in SHARED else f"{key}{OF}{self._question}"

    def _owns(self, key: str) -> bool:
        """Whether something that is current is of this question."""
        return key.partition(OF)[2] == self._question

    def _thin_out(self, connection: Connection) -> None:
        """Beyond the most, forget the one that its neighbours stand closest around."""
        query = select(snapshots.c.id, snapshots.c.comparisons).where(self._mine)
        rows = connection.execute(query.order_by(snapshots.c.id)).all()
        if len(rows) <= MAX_SNAPSHOTS:
            return
        gaps = [after[1] - before[1] for before, after in zip(rows, rows[2:], strict=False)]
        closest = rows[1 + gaps.index(min(gaps))]
        connection.execute(snapshots.delete().where(snapshots.c.id == closest[0]))

    # Leases.

    def take_lease(self, task: str, holder: str, seconds: float) -> bool:
        """Take or renew the lease of a task; False while somebody else has it."""
        until = now() + timedelta(seconds=seconds)
        mine = {"holder": holder, "until": until}
        try:
            with self.store.writing() as connection:
                over = (leases.c.until < now()) | (leases.c.until > until + CLOCK_SET_BACK)
                free = (leases.c.holder == holder) | over
                taken = leases.update().where(leases.c.task == task, free).values(mine)
                if connection.execute(taken).rowcount == 1:
                    return True
                there = select(leases.c.task).where(leases.c.task == task)
                if connection.scalar(there) is not None:
                    return False
                connection.execute(leases.insert().values(task=task, **mine))
        except IntegrityError:  # another was quicker
            return False
        return True

    def release_lease(self, task: str, holder: str) -> None:
        """Give a lease back, so that nobody has to wait for it."""
        with self.store.writing() as connection:
            mine = (leases.c.task == task, leases.c.holder == holder)
            connection.execute(leases.delete().where(*mine))

    def lease_holder(self, task: str) -> str | None:
        """Who has the lease of a task now."""
        query = select(leases.c.holder).where(leases.c.task == task, leases.c.until >= now())
        with self.store.reading() as connection:
            holder: str | None = connection.scalar(query)
        return holder


_JUDGEMENTS = select(
    judgements.c.id, judgements.c.outcome, judgements.c.grade, judgements.c.answered,
    offers.c.judge, offers.c.left, offers.c.right, offers.c.kind, offers.c.shown,
).join(offers, offers.c.id == judgements.c.offer)  # fmt: skip
_VERSIONS = select(current_values.c.key, current_values.c.made)


def _read(row: Any) -> Snapshot:
    body = json.loads(zlib.decompress(row.body))
    return Snapshot(row.id, row.made, row.pulse, row.comparisons, row.seconds, body)


def _put(connection: Connection, key: str, value: bytes) -> None:
    row = {"made": now(), "value": value}
    if (
        connection.execute(
            current_values.update().where(current_values.c.key == key).values(row)
        ).rowcount
        == 0
    ):
        connection.execute(current_values.insert().values(key=key, **row))


def _holds(connection: Connection, task: str, holder: str) -> bool:
    query = select(leases.c.holder).where(leases.c.task == task, leases.c.until >= now())
    return bool(connection.scalar(query) == holder)


def _erased_since(connection: Connection, pulse: str) -> bool:
    """Whether all judgements were erased since a pulse: what was made of them comes too late."""
    parts = pulse.split(".")
    known = int(parts[3]) if len(parts) > 3 else 0
    query = select(func.max(erasures.c.id)).where(erasures.c.judge == EVERYBODY)
    return (connection.scalar(query) or 0) > known
