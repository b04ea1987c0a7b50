"""The reference policy: new items with anchors near them, none of these more often than allowed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.pairing.policies import next_pair
from tiewise.pairing.state import PairingState
from tiewise.planning.design import StudyDesign

ANCHORS = tuple(f"anchor {k}" for k in range(6))
NEW = tuple(f"new {k:02}" for k in range(12))
ITEMS = (*NEW, *ANCHORS)


def state_of(compared, quality=None) -> PairingState:
    """The state of these pairs of items; of qualities by item, where there is a fit."""
    first, second = ([ITEMS.index(pair[k]) for pair in compared] for k in (0, 1))
    state = PairingState.of(Counts.of(ITEMS, first, second, [1] * len(first), [0] * len(first)))
    if quality is None:
        return state
    mean = np.array([quality.get(item, 0.0) for item in ITEMS])
    return state.with_posterior(mean, np.eye(len(ITEMS)), 0.5)


def one_pair(rng, state=None, seen=(), items=ITEMS, **rules):
    return next_pair(
        items, seen, rng, policy="reference", state=state, anchors=ANCHORS, **rules
    )  # fmt: skip


def test_an_item_is_compared_with_the_anchors_nearest_to_its_estimate():
    quality = {anchor: k - 2.5 for k, anchor in enumerate(ANCHORS)}
    quality |= dict.fromkeys(NEW[:6], 2.4) | dict.fromkeys(NEW[6:], -2.4)
    state = state_of([(item, ANCHORS[0]) for item in NEW], quality)
    rng = np.random.default_rng(1)
    picks = [sorted(one_pair(rng, state)[:2]) for _ in range(400)]
    assert all(anchor in ANCHORS and item in NEW for anchor, item in picks)
    high = {anchor for anchor, item in picks if item in NEW[:6]}
    low = {anchor for anchor, item in picks if item in NEW[6:]}
    assert (high, low) == (set(ANCHORS[3:]), set(ANCHORS[:3]))


@pytest.mark.parametrize("fitted", [False, True])
def test_without_an_estimate_anchors_come_evenly(fitted):
    """Before any fit, and of items that a fit knows by their prior alone."""
    quality = {anchor: 3.0 * k for k, anchor in enumerate(ANCHORS)} if fitted else None
    rng = np.random.default_rng(1)
    state = state_of([], quality)
    count = Counter(min(one_pair(rng, state)[:2]) for _ in range(1200))
    assert set(count) == set(ANCHORS)
    assert abs(np.array([*count.values()]) - 200).max() < 5 * np.sqrt(200)


def simulate_study(limit: int, number: int) -> list[frozenset[str]]:
    """Pairs of a study whose judges see five pairs each, with a state that is renewed each time."""
    rng, shown = np.random.default_rng(1), list[frozenset[str]]()
    while len(shown) < number:
        seen = set[frozenset[str]]()
        for _ in range(5):
            pick = one_pair(rng, state_of([tuple(p) for p in shown]), seen, anchor_limit=limit)
            if pick is None:
                return shown
            seen.add(frozenset(pick[:2]))
            shown.append(frozenset(pick[:2]))
    return shown


def test_no_anchor_is_shown_more_often_than_its_limit_and_every_item_is_compared():
    shown = simulate_study(limit=4, number=100)
    count = Counter(item for pair in shown for item in pair)
    assert [count[anchor] for anchor in ANCHORS] == [4] * len(ANCHORS)
    assert all(pair & set(ANCHORS) for pair in shown[:24])
    # The rest of the study compares new items with each other.
    assert min(count[item] for item in NEW) >= 10
    assert max(count[item] for item in NEW) <= 20


def test_every_item_is_compared_with_anchors_where_they_have_room():
    shown = simulate_study(limit=100, number=60)
    assert all(len(pair & set(ANCHORS)) == 1 for pair in shown)
    count = Counter(item for pair in shown for item in pair)
    assert min(count[item] for item in NEW) >= 3


def test_there_is_no_pair_where_all_that_is_left_has_an_anchor_that_was_shown_enough():
    rng = np.random.default_rng(1)
    used_up = state_of([(anchor, NEW[0]) for anchor in ANCHORS for _ in range(3)])
    items = (NEW[1], *ANCHORS)
    assert one_pair(rng, used_up, items=items, anchor_limit=3) is None
    assert one_pair(rng, used_up, items=items, anchor_limit=4) is not None


def test_a_judge_does_not_see_an_anchor_too_often_while_nothing_is_counted():
    rng, seen = np.random.default_rng(1), set[frozenset[str]]()
    while pick := one_pair(rng, seen=seen, anchor_limit=2):
        seen.add(frozenset(pick[:2]))
    count = Counter(item for pair in seen for item in pair)
    assert max(count[anchor] for anchor in ANCHORS) == 2
    assert {frozenset((one, two)) for one in NEW for two in NEW if one < two} <= seen


def test_a_judge_who_knows_no_anchor_compares_new_items():
    rng = np.random.default_rng(1)
    pick = one_pair(rng, state_of([]), items=NEW[:2])
    assert set(pick[:2]) == set(NEW[:2])


def test_without_anchors_the_policy_is_refused_with_the_way_out():
    with pytest.raises(InputError, match="there are none; give anchors, or choose another policy"):
        next_pair(ITEMS, (), np.random.default_rng(1), policy="reference")
    with pytest.raises(InputError, match="there are none; give anchors=, or plan with 'balanced'"):
        StudyDesign(items=ITEMS, judges=5, policy="reference")
