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
    if connection.scalar(select(judgements.c.id).limit(1)) is None:
        connection.execute(meanings.delete())
    stored = dict(connection.execute(select(meanings.c.key, meanings.c.value)).all())
    stored = UNRECORDED | stored if stored else {}
    fresh = [{"key": k, "value": v, "since": now()} for k, v in current.items() if k not in stored]
    if fresh:
        connection.execute(meanings.insert(), fresh)
    return {k: (stored[k], v) for k, v in current.items() if k in stored and stored[k] != v}
