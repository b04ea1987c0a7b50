"""How much of the differences between items is known, and how many comparisons more it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil, floor, inf, log10
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def reliability(quality: Floats) -> float:
    """Share of the variance of quality that is known, from draws (draws, items): 0 to 1.

    The variance of posterior means over that and the mean posterior variance, both of centred
    quality: the Bayesian relative of scale separation reliability (docs/live.md).
    """
    centred = quality - quality.mean(axis=1, keepdims=True)
    known = float(centred.mean(axis=0).var())
    unknown = float(centred.var(axis=0).mean())
    # The mean of some draws is off by Monte Carlo error, which looks like knowledge.
    known = max(known - unknown / len(centred), 0.0)
    return known / (known + unknown) if known + unknown > 0 else 0.0


def more_needed(found: float, comparisons: int, wanted: float) -> float:
    """About how many comparisons more bring reliability from `found` to `wanted`; inf: unknown.

    By Spearman and Brown: the odds of reliability grow in proportion to comparisons.
    """
    if found >= wanted:
        return 0.0
    if found <= 0 or wanted >= 1:
        return inf
    return comparisons * (wanted / (1 - wanted) / (found / (1 - found)) - 1)


class Verdict(NamedTuple):
    """Whether it is enough, in a sentence, and about how many comparisons are missing."""

    enough: bool
    says: str
    more: int | None
    """0 where it is enough, None where it cannot be said yet."""


def verdict(body: Mapping[str, Any] | None, *, wanted: float) -> Verdict:
    """What to say to somebody who asks whether to go on, from the body of a snapshot."""
    if body is None:
        return Verdict(False, "Not yet: there are no comparisons.", None)
    comparisons = sum(body["answers"][key] for key in ("left", "right", "tie"))
    items, found = len(body["items"]), float(body["reliability"])
    apart = _sets(body["part"])
    if comparisons < items:
        few = "1 comparison is" if comparisons == 1 else f"{comparisons} comparisons are"
        return Verdict(
            False,
            f"Not yet, and too early to say how many more: {few} few for {items} items.",
            None,
        )
    if apart > 1:
        return Verdict(
            False,
            f"Not yet: the items fall into {apart} sets that nobody has compared with each other, "
            "so how the sets stand to each other is not known.",
            None,
        )
    if found >= wanted:
        return Verdict(
            True, f"Enough: reliability is {_told(found)}, and {_told(wanted)} was wanted.", 0
        )
    more = more_needed(found, comparisons, wanted)
    now = f"reliability is {_told(found)}, and {_told(wanted)} is wanted"
    if not more < 100 * comparisons:
        return Verdict(False, f"Not yet, and too early to say how many more: {now}.", None)
    number = rounded(more)
    ones = f"comparison{'s'[: number != 1]}"
    return Verdict(False, f"Not yet: {now}; about {number:,} more {ones}.", number)


def rounded(number: float) -> int:
    """Up to two digits that count: 4,213 is 4,300."""
    # Less a hair: 1,200.0000002 is 1,200.
    unit: int = 10 ** max(floor(log10(max(number, 1))) - 1, 0)
    return max(ceil(number / unit - 1e-6), 1) * unit


def _sets(part: list[int]) -> int:
    """How many sets of two or more items there are, joined by comparisons within themselves."""
    return sum(size > 1 for size in Counter(part).values())


def _told(share: float) -> str:
    # Rounded down: 0.799 is not yet 0.80.
    return f"{floor(share * 100 + 1e-9) / 100:.2f}"
