"""Which pairs a judge finds hard, from those they called equal or skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiewise.pairing.candidates import Pair

# One skip is an accident. From this many on it is a habit, if it is more than half of the pairs.
HABIT_ITEM, HABIT_CLOSE = 2, 3
HARD_PAIR_WEIGHT = 0.25  # the utility of a hard pair, as a share of what it otherwise is


@dataclass(frozen=True)
class Difficulty:
    """What a judge finds hard: pairs as close as `too_close`, and these items."""

    too_close: float = -1.0
    items: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, seen: Collection[Pair], hard_pairs: Collection[Pair], quality: Mapping[str, float]
    ) -> Difficulty:
        """The difficulty that the hard pairs among all `seen` show."""
        if not hard_pairs:
            return cls()
        hard = frozenset(hard_pairs)
        shown = hard.union(seen)
        return cls(_too_close(shown, hard, quality), _hard_items(shown, hard))

    def weight(self, one: str, two: str, gap: float) -> float:
        """The factor for the utility of a pair whose estimated qualities are `gap` apart."""
        weight = HARD_PAIR_WEIGHT if gap <= self.too_close else 1.0
        return weight * HARD_PAIR_WEIGHT if one in self.items or two in self.items else weight


def _hard_items(shown: frozenset[Pair], hard: frozenset[Pair]) -> frozenset[str]:
    """The items more than half of whose pairs were called equal or skipped."""
    hard_count = Counter(item for pair in hard for item in pair)
    shown_count = Counter(item for pair in shown for item in pair)
    return frozenset(
        item
        for item, count in hard_count.items()
        if count >= HABIT_ITEM and 2 * count > shown_count[item]
    )


def _too_close(
    shown: frozenset[Pair], hard: frozenset[Pair], quality: Mapping[str, float]
) -> float:
    """The widest gap within which more than half of the pairs were called equal or skipped."""
    known = [
        (abs(quality[one] - quality[two]), pair in hard)
        for pair in shown
        for one, two in [tuple(pair)]
        if one in quality and two in quality
    ]
    gaps = np.array(sorted(known)).reshape(-1, 2)
    hard_count: NDArray[np.float64] = np.cumsum(gaps[:, 1])
    mostly = (hard_count >= HABIT_CLOSE) & (2 * hard_count > np.arange(1, len(gaps) + 1))
    return float(gaps[mostly, 0].max(initial=-1.0))
