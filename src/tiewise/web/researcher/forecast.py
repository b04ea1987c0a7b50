"""When a study will have what it wants, if people go on as they did lately."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from tiewise.study.activity import Day

LATELY = 7
"""Days over which the pace is taken, today among them."""
SHORTEST = timedelta(hours=1)
"""A few answers in the first minutes are no pace yet."""
LONGEST = 366


class Forecast(NamedTuple):
    """Comparisons a day lately, what is still wanted, and the day that it would be there."""

    pace: float
    left: int
    on: date | None
    """None where it is there already, or cannot be said."""


def forecast(
    wanted: int, done: int, days: Sequence[Day], *, begun: datetime | None, now: datetime
) -> Forecast:
    """The day on which `wanted` comparisons are there at the pace of the last days."""
    left = max(wanted - done, 0)
    lately = pace(days, begun=begun, now=now)
    if left == 0 or lately == 0 or left > lately * LONGEST:
        return Forecast(lately, left, None)
    return Forecast(lately, left, (now + timedelta(days=left / lately)).date())


def pace(days: Sequence[Day], *, begun: datetime | None, now: datetime) -> float:
    """Comparisons a day since the study began, or over the last days where that is longer ago."""
    if begun is None:
        return 0.0
    first = now.date() - timedelta(days=LATELY - 1)
    since = max(begun, datetime.combine(first, time(), UTC))
    made = sum(one.comparisons for one in days if one.day >= first)
    return made / (max(now - since, SHORTEST) / timedelta(days=1))


def told(found: Forecast, now: datetime) -> str:
    """The forecast in a sentence."""
    if found.left == 0:
        return "That is reached."
    if found.pace == 0:
        return f"Nobody has judged in the last {LATELY} days, so there is no saying when."
    speed = f"At the pace of the last days ({_rounded(found.pace)} a day)"
    if found.on is None:
        return f"{speed} it would take more than a year."
    gone = (found.on - now.date()).days
    when = {0: "later today", 1: "tomorrow"}.get(gone, f"in {gone} days, around {spoken(found.on)}")
    return f"{speed} it is reached {when}."


def spoken(day: date) -> str:
    """`12 March 2026`."""
    return f"{day.day} {day:%B %Y}"


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
