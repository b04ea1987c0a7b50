"""Maps and plots, as matplotlib figures."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tiewise.core.areas import Areas

HIGH, LOW, INK = "#b2182b", "#2166ac", "#222222"
HIGHER = "higher: chosen more often"
MOST_SHOWN = 60


def save(figure: Figure, path: Path) -> None:
    """Write a figure, the same bytes for the same figure."""
    import matplotlib as mpl

    plain = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    with mpl.rc_context({"svg.hashsalt": "tiewise", "svg.fonttype": "path"}):
        figure.savefig(path, dpi=150, metadata=plain)


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12)
    figure = Figure(figsize=(width, height), layout=layout)
    return figure, figure.add_subplot()


def quality_map(table: pd.DataFrame, areas: Areas, *, question: str) -> Figure:
    """The areas coloured by posterior median: red is higher, blue lower, white the average.

    Group outlines are thick; areas that nobody compared are hatched.
    """
    figure, axes = _figure(7.5, 0.9 + 6.0 * min(max(_height(areas), 0.3), 2.0))
    by_item = table.set_index("item")
    values = by_item["median"].reindex(list(areas.items))
    reach = float(np.abs(values).max()) or 1.0
    frame = areas.frame()
    frame["median"] = values.to_numpy()
    frame.plot(
        column="median", cmap="RdBu_r", vmin=-reach, vmax=reach, ax=axes,
        edgecolor="white", linewidth=0.4, legend=True,
        legend_kwds={"shrink": 0.55, "pad": 0.02, "label": f"quality, 0 the average\n({HIGHER})"},
    )  # fmt: skip
    figure.axes[-1].spines[:].set_visible(False)
    silent = (by_item["comparisons"].reindex(list(areas.items)) == 0).to_numpy()
    if silent.any():
        frame[silent].plot(
            ax=axes, facecolor="none", edgecolor="#555555", hatch="////", linewidth=0
        )
        figure.supxlabel("hatched: never compared, estimate from the prior alone", size=9)
    if areas.groups is not None:
        frame.dissolve("group").boundary.plot(ax=axes, color=INK, linewidth=1.4)
    axes.set_axis_off()
    axes.margins(0.01)
    axes.set_anchor("W")
    _head(figure, question)
    return figure


def _height(areas: Areas) -> float:
    """Height of the map as a multiple of its width; degrees of longitude shrink to the north."""
    west, south, east, north = areas.geometry.total_bounds
    crs = areas.geometry.crs
    shrink = np.cos(np.radians((south + north) / 2)) if crs and crs.is_geographic else 1.0
    return float((north - south) / ((east - west) * shrink or 1.0))


def _head(figure: Figure, question: str) -> None:
    lines = "\n".join(textwrap.wrap(_plain(question), 60))
    figure.suptitle(lines, x=0.02, ha="left", size=13, color=INK)


def ranking(table: pd.DataFrame, *, question: str) -> Figure:
    """Items from highest to lowest with their 95 % intervals; of many, both ends."""
    table, half = table.reset_index(drop=True), MOST_SHOWN // 2
    shown = table if len(table) <= MOST_SHOWN else pd.concat([table.head(half), table.tail(half)])
    figure, axes = _figure(7.5, 1.6 + 0.2 * len(shown))
    height = np.arange(len(shown))[::-1].astype(float)
    if len(table) > MOST_SHOWN:
        height[:half] += 2
        left_out = len(table) - len(shown)
        axes.text(0, half + 0.5, f"{left_out} more between", ha="center", va="center",
                  color="#777777", size=9, backgroundcolor="white")  # fmt: skip
    colour = np.where(shown["q2.5"] > 0, HIGH, np.where(shown["q97.5"] < 0, LOW, "#777777"))
    axes.hlines(height, shown["q2.5"], shown["q97.5"], colors=list(colour), linewidth=2, alpha=0.6)
    axes.scatter(shown["median"], height, c=colour, s=18, zorder=3)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(height, _labels(table)[shown.index], size=8)
    axes.set_ylim(-1, float(height.max()) + 1)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"quality, 0 the average ({HIGHER})\nmedian and 95 % interval")
    _head(figure, question)
    return figure


def _labels(table: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.object_]]:
    """Names, short enough; where two are alike, with the id."""
    names = table["name"].map(_short)
    twice = names.duplicated(keep=False)
    labels = names.where(~twice, names + " (" + table["item"].map(_short) + ")")
    return labels.map(_plain).to_numpy(object)


def _short(name: str, most: int = 32) -> str:
    line = "".join(letter for letter in " ".join(name.split()) if letter.isprintable())
    return line if len(line) <= most else line[: most - 1] + "…"


def _plain(text: str) -> str:
    # A dollar sign would start mathematics.
    return text.replace("$", r"\$")
