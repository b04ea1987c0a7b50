"""Which wishes can be connected: against a theorem about partitions, tried on all of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designs.test_designs import names, parts_of
from support.everyday import everyday
from tiewise.designs.design import make_design
from tiewise.designs.pair_lists import PairLists
from tiewise.designs.prior import DesignPrior
from tiewise.designs.spanning import require_connectable, spanning_forest
from tiewise.designs.wish import DesignWish
from tiewise.errors import InputError


def partitions(items: list[str]) -> Iterator[list[set[str]]]:
    """Every way to put items into parts."""
    if not items:
        yield []
        return
    for parts in partitions(items[1:]):
        yield [{items[0]}, *parts]
        for k in range(len(parts)):
            yield [*parts[:k], parts[k] | {items[0]}, *parts[k + 1 :]]


def can_be_connected(
    items: tuple[str, ...], known: dict[str, tuple[str, ...]], each: int, anchors: set[str]
) -> bool:
    """Whether judges with `each` comparisons can connect all items.

    They can if, and only if, for every partition into k parts the judges have k − 1 comparisons
    across it: each as many as they make, or one less than the parts that they know (Rado's theorem
    for the graphic matroid).
    """

    def across(mine: tuple[str, ...], parts: list[set[str]]) -> int:
        if anchors and not (set(mine) & anchors and set(mine) - anchors):
            return 0
        return min(each, sum(bool(part & set(mine)) for part in parts) - 1)

    return all(
        sum(across(mine, parts) for mine in known.values()) >= len(parts) - 1
        for parts in partitions(list(items))
    )


@st.composite
def wishes(draw):
    """Judges who know some of a few items, each a group of its own; some in vain."""
    items = names("item", draw(st.integers(3, 6)))
    judges = names("judge", draw(st.integers(1, 4)))
    some = st.lists(st.sampled_from(items), min_size=2, max_size=len(items), unique=True)
    known = {judge: tuple(sorted(draw(some))) for judge in judges}
    policy = draw(st.sampled_from(["balanced", "optimal", "reference"]))
    anchors = items[: draw(st.integers(1, len(items) - 1))] if policy == "reference" else ()
    return {
        "items": items, "judges": judges, "groups": items, "known": known, "anchors": anchors,
        "policy": policy, "per_judge": draw(st.integers(1, 4)),
    }  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(wishes(), st.integers(0, 2**32 - 1))
def test_a_design_is_connected_or_its_wish_is_refused_and_could_not_be(wish, seed):
    items = wish["items"]
    prior = DesignPrior(np.zeros(len(items)), np.eye(len(items)), np.array([0.5]))
    can = can_be_connected(items, wish["known"], wish["per_judge"], set(wish["anchors"]))
    message, lists = "", PairLists({})
    try:
        lists = make_design(DesignWish(**wish), prior, rng=seed).lists
    except InputError as refused:
        message = str(refused)
    if message:
        assert "\n" not in message
        assert not can or "none twice" in message
        return
    assert can
    assert len(parts_of(items, lists)) == 1
    for judge, pairs in lists.lists.items():
        assert {item for pair in pairs for item in pair.items} <= set(wish["known"][judge])
        assert len({pair.items for pair in pairs}) == wish["per_judge"]


@pytest.mark.parametrize("policy", everyday(["balanced", "reference"], "reference"))
def test_an_impossible_wish_of_thousands_of_items_is_refused_in_seconds(policy):
    """5,000 items of 50 groups, the last of which is known only by two who link it with others."""
    number, groups = 5000, 50
    items = names("item", number)
    of = tuple(f"g{k % groups:02d}" for k in range(number))
    known = {f"judge {k}": (f"g{k % (groups - 1):02d}",) for k in range(300)}
    known |= {f"link {k}": (f"g{k:02d}", f"g{(k + 1) % groups:02d}") for k in range(groups)}
    anchors = items[:500] if policy == "reference" else ()
    wish = DesignWish(
        items=items, judges=tuple(known), per_judge=15, groups=of, known=known, policy=policy,
        anchors=anchors,
    )  # fmt: skip
    before = process_time()
    with pytest.raises(InputError, match="judges cannot connect .* or more") as refused:
        require_connectable(wish)
    assert process_time() - before < 20
    assert "\n" not in str(refused.value)
    enough = int(re.search(r"ask each judge for (\d+) or more", str(refused.value))[1])
    connected = [
        len(spanning_forest(replace(wish, per_judge=each)).pairs) == number - 1
        for each in (enough - 1, enough)
    ]
    assert connected == [False, True]


def test_anchors_that_judges_know_too_few_of_are_not_shown_beyond_their_limit():
    """Two of four judges know one anchor alone, and have four comparisons each."""
    wish = {
        "items": names("item", 10), "judges": names("judge", 4), "per_judge": 4,
        "policy": "reference", "anchors": ("item 1", "item 9", "item 10"),
        "groups": ("a",) * 5 + ("b",) * 5,
        "known": {"judge 1": ("a",), "judge 2": ("a",), "judge 3": ("a", "b"),
                  "judge 4": ("a", "b")},
    }  # fmt: skip
    prior = DesignPrior(np.zeros(10), np.eye(10), np.array([0.5]))
    with pytest.raises(InputError) as refused:
        make_design(DesignWish(**wish, anchor_limit=6), prior)
    message = str(refused.value)
    assert "\n" not in message
    least = int(re.search(r"anchor_limit=(\d+)", message)[1])
    lists = make_design(DesignWish(**wish, anchor_limit=least), prior).lists
    shown = Counter(item for pair in lists.pairs for item in pair.items)
    assert max(shown[item] for item in wish["anchors"]) <= least


def test_judges_who_have_too_few_comparisons_for_what_they_alone_know_are_told_how_many_do():
    """One of three knows the south, and cannot connect its five items with two comparisons."""
    wish = {
        "items": names("item", 10), "judges": names("judge", 5), "per_judge": 2,
        "groups": ("north",) * 5 + ("south",) * 5,
        "known": dict.fromkeys(names("judge", 4), ("north",)) | {"judge 5": ("north", "south")},
    }  # fmt: skip
    prior = DesignPrior(np.zeros(10), np.eye(10), np.array([0.5]))
    message = "with 2 different pairs each, judges cannot connect .*ask each judge for 5 or more"
    with pytest.raises(InputError, match=message) as refused:
        make_design(DesignWish(**wish), prior)
    assert "\n" not in str(refused.value)
    lists = make_design(DesignWish(**wish | {"per_judge": 5}), prior).lists
    assert len(parts_of(wish["items"], lists)) == 1
