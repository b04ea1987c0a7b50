"""Plots of differences between groups of judges, or waves: maps, or a ranking without a map."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tiewise.errors import InputError
from tiewise.geo.colours import ONE_TO_OTHER, UNKNOWN, interpolate
from tiewise.plots.canvas import Block, heading, notes, page, space, styled, text_or
from tiewise.plots.definition import PlotDefinition, needs_all, needs_map, needs_term
from tiewise.plots.legends import BarLabel, Swatch, colour_bar, swatch_list
from tiewise.plots.map_canvas import MapTable, map_blocks, map_table
from tiewise.plots.ranking import RowAxis, interval_rows
from tiewise.posterior.terms.sentences import DifferenceWords, difference_words, term_sentences
from tiewise.posterior.terms.tables import MEAN, contrasts, group_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tiewise.posterior.results_folder import Results

MOST_MAPS = 6
LEAST_SHARE = 0.25  # of the spread of items: a smaller difference does not get the full colour
ONE, OTHER = ONE_TO_OTHER[1], ONE_TO_OTHER[-2]
STEPS = ((0.95, "almost certain"), (0.80, "very likely"), (0.60, "likely"))
UNDECIDED = "cannot be told: below 60 % either way"


@styled
def difference_plot(results: Results, *, title: str | None = None) -> Figure:
    """How much higher one group places each item than the other: a map, or else a ranking."""
    words = _words(results)
    head = heading(title or words.title, text_or(results.wording.question, ""))
    if results.areas is None:
        return page(head, *_rankings(results, words))
    largest = _largest(results)
    labels = (
        BarLabel(text_or(words.lower, "lower"), f"−{largest:.2g}"), BarLabel("no difference", "0"),
        BarLabel(text_or(words.higher, "higher"), f"+{largest:.2g}"),
    )  # fmt: skip

    def colours(table: MapTable) -> list[str]:
        return interpolate(ONE_TO_OTHER, table.column("median") / largest / 2 + 0.5)

    return page(head, *_maps(results, words, colours, colour_bar(ONE_TO_OTHER, labels)))


@styled
def difference_certainty_map(results: Results, *, title: str | None = None) -> Figure:
    """The areas coloured by how surely one group places them higher than the other."""
    words = _words(results)
    head = heading(
        title or "How surely is the difference real?",
        "The chance that it lies on this side, however small it is.",
    )

    def colours(table: MapTable) -> list[str]:
        return [certainty_colour(probability) for probability in table.column("above_0")]

    return page(head, *_maps(results, words, colours, _certainty_legend(words)))


def _words(results: Results) -> DifferenceWords:
    if "contrast" not in results.tree["posterior"]:
        raise InputError(
            f"{results.folder} compares no groups; fit with judge_groups= or waves= for this"
        )
    return difference_words(results)


def _tables(results: Results) -> Iterator[tuple[str, pd.DataFrame]]:
    """The table of each difference by its group, the first few."""
    table = contrasts(results.tree)
    for group in list(dict.fromkeys(table["group"]))[:MOST_MAPS]:
        yield str(group), table[table["group"] == group]


def _largest(results: Results) -> float:
    """The difference that has the full colour: never one that is small beside those of items."""
    largest = float(contrasts(results.tree)["median"].abs().max())
    spread = float(results.items["mean"].std())
    return max(largest, LEAST_SHARE * spread) or 1.0


def _maps(
    results: Results,
    words: DifferenceWords,
    colours: Callable[[MapTable], list[str]],
    legend: Block,
) -> Iterator[Block]:
    """A map of each difference, and one legend for all."""
    whole, none = map_table(results), space(0)
    for group, table in _tables(results):
        rows = table.set_index("item").reindex(whole.rows.index)
        own = whole._replace(rows=rows.assign(comparisons=whole.rows["comparisons"]))
        if words.several:
            yield from (space(8), heading(f"“{group}” against the mean"))
        yield from map_blocks(results, own, colours(own), none if words.several else legend)
    if words.several:
        yield legend
    yield from _groups_left_out(results)


def _groups_left_out(results: Results) -> Iterator[Block]:
    groups = len(group_names(results.tree))
    if groups > MOST_MAPS:
        yield notes(f"The first {MOST_MAPS} of {groups} groups; contrasts.csv has all.")


def _rankings(results: Results, words: DifferenceWords) -> Iterator[Block]:
    for group, table in _tables(results):
        rows = table.sort_values("median", ascending=False).assign(comparisons=1)
        axis = RowAxis("difference in quality", below=ONE, above=OTHER)
        if words.several:
            yield heading(f"“{group}” against the mean")
        yield interval_rows(rows, axis=axis)[0]
    yield swatch_list(Swatch(OTHER, words.higher), Swatch(ONE, words.lower))
    yield notes("Dot: the median. Line: the 95 % interval. Grey: cannot be told.")
    yield from _groups_left_out(results)


def certainty_colour(probability: float) -> str:
    """The colour of a probability that the group places it higher."""
    if np.isnan(probability):
        return UNKNOWN
    sure = max(probability, 1 - probability)
    step = next((k for k, (least, _) in enumerate(STEPS) if sure >= least), len(STEPS))
    return _step_colours(higher=probability > 0.5)[step]


def _step_colours(*, higher: bool) -> list[str]:
    """From the surest to what cannot be told, on either side."""
    away = np.array([0.9, 0.55, 0.25, 0.0]) * (1 if higher else -1)
    return interpolate(ONE_TO_OTHER, 0.5 + away / 2)


def _certainty_legend(words: DifferenceWords) -> Block:
    spans = ("95 % or more", "80 to 94 %", "60 to 79 %")
    swatches = [
        Swatch(colour, f"{side}, {word}: {span}")
        for higher, side in ((True, words.higher), (False, words.lower))
        for colour, (_, word), span in zip(_step_colours(higher=higher), STEPS, spans, strict=False)
    ]
    swatches.insert(3, Swatch(_step_colours(higher=True)[-1], UNDECIDED))
    return swatch_list(*swatches[:4], *swatches[:3:-1])


def _difference_caption(results: Results) -> str:
    return _caption(results, "by how much")


def _certainty_caption(results: Results) -> str:
    return _caption(results, "by how surely")


def _caption(results: Results, measure: str) -> str:
    kind = "Map" if results.areas is not None else "Ranking"
    against = f" against {MEAN}" if difference_words(results).several else ""
    sentences = " ".join(term_sentences(results)["contrast"])
    return f"{kind} of differences{against}, {measure}. {sentences}"


DIFFERENCE = PlotDefinition(
    "difference", "Where views differ", difference_plot, _difference_caption, needs_term("contrast")
)
DIFFERENCE_CERTAINTY = PlotDefinition(
    "difference-real", "How surely they differ", difference_certainty_map, _certainty_caption,
    needs_all(needs_term("contrast"), needs_map),
)  # fmt: skip
