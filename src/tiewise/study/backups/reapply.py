"""What a restored backup must not bring back: ended sessions, and judges who withdrew since."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import select

from tiewise.study.audit_log import log_action
from tiewise.study.connection import now
from tiewise.study.judge_store import JudgeStore
from tiewise.study.schema import judges, sessions, tokens
from tiewise.study.values import Judge, TokenPurpose

ERASURES = "SELECT judge, judgements FROM erased WHERE at > ?"


class Erasure(NamedTuple):
    """A judge who withdrew, and whether with their judgements."""

    judge: str
    judgements_too: bool


def end_sessions(store: JudgeStore, backup: str) -> None:
    """End every session and one-time link of then, and log that a backup was restored."""
    with store.writing() as connection:
        connection.execute(sessions.update().where(sessions.c.ended.is_(None)).values(ended=now()))
        links = (tokens.c.opens == TokenPurpose.SIGN_IN.value, tokens.c.ended.is_(None))
        connection.execute(tokens.update().where(*links).values(ended=now()))
        log_action(connection, None, "restore backup", backup)


def erasures_since(folder: Path | None, moment: datetime) -> list[Erasure]:
    """Who withdrew since a moment, by the SQLite database of the study that was replaced."""
    database = folder / "study.db" if folder else None
    if database is None or not database.is_file():
        return []
    at = moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
    try:
        with closing(sqlite3.connect(database)) as connection:
            rows = connection.execute(ERASURES, (at,)).fetchall()
    except sqlite3.DatabaseError:  # it is damaged, which may be why it was replaced
        return []
    return [Erasure(judge, judgements > 0) for judge, judgements in rows]


def erase_again(store: JudgeStore, erasures: list[Erasure]) -> int:
    """Erase those who had withdrawn and are back with the backup; how many."""
    number = 0
    for erasure in erasures:
        query = select(judges.c.id, judges.c.language, judges.c.consent, judges.c.chose).where(
            judges.c.id == erasure.judge, judges.c.withdrawn.is_(None)
        )
        with store.reading() as connection:
            row = connection.execute(query).first()
        if row is not None:
            store.withdraw(Judge(*row), judgements_too=erasure.judgements_too)
            number += 1
    return number
