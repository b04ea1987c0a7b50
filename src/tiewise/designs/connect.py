"""Connecting a draft: pairs exchanged until all items are compared with each other, by steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.designs.draft import DraftLists, Slot
from tiewise.designs.spanning import spanning_forest


def connect(draft: DraftLists, rng: Generator) -> None:
    """Exchange pairs until all are connected, or as far as what judges know allows.

    Two pairs of different parts, of which one is not needed to hold its part together, exchange
    partners: that joins the parts, and every item keeps its number of comparisons. Only where no
    two can, a pair is replaced by one between parts; and where that does not do, by those of a
    forest that connects.
    """
    labels = draft.components()
    while labels.max() > 0:
        if not (_exchange(draft, labels, rng) or _replace(draft, labels, rng)):
            _take_forest(draft)
            return
        labels = draft.components()


def _take_forest(draft: DraftLists) -> None:
    """Give judges the pairs of a forest that connects as much as can be, others for them."""
    slots = [draft.pair(slot) for slot in range(len(draft))]
    missing = spanning_forest(draft.wish, slots).pairs
    free: dict[int, list[Slot]] = {judge: [] for judge, _, _ in slots}
    for slot, (judge, i, j) in enumerate(slots):
        pair = (judge, min(i, j), max(i, j))
        if pair in missing:
            missing.remove(pair)
        else:
            free[judge].append(slot)
    for judge, i, j in sorted(missing):
        draft.replace(free[judge].pop(), i, j)


def spare_slots(draft: DraftLists) -> list[Slot]:
    """Pairs without which the same items stay connected: those beyond a spanning forest."""
    parent = list(range(len(draft.count)))

    def root(item: int) -> int:
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    spare = []
    for slot in range(len(draft)):
        _, i, j = draft.pair(slot)
        a, b = root(i), root(j)
        if a == b:
            spare.append(slot)
        parent[a] = b
    return spare


def _exchange(draft: DraftLists, labels: NDArray[np.int32], rng: Generator) -> bool:
    """(a, b) and (c, d) of different parts become (a, c) and (b, d), whoever has them."""
    spare = spare_slots(draft)
    for slot in rng.permutation(np.array(spare, np.intp)).tolist():
        judge, a, b = draft.pair(slot)
        for other in rng.permutation(len(draft)).tolist():
            k, c, d = draft.pair(other)
            if labels[c] == labels[a]:
                continue
            for one, two in ((c, d), (d, c)):
                if draft.may_have(judge, a, one) and draft.may_have(k, b, two):
                    draft.replace(slot, a, one)
                    draft.replace(other, b, two)
                    return True
    return False


def _replace(draft: DraftLists, labels: NDArray[np.int32], rng: Generator) -> bool:
    """A pair that is not needed becomes one that joins two parts."""
    for slot in rng.permutation(np.array(spare_slots(draft), np.intp)).tolist():
        judge = draft.judge[slot]
        for i, j in _across(draft, judge, labels):
            if draft.may_have(judge, i, j):
                draft.replace(slot, i, j)
                return True
    return False


def _across(draft: DraftLists, judge: int, labels: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Pairs of different parts that a judge knows, an item of the smallest part first."""
    known = draft.known[judge]
    order = known[np.argsort(np.bincount(labels)[labels[known]], kind="stable")]
    for i in order.tolist():
        for j in known.tolist():
            if labels[i] != labels[j]:
                yield i, j
