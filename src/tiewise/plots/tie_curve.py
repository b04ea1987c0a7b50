"""The plot of how answers were used: the share of each against the difference in quality.

With one way to choose an item it is the share of ties, without which the model has no such curve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiewise.geo.colours import GRID, INK, LOW, LOW_TO_HIGH, NEUTRAL, interpolate
from tiewise.plots.canvas import SMALL, Margins, heading, notes, page, panel, styled, text_or
from tiewise.plots.definition import PlotDefinition
from tiewise.posterior.judgement_record import grade_counts
from tiewise.posterior.large.groups import quality_means
from tiewise.posterior.phrases import answer_words, has_ties
from tiewise.posterior.scales.display_scale import shown_scores
from tiewise.posterior.scales.scale import Scale, scored
from tiewise.posterior.summaries import answer_curves, tie_curve
from tiewise.text import probability_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tiewise.posterior.results_folder import Results

Floats = NDArray[np.float64]

FEWEST_ANSWERS, MOST_BINS = 15, 12
GRADED_BINS = 7
"""Dots of each of several answers: more would lie on those of another."""
WILSON = 1.96


class AnswerLine(NamedTuple):
    """An answer whose share is drawn: what it is called, its colours, its curve, its dots."""

    label: str
    colour: str
    dots: str
    curve: pd.DataFrame
    observed: pd.DataFrame


@styled
def tie_curve_plot(results: Results, *, title: str | None = None) -> Figure:
    """Chance of a tie, or of each graded answer, against the difference, and the answers given."""
    observed = observed_shares(results)
    gaps = observed[0]["gap"]
    reach = 1.1 * max(float(gaps.max()) if len(gaps) else 0.0, 1.0)
    lines = _lines(results, observed, np.linspace(0, reach, 101))

    def paint(axes: Axes) -> None:
        for line in lines:
            _draw_line(axes, line)
        axes.set(xlim=(0, reach), ylim=(0, None))
        _label_gaps(axes, shown_scores(results).scale)
        axes.set_ylabel("% of answers" if len(lines) > 1 else "% of answers “about equal”")
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        if len(lines) > 1:
            axes.legend(fontsize=SMALL, frameon=False, loc="lower center", borderaxespad=0,
                        ncols=(len(lines) + 1) // 2, bbox_to_anchor=(0.5, 1.02))  # fmt: skip

    question = text_or(results.wording.question, "")
    usual = "How often is each answer given?" if len(lines) > 1 else TIE_TITLE
    return page(
        heading(title or usual, question),
        panel(230 if len(lines) == 1 else 310, paint, _margins(lines)),
        notes(*_explanations(results, lines)),
    )


TIE_TITLE = "How often are two called “about equal”?"


def _margins(lines: list[AnswerLine]) -> Margins | None:
    """Room for the legend of several answers."""
    return Margins(top=44.0) if len(lines) > 1 else None


def _lines(results: Results, observed: list[pd.DataFrame], gaps: Floats) -> list[AnswerLine]:
    """The answers that are drawn: “about equal”, or all where answers are graded."""
    levels = len(observed) // 2
    if levels == 1:
        return [AnswerLine("about equal", LOW, INK, tie_curve(results.tree, gaps), observed[1])]
    ties = has_ties(results.tree)
    shown = [k for k in range(len(observed)) if k != levels or ties]
    curves, names = answer_curves(results.tree, gaps), answer_words(levels, ties=ties)
    # The palest colours, in the middle, would not be seen.
    sides = np.concatenate([np.linspace(0.95, 0.75, levels), np.linspace(0.25, 0.05, levels)])
    colours = interpolate(LOW_TO_HIGH, sides)
    colours.insert(levels, NEUTRAL)
    return [
        AnswerLine(name, colours[k], colours[k], curves[k], observed[k])
        for k, name in zip(shown, names, strict=True)
    ]


def _draw_line(axes: Axes, line: AnswerLine) -> None:
    curve = line.curve
    axes.fill_between(curve["gap"], 100 * curve["q2.5"], 100 * curve["q97.5"], color=line.colour,
                      alpha=0.25, linewidth=0)  # fmt: skip
    axes.plot(curve["gap"], 100 * curve["median"], color=line.colour, linewidth=2, label=line.label)
    _draw_dots(axes, line.observed, line.dots)


def _label_gaps(axes: Axes, scale: Scale) -> None:
    """Differences on the scale of the results, where a logit is the same everywhere on it."""
    if not scored(scale):
        axes.set_xlabel("difference in quality")
    elif scale.line is None:
        axes.set_xlabel("difference in quality, in logits")
    else:
        from matplotlib.ticker import MaxNLocator

        reach, slope = axes.get_xlim()[1], scale.line.slope
        ticks = MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(0, slope * reach)
        values = [x for x in ticks if x <= slope * reach]
        axes.set_xticks([x / slope for x in values], [f"{x:g}" for x in values])
        axes.set_xlabel(f"difference in {scale.title}")


def _explanations(results: Results, lines: list[AnswerLine]) -> list[str]:
    observed, many = lines[0].observed, len(lines) > 1
    band = "" if results.facts["kind"] == "point" else ", with its 95 % band"
    each = float(f"{observed['answers'].mean():.2g}") if len(observed) else 0
    sentences = [f"{'Lines' if many else 'Line'}: what the model says{band}."]
    if each:
        sentences.append(
            f"Dots: the answers given, about {each:,.0f} to a dot, from pairs that differ by about "
            "as much in the estimates; with the 95 % interval of each share."
        )
    if many:
        sentences.append("More and less: of the one of a pair that is higher in the estimates.")
    return sentences


def _draw_dots(axes: Axes, observed: pd.DataFrame, colour: str) -> None:
    if not len(observed):
        return
    gap, share = observed["gap"], 100 * observed["share"]
    axes.vlines(gap, 100 * observed["low"], 100 * observed["high"], color=colour, linewidth=0.9)
    axes.scatter(gap, share, s=26, color=colour, zorder=3, clip_on=False)


def observed_ties(results: Results) -> pd.DataFrame:
    """Share of ties among pairs of about the same estimated difference, with Wilson's interval.

    Each row stands for about as many answers as every other.
    """
    shares = observed_shares(results)
    return shares[len(shares) // 2]


def observed_shares(results: Results) -> list[pd.DataFrame]:
    """The same of every answer, from all for the higher one of a pair to all for the lower one."""
    tree = results.tree
    counts, grades = tree["observed_data"], grade_counts(tree)
    mean = quality_means(tree)
    gap = mean[counts["first"].to_numpy()] - mean[counts["second"].to_numpy()]
    grades = np.where(gap < 0, grades[::-1], grades)
    table = pd.DataFrame(dict(enumerate(grades))).assign(
        gap=np.abs(gap), answers=grades.sum(axis=0)
    )
    table = table[table["answers"] > 0].sort_values("gap", kind="stable")
    total = int(table["answers"].sum())
    most = MOST_BINS if len(grades) == 3 else GRADED_BINS
    bins = int(np.clip(total // FEWEST_ANSWERS, 0, most))
    if not bins:
        empty = pd.DataFrame(columns=["gap", "share", "low", "high", "answers"])
        return [empty] * len(grades)
    bin_of = (table["answers"].cumsum() - table["answers"]) * bins // total
    sums = table.assign(gap=table["gap"] * table["answers"]).groupby(bin_of).sum()
    return [_with_intervals(sums, sums[k]) for k in range(len(grades))]


def _with_intervals(sums: pd.DataFrame, number: pd.Series[int]) -> pd.DataFrame:
    n, share = sums["answers"], number / sums["answers"]
    middle = (share + WILSON**2 / (2 * n)) / (1 + WILSON**2 / n)
    reach = WILSON * np.sqrt(share * (1 - share) / n + (WILSON / n / 2) ** 2) / (1 + WILSON**2 / n)
    return pd.DataFrame(
        {"gap": sums["gap"] / n, "share": share, "low": middle - reach, "high": middle + reach,
         "answers": n}
    )  # fmt: skip


def _caption(results: Results) -> str:
    if "cut" in results.tree["posterior"]:
        return _graded_caption(results)
    curve = tie_curve(results.tree, [0.0, 1.0, 2.0])
    none, one, two = (probability_percent(share) for share in curve["median"])
    low, high = (probability_percent(curve[end][0]) for end in ("q2.5", "q97.5"))
    band = f" ({low} to {high})" if results.facts["kind"] != "point" else ""
    return (
        f"Curve of how often two {results.wording.nouns} are called about equal: {none}{band} "
        f"where their qualities do not differ, {one} where they differ by 1, {two} where by 2."
    )


def _graded_caption(results: Results) -> str:
    """Every answer where qualities do not differ, and where they differ by 2."""
    ties = has_ties(results.tree)
    curves = answer_curves(results.tree, [0.0, 2.0])
    levels = len(curves) // 2
    shown = [curve for k, curve in enumerate(curves) if k != levels or ties]
    shares = [
        f"{word} {probability_percent(curve['median'][0])} and "
        f"{probability_percent(curve['median'][1])}"
        for word, curve in zip(answer_words(levels, ties=ties), shown, strict=True)
    ]
    return (
        f"Curves of how often each answer is given of two {results.wording.nouns}, where their "
        f"qualities do not differ and where they differ by 2: {', '.join(shares)}."
    )


def _applies(results: Results) -> bool:
    return has_ties(results.tree) or "cut" in results.tree["posterior"]


TIE_CURVE = PlotDefinition("tie-curve", "How answers were used", tie_curve_plot, _caption, _applies)
