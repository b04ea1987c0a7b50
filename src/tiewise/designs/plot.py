"""The figure of a design: how often items come, and its reliability beside other pairs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from tiewise.designs.efficiency import DESIGN
from tiewise.designs.pair_lists import NEW
from tiewise.designs.sentences import WAYS
from tiewise.geo.colours import EDGE, HIGH, LOW
from tiewise.plots.canvas import Margins, heading, notes, page, panel, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tiewise.designs.assessed import AssessedDesign


HEADINGS = {
    "balanced": "A balanced design", "optimal": "An optimal design",
    "reference": "A design against anchors",
}  # fmt: skip


@styled
def design_plot(assessed: AssessedDesign) -> Figure:
    """How often each item is compared, and the reliability that is expected."""
    known = assessed.coverage
    parts = [
        heading(
            HEADINGS[assessed.design.wish.policy],
            f"{known.items:,} items, {known.judges:,} judges, {known.comparisons:,} comparisons",
        ),
        panel(150, lambda axes: _times(axes, assessed), Margins(left=56, bottom=38, top=8)),
    ]
    if assessed.efficiency is not None:
        ways = len(assessed.efficiency.reliability)
        parts.append(
            panel(
                44 + 26 * ways, lambda axes: _reliability(axes, assessed),
                Margins(left=110, bottom=38, top=8),
            )
        )  # fmt: skip
        parts.append(notes("Lines: 95 % Monte Carlo intervals over simulated studies."))
    return page(*parts)


def _times(axes: Axes, assessed: AssessedDesign) -> None:
    from matplotlib.ticker import MaxNLocator

    times = Counter(
        item for pair in assessed.design.lists.pairs if pair.kind == NEW for item in pair.items
    )
    numbers = Counter(times[item] for item in assessed.design.wish.items)
    least, most = min(numbers), max(numbers)
    x = np.arange(least, most + 1)
    axes.bar(x, [numbers[int(k)] for k in x], width=0.8, color=LOW)
    axes.set_xlim(least - 2.5, most + 2.5)
    axes.set_xlabel("times that an item is compared")
    axes.set_ylabel("items")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))


def _reliability(axes: Axes, assessed: AssessedDesign) -> None:
    assert assessed.efficiency is not None
    known = assessed.efficiency.reliability
    for row, (name, one) in enumerate(known.items()):
        error = 1.96 * one.error if np.isfinite(one.error) else 0.0
        colour = HIGH if name == DESIGN else EDGE
        axes.errorbar(
            [one.value], [-row], xerr=[error], fmt="o", color=colour, markersize=6, capsize=3
        )
    axes.set_yticks([-k for k in range(len(known))], [WAYS[name] for name in known])
    axes.set_ylim(-len(known) + 0.4, 0.6)
    axes.set_xlabel("expected reliability")
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
