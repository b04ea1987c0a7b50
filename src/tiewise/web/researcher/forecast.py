"""When a study will have as many comparisons as it needs, at the rate of the last days."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from tiewise.study.activity import DayCount

RECENT_DAYS = 7
"""Days over which the rate is taken, today among them."""
SHORTEST = timedelta(hours=1)
"""A few answers in the first minutes are no rate yet."""
LONGEST = 366


class Forecast(NamedTuple):
    """Comparisons a day lately, how many are missing, and the day on which none would be."""

    daily_rate: float
    missing: int
    day: date | None
    """None where nothing is missing, or it cannot be said."""


def forecast(
    target: int, done: int, days: Sequence[DayCount], *, begun: datetime | None, now: datetime
) -> Forecast:
    """The day on which there are `target` comparisons at the rate of the last days."""
    missing = max(target - done, 0)
    rate = daily_rate(days, begun=begun, now=now)
    if missing == 0 or rate == 0 or missing > rate * LONGEST:
        return Forecast(rate, missing, None)
    return Forecast(rate, missing, (now + timedelta(days=missing / rate)).date())


def daily_rate(days: Sequence[DayCount], *, begun: datetime | None, now: datetime) -> float:
    """Comparisons a day since the study began, but over the last days at most."""
    if begun is None:
        return 0.0
    first = now.date() - timedelta(days=RECENT_DAYS - 1)
    since = max(begun, datetime.combine(first, time(), UTC))
    made = sum(day.comparisons for day in days if day.day >= first)
    return made / (max(now - since, SHORTEST) / timedelta(days=1))


def forecast_sentence(expected: Forecast, now: datetime) -> str:
    """The forecast in a sentence."""
    if expected.missing == 0:
        return "That is reached."
    if expected.daily_rate == 0:
        return f"Nobody has judged in the last {RECENT_DAYS} days, so there is no saying when."
    speed = f"At the pace of the last days ({_rounded(expected.daily_rate)} a day)"
    if expected.day is None:
        return f"{speed} it would take more than a year."
    days = (expected.day - now.date()).days
    later = f"in {days} days, around {long_date(expected.day)}"
    when = {0: "later today", 1: "tomorrow"}.get(days, later)
    return f"{speed} it is reached {when}."


def long_date(day: date) -> str:
    """`12 March 2026`."""
    return f"{day.day} {day:%B %Y}"


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
