"""Time and memory against items and against comparisons: `… FOLDER`. Slopes are fitted."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from benchmarks.large.table import PICTURES
from benchmarks.table import read_large
from benchmarks.targets import Row

PANELS = {"seconds": ("wall s", "#b2182b"), "cpu_s": ("processor s", "#67a9cf")}
MEMORY = {"peak_mb": ("peak MB", "#1b7837")}
LARGEST_PART = 10.5
"""A slope is fitted to the cases of the last tenfold: below, starting Python is most of it."""


def slope(sizes: Sequence[float], figures: Sequence[float]) -> float | None:
    """The power with which figures grow, by least squares over the last tenfold of sizes."""
    size, figure = np.asarray(sizes, float), np.asarray(figures, float)
    last = size >= size.max(initial=0.0) / LARGEST_PART
    if last.sum() < 2:
        return None
    return float(np.polyfit(np.log(size[last]), np.log(figure[last]), 1)[0])


def draw(rows: Sequence[Row], place: Path, name: str, size: str) -> None:
    """A picture of two panels, as PNG and SVG; nothing where there are not two cases."""
    if len(rows) < 2:
        return
    mpl.use("agg")
    # A picture drawn again from the same results is the same file.
    mpl.rcParams["svg.hashsalt"] = "tiewise"
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
    _panel(panels[0], rows, size, PANELS)
    _panel(panels[1], rows, size, MEMORY)
    figure.suptitle(PICTURES[name], fontsize=10)
    figure.savefig(place / f"{name}.png", dpi=150)
    figure.savefig(place / f"{name}.svg", metadata={"Date": None})


def _panel(axes: Any, rows: Sequence[Row], size: str, lines: dict[str, tuple[str, str]]) -> None:
    """Lines over the sizes, each with its slope."""
    sizes = [row[size] for row in rows]
    for what, (label, colour) in lines.items():
        figures = [row[what] for row in rows]
        steep = slope(sizes, figures)
        words = label if steep is None else f"{label}: slope {steep:.2f} over the last tenfold"
        axes.plot(sizes, figures, "o-", color=colour, linewidth=2, markersize=4.5, label=words)
    axes.set(xscale="log", yscale="log", xlabel=size)
    axes.set_ylim(top=axes.get_ylim()[1] * 1.6)
    ticks = [each for each in sizes if str(each)[0] in "13"]
    axes.set_xticks(ticks, [_short(each) for each in ticks])
    axes.minorticks_off()
    axes.yaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, loc="upper left", frameon=False)


def _short(size: int) -> str:
    if size >= 1_000_000:
        return f"{size / 1e6:g} M"
    return f"{size / 1000:g} k" if size >= 1000 else str(size)


def main() -> None:
    """Draw what there is."""
    place = Path(sys.argv[1])
    measured = [row for row in read_large(place).values() if "seconds" in row]
    for name, kind, size in (
        ("scaling-items", "items", "items"),
        ("scaling-comparisons", "votes", "comparisons"),
    ):
        rows = [row for row in measured if row["kind"] == kind]
        draw(sorted(rows, key=lambda row: int(row[size])), place, name, size)


if __name__ == "__main__":
    main()
