"""Which pairs to spare a judge, from those they called equal or skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Pair = frozenset[str]

# One skip is an accident. From so many on it is a habit, if it is more than half of what was seen.
HABIT_ITEM, HABIT_CLOSE = 2, 3
SPARED = 0.25  # what a pair is worth to a judge who should be spared it, of what it otherwise is


@dataclass(frozen=True)
class Caution:
    """What a judge finds hard: pairs as close as `too_close`, and these items."""

    too_close: float = -1.0
    items: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, seen: Collection[Pair], wary: Collection[Pair], quality: Mapping[str, float]
    ) -> Caution:
        """The caution that the `wary` pairs among the `seen` ask for."""
        if not wary:
            return cls()
        hard = frozenset(wary)
        met = hard.union(seen)
        return cls(_too_close(met, hard, quality), _hard_items(met, hard))

    def share(self, one: str, two: str, gap: float) -> float:
        """What is left of the worth of a pair whose believed qualities are `gap` apart."""
        left = SPARED if gap <= self.too_close else 1.0
        return left * SPARED if one in self.items or two in self.items else left


def _hard_items(met: frozenset[Pair], hard: frozenset[Pair]) -> frozenset[str]:
    """The items more than half of whose pairs were called equal or skipped."""
    often = Counter(item for pair in hard for item in pair)
    shown = Counter(item for pair in met for item in pair)
    return frozenset(
        item for item, count in often.items() if count >= HABIT_ITEM and 2 * count > shown[item]
    )


def _too_close(met: frozenset[Pair], hard: frozenset[Pair], quality: Mapping[str, float]) -> float:
    """The widest gap within which more than half of the pairs were called equal or skipped."""
    known = [
        (abs(quality[one] - quality[two]), pair in hard)
        for pair in met
        for one, two in [tuple(pair)]
        if one in quality and two in quality
    ]
    gaps = np.array(sorted(known)).reshape(-1, 2)
    wary: NDArray[np.float64] = np.cumsum(gaps[:, 1])
    mostly = (wary >= HABIT_CLOSE) & (2 * wary > np.arange(1, len(gaps) + 1))
    return float(gaps[mostly, 0].max(initial=-1.0))
