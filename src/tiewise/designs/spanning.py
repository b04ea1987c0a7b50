"""Whether lists can connect all items, given what judges know and how much each compares.

A set of comparisons without cycles, in which no judge has more than they make, is independent in
two matroids; the largest one is found by augmenting paths (Edmonds). A path begins with a pair of
two parts of a judge whose comparisons are all needed; one of them is given up, what falls apart is
joined by a judge who knows both sides, and so on, until a judge has a comparison to spare.
"""

from __future__ import annotations

from collections.abc import Iterable
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
            for judge in self.by[kind]:
                while self.room[judge]:
                    pair = self._joining(kind, labels)
                    if pair is None:
                        break
                    self._add(judge, *pair)
                    labels[labels == labels[pair[1]]] = labels[pair[0]]

    def _add(self, judge: int, i: int, j: int) -> None:
        self.pairs.add((judge, min(i, j), max(i, j)))
        self.room[judge] -= 1

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
        labels = self.labels
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
            for dropped in [pair for pair in self.pairs if kind_of[pair[0]] == kind]:
                without = self._labels(self.pairs - {dropped})
                without[labels != labels[dropped[1]]] = NOWHERE
                for other in self.by.keys() - reached.keys():
                    joining = self._joining(other, without)
                    if joining is not None:
                        reached[other] = (joining, dropped)
                        line.append(other)
        return False

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
    for distinct in range(wish.distinct + 1, min(most, len(wish.items) - 1) + 1):
        try:
            more = replace(wish, per_judge=distinct + wish.repeats)
        except InputError:  # anchors have no room for more
            return None
        if len(spanning_forest(more).pairs) == len(wish.items) - 1:
            return distinct + wish.repeats
    return None
