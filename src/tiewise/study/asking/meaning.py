"""What the answers given so far depend on, as it stood when the first was given."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, select

from tiewise.study.connection import now
from tiewise.study.schema import judgements, meanings
from tiewise.study.toml.anchors import NO_ANCHORS
from tiewise.study.toml.questions import ONE_QUESTION

UNRECORDED = {"anchors": NO_ANCHORS, "questions": ONE_QUESTION}
"""What it meant where an earlier version recorded the meaning of other keys alone."""


def compare_meaning(
    connection: Connection, current: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Keys whose meaning changed under answers already given: as it was, and as it is now.

    While there is no answer yet, the current meaning is kept as the one that counts.
    """
    if not has_answers(connection):
        connection.execute(meanings.delete())
    stored = _stored(connection)
    fresh = [{"key": k, "value": v, "since": now()} for k, v in current.items() if k not in stored]
    if fresh:
        connection.execute(meanings.insert(), fresh)
    return _differences(stored, current)


def proposed_meaning(
    connection: Connection, proposed: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Keys whose meaning would change under answers already given; nothing is written."""
    return _differences(_stored(connection), proposed) if has_answers(connection) else {}


def has_answers(connection: Connection) -> bool:
    """Whether anybody has answered anything."""
    return connection.scalar(select(judgements.c.id).limit(1)) is not None


def _stored(connection: Connection) -> dict[str, str]:
    stored = dict(connection.execute(select(meanings.c.key, meanings.c.value)).all())
    return UNRECORDED | stored if stored else {}


def _differences(
    stored: Mapping[str, str], current: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    return {k: (stored[k], v) for k, v in current.items() if k in stored and stored[k] != v}
