"""Bands: parts of the list such that, surely, all of one are higher than all of the next.

Items are in the order of their posterior means. A line between two of them holds in a draw where
the lowest quality above it is higher than the highest below it; all orders between bands hold where
every line does. The joint probability of all these orders is therefore the share of draws in which
all lines hold, and lines are drawn for as long as it is large enough. The other way is to leave out
the middle: all at the upper end are surely higher than all at the lower end, and those between
belong to neither. Of the two ways the one is taken that tells more pairs apart (docs/bands.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.errors import InputError
from tiewise.posterior.large.groups import is_thinned, quality_means

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

SURE = 0.95
"""The probability that all orders between bands hold, at least."""
MOST_DRAWS = 4000
"""Draws that are looked at, evenly spaced."""
LINES = 32  # lines worked out together


class Bands(NamedTuple):
    """The band of each item, 1 the highest and 0 for those in none, and how sure all orders are.

    `probability` is that of all orders between items of different bands together.
    """

    band: Integers
    probability: float

    @property
    def sizes(self) -> list[int]:
        """Items in each band, from the highest; a single number where there is one band alone."""
        return [int(size) for size in np.bincount(self.band)[1:]]

    @property
    def pairs(self) -> int:
        """Pairs of items in different bands: those whose order is sure."""
        sizes = np.array(self.sizes)
        return int((sizes.sum() ** 2 - (sizes**2).sum()) // 2)


def bands(tree: DataTree, probability: float = SURE) -> Bands | None:
    """The bands of a fit; None where there are no draws, or not all are stored (very many items).

    All orders between items of different bands hold together with at least this probability.
    """
    if not 0.5 < probability < 1:
        raise InputError(f"probability={probability} is not between 0.5 and 1, such as 0.95")
    if tree.attrs["kind"] == "point" or is_thinned(tree):
        return None
    order = np.argsort(-quality_means(tree), kind="stable")
    quality = tree["posterior/quality"].to_numpy()
    flat = quality.reshape(-1, quality.shape[-1])
    some = np.linspace(0, len(flat) - 1, min(len(flat), MOST_DRAWS)).round().astype(np.int64)
    holds = np.empty((len(order) - 1, len(some)), bool)
    lines = zip(_lowest_above(flat, some, order), _highest_below(flat, some, order), strict=True)
    for line, (lowest, highest) in enumerate(lines):
        np.greater(lowest, highest, out=holds[line])
    least = probability + _standard_error(tree, probability)
    lowest_above, highest_below = (
        _lowest_above(flat, some, order),
        _highest_below(flat, some, order),
    )
    ways = (_split(holds, least), _ends(lowest_above, highest_below, len(order) - 1, least))
    best = max(ways, key=lambda way: way.pairs)
    band = np.empty(len(order), np.int64)
    band[order] = best.band
    return best._replace(band=band)


def _highest_below(flat: Floats, some: Integers, order: Integers) -> Iterator[Singles]:
    """The highest quality below each line (some draws), line by line from the top.

    There is a line after each item but the last. All of them at once would be as large as a copy of
    the draws, so those of the first lines of batches are kept, and the others worked out again.
    """
    below: dict[int, Singles] = {len(order): np.full(len(some), -np.inf, np.float32)}
    highest = below[len(order)]
    for start in range((len(order) - 1) // LINES * LINES, 0, -LINES):
        highest = _suffix_maxima(flat, some, order[start : start + LINES], highest)[0].copy()
        below[start] = highest
    for start in range(0, len(order), LINES):
        after = below[min(start + LINES, len(order))]
        maxima = _suffix_maxima(flat, some, order[start : start + LINES], after)
        yield from maxima if start else maxima[1:]


def _suffix_maxima(flat: Floats, some: Integers, items: Integers, after: Singles) -> Singles:
    """The highest of each item, those that follow it and what comes after them (items, draws)."""
    rows: Singles = np.ascontiguousarray(flat[np.ix_(some, items)].T.astype(np.float32))
    for row in range(len(rows) - 1, -1, -1):
        np.maximum(rows[row], after if row == len(rows) - 1 else rows[row + 1], out=rows[row])
    return rows


def _lowest_above(flat: Floats, some: Integers, order: Integers) -> Iterator[Singles]:
    """The lowest quality above each line (some draws), line by line from the top."""
    lowest = np.full(len(some), np.inf, np.float32)
    for item in order[:-1]:
        lowest = np.minimum(lowest, flat[some, item].astype(np.float32))
        yield lowest


def _standard_error(tree: DataTree, probability: float) -> float:
    """Monte Carlo error of a probability: so much surer bands must be, as the best are picked."""
    size = tree["posterior/quality"].sizes
    worth = min(float(tree.attrs.get("ess_min", np.inf)), size["chain"] * size["draw"], MOST_DRAWS)
    return float(np.sqrt(probability * (1 - probability) / max(worth, 1.0)))


def _split(holds: Mask, least: float) -> Bands:
    """Every item in a band: lines (lines, draws) drawn while all hold with a probability.

    Each is the one that leaves the joint probability largest.
    """
    together = np.ones(holds.shape[1], bool)
    open_lines = np.flatnonzero(holds.mean(axis=1) >= least)
    drawn: list[int] = []
    while len(open_lines):
        joint = (holds[open_lines] & together).mean(axis=1)
        best = int(joint.argmax())
        if joint[best] < least:
            break
        drawn.append(int(open_lines[best]))
        together &= holds[drawn[-1]]
        open_lines = np.delete(open_lines, best)
    places = np.arange(len(holds) + 1)
    return Bands(1 + np.searchsorted(sorted(drawn), places, side="left"), float(together.mean()))


def _ends(
    lowest_above: Iterable[Singles], highest_below: Iterator[Singles], lines: int, least: float
) -> Bands:
    """Two bands at the ends, with the most pairs between them; one where no ends are sure."""
    best, below, highest = (0, 0, 1.0), 0, next(highest_below, np.empty(0, np.float32))
    for above, lowest in enumerate(lowest_above):
        if below < above:
            below, highest = below + 1, next(highest_below)
        share = _share(lowest > highest)
        # The more are above, the fewer can be below: this line only moves down.
        while share < least and below + 1 < lines:
            below, highest = below + 1, next(highest_below)
            share = _share(lowest > highest)
        if share < least:
            break
        best = max(best, (above + 1, lines - below, share), key=lambda ends: ends[0] * ends[1])
    high, low, share = best
    band = np.zeros(lines + 1, np.int64) if high else np.ones(lines + 1, np.int64)
    band[:high] = 1
    band[lines + 1 - low :] = 2 if low else 1
    return Bands(band, share)


def _share(holds: Mask) -> float:
    return float(holds.mean())
