"""What no answers of this kind can say: data that a semiorder explains without contradiction.

A semiorder puts items on a line, more than a threshold apart where one was chosen, less where they
tied. Where one explains every answer, qualities and threshold can grow together without bound and
every answer becomes ever more likely (docs/inference.md, "What data cannot say"). Graded answers
put differences between cuts, which grow along: there it is a linear programme.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.data.counts import Counts
from tiewise.model.kernels import compiled
from tiewise.model.scalar_priors.fixed import Fixed

if TYPE_CHECKING:
    from tiewise.model.bradley_terry import BradleyTerry

Integers = NDArray[np.int64]
Costs = NDArray[np.int8]

MOST_GRADED_ROWS = 20_000
"""Pairs above which strengths are left out of account, so that it is said too often, if at all."""
SMALL = 1e-7

CannotSay = Literal["", "ties", "semiorder", "order"]
"""Why answers leave the scale to the prior: all are ties, or a semiorder or an order explains them.

Empty where they do not.
"""


def cannot_say(model: BradleyTerry) -> CannotSay:
    """Why the answers bound neither variance nor threshold; empty where they do, or are held."""
    # Comparisons of one pair with different facts may contradict each other all the same.
    counts = model.counts if model.counts.facts is None else model.counts.pooled()
    if _anchored(model):
        return ""
    ties = counts.total_ties
    if ties and ties == counts.comparisons:
        return "ties"
    # A variance that is held is the scale, and so is a threshold where items tie within it.
    if model.fixed_variance is not None or (ties and model.fixed_tie is not None):
        return ""
    # What strengths do not contradict, choices do not either, and this is quicker to see.
    if not is_semiorder(counts) or not _strengths_agree(model, counts):
        return ""
    return "semiorder" if ties else "order"


def _anchored(model: BradleyTerry) -> bool:
    """Whether two anchors in logits, or linked items, bound the differences in every part."""
    if model.anchors is None or model.anchors.is_slope_learned:
        return False
    informed = model.anchors.level_free.diagonal > 0
    known = {item for item, own in zip(model.anchors.items, informed, strict=True) if own}
    parts = [part for part in model.counts.components() if len(part) > 1]
    return all(len(known.intersection(part)) > 1 for part in parts)


def _strengths_agree(model: BradleyTerry, counts: Counts) -> bool:
    """Whether qualities and cuts can be such that every answer lies between its cuts."""
    if counts.strengths is None:
        return True
    used = (counts.strengths > 0).sum(axis=(1, 2))
    if (used > 1).any():
        return False
    return len(used) > MOST_GRADED_ROWS or is_graded_order(counts, _growing(model))


def _growing(model: BradleyTerry) -> Integers:
    """The thresholds, δ and steps, that can grow with the qualities: all that are not held."""
    held = [model.fixed_tie is not None, *(isinstance(step, Fixed) for step in model.steps)]
    return np.flatnonzero(~np.array(held))


def is_graded_order(counts: Counts, free: Integers) -> bool:
    """Whether some qualities and thresholds explain every graded answer; those not free are 0."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack

    margins, size = graded_margins(counts, free), len(counts.items)
    # The least margin, as a variable of its own, should be above 0; all may grow together.
    rows: Any = hstack([-margins, csr_array(np.ones((margins.shape[0], 1)))])
    target = np.append(np.zeros(size + len(free)), -1.0)
    bounds = [(None, None)] * size + [(0.0, None)] * len(free) + [(None, 1.0)]
    best: Any = linprog(target, A_ub=rows, b_ub=np.zeros(rows.shape[0]), bounds=bounds)
    return bool(-best.fun > SMALL)


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


# Graded answers.


class _Margin(NamedTuple):
    """Rows whose side · (difference in quality) − sign · cut must not fall."""

    rows: NDArray[np.bool_]
    side: int
    cut: int
    sign: int


def graded_margins(counts: Counts, free: Integers) -> Any:
    """The margins of all graded answers as a sparse matrix of qualities and free thresholds."""
    from scipy.sparse import vstack

    return vstack([_margin_rows(counts, own, free) for own in _margins(counts)])


def _margins(counts: Counts) -> Iterator[_Margin]:
    """The margins of all answers: ties within the lowest cuts, choices between theirs."""
    assert counts.strengths is not None
    for side in (1, -1):
        yield _Margin(counts.ties > 0, side, 0, -1)
    for side, own in ((1, counts.strengths[:, 0] > 0), (-1, counts.strengths[:, 1] > 0)):
        for k in range(counts.levels):
            yield _Margin(own[:, k], side, k, 1)
            if k + 1 < counts.levels:
                yield _Margin(own[:, k], -side, k + 1, -1)


def _margin_rows(counts: Counts, margin: _Margin, free: Integers) -> Any:
    """Margins as a sparse matrix of qualities and free thresholds; a cut is a sum of these."""
    from scipy.sparse import csr_array, hstack

    rows = np.flatnonzero(margin.rows)
    number, size = len(rows), len(counts.items)
    pair = (np.tile(np.arange(number), 2), np.r_[counts.first[rows], counts.second[rows]])
    sides = np.repeat([margin.side, -margin.side], number)
    quality = csr_array((sides.astype(float), pair), shape=(number, size))
    cut = np.tile(-margin.sign * (free <= margin.cut).astype(float), (number, 1))
    return hstack([quality, csr_array(cut)])
