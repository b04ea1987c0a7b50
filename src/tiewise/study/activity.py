"""How fast judgements come in: the SQL of days, and of who has been at work lately."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from statistics import mean, median
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select

from tiewise.data.answers import OFF_SCALE
from tiewise.study.judge_queries import STANDS
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import read_exclusions
from tiewise.study.schema import judgements, offers
from tiewise.study.values import Kind

REST_FACTOR = 20
"""A reading is used again for this many times as long as it took."""


class DayCount(NamedTuple):
    """A day (UTC), and the comparisons made on it."""

    day: date
    comparisons: int


class Turnout(NamedTuple):
    """Judges who have answered anything: in all, in the last day, in the last hour."""

    all: int
    day: int
    hour: int


class Activity(NamedTuple):
    """What was done when: comparisons that count, and each judge's last answer."""

    days: Sequence[DayCount] = ()
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


class ActivityCache:
    """The activity of a study, read again only now and then; one a process, for any threads.

    Where it asks several questions, comparisons are those of one, by its id.
    """

    def __init__(self, store: JudgeStore, question: str = "") -> None:
        self._store, self._lock = store, Lock()
        self._asked = judgements.c.question == question
        self._until, self._activity = 0.0, Activity()

    def activity(self) -> Activity:
        """What stands, of this moment or, where there is much of it, of a moment ago."""
        with self._lock:
            begun = monotonic()
            if begun >= self._until:
                self._activity = self._read()
                self._until = monotonic() + REST_FACTOR * (monotonic() - begun)
            return self._activity

    def _read(self) -> Activity:
        with self._store.reading() as connection:
            counting = offers.c.judge.not_in(list(read_exclusions(connection)))
            rows = connection.execute(_DAYS.where(counting, self._asked)).all()
            last = connection.scalars(_LAST).all()
        days = [DayCount(date.fromisoformat(str(day)), count) for day, count, _ in rows]
        return Activity(days, min((row[2] for row in rows), default=None), last)


class AnswerTimes:
    """How long a comparison takes, read again every few minutes; one a process, for any threads."""

    KEPT_SECONDS = 300.0
    FEWEST, LATEST = 30, 1000
    """Answers from which it is told, and of how many of the last ones."""
    LONGEST_RATIO = 4
    """A longer time than this many times the median was a break."""

    def __init__(self, store: JudgeStore) -> None:
        self._store, self._lock = store, Lock()
        self._until, self._seconds = 0.0, 0.0

    def seconds(self) -> float:
        """Seconds for a comparison, breaks apart; 0 while there are too few to say."""
        with self._lock:
            if monotonic() >= self._until:
                self._seconds = self._read()
                self._until = monotonic() + self.KEPT_SECONDS
            return self._seconds

    def _read(self) -> float:
        with self._store.reading() as connection:
            rows = connection.execute(_TIMES.limit(self.LATEST)).all()
        times = [(answered - shown).total_seconds() for shown, answered in rows]
        times = [time for time in times if time > 0]  # those from elsewhere may have none
        if len(times) < self.FEWEST:
            return 0.0
        longest = self.LONGEST_RATIO * median(times)
        return float(mean(min(time, longest) for time in times))


_ANSWERED = judgements.c.answered
_DAY = func.date(_ANSWERED).label("day")


def _standing(query: Select[Any]) -> Select[Any]:
    with_offer = query.join(offers, offers.c.id == judgements.c.offer)
    return with_offer.where(STANDS, offers.c.kind != Kind.PRACTICE.value)


_DAYS = (
    _standing(select(_DAY, func.count(), func.min(_ANSWERED)).select_from(judgements))
    .where(judgements.c.outcome.not_in([answer.stored for answer in OFF_SCALE]))
    .group_by(_DAY)
    .order_by(_DAY)
)
_LAST = _standing(select(func.max(_ANSWERED)).select_from(judgements)).group_by(offers.c.judge)
_TIMES = _standing(select(offers.c.shown, _ANSWERED).select_from(judgements)).order_by(
    judgements.c.id.desc()
)
