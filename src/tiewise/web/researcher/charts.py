"""Small plots for pages: the coordinates of what templates draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from math import floor, log10
from typing import NamedTuple

from tiewise.study.activity import DayCount
from tiewise.text import percent
from tiewise.web.researcher.estimates import LOGITS, ItemEstimate, ShownScale

WIDE, TALL = 340, 164
LEFT, RIGHT, ABOVE, BELOW = 36, 8, 10, 36
"""Room for the numbers beside a plot."""
DAYS = 28
BAR = 120.0


class AxisLabel(NamedTuple):
    """A number beside a plot, and its position along the axis."""

    position: float
    text: str


class LinePlot(NamedTuple):
    """A line, the band around it, and the numbers of both axes."""

    line: str
    band: str
    across: tuple[AxisLabel, ...]
    up: tuple[AxisLabel, ...]
    level: float | None = None
    """Height of the line through the target."""
    end: tuple[float, float] | None = None
    """The last point, where it is marked."""


class PlotScale(NamedTuple):
    """Maps values to coordinates of the drawing."""

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


def reliability_plot(history: Sequence[tuple[int, float]], target: float) -> LinePlot | None:
    """Reliability over the number of comparisons; None for fewer than two points."""
    if len(history) < 2:
        return None
    xs, ys = [point[0] for point in history], [point[1] for point in history]
    scale = PlotScale((min(xs), max(xs)), (0.0, 1.0))
    across = tuple(AxisLabel(scale.across(x), f"{x:,}") for x in dict.fromkeys((min(xs), max(xs))))
    up = tuple(AxisLabel(scale.up(y), f"{y:g}") for y in (0.0, 0.5, 1.0))
    end = scale.across(xs[-1]), scale.up(ys[-1])
    return LinePlot(scale.points(xs, ys), "", across, up, scale.up(target), end)


class IntervalDot(NamedTuple):
    """An item of a dot plot: its estimate and its interval."""

    key: int
    side: str
    uncompared: bool
    x: float
    middle: float
    low: float
    high: float


class DotPlot(NamedTuple):
    """All items from the highest to the lowest, with the numbers beside them."""

    dots: tuple[IntervalDot, ...]
    step: float
    up: tuple[AxisLabel, ...]
    """At the lower end, the average and the upper end."""
    average: float


def dot_plot(rows: Sequence[ItemEstimate], shown: ShownScale = LOGITS) -> DotPlot:
    """Every item as a dot with its interval, the highest on the left."""
    middle, most = shown.middle, _reach(rows, shown)
    scale = PlotScale((0, max(len(rows), 1)), (middle - most, middle + most))
    dots = tuple(
        IntervalDot(
            row.key,
            row.side,
            row.uncompared,
            scale.across(k + 0.5),
            *map(scale.up, (row.estimate, row.low, row.high)),
        )
        for k, row in enumerate(rows)
    )
    places = map(scale.up, (middle - most, middle, middle + most))
    up = tuple(map(AxisLabel, places, shown.ends(most)))
    return DotPlot(dots, round(scale.across(1) - scale.across(0), 1), up, scale.up(middle))


def _reach(rows: Sequence[ItemEstimate], shown: ShownScale) -> float:
    """How far the intervals reach from the average, to either side."""
    reach = (max(shown.middle - row.low, row.high - shown.middle) for row in rows)
    return max(reach, default=0.0) or 1.0


def tie_curve(
    curve: Mapping[str, Sequence[float]] | None, shown: ShownScale = LOGITS
) -> LinePlot | None:
    """The probability of a tie over the gap between two items, with its band."""
    if not curve:
        return None
    gap, most = curve["gap"], _ceiling(max(curve["high"]))
    scale = PlotScale((min(gap), max(gap)), (0.0, most))
    above = scale.points(gap, curve["high"])
    below = scale.points(reversed(gap), reversed(curve["low"]))
    up = tuple(AxisLabel(scale.up(y), percent(y)) for y in (0.0, most / 2, most))
    across = gap_labels(scale, shown)
    return LinePlot(scale.points(gap, curve["median"]), f"{above} {below}", across, up)


def gap_labels(scale: PlotScale, shown: ShownScale = LOGITS) -> tuple[AxisLabel, ...]:
    """Round numbers along an axis of gaps in quality, in units of the scale that is shown."""
    unit = shown.per_logit
    step = _round_step(unit * (scale.x[1] - scale.x[0]) / 5)
    values = _steps(unit * scale.x[0] / step, unit * scale.x[1] / step)
    return tuple(AxisLabel(scale.across(step * k / unit), f"{step * k:g}") for k in values)


def _round_step(size: float) -> float:
    """The nearest of 1, 2 and 5, times a power of ten."""
    power = 10.0 ** floor(log10(size))
    return min((power * k for k in (1, 2, 5, 10)), key=lambda step: abs(step - size))


def _ceiling(share: float) -> float:
    """The next of 10, 20, … 100 %."""
    return next((k / 10 for k in range(1, 11) if k / 10 >= share), 1.0)


def _steps(low: float, high: float) -> list[float]:
    return [float(k) for k in range(round(low), int(high) + 1)][: 2 * DAYS]


class DayBar(NamedTuple):
    """A day's bar."""

    day: date
    comparisons: int
    x: float
    y: float
    width: float
    height: float


class DayPlot(NamedTuple):
    """Bars of days, and the numbers beside them."""

    bars: tuple[DayBar, ...]
    most: AxisLabel
    ends: tuple[AxisLabel, ...]


def day_plot(days: Sequence[DayCount], today: date) -> DayPlot | None:
    """A bar for each of the last days, since the first comparison at most; None without any."""
    if not days:
        return None
    counts = {day.day: day.comparisons for day in days}
    since = max(min(counts), today - timedelta(days=DAYS - 1))
    every = [since + timedelta(days=k) for k in range(max((today - since).days, 0) + 1)]
    most = max((counts.get(day, 0) for day in every), default=0) or 1
    scale = PlotScale((0, max(len(every), 7)), (0, most))
    bars = []
    for k, day in enumerate(every):
        left, right, top = scale.across(k), scale.across(k + 1), scale.up(counts.get(day, 0))
        width, height = round((right - left) * 0.8, 1), round(scale.up(0) - top, 1)
        bars.append(DayBar(day, counts.get(day, 0), left, top, width, height))
    ends = tuple(
        AxisLabel(round(bar.x + bar.width / 2, 1), f"{bar.day.day} {bar.day:%b}")
        for bar in dict.fromkeys((bars[0], bars[-1]))
    )
    return DayPlot(tuple(bars), AxisLabel(scale.up(most), f"{most:,}"), ends)


class IntervalBar(NamedTuple):
    """The interval of an item on a line with the average in its middle."""

    left: float
    length: float
    middle: float


def interval_bars(
    rows: Sequence[ItemEstimate], shown: ShownScale = LOGITS
) -> dict[str, IntervalBar]:
    """The interval of each item, all on one scale."""
    most = _reach(rows, shown)

    def position(value: float) -> float:
        return round(BAR / 2 * (1 + (value - shown.middle) / most), 1)

    return {
        row.item: IntervalBar(
            position(row.low),
            round(position(row.high) - position(row.low), 1),
            position(row.estimate),
        )
        for row in rows
    }
