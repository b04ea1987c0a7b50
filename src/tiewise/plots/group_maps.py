"""Where groups of judges, or two waves, differ: maps of how much and how surely, or a ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.geo.colours import ONE_TO_OTHER, UNKNOWN, along
from tiewise.plots.canvas import Block, gap, heading, notes, page, spoken_or, styled
from tiewise.plots.legends import End, Swatch, colour_bar, key
from tiewise.plots.map_canvas import Land, drawn_blocks, land_of
from tiewise.plots.ranking import Axis, listed_rows
from tiewise.posterior.term_tables import contrasts, group_names
from tiewise.report.groups import Sides, sides_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tiewise.report.folder import Results

Floats = NDArray[np.float64]

MOST_MAPS = 6
LEAST = 0.25
ONE, OTHER = ONE_TO_OTHER[1], ONE_TO_OTHER[-2]
STEPS = ((0.95, "almost certain"), (0.80, "very likely"), (0.60, "likely"))
NEITHER = "cannot be told: below 60 % either way"


@styled
def difference_picture(results: Results, *, title: str | None = None) -> Figure:
    """How much higher one group places each item than the other: a map, or else a ranking."""
    sides = _sides(results)
    head = heading(title or sides.title, spoken_or(results.about.question, ""))
    if results.areas is None:
        return page(head, *_rankings(results, sides))
    reach = _reach(results)
    ends = (
        End(spoken_or(sides.lower, "lower"), f"−{reach:.2g}"), End("no difference", "0"),
        End(spoken_or(sides.higher, "higher"), f"+{reach:.2g}"),
    )  # fmt: skip

    def painted(land: Land) -> list[str]:
        return along(ONE_TO_OTHER, land.of("median") / reach / 2 + 0.5)

    return page(head, *_maps(results, sides, painted, colour_bar(ONE_TO_OTHER, ends)))


@styled
def real_picture(results: Results, *, title: str | None = None) -> Figure:
    """The areas coloured by how surely one group places them higher than the other."""
    sides = _sides(results)
    head = heading(
        title or "How surely is the difference real?",
        "The chance that it lies on this side, however small it is.",
    )

    def painted(land: Land) -> list[str]:
        return [_shade(chance) for chance in land.of("above_0")]

    return page(head, *_maps(results, sides, painted, _key(sides)))


def _sides(results: Results) -> Sides:
    if "contrast" not in results.tree["posterior"]:
        raise InputError(
            f"{results.folder} compares no groups; fit with --judge-groups or --waves for this"
        )
    return sides_of(results)


def _tables(results: Results) -> Iterator[tuple[str, pd.DataFrame]]:
    """The table of each difference by its group, the first few."""
    table = contrasts(results.tree)
    for group in list(dict.fromkeys(table["group"]))[:MOST_MAPS]:
        yield str(group), table[table["group"] == group]


def _reach(results: Results) -> float:
    """The difference that has the full colour: never one that is small beside those of items."""
    largest = float(contrasts(results.tree)["median"].abs().max())
    spread = float(results.items["median"].std())
    return max(largest, LEAST * spread) or 1.0


def _maps(
    results: Results, sides: Sides, painted: Callable[[Land], list[str]], legend: Block
) -> Iterator[Block]:
    """A map of each difference, and one legend for all."""
    land, none = land_of(results), gap(0)
    for group, table in _tables(results):
        own = table.set_index("item").reindex(land.table.index)
        drawn = land._replace(table=own.assign(comparisons=land.table["comparisons"]))
        if sides.several:
            yield from (gap(8), heading(f"“{group}” against the mean"))
        yield from drawn_blocks(results, drawn, painted(drawn), none if sides.several else legend)
    if sides.several:
        yield legend
    yield from _left_out(results)


def _left_out(results: Results) -> Iterator[Block]:
    groups = len(group_names(results.tree))
    if groups > MOST_MAPS:
        yield notes(f"The first {MOST_MAPS} of {groups} groups; contrasts.csv has all.")


def _rankings(results: Results, sides: Sides) -> Iterator[Block]:
    for group, table in _tables(results):
        rows = table.sort_values("median", ascending=False).assign(comparisons=1)
        axis = Axis("difference in quality", below=ONE, above=OTHER)
        if sides.several:
            yield heading(f"“{group}” against the mean")
        yield listed_rows(rows, axis=axis)[0]
    yield key(Swatch(OTHER, sides.higher), Swatch(ONE, sides.lower))
    yield notes("Dot: the median. Line: the 95 % interval. Grey: cannot be told.")
    yield from _left_out(results)


def _shade(chance: float) -> str:
    """The colour of a chance that the group places it higher."""
    if np.isnan(chance):
        return UNKNOWN
    sure = max(chance, 1 - chance)
    step = next((k for k, (least, _) in enumerate(STEPS) if sure >= least), len(STEPS))
    return _colours(chance > 0.5)[step]


def _colours(other: bool) -> list[str]:
    """From the surest to what cannot be told, on either side."""
    away = np.array([0.9, 0.55, 0.25, 0.0]) * (1 if other else -1)
    return along(ONE_TO_OTHER, 0.5 + away / 2)


def _key(told: Sides) -> Block:
    spans = ("95 % or more", "80 to 94 %", "60 to 79 %")
    swatches = [
        Swatch(colour, f"{words}, {word}: {span}")
        for other, words in ((True, told.higher), (False, told.lower))
        for colour, (_, word), span in zip(_colours(other), STEPS, spans, strict=False)
    ]
    swatches.insert(3, Swatch(_colours(True)[-1], NEITHER))
    return key(*swatches[:4], *swatches[:3:-1])
