"""The figure of a plan: accuracy against comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tiewise.geo.colours import EDGE, HIGH, INK, LOW
from tiewise.jobs.journal import Row
from tiewise.planning.plan import Plan
from tiewise.plots.canvas import Block, Margins, heading, notes, page, panel, styled, text_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"independent": HIGH, "network": LOW}
PRIOR_LABELS = {
    "independent": "each item by itself",
    "network": "with its neighbours (network prior)",
}
MARKERS = {"independent": "o", "network": "s"}


@styled
def plan_plot(plan: Plan) -> Figure:
    """Reliability, error of ranks and the top found against comparisons, with their errors."""
    items, top = len(plan.design.items), plan.design.top_count
    more = " more" if plan.design.before is not None else ""
    return page(
        heading(f"What{more} comparisons bring", _subtitle(plan)),
        *([_legend(plan)] if len(plan.design.priors) > 1 else []),
        panel(170, lambda axes: _curve(axes, plan, "reliability", "reliability"), _margins(18)),
        panel(140, lambda axes: _curve(axes, plan, "rank_error", f"ranks off by, of {items}"),
             _margins(18)),
        panel(160, lambda axes: _curve(axes, plan, "top_share", f"share of top {top} found"),
             _margins(38)),
        notes(
            "Vertical lines: what is recommended. Bands: 95 % Monte Carlo intervals of the "
            "averages over simulated studies.",
        ),
    )  # fmt: skip


def _subtitle(plan: Plan) -> str:
    parts = []
    for prior, requirement in plan.requirements.items():
        number = "out of reach" if requirement is None else f"about {requirement.comparisons:,}"
        parts.append(f"{number}{' (network prior)' if prior == 'network' else ''}")
    return f"For a reliability of {plan.target:.2f}: {', '.join(parts)}"


def _margins(below: float) -> Margins:
    return Margins(left=46, bottom=below, top=8)


def _legend(plan: Plan) -> Block:
    def draw(figure: Figure, bottom: float) -> None:
        from matplotlib.lines import Line2D

        wide, high = figure.get_size_inches() * 72
        for k, prior in enumerate(plan.design.priors):
            y = bottom + 4 + 14 * (len(plan.design.priors) - 1 - k)
            figure.add_artist(
                Line2D(
                    [12 / wide, 23 / wide, 34 / wide], [(y + 3.5) / high] * 3, linewidth=2,
                    color=COLOURS[prior], marker=MARKERS[prior], markersize=4.5, markevery=[1],
                )
            )  # fmt: skip
            text_at(figure, 40, y, PRIOR_LABELS[prior], size=10, color=INK)

    return Block(14 * len(plan.design.priors) + 8, draw)


def _curve(axes: Axes, plan: Plan, figure: str, label: str) -> None:
    for prior in plan.design.priors:
        rows = [row for row in plan.table if row["prior"] == prior]
        _draw_line(axes, rows, figure, prior)
        requirement = plan.requirements[prior]
        if requirement is not None:
            axes.axvline(
                requirement.comparisons, color=COLOURS[prior], linewidth=0.9, linestyle=":"
            )
    if figure == "reliability":
        axes.axhline(plan.target, color=EDGE, linewidth=0.9, linestyle="--")
    axes.set_xscale("log")
    axes.set_ylabel(label)
    axes.set_ylim(0, 1.02 if figure != "rank_error" else None)
    axes.grid(color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    _ticks(axes, plan, labelled=figure == "top_share")


def _draw_line(axes: Axes, rows: Sequence[Row], figure: str, prior: str) -> None:
    size = [row["comparisons"] for row in rows]
    value = np.array([row[figure] for row in rows], float)
    error = np.array([row[f"{figure}_error"] for row in rows], float)
    error = 1.96 * np.where(np.isfinite(error), error, 0.0)
    colour = COLOURS[prior]
    axes.fill_between(size, value - error, value + error, color=colour, alpha=0.2, linewidth=0)
    axes.plot(size, value, color=colour, linewidth=1.8, marker=MARKERS[prior], markersize=4)


def _ticks(axes: Axes, plan: Plan, *, labelled: bool) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    sizes = [row["comparisons"] for row in plan.table]
    least, most = min(sizes), max(sizes)
    round_ones = [d * 10**k for k in range(7) for d in (1, 2, 5)]
    shown = [n for n in round_ones if least <= n <= most] or [least, most]
    axes.set_xlim(least / 1.08, most * 1.08)
    axes.xaxis.set_major_locator(FixedLocator(shown))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
    if labelled:
        more = "comparisons more" if plan.design.before is not None else "comparisons"
        axes.set_xlabel(more)
    else:
        axes.tick_params(labelbottom=False)
