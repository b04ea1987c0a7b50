"""What a design is like: how often items and pairs come, sides, and what holds it together."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from tiewise.designs.design import Design
from tiewise.designs.draft import component_labels
from tiewise.designs.pair_lists import NEW, PairLists
from tiewise.designs.prior import DesignPrior
from tiewise.designs.search.posterior_variance import expected_variance
from tiewise.designs.wish import Indices
from tiewise.model.simulate import random_pairs
from tiewise.planning.curves import Estimate, mean_estimate

RANDOM_DRAWS, FEW_DRAWS, LARGE = 8, 2, 1500
"""Sets of random pairs whose expected variance is averaged; fewer where there are many items."""


class Coverage(NamedTuple):
    """How often items and pairs come, practice and repeats apart, and how they hang together.

    `uneven_sides` is by how much left and right differ at most for one item; `parts` is 1 where
    everything is connected; `pivotal_judges` are those without whom it is not.
    """

    items: int
    judges: int
    comparisons: int
    least: int
    most: int
    pairs: int
    possible_pairs: int
    shared_pairs: int
    uneven_sides: int
    parts: int
    pivotal_judges: int

    @property
    def average(self) -> float:
        """Comparisons of an item, on average."""
        return 2 * self.comparisons / self.items


class ExpectedVariance(NamedTuple):
    """Expected posterior variance of what the design is to tell; before any answer it is 1.

    `random` is that of as many random pairs, an average over some sets of them.
    """

    design: float
    random: Estimate


def positions(items: tuple[str, ...], lists: PairLists) -> tuple[Indices, Indices]:
    """The pairs that count as positions of items, repeats included."""
    place = {item: k for k, item in enumerate(items)}
    pairs = [(place[pair.left], place[pair.right]) for pair in lists.pairs]
    first, second = np.array(pairs, np.intp).T
    return first, second


def coverage(items: tuple[str, ...], lists: PairLists) -> Coverage:
    """The coverage of these items by the lists."""
    new = [pair for pair in lists.pairs if pair.kind == NEW]
    left, right = Counter(pair.left for pair in new), Counter(pair.right for pair in new)
    times = [left[item] + right[item] for item in items]
    pairs = Counter(pair.items for pair in new)
    first, second = positions(items, lists)
    judge = np.repeat(
        np.arange(len(lists)),
        [sum(pair.kind != "practice" for pair in pairs) for pairs in lists.lists.values()],
    )
    parts = _parts(len(items), first, second)
    pivotal = sum(
        _parts(len(items), first[judge != k], second[judge != k]) > parts for k in range(len(lists))
    )
    return Coverage(
        len(items), len(lists), len(new), min(times), max(times), len(pairs),
        len(items) * (len(items) - 1) // 2, sum(number > 1 for number in pairs.values()),
        max(abs(left[item] - right[item]) for item in items), parts, pivotal,
    )  # fmt: skip


def _parts(size: int, first: Indices, second: Indices) -> int:
    return int(component_labels(size, first, second).max()) + 1


def variances(design: Design, rng: np.random.Generator) -> ExpectedVariance:
    """The expected variance of the design, and of random pairs."""
    wish, items = design.wish, design.wish.items
    first, second = positions(items, design.lists)

    def of(prior: DesignPrior, one: Indices, two: Indices) -> float:
        return expected_variance(prior, one, two, target=wish.target, top=wish.top_count)

    draws = RANDOM_DRAWS if len(items) <= LARGE else FEW_DRAWS
    values = [of(design.prior, *random_pairs(len(items), len(first), rng)) for _ in range(draws)]
    return ExpectedVariance(of(design.prior, first, second), mean_estimate(values))
