"""Reminders of the day until which the data of a study may be kept."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import func, select

from tiewise.study.connection import Database
from tiewise.study.schema import erasures, judges
from tiewise.study.settings import Settings
from tiewise.study.snapshot_store import EVERYBODY
from tiewise.text import quantity

NOTICE = timedelta(days=30)
"""So long before the day there is a reminder."""


class Reminder(NamedTuple):
    """A sentence about the erasure that was promised, and whether its day has passed."""

    text: str
    overdue: bool


def erased_at(database: Database) -> datetime | None:
    """When the data of the whole study were erased last; None where they were not."""
    query = select(func.max(erasures.c.at)).where(erasures.c.judge == EVERYBODY)
    with database.reading() as connection:
        moment: datetime | None = connection.scalar(query)
    return moment


def holds_judges(database: Database) -> bool:
    """Whether there is anything of judges to be erased."""
    with database.reading() as connection:
        return connection.scalar(select(judges.c.id).limit(1)) is not None


def reminder(settings: Settings, database: Database, today: date) -> Reminder | None:
    """What to be reminded of today; None where nothing was promised, or it is done or far off."""
    day = settings.study.kept_until
    if day is None or today < day - NOTICE or not holds_judges(database):
        return None
    if today <= day:
        when = f"in {quantity((day - today).days, 'day')}" if today < day else "today"
        return Reminder(
            f"The answers of judges may be kept until {day.isoformat()}, {when}; they were "
            "promised to be erased by then.", overdue=False,
        )  # fmt: skip
    late = quantity((today - day).days, "day")
    return Reminder(
        f"The answers of judges were to be erased by {day.isoformat()}, {late} ago, and are still "
        "here.", overdue=True,
    )  # fmt: skip
