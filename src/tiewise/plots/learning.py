"""The plot of what was learnt of each item: uncertainty left, against comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.geo.colours import GRID, INK, LOW
from tiewise.plots.canvas import heading, notes, page, panel, styled, text_or
from tiewise.plots.captions import NAMED, caption_names, uncompared_items
from tiewise.plots.definition import PlotDefinition
from tiewise.posterior.diagnostics import MANY_ITEMS
from tiewise.posterior.large.groups import all_draws
from tiewise.posterior.phrases import uncompared_note
from tiewise.text import percent, sentence_list

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tiewise.posterior.results_folder import Results


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BANDS = "Line: the median over items. Bands: half of them, and nine in ten."


@styled
def learning_plot(results: Results, *, title: str | None = None) -> Figure:
    """How much of the uncertainty before any judgement is left for each item, by comparisons."""
    left, wording = remaining_uncertainty(results), results.wording
    if left is None:
        raise InputError(
            f"{results.facts['engine']} has no prior of this model to start from; "
            "fit with another engine for this picture"
        )
    comparisons = results.items["comparisons"].to_numpy()
    percent_left = 100 * np.asarray(left.reindex(results.items["item"]), np.float64)

    many = len(comparisons) > MANY_ITEMS

    def paint(axes: Axes) -> None:
        axes.axhline(100, color=INK, linewidth=0.8)
        if many:
            _paint_bands(axes, comparisons, percent_left)
            return
        for those, face in ((comparisons > 0, LOW), (comparisons == 0, "white")):
            axes.scatter(comparisons[those], percent_left[those], s=20, facecolors=face,
                         edgecolors=LOW, linewidths=0.9, alpha=0.75 if face == LOW else 1,
                         zorder=3)  # fmt: skip
        axes.set(
            xlim=(-0.02 * comparisons.max() - 0.5, None),
            ylim=(0, max(105.0, 1.05 * percent_left.max())),
        )
        _label(axes)

    what = BANDS if many else f"Each dot is one {wording.one}."
    return page(
        heading(
            title or f"How much was learnt about each {wording.one}?", text_or(wording.question, "")
        ),
        panel(230, paint),
        notes(
            f"{what} 100 %: as unsure as before any judgement; "
            "the lower, the more the judgements have taught.",
            f"An open dot means {uncompared_note(results)}."
            if (comparisons == 0).any() and not many
            else "",
        ),
    )


def _paint_bands(axes: Axes, comparisons: Integers, left: Floats) -> None:
    """What is left for half and for nine in ten of very many items, by comparisons."""
    # The few that were compared most often are taken together, so that bands are no noise.
    edges = np.unique(np.quantile(comparisons, np.linspace(0, 1, 41)).astype(int))
    group = np.searchsorted(edges, comparisons, side="right") - 1
    number = [int(k) for k in np.unique(group)]
    x = [float(np.median(comparisons[group == k])) for k in number]
    quantiles = np.array([np.quantile(left[group == k], QUANTILES) for k in number]).T
    axes.fill_between(x, quantiles[0], quantiles[4], color=LOW, alpha=0.2, linewidth=0)
    axes.fill_between(x, quantiles[1], quantiles[3], color=LOW, alpha=0.35, linewidth=0)
    axes.plot(x, quantiles[2], color=LOW, linewidth=1.6, marker="o", markersize=3)
    axes.set(xlim=(0, None), ylim=(0, max(105.0, 1.05 * float(quantiles.max()))))
    _label(axes)


def _label(axes: Axes) -> None:
    axes.set_xlabel("comparisons it was in")
    axes.set_ylabel("% of uncertainty left")
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def remaining_uncertainty(results: Results) -> pd.Series[float] | None:
    """Standard deviation of each quality after the judgements as a share of that before them.

    None where the engine had no variance, and so no such prior.
    """
    tree = results.tree
    variance = all_draws(tree)["variance"].to_numpy()
    constant = tree["constant_data"]
    if np.isnan(variance).all() or np.isnan(constant["prior_sd"].to_numpy()).all():
        return None
    before = constant["prior_sd"].to_numpy() * np.sqrt(variance).mean()
    items = constant["item"].to_numpy().astype(str)
    after = results.items.set_index("item")["sd"].reindex(items)
    # A single item is its own average: nothing was uncertain, and nothing is.
    return (after / np.where(before > 0, before, np.nan)).fillna(1.0)


def _caption(results: Results) -> str:
    left, names = remaining_uncertainty(results), caption_names(results)
    assert left is not None
    most = left.nlargest(NAMED)
    least_known = sentence_list(
        [f"{names[str(item)]} ({percent(share)})" for item, share in most.items()]
    )
    return (
        f"Each {results.wording.one} by its number of comparisons and the share of its uncertainty "
        f"that is left. For half of them less than {percent(float(left.median()))} is left; "
        f"most is left for {least_known}.{uncompared_items(results)}"
    )


LEARNING = PlotDefinition(
    "prior-to-posterior", "What was learnt", learning_plot, _caption,
    lambda results: remaining_uncertainty(results) is not None,
)  # fmt: skip
