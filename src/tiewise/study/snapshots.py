"""The posterior as it was found while judgements came in: SQL of snapshots, and who makes them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import IntegrityError

from tiewise.study.store import Store, now
from tiewise.study.tables import (
    current,
    erased,
    exclusions,
    judgements,
    leases,
    snapshots,
    undone,
)

MOST = 240
"""Snapshots kept at most, spread over the comparisons of the study."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A posterior in figures: when, from which judgements, and what was found."""

    id: int
    made: datetime
    pulse: str
    comparisons: int
    """Judgements that carry likelihood."""
    seconds: float
    body: Mapping[str, Any]
    """What `web/live.py` wrote; docs/watching.md has its keys."""


class Snapshots:
    """What the live worker of a study writes and everybody else reads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def pulse(self) -> str:
        """Changes whenever judgements that count may have changed; cheap to ask for."""
        wanted = select(
            select(func.max(judgements.c.id)).scalar_subquery(),
            select(func.count()).select_from(undone).scalar_subquery(),
            select(func.max(erased.c.id)).scalar_subquery(),
            select(func.max(exclusions.c.id)).scalar_subquery(),
        )
        with self._store.reading() as connection:
            return ".".join(str(part or 0) for part in connection.execute(wanted).one())

    # Snapshots.

    def add(
        self, body: Mapping[str, Any], *, pulse: str, comparisons: int, seconds: float, holder: str,
        beside: Mapping[str, bytes] | None = None,
    ) -> bool:  # fmt: skip
        """Keep a snapshot, and what is current `beside` it; False where the lease was lost."""
        row = {
            "made": now(), "pulse": pulse, "comparisons": comparisons, "seconds": seconds,
            "body": zlib.compress(json.dumps(body, separators=(",", ":")).encode()),
        }  # fmt: skip
        with self._store.writing() as connection:
            if not _holds(connection, "live", holder):
                return False
            connection.execute(snapshots.insert().values(row))
            for key, value in (beside or {}).items():
                _put(connection, key, value)
            _thin_out(connection)
        return True

    def last(self) -> Snapshot | None:
        """The latest snapshot."""
        wanted = select(snapshots).order_by(snapshots.c.id.desc()).limit(1)
        with self._store.reading() as connection:
            row = connection.execute(wanted).first()
        return None if row is None else _read(row)

    def last_id(self) -> int:
        """The number of the latest snapshot, 0 before the first."""
        with self._store.reading() as connection:
            return connection.scalar(select(func.max(snapshots.c.id))) or 0

    def history(self, most: int = MOST) -> list[Snapshot]:
        """Snapshots in the order of time, the latest among them, at most so many of them."""
        with self._store.reading() as connection:
            ids = list(connection.scalars(select(snapshots.c.id).order_by(snapshots.c.id)))
            step = -(-len(ids) // most)
            wanted = ids[::-1][:: max(step, 1)]
            rows = connection.execute(
                select(snapshots).where(snapshots.c.id.in_(wanted)).order_by(snapshots.c.id)
            )
            return [_read(row) for row in rows]

    # What is current.

    def current(self, key: str) -> tuple[datetime, bytes] | None:
        """Something that is current, and since when."""
        wanted = select(current.c.made, current.c.value).where(current.c.key == key)
        with self._store.reading() as connection:
            row = connection.execute(wanted).first()
        return None if row is None else (row.made, row.value)

    def put(self, key: str, value: bytes) -> None:
        """Make something current."""
        with self._store.writing() as connection:
            _put(connection, key, value)

    def drop(self, key: str) -> None:
        """It is current no more."""
        with self._store.writing() as connection:
            connection.execute(current.delete().where(current.c.key == key))

    # Leases.

    def take(self, task: str, holder: str, seconds: float) -> bool:
        """Take or renew the lease of a task; False while somebody else has it."""
        until = now() + timedelta(seconds=seconds)
        mine = {"holder": holder, "until": until}
        try:
            with self._store.writing() as connection:
                free = (leases.c.holder == holder) | (leases.c.until < now())
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

    def release(self, task: str, holder: str) -> None:
        """Give a lease back, so that nobody has to wait for it."""
        with self._store.writing() as connection:
            mine = (leases.c.task == task, leases.c.holder == holder)
            connection.execute(leases.delete().where(*mine))

    def holder(self, task: str) -> str | None:
        """Who has the lease of a task now."""
        wanted = select(leases.c.holder).where(leases.c.task == task, leases.c.until >= now())
        with self._store.reading() as connection:
            found: str | None = connection.scalar(wanted)
        return found


def _read(row: Any) -> Snapshot:
    body = json.loads(zlib.decompress(row.body))
    return Snapshot(row.id, row.made, row.pulse, row.comparisons, row.seconds, body)


def _put(connection: Connection, key: str, value: bytes) -> None:
    row = {"made": now(), "value": value}
    if connection.execute(current.update().where(current.c.key == key).values(row)).rowcount == 0:
        connection.execute(current.insert().values(key=key, **row))


def _holds(connection: Connection, task: str, holder: str) -> bool:
    wanted = select(leases.c.holder).where(leases.c.task == task, leases.c.until >= now())
    return bool(connection.scalar(wanted) == holder)


def _thin_out(connection: Connection) -> None:
    """Beyond the most, forget the one that its neighbours stand closest around."""
    wanted = select(snapshots.c.id, snapshots.c.comparisons).order_by(snapshots.c.id)
    rows = connection.execute(wanted).all()
    if len(rows) <= MOST:
        return
    gaps = [after[1] - before[1] for before, after in zip(rows, rows[2:], strict=False)]
    closest = rows[1 + gaps.index(min(gaps))]
    connection.execute(snapshots.delete().where(snapshots.c.id == closest[0]))
