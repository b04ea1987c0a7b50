"""Times, ages and short ids as a researcher reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from tiewise.text import capital, quantity

SHORT = 6


def seconds(value: float | None) -> str:
    """`4.2 s`, `2 min`; a dash where it is not known."""
    if value is None:
        return "–"
    return f"{value:.1f} s" if value < 60 else f"{value / 60:.0f} min"


AGES = ((60, 1, "second"), (3600, 60, "minute"), (86400, 3600, "hour"), (None, 86400, "day"))


def ago(then: datetime, now: datetime) -> str:
    """How long ago: `2 seconds ago`."""
    age = max((now - then).total_seconds(), 0)
    unit, name = next((u, n) for end, u, n in AGES if end is None or age < end)
    return f"{quantity(int(age / unit), name)} ago"


def moment(at: datetime) -> str:
    """`12 Mar 2026, 14:03 UTC`."""
    return f"{at.day} {at:%b %Y, %H:%M} UTC"


def short_id(judge: str) -> str:
    """The first letters of a judge's id."""
    return judge if len(judge) <= SHORT + 2 else f"{judge[:SHORT]}…"


def short_ids(judges: Iterable[str]) -> dict[str, str]:
    """Short ids of judges; the whole id where two would be the same."""
    short = {judge: short_id(judge) for judge in judges}
    counts = Counter(short.values())
    return {judge: one if counts[one] == 1 else judge for judge, one in short.items()}


def sentence(error: object) -> str:
    """An error message as a sentence."""
    return f"{capital(str(error))}."
