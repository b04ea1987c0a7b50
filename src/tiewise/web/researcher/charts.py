"""Small plots for pages: where their points and marks lie; templates draw them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from tiewise.study.activity import Day
from tiewise.web.researcher.estimates import Estimate

WIDE, TALL = 340, 164
LEFT, RIGHT, ABOVE, BELOW = 36, 8, 10, 36
"""Room for the numbers beside a plot."""
DAYS = 28
BAR = 120.0


class Mark(NamedTuple):
    """A number beside a plot, and where it stands."""

    at: float
    says: str


class Plot(NamedTuple):
    """A line, the band around it, and the numbers of both axes."""

    line: str
    band: str
    across: tuple[Mark, ...]
    up: tuple[Mark, ...]
    level: float | None = None
    """Where a line is drawn through what is wanted."""
    end: tuple[float, float] | None = None
    """The last point, where it is marked."""


class Frame(NamedTuple):
    """Maps values to places on the paper."""

    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, value: float) -> float:
        """From the left."""
        low, high = self.x
        share = (value - low) / ((high - low) or 1.0)
        return round(LEFT + share * (WIDE - LEFT - RIGHT), 1)

    def up(self, value: float) -> float:
        """From above."""
        low, high = self.y
        share = (value - low) / ((high - low) or 1.0)
        return round(TALL - BELOW - share * (TALL - ABOVE - BELOW), 1)

    def points(self, xs: Iterable[float], ys: Iterable[float]) -> str:
        """The points of a line."""
        return " ".join(f"{self.across(x)},{self.up(y)}" for x, y in zip(xs, ys, strict=True))


def trend(history: Sequence[tuple[int, float]], wanted: float) -> Plot | None:
    """Reliability over the number of comparisons; None while there is but one point."""
    if len(history) < 2:
        return None
    xs, ys = [point[0] for point in history], [point[1] for point in history]
    frame = Frame((min(xs), max(xs)), (0.0, 1.0))
    across = tuple(Mark(frame.across(x), f"{x:,}") for x in dict.fromkeys((min(xs), max(xs))))
    up = tuple(Mark(frame.up(y), f"{y:g}") for y in (0.0, 0.5, 1.0))
    end = frame.across(xs[-1]), frame.up(ys[-1])
    return Plot(frame.points(xs, ys), "", across, up, frame.up(wanted), end)


class Dot(NamedTuple):
    """An item of a dot plot: where its estimate lies, and its interval."""

    key: int
    side: str
    x: float
    middle: float
    low: float
    high: float


class Dots(NamedTuple):
    """All items from the highest to the lowest, with the numbers beside them."""

    dots: tuple[Dot, ...]
    step: float
    up: tuple[Mark, ...]
    average: float


def dots(rows: Sequence[Estimate]) -> Dots:
    """Every item as a dot with its interval, the highest on the left."""
    most = max((max(-row.low, row.high) for row in rows), default=0.0) or 1.0
    frame = Frame((0, max(len(rows), 1)), (-most, most))
    drawn = tuple(
        Dot(
            row.key,
            row.side,
            frame.across(k + 0.5),
            *map(frame.up, (row.median, row.low, row.high)),
        )
        for k, row in enumerate(rows)
    )
    up = tuple(Mark(frame.up(value), f"{value:+.1f}".replace("-", "−")) for value in (-most, most))
    return Dots(drawn, round(frame.across(1) - frame.across(0), 1), up, frame.up(0.0))


def tie_curve(curve: Mapping[str, Sequence[float]] | None) -> Plot | None:
    """The chance of a tie over the gap in quality, with its band."""
    if not curve:
        return None
    gap, most = curve["gap"], _ceiling(max(curve["high"]))
    frame = Frame((min(gap), max(gap)), (0.0, most))
    there = frame.points(gap, curve["high"])
    back = frame.points(reversed(gap), reversed(curve["low"]))
    across = tuple(Mark(frame.across(x), f"{x:g}") for x in _steps(min(gap), max(gap)))
    up = tuple(Mark(frame.up(y), f"{100 * y:.0f} %") for y in (0.0, most / 2, most))
    return Plot(frame.points(gap, curve["median"]), f"{there} {back}", across, up)


def _ceiling(share: float) -> float:
    """The next of 10, 20, … 100 %."""
    return next((k / 10 for k in range(1, 11) if k / 10 >= share), 1.0)


def _steps(low: float, high: float) -> list[float]:
    return [float(k) for k in range(round(low), int(high) + 1)][: 2 * DAYS]


class Column(NamedTuple):
    """A day's bar."""

    day: date
    comparisons: int
    x: float
    y: float
    width: float
    height: float


class Columns(NamedTuple):
    """Bars of days, and the numbers beside them."""

    bars: tuple[Column, ...]
    most: Mark
    ends: tuple[Mark, ...]


def columns(days: Sequence[Day], today: date) -> Columns | None:
    """A bar for each of the last days, since the first comparison at most; None without any."""
    if not days:
        return None
    counted = {one.day: one.comparisons for one in days}
    since = max(min(counted), today - timedelta(days=DAYS - 1))
    every = [since + timedelta(days=k) for k in range(max((today - since).days, 0) + 1)]
    most = max((counted.get(day, 0) for day in every), default=0) or 1
    frame = Frame((0, max(len(every), 7)), (0, most))
    bars = []
    for k, day in enumerate(every):
        left, right, top = frame.across(k), frame.across(k + 1), frame.up(counted.get(day, 0))
        width, height = round((right - left) * 0.8, 1), round(frame.up(0) - top, 1)
        bars.append(Column(day, counted.get(day, 0), left, top, width, height))
    ends = tuple(
        Mark(round(bar.x + bar.width / 2, 1), f"{bar.day.day} {bar.day:%b}")
        for bar in dict.fromkeys((bars[0], bars[-1]))
    )
    return Columns(tuple(bars), Mark(frame.up(most), f"{most:,}"), ends)


class Span(NamedTuple):
    """Where an interval is drawn in a row, on a line with the average in its middle."""

    left: float
    length: float
    middle: float


def spans(rows: Sequence[Estimate]) -> dict[str, Span]:
    """The interval of each item, all on one scale."""
    most = max((max(-row.low, row.high) for row in rows), default=0.0) or 1.0

    def at(value: float) -> float:
        return round(BAR / 2 * (1 + value / most), 1)

    return {
        row.item: Span(at(row.low), round(at(row.high) - at(row.low), 1), at(row.median))
        for row in rows
    }
