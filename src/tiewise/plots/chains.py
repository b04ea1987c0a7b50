"""Plots of Markov chains: traces, ranks and autocorrelation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.geo.colours import EDGE, INK, LOW, MUTED, SERIES
from tiewise.plots.canvas import (
    SMALL,
    Block,
    Margins,
    escape_math,
    heading,
    notes,
    page,
    panel,
    row_labels,
    styled,
)  # fmt: skip
from tiewise.plots.definition import PlotDefinition
from tiewise.posterior.diagnostics import autocorrelation, centred_parts, ess, rhat
from tiewise.posterior.large.groups import all_draws, is_thinned
from tiewise.text import quantity, sentence_list, true_minus

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from xarray import DataTree

    from tiewise.posterior.results_folder import Results

Floats = NDArray[np.float64]

MOST_GROUPS = 8  # of more chains some share a row
MOST_POINTS = 6000  # of one trace: more are not visible, and make the file large
LAGS = 30
BINS = 20


class ParameterChains(NamedTuple):
    """The draws (chains, draws) of one parameter, with R-hat and effective sample size."""

    name: str
    draws: Floats
    rhat: float
    ess: float
    groups: int  # of chains that share a start, or a row of a plot
    group_name: str

    @property
    def title(self) -> str:
        """Its name, R-hat and effective sample size."""
        return f"{self.name}: R-hat {self.rhat:.3f}, ESS {self.ess:,.0f}"


def diagnostic_chains(results: Results, items: Sequence[str] = ()) -> list[ParameterChains]:
    """The chains of δ, of α² and of the quality that mixes worst; or of the qualities named."""
    if results.facts["kind"] != "exact":
        raise InputError(
            f"{results.facts['engine']} has no chains; fit with an exact engine (the default)"
        )
    posterior = all_draws(results.tree)
    scalars = {"tie threshold δ": "tie", "variance α²": "variance"}
    draws = [(words, posterior[name].to_numpy()) for words, name in scalars.items()]
    free = [(words, values) for words, values in draws if np.ptp(values) > 0]
    return [_with_diagnostics(results, *one) for one in (*free, *_qualities(results, items))]


def _default_chains(results: Results) -> list[ParameterChains]:
    """The chains without a choice of items, computed once: it takes some seconds for many items."""
    if "chains" not in results.cache:
        results.cache["chains"] = diagnostic_chains(results)
    chains: list[ParameterChains] = results.cache["chains"]
    return chains


def _qualities(results: Results, items: Sequence[str]) -> list[tuple[str, Floats]]:
    """Centred qualities of these items, or of the one with the smallest effective sample size."""
    known, quality = _known_qualities(results.tree, items)
    if not items:
        sizes = ess(quality)
        if np.isnan(sizes).all():
            return []
        items = [known[int(np.nanargmin(sizes))]]
    unknown = set(items) - set(known)
    if unknown:
        raise InputError(f"no item {min(unknown)!r} in this fit; items are the ids in items.csv")
    table = results.items
    if is_thinned(results.tree):  # the width of every label is measured
        table = table[table["item"].isin(items)]
    names = {
        item: label if comparisons else f"{label} (never compared)"
        for item, label, comparisons in zip(
            table["item"], row_labels(table), table["comparisons"], strict=True
        )
    }
    position = {item: k for k, item in enumerate(known)}
    return [(f"quality of {names[item]}", quality[:, :, position[item]]) for item in items]


def _known_qualities(tree: DataTree, items: Sequence[str]) -> tuple[NDArray[np.str_], Floats]:
    """Ids and centred qualities of all items, or of very many of those that are watched.

    Where an item is asked for that is not watched, the draws of it that were kept.
    """
    known = tree["constant_data"]["item"].to_numpy().astype(str)
    if not is_thinned(tree):
        return known, np.concatenate(list(centred_parts(tree)), axis=-1)
    whole = all_draws(tree)
    watched = whole["watched"].to_numpy().astype(str)
    if set(items) <= set(watched):
        return watched, whole["quality"].to_numpy().astype(float)
    return known, tree["posterior/quality"].to_numpy()


def _with_diagnostics(results: Results, name: str, draws: Floats) -> ParameterChains:
    superchains, count = int(results.tree.attrs.get("superchains", 0)), len(draws)
    groups = superchains or min(count, MOST_GROUPS)
    group_name = "start" if superchains else "chain" if count <= MOST_GROUPS else "group"
    return ParameterChains(
        name, draws, float(rhat(draws, superchains)), float(ess(draws)), groups, group_name
    )  # fmt: skip


def _members(chains: ParameterChains) -> list[NDArray[np.int64]]:
    return np.array_split(np.arange(len(chains.draws)), chains.groups)


@styled
def trace_plot(
    results: Results, *, title: str | None = None, chains: Sequence[ParameterChains] | None = None
) -> Figure:
    """Every chain, draw by draw; one of each start in colour."""
    selected = _default_chains(results) if chains is None else chains
    count, length = selected[0].draws.shape
    step = max(-(-selected[0].draws.size // MOST_POINTS), 1)
    blocks = [_chain_panel(one, _paint_trace, step=step) for one in selected]
    every = f" Every {step}th draw is shown." if step > 1 else ""
    return page(
        heading(title or "Where the chains went", "Draw by draw, from left to right."),
        *blocks,
        notes(
            f"{count} chains of {length:,} draws; {_in_colour(selected[0])}.{every} "
            "They should look like one another, and like noise without a trend."
        ),
    )


def _in_colour(one: ParameterChains) -> str:
    if len(one.draws) == one.groups:
        return "each has its colour"
    what = "one from each start" if one.group_name == "start" else "some of them"
    return f"{what} in colour, the others grey"


def _paint_trace(axes: Axes, one: ParameterChains, *, step: int) -> None:
    number = np.arange(1, one.draws.shape[1] + 1)[::step]
    coloured = [int(members[0]) for members in _members(one)]
    others = np.setdiff1d(np.arange(len(one.draws)), coloured)
    axes.plot(number, one.draws[others][:, ::step].T, color="#c8c8c8", linewidth=0.4)
    for chain, colour in zip(coloured, SERIES, strict=False):
        axes.plot(number, one.draws[chain, ::step], color=colour, linewidth=0.8)
    axes.set_xlim(1, number[-1])


@styled
def rank_plot(
    results: Results, *, title: str | None = None, chains: Sequence[ParameterChains] | None = None
) -> Figure:
    """How the draws of each start, or chain, rank among all draws: level where they agree."""
    selected = _default_chains(results) if chains is None else chains
    rows = selected[0].groups
    rows_of = {"start": "chains that left from one start", "chain": "one chain"}
    row = rows_of.get(selected[0].group_name, "some of the chains")
    return page(
        heading(title or "Do the chains agree?", "Ranks of their draws among all draws."),
        *(_chain_panel(one, _paint_ranks, height=56 + 24 * rows, left=50) for one in selected),
        notes(
            f"Each row: {row}. Bars near the dashed line: its draws are spread as all the others "
            "are. A slope or a hump means that it saw another part of the posterior."
        ),
    )


def _paint_ranks(axes: Axes, one: ParameterChains) -> None:
    order = np.argsort(np.argsort(one.draws, axis=None, kind="stable"), kind="stable")
    ranks = order.reshape(one.draws.shape)
    edges = np.linspace(0, one.draws.size, BINS + 1)
    heights = []
    for k, members in enumerate(_members(one)):
        counts, _ = np.histogram(ranks[members], edges)
        expected = ranks[members].size / BINS
        level, colour = one.groups - 1 - k, SERIES[k]
        bars = level + np.minimum(0.5 * counts / expected, 0.95)
        axes.stairs(bars, edges, baseline=level, fill=True, color=colour, alpha=0.6)
        axes.axhline(level + 0.5, color=INK, linewidth=0.7, linestyle=(0, (3, 2)))
        heights.append(level + 0.5)
    axes.set(xlim=(0, one.draws.size), ylim=(0, one.groups), xticks=[])
    axes.set_yticks(heights, [f"{one.group_name} {k + 1}" for k in range(one.groups)])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("lowest draws … highest draws", size=SMALL, color=MUTED)


@styled
def autocorrelation_plot(
    results: Results, *, title: str | None = None, chains: Sequence[ParameterChains] | None = None
) -> Figure:
    """The autocorrelation of the draws, lag by lag."""
    selected = _default_chains(results) if chains is None else chains
    return page(
        heading(title or "How soon do the chains forget?", "Autocorrelation of their draws."),
        *(_chain_panel(one, _paint_autocorrelation) for one in selected),
        notes(
            "From left to right: draws next to each other, two apart, three apart, and so on. "
            "Near 0 at once means that every draw brings something new."
        ),
    )


def _paint_autocorrelation(axes: Axes, one: ParameterChains) -> None:
    values = autocorrelation(one.draws)[: min(LAGS, one.draws.shape[1] // 2) + 1]
    lag = np.arange(len(values))
    axes.bar(lag, values, width=0.6, color=LOW)
    axes.axhline(0, color=EDGE, linewidth=0.8)
    axes.set(xlim=(-0.6, max(len(values) - 0.4, 1)), ylim=(min(-0.25, float(values.min())), 1.05))


def _chain_panel(
    one: ParameterChains,
    paint: Callable[..., None],
    height: float = 114,
    left: float = 34,
    **options: int,
) -> Block:
    """A plot of one parameter, with its name and numbers above it."""

    def draw(axes: Axes) -> None:
        paint(axes, one, **options)
        # Above the whole panel and not only the axes, since names are long.
        axes.annotate(escape_math(one.title), (0, 1), (-left, 6), xycoords="axes fraction",
                      textcoords="offset points", annotation_clip=False)  # fmt: skip

    return panel(height, draw, Margins(left=left, bottom=24, top=24))


# Captions.


def _numbers(chains: Sequence[ParameterChains]) -> str:
    return "; ".join(one.title for one in chains) + "."


def _trace_caption(results: Results) -> str:
    chains = _default_chains(results)
    count, length = chains[0].draws.shape
    return f"Traces of {quantity(count, 'chain')} of {length:,} draws. {_numbers(chains)}"


def _rank_caption(results: Results) -> str:
    chains = _default_chains(results)
    return (
        f"Histograms of the ranks of the draws of each {chains[0].group_name} among all draws; "
        f"level bars mean agreement. {_numbers(chains)}"
    )


def _autocorrelation_caption(results: Results) -> str:
    chains = _default_chains(results)
    lags = [true_minus(f"{one.name} {autocorrelation(one.draws)[1]:.2f}") for one in chains]
    return (
        "Autocorrelation of the draws, lag by lag. Between neighbouring draws: "
        f"{sentence_list(lags)}."
    )


def _has_chains(results: Results) -> bool:
    return results.facts["kind"] == "exact" and bool(_default_chains(results))


TRACES = PlotDefinition("traces", "Traces", trace_plot, _trace_caption, _has_chains)
RANKS = PlotDefinition("ranks", "Ranks", rank_plot, _rank_caption, _has_chains)
AUTOCORRELATION = PlotDefinition(
    "autocorrelation", "Autocorrelation", autocorrelation_plot, _autocorrelation_caption,
    _has_chains,
)  # fmt: skip
