"""Legends in words: bars and patches of colour, and what they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tiewise.geo.colours import along
from tiewise.plots.canvas import (
    INK,
    INNER,
    LEADING,
    LINE,
    MARGIN,
    QUIET,
    SMALL,
    Block,
    plain,
    sketch,
    wrapped,
    write,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SQUARE = 200.0  # how wide a square of colours is, beside its words


class End(NamedTuple):
    """What is written below a place of a colour bar: words, and a number."""

    words: str
    number: str


Ends = tuple[End, End, End]


def colour_bar(steps: Sequence[str], ends: Ends) -> Block:
    """A bar of colour with words at its ends and in the middle."""
    words = said_below(ends, INNER)

    def draw(figure: Figure, bottom: float) -> None:
        bar = sketch(figure, MARGIN, bottom + words.height, INNER, 11)
        _tiles(bar, [along(steps, np.linspace(0, 1, 101))])
        words.draw(figure, bottom)

    return Block(words.height + 13, draw)


def colour_square(
    colours: Sequence[Sequence[str]], rows: Sequence[str], ends: Ends, title: str
) -> Block:
    """Rows of colours with the words of each beside it, and those of the columns below."""
    words, each = said_below(ends, SQUARE), 14.0
    high = each * len(rows)

    def draw(figure: Figure, bottom: float) -> None:
        _tiles(sketch(figure, MARGIN, bottom + words.height, SQUARE, high), colours)
        for k, row in enumerate(rows):
            y = bottom + words.height + high - each * (k + 1) + 3.5
            write(figure, MARGIN + SQUARE + 8, y, row, size=SMALL)
        write(figure, MARGIN, bottom + words.height + high + 5, title, size=SMALL)
        words.draw(figure, bottom)

    return Block(words.height + high + 20, draw)


def _tiles(axes: Axes, colours: Sequence[Sequence[str]]) -> None:
    """Rows of colours over the whole of the axes, the first row on top."""
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Rectangle

    (_, wide), (_, high) = axes.get_xlim(), axes.get_ylim()
    x = np.linspace(0, wide, len(colours[0]) + 1)
    y = np.linspace(high, 0, len(colours) + 1)
    # Each reaches to the end, under those to its right, so that no seam is seen.
    tiles = [
        [(left, top), (wide, top), (wide, bottom), (left, bottom)]
        for top, bottom in pairwise(y)
        for left in x[:-1]
    ]
    axes.add_collection(PolyCollection(tiles, facecolors=list(chain(*colours)), linewidths=0))
    axes.add_patch(
        Rectangle((0, 0), wide, high, facecolor="none", edgecolor=LINE, linewidth=0.6,
                  clip_on=False)
    )  # fmt: skip


def said_below(ends: Ends, width: float, start: float = MARGIN) -> Block:
    """Words and numbers below a bar so wide, at its left, its middle and its right."""
    middle = 0.24 if ends[1].words else 0.0
    places = ((0.0, "left"), (width / 2, "center"), (width, "right"))
    shares = (0.48 - middle / 2, middle, 0.48 - middle / 2)
    told = [
        (start + x, side, wrapped(end.words, SMALL, share * width, most=4), end.number)
        for (x, side), share, end in zip(places, shares, ends, strict=True)
    ]
    high = LEADING * max(len(lines) + bool(number) for *_, lines, number in told) + 4

    def draw(figure: Figure, bottom: float) -> None:
        for x, side, lines, number in told:
            y = bottom + high
            for line, colour in (*((line, INK) for line in lines), (number, QUIET)):
                y -= LEADING
                write(figure, x, y, line, size=SMALL, ha=side, color=colour)

    return Block(high, draw)


class Swatch(NamedTuple):
    """A patch of colour and what it stands for."""

    colour: str
    words: str
    hatch: str | None = None


def key(*swatches: Swatch) -> Block:
    """Patches of colour, each with its words."""
    told = [(one, wrapped(one.words, SMALL, INNER - 30, most=4)) for one in swatches]
    height = sum(LEADING * len(lines) + 4 for _, lines in told)

    def draw(figure: Figure, bottom: float) -> None:
        from matplotlib.patches import Rectangle

        axes, y = sketch(figure, MARGIN, bottom, INNER, height), height
        for one, lines in told:
            box = (1, y - LEADING - 2), 20, 11
            axes.add_patch(
                Rectangle(*box, facecolor=one.colour, edgecolor=INK, linewidth=0, hatch=one.hatch)
            )
            axes.add_patch(Rectangle(*box, facecolor="none", edgecolor=LINE, linewidth=0.6))
            for line in lines:
                y -= LEADING
                axes.text(28, y, plain(line), size=SMALL, color=INK)
            y -= 4

    return Block(height, draw)
