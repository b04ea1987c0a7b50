"""Maps of results: quality, its uncertainty, both in one, and the probability of the top k."""

from __future__ import annotations

from collections.abc import Sequence
from math import erf, sqrt
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.geo.colours import (
    LOW_TO_HIGH,
    SURE_TO_UNSURE,
    UNKNOWN,
    UNLIKELY_TO_CERTAIN,
    blend,
    interpolate,
)  # fmt: skip
from tiewise.plots.canvas import Block, heading, styled, text_or
from tiewise.plots.captions import (
    NAMED,
    caption_names,
    highest_and_lowest,
    number_of_items,
    uncompared_items,
)  # fmt: skip
from tiewise.plots.definition import PlotDefinition, needs_all, needs_map
from tiewise.plots.legends import (
    BarLabel,
    BarLabels,
    Swatch,
    colour_bar,
    colour_square,
    swatch_list,
)  # fmt: skip
from tiewise.plots.map_canvas import MapTable, map_page, map_table
from tiewise.posterior.diagnostics import centred_parts
from tiewise.posterior.large.groups import is_thinned, summary_columns
from tiewise.posterior.phrases import has_top_probabilities, top_phrase
from tiewise.posterior.scales.display_scale import shown_scores
from tiewise.posterior.scales.scale import scored
from tiewise.text import (
    PROBABILITY_SCALE,
    probability_percent,
    probability_scale_rows,
    probability_words,
    sentence_list,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import DataTree

    from tiewise.posterior.results_folder import Results

Floats = NDArray[np.float64]

SCALE_COLOURS = tuple(interpolate(UNLIKELY_TO_CERTAIN, np.linspace(1, 0, len(PROBABILITY_SCALE))))
"""A colour for each word of the scale, from almost certain to almost ruled out."""

FADES = (
    (0.95, 1.0, "almost certain"), (0.80, 0.62, "very likely"), (0.60, 0.3, "likely"),
    (0.0, 0.0, "cannot be told"),
)  # fmt: skip
"""From which probability of lying on its side of the average an area keeps how much colour."""


# Quality.


@styled
def quality_map(results: Results, *, title: str | None = None) -> Figure:
    """The areas coloured by estimate: red is higher, blue lower, white the average.

    Group outlines are thick; areas that nobody compared are hatched.
    """
    table = map_table(results)
    away = _away(results, table)
    largest = _largest(away)
    colours = interpolate(LOW_TO_HIGH, away / largest / 2 + 0.5)
    bar = colour_bar(LOW_TO_HIGH, _quality_labels(results, largest))
    head = heading(text_or(title or results.wording.question, ""))
    return map_page(results, table, head, colours, bar)


def _quality_caption(results: Results) -> str:
    wording = results.wording
    return (
        f"Map of {number_of_items(results)}, from blue ({wording.lower}) through white (the "
        f"average) to red ({wording.higher}). "
        f"{highest_and_lowest(results)}{uncompared_items(results)}"
    )


QUALITY_MAP = PlotDefinition("map", "Map", quality_map, _quality_caption, needs_map)


# Uncertainty.


@styled
def uncertainty_map(results: Results, *, title: str | None = None) -> Figure:
    """The areas coloured by the standard deviation of their quality: dark is less sure."""
    table, wording = map_table(results), results.wording
    most = float(np.nanmax(table.column("score_sd"))) or 1.0
    colours = interpolate(SURE_TO_UNSURE, table.column("score_sd") / most)
    labels = (
        BarLabel("surer", "0"),
        BarLabel("", ""),
        BarLabel("less sure", _sd_label(results, most)),
    )
    head = heading(
        title or "How unsure is the estimate?",
        f"{text_or(wording.question, '')} Standard deviation of the {_estimate_word(results)} of "
        f"each {wording.one}.",
    )
    bar = colour_bar(SURE_TO_UNSURE, labels)
    return map_page(results, table, head, colours, bar, dark_is_unsure=True)


def _sd_label(results: Results, most: float) -> str:
    scale = shown_scores(results).scale
    return scale.spread_text(most) if scored(scale) else f"{most:.2g}"


def _uncertainty_caption(results: Results) -> str:
    scale, _, items = shown_scores(results)
    sd = items.set_index("item")["score_sd"].sort_values(ascending=False, kind="stable")
    names = caption_names(results)
    least = [f"{names[item]} ({scale.spread_text(sd[item])})" for item in sd.index[-1:]]
    most = [f"{names[item]} ({scale.spread_text(sd[item])})" for item in sd.index[:NAMED]]
    return (
        f"Map of {number_of_items(results)} coloured by the standard deviation of the "
        f"{_estimate_word(results)}. The "
        f"estimate is least sure for {sentence_list(most)}, and surest for "
        f"{sentence_list(least)}.{uncompared_items(results)}"
    )


def _has_sd(results: Results) -> bool:
    return bool(results.items["sd"].notna().any())


UNCERTAINTY_MAP = PlotDefinition(
    "map-uncertainty", "How unsure it is", uncertainty_map, _uncertainty_caption,
    needs_all(needs_map, _has_sd),
)  # fmt: skip


# Both in one.


@styled
def faded_map(results: Results, *, title: str | None = None) -> Figure:
    """The map of estimates, fading to grey where the side of the average is not sure."""
    table = map_table(results)
    away = _away(results, table)
    largest, sure = _largest(away), side_probability(results).reindex(table.rows.index)
    full = interpolate(LOW_TO_HIGH, away / largest / 2 + 0.5)
    colours = _faded(full, np.asarray(sure.fillna(0.5), np.float64))
    head = heading(
        text_or(title or results.wording.question, ""),
        f"Pale: not sure on which side of the average the {results.wording.one} lies.",
    )
    legend = _fading_legend(_quality_labels(results, largest))
    return map_page(results, table, head, colours, legend)


def side_probability(results: Results) -> pd.Series[float]:
    """The probability that each item lies where it mostly does, above the average or below."""
    table = results.items.set_index("item")
    if results.facts["kind"] == "point":
        away = (table["mean"] / table["sd"]).abs()
        return away.map(lambda z: (1 + erf(z / sqrt(2))) / 2).fillna(0.5)
    above = _above_average(results.tree)
    items = results.tree["constant_data"]["item"].to_numpy().astype(str)
    return pd.Series(np.maximum(above, 1 - above), index=items)


def _above_average(tree: DataTree) -> Floats:
    """The probability of each item to lie above the average."""
    if is_thinned(tree):
        return summary_columns(tree)["above_average"].astype(float)
    return np.concatenate([(part > 0).mean(axis=(0, 1)) for part in centred_parts(tree)])


def _faded(colours: Sequence[str], probability: Floats) -> list[str]:
    """Colours of which as much is left as the probability of each allows."""
    least = np.array([step for step, *_ in FADES])
    shares = np.array([share for _, share, _ in FADES])
    left = shares[(probability[:, None] >= least).argmax(axis=1)]
    return [blend(UNKNOWN, colour, share) for colour, share in zip(colours, left, strict=True)]


def _fading_legend(labels: BarLabels) -> Block:
    """What colour and paleness mean, in one square."""
    full = interpolate(LOW_TO_HIGH, np.linspace(0, 1, 25))
    rows = [_faded(full, np.full(len(full), least)) for least, *_ in FADES]
    title = "How sure it is that it lies on this side of the average:"
    return colour_square(rows, [words for *_, words in FADES], labels, title)


def _faded_caption(results: Results) -> str:
    sure, mean = side_probability(results), results.items.set_index("item")["mean"]
    certain = sure.reindex(mean.index) >= 0.95
    above, below = int((certain & (mean > 0)).sum()), int((certain & (mean < 0)).sum())
    return (
        f"The map of estimates, faded to grey where it is not sure on which side of the average "
        f"{results.wording.nouns} lie. Of {number_of_items(results)}, {above:,} keep the full red "
        f"of being almost certainly above it and {below:,} the full blue of being "
        f"below.{uncompared_items(results)}"
    )


FADED_MAP = PlotDefinition(
    "map-faded", "Both in one map", faded_map, _faded_caption, needs_all(needs_map, _has_sd)
)


# The top k.


@styled
def top_map(results: Results, *, title: str | None = None) -> Figure:
    """The areas coloured by their chance of being among the top k, in the words of the scale."""
    table, wording = map_table(results), results.wording
    probability = table.column("top_k_probability")
    if np.isnan(probability).all():
        raise InputError(
            f"{results.facts['engine']} gives no chances of being among the highest; "
            "fit with an exact engine (the default) for this map"
        )
    among = f"{'among ' if wording.top > 1 else ''}{top_phrase(wording)}"
    head = heading(
        title or f"How likely is each {wording.one} to be {text_or(among, 'among the highest')}?",
        text_or(wording.question, ""),
    )
    rows = zip(SCALE_COLOURS, probability_scale_rows(), strict=True)
    legend = swatch_list(*(Swatch(colour, f"{words}: {span}") for colour, (words, span) in rows))
    return map_page(results, table, head, _scale_colours(probability), legend)


def _scale_colours(probability: Floats) -> list[str]:
    """The colour of each probability, by its step on the scale of words."""
    colours = {word: SCALE_COLOURS[k] for k, (_, word) in enumerate(PROBABILITY_SCALE)}
    return [UNKNOWN if np.isnan(one) else colours[probability_words(one)] for one in probability]


def _top_caption(results: Results) -> str:
    wording, names = results.wording, caption_names(results)
    largest = results.items.set_index("item")["top_k_probability"].nlargest(NAMED)
    leading = sentence_list(
        [f"{names[str(item)]} ({probability_percent(one)})" for item, one in largest.items()]
    )
    return (
        f"Map of how likely each {wording.one} is {'one of ' if wording.top > 1 else ''}"
        f"{top_phrase(wording)}. The chance is largest for {leading}.{uncompared_items(results)}"
    )


TOP_MAP = PlotDefinition(
    "map-top", "Most likely the highest", top_map, _top_caption,
    needs_all(needs_map, has_top_probabilities), criticism=True,
)  # fmt: skip


# What the maps of estimates share.


def _estimate_word(results: Results) -> str:
    """What is estimated: quality, or its score on another scale."""
    return shown_scores(results).scale.called


def _away(results: Results, table: MapTable) -> Floats:
    """How far each score lies from the middle of its scale."""
    return table.column("score") - shown_scores(results).middle


def _largest(away: Floats) -> float:
    return float(np.nanmax(np.abs(away))) or 1.0


def _quality_labels(results: Results, largest: float) -> BarLabels:
    wording, (scale, middle, _) = results.wording, shown_scores(results)
    low, average, high = scale.ends(middle, largest, ".2g")
    return (
        BarLabel(text_or(wording.lower, "lower"), low),
        BarLabel("average", average),
        BarLabel(text_or(wording.higher, "higher"), high),
    )
