"""Words and numbers for people: shares, probabilities, lists of names, direction of script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import floor, isnan

UNKNOWN = "–"
JOINERS = "\u200c\u200d\u200e\u200f"
"""Between letters of Persian or Hindi and the parts of an emoji; marks of direction."""
PROBABILITY_SCALE = (
    (0.95, "almost certain"),
    (0.80, "very likely"),
    (0.60, "likely"),
    (0.40, "about as likely as not"),
    (0.20, "unlikely"),
    (0.05, "very unlikely"),
    (0.00, "almost ruled out"),
)
"""The words for a probability, each from its own number up to the next."""

# Unicode classes of letters and controls that can reorder the text around them.
REORDERING = {"R", "AL", "AN", "RLE", "RLO", "LRE", "LRO", "RLI", "LRI", "FSI"}
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


# Numbers.


def percent(share: float | None, digits: int = 0) -> str:
    """`42 %`; a dash where the share is not known."""
    return UNKNOWN if share is None or isnan(share) else f"{100 * share:.{digits}f} %"


def probability_percent(probability: float | None, *, match_words: bool = True) -> str:
    """A probability in per cent, never 0 and never 100.

    With `match_words` it is rounded down where rounding up would reach the next of the words of
    `probability_words`: 94.6 % is not yet almost certain, and must not look as if it were.
    """
    if probability is None or isnan(probability):
        return UNKNOWN
    if probability < 0.01:
        return "below 1 %"
    if probability > 0.99:
        return "above 99 %"
    near = round(100 * probability)
    if match_words and probability_words(near / 100) != probability_words(probability):
        near = floor(100 * probability)
    return f"{near} %"


def probability_words(probability: float) -> str:
    """The words of `PROBABILITY_SCALE` for a probability."""
    return next(
        (words for least, words in PROBABILITY_SCALE if probability >= least), "not computed"
    )


def probability_scale_rows() -> list[tuple[str, str]]:
    """All words of the scale, each with its range, for the foot of a page."""
    ends = [round(100 * least) for least, _ in PROBABILITY_SCALE]
    spans = [f"{low} to {high - 1} %" for high, low in pairwise(ends[:-1])]
    spans = [f"{ends[0]} % or more", *spans, f"below {ends[-2]} %"]
    return [(words, span) for (_, words), span in zip(PROBABILITY_SCALE, spans, strict=True)]


def rounded_down(share: float) -> str:
    """`0.84`; 0.799 is not yet 0.80."""
    return f"{floor(share * 100 + 1e-9) / 100:.2f}"


def signed(value: float, digits: int = 2) -> str:
    """`+0.42`, `−1.30`, `0.00`: a number with its sign, and zero without one."""
    text = true_minus(f"{value:+.{digits}f}")
    return text[1:] if float(f"{value:.{digits}f}") == 0 else text


def true_minus(number: str) -> str:
    """A number in digits with a minus sign, which is as wide as a plus, for its hyphen."""
    return number.replace("-", "−")


def could_be(low: float, high: float) -> str:
    """`could be 1 to 36`: where an item may stand, by the 95 % interval of its rank."""
    ends = rank_range(low, high)
    return ends and (f"could be {ends}" if low < high else "no other")


def rank_range(low: float, high: float) -> str:
    """`1 to 36`; `1` where both ends are the same, and nothing where they are not known."""
    if isnan(low) or isnan(high):
        return ""
    return f"{low:,.0f} to {high:,.0f}" if low < high else f"{low:,.0f}"


def quantity(count: int, one: str, many: str | None = None) -> str:
    """`1 ward`, `1,204 wards`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


# Words.


def noun_forms(noun: str) -> tuple[str, str]:
    """Singular and plural: `ward` has `wards`; `city/cities` gives both."""
    one, _, many = noun.partition("/")
    return one, many or f"{one}s"


def capital(words: str) -> str:
    """Words with a capital first letter; the other letters stay as they are."""
    return words[:1].upper() + words[1:]


def sentence_list(names: Sequence[str], most: int = 10) -> str:
    """`A`, `A and B`, `A, B and C`; of more than `most` the first, and how many more."""
    first = list(names[:most])
    if len(names) > most:
        return f"{', '.join(first)} and {len(names) - most:,} more"
    if len(first) < 2:
        return "".join(first)
    return f"{', '.join(first[:-1])} and {first[-1]}"


def some_names(
    names: Sequence[str], most: int = 5, *, quotes: bool = True, ellipsis: bool = False
) -> str:
    """`'a', 'b' and 3 more`: the first names, in quotes, and how many follow (or `, …`)."""
    first = ", ".join(repr(name) if quotes else str(name) for name in names[:most])
    if len(names) <= most:
        return first
    return first + (", …" if ellipsis else f" and {len(names) - most} more")


def one_line(text: str, most: int | None = None, *, printable: bool = False) -> str:
    """Text on one line without control characters, cut to `most` letters.

    With `printable` it also loses letters that show nothing, such as marks of direction.
    """
    line = " ".join(text.split())
    plain = line
    if not (line.isascii() and line.isprintable()):
        plain = "".join(sign for sign in line if _is_shown(sign, printable=printable))
    return plain if most is None or len(plain) <= most else plain[: most - 1].rstrip() + "…"


def readable_line(line: str) -> str:
    """A line without letters that show nothing; blanks of any kind are blanks, joiners stay."""
    return "".join(
        sign if sign.isprintable() or sign in JOINERS else " " if sign.isspace() else ""
        for sign in line
    )


def _is_shown(sign: str, *, printable: bool) -> bool:
    return sign.isprintable() if printable else unicodedata.category(sign) not in ("Cc", "Cs")


def error_line(error: BaseException) -> str:
    """The class of an error and its message, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")


def first_line(error: BaseException) -> str:
    """The first line of an error's message; its class where it has none."""
    return next(iter(str(error).splitlines()), type(error).__name__)


# Letters.


def without_controls(text: str) -> str:
    """Text without control characters, which a page may not hold."""
    return CONTROLS.sub("", text)


def isolate(name: str) -> str:
    """A name in marks that keep a name written from right to left from reordering its sentence."""
    return f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}" if _reorders(name) else name


def isolate_names(sentence: str, names: Iterable[str]) -> str:
    """A sentence with each of the names in it isolated that could reorder it."""
    reordering = sorted({name for name in names if _reorders(name)}, key=len, reverse=True)
    if not reordering:
        return sentence
    return re.sub("|".join(map(re.escape, reordering)), "\u2068\\g<0>\u2069", sentence)


def _reorders(text: str) -> bool:
    return not text.isascii() and any(
        unicodedata.bidirectional(sign) in REORDERING for sign in text
    )
