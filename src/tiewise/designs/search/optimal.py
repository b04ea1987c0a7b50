"""Optimal designs: pairs that make the expected posterior variance of a target small.

The best pair for a judge is added, a turn after the other; then pairs that are missed least are
exchanged for the best in their place, until no exchange helps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.designs.balanced import balanced_draft
from tiewise.designs.connect import connect
from tiewise.designs.draft import DraftLists, component_labels
from tiewise.designs.prior import DesignPrior
from tiewise.designs.search.kernels import Matrix
from tiewise.designs.search.posterior_variance import PosteriorVariance, expected_variance
from tiewise.designs.wish import DesignWish, Indices
from tiewise.progress import Progress, no_progress

ONE_BY_ONE = 600
"""Items up to which pairs are added one by one, and exchanged; beyond, many at a time."""
BATCH_SHARE = 40
"""Of so many items one pair is added at a time."""
SAMPLE = 1000
"""Items among which the pairs of a batch are looked for."""
SPARSE = 4
"""Pairs of each item below which an exchange might take a draft apart, and is watched."""
PASSES = 2
"""How often each pair is tried to be exchanged, on average, at most."""
FEWEST_TRIES = 400
LEAST = 1e-10
"""A gain below this share of the variance is none."""


class OptimalSearch:
    """A draft that grows and improves, and its expected variance."""

    def __init__(
        self, wish: DesignWish, prior: DesignPrior, rng: Generator, progress: Progress = no_progress
    ) -> None:
        self.wish, self.prior, self.rng, self.progress = wish, prior, rng, progress
        self.draft = DraftLists(wish)
        self.variance = PosteriorVariance(prior, wish.target, wish.top_count)
        self.blocked = np.zeros((len(wish.items),) * 2, bool)

    def begin(self, draft: DraftLists) -> None:
        """Go on from a draft that is full."""
        self.draft = draft
        self.variance = PosteriorVariance(self.prior, self.wish.target, self.wish.top_count)
        self.variance.add_all(*draft.columns()[1:])

    # Growing.

    def grow(self) -> None:
        """The best pair for each judge in turn."""
        total = len(self.wish.judges) * self.wish.distinct
        size = len(self.wish.items)
        batch = 1 if size <= ONE_BY_ONE else max(size // BATCH_SHARE, 1)
        turns = [*self.draft.room()]
        for begin in range(0, len(turns), batch):
            judges = turns[begin : begin + batch]
            if batch == 1:
                self._add_best(judges[0])
            else:
                self._add_batch(judges)
            self.progress("choosing pairs", len(self.draft), total)

    def _add(self, judges: Sequence[int], pairs: Sequence[tuple[int, int]]) -> None:
        for judge, (i, j) in zip(judges, pairs, strict=True):
            self.draft.add(judge, i, j)
        first, second = np.array(pairs, np.intp).T
        self.variance.add(first, second)

    def _add_best(self, judge: int) -> None:
        best = self._best(judge)
        assert best is not None, "a judge with room has a pair left"
        self._add([judge], [best])

    def _best(self, judge: int, labels: NDArray[np.int32] | None = None) -> tuple[int, int] | None:
        """The pair that tells most of those that a judge knows and does not have; None without any.

        With `labels`, of those that join parts with different ones.
        """
        mine = [(i, j) for i, others in self.draft.partners[judge].items() for j in others]
        at = tuple(np.array(mine, np.intp).reshape(-1, 2).T)
        self.blocked[at] = True
        best = self.variance.best_pair(self.draft.known[judge], self.blocked, labels)
        self.blocked[at] = False
        return best

    def _add_batch(self, judges: Sequence[int]) -> None:
        """A pair for each of several judges, no item in two of them."""
        by_known = defaultdict(list)
        for judge in judges:
            by_known[id(self.draft.known[judge])].append(judge)
        used = np.zeros(len(self.wish.items), bool)
        chosen: list[tuple[int, int, int]] = []
        for mates in by_known.values():
            chosen += self._matched(mates, used)
        for judge in set(judges) - {judge for judge, _, _ in chosen}:
            if chosen:
                self._add([one for one, _, _ in chosen], [(i, j) for _, i, j in chosen])
                chosen = []
            self._add_best(judge)
        if chosen:
            self._add([one for one, _, _ in chosen], [(i, j) for _, i, j in chosen])

    def _matched(
        self, judges: Sequence[int], used: NDArray[np.bool_]
    ) -> list[tuple[int, int, int]]:
        """Pairs for judges who know the same, the best first, of items that are not `used`."""
        items = self._sample(self.draft.known[judges[0]], used)
        gains = self.variance.all_gains(items)
        i, j = np.triu_indices(len(items), 1)
        worth = gains[i, j]
        worth *= 1 + 0.01 * self.rng.random(len(worth), np.float32)
        best = np.argsort(worth)[::-1] if len(worth) < 5000 else _top(worth, 40 * len(items))
        left, out = [*judges], list[tuple[int, int, int]]()
        for k in best.tolist():
            if not left:
                break
            a, b = int(items[i[k]]), int(items[j[k]])
            if used[a] or used[b]:
                continue
            judge = next((one for one in left if self.draft.may_have(one, a, b)), None)
            if judge is None:
                continue
            left.remove(judge)
            used[a] = used[b] = True
            out.append((judge, a, b))
        return out

    def _sample(self, known: Indices, used: NDArray[np.bool_]) -> Indices:
        """Items to look among: half of them those about which least is known."""
        free = known[~used[known]]
        if len(free) <= SAMPLE:
            return free
        need = np.diag(self.variance.square)[free]
        neediest = free[np.argpartition(need, -SAMPLE // 2)[-SAMPLE // 2 :]]
        others = np.setdiff1d(free, neediest, assume_unique=True)
        return np.concatenate(
            [neediest, self.rng.choice(others, SAMPLE - len(neediest), replace=False)]
        )

    def connect(self) -> None:
        """Join what is apart."""
        if self.draft.components().max() > 0:
            connect(self.draft, self.rng)
            self.begin(self.draft)

    # Exchanging.

    def exchange(self) -> None:
        """Exchange the pairs that are missed least, until no exchange helps or patience ends."""
        draft, tries = self.draft, max(PASSES * len(self.draft), FEWEST_TRIES)
        tried = np.zeros(len(draft), bool)
        for number in range(tries):
            self.progress("exchanging pairs", number, tries)
            slot = self._least_missed(tried)
            if slot is None:
                break
            tried[slot] = True
            if self._exchange_one(slot) and len(draft) <= FEWEST_TRIES:
                tried[:] = False
        self.progress("exchanging pairs", tries, tries)

    def _least_missed(self, tried: NDArray[np.bool_]) -> int | None:
        if tried.all():
            return None
        _, first, second = self.draft.columns()
        losses = self.variance.losses(first, second)
        losses[tried] = np.inf
        return int(np.argmin(losses))

    def _exchange_one(self, slot: int) -> bool:
        """The best pair in the place of this one, if another is better."""
        judge, a, b = self.draft.pair(slot)
        before, variance = self.variance.value, self.variance
        one, two = np.array([a]), np.array([b])
        variance.add(one, two, -1)
        best = self._best(judge, self._labels_without(slot))
        if best is not None:
            i, j = (np.array([item]) for item in best)
            variance.add(i, j)
            if variance.value < before * (1 - LEAST):
                self.draft.replace(slot, *best)
                return True
            variance.add(i, j, -1)
        variance.add(one, two)
        return False

    def _labels_without(self, slot: int) -> NDArray[np.int32] | None:
        """The parts that are left without a pair; not looked for where there are many pairs."""
        if len(self.draft) > SPARSE * len(self.wish.items):
            return None
        kept = np.arange(len(self.draft)) != slot
        _, first, second = self.draft.columns()
        return component_labels(len(self.wish.items), first[kept], second[kept])


def _top(values: Matrix, number: int) -> Indices:
    """Positions of the largest values, the largest first."""
    number = min(number, len(values))
    top = np.argpartition(values, -number)[-number:]
    return np.asarray(top[np.argsort(values[top])[::-1]], np.intp)


SMALL = 12
"""Items up to which several beginnings are tried."""
BEGINNINGS = 24


def optimal_draft(
    wish: DesignWish, prior: DesignPrior, rng: Generator, progress: Progress = no_progress
) -> tuple[DraftLists, bool]:
    """The best draft that was found, and whether the search was interrupted before its end.

    It is never worse than a balanced one, which is what an interrupted search is filled up with.
    """
    search = OptimalSearch(wish, prior, rng, progress)
    interrupted = False
    try:
        search.grow()
        search.connect()
        if len(wish.items) <= ONE_BY_ONE:
            search.exchange()
        if len(wish.items) <= SMALL:
            search = _best_beginning(search)
    except KeyboardInterrupt:
        interrupted = True
    draft = search.draft
    if interrupted:
        draft = balanced_draft(wish, rng, start=draft.whole())
    del search  # its matrices are large
    plain = balanced_draft(wish, rng)
    for one in (draft, plain):
        connect(one, rng)
    return min((draft, plain), key=lambda one: variance_of(one, prior)), interrupted


def _best_beginning(search: OptimalSearch) -> OptimalSearch:
    """The best of several searches, which begin with other lists."""
    best = search
    for _ in range(BEGINNINGS):
        other = OptimalSearch(search.wish, search.prior, search.rng)
        other.begin(balanced_draft(search.wish, search.rng))
        other.connect()
        other.exchange()
        best = min((best, other), key=lambda one: one.variance.value)
    return best


def variance_of(draft: DraftLists, prior: DesignPrior) -> float:
    """The expected posterior variance of what a wish targets, 1 before the first comparison."""
    _, first, second = draft.columns()
    wish = draft.wish
    return expected_variance(prior, first, second, target=wish.target, top=wish.top_count)
