"""Which pair a judge sees next: a pure function of what they know, what they saw, and chance."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import NamedTuple

from numpy.random import Generator

Pair = frozenset[str]


class Pick(NamedTuple):
    """A pair to show, sides decided; `repeat` where the judge answered it before."""

    left: str
    right: str
    repeat: bool = False


def next_pair(
    items: Sequence[str],
    seen: Collection[Pair],
    rng: Generator,
    *,
    repeats: float = 0.0,
    answered: Sequence[Pick] = (),
) -> Pick | None:
    """A pair of `items` that is not in `seen`, uniformly at random; None where none is left.

    With chance `repeats` it is instead one of the `answered`, with its sides exchanged.
    """
    if answered and rng.random() < repeats:
        again = answered[int(rng.integers(len(answered)))]
        return Pick(again.right, again.left, repeat=True)
    pair = _unseen(sorted(set(items)), frozenset(seen), rng)
    if pair is None:
        return None
    first, second = pair if rng.random() < 0.5 else pair[::-1]
    return Pick(first, second)


def _unseen(items: Sequence[str], seen: frozenset[Pair], rng: Generator) -> tuple[str, str] | None:
    """One of the pairs that were not seen, each with the same chance."""
    known = set(items)
    pairs = len(items) * (len(items) - 1) // 2
    used = sum(pair <= known for pair in seen)
    if used >= pairs:
        return None
    # While most pairs are new, throwing until one is costs less than writing all of them down.
    if 2 * used <= pairs:
        while True:
            i, j = rng.choice(len(items), 2, replace=False)
            if frozenset((items[i], items[j])) not in seen:
                return items[i], items[j]
    left = [pair for pair in combinations(items, 2) if frozenset(pair) not in seen]
    return left[int(rng.integers(len(left)))]
