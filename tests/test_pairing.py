"""Which pair next: uniform over what is known and new, sides by chance, nothing twice."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from tiewise.plan.pairing import Pick, next_pair

ITEMS = tuple("abcdef")
LEVEL = 1e-4


def pairs(items) -> list[frozenset[str]]:
    return [frozenset(pair) for pair in combinations(items, 2)]


@pytest.mark.parametrize("seen", [0, 4, 11])
def test_every_pair_left_is_equally_likely_on_either_side(seen):
    """With few and with most pairs seen, which are two ways of drawing."""
    rng = np.random.default_rng(2)
    used = pairs(ITEMS)[:seen]
    drawn = Counter(next_pair(ITEMS, used, rng)[:2] for _ in range(6000))
    possible = [side for pair in pairs(ITEMS)[seen:] for side in (tuple(pair), tuple(pair)[::-1])]
    assert set(drawn) == set(possible)
    assert chisquare([drawn[side] for side in possible]).pvalue > LEVEL


@given(count=st.integers(2, 9), seed=st.integers(0, 2**32 - 1), strangers=st.booleans())
def test_no_pair_comes_twice_and_all_come(count, seed, strangers):
    items = [str(k) for k in range(count)]
    rng = np.random.default_rng(seed)
    # Pairs of items that the judge no longer says they know are nobody's business.
    seen = {frozenset(("x", "0")), frozenset(("x", "y"))} if strangers else set()
    met = []
    while (pick := next_pair(items, seen, rng)) is not None:
        assert pick.left != pick.right
        assert not pick.repeat
        met.append(frozenset(pick[:2]))
        seen.add(met[-1])
    assert sorted(map(sorted, met)) == sorted(map(sorted, pairs(items)))


@pytest.mark.parametrize("items", [(), ("a",), ("a", "a")])
def test_one_item_makes_no_pair(items):
    assert next_pair(items, (), np.random.default_rng(2)) is None


def test_planned_repeats_come_as_often_as_asked_with_sides_exchanged():
    rng = np.random.default_rng(2)
    answered = [Pick("a", "b"), Pick("c", "d")]
    drawn = [
        next_pair(ITEMS, pairs("abcd"), rng, repeats=0.3, answered=answered) for _ in range(4000)
    ]
    again = [pick for pick in drawn if pick.repeat]
    share = len(again) / len(drawn)
    assert abs(share - 0.3) < 4 * np.sqrt(0.3 * 0.7 / len(drawn))
    assert set(again) == {Pick("b", "a", True), Pick("d", "c", True)}
    assert not any(frozenset(pick[:2]) in pairs("abcd") for pick in drawn if not pick.repeat)


def test_repeats_need_something_to_repeat():
    rng = np.random.default_rng(2)
    assert not any(next_pair(ITEMS, (), rng, repeats=0.5).repeat for _ in range(50))


def test_the_same_chance_gives_the_same_pair():
    first, second = (next_pair(ITEMS, (), np.random.default_rng(5)) for _ in range(2))
    assert first == second
    assert next_pair(ITEMS[::-1], (), np.random.default_rng(5)) == first
