"""What results say that a few answers may decide: who is first, the top k, above the average.

Each says that some items have a higher posterior mean than others, or than the average of all. It
no longer holds once one of these differences is negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

AVERAGE = -1
"""In the place of an item: the average of all, which is 0."""
NEAREST = 4
"""How many of the nearest items on either side of a line are looked at as the first to cross it."""


class Contrast(NamedTuple):
    """The difference in quality between two items; one of them may be the average."""

    higher: int
    lower: int

    def of(self, quality: Floats) -> Floats:
        """The difference, from qualities whose last axis runs over items."""
        zero = np.zeros(quality.shape[:-1])
        above, below = (zero if k == AVERAGE else quality[..., k] for k in self)
        return np.asarray(above - below, np.float64)


@dataclass(frozen=True)
class Conclusion:
    """The `items` are higher than all others; of kind `average`, than the average or lower."""

    kind: Literal["first", "top", "average"]
    items: tuple[int, ...]
    above: bool = True

    @classmethod
    def highest(cls, mean: Floats, number: int) -> Conclusion:
        """That these are the highest, or this is the first."""
        order = np.argsort(-mean, kind="stable")[:number]
        return cls("first" if number == 1 else "top", tuple(int(k) for k in order))

    @classmethod
    def against_average(cls, mean: Floats, item: int) -> Conclusion:
        """That an item is above the average, or below it."""
        return cls("average", (item,), bool(mean[item] > 0))

    def contrasts(self, mean: Floats) -> list[Contrast]:
        """Differences that may be the first to turn, the nearest ones; all are positive now."""
        if self.kind == "average":
            item = self.items[0]
            return [Contrast(item, AVERAGE) if self.above else Contrast(AVERAGE, item)]
        inside, outside = self._sides(mean)
        return [Contrast(i, j) for i in inside[:NEAREST] for j in outside[: 2 * NEAREST]]

    def weakest(self, mean: Floats) -> Contrast:
        """The difference that is smallest at these means; negative where this does not hold."""
        return self.contrasts(mean)[0]

    def _sides(self, mean: Floats) -> tuple[list[int], list[int]]:
        """Its items from the lowest up, and all others from the highest down."""
        own = np.zeros(len(mean), bool)
        own[list(self.items)] = True
        order = np.argsort(-mean, kind="stable")
        inside, outside = order[own[order]][::-1], order[~own[order]]
        return [int(k) for k in inside], [int(k) for k in outside]
