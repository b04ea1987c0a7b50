"""Panels that the figures of experiments are put together from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tiewise.experiments.experiment import decimal_places
from tiewise.experiments.timing import LABELS
from tiewise.geo.colours import EDGE, INK, LOW, MUTED, SERIES
from tiewise.plots.canvas import (
    INNER,
    MARGIN,
    SMALL,
    TEXT,
    Block,
    Margins,
    axes_at,
    panel,
    point_axes,
    space,
    text_at,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GRID = "#e6e6e6"
BARS = 12  # to a factor of ten
TALL = 234.0
COLOURS = {"transport": SERIES[0], "gibbs": SERIES[1], "metropolis": SERIES[2]}
MARKS = ("o", "s", "D", "^")


# Histograms by engine.


def by_engine(rows: pd.DataFrame, columns: Mapping[str, str]) -> list[Block]:
    """A row of histograms for each engine, on logarithmic axes that all rows share."""
    ends = {key: _decades(rows[key]) for key in columns}
    names = list(rows["engine"].unique())
    blocks = [
        _histograms(rows[rows["engine"] == name], ends, name, last=name == names[-1])
        for name in names
    ]
    return [_titles(columns), *blocks]


def _decades(values: pd.Series[float]) -> tuple[float, float]:
    """Powers of ten around all values."""
    log = np.log10(values)
    return 10.0 ** np.floor(log.min()), 10.0 ** np.ceil(log.max())


def _titles(columns: Mapping[str, str]) -> Block:
    def draw(figure: Figure, bottom: float) -> None:
        for k, words in enumerate(columns.values()):
            text_at(
                figure, MARGIN + k * (INNER / 2) + 6, bottom + 4, words, size=TEXT, weight="bold"
            )

    return Block(18, draw)


def _histograms(
    rows: pd.DataFrame, ends: Mapping[str, tuple[float, float]], name: str, *, last: bool
) -> Block:
    """One engine: a histogram for each column, side by side."""
    below = 34.0 if last else 6.0

    def draw(figure: Figure, bottom: float) -> None:
        for k, (key, (low, high)) in enumerate(ends.items()):
            left = MARGIN + k * (INNER / 2) + 6
            axes = axes_at(figure, left, bottom + below, INNER / 2 - 28, 62)
            edges = np.geomspace(low, high, round(BARS * np.log10(high / low)) + 1)
            axes.hist(rows[key], edges.tolist(), color=COLOURS.get(name, LOW), alpha=0.8)
            axes.set(xscale="log", xlim=(low, high), ylim=(0, len(rows)), yticks=[])
            axes.set_xticks(10.0 ** np.arange(np.log10(low), np.log10(high) + 0.5))
            axes.spines["left"].set_visible(False)
            axes.tick_params("x", which="minor", length=0)
            axes.tick_params("x", labelbottom=last)
            axes.xaxis.set_major_formatter(_thousands)
            side = "right" if np.log10(rows[key]).median() < np.log10(low * high) / 2 else "left"
            mean = rows[key].mean()
            words = f"{LABELS[name]}\nmean {mean:,.{decimal_places(mean)}f}"
            axes.text(
                0.99 if side == "right" else 0.01, 0.97, words, transform=axes.transAxes,
                ha=side, va="top", size=SMALL,
            )  # fmt: skip
            if last:
                axes.set_xlabel("effective draws a second")

    return Block(62 + below + 8, draw)


def _thousands(value: float, _place: float) -> str:
    """The number of a tick, short: two rows of them stand side by side."""
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


# Growth.


def growth(table: pd.DataFrame, timings: pd.DataFrame, power: Callable[[str], float]) -> Block:
    """Seconds against items, a line for each engine with its power of N at the end."""

    def paint(axes: Axes) -> None:
        for name in LABELS:
            own = timings[timings["engine"] == name]
            axes.scatter(own["items"], own["whole_seconds"], s=7, color=COLOURS[name], alpha=0.35,
                         linewidths=0)  # fmt: skip
            axes.plot(table["items"], table[name], color=COLOURS[name], linewidth=1.6, marker="o",
                      markersize=4)  # fmt: skip
        axes.set(xscale="log", yscale="log", xlabel="items N", ylabel="seconds")
        _named(axes, table, power)
        axes.set_xticks(table["items"], [f"{n:,.0f}" for n in table["items"]])
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.4g}")
        axes.tick_params("both", which="minor", length=0)
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)

    return panel(TALL + 58, paint, Margins(left=50, right=70, bottom=38, top=20))


def _named(axes: Axes, table: pd.DataFrame, power: Callable[[str], float]) -> None:
    """Names at the ends of lines, none over another."""
    items = float(table["items"].max())
    ends = {name: float(table.loc[table["items"] == items, name].iloc[0]) for name in LABELS}
    low, high = np.log(axes.get_ylim())
    above = -np.inf
    for name, end in sorted(ends.items(), key=lambda one: one[1]):
        here = TALL * (np.log(end) - low) / (high - low)
        above = max(here, above + 2.3 * SMALL)
        axes.annotate(
            f"{LABELS[name]}\n$N^{{{power(name):.1f}}}$", (items, end), (7, above - here),
            textcoords="offset points", va="center", size=SMALL, color=COLOURS[name],
            annotation_clip=False,
        )  # fmt: skip


# Strips: studies as dots, side by side.


def strips(
    rows: pd.DataFrame,
    by: str,
    shown: Mapping[str, str],
    *,
    even: Mapping[str, float] | None = None,
) -> list[Block]:
    """A panel for each column: studies as dots in strips, with median and quartiles."""
    names = list(rows[by].unique())
    blocks: list[Block] = []
    for key, words in shown.items():
        at = (even or {}).get(key)
        blocks += [_headed(words), panel(104, _strip(rows, by, names, key, at), _STRIP), space(4)]
    return blocks


_STRIP = Margins(left=42, right=4, bottom=22, top=4)


def _strip(
    rows: pd.DataFrame, by: str, names: Sequence[str], key: str, even: float | None
) -> Callable[[Axes], None]:
    def paint(axes: Axes) -> None:
        for k, name in enumerate(names):
            values = rows.loc[rows[by] == name, key].to_numpy()
            # Spread out evenly in their order, which needs no random numbers.
            aside = 0.26 * ((np.arange(len(values)) * 0.618) % 1 - 0.5)
            axes.scatter(k + aside, values, s=6, color=LOW, alpha=0.35, linewidths=0)
            low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
            axes.vlines(k + 0.24, low, high, color=INK, linewidth=2)
            axes.scatter([k + 0.24], [middle], s=20, color=INK, zorder=3)
        if even is not None:
            axes.axhline(even, color=EDGE, linewidth=1, linestyle=(0, (2, 2)), zorder=0)
        axes.set_xlim(-0.5, len(names) - 0.5)
        axes.set_ylim(bottom=0)
        axes.locator_params(axis="y", nbins=5)
        axes.set_xticks(range(len(names)), names)
        axes.tick_params("x", length=0)
        axes.grid(axis="y", color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)

    return paint


def _headed(words: str) -> Block:
    """What a panel shows, above it."""

    def draw(figure: Figure, bottom: float) -> None:
        text_at(figure, MARGIN, bottom + 4, words, size=TEXT, weight="bold", color=INK)

    return Block(16, draw)


# Lines by group.


def lines(
    table: pd.DataFrame,
    across: str,
    by: str,
    shown: Mapping[str, str],
    *,
    even: Mapping[str, float],
    doubling: Sequence[str] = (),
) -> list[Block]:
    """A panel for each column: means with two standard errors, a line for each group.

    Those `doubling` have an axis on which a doubling is a step of the same length everywhere.
    """
    blocks: list[Block] = [_key(list(table[by].unique())), space(6)]
    for key, words in shown.items():
        paint = _lines(table, across, by, key, even.get(key), doubling=key in doubling)
        blocks += [_headed(words), panel(112, paint, Margins(42, 4, 24, 4)), space(4)]
    return blocks


def _key(names: Sequence[str]) -> Block:
    """Which mark is whose, two to a line."""

    def draw(figure: Figure, bottom: float) -> None:
        axes = point_axes(figure, MARGIN, bottom, INNER, 34)
        for k, name in enumerate(names):
            x, y = 8 + (k % 2) * INNER / 2, 25 - 16 * (k // 2)
            axes.plot([x - 6, x + 6], [y, y], color=SERIES[k], linewidth=1.6)
            axes.scatter([x], [y], s=24, color=SERIES[k], marker=MARKS[k])
            axes.text(x + 12, y, f"ties {name}", va="center", size=SMALL, color=MUTED)

    return Block(36, draw)


def _lines(
    table: pd.DataFrame, across: str, by: str, key: str, even: float | None, *, doubling: bool
) -> Callable[[Axes], None]:
    def paint(axes: Axes) -> None:
        spots = sorted(table[across].unique())
        for k, (_, rows) in enumerate(table.groupby(by, sort=False)):
            x = np.array([spots.index(value) for value in rows[across]]) + 0.05 * (k - 1.5)
            axes.errorbar(
                x, rows[key], yerr=2 * rows[f"{key}_error"], color=SERIES[k], marker=MARKS[k],
                markersize=4.5, linewidth=1.4, elinewidth=1,
            )  # fmt: skip
        if even is not None:
            axes.axhline(even, color=EDGE, linewidth=1, linestyle=(0, (2, 2)), zorder=0)
        if doubling:
            _doubled(axes)
        axes.set_xlim(-0.4, len(spots) - 0.6)
        axes.set_xticks(range(len(spots)), [f"{100 * value:.0f} % ties" for value in spots])
        axes.tick_params("x", length=0)
        axes.grid(axis="y", color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)

    return paint


def _doubled(axes: Axes) -> None:
    """A logarithmic axis with a label at every power of 2."""
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


# Coverage.


def coverage_rows(table: pd.DataFrame, levels: Sequence[float]) -> list[Block]:
    """A panel for each kind of truth: shares of intervals that hold, by parameter and level."""
    blocks: list[Block] = []
    for label, rows in table.groupby("label", sort=False):
        height = 30.0 + 26 * len(rows)
        words = f"Truth: {label}"
        paint = _coverage(rows, levels)
        blocks += [_headed(words), panel(height + 16, paint, Margins(72, 8, 34, 4)), space(6)]
    return blocks


def _coverage(rows: pd.DataFrame, levels: Sequence[float]) -> Callable[[Axes], None]:
    def paint(axes: Axes) -> None:
        for level, colour in zip(levels, SERIES, strict=False):
            key = f"held_{100 * level:.0f}"
            axes.axvline(100 * level, color=colour, linewidth=1, linestyle=(0, (3, 2)))
            y = -np.arange(len(rows), dtype=float)
            axes.errorbar(
                100 * rows[key], y, xerr=200 * rows[f"{key}_error"], color=colour, fmt="o",
                markersize=5, elinewidth=1.4,
            )  # fmt: skip
        axes.set_xlim(35, 100)
        axes.set_ylim(0.6 - len(rows), 0.6)
        axes.set_yticks(-np.arange(len(rows)), rows["what"])
        axes.tick_params("y", length=0)
        axes.set_xlabel("% of intervals that hold the truth")
        axes.grid(axis="x", color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)

    return paint
