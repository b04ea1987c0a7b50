"""What no answers of this kind can say: data that a semiorder explains without contradiction.

A semiorder puts items on a line, more than a threshold apart where one was chosen, less where they
tied. Where one explains every answer, qualities and threshold can grow together without bound and
every answer becomes ever more likely (docs/inference.md, "What data cannot say").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.data.counts import Counts
from tiewise.model.kernels import compiled

if TYPE_CHECKING:
    from tiewise.model.bradley_terry import BradleyTerry

Integers = NDArray[np.int64]
Costs = NDArray[np.int8]

CannotSay = Literal["", "ties", "semiorder", "order"]
"""Why answers leave the scale to the prior: all are ties, or a semiorder or an order explains them.

Empty where they do not.
"""


def cannot_say(model: BradleyTerry) -> CannotSay:
    """Why the answers bound neither variance nor threshold; empty where they do, or are held."""
    counts = model.counts
    ties = counts.total_ties
    if ties and ties == counts.comparisons:
        return "ties"
    # A variance that is held is the scale, and so is a threshold where items tie within it.
    if model.fixed_variance is not None or (ties and model.fixed_tie is not None):
        return ""
    if not is_semiorder(counts):
        return ""
    return "semiorder" if ties else "order"


def is_semiorder(counts: Counts) -> bool:
    """Whether some semiorder explains every answer; without ties, whether wins have no circle.

    Exact: winner > loser + 1 and |difference| < 1 for ties, as difference constraints.
    """
    forth, back, tied = counts.wins_first > 0, counts.wins_second > 0, counts.ties > 0
    if (forth & back | (forth | back) & tied).any():
        return False
    graph = _Constraints.of(counts)
    potential = np.zeros(len(counts.items), np.int64)
    # Bellman and Ford: what has not settled after one round per item never does.
    for _ in counts.items:
        admissible = potential[graph.tail] + graph.cost <= potential[graph.head]
        order = _topological_order(graph.start, graph.head, admissible)
        # Around such a circle there are at least as many wins as ties: strictly, it cannot be.
        if len(order) < len(counts.items):
            return False
        # In this order a chain of constraints, however long, is met in one round.
        if not _relax(order, graph.start, graph.head, graph.cost, potential):
            return True
    return False


class _Constraints(NamedTuple):
    """x[head] ≤ x[tail] + cost, sorted by tail: −1 below a winner, +1 either way for a tie."""

    tail: Integers
    head: Integers
    cost: Costs
    start: Integers

    @classmethod
    def of(cls, counts: Counts) -> _Constraints:
        forth, back, tied = counts.wins_first > 0, counts.wins_second > 0, counts.ties > 0
        one, two = counts.first, counts.second
        tail = np.concatenate([one[forth], two[back], one[tied], two[tied]])
        head = np.concatenate([two[forth], one[back], two[tied], one[tied]])
        wins = int(forth.sum() + back.sum())
        cost = np.where(np.arange(len(tail)) < wins, -1, 1).astype(np.int8)
        by_tail = np.argsort(tail, kind="stable")
        size = np.bincount(tail, minlength=len(counts.items))
        start = np.concatenate([[0], np.cumsum(size)])
        return cls(tail[by_tail], head[by_tail], cost[by_tail], start)


@compiled
def _relax(
    order: Integers, start: Integers, head: Integers, cost: Costs, potential: Integers
) -> bool:
    """One round over all constraints, tail by tail; whether any potential had to fall."""
    fell = False
    for i in order:
        for edge in range(start[i], start[i + 1]):
            j, bound = head[edge], potential[i] + cost[edge]
            if bound < potential[j]:
                potential[j], fell = bound, True
    return fell


@compiled
def _topological_order(start: Integers, head: Integers, used: NDArray[np.bool_]) -> Integers:
    """Items so that every edge in use points forwards; fewer than all where edges make a circle."""
    size = start.size - 1
    waiting = np.zeros(size, np.int64)
    for edge in range(head.size):
        waiting[head[edge]] += used[edge]
    order = np.empty(size, np.int64)
    number = 0
    for i in range(size):
        if waiting[i] == 0:
            order[number] = i
            number += 1
    done = 0
    while done < number:
        i = order[done]
        done += 1
        for edge in range(start[i], start[i + 1]):
            waiting[head[edge]] -= used[edge]
            if used[edge] and waiting[head[edge]] == 0:
                order[number] = head[edge]
                number += 1
    return order[:number]
