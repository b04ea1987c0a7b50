"""Legends: bars, squares and swatches of colour, with the words that explain them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tiewise.geo.colours import EDGE, INK, MUTED, interpolate
from tiewise.plots.canvas import (
    INNER,
    LINE_HEIGHT,
    MARGIN,
    SMALL,
    Block,
    escape_math,
    point_axes,
    text_at,
    wrap,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SQUARE_WIDTH = 200.0  # points, beside its words
ROW_HEIGHT = 14.0  # of a row of colours in a square


class BarLabel(NamedTuple):
    """What is written below a place of a colour bar: words, and a number."""

    words: str
    number: str


BarLabels = tuple[BarLabel, BarLabel, BarLabel]
"""At the left end, in the middle and at the right end."""


def colour_bar(ramp: Sequence[str], labels: BarLabels) -> Block:
    """A bar of colour with words at its ends and in the middle."""
    words = labels_below(labels, INNER)

    def draw(figure: Figure, bottom: float) -> None:
        bar = point_axes(figure, MARGIN, bottom + words.height, INNER, 11)
        _draw_tiles(bar, [interpolate(ramp, np.linspace(0, 1, 101))])
        words.draw(figure, bottom)

    return Block(words.height + 13, draw)


def colour_square(
    colours: Sequence[Sequence[str]], rows: Sequence[str], labels: BarLabels, title: str
) -> Block:
    """Rows of colours with the words of each beside it, and those of the columns below."""
    words, high = labels_below(labels, SQUARE_WIDTH), ROW_HEIGHT * len(rows)

    def draw(figure: Figure, bottom: float) -> None:
        square = point_axes(figure, MARGIN, bottom + words.height, SQUARE_WIDTH, high)
        _draw_tiles(square, colours)
        for k, row in enumerate(rows):
            y = bottom + words.height + high - ROW_HEIGHT * (k + 1) + 3.5
            text_at(figure, MARGIN + SQUARE_WIDTH + 8, y, row, size=SMALL)
        text_at(figure, MARGIN, bottom + words.height + high + 5, title, size=SMALL)
        words.draw(figure, bottom)

    return Block(words.height + high + 20, draw)


def _draw_tiles(axes: Axes, colours: Sequence[Sequence[str]]) -> None:
    """Rows of colours over the whole of the axes, the first row on top."""
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Rectangle

    (_, wide), (_, high) = axes.get_xlim(), axes.get_ylim()
    x = np.linspace(0, wide, len(colours[0]) + 1)
    y = np.linspace(high, 0, len(colours) + 1)
    # Each reaches to the end, under those to its right, so that no seam is visible.
    tiles = [
        [(left, top), (wide, top), (wide, bottom), (left, bottom)]
        for top, bottom in pairwise(y)
        for left in x[:-1]
    ]
    axes.add_collection(PolyCollection(tiles, facecolors=list(chain(*colours)), linewidths=0))
    axes.add_patch(
        Rectangle((0, 0), wide, high, facecolor="none", edgecolor=EDGE, linewidth=0.6,
                  clip_on=False)
    )  # fmt: skip


def labels_below(labels: BarLabels, width: float, left: float = MARGIN) -> Block:
    """Words and numbers below a bar of this width: at its left, its middle and its right."""
    middle = 0.24 if labels[1].words else 0.0
    places = ((0.0, "left"), (width / 2, "center"), (width, "right"))
    shares = (0.48 - middle / 2, middle, 0.48 - middle / 2)
    columns = [
        (left + x, side, wrap(label.words, SMALL, share * width, most=4), label.number)
        for (x, side), share, label in zip(places, shares, labels, strict=True)
    ]
    high = LINE_HEIGHT * max(len(lines) + bool(number) for *_, lines, number in columns) + 4

    def draw(figure: Figure, bottom: float) -> None:
        for x, side, lines, number in columns:
            y = bottom + high
            for line, colour in (*((line, INK) for line in lines), (number, MUTED)):
                y -= LINE_HEIGHT
                text_at(figure, x, y, line, size=SMALL, ha=side, color=colour)

    return Block(high, draw)


class Swatch(NamedTuple):
    """A patch of colour and what it stands for."""

    colour: str
    words: str
    hatch: str | None = None
    hatching: str = INK


def swatch_list(*swatches: Swatch) -> Block:
    """Patches of colour one below the other, each with its words."""
    rows = [(swatch, wrap(swatch.words, SMALL, INNER - 30, most=4)) for swatch in swatches]
    height = sum(LINE_HEIGHT * len(lines) + 4 for _, lines in rows)

    def draw(figure: Figure, bottom: float) -> None:
        from matplotlib.patches import Rectangle

        axes, y = point_axes(figure, MARGIN, bottom, INNER, height), height
        for swatch, lines in rows:
            box = (1, y - LINE_HEIGHT - 2), 20, 11
            axes.add_patch(
                Rectangle(
                    *box,
                    facecolor=swatch.colour,
                    edgecolor=swatch.hatching,
                    linewidth=0,
                    hatch=swatch.hatch,
                )
            )
            axes.add_patch(Rectangle(*box, facecolor="none", edgecolor=EDGE, linewidth=0.6))
            for line in lines:
                y -= LINE_HEIGHT
                axes.text(28, y, escape_math(line), size=SMALL, color=INK)
            y -= 4

    return Block(height, draw)
