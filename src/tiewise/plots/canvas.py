"""The paper that pictures are drawn on: colours, letters, headings, and how a picture is kept.

A picture is a page of blocks from top to bottom, laid out in points. It is five inches wide, so
that its letters can still be read on a phone, or printed as wide as a column.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec
from unicodedata import category

import pandas as pd

from tiewise.report.answer import labels, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

WIDTH, MARGIN = 360.0, 10.0
INNER = WIDTH - 2 * MARGIN
TITLE, TEXT, SMALL, ROW = 13.0, 10.5, 10.0, 9.5
WIDEST_LABEL = 0.5 * INNER
LEADING = 13.0  # from one line of small letters to the next
DPI = 200

HIGH, LOW, NEITHER = "#b2182b", "#2166ac", "#6b6b6b"
INK, QUIET, LINE = "#222222", "#595959", "#8c8c8c"
SEVERAL = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#a08a00",
)  # fmt: skip

STYLE: dict[str, Any] = {
    "font.size": TEXT, "axes.titlesize": TEXT, "axes.labelsize": TEXT,
    "xtick.labelsize": SMALL, "ytick.labelsize": SMALL, "axes.titlelocation": "left",
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": LINE,
    "xtick.color": LINE, "ytick.color": LINE, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "axes.spines.top": False, "axes.spines.right": False, "hatch.linewidth": 0.7,
    "svg.hashsalt": "tiewise", "svg.fonttype": "path",
}  # fmt: skip

UNSEEN = ("Cc", "Cf", "Zl", "Zp", "Zs")  # kinds of letters that leave no mark

Options = ParamSpec("Options")


@contextmanager
def style() -> Iterator[None]:
    """Our letters and lines, whatever a user has set; only the font remains theirs."""
    import matplotlib as mpl
    from matplotlib.style import context

    theirs = {key: mpl.rcParams[key] for key in ("font.family", "font.sans-serif", "font.serif")}
    with context(["default", theirs | STYLE]):
        yield


def styled(picture: Callable[Options, Figure]) -> Callable[Options, Figure]:
    """A picture drawn in our style."""

    @wraps(picture)
    def drawn(*args: Options.args, **options: Options.kwargs) -> Figure:
        with style():
            return picture(*args, **options)

    return drawn


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure, the same bytes for the same figure."""
    path, kept = Path(path), BytesIO()
    kind = path.suffix.removeprefix(".")
    dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {"Software": None})
    with style(), warnings.catch_warnings():
        # A letter that no font has is drawn as a box; a line about it would tell nobody what to do.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(kept, format=kind, dpi=DPI, metadata=dateless)
    path.write_bytes(_lighter(kept.getvalue()) if kind == "svg" else kept.getvalue())


def _lighter(svg: bytes) -> bytes:
    """A drawing whose paths are written to the hundredth of a point: half as heavy."""
    return re.sub(rb'(?<= d=")[^"]*', lambda path: _shorter(path[0]), svg)


def _shorter(path: bytes) -> bytes:
    short = re.sub(rb"-?\d+\.\d{3,}", lambda number: b"%g" % round(float(number[0]), 2), path)
    # From line to line the letter need not be said again; after a curve it must.
    return short if b"Q" in path or b"C" in path else short.replace(b" \nL ", b" ")


# A page of blocks.


class Block(NamedTuple):
    """A part of a page: how high it is, and how it is drawn above a line so many points up."""

    height: float
    draw: Callable[[Figure, float], None]


def page(*blocks: Block) -> Figure:
    """Blocks one below the other."""
    from matplotlib.figure import Figure

    # Whole points, so that what is round on the page is round, and short, in the file.
    heights = [ceil(block.height) for block in blocks]
    top = sum(heights) + MARGIN
    figure = Figure(figsize=(WIDTH / 72, (top + MARGIN) / 72))
    for block, height in zip(blocks, heights, strict=True):
        top -= height
        block.draw(figure, top)
    return figure


def place(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at this place of the page, in points."""
    wide, high = figure.get_size_inches() * 72
    return figure.add_axes((left / wide, bottom / high, width / wide, height / high))


def sketch(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes without a frame whose own units are points."""
    axes = place(figure, left, bottom, width, height)
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    return axes


def write(figure: Figure, x: float, y: float, text: str, **looks: Any) -> Text:
    """Text at this place of the page, in points."""
    wide, high = figure.get_size_inches() * 72
    return figure.text(x / wide, y / high, plain(text), **({"va": "baseline"} | looks))


def heading(title: str, under: str = "") -> Block:
    """The title of a picture, and a quieter line or two below it."""
    large = wrapped(title, TITLE, INNER, weight="bold", most=6)
    small = wrapped(under, TEXT, INNER, most=6)

    def draw(figure: Figure, bottom: float) -> None:
        y = bottom + 8 + 14 * len(small) + 17 * len(large)
        for line in large:
            y -= 17
            write(figure, MARGIN, y + 4, line, size=TITLE, weight="bold", color=INK)
        for line in small:
            y -= 14
            write(figure, MARGIN, y + 3, line, size=TEXT, color=QUIET)

    return Block(17 * len(large) + 14 * len(small) + 8, draw)


def notes(*sentences: str) -> Block:
    """Sentences at the foot of a picture."""
    lines = [line for said in sentences if said for line in wrapped(said, SMALL, INNER, most=8)]

    def draw(figure: Figure, bottom: float) -> None:
        for k, line in enumerate(lines, start=1):
            y = bottom + 3 + LEADING * (len(lines) - k)
            write(figure, MARGIN, y, line, size=SMALL, color=QUIET)

    return Block(LEADING * len(lines) + 6 if lines else 0, draw)


def gap(height: float) -> Block:
    """Nothing, so high."""
    return Block(height, lambda figure, bottom: None)


class Margins(NamedTuple):
    """Points beside a plot for its own letters."""

    left: float = 46.0
    right: float = 6.0
    bottom: float = 38.0
    top: float = 6.0


def plot(height: float, paint: Callable[[Axes], None], margins: Margins | None = None) -> Block:
    """A plot with axes, so high with all its letters."""
    left, right, below, above = margins or Margins()

    def draw(figure: Figure, bottom: float) -> None:
        paint(
            place(
                figure, MARGIN + left, bottom + below, INNER - left - right, height - below - above
            )
        )

    return Block(height, draw)


# Letters.


def wrapped(
    text: str, size: float, width: float, *, weight: str = "normal", most: int = 3
) -> list[str]:
    """Lines of a text that are no wider than this many points; of very many the first."""
    # Letters fitted to pixels are a little wider than those of the font.
    lines, width = list[str](), 0.98 * width
    for word in one_line(text).split(" ") if text.strip() else []:
        for piece in _pieces(word, size, width, weight):
            longer = f"{lines[-1]} {piece}" if lines else piece
            if lines and text_width(longer, size, weight) <= width:
                lines[-1] = longer
            else:
                lines.append(piece)
    return lines if len(lines) <= most else [*lines[: most - 1], f"{lines[most - 1]} …"]


def _pieces(word: str, size: float, width: float, weight: str) -> list[str]:
    """A word, broken where it is wider than a whole line."""
    if text_width(word, size, weight) <= width:
        return [word]
    fits = max(int(len(word) * width / text_width(word, size, weight)) - 1, 1)
    return [word[k : k + fits] for k in range(0, len(word), fits)]


def text_width(text: str, size: float, weight: str = "normal") -> float:
    """How many points wide a line is."""
    return _width(text, size, weight, _families())


@lru_cache(maxsize=4096)
def _width(text: str, size: float, weight: str, families: tuple[str, ...]) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=list(families), size=size, weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(text_to_path.get_text_width_height_descent(text, font, False)[0])


def plain(text: str) -> str:
    """Text as it is: a dollar sign would start mathematics."""
    return text.replace("$", r"\$")


def row_labels(table: pd.DataFrame, most: int = 24) -> list[str]:
    """Names short enough for a row; the id instead where the font lacks letters of the name."""
    called, ids = labels(table, most), table["item"].map(lambda item: one_line(item, most))
    shown = list(called.where(called.map(has_letters) & (called != ""), ids))
    wide = max(text_width(label, ROW) for label in shown) > WIDEST_LABEL
    return row_labels(table, most - 4) if wide and most > 4 else shown


def has_letters(text: str) -> bool:
    """Whether the font has every letter of a text."""
    known = _letters(_families())
    return all(ord(letter) in known or category(letter) in UNSEEN for letter in text)


def spoken_or(text: str, otherwise: str) -> str:
    """A study's own words, or others where the font has no letters for them."""
    return text if has_letters(text) else otherwise


def _families() -> tuple[str, ...]:
    import matplotlib as mpl

    return tuple(mpl.rcParams["font.family"])


@lru_cache(maxsize=4)
def _letters(families: tuple[str, ...]) -> frozenset[int]:
    """Everything that the fonts of these families can draw."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    files = [findfont(FontProperties(family=[family])) for family in families]
    return frozenset(letter for file in files for letter in get_font(file).get_charmap())
