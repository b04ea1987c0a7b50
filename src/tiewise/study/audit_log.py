"""The audit log: what researchers did, written in the transaction of the action itself."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Select, select

from tiewise.study.connection import now
from tiewise.study.schema import audit_log, researchers
from tiewise.study.values import Researcher

JUDGE_ACTIONS = ("exclude judge", "include judge")
"""Actions whose reasons are remarks about judges."""


def log_action(
    connection: Connection, by: Researcher | None, what: str, about: str, why: str = ""
) -> None:
    """Add an action of a researcher, or of the command line."""
    row = {
        "at": now(),
        "researcher": by.id if by else None,
        "what": what,
        "about": about,
        "why": why,
    }
    connection.execute(audit_log.insert().values(row))


def latest_actions(most: int) -> Select[Any]:
    """Actions, latest first: at, name (None for the command line), what, about, why."""
    columns = (audit_log.c.what, audit_log.c.about, audit_log.c.why)
    return (
        select(audit_log.c.at, researchers.c.name, *columns)
        .join(researchers, researchers.c.id == audit_log.c.researcher, isouter=True)
        .order_by(audit_log.c.id.desc())
        .limit(most)
    )
