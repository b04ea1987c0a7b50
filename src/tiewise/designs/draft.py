"""DraftLists: the pairs of each judge while a design is made, as positions of items."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tiewise.designs.wish import DesignWish, Indices

Slot = int
"""Where a pair stands: its number among all of the draft."""


class DraftLists:
    """Pairs without sides, a judge for each; no judge has one twice.

    `count` is how often each item is compared, `times` how often each pair is, by all judges.
    """

    def __init__(self, wish: DesignWish) -> None:
        self.wish, self.known = wish, wish.known_items
        self.knows = {id(known): frozenset(known.tolist()) for known in self.known}
        self.judge: list[int] = []
        self.first: list[int] = []
        self.second: list[int] = []
        self.partners: list[dict[int, set[int]]] = [defaultdict(set) for _ in wish.judges]
        self.count = np.zeros(len(wish.items), np.int64)
        self.times: list[dict[int, int]] = [{} for _ in wish.items]

    def __len__(self) -> int:
        return len(self.judge)

    def pair(self, slot: Slot) -> tuple[int, int, int]:
        """The judge and the two items of a slot."""
        return self.judge[slot], self.first[slot], self.second[slot]

    def may_have(self, judge: int, i: int, j: int) -> bool:
        """Whether a judge knows both items and does not have the pair, and the policy allows it."""
        knows = self.knows[id(self.known[judge])]
        anchors = self.wish.is_anchor
        allowed = self.wish.policy != "reference" or bool(anchors[i]) != bool(anchors[j])
        return allowed and i != j and i in knows and j in knows and j not in self.partners[judge][i]

    def add(self, judge: int, i: int, j: int) -> Slot:
        """One more pair of a judge."""
        self.judge.append(judge)
        self.first.append(i)
        self.second.append(j)
        self._note(judge, i, j, 1)
        return len(self.judge) - 1

    def replace(self, slot: Slot, i: int, j: int) -> None:
        """Another pair in this place."""
        judge, a, b = self.pair(slot)
        self._note(judge, a, b, -1)
        self.first[slot], self.second[slot] = i, j
        self._note(judge, i, j, 1)

    def _note(self, judge: int, i: int, j: int, step: int) -> None:
        mine = self.partners[judge]
        for one, other in ((i, j), (j, i)):
            (mine[one].add if step > 0 else mine[one].discard)(other)
            self.count[one] += step
            left = self.times[one].get(other, 0) + step
            if left:
                self.times[one][other] = left
            else:
                del self.times[one][other]

    def room(self) -> Iterator[int]:
        """Judges whose lists are not full, a turn after the other."""
        have = np.bincount(np.array(self.judge, np.int64), minlength=len(self.known))
        for turn in range(self.wish.distinct):
            yield from np.flatnonzero(have <= turn).tolist()

    def columns(self) -> tuple[Indices, Indices, Indices]:
        """Judges and items of all slots as arrays."""
        return tuple(  # type: ignore[return-value]
            np.array(column, np.intp) for column in (self.judge, self.first, self.second)
        )

    def with_pairs(self, slots: Sequence[tuple[int, int, int]]) -> DraftLists:
        """A draft of the same wish with these judges and pairs."""
        out = DraftLists(self.wish)
        for judge, i, j in slots:
            out.add(judge, i, j)
        return out

    def whole(self) -> DraftLists:
        """The same pairs once more, without one that was coming when Ctrl-C was pressed."""
        out = DraftLists(self.wish)
        for judge, i, j in zip(self.judge, self.first, self.second, strict=False):
            if out.may_have(judge, i, j):
                out.add(judge, i, j)
        return out

    def components(self) -> NDArray[np.int32]:
        """The connected component of each item."""
        return component_labels(len(self.count), *self.columns()[1:])


def component_labels(size: int, first: Indices, second: Indices) -> NDArray[np.int32]:
    """The connected component of each item, where these are compared."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(first)), (first, second)), shape=(size, size))
    labels: NDArray[np.int32] = connected_components(graph, directed=False)[1]
    return labels
