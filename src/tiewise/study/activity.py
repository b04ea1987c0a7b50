"""How fast judgements come in: the SQL of days, and of who has been at work lately."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select

from tiewise.study.judge_store import Store
from tiewise.study.researcher_store import excluded
from tiewise.study.schema import judgements, offers, undone
from tiewise.study.values import Kind, Outcome

RESTS = 20
"""What took long is not asked for often: so many times as long as it took, it is taken as known."""


class Day(NamedTuple):
    """A day (UTC), and the comparisons made on it."""

    day: date
    comparisons: int


class Turnout(NamedTuple):
    """Judges who have answered anything: in all, in the last day, in the last hour."""

    all: int
    day: int
    hour: int


class Tally(NamedTuple):
    """What was done when: comparisons that count, and each judge's last answer."""

    days: Sequence[Day] = ()
    """Those with comparisons, in order; skips and practice are none."""
    begun: datetime | None = None
    """When the first comparison was made."""
    last: Sequence[datetime] = ()

    def turnout(self, at: datetime) -> Turnout:
        """How many judges were at work until this moment, counting or not."""
        day, hour = (
            sum(moment >= at - since for moment in self.last)
            for since in (timedelta(days=1), timedelta(hours=1))
        )
        return Turnout(len(self.last), day, hour)


class Pace:
    """Keeps the tally of a study; one for each process, for any number of threads."""

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, Lock()
        self._until, self._kept = 0.0, Tally()

    def tally(self) -> Tally:
        """What stands, of this moment or, where there is much of it, of a moment ago."""
        with self._lock:
            begun = monotonic()
            if begun >= self._until:
                self._kept = self._read()
                self._until = monotonic() + RESTS * (monotonic() - begun)
            return self._kept

    def _read(self) -> Tally:
        with self._store.reading() as connection:
            counting = offers.c.judge.not_in(list(excluded(connection)))
            rows = connection.execute(_DAYS.where(counting)).all()
            last = connection.scalars(_LAST).all()
        days = [Day(date.fromisoformat(str(day)), count) for day, count, _ in rows]
        return Tally(days, min((row[2] for row in rows), default=None), last)


_ANSWERED = judgements.c.answered
_DAY = func.date(_ANSWERED).label("day")


def _of_what_stands(wanted: Select[Any]) -> Select[Any]:
    return (
        wanted.join(offers, offers.c.id == judgements.c.offer)
        .join(undone, undone.c.judgement == judgements.c.id, isouter=True)
        .where(undone.c.at.is_(None), offers.c.kind != Kind.PRACTICE.value)
    )


_DAYS = (
    _of_what_stands(select(_DAY, func.count(), func.min(_ANSWERED)).select_from(judgements))
    .where(judgements.c.outcome != Outcome.SKIP.value)
    .group_by(_DAY)
    .order_by(_DAY)
)
_LAST = _of_what_stands(select(func.max(_ANSWERED)).select_from(judgements)).group_by(
    offers.c.judge
)
