"""The pictures of the explanation pages and the gallery: `make pictures` draws them again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib as mpl
import numpy as np

mpl.use("agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

import tiewise as tw
from tiewise.geo.areas import Areas
from tiewise.plots.canvas import save
from tiewise.plots.catalogue import draw_plots

PLACE = Path(__file__).parents[1] / "docs" / "pictures"
BLUE, RED, GREY = "#2166ac", "#b2182b", "#6f7680"
SHOWN = {
    "map", "map-faded", "map-top", "map-uncertainty", "ranking", "ranks", "tie-curve",
    "prior-to-posterior",
}  # fmt: skip
"""What the gallery shows of what a fit draws."""


def explanation(name: str, draw: Callable[[Axes], None], *, width: float = 7.0) -> None:
    """One picture of an explanation page."""
    figure, axes = plt.subplots(figsize=(width, 3.6), layout="constrained")
    draw(axes)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PLACE / "explanation" / f"{name}.png", dpi=140)
    plt.close(figure)


def answers(axes: Axes) -> None:
    """Chances of the three answers against the difference, for two thresholds."""
    gap, tie = np.linspace(-5, 5, 301), 0.8
    left, right = 1 / (1 + np.exp(tie - gap)), 1 / (1 + np.exp(tie + gap))
    lines = [
        ("left is chosen", left, RED), ("about equal", 1 - left - right, GREY),
        ("right is chosen", right, BLUE),
    ]  # fmt: skip
    for label, probability, colour in lines:
        axes.plot(gap, probability, color=colour, lw=2.4)
        at = {"left is chosen": 4.0, "about equal": 0.0, "right is chosen": -4.0}[label]
        axes.annotate(
            label, (at, float(np.interp(at, gap, probability))), (0, 6), textcoords="offset points",
            ha="center", color=colour,
        )  # fmt: skip
    axes.set(xlabel="quality of the left less that of the right (logits)", ylabel="chance")
    axes.set_ylim(0, 1.08)


def neighbours(axes: Axes) -> None:
    """The prior's correlation of every area with one of them, on a made-up county."""
    from matplotlib.cm import ScalarMappable
    from scipy.linalg import expm

    areas = Areas.synthetic(30, rng=4)
    graph = tw.Graph.from_areas(areas)
    centre = int(np.bincount(graph.edges.ravel()).argmax())
    borders = np.zeros((len(areas), len(areas)))
    borders[tuple(graph.edges.T)] = borders[tuple(graph.edges.T[::-1])] = 1
    spread = expm(borders)
    alike = spread[centre] / np.sqrt(np.diag(spread) * spread[centre, centre])
    frame = areas.frame().assign(alike=alike)
    frame.plot(ax=axes, column="alike", cmap="Blues", vmin=0, vmax=1, edgecolor="white", lw=0.7)
    frame.iloc[[centre]].boundary.plot(ax=axes, color=RED, lw=2.2)
    axes.set_axis_off()
    axes.figure.colorbar(ScalarMappable(cmap="Blues"), ax=axes, label="alike", shrink=0.8)


def draws(axes: Axes) -> None:
    """Draws of two items against each other."""
    tree = _two_studies()[1]
    table = tw.summarise(tree)
    one, two = table["item"][3], table["item"][5]
    quality = tree["posterior/quality"]
    x, y = (quality.sel(item=item).to_numpy().ravel()[:1500] for item in (one, two))
    above = y > x
    for which, colour in ((~above, RED), (above, BLUE)):
        axes.scatter(x[which], y[which], s=6, color=colour, alpha=0.5, lw=0)
    ends = [min(x.min(), y.min()), max(x.max(), y.max())]
    axes.plot(ends, ends, color=GREY, lw=1)
    axes.set(xlabel="quality of the first (logits)", ylabel="quality of the second")
    axes.set_aspect("equal")
    share = f"the first is higher in {100 * (~above).mean():.0f} % of draws"
    axes.annotate(share, (0.98, 0.04), xycoords="axes fraction", ha="right", color=RED)


def intervals(axes: Axes) -> None:
    """Intervals of the same items after few and many comparisons."""
    few, many = (tw.summarise(tree).set_index("item") for tree in _two_studies())
    truth = _truth()
    order = [truth.items[k] for k in np.argsort(truth.quality)]
    for table, shift, colour, label in ((few, -0.16, GREY, "80"), (many, 0.16, BLUE, "800")):
        x = np.arange(len(order)) + shift
        rows = table.loc[order]
        axes.vlines(x, rows["q2.5"], rows["q97.5"], color=colour, lw=3, label=f"{label} answers")
        axes.plot(x, rows["mean"], "o", color=colour, ms=5)
    centred = np.sort(truth.quality) - truth.quality.mean()
    axes.plot(np.arange(len(order)), centred, "x", color=RED, ms=7, mew=2, label="truth")
    axes.set(ylabel="quality (logits)", xlabel="items, from low to high", xticks=[])
    axes.legend(frameon=False, loc="upper left")


def _truth() -> tw.Truth:
    items = tuple("ABCDEFGHIJKL")
    return tw.Truth(items, np.random.default_rng(6).normal(0, 1.2, 12), 0.5, 1.4)


def _two_studies() -> list[object]:
    truth = _truth()
    return [
        tw.fit(tw.BradleyTerry(tw.simulate_counts(truth, number, rng=2)), rng=1)
        for number in (80, 800)
    ]


def gallery() -> None:
    """The pictures that a fit of the made-up county draws."""
    with TemporaryDirectory() as folder:
        from tiewise.workflows.simulate import write_simulated_study

        study = Path(folder) / "county"
        write_simulated_study(study, county=60, comparisons=900, rng=7)
        wording = tw.Wording(
            question="Which ward has the higher rate of fly-tipping?", higher="higher rate",
            lower="lower rate", noun="ward",
        )  # fmt: skip
        results = tw.analyse(
            study / "comparisons.csv", Path(folder) / "out", rng=1, report=False, wording=wording,
            context=tw.ItemContext.read(areas=study / "areas.gpkg"),
        )  # fmt: skip
        for plot in draw_plots(results):
            if plot.name in SHOWN:
                save(plot.figure, PLACE / "gallery" / f"{plot.name}.svg")


def main() -> None:
    """Draw all pictures, or those that are named."""
    every: dict[str, Callable[[], None]] = {
        "answers": lambda: explanation("answers", answers),
        "neighbours": lambda: explanation("neighbours", neighbours, width=6.0),
        "draws": lambda: explanation("draws", draws, width=5.0),
        "intervals": lambda: explanation("intervals", intervals),
        "gallery": gallery,
    }
    for name in sys.argv[1:] or every:
        every[name]()


if __name__ == "__main__":
    main()
