"""Plots of predictive checks, and of judges: answers beside what the fit expects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tiewise.criticism.predictive_checks import results_checks
from tiewise.errors import InputError
from tiewise.geo.colours import EXPECTED, GRID, HIGH, INK, LOW, MUTED, NEUTRAL
from tiewise.plots.canvas import (
    INNER,
    MARGIN,
    ROW,
    TEXT,
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
    text_at,
    text_or,
    text_width,
)  # fmt: skip
from tiewise.plots.definition import PlotDefinition
from tiewise.posterior.diagnostics import MANY_ITEMS
from tiewise.text import quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tiewise.criticism.predictive_checks import Check
    from tiewise.posterior.results_folder import Results

UNUSUAL = 0.05
ROW_HEIGHT = 15.0  # points
MOST_JUDGES = 60
SINGLE_MARGINS = Margins(left=8.0, right=8.0, bottom=36.0, top=4.0)


@styled
def check_plot(results: Results, *, title: str | None = None) -> Figure:
    """What was given (dots) beside what the fit expects (bars): one panel a check."""
    checks = {check.key: check for check in results_checks(results)}
    if not checks:
        raise InputError("a point estimate has nothing to check; fit with another engine")
    blocks: list[Block] = []
    for key, paint in PANELS.items():
        if key in checks:
            margins = Margins(bottom=24.0) if paint is _paint_by_judge else Margins()
            parts = panel(112 + margins.bottom, _painter(paint, checks[key]), margins)
            blocks += [_check_heading(checks[key]), parts, space(6)]
    for key in SINGLE_LABELS:
        if key in checks:
            single = panel(62, _painter(_paint_single, checks[key]), SINGLE_MARGINS)
            blocks += [_check_heading(checks[key]), single, space(6)]
    question = text_or(results.wording.question, "")
    return page(
        heading(title or "Do made-up answers look like those that were given?", question),
        *blocks,
        notes(
            "Dots: what judges said. Bars: 95 % of what they would say if the model were right, "
            "from answers made up from the fit. Red: outside.",
            "p: how often made-up answers are as far out as the given ones.",
        ),
    )


def _painter(paint: Callable[[Axes, Check], None], check: Check) -> Callable[[Axes], None]:
    return lambda axes: paint(axes, check)


def _check_heading(check: Check) -> Block:
    def draw(figure: Figure, bottom: float) -> None:
        p = "p below 0.01" if check.p < 0.01 else f"p = {check.p:.{2 if check.p >= 0.1 else 3}f}"
        style = {"size": TEXT, "color": HIGH if check.p < UNUSUAL else MUTED}
        text_at(figure, MARGIN, bottom + 5, check.title, size=TEXT, weight="bold", color=INK)
        text_at(figure, MARGIN + INNER, bottom + 5, p, ha="right", **style)

    return Block(20, draw)


def _paint_parts(axes: Axes, parts: pd.DataFrame, width: float) -> None:
    axes.vlines(parts["x"], parts["low"], parts["high"], color=EXPECTED, linewidth=width, zorder=1)
    out = (parts["observed"] < parts["low"]) | (parts["observed"] > parts["high"])
    for those, colour in ((~out, INK), (out, HIGH)):
        axes.scatter(parts["x"][those], parts["observed"][those], s=16, color=colour, zorder=3,
                     clip_on=False)  # fmt: skip
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def _paint_by_difference(axes: Axes, check: Check) -> None:
    assert check.parts is not None
    _paint_parts(axes, check.parts, 9)
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.set_xlabel("difference in quality")
    axes.set_ylabel(PART_LABELS[check.key])


def _paint_by_judge(axes: Axes, check: Check) -> None:
    assert check.parts is not None
    _paint_parts(axes, check.parts, float(np.clip(240 / len(check.parts), 1.5, 9)))
    axes.set(ylim=(0, None), xticks=[])
    least = "fewest ties" if check.key == "judges" else "weakest"
    axes.set_xlabel(f"{quantity(len(check.parts), 'judge')}, {least} first")
    axes.set_ylabel(PART_LABELS[check.key])


def _paint_wins(axes: Axes, check: Check) -> None:
    assert check.parts is not None
    parts = check.parts
    # Residuals: against the expected number itself every item would lie on the same line.
    rest = parts.assign(**{key: parts[key] - parts["x"] for key in ("observed", "low", "high")})
    if len(rest) > MANY_ITEMS:
        _paint_share_outside(axes, rest)
        return
    _paint_parts(axes, rest, 3)
    axes.axhline(0, color=NEUTRAL, linewidth=0.8, zorder=0)
    axes.set_xlabel(f"{check.counted} expected, a tie counting half")
    axes.set_ylabel(f"{check.counted} beyond that")


def _paint_share_outside(axes: Axes, rest: pd.DataFrame) -> None:
    """Of very many items, a histogram of wins beyond those expected; red those outside 95 %."""
    edges = np.arange(np.floor(rest["observed"].min()) - 0.5, rest["observed"].max() + 1.5)
    counts = np.histogram(rest["observed"], edges)[0]
    axes.stairs(counts, edges, fill=True, color=EXPECTED)
    out = (rest["observed"] < rest["low"]) | (rest["observed"] > rest["high"])
    axes.stairs(np.histogram(rest["observed"][out], edges)[0], edges, fill=True, color=HIGH)
    axes.axvline(0, color=NEUTRAL, linewidth=0.8)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("wins beyond those expected, a tie counting half")
    axes.set_ylabel("items")


def _paint_single(axes: Axes, check: Check) -> None:
    out = not check.low <= check.observed <= check.high
    axes.hlines(0, check.low, check.high, color=EXPECTED, linewidth=10)
    axes.scatter([check.observed], [0], s=28, color=HIGH if out else INK, zorder=3)
    ends = np.array([check.low, check.high, check.observed])
    spare = max(0.5 * np.ptp(ends), 0.5)
    axes.set(ylim=(-1, 1), yticks=[], xlim=(max(ends.min() - spare, 0), ends.max() + spare))
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(SINGLE_LABELS[check.key])


PANELS = {
    "ties": _paint_by_difference, "judges": _paint_by_judge, "strength": _paint_by_difference,
    "judge_strength": _paint_by_judge, "wins": _paint_wins,
}  # fmt: skip
"""Checks of several parts, and how each is drawn."""
PART_LABELS = {
    "ties": "% called equal", "judges": "% called equal",
    "strength": "mean strength", "judge_strength": "mean strength",
}  # fmt: skip
"""What parts by difference, or by judge, are measured in."""
SINGLE_LABELS = {
    "agreement": "disagreement of judges, 1 is what chance explains",
    "triads": "% of triads that are circles",
    "order": "% of decided answers for the left one",
}
"""Checks of one number, and the label of its axis."""


def _caption(results: Results) -> str:
    rows = [
        f"{check.title}: {check.observed:.3g} given, {check.low:.3g} to {check.high:.3g} expected "
        f"({check.unit}), p {'below 0.01' if check.p < 0.01 else f'{check.p:.2f}'}"
        for check in results_checks(results)
    ]
    return f"What judges said beside what the fit expects of them. {'; '.join(rows)}."


CHECKS = PlotDefinition(
    "checks", "Checks of the model", check_plot, _caption,
    lambda results: bool(results_checks(results)), criticism=True,
)  # fmt: skip


# Judges.


@styled
def judge_plot(table: pd.DataFrame, *, title: str | None = None, most: int = MOST_JUDGES) -> Figure:
    """Infit of every judge beside what is to be expected, and their influence on the results.

    Of more than `most` judges, those who agree least with the others.
    """
    known = table[table["infit"].notna()]
    rows = known.head(most).iloc[::-1].reset_index(drop=True)
    names = row_labels(rows.rename(columns={"judge": "item"}).assign(name=rows["judge"]))
    margins = Margins(left=max(text_width(name, ROW) for name in names) + 10)
    height = ROW_HEIGHT * len(rows) + 46
    beyond = f" Of {len(known):,} judges the first {most}." if len(known) > most else ""
    return page(
        heading(title or "How does each judge go with the others?"),
        panel(height, lambda axes: _paint_infit(axes, rows, names), margins),
        notes(
            "Dot: infit, the size of surprises in a judge’s answers; 1 is as expected, more is "
            "less predictable. Bar: where 95 % of judges like the others would lie.",
            f"Red: outside. Tick: outfit, which far-off answers dominate.{beyond}",
        ),
        space(8),
        heading("How much does each judge move the results?"),
        panel(height, lambda axes: _paint_influence(axes, rows, names), margins),
        notes(
            "Change of quality without the judge, in posterior standard deviations: root mean "
            "square over all items. 1 would be as much as is unknown anyway."
        ),
    )


def _paint_infit(axes: Axes, table: pd.DataFrame, names: list[str]) -> None:
    rows = np.arange(len(table))
    low, high, infit = (table[key].to_numpy() for key in ("infit_low", "infit_high", "infit"))
    axes.hlines(rows, low, high, color=EXPECTED, linewidth=7)
    axes.axvline(1, color=NEUTRAL, linewidth=0.8)
    out = (infit < low) | (infit > high)
    for those, colour in ((~out, INK), (out, HIGH)):
        axes.scatter(infit[those], rows[those], s=24, color=colour, zorder=3)
    axes.scatter(table["outfit"], rows, s=30, marker="|", color=MUTED, zorder=2)
    axes.set_xlim(0, 1.05 * max(float(np.nanmax([infit.max(), high.max()])), 2.0))
    axes.set_xlabel("infit")
    _label_rows(axes, names)


def _paint_influence(axes: Axes, table: pd.DataFrame, names: list[str]) -> None:
    rows = np.arange(len(table))
    axes.barh(rows, table["influence"], height=0.6, color=LOW)
    axes.set_xlim(0, 1.1 * max(float(table["influence"].max()), 0.2))
    axes.set_xlabel("standard deviations")
    _label_rows(axes, names)


def _label_rows(axes: Axes, names: list[str]) -> None:
    axes.set_yticks(np.arange(len(names)), [escape_math(name) for name in names], fontsize=ROW)
    axes.set_ylim(-0.8, len(names) - 0.2)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
