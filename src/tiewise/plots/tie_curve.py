"""The plot of how ties were used: their probability against the difference in quality."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tiewise.geo.colours import GRID, INK, LOW
from tiewise.plots.canvas import heading, notes, page, panel, styled, text_or
from tiewise.plots.definition import PlotDefinition
from tiewise.posterior.large.groups import quality_means
from tiewise.posterior.summaries import tie_curve
from tiewise.text import probability_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tiewise.posterior.results_folder import Results

FEWEST_ANSWERS, MOST_BINS = 15, 12
WILSON = 1.96


@styled
def tie_curve_plot(results: Results, *, title: str | None = None) -> Figure:
    """Chance of a tie against the difference in quality, and the answers that were given."""
    observed = observed_ties(results)
    reach = 1.1 * max(float(observed["gap"].max()) if len(observed) else 0.0, 1.0)
    curve = tie_curve(results.tree, np.linspace(0, reach, 101))

    def paint(axes: Axes) -> None:
        axes.fill_between(curve["gap"], 100 * curve["q2.5"], 100 * curve["q97.5"], color=LOW,
                          alpha=0.25, linewidth=0)  # fmt: skip
        axes.plot(curve["gap"], 100 * curve["median"], color=LOW, linewidth=2)
        _draw_dots(axes, observed)
        axes.set(xlim=(0, reach), ylim=(0, None))
        axes.set_xlabel("difference in quality")
        axes.set_ylabel("% of answers “about equal”")
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)

    question = text_or(results.wording.question, "")
    return page(
        heading(title or "How often are two called “about equal”?", question),
        panel(230, paint),
        notes(*_explanations(results, observed)),
    )


def _explanations(results: Results, observed: pd.DataFrame) -> list[str]:
    band = "" if results.facts["kind"] == "point" else ", with its 95 % band"
    each = float(f"{observed['answers'].mean():.2g}") if len(observed) else 0
    lines = [f"Line: what the model says{band}."]
    if each:
        lines.append(
            f"Dots: the answers given, about {each:,.0f} to a dot, from pairs that differ by about "
            "as much in the estimates; with the 95 % interval of each share."
        )
    return lines


def _draw_dots(axes: Axes, observed: pd.DataFrame) -> None:
    if not len(observed):
        return
    gap, share = observed["gap"], 100 * observed["share"]
    axes.vlines(gap, 100 * observed["low"], 100 * observed["high"], color=INK, linewidth=0.9)
    axes.scatter(gap, share, s=26, color=INK, zorder=3, clip_on=False)


def observed_ties(results: Results) -> pd.DataFrame:
    """Share of ties among pairs of about the same estimated difference, with Wilson's interval.

    Each row stands for about as many answers as every other.
    """
    tree = results.tree
    counts = tree["observed_data"]
    mean = quality_means(tree)
    gap = np.abs(mean[counts["first"].to_numpy()] - mean[counts["second"].to_numpy()])
    answers = sum(counts[name].to_numpy() for name in ("wins_first", "wins_second", "ties"))
    table = pd.DataFrame({"gap": gap, "answers": answers, "ties": counts["ties"].to_numpy()})
    table = table[table["answers"] > 0].sort_values("gap", kind="stable")
    total = int(table["answers"].sum())
    bins = int(np.clip(total // FEWEST_ANSWERS, 0, MOST_BINS))
    if not bins:
        return pd.DataFrame(columns=["gap", "share", "low", "high", "answers"])
    bin_of = (table["answers"].cumsum() - table["answers"]) * bins // total
    sums = table.assign(gap=table["gap"] * table["answers"]).groupby(bin_of).sum()
    return _with_intervals(sums)


def _with_intervals(sums: pd.DataFrame) -> pd.DataFrame:
    n, share = sums["answers"], sums["ties"] / sums["answers"]
    middle = (share + WILSON**2 / (2 * n)) / (1 + WILSON**2 / n)
    reach = WILSON * np.sqrt(share * (1 - share) / n + (WILSON / n / 2) ** 2) / (1 + WILSON**2 / n)
    return pd.DataFrame(
        {"gap": sums["gap"] / n, "share": share, "low": middle - reach, "high": middle + reach,
         "answers": n}
    )  # fmt: skip


def _caption(results: Results) -> str:
    curve = tie_curve(results.tree, [0.0, 1.0, 2.0])
    none, one, two = (probability_percent(share) for share in curve["median"])
    low, high = (probability_percent(curve[end][0]) for end in ("q2.5", "q97.5"))
    band = f" ({low} to {high})" if results.facts["kind"] != "point" else ""
    return (
        f"Curve of how often two {results.wording.nouns} are called about equal: {none}{band} "
        f"where their qualities do not differ, {one} where they differ by 1, {two} where by 2."
    )


def _has_ties(results: Results) -> bool:
    return bool((results.tree["posterior/tie"].to_numpy() > 0).any())


TIE_CURVE = PlotDefinition("tie-curve", "How ties were used", tie_curve_plot, _caption, _has_ties)
