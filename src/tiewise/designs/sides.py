"""Sides evened out: every item left as often as right, or once more."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from tiewise.designs.wish import Indices


def even_sides(
    size: int, first: Indices, second: Indices, rng: Generator
) -> tuple[Indices, Indices]:
    """The same pairs with sides, so that for no item left and right differ by more than one.

    Pairs are walked along closed walks (Euler): each goes from its left item to its right one, so
    that whoever enters an item also leaves it. Items with an odd number are joined to one more for
    the purpose.
    """
    odd = np.flatnonzero(np.bincount(np.concatenate([first, second]), minlength=size) % 2)
    real = len(first)
    one = np.concatenate([first, odd])
    two = np.concatenate([second, np.full(len(odd), size)])
    meets: list[list[int]] = [[] for _ in range(size + 1)]
    for pair in rng.permutation(len(one)).tolist():
        meets[one[pair]].append(pair)
        meets[two[pair]].append(pair)
    left, walked = one.copy(), np.zeros(len(one), bool)
    for start in rng.permutation(size + 1).tolist():
        at = start
        while meets[at]:
            pair = meets[at].pop()
            if walked[pair]:
                continue
            walked[pair] = True
            left[pair] = at
            at = int(two[pair] if one[pair] == at else one[pair])
    left = left[:real]
    return left, np.where(left == first, second, first)
