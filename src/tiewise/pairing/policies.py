"""Which pair a judge sees next: a pure function of what they know, what they saw, and chance."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.pairing.spared_pairs import Caution
from tiewise.pairing.spared_pairs import Pair as Pair
from tiewise.pairing.state import Standing as Standing

POLICIES = ("uniform", "balanced", "informative")

# The best of so many at random: near the top, and yet not the same pair for all who ask at once.
HANDFUL = 16
# Nor is a handful more than this share of the pairs left to judges who know few items.
OF_FEW = 0.25
# Where comparisons fall into parts, so many pairs are to join two of them. Not all: everybody
# who asks at once would be shown the same last item.
JOINING = 0.5
FAR_BEHIND = 3.0

Indices = tuple[int, int]


class Pick(NamedTuple):
    """A pair to show, sides decided; `repeat` where the judge answered it before."""

    left: str
    right: str
    repeat: bool = False


@dataclass(frozen=True)
class _Choice:
    """What there is to choose from: the items known, in order, and the pairs of them seen."""

    items: tuple[str, ...]
    seen: frozenset[Pair]

    @classmethod
    def among(cls, items: Sequence[str], seen: Collection[Pair]) -> _Choice:
        known = frozenset(items)
        return cls(tuple(sorted(known)), frozenset(pair for pair in seen if pair <= known))

    @property
    def left(self) -> int:
        """How many pairs there still are."""
        return len(self.items) * (len(self.items) - 1) // 2 - len(self.seen)

    @property
    def mostly_new(self) -> bool:
        return len(self.seen) <= self.left

    def is_new(self, i: int, j: int) -> bool:
        return frozenset((self.items[i], self.items[j])) not in self.seen

    def written_out(self) -> list[Indices]:
        """Every pair that was not seen."""
        return [pair for pair in combinations(range(len(self.items)), 2) if self.is_new(*pair)]


def next_pair(
    items: Sequence[str],
    seen: Collection[Pair],
    rng: Generator,
    *,
    repeats: float = 0.0,
    answered: Sequence[Pick] = (),
    policy: str = "uniform",
    standing: Standing | None = None,
    wary: Collection[Pair] = (),
    random_share: float = 0.2,
) -> Pick | None:
    """A pair of `items` that is not in `seen`, chosen by a policy; None where none is left.

    With chance `repeats` it is instead one of the `answered`, with its sides exchanged. `standing`
    is what all judges have said so far, and may be some seconds old. `wary` are the pairs that
    this judge called equal or skipped; `random_share` of the informative pairs are left to chance.
    """
    if policy not in POLICIES:
        raise InputError(f"no pairing policy {policy!r}; there are {', '.join(POLICIES)}")
    if answered and rng.random() < repeats:
        again = answered[int(rng.integers(len(answered)))]
        return Pick(again.right, again.left, repeat=True)
    choice = _Choice.among(items, seen)
    if not choice.left:
        return None
    if policy == "uniform":
        i, j = _uniform(choice, rng)
    elif policy == "balanced" or standing is None or standing.worth is None:
        i, j = _balanced(choice, standing, rng)
    else:
        i, j = _informative(choice, standing, wary, random_share, rng)
    first, second = (i, j) if rng.random() < 0.5 else (j, i)
    return Pick(choice.items[first], choice.items[second])


def _uniform(choice: _Choice, rng: Generator) -> Indices:
    """One of the pairs that were not seen, each with the same chance."""
    # While most pairs are new, throwing until one is costs less than writing all of them down.
    while choice.mostly_new:
        i, j = rng.choice(len(choice.items), 2, replace=False)
        if choice.is_new(i, j):
            return int(i), int(j)
    left = choice.written_out()
    return left[int(rng.integers(len(left)))]


def _balanced(choice: _Choice, standing: Standing | None, rng: Generator) -> Indices:
    """An item that was compared rarely, with another such, of another part where there are some."""
    count, part = _tallies(choice, standing)
    partners = _partners(choice)
    i = _rare(np.flatnonzero(partners.any(axis=1)), count, rng)
    others = np.flatnonzero(partners[i])
    elsewhere = others[part[others] != part[i]]
    joins = len(elsewhere) > 0 and rng.random() < JOINING
    return i, _rare(elsewhere if joins else others, count, rng)


def _tallies(
    choice: _Choice, standing: Standing | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Comparisons and part of each item; an item of which nothing is known is a part of its own."""
    size = len(choice.items)
    count, part = np.zeros(size, np.int64), -1 - np.arange(size)
    if standing is None:
        return count, part
    where = np.array([standing.place.get(item, -1) for item in choice.items])
    there = where >= 0
    count[there] = standing.comparisons[where[there]]
    part[there] = standing.part[where[there]]
    return count, part


def _partners(choice: _Choice) -> NDArray[np.bool_]:
    """Which items each may still be compared with."""
    place = {item: k for k, item in enumerate(choice.items)}
    out = ~np.eye(len(place), dtype=bool)
    for one, two in choice.seen:
        i, j = place[one], place[two]
        out[i, j] = out[j, i] = False
    return out


def _rare(those: NDArray[np.intp], count: NDArray[np.int64], rng: Generator) -> int:
    """One of those, the likelier the more rarely it was compared.

    A comparison less makes it e times as likely, and less than that where counts are far apart:
    judges who all look at the same old counts then do not overshoot. Beyond `FAR_BEHIND` an item
    is as likely as at it, so that it is not the only one they are asked about.
    """
    behind = count[those].mean() - count[those]
    steps = np.clip(behind / max(1.0, 2 * float(behind.std())), -FAR_BEHIND, FAR_BEHIND)
    weight = np.cumsum(np.exp(steps))
    return int(those[np.searchsorted(weight, rng.random() * weight[-1], side="right")])


def _informative(
    choice: _Choice,
    standing: Standing,
    wary: Collection[Pair],
    random_share: float,
    rng: Generator,
) -> Indices:
    """The pair of a random handful that is worth most, where it is not left to chance."""
    if not standing.place.keys() >= set(choice.items):
        even = _balanced(choice, standing, rng)
        if any(choice.items[k] not in standing.place for k in even):
            return even
    if rng.random() < random_share:
        return _uniform(choice, rng)
    value = _valued(choice, _handful(choice, rng), standing, wary)
    return max(value, key=value.__getitem__)


def _handful(choice: _Choice, rng: Generator) -> list[Indices]:
    """Some of the pairs that were not seen, at random."""
    size = int(np.clip(OF_FEW * choice.left, 1, HANDFUL))
    if not choice.mostly_new:
        left = choice.written_out()
        return [left[k] for k in rng.choice(len(left), size, replace=False)]
    found: list[Indices] = []
    items = len(choice.items)
    while len(found) < size:
        i = rng.integers(items, size=2 * size)
        j = (i + rng.integers(1, items, size=2 * size)) % items
        found += [pair for pair in zip(i.tolist(), j.tolist(), strict=True) if choice.is_new(*pair)]
    return found[:size]


def _valued(
    choice: _Choice, pairs: Sequence[Indices], standing: Standing, wary: Collection[Pair]
) -> dict[Indices, float]:
    """What each pair is worth when this judge is asked; nothing where an item is not known yet."""
    assert standing.worth is not None
    assert standing.quality is not None
    quality = dict(zip(standing.items, standing.quality.tolist(), strict=True)) if wary else {}
    caution = Caution.of(choice.seen, wary, quality)
    out = {}
    for i, j in pairs:
        one, two = choice.items[i], choice.items[j]
        a, b = standing.place.get(one), standing.place.get(two)
        known = a is not None and b is not None
        gap = abs(quality[one] - quality[two]) if wary and known else np.inf
        out[i, j] = float(standing.worth[a, b]) * caution.share(one, two, gap) if known else 0.0
    return out
