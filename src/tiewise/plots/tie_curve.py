"""Plots of what was learnt: how ties were used, and what each item gained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.plots.canvas import (
    INK,
    LOW,
    heading,
    notes,
    page,
    plot,
    spoken_or,
    styled,
)  # fmt: skip
from tiewise.posterior.summaries import tie_curve
from tiewise.report.answer import borrowed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tiewise.report.folder import Results

Floats = NDArray[np.float64]

FEWEST_ANSWERS, MOST_BINS = 15, 12
WILSON = 1.96


# Ties.


@styled
def tie_plot(results: Results, *, title: str | None = None) -> Figure:
    """Chance of a tie against the difference in quality, and the answers that were given."""
    seen = observed_ties(results)
    reach = 1.1 * max(float(seen["gap"].max()) if len(seen) else 0.0, 1.0)
    curve = tie_curve(results.tree, np.linspace(0, reach, 101))
    about = results.about

    def paint(axes: Axes) -> None:
        axes.fill_between(curve["gap"], 100 * curve["q2.5"], 100 * curve["q97.5"], color=LOW,
                          alpha=0.25, linewidth=0)  # fmt: skip
        axes.plot(curve["gap"], 100 * curve["median"], color=LOW, linewidth=2)
        _dots(axes, seen)
        axes.set(xlim=(0, reach), ylim=(0, None))
        axes.set_xlabel("difference in quality")
        axes.set_ylabel("% of answers “about equal”")
        axes.grid(color="#e6e6e6", linewidth=0.6)
        axes.set_axisbelow(True)

    band = "" if results.facts["kind"] == "point" else ", with its 95 % band"
    each = float(f"{seen['answers'].mean():.2g}") if len(seen) else 0
    return page(
        heading(title or "How often are two called “about equal”?", spoken_or(about.question, "")),
        plot(230, paint),
        notes(
            f"Line: what the model says{band}.",
            f"Dots: the answers given, about {each:,.0f} to a dot, from pairs that differ by about "
            "as much in the estimates; with the 95 % interval of each share."
            if each
            else "",
        ),
    )


def _dots(axes: Axes, seen: pd.DataFrame) -> None:
    if not len(seen):
        return
    axes.vlines(seen["gap"], 100 * seen["low"], 100 * seen["high"], color=INK, linewidth=0.9)
    axes.scatter(seen["gap"], 100 * seen["share"], s=26, color=INK, zorder=3, clip_on=False)


def observed_ties(results: Results) -> pd.DataFrame:
    """Share of ties among pairs of about the same estimated difference, with Wilson's interval.

    Each row stands for about as many answers as every other.
    """
    tree = results.tree
    told = tree["observed_data"]
    mean = tree["posterior/quality"].mean(("chain", "draw")).to_numpy()
    gap = np.abs(mean[told["first"].to_numpy()] - mean[told["second"].to_numpy()])
    answers = sum(told[name].to_numpy() for name in ("wins_first", "wins_second", "ties"))
    table = pd.DataFrame({"gap": gap, "answers": answers, "ties": told["ties"].to_numpy()})
    table = table[table["answers"] > 0].sort_values("gap", kind="stable")
    total = int(table["answers"].sum())
    bins = int(np.clip(total // FEWEST_ANSWERS, 0, MOST_BINS))
    if not bins:
        return pd.DataFrame(columns=["gap", "share", "low", "high", "answers"])
    which = (table["answers"].cumsum() - table["answers"]) * bins // total
    weighed = table.assign(gap=table["gap"] * table["answers"]).groupby(which).sum()
    return _with_intervals(weighed)


def _with_intervals(sums: pd.DataFrame) -> pd.DataFrame:
    n, share = sums["answers"], sums["ties"] / sums["answers"]
    middle = (share + WILSON**2 / (2 * n)) / (1 + WILSON**2 / n)
    reach = WILSON * np.sqrt(share * (1 - share) / n + (WILSON / n / 2) ** 2) / (1 + WILSON**2 / n)
    return pd.DataFrame(
        {"gap": sums["gap"] / n, "share": share, "low": middle - reach, "high": middle + reach,
         "answers": n}
    )  # fmt: skip


# What was learnt of each item.


@styled
def learning_plot(results: Results, *, title: str | None = None) -> Figure:
    """How much of the uncertainty before any judgement is left for each item, by comparisons."""
    left, about = remaining(results), results.about
    if left is None:
        raise InputError(
            f"{results.facts['engine']} has no prior of this model to start from; "
            "fit with another engine for this picture"
        )
    seen = results.items["comparisons"].to_numpy()
    percent = 100 * left.reindex(results.items["item"]).to_numpy()

    def paint(axes: Axes) -> None:
        axes.axhline(100, color=INK, linewidth=0.8)
        for those, face in ((seen > 0, LOW), (seen == 0, "white")):
            axes.scatter(seen[those], percent[those], s=20, facecolors=face, edgecolors=LOW,
                         linewidths=0.9, alpha=0.75 if face == LOW else 1, zorder=3)  # fmt: skip
        axes.set(xlim=(-0.02 * seen.max() - 0.5, None), ylim=(0, max(105.0, 1.05 * percent.max())))
        axes.set_xlabel("comparisons it was in")
        axes.set_ylabel("% of uncertainty left")
        axes.grid(color="#e6e6e6", linewidth=0.6)
        axes.set_axisbelow(True)

    return page(
        heading(
            title or f"How much was learnt about each {about.one}?", spoken_or(about.question, "")
        ),
        plot(230, paint),
        notes(
            f"Each dot is one {about.one}. 100 %: as unsure as before any judgement; "
            "the lower, the more the judgements have taught.",
            f"An open dot means {borrowed(results)}." if (seen == 0).any() else "",
        ),
    )


def remaining(results: Results) -> pd.Series[float] | None:
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
