"""Maps: what was found, how sure it is, both in one, and who is among the highest."""

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
    along,
)  # fmt: skip
from tiewise.plots.canvas import Block, heading, spoken_or, styled
from tiewise.plots.legends import End, Ends, Swatch, colour_bar, colour_square, key
from tiewise.plots.map_canvas import Land, land_of, mixed, sheet
from tiewise.posterior.diagnostics import centred_parts
from tiewise.report.answer import SCALE, chance_words, scale_rows, the_highest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tiewise.report.folder import Results

Floats = NDArray[np.float64]

STEPS = tuple(along(UNLIKELY_TO_CERTAIN, np.linspace(1, 0, len(SCALE))))
"""A colour for each word of the scale, from almost certain to almost ruled out."""

FADES = (
    (0.95, 1.0, "almost certain"), (0.80, 0.62, "very likely"), (0.60, 0.3, "likely"),
    (0.0, 0.0, "cannot be told"),
)  # fmt: skip
"""From which chance of lying on its side of the average how much of its colour an area keeps."""


@styled
def quality_map(results: Results, *, title: str | None = None) -> Figure:
    """The areas coloured by posterior median: red is higher, blue lower, white the average.

    Group outlines are thick; areas that nobody compared are hatched.
    """
    land = land_of(results)
    reach = _reach(land)
    colours = along(LOW_TO_HIGH, land.of("median") / reach / 2 + 0.5)
    bar = colour_bar(LOW_TO_HIGH, _quality_ends(results, reach))
    head = heading(spoken_or(title or results.about.question, ""))
    return sheet(results, land, head, colours, bar)


@styled
def uncertainty_map(results: Results, *, title: str | None = None) -> Figure:
    """The areas coloured by the standard deviation of their quality: dark is less sure."""
    land, about = land_of(results), results.about
    most = float(np.nanmax(land.of("sd"))) or 1.0
    colours = along(SURE_TO_UNSURE, land.of("sd") / most)
    ends = End("surer", "0"), End("", ""), End("less sure", f"{most:.2g}")
    head = heading(
        title or "How unsure is the estimate?",
        f"{spoken_or(about.question, '')} Standard deviation of the quality of each {about.one}.",
    )
    return sheet(results, land, head, colours, colour_bar(SURE_TO_UNSURE, ends))


@styled
def faded_map(results: Results, *, title: str | None = None) -> Figure:
    """The map of medians, fading to grey where the side of the average is not sure."""
    land = land_of(results)
    reach, sure = _reach(land), sureness(results).reindex(land.table.index)
    full = along(LOW_TO_HIGH, land.of("median") / reach / 2 + 0.5)
    colours = _faded(full, np.asarray(sure.fillna(0.5), np.float64))
    head = heading(
        spoken_or(title or results.about.question, ""),
        f"Pale: not sure on which side of the average the {results.about.one} lies.",
    )
    return sheet(results, land, head, colours, _fading_key(_quality_ends(results, reach)))


@styled
def top_map(results: Results, *, title: str | None = None) -> Figure:
    """The areas coloured by their chance of being among the top k, in the words of the scale."""
    land, about = land_of(results), results.about
    chance = land.of("top_k_probability")
    if np.isnan(chance).all():
        raise InputError(
            f"{results.facts['engine']} gives no chances of being among the highest; "
            "fit with an exact engine (the default) for this map"
        )
    among = f"{'among ' if about.top > 1 else ''}{the_highest(about)}"
    head = heading(
        title or f"How likely is each {about.one} to be {spoken_or(among, 'among the highest')}?",
        spoken_or(about.question, ""),
    )
    legend = key(
        *(Swatch(colour, f"{words}: {span}")
          for colour, (words, span) in zip(STEPS, scale_rows(), strict=True))
    )  # fmt: skip
    return sheet(results, land, head, _shades(chance), legend)


def sureness(results: Results) -> pd.Series[float]:
    """The chance that each item lies on the side of the average where its median is."""
    table = results.items.set_index("item")
    if results.facts["kind"] == "point":
        away = (table["mean"] / table["sd"]).abs()
        return away.map(lambda z: (1 + erf(z / sqrt(2))) / 2).fillna(0.5)
    above = np.concatenate([(part > 0).mean(axis=(0, 1)) for part in centred_parts(results.tree)])
    items = results.tree["constant_data"]["item"].to_numpy().astype(str)
    return pd.Series(np.maximum(above, 1 - above), index=items)


# Colours and what they mean.


def _reach(land: Land) -> float:
    return float(np.nanmax(np.abs(land.of("median")))) or 1.0


def _faded(colours: Sequence[str], sure: Floats) -> list[str]:
    """Colours of which as much is left as the chance of each allows."""
    least = np.array([step for step, *_ in FADES])
    kept = np.array([share for _, share, _ in FADES])
    left = kept[(sure[:, None] >= least).argmax(axis=1)]
    return [mixed(UNKNOWN, colour, share) for colour, share in zip(colours, left, strict=True)]


def _shades(chance: Floats) -> list[str]:
    """The colour of each chance, by the step of the scale of words that it is on."""
    words = [word for _, word in SCALE]
    return [UNKNOWN if np.isnan(one) else STEPS[words.index(chance_words(one))] for one in chance]


def _quality_ends(results: Results, reach: float) -> Ends:
    about = results.about
    return (
        End(spoken_or(about.lower, "lower"), f"−{reach:.2g}"),
        End("average", "0"),
        End(spoken_or(about.higher, "higher"), f"+{reach:.2g}"),
    )


def _fading_key(ends: Ends) -> Block:
    """What colour and paleness mean, in one square."""
    full = along(LOW_TO_HIGH, np.linspace(0, 1, 25))
    rows = [_faded(full, np.full(len(full), least)) for least, *_ in FADES]
    said = "How sure it is that it lies on this side of the average:"
    return colour_square(rows, [words for *_, words in FADES], ends, said)
