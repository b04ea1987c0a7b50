"""Pictures of scrutiny: what was given beside what the fit expects, and judges side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tiewise.errors import InputError
from tiewise.plots.canvas import (
    HIGH,
    INK,
    LOW,
    NEITHER,
    QUIET,
    ROW,
    TEXT,
    Block,
    Margins,
    gap,
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
from tiewise.report.answer import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tiewise.criticism.predictive_checks import Check
    from tiewise.report.folder import Results

BAND = "#c9d7e8"
GRID = "#e6e6e6"
UNUSUAL = 0.05
PITCH = 15.0
MOST_JUDGES = 60


@styled
def check_plot(results: Results, *, title: str | None = None) -> Figure:
    """What was given (dots) beside what the fit expects (bars): one panel a check."""
    if not results.checks:
        raise InputError("a point estimate has nothing to check; fit with another engine")
    drawn = {check.key: check for check in results.checks}
    blocks: list[Block] = []
    for key, paint in PANELS.items():
        if key in drawn:
            size = Margins(bottom=24.0) if key == "judges" else Margins()
            panel = plot(112 + size.bottom, _painter(paint, drawn[key]), size)
            blocks += [_headed(drawn[key]), panel, gap(6)]
    single = [drawn[key] for key in ("triads", "order") if key in drawn]
    for check in single:
        blocks += [_headed(check), plot(62, _painter(_single, check), _FLAT), gap(6)]
    asked = spoken_or(results.about.question, "")
    return page(
        heading(title or "Do made-up answers look like those that were given?", asked),
        *blocks,
        notes(
            "Dots: what judges said. Bars: 95 % of what they would say if the model were right, "
            "from answers made up from the fit. Red: outside.",
            "p: how often made-up answers are as far out as the given ones.",
        ),
    )


_FLAT = Margins(left=8.0, right=8.0, bottom=36.0, top=4.0)


def _painter(paint: Callable[[Axes, Check], None], check: Check) -> Callable[[Axes], None]:
    return lambda axes: paint(axes, check)


def _headed(check: Check) -> Block:
    def draw(figure: Figure, bottom: float) -> None:
        from tiewise.plots.canvas import INNER, MARGIN, write

        p = "p below 0.01" if check.p < 0.01 else f"p = {check.p:.{2 if check.p >= 0.1 else 3}f}"
        looks = {"size": TEXT, "color": HIGH if check.p < UNUSUAL else QUIET}
        write(figure, MARGIN, bottom + 5, check.title, size=TEXT, weight="bold", color=INK)
        write(figure, MARGIN + INNER, bottom + 5, p, ha="right", **looks)

    return Block(20, draw)


def _bars(axes: Axes, parts: pd.DataFrame, width: float) -> None:
    axes.vlines(parts["x"], parts["low"], parts["high"], color=BAND, linewidth=width, zorder=1)
    out = (parts["observed"] < parts["low"]) | (parts["observed"] > parts["high"])
    for those, colour in ((~out, INK), (out, HIGH)):
        axes.scatter(parts["x"][those], parts["observed"][those], s=16, color=colour, zorder=3,
                     clip_on=False)  # fmt: skip
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def _ties(axes: Axes, check: Check) -> None:
    assert check.parts is not None
    _bars(axes, check.parts, 9)
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.set_xlabel("difference in quality")
    axes.set_ylabel("% called equal")


def _judges(axes: Axes, check: Check) -> None:
    assert check.parts is not None
    _bars(axes, check.parts, float(np.clip(240 / len(check.parts), 1.5, 9)))
    axes.set(ylim=(0, None), xticks=[])
    axes.set_xlabel(f"{number(len(check.parts), 'judge')}, fewest ties first")
    axes.set_ylabel("% called equal")


def _wins(axes: Axes, check: Check) -> None:
    assert check.parts is not None
    parts = check.parts
    # Drawn as what is left over: against its own size every item would lie on the same line.
    rest = parts.assign(**{key: parts[key] - parts["x"] for key in ("observed", "low", "high")})
    _bars(axes, rest, 3)
    axes.axhline(0, color=NEITHER, linewidth=0.8, zorder=0)
    axes.set_xlabel("wins expected, a tie counting half")
    axes.set_ylabel("wins beyond that")


def _single(axes: Axes, check: Check) -> None:
    out = not check.low <= check.observed <= check.high
    axes.hlines(0, check.low, check.high, color=BAND, linewidth=10)
    axes.scatter([check.observed], [0], s=28, color=HIGH if out else INK, zorder=3)
    ends = np.array([check.low, check.high, check.observed])
    spare = max(0.5 * np.ptp(ends), 0.5)
    axes.set(ylim=(-1, 1), yticks=[], xlim=(max(ends.min() - spare, 0), ends.max() + spare))
    axes.spines["left"].set_visible(False)
    axes.set_xlabel({"triads": "% of triads that are circles",
                     "order": "% of decided answers for the left one"}[check.key])  # fmt: skip


PANELS = {"ties": _ties, "judges": _judges, "wins": _wins}


# Judges.


@styled
def judge_plot(table: pd.DataFrame, *, title: str | None = None, most: int = MOST_JUDGES) -> Figure:
    """Infit of every judge beside what is to be expected, and their influence on the results.

    Of very many judges those who go least with the others.
    """
    some = table[table["infit"].notna()]
    shown = some.head(most).iloc[::-1].reset_index(drop=True)
    names = row_labels(shown.rename(columns={"judge": "item"}).assign(name=shown["judge"]))
    left = max(text_width(name, ROW) for name in names) + 10
    height = PITCH * len(shown) + 46
    beyond = f" Of {len(some):,} judges the first {most}." if len(some) > most else ""
    return page(
        heading(title or "How does each judge go with the others?"),
        plot(height, lambda axes: _judge_rows(axes, shown, names), Margins(left=left)),
        notes(
            "Dot: infit, the size of surprises in a judge’s answers; 1 is as expected, more is "
            "less predictable. Bar: where 95 % of judges like the others would lie.",
            f"Red: outside. Tick: outfit, which far-off answers dominate.{beyond}",
        ),
        gap(8),
        heading("How much does each judge move the results?"),
        plot(height, lambda axes: _influences(axes, shown, names), Margins(left=left)),
        notes(
            "Change of quality without the judge, in posterior standard deviations: root mean "
            "square over all items. 1 would be as much as is unknown anyway."
        ),
    )


def _judge_rows(axes: Axes, table: pd.DataFrame, names: list[str]) -> None:
    rows = np.arange(len(table))
    low, high, seen = (table[key].to_numpy() for key in ("infit_low", "infit_high", "infit"))
    axes.hlines(rows, low, high, color=BAND, linewidth=7)
    axes.axvline(1, color=NEITHER, linewidth=0.8)
    out = (seen < low) | (seen > high)
    for those, colour in ((~out, INK), (out, HIGH)):
        axes.scatter(seen[those], rows[those], s=24, color=colour, zorder=3)
    axes.scatter(table["outfit"], rows, s=30, marker="|", color=QUIET, zorder=2)
    axes.set_xlim(0, 1.05 * max(float(np.nanmax([seen.max(), high.max()])), 2.0))
    axes.set_xlabel("infit")
    _named_rows(axes, names)


def _influences(axes: Axes, table: pd.DataFrame, names: list[str]) -> None:
    rows = np.arange(len(table))
    axes.barh(rows, table["influence"], height=0.6, color=LOW)
    axes.set_xlim(0, 1.1 * max(float(table["influence"].max()), 0.2))
    axes.set_xlabel("standard deviations")
    _named_rows(axes, names)


def _named_rows(axes: Axes, names: list[str]) -> None:
    axes.set_yticks(np.arange(len(names)), [plain(name) for name in names], fontsize=ROW)
    axes.set_ylim(-0.8, len(names) - 0.2)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
