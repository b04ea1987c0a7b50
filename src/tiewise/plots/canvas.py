"""The page on which plots are drawn: style, blocks, text, and saving.

A plot is a page of blocks from top to bottom, laid out in points. It is five inches wide, so that
its text is legible on a phone, or printed as wide as a column.
"""

from __future__ import annotations

import re
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec
from unicodedata import category

import pandas as pd

from tiewise.geo.colours import EDGE, INK, MUTED
from tiewise.optional import require
from tiewise.posterior.phrases import item_labels
from tiewise.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

WIDTH, MARGIN = 360.0, 10.0
INNER = WIDTH - 2 * MARGIN
TITLE, TEXT, SMALL, ROW = 13.0, 10.5, 10.0, 9.5
WIDEST_LABEL = 0.5 * INNER
LINE_HEIGHT = 13.0  # of small text
DPI = 200

STYLE: dict[str, Any] = {
    "font.size": TEXT, "axes.titlesize": TEXT, "axes.labelsize": TEXT,
    "xtick.labelsize": SMALL, "ytick.labelsize": SMALL, "axes.titlelocation": "left",
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": EDGE,
    "xtick.color": EDGE, "ytick.color": EDGE, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "axes.spines.top": False, "axes.spines.right": False, "hatch.linewidth": 0.7,
    "svg.hashsalt": "tiewise", "svg.fonttype": "path",
}  # fmt: skip

THEIRS: tuple[Any, ...] = ("font.family", "font.sans-serif", "font.serif")

_STYLED = ContextVar("_STYLED", default=False)
"""Whether `style` is in force, which need not be entered twice."""

INVISIBLE = ("Cc", "Cf", "Zl", "Zp", "Zs")  # Unicode categories of characters without a glyph

Options = ParamSpec("Options")


def load_matplotlib() -> None:
    """Import what plots need, as they would themselves."""
    import matplotlib.backends.backend_svg
    import matplotlib.figure
    import matplotlib.textpath  # noqa: F401


@contextmanager
def style() -> Iterator[None]:
    """Our own matplotlib settings, whatever a user has set; only the font remains theirs."""
    if _STYLED.get():
        yield
        return
    require("a picture", "matplotlib")
    import matplotlib as mpl

    settings: dict[Any, Any] = {**mpl.rcParamsDefault, **STYLE}
    settings |= {key: mpl.rcParams[key] for key in THEIRS}
    del settings["backend"]
    entered = _STYLED.set(True)
    try:
        # Not `matplotlib.style`, which reads all its styles when it is imported.
        with mpl.rc_context(settings):
            yield
    finally:
        _STYLED.reset(entered)


def styled(plot: Callable[Options, Figure]) -> Callable[Options, Figure]:
    """A plot function that draws with `style`."""

    @wraps(plot)
    def styled_plot(*args: Options.args, **options: Options.kwargs) -> Figure:
        with style():
            return plot(*args, **options)

    return styled_plot


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure, the same bytes for the same figure."""
    path, file = Path(path), BytesIO()
    kind = path.suffix.removeprefix(".")
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {"Software": None})
    with style(), warnings.catch_warnings():
        # A missing glyph is drawn as a box; the warning would not help anybody.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(file, format=kind, dpi=DPI, metadata=metadata)
    data = file.getvalue()
    path.write_bytes(_compact_svg(data) if kind == "svg" else data)


def _compact_svg(svg: bytes) -> bytes:
    """An SVG file with its paths written to the hundredth of a point: half the size."""
    return re.sub(rb'(?<= d=")[^"]*', lambda path: _compact_path(path[0]), svg)


def _compact_path(path: bytes) -> bytes:
    short = re.sub(rb"-?\d+\.\d{3,}", lambda number: b"%g" % round(float(number[0]), 2), path)
    # The command of a line need not be repeated for the next line; after a curve it must.
    return short if b"Q" in path or b"C" in path else short.replace(b" \nL ", b" ")


# A page of blocks.


class Block(NamedTuple):
    """A part of a page: its height, and a function that draws it above a line (in points)."""

    height: float
    draw: Callable[[Figure, float], None]


def page(*blocks: Block) -> Figure:
    """A figure of blocks one below the other."""
    from matplotlib.figure import Figure

    # Whole points, so that what is round on the page is round, and short, in the file.
    heights = [ceil(block.height) for block in blocks]
    top = sum(heights) + MARGIN
    figure = Figure(figsize=(WIDTH / 72, (top + MARGIN) / 72))
    for block, height in zip(blocks, heights, strict=True):
        top -= height
        block.draw(figure, top)
    return figure


def axes_at(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at this place of the page, in points."""
    wide, high = figure.get_size_inches() * 72
    return figure.add_axes((left / wide, bottom / high, width / wide, height / high))


def point_axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes without a frame whose own units are points."""
    axes = axes_at(figure, left, bottom, width, height)
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    return axes


def text_at(figure: Figure, x: float, y: float, text: str, **style: Any) -> Text:
    """Text at this place of the page, in points."""
    wide, high = figure.get_size_inches() * 72
    return figure.text(x / wide, y / high, escape_math(text), **({"va": "baseline"} | style))


def heading(title: str, subtitle: str = "") -> Block:
    """The title of a plot, and a line or two below it in smaller, muted text."""
    large = wrap(title, TITLE, INNER, weight="bold", most=6)
    small = wrap(subtitle, TEXT, INNER, most=6)

    def draw(figure: Figure, bottom: float) -> None:
        y = bottom + 8 + 14 * len(small) + 17 * len(large)
        for line in large:
            y -= 17
            text_at(figure, MARGIN, y + 4, line, size=TITLE, weight="bold", color=INK)
        for line in small:
            y -= 14
            text_at(figure, MARGIN, y + 3, line, size=TEXT, color=MUTED)

    return Block(17 * len(large) + 14 * len(small) + 8, draw)


def notes(*sentences: str) -> Block:
    """Sentences in small, muted text."""
    lines = [
        line for sentence in sentences if sentence
        for line in wrap(sentence, SMALL, INNER, most=8)
    ]  # fmt: skip

    def draw(figure: Figure, bottom: float) -> None:
        for k, line in enumerate(lines, start=1):
            y = bottom + 3 + LINE_HEIGHT * (len(lines) - k)
            text_at(figure, MARGIN, y, line, size=SMALL, color=MUTED)

    return Block(LINE_HEIGHT * len(lines) + 6 if lines else 0, draw)


def space(height: float) -> Block:
    """Empty space of this height."""
    return Block(height, lambda figure, bottom: None)


class Margins(NamedTuple):
    """Points around the axes of a panel for tick labels and axis labels."""

    left: float = 46.0
    right: float = 6.0
    bottom: float = 38.0
    top: float = 6.0


def panel(height: float, paint: Callable[[Axes], None], margins: Margins | None = None) -> Block:
    """Axes with their labels, of this height together."""
    left, right, below, above = margins or Margins()

    def draw(figure: Figure, bottom: float) -> None:
        paint(
            axes_at(
                figure, MARGIN + left, bottom + below, INNER - left - right, height - below - above
            )
        )

    return Block(height, draw)


# Text.


def wrap(
    text: str, size: float, width: float, *, weight: str = "normal", most: int = 3
) -> list[str]:
    """Lines of a text no wider than this many points; of more than `most` lines the first."""
    # Glyphs fitted to pixels are a little wider than those of the font.
    lines, width = list[str](), 0.98 * width
    words = one_line(text).split(" ") if text.strip() else []
    pieces = [piece for word in words for piece in _pieces(word, size, width, weight)]
    while pieces:
        fit = _fitting(pieces, size, width, weight)
        lines.append(" ".join(pieces[:fit]))
        pieces = pieces[fit:]
    return lines if len(lines) <= most else [*lines[: most - 1], f"{lines[most - 1]} …"]


def _fitting(pieces: Sequence[str], size: float, width: float, weight: str) -> int:
    """How many pieces fit on a line, at least one: more are wider, so that few are measured."""

    def too_wide(number: int) -> bool:
        return text_width(" ".join(pieces[:number]), size, weight) > width

    return max(bisect_left(range(len(pieces) + 1), True, lo=1, key=too_wide) - 1, 1)


def _pieces(word: str, size: float, width: float, weight: str) -> list[str]:
    """A word, broken where it is wider than a whole line."""
    if text_width(word, size, weight) <= width:
        return [word]
    fits = max(int(len(word) * width / text_width(word, size, weight)) - 1, 1)
    return [word[k : k + fits] for k in range(0, len(word), fits)]


def text_width(text: str, size: float, weight: str = "normal") -> float:
    """The width of a line in points."""
    return _width(text, size, weight, _families())


@lru_cache(maxsize=4096)
def _width(text: str, size: float, weight: str, families: tuple[str, ...]) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=list(families), size=size, weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(text_to_path.get_text_width_height_descent(text, font, False)[0])


def escape_math(text: str) -> str:
    """Text in which a dollar sign does not start mathematics."""
    return text.replace("$", r"\$")


def row_labels(table: pd.DataFrame, most: int = 24) -> list[str]:
    """Names short enough for a row; the id instead where the font lacks glyphs of the name."""
    names, ids = item_labels(table, most), table["item"].map(lambda item: one_line(item, most))
    labels = list(names.where(names.map(has_glyphs) & (names != ""), ids))
    too_wide = max(text_width(label, ROW) for label in labels) > WIDEST_LABEL
    return row_labels(table, most - 4) if too_wide and most > 4 else labels


def has_glyphs(text: str) -> bool:
    """Whether the font has a glyph for every character of a text."""
    known = _characters(_families())
    return all(ord(sign) in known or category(sign) in INVISIBLE for sign in text)


def text_or(text: str, fallback: str) -> str:
    """A study's own words, or others where the font lacks glyphs for them."""
    return text if has_glyphs(text) else fallback


def _families() -> tuple[str, ...]:
    import matplotlib as mpl

    return tuple(mpl.rcParams["font.family"])


@lru_cache(maxsize=4)
def _characters(families: tuple[str, ...]) -> frozenset[int]:
    """The characters that the fonts of these families can draw."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    files = [findfont(FontProperties(family=[family])) for family in families]
    return frozenset(code for file in files for code in get_font(file).get_charmap())
