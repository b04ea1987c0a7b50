"""The ranking: every item from highest to lowest with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiewise.plots.canvas import (
    HIGH,
    INK,
    INNER,
    LOW,
    MARGIN,
    NEITHER,
    QUIET,
    ROW,
    Block,
    Margins,
    heading,
    notes,
    page,
    plain,
    plot,
    row_labels,
    spoken_or,
    styled,
    text_width,
)  # fmt: skip
from tiewise.plots.legends import End, said_below
from tiewise.report.answer import borrowed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tiewise.report.folder import Results

Floats = NDArray[np.float64]

MOST_NAMED = 110  # of up to so many items each has a row with its name
NAMED_AT_EACH_END = 25
RIGHT = 8.0  # points beside the chart
PITCH, SQUEEZED, GAP = 12.0, 150.0, 8.0  # points: a row, all rows without a name, around those


class Rows(NamedTuple):
    """The table from top to bottom: how high each item stands, and which have a name beside it."""

    table: pd.DataFrame
    height: Floats
    named: NDArray[np.bool_]
    tall: float


class Axis(NamedTuple):
    """What a row's numbers are: words, the number that is neither, and the colours of sides."""

    words: str = "quality, 0 the average"
    middle: float = 0.0
    below: str = LOW
    above: str = HIGH
    ticks: Mapping[float, str] | None = None


@styled
def ranking(
    results: Results, *, title: str | None = None, most: int = MOST_NAMED,
    ends: int = NAMED_AT_EACH_END,
) -> Figure:  # fmt: skip
    """Items from highest to lowest with their 95 % intervals, all with a name where not many.

    Of more than `most` items, `ends` at each end have a row with a name, and those between are
    squeezed together.
    """
    listing, left = listed_rows(results.items, most=most, ends=ends)
    foot = [
        "Dot: the median. Line: the 95 % interval. Red lies above the average, blue below it, "
        "and grey cannot be told from it."
    ]
    if (results.items["comparisons"] == 0).any():
        foot.append(f"Open and dashed means {borrowed(results)}.")
    return page(
        heading(spoken_or(title or results.about.question, "")),
        listing,
        _directions(results, left),
        notes(*foot),
    )


def listed_rows(
    table: pd.DataFrame, *, most: int = MOST_NAMED, ends: int = NAMED_AT_EACH_END,
    axis: Axis | None = None,
) -> tuple[Block, float]:  # fmt: skip
    """Rows of medians with their intervals, and how far from the left they begin."""
    rows, axis = _rows(table, most, ends), axis or Axis()
    names = [name for name, named in zip(row_labels(rows.table), rows.named, strict=True) if named]
    words = [*names, *_between(rows).splitlines()]
    left = max(text_width(line, ROW) for line in words) + 8
    return _chart(rows, names, left, axis), left


def _rows(table: pd.DataFrame, most: int, ends: int) -> Rows:
    """Where every row stands, in points from the bottom."""
    count = len(table)
    named = np.ones(count, bool)
    if count > most:
        named[ends : count - ends] = False
    step = np.where(named, PITCH, min(SQUEEZED / max((~named).sum(), 1), PITCH / 4))
    down = np.cumsum(step) - step / 2
    if not named.all():
        down[ends:] += GAP
        down[count - ends :] += GAP
    tall = float(down[-1] + step[-1] / 2)
    return Rows(table.reset_index(drop=True), tall - down, named, tall)


def _between(rows: Rows) -> str:
    """What to say beside the items without a name."""
    count = int((~rows.named).sum())
    return f"{count:,} more\nbetween" if count else ""


def _chart(rows: Rows, names: list[str], left: float, axis: Axis) -> Block:
    def paint(axes: Axes) -> None:
        axes.set_ylim(-2, rows.tall + 2)
        _guides(axes, rows, axis.middle)
        for those, line, dot in _looks(rows, axis):
            _draw_items(axes, rows, those, line, dot)
        axes.set_yticks(rows.height[rows.named], [plain(name) for name in names], size=ROW)
        axes.tick_params(axis="y", length=0, pad=4)
        axes.spines[["left"]].set_visible(False)
        low, high = _reach(rows.table, axis.middle)
        axes.set_xlim(low, high)
        if axis.ticks is not None:
            shown = [place for place in axis.ticks if low <= place <= high]
            axes.set_xticks(shown, [axis.ticks[place] for place in shown])
        axes.set_xlabel(axis.words, labelpad=2)

    return plot(rows.tall + 4 + 64, paint, Margins(left=left, right=RIGHT, bottom=38, top=26))


def _guides(axes: Axes, rows: Rows, middle: float) -> None:
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.axvline(middle, color=INK, linewidth=0.8, zorder=1)
    axes.tick_params(axis="x", top=True, labeltop=True, length=3)
    if not rows.named.all():
        between = rows.height[~rows.named]
        low, high = float(between.min()) - GAP / 2, float(between.max()) + GAP / 2
        axes.axhspan(low, high, color="#f4f4f4", linewidth=0, zorder=0)
        axes.annotate(
            _between(rows), (0, (low + high) / 2), (-6, 0), va="center",
            xycoords=("axes fraction", "data"), textcoords="offset points", ha="right",
            size=ROW, color=QUIET,
        )  # fmt: skip


def _looks(rows: Rows, axis: Axis) -> list[tuple[NDArray[np.bool_], str, bool]]:
    """Which items have which colour, and whether their dot is full: those that were compared."""
    table = rows.table
    above = (table["q2.5"] > axis.middle).to_numpy()
    below = (table["q97.5"] < axis.middle).to_numpy()
    silent = (table["comparisons"] == 0).to_numpy()
    sides = ((~above & ~below, NEITHER), (below, axis.below), (above, axis.above))
    return [
        (side & (silent == quiet), colour, not quiet)
        for side, colour in sides
        for quiet in (False, True)
    ]


def _draw_items(axes: Axes, rows: Rows, those: NDArray[np.bool_], colour: str, full: bool) -> None:
    """Intervals and medians of some items that look alike, large beside names and small between."""
    for named, line, dot in ((True, 1.8, 18.0), (False, 0.6, 2.0)):
        some = those & (rows.named == named)
        if not some.any():
            continue
        table, height = rows.table[some], rows.height[some]
        _strokes(axes, table["q2.5"], table["q97.5"], height, colour, line, full)
        axes.scatter(
            table["median"], height, s=dot, marker="o", zorder=3, linewidths=0.4 + line / 3,
            facecolors=colour if full else "white", edgecolors=colour,
        )  # fmt: skip


def _strokes(
    axes: Axes, start: pd.Series, end: pd.Series, height: Floats, colour: str, width: float,
    full: bool,
) -> None:  # fmt: skip
    """Horizontal lines as one path: a file with a path for each of 2,000 would be large."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    ends = np.column_stack([start, height, end, height])
    ends = ends[np.isfinite(ends).all(axis=1)]
    path = Path(ends.reshape(-1, 2), [Path.MOVETO, Path.LINETO] * len(ends))
    axes.add_patch(
        PathPatch(path, fill=False, edgecolor=colour, linewidth=width, alpha=0.6, zorder=2,
                  linestyle="-" if full else (0, (2, 1.5)), capstyle="butt")
    )  # fmt: skip


def _reach(table: pd.DataFrame, middle: float) -> tuple[float, float]:
    """From the lowest end of an interval to the highest, and a little more."""
    values = table[["median", "q2.5", "q97.5"]].to_numpy(float)
    known = values[np.isfinite(values)]
    low, high = min(float(known.min()), middle), max(float(known.max()), middle)
    room = 0.03 * (high - low) or 1.0
    return low - room, high + room


def _directions(results: Results, left: float) -> Block:
    """Which way is higher, below the axis."""
    about = results.about
    lower, higher = spoken_or(about.lower, "lower"), spoken_or(about.higher, "higher")
    ends = End(f"← {lower}", ""), End("", ""), End(f"{higher} →", "")
    return said_below(ends, INNER - left - RIGHT, MARGIN + left)
