"""The ranking: items from highest to lowest with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiewise.geo.colours import GRID, HIGH, INK, LOW, MUTED, NEUTRAL
from tiewise.plots.canvas import (
    INNER,
    MARGIN,
    ROW,
    Block,
    Margins,
    escape_math,
    heading,
    notes,
    page,
    panel,
    row_labels,
    space,
    styled,
    text_or,
    text_width,
)  # fmt: skip
from tiewise.plots.captions import highest_and_lowest, number_of_items, uncompared_items
from tiewise.plots.definition import PlotDefinition
from tiewise.plots.legends import BarLabel, labels_below
from tiewise.posterior.bands.sentences import item_bands, shows_bands
from tiewise.posterior.diagnostics import MANY_ITEMS
from tiewise.posterior.phrases import uncompared_note
from tiewise.posterior.scales.display_scale import ShownScores, shown_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tiewise.posterior.results_folder import Results

Floats = NDArray[np.float64]

BARS = 60  # of the histogram
MOST_NAMED = 110  # of up to so many items each has a row with its name
NAMED_AT_EACH_END = 25
RIGHT = 8.0  # points beside the rows
# Points: a row with a name, all rows without one together, the space around those, and what
# stands for rows that were left out.
ROW_HEIGHT, UNNAMED_HEIGHT, GAP, LEFT_OUT_HEIGHT = 12.0, 150.0, 8.0, 44.0


class RowLayout(NamedTuple):
    """A table from top to bottom: the height of each row, and which have a name beside it."""

    table: pd.DataFrame
    height: Floats
    named: NDArray[np.bool_]
    total_height: float
    left_out: int = 0
    """Rows in the middle that are not in the table."""


class RowAxis(NamedTuple):
    """The axis of rows: its label, its middle, the colours below and above that, and its ticks."""

    label: str = "quality, 0 the average"
    middle: float = 0.0
    below: str = LOW
    above: str = HIGH
    ticks: Mapping[float, str] | None = None


@styled
def ranking_plot(
    results: Results, *, title: str | None = None, most: int = MOST_NAMED,
    ends: int = NAMED_AT_EACH_END,
) -> Figure:  # fmt: skip
    """Items from highest to lowest with their 95 % intervals, all with a name where not many.

    Of more than `most` items, `ends` at each end have a row with a name, and those between are
    packed together.
    """
    if len(results.items) > MANY_ITEMS:
        return _ends_and_histogram(results, title, ends)
    scores = shown_scores(results)
    table = scores.rows
    if not shows_bands(results):
        table = table.drop(columns=["band"], errors="ignore")
    listing, left = interval_rows(table, most=most, ends=ends, axis=_axis(scores), estimate="mean")
    foot = [
        "Dot: the estimate. Line: the 95 % interval. Red lies above the average, blue below it, "
        "and grey cannot be told from it."
    ]
    if "band" in table:
        foot.append("Lines from side to side part bands that can be told apart.")
    if (results.items["comparisons"] == 0).any():
        foot.append(f"Open and dashed means {uncompared_note(results)}.")
    foot += scores.meaning(results)
    return page(
        heading(text_or(title or results.wording.question, "")),
        listing,
        _directions(results, left),
        notes(*foot),
    )


def _ends_and_histogram(results: Results, title: str | None, ends: int) -> Figure:
    """Of very many items the highest and the lowest by name, and a histogram of all."""
    scores = shown_scores(results)
    table = scores.rows
    some = pd.concat([table.head(ends), table.tail(ends)])
    left_out = len(table) - len(some)
    listing, left = interval_rows(some, axis=_axis(scores), estimate="mean", left_out=left_out)
    every = number_of_items(results)
    return page(
        heading(text_or(title or results.wording.question, "")),
        notes(f"The {ends} highest and the {ends} lowest of {every}."),
        listing,
        _directions(results, left),
        notes(
            "Dot: the estimate. Line: the 95 % interval. Red lies above the average, blue below "
            "it, and grey cannot be told from it."
        ),
        space(10),
        heading("", f"Estimates of all {every}"),
        panel(130, lambda axes: _paint_histogram(axes, table, _axis(scores))),
        notes(
            "Red and blue: the whole 95 % interval lies above the average, or below it.",
            *scores.meaning(results),
        ),
    )


def _axis(scores: ShownScores) -> RowAxis:
    """The axis of the scale on which results are shown."""
    return RowAxis(scores.scale.axis, scores.middle)


def _paint_histogram(axes: Axes, table: pd.DataFrame, axis: RowAxis) -> None:
    """How many estimates are where, by whether they can be told from the average."""
    mean = table["mean"].to_numpy(float)
    edges = np.linspace(mean.min(), mean.max(), BARS + 1)
    above, below = table["above"].to_numpy(), table["below"].to_numpy()
    base = np.zeros(BARS)
    for those, colour in ((below, LOW), (~above & ~below, NEUTRAL), (above, HIGH)):
        counts = np.histogram(mean[those], edges)[0]
        axes.stairs(base + counts, edges, baseline=base, fill=True, color=colour, linewidth=0)
        base = base + counts
    axes.axvline(axis.middle, color=INK, linewidth=0.8)
    axes.set(xlim=(edges[0], edges[-1]), ylim=(0, None))
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(axis.label)
    axes.set_ylabel("number")
    axes.yaxis.set_major_formatter("{x:,.0f}")


def _caption(results: Results) -> str:
    table = results.items
    above, below = int((table["q2.5"] > 0).sum()), int((table["q97.5"] < 0).sum())
    return (
        f"{number_of_items(results)} from highest to lowest. {highest_and_lowest(results)} The "
        f"95 % interval of {above:,} lies wholly above the average, that of {below:,} below "
        f"it.{uncompared_items(results)}"
    )


RANKING = PlotDefinition("ranking", "Ranking", ranking_plot, _caption, criticism=True)


def interval_rows(
    table: pd.DataFrame, *, most: int = MOST_NAMED, ends: int = NAMED_AT_EACH_END,
    axis: RowAxis | None = None, estimate: str = "median", left_out: int = 0,
) -> tuple[Block, float]:  # fmt: skip
    """Rows of estimates with their intervals, and how far from the left they begin.

    Where so many were `left_out` of the middle of the table, that is said between both halves.
    """
    rows = _rows(table.assign(estimate=table[estimate]), most, ends)
    if left_out:
        rows = _with_gap(rows, left_out)
    axis = axis or RowAxis()
    names = [name for name, named in zip(row_labels(rows.table), rows.named, strict=True) if named]
    words = [*names, *_between(rows).splitlines()]
    left = max(text_width(line, ROW) for line in words) + 8
    return _row_panel(rows, names, left, axis), left


def _rows(table: pd.DataFrame, most: int, ends: int) -> RowLayout:
    """The height of every row, in points from the bottom."""
    count = len(table)
    named = np.ones(count, bool)
    if count > most:
        named[ends : count - ends] = False
    step = np.where(named, ROW_HEIGHT, min(UNNAMED_HEIGHT / max((~named).sum(), 1), ROW_HEIGHT / 4))
    down = np.cumsum(step) - step / 2
    if not named.all():
        down[ends:] += GAP
        down[count - ends :] += GAP
    total = float(down[-1] + step[-1] / 2)
    return RowLayout(table.reset_index(drop=True), total - down, named, total)


def _with_gap(rows: RowLayout, left_out: int) -> RowLayout:
    """The same rows with room in their middle for those that were left out."""
    half = len(rows.height) // 2
    height = rows.height.copy()
    height[:half] += LEFT_OUT_HEIGHT
    total = rows.total_height + LEFT_OUT_HEIGHT
    return rows._replace(height=height, total_height=total, left_out=left_out)


def _between(rows: RowLayout) -> str:
    """The label beside the rows without a name."""
    count = int((~rows.named).sum()) + rows.left_out
    return f"{count:,} more\nbetween" if count else ""


def _row_panel(rows: RowLayout, names: list[str], left: float, axis: RowAxis) -> Block:
    def paint(axes: Axes) -> None:
        axes.set_ylim(-2, rows.total_height + 2)
        _draw_guides(axes, rows, axis.middle)
        for those, colour, filled in _row_styles(rows, axis):
            _draw_items(axes, rows, those, colour, filled)
        axes.set_yticks(rows.height[rows.named], [escape_math(name) for name in names], size=ROW)
        axes.tick_params(axis="y", length=0, pad=4)
        axes.spines[["left"]].set_visible(False)
        low, high = _x_limits(rows.table, axis.middle)
        axes.set_xlim(low, high)
        if axis.ticks is not None:
            ticks = [tick for tick in axis.ticks if low <= tick <= high]
            axes.set_xticks(ticks, [axis.ticks[tick] for tick in ticks])
        axes.set_xlabel(axis.label, labelpad=2)

    return panel(
        rows.total_height + 4 + 64, paint, Margins(left=left, right=RIGHT, bottom=38, top=26)
    )


def _draw_guides(axes: Axes, rows: RowLayout, middle: float) -> None:
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.axvline(middle, color=INK, linewidth=0.8, zorder=1)
    axes.tick_params(axis="x", top=True, labeltop=True, length=3)
    _draw_bands(axes, rows)
    band = _band(rows)
    if band is not None:
        low, high = band
        axes.axhspan(low, high, color="#f4f4f4", linewidth=0, zorder=0)
        axes.annotate(
            _between(rows), (0, (low + high) / 2), (-6, 0), va="center",
            xycoords=("axes fraction", "data"), textcoords="offset points", ha="right",
            size=ROW, color=MUTED,
        )  # fmt: skip


def _draw_bands(axes: Axes, rows: RowLayout) -> None:
    """A line wherever one band ends, and where the next begins."""
    band = item_bands(rows.table)
    if band is None or rows.left_out:
        return
    last = np.flatnonzero(np.diff(band.to_numpy()))
    for height in (rows.height[last] + rows.height[last + 1]) / 2:
        axes.axhline(height, color=MUTED, linewidth=0.9, zorder=1)


def _band(rows: RowLayout) -> tuple[float, float] | None:
    """From where to where rows have no name, or were left out."""
    if rows.left_out:
        half = len(rows.height) // 2
        edges = rows.height[half] + ROW_HEIGHT / 2, rows.height[half - 1] - ROW_HEIGHT / 2
        return float(edges[0]) + GAP / 2, float(edges[1]) - GAP / 2
    if rows.named.all():
        return None
    between = rows.height[~rows.named]
    return float(between.min()) - GAP / 2, float(between.max()) + GAP / 2


def _row_styles(rows: RowLayout, axis: RowAxis) -> list[tuple[NDArray[np.bool_], str, bool]]:
    """Which items have which colour, and whether their dot is filled: those that were compared."""
    table = rows.table
    # On a scale of its own, whether a score is above the average is known from its quality.
    above = (table["above"] if "above" in table else table["q2.5"] > axis.middle).to_numpy()
    below = (table["below"] if "below" in table else table["q97.5"] < axis.middle).to_numpy()
    uncompared = (table["comparisons"] == 0).to_numpy()
    sides = ((~above & ~below, NEUTRAL), (below, axis.below), (above, axis.above))
    return [
        (side & (uncompared == hollow), colour, not hollow)
        for side, colour in sides
        for hollow in (False, True)
    ]


def _draw_items(
    axes: Axes, rows: RowLayout, those: NDArray[np.bool_], colour: str, filled: bool
) -> None:
    """Intervals and estimates of items of one style, large beside names and small between."""
    for named, line, dot in ((True, 1.8, 18.0), (False, 0.6, 2.0)):
        some = those & (rows.named == named)
        if not some.any():
            continue
        table, height = rows.table[some], rows.height[some]
        _draw_intervals(axes, table["q2.5"], table["q97.5"], height, colour, line, filled)
        axes.scatter(
            table["estimate"], height, s=dot, marker="o", zorder=3, linewidths=0.4 + line / 3,
            facecolors=colour if filled else "white", edgecolors=colour,
        )  # fmt: skip


def _draw_intervals(
    axes: Axes, start: pd.Series, end: pd.Series, height: Floats, colour: str, width: float,
    filled: bool,
) -> None:  # fmt: skip
    """Horizontal lines as one path: a file with a path for each of 2,000 would be large."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    ends = np.column_stack([start, height, end, height])
    ends = ends[np.isfinite(ends).all(axis=1)]
    path = Path(ends.reshape(-1, 2), [Path.MOVETO, Path.LINETO] * len(ends))
    axes.add_patch(
        PathPatch(path, fill=False, edgecolor=colour, linewidth=width, alpha=0.6, zorder=2,
                  linestyle="-" if filled else (0, (2, 1.5)), capstyle="butt")
    )  # fmt: skip


def _x_limits(table: pd.DataFrame, middle: float) -> tuple[float, float]:
    """From the lowest end of an interval to the highest, with a margin."""
    values = table[["estimate", "q2.5", "q97.5"]].to_numpy(float)
    known = values[np.isfinite(values)]
    low, high = min(float(known.min()), middle), max(float(known.max()), middle)
    room = 0.03 * (high - low) or 1.0
    return low - room, high + room


def _directions(results: Results, left: float) -> Block:
    """Labels below the axis: which side is lower, and which higher."""
    wording = results.wording
    lower, higher = text_or(wording.lower, "lower"), text_or(wording.higher, "higher")
    labels = BarLabel(f"← {lower}", ""), BarLabel("", ""), BarLabel(f"{higher} →", "")
    return labels_below(labels, INNER - left - RIGHT, MARGIN + left)
