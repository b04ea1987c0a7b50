"""Whether lists can connect all items, given what judges know and how much each compares.

A set of comparisons without cycles, in which no judge has more than they make, is independent in
two matroids; the largest one is found by augmenting paths (Edmonds). A path begins with a pair of
two parts of a judge whose comparisons are all needed; one of them is given up, what falls apart is
joined by a judge who knows both sides, and so on, until a judge has a comparison to spare.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tiewise.designs.draft import component_labels
from tiewise.designs.wish import DesignWish, Indices
from tiewise.errors import InputError
from tiewise.text import some_names

JudgePair = tuple[int, int, int]
"""A judge, and two items, the lesser one first."""
NOWHERE = -1
"""The label of items that are left out."""


class Forest:
    """Comparisons without cycles, each by a judge who knows both items and has room for it."""

    def __init__(self, wish: DesignWish) -> None:
        self.wish, self.size = wish, len(wish.items)
        self.known: list[Indices] = []
        self.by: dict[int, list[int]] = {}
        """Judges by what they know, a position in `known`."""
        place: dict[int, int] = {}
        for judge, known in enumerate(wish.known_items):
            if id(known) not in place:
                place[id(known)] = len(self.known)
                self.known.append(known)
            self.by.setdefault(place[id(known)], []).append(judge)
        self.pairs: set[JudgePair] = set()
        self.room = np.full(len(wish.judges), wish.distinct)

    @property
    def labels(self) -> NDArray[np.int32]:
        """The part of each item."""
        return self._labels(self.pairs)

    def _labels(self, pairs: Iterable[JudgePair]) -> NDArray[np.int32]:
        _, first, second = np.array([*pairs], np.intp).reshape(-1, 3).T
        return component_labels(self.size, first, second)

    def grow(self, slots: Iterable[JudgePair] = ()) -> None:
        """Take in what closes no cycle: of these slots, then of what judges know, least first."""
        labels = self.labels
        for judge, i, j in slots:
            if labels[i] != labels[j] and self.room[judge]:
                self._add(judge, i, j)
                labels[labels == labels[j]] = labels[i]
        for kind in sorted(self.by, key=lambda kind: len(self.known[kind])):
            free = np.repeat(self.by[kind], self.room[self.by[kind]]).tolist()
            for judge, pair in zip(free, self._all_joining(kind, labels), strict=False):
                self._add(judge, *pair)
            labels = self.labels

    def _add(self, judge: int, i: int, j: int) -> None:
        self.pairs.add((judge, min(i, j), max(i, j)))
        self.room[judge] -= 1

    def _all_joining(self, kind: int, labels: NDArray[np.int32]) -> list[tuple[int, int]]:
        """Pairs that join all parts for who knows this, as far as anchors allow, one after another.

        One item is compared with one of each other part; with anchors, an anchor with other items,
        and one of these with the anchors of parts that have nothing else.
        """
        known = self.known[kind]
        if self.wish.policy != "reference":
            return [(int(known[0]), j) for j in _one_of_each(known, labels, {labels[known[0]]})]
        anchors = known[self.wish.is_anchor[known]]
        others = known[~self.wish.is_anchor[known]]
        if not (len(anchors) and len(others)):
            return []
        hub, middle = int(anchors[0]), int(others[0])
        joined = {labels[hub]}
        pairs = [(hub, j) for j in _one_of_each(others, labels, joined)]
        joined |= set(labels[others].tolist())
        return pairs + [(middle, i) for i in _one_of_each(anchors, labels, joined)]

    def _joining(self, kind: int, labels: NDArray[np.int32]) -> tuple[int, int] | None:
        """A pair of different parts for who knows this; with anchors, of one and another item."""
        known = self.known[kind]
        known = known[labels[known] != NOWHERE]
        anchors = self.wish.is_anchor[known]
        ones, others = (known[anchors], known[~anchors]) if anchors.any() else (known, known)
        if self.wish.policy == "reference" and not anchors.any():
            return None
        for i in ones[np.unique(labels[ones], return_index=True)[1]].tolist():
            apart = others[labels[others] != labels[i]]
            if len(apart):
                return i, int(apart[0])
        return None

    def augment(self) -> bool:
        """One comparison more, others exchanged for it; False where no more can be."""
        labels, tree = self.labels, RootedForest(self.size, self.pairs)
        reached: dict[int, tuple[tuple[int, int], JudgePair | None]] = {}
        """By what is known: the pair to come, and the comparison given up for which it comes."""
        line: list[int] = []
        for kind in self.by:
            pair = self._joining(kind, labels)
            if pair is not None:
                reached[kind] = (pair, None)
                line.append(kind)
        kind_of = {judge: kind for kind, judges in self.by.items() for judge in judges}
        for kind in line:  # it grows
            spare = [judge for judge in self.by[kind] if self.room[judge]]
            if spare:
                self._exchange(kind, spare[0], reached, kind_of)
                return True
            mine = sorted(pair for pair in self.pairs if kind_of[pair[0]] == kind)
            below = tree.below(mine)
            for other in self.by.keys() - reached.keys():
                separates = np.flatnonzero(self._separated(other, below, tree))
                if len(separates):
                    at = int(separates[0])
                    joining = self._joining(other, tree.sides(int(below[at])))
                    assert joining is not None
                    reached[other] = (joining, mine[at])
                    line.append(other)
        return False

    def _separated(
        self, kind: int, below: NDArray[np.intp], tree: RootedForest
    ) -> NDArray[np.bool_]:
        """Whether who knows this could join what falls apart without the pair above each item."""
        known = self.known[kind]
        anchors = self.wish.is_anchor[known]
        if self.wish.policy != "reference":
            inside, outside = tree.counted(known, below)
            return (inside > 0) & (outside > 0)
        (one_in, one_out), (in_, out) = (
            tree.counted(known[which], below) for which in (anchors, ~anchors)
        )
        return ((one_in > 0) & (out > 0)) | ((in_ > 0) & (one_out > 0))

    def _exchange(
        self,
        kind: int,
        judge: int,
        reached: dict[int, tuple[tuple[int, int], JudgePair | None]],
        kind_of: dict[int, int],
    ) -> None:
        pair, dropped = reached[kind]
        while dropped is not None:
            self._add(judge, *pair)
            self.pairs.remove(dropped)
            judge = dropped[0]
            self.room[judge] += 1
            pair, dropped = reached[kind_of[judge]]
        self._add(judge, *pair)


def _one_of_each(items: Indices, labels: NDArray[np.int32], joined: Collection[int]) -> list[int]:
    """An item of each part but for those that are joined."""
    firsts = items[np.unique(labels[items], return_index=True)[1]]
    return [item for item in firsts.tolist() if labels[item] not in joined]


class RootedForest:
    """A forest in which the items below each item stand one after another."""

    def __init__(self, size: int, pairs: Iterable[JudgePair]) -> None:
        near: list[list[int]] = [[] for _ in range(size)]
        for _, i, j in pairs:
            near[i].append(j)
            near[j].append(i)
        self.start, self.end = np.full(size, -1), np.zeros(size, np.intp)
        self.root = np.zeros(size, np.intp)
        order: list[int] = []
        for root in range(size):
            line = [root] if self.start[root] < 0 else []
            while line:
                item = line.pop()
                if item < 0:  # all below it were visited
                    self.end[~item] = len(order)
                    continue
                self.start[item], self.root[item] = len(order), root
                order.append(item)
                line.append(~item)
                line += [other for other in near[item] if self.start[other] < 0]
        self.order = np.array(order)

    def below(self, pairs: Iterable[JudgePair]) -> NDArray[np.intp]:
        """Of each pair the item that is farther from its root."""
        return np.array([i if self.start[i] > self.start[j] else j for _, i, j in pairs], np.intp)

    def counted(
        self, items: Indices, below: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """How many of the items are below each item, itself too, and in the rest of its part."""
        there = np.zeros(len(self.order), np.intp)
        there[self.start[items]] = 1
        until = np.concatenate(([0], np.cumsum(there)))
        inside = until[self.end[below]] - until[self.start[below]]
        roots = self.root[below]
        return inside, until[self.end[roots]] - until[self.start[roots]] - inside

    def sides(self, item: int) -> NDArray[np.int32]:
        """Labels of what is below an item, and of the rest of its part; nothing of other parts."""
        labels = np.full(len(self.order), NOWHERE, np.int32)
        root = self.root[item]
        labels[self.order[self.start[root] : self.end[root]]] = 0
        labels[self.order[self.start[item] : self.end[item]]] = 1
        return labels


def spanning_forest(wish: DesignWish, slots: Iterable[JudgePair] = ()) -> Forest:
    """The forest of the wish with the most comparisons, of these slots as far as can be."""
    forest = Forest(wish)
    forest.grow(slots)
    while len(forest.pairs) < forest.size - 1 and forest.augment():
        pass
    return forest


def require_connectable(wish: DesignWish) -> None:
    """Refuse a wish whose lists cannot connect all items, and say how many comparisons could."""
    forest = spanning_forest(wish)
    if len(forest.pairs) == forest.size - 1:
        return
    labels = forest.labels
    smallest = np.flatnonzero(labels == np.argmin(np.bincount(labels)))
    apart = some_names([wish.items[k] for k in smallest], 3)
    enough = _enough(wish)
    more = f"ask each judge for {enough} or more (per_judge=), or " if enough else ""
    raise InputError(
        f"with {wish.distinct} different pairs each, judges cannot connect {apart} with the rest, "
        f"given what they know; {more}let more judges know them"
    )


def _enough(wish: DesignWish) -> int | None:
    """The fewest comparisons of each judge that can connect all; None where no number does."""
    most = min(wish.pairs_known(known) for known in wish.known_items)
    most = min(most, len(wish.items) - 1)
    if wish.policy == "reference":
        most = min(most, wish.anchor_limit * int(wish.is_anchor.sum()) // len(wish.judges))

    def connects(distinct: int) -> bool:
        more = replace(wish, per_judge=distinct + wish.repeats)
        return len(spanning_forest(more).pairs) == len(wish.items) - 1

    if most <= wish.distinct or not connects(most):
        return None
    between = range(wish.distinct + 1, most + 1)  # with more of each, what connects still does
    return between[bisect_left(between, 1, key=connects)] + wish.repeats
