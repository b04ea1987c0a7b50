"""Plots of the chains: where they went, whether they agree, and how soon they forget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.plots.canvas import (
    INK,
    LINE,
    LOW,
    QUIET,
    SEVERAL,
    SMALL,
    Block,
    Margins,
    heading,
    notes,
    page,
    plain,
    plot,
    row_labels,
    styled,
)  # fmt: skip
from tiewise.posterior.diagnostics import autocorrelation, centred_parts, ess, rhat

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tiewise.report.folder import Results

Floats = NDArray[np.float64]

MOST_GROUPS = 8  # of more chains some share a row
MOST_POINTS = 6000  # of one trace: more cannot be seen, and make the file heavy
LAGS = 30
BINS = 20


class Chains(NamedTuple):
    """The draws (chains, draws) of one parameter, and how far they can be trusted."""

    name: str
    draws: Floats
    rhat: float
    ess: float
    groups: int  # chains that share a start, or a row, stand together
    alike: str  # what such a group is called

    @property
    def title(self) -> str:
        """Its name and the two numbers."""
        return f"{self.name}: R-hat {self.rhat:.3f}, ESS {self.ess:,.0f}"


def watched(results: Results, items: Sequence[str] = ()) -> list[Chains]:
    """The chains of δ, of α² and of the quality that mixes worst; or of the qualities named."""
    if results.facts["kind"] != "exact":
        raise InputError(
            f"{results.facts['engine']} has no chains; fit with an exact engine (the default)"
        )
    posterior = results.tree["posterior"]
    scalars = {"tie threshold δ": "tie", "variance α²": "variance"}
    found = [(words, posterior[name].to_numpy()) for words, name in scalars.items()]
    found = [(words, draws) for words, draws in found if np.ptp(draws) > 0]
    return [_measured(results, *one) for one in (*found, *_qualities(results, items))]


def _qualities(results: Results, items: Sequence[str]) -> list[tuple[str, Floats]]:
    """Centred qualities of these items, or of the one whose draws are worth least."""
    known = results.tree["constant_data"]["item"].to_numpy().astype(str)
    quality = np.concatenate(list(centred_parts(results.tree)), axis=-1)
    if not items:
        worth = ess(quality)
        if np.isnan(worth).all():
            return []
        items = [known[int(np.nanargmin(worth))]]
    strangers = set(items) - set(known)
    if strangers:
        raise InputError(f"no item {min(strangers)!r} in this fit; items are the ids in items.csv")
    names = dict(zip(results.items["item"], row_labels(results.items), strict=True))
    where = {item: k for k, item in enumerate(known)}
    return [(f"quality of {names[item]}", quality[:, :, where[item]]) for item in items]


def _measured(results: Results, name: str, draws: Floats) -> Chains:
    superchains, count = int(results.tree.attrs.get("superchains", 0)), len(draws)
    groups = superchains or min(count, MOST_GROUPS)
    alike = "start" if superchains else "chain" if count <= MOST_GROUPS else "group"
    return Chains(
        name, draws, float(rhat(draws, superchains)), float(ess(draws)), groups, alike
    )  # fmt: skip


def _members(chains: Chains) -> list[NDArray[np.int64]]:
    return np.array_split(np.arange(len(chains.draws)), chains.groups)


@styled
def trace_plot(
    results: Results, *, title: str | None = None, chains: Sequence[Chains] | None = None
) -> Figure:
    """Every chain, draw by draw; one of each start in colour."""
    shown = watched(results) if chains is None else chains
    _, number = shown[0].draws.shape
    step = max(-(-shown[0].draws.size // MOST_POINTS), 1)
    blocks = [_panel(one, _paint_trace, step=step) for one in shown]
    every = f" Every {step}th draw is shown." if step > 1 else ""
    return page(
        heading(title or "Where the chains went", "Draw by draw, from left to right."),
        *blocks,
        notes(
            f"{len(shown[0].draws)} chains of {number:,} draws; {_in_colour(shown[0])}.{every} "
            "They should look like one another, and like noise without a trend."
        ),
    )


def _in_colour(one: Chains) -> str:
    if len(one.draws) == one.groups:
        return "each has its colour"
    what = "one from each start" if one.alike == "start" else "some of them"
    return f"{what} in colour, the others grey"


def _paint_trace(axes: Axes, one: Chains, *, step: int) -> None:
    number = np.arange(1, one.draws.shape[1] + 1)[::step]
    leaders = [int(members[0]) for members in _members(one)]
    others = np.setdiff1d(np.arange(len(one.draws)), leaders)
    axes.plot(number, one.draws[others][:, ::step].T, color="#c8c8c8", linewidth=0.4)
    for leader, colour in zip(leaders, SEVERAL, strict=False):
        axes.plot(number, one.draws[leader, ::step], color=colour, linewidth=0.8)
    axes.set_xlim(1, number[-1])


@styled
def rank_plot(
    results: Results, *, title: str | None = None, chains: Sequence[Chains] | None = None
) -> Figure:
    """How the draws of each start, or chain, rank among all draws: level where they agree."""
    shown = watched(results) if chains is None else chains
    rows = shown[0].groups
    of = {"start": "chains that left from one start", "chain": "one chain"}
    row = of.get(shown[0].alike, "some of the chains")
    return page(
        heading(title or "Do the chains agree?", "Ranks of their draws among all draws."),
        *(_panel(one, _paint_ranks, height=56 + 24 * rows, left=50) for one in shown),
        notes(
            f"Each row: {row}. Bars near the dashed line: its draws are spread as all the others "
            "are. A slope or a hump means that it saw another part of the posterior."
        ),
    )


def _paint_ranks(axes: Axes, one: Chains) -> None:
    order = np.argsort(np.argsort(one.draws, axis=None, kind="stable"), kind="stable")
    places = order.reshape(one.draws.shape)
    edges = np.linspace(0, one.draws.size, BINS + 1)
    heights = []
    for k, members in enumerate(_members(one)):
        counts, _ = np.histogram(places[members], edges)
        usual = places[members].size / BINS
        level, colour = one.groups - 1 - k, SEVERAL[k]
        bars = level + np.minimum(0.5 * counts / usual, 0.95)
        axes.stairs(bars, edges, baseline=level, fill=True, color=colour, alpha=0.6)
        axes.axhline(level + 0.5, color=INK, linewidth=0.7, linestyle=(0, (3, 2)))
        heights.append(level + 0.5)
    axes.set(xlim=(0, one.draws.size), ylim=(0, one.groups), xticks=[])
    axes.set_yticks(heights, [f"{one.alike} {k + 1}" for k in range(one.groups)])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("lowest draws … highest draws", size=SMALL, color=QUIET)


@styled
def autocorrelation_plot(
    results: Results, *, title: str | None = None, chains: Sequence[Chains] | None = None
) -> Figure:
    """How alike draws of a chain are that lie so many apart."""
    shown = watched(results) if chains is None else chains
    return page(
        heading(title or "How soon do the chains forget?", "Autocorrelation of their draws."),
        *(_panel(one, _paint_autocorrelation) for one in shown),
        notes(
            "From left to right: draws next to each other, two apart, three apart, and so on. "
            "Near 0 at once means that every draw brings something new."
        ),
    )


def _paint_autocorrelation(axes: Axes, one: Chains) -> None:
    alike = autocorrelation(one.draws)[: min(LAGS, one.draws.shape[1] // 2) + 1]
    lag = np.arange(len(alike))
    axes.bar(lag, alike, width=0.6, color=LOW)
    axes.axhline(0, color=LINE, linewidth=0.8)
    axes.set(xlim=(-0.6, max(len(alike) - 0.4, 1)), ylim=(min(-0.25, float(alike.min())), 1.05))


def _panel(
    one: Chains, paint: Callable[..., None], height: float = 114, left: float = 34, **options: int
) -> Block:
    """A plot of one parameter, with its name and numbers above it."""

    def draw(axes: Axes) -> None:
        paint(axes, one, **options)
        # Above the whole panel and not only the axes, since names are long.
        axes.annotate(plain(one.title), (0, 1), (-left, 6), xycoords="axes fraction",
                      textcoords="offset points", annotation_clip=False)  # fmt: skip

    return plot(height, draw, Margins(left=left, bottom=24, top=24))
