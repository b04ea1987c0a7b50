"""What a pairing policy chooses from, and what a policy is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

from numpy.random import Generator

from tiewise.pairing.state import PairingState

Pair = frozenset[str]
Indices = tuple[int, int]
"""Positions of the two items of a pair among the items of the candidates."""
ANCHOR_LIMIT = 100
"""Comparisons of one anchor: so many tell its quality to about 0.2."""


@dataclass(frozen=True)
class Candidates:
    """The items a judge knows, in order, the pairs of them they saw, and what may guide a choice.

    `hard_pairs` are those that the judge called equal or skipped; `random_share` is the share of
    pairs that the informative policy draws at random. The reference policy shows each of the
    `anchors` at most `anchor_limit` times.
    """

    items: tuple[str, ...]
    seen: frozenset[Pair]
    state: PairingState | None = None
    hard_pairs: Collection[Pair] = ()
    random_share: float = 0.2
    anchors: frozenset[str] = frozenset()
    anchor_limit: int = ANCHOR_LIMIT

    @classmethod
    def among(
        cls,
        items: Sequence[str],
        seen: Collection[Pair],
        *,
        state: PairingState | None = None,
        hard_pairs: Collection[Pair] = (),
        random_share: float = 0.2,
        anchors: Collection[str] = (),
        anchor_limit: int = ANCHOR_LIMIT,
    ) -> Candidates:
        """The candidates of a judge; pairs of items that they do not know are left out."""
        known = frozenset(items)
        return cls(
            tuple(sorted(known)), frozenset(pair for pair in seen if pair <= known), state,
            hard_pairs, random_share, known.intersection(anchors), anchor_limit,
        )  # fmt: skip

    @property
    def left(self) -> int:
        """How many pairs there still are."""
        return len(self.items) * (len(self.items) - 1) // 2 - len(self.seen)

    @property
    def mostly_new(self) -> bool:
        """Whether at least half of the pairs are new."""
        return len(self.seen) <= self.left

    def is_new(self, i: int, j: int) -> bool:
        """Whether the pair at these positions was not seen."""
        return frozenset((self.items[i], self.items[j])) not in self.seen

    def new_pairs(self) -> list[Indices]:
        """Every pair that was not seen."""
        return [pair for pair in combinations(range(len(self.items)), 2) if self.is_new(*pair)]


@dataclass(frozen=True)
class Policy:
    """How to choose one of the candidates, and what is needed for it; None where none will do."""

    choose: Callable[[Candidates, Generator], Indices | None]
    needs_state: bool = False
    needs_posterior: bool = False
    needs_anchors: bool = False
