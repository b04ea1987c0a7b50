"""Labels on a map: placed by importance, at every size of the map without covering each other."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Box = tuple[float, float, float, float]
"""West, north, east and south, as in SVG: y grows downwards."""

LEVEL_RATIO = 1.25
"""From one size of a map to the next at which more labels are shown."""
LINE = 1.15  # height of a line, in ems
GAP = 0.35  # ems between labels
LONGEST_LINE = 7.0  # ems: a longer label is broken in two, where it has a space
OVERHANG = 1.3  # a label may be so many times as wide as what it names
DOT = "\N{BULLET}"
NARROW, WIDE = frozenset("iljtfrI.,'’:;|!()[]/ -"), frozenset("mwMW@%—")


class LabelCandidate(NamedTuple):
    """A text that could stand at a point of the map; the most important are placed first."""

    text: str
    x: float
    y: float
    importance: float
    kind: str
    room: float = float("inf")
    """How wide it is what the text names: much wider, it waits until the map is larger."""
    dotted: bool = False
    """Whether the point itself is marked, with the text above it."""


class MapLabel(NamedTuple):
    """A label: its lines, its middle, and the level of size from which on it is shown."""

    lines: tuple[str, ...]
    x: int | float
    y: int | float
    kind: str
    level: int
    dotted: bool = False

    @property
    def rise(self) -> float:
        """Ems from the point up to the baseline of the first line."""
        below = LINE * (len(self.lines) - 1)
        # The middle of capital letters is 0.36 em above their baseline.
        return round(below + 0.5 if self.dotted else below / 2 - 0.36, 3)


def text_width(text: str) -> float:
    """The width of a text in ems, rather too much than too little."""
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if unicodedata.combining(letter) or unicodedata.category(letter) == "Cf":
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    if letter in NARROW:
        return 0.36
    if letter in WIDE:
        return 0.92
    return 0.7 if letter.isupper() else 0.6


def broken(text: str) -> tuple[str, ...]:
    """A text in one line, or in two that are about as long where it is wide and has a space."""
    words = text.split()
    if text_width(text) <= LONGEST_LINE or len(words) < 2:
        return (" ".join(words),)
    cuts = [(" ".join(words[:k]), " ".join(words[k:])) for k in range(1, len(words))]
    return min(cuts, key=lambda lines: max(map(text_width, lines)))


def label_sizes(largest: float, levels: int) -> list[float]:
    """Sizes of letters from level to level, in units of the map: the larger it is, the smaller."""
    return [largest / LEVEL_RATIO**level for level in range(levels)]


def place_labels(
    candidates: Iterable[LabelCandidate],
    frame: Box,
    sizes: Sequence[float],
    *,
    most: Sequence[int] | None = None,
    corner: float = 0.0,
) -> list[MapLabel]:
    """Labels in the order of their levels; none covers another, and all are inside the frame.

    `sizes` are those of letters, level by level. A label that is shown stays where it is at all
    further levels, as letters become smaller in units of the map. `most` limits how many there are
    up to each level; `corner` ems of the lower right one are kept free.
    """
    waiting = sorted(candidates, key=lambda one: (-one.importance, one.text, one.x, one.y))
    ems = [_box_in_ems(one) for one in waiting]
    placed: dict[int, None] = {}
    labels: list[MapLabel] = []
    boxes: NDArray[np.float64] = np.empty((len(waiting) + 1, 4))
    for level, size in enumerate(sizes):
        boxes[0] = frame[2] - corner * size, frame[3] - corner * size, *frame[2:]
        for number, k in enumerate(placed, 1):
            boxes[number] = _box(waiting[k], ems[k], size)
        for k, one in enumerate(waiting):
            if most is not None and len(placed) >= most[level]:
                break
            if k in placed or (ems[k][2] - ems[k][0]) * size > OVERHANG * one.room:
                continue
            box = _box(one, ems[k], size)
            taken = boxes[: len(placed) + 1]
            if _is_inside(box, frame) and not _overlaps(box, taken, GAP * size):
                boxes[len(taken)] = box
                placed[k] = None
                labels.append(_label(one, level))
    return labels


def _label(one: LabelCandidate, level: int) -> MapLabel:
    return MapLabel(broken(one.text), round(one.x, 1), round(one.y, 1), one.kind, level, one.dotted)


def label_box(label: MapLabel, size: float) -> Box:
    """The box of a label whose letters have this size."""
    return _placed(label.x, label.y, _ems(label.lines, dotted=label.dotted), size)


def _box_in_ems(one: LabelCandidate) -> Box:
    return _ems(broken(one.text), dotted=one.dotted)


@lru_cache(4096)  # the same labels are placed again for every pair that is shown
def _ems(lines: tuple[str, ...], *, dotted: bool) -> Box:
    """A box around the point of a label; where the point has a dot, the text is above it."""
    half, height = max(map(text_width, lines)) / 2, LINE * len(lines)
    return (-half, -height - 0.2, half, 0.3) if dotted else (-half, -height / 2, half, height / 2)


def _box(one: LabelCandidate, ems: Box, size: float) -> Box:
    return _placed(one.x, one.y, ems, size)


def _placed(x: float, y: float, ems: Box, size: float) -> Box:
    west, north, east, south = ems
    return x + west * size, y + north * size, x + east * size, y + south * size


def _is_inside(box: Box, frame: Box) -> bool:
    return (
        box[0] >= frame[0] and box[1] >= frame[1] and box[2] <= frame[2] and box[3] <= frame[3]
    )  # fmt: skip


def _overlaps(box: Box, boxes: NDArray[np.float64], gap: float) -> bool:
    apart = (
        (boxes[:, 0] > box[2] + gap) | (boxes[:, 2] < box[0] - gap)
        | (boxes[:, 1] > box[3] + gap / 3) | (boxes[:, 3] < box[1] - gap / 3)
    )  # fmt: skip
    return not bool(apart.all())


def _covers_any(box: Box, others: Iterable[Box]) -> bool:
    """As `_overlaps` without a gap; quicker where there are few others."""
    west, north, east, south = box
    return any(
        not (one[0] > east or one[2] < west or one[1] > south or one[3] < north) for one in others
    )


def clear_of(
    labels: Iterable[MapLabel], boxes: Sequence[Box], sizes: Sequence[float]
) -> list[MapLabel]:
    """The labels, each shown from that level on at which it covers none of these boxes.

    `sizes` are those of letters, level by level. One that covers a box at every level is left out.
    """
    clear = []
    for label in labels:
        for level in range(label.level, len(sizes)):
            if not _covers_any(label_box(label, sizes[level]), boxes):
                clear.append(label._replace(level=level))
                break
    return clear
