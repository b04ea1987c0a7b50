"""The plot of what was learnt of each item: uncertainty left, against comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tiewise.errors import InputError
from tiewise.geo.colours import GRID, INK, LOW
from tiewise.plots.canvas import heading, notes, page, panel, styled, text_or
from tiewise.plots.captions import NAMED, caption_names, uncompared_items
from tiewise.plots.definition import PlotDefinition
from tiewise.posterior.phrases import uncompared_note
from tiewise.text import percent, sentence_list

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tiewise.posterior.results_folder import Results


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
    percent_left = 100 * left.reindex(results.items["item"]).to_numpy()

    def paint(axes: Axes) -> None:
        axes.axhline(100, color=INK, linewidth=0.8)
        for those, face in ((comparisons > 0, LOW), (comparisons == 0, "white")):
            axes.scatter(comparisons[those], percent_left[those], s=20, facecolors=face,
                         edgecolors=LOW, linewidths=0.9, alpha=0.75 if face == LOW else 1,
                         zorder=3)  # fmt: skip
        axes.set(
            xlim=(-0.02 * comparisons.max() - 0.5, None),
            ylim=(0, max(105.0, 1.05 * percent_left.max())),
        )
        axes.set_xlabel("comparisons it was in")
        axes.set_ylabel("% of uncertainty left")
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)

    return page(
        heading(
            title or f"How much was learnt about each {wording.one}?", text_or(wording.question, "")
        ),
        panel(230, paint),
        notes(
            f"Each dot is one {wording.one}. 100 %: as unsure as before any judgement; "
            "the lower, the more the judgements have taught.",
            f"An open dot means {uncompared_note(results)}." if (comparisons == 0).any() else "",
        ),
    )


def remaining_uncertainty(results: Results) -> pd.Series[float] | None:
    """Standard deviation of each quality after the judgements as a share of that before them.

    None where the engine had no variance, and so no such prior.
    """
    tree = results.tree
    variance = tree["posterior/variance"].to_numpy()
    if np.isnan(variance).all():
        return None
    constant = tree["constant_data"]
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
