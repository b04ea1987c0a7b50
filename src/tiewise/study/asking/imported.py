"""Judgements from elsewhere, stored as if they had been given on the site."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from tiewise.study.connection import digest, now
from tiewise.study.schema import judgements, judges, offers
from tiewise.study.values import Kind


def add_judgements(connection: Connection, rows: Sequence[Mapping[str, Any]], consent: str) -> None:
    """Add judgements, each as the answer to a pair of its own, and judges that are new.

    Answers of a judge to several questions of a pair, with the same `time`, are to one showing.
    """
    for judge in sorted({row["judge"] for row in rows}):
        if connection.scalar(select(judges.c.id).where(judges.c.id == judge)) is None:
            connection.execute(judges.insert().values(
                id=judge, secret=digest(secrets.token_hex(16)), language="",
                consent=consent, consented=now(), chose=True,
            ))  # fmt: skip
    shown: dict[tuple[Any, ...], int] = {}
    for row in rows:
        at = row.get("answered") or now()
        showing = row["judge"], row["left"], row["right"], row.get("time")
        offer = shown.get(showing)
        if offer is None:
            offer = _add_offer(connection, row, at)
        if row.get("time") is not None:
            shown[showing] = offer
        value = {
            "offer": offer, "outcome": row["outcome"], "answered": at,
            "grade": row.get("grade"), "question": row.get("question", ""),
        }  # fmt: skip
        connection.execute(judgements.insert().values(value))


def _add_offer(connection: Connection, row: Mapping[str, Any], at: datetime) -> int:
    made = offers.insert().values(
        judge=row["judge"], left=row["left"], right=row["right"], kind=Kind.NEW,
        shown=row.get("shown") or at, closed=at,
    )  # fmt: skip
    key = connection.execute(made).inserted_primary_key
    assert key is not None
    return int(key[0])
