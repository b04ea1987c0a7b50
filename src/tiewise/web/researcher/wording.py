"""Numbers and moments as a researcher reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from math import floor

SHORT = 6


def signed(value: float) -> str:
    """`+0.42`, `−1.30`, `0.00`; with a minus that is as wide as a plus."""
    text = f"{value:+.2f}".replace("-", "−")
    return "0.00" if text[1:] == "0.00" else text


def share(value: float | None) -> str:
    """`42 %`; a dash where it is not known."""
    return "–" if value is None else f"{100 * value:.0f} %"


def known(reliability: float) -> str:
    """`0.84`, rounded down: 0.799 is not yet 0.80."""
    return f"{floor(reliability * 100 + 1e-9) / 100:.2f}"


def chance(value: float | None) -> str:
    """A probability: never nought, never certainty."""
    if value is None:
        return "–"
    return "below 1 %" if value < 0.01 else "above 99 %" if value > 0.99 else share(value)


def seconds(value: float | None) -> str:
    """`4.2 s`, `2 min`; a dash where it is not known."""
    if value is None:
        return "–"
    return f"{value:.1f} s" if value < 60 else f"{value / 60:.0f} min"


def number(count: int, one: str, many: str | None = None) -> str:
    """`1 ward`, `1,204 wards`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


AGES = ((60, 1, "second"), (3600, 60, "minute"), (86400, 3600, "hour"), (None, 86400, "day"))


def ago(then: datetime, now: datetime) -> str:
    """How long ago: `2 seconds ago`."""
    passed = max((now - then).total_seconds(), 0)
    unit, name = next((u, n) for end, u, n in AGES if end is None or passed < end)
    return f"{number(int(passed / unit), name)} ago"


def moment(at: datetime) -> str:
    """`12 Mar 2026, 14:03 UTC`."""
    return f"{at.day} {at:%b %Y, %H:%M} UTC"


def short(judge: str) -> str:
    """The first letters of a judge's id."""
    return judge if len(judge) <= SHORT + 2 else f"{judge[:SHORT]}…"


def shorts(judges: Iterable[str]) -> dict[str, str]:
    """Short ids that still tell judges apart; where they would not, the whole id."""
    brief = {judge: short(judge) for judge in judges}
    often = Counter(brief.values())
    return {judge: one if often[one] == 1 else judge for judge, one in brief.items()}


def sentence(fault: object) -> str:
    """A line of complaint as a sentence."""
    text = str(fault)
    return f"{text[:1].upper()}{text[1:]}."
