"""Balanced designs: every item equally often, pairs that differ, and all of it connected."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from tiewise.designs.draft import DraftLists
from tiewise.designs.wish import DesignWish, Indices
from tiewise.progress import Progress, no_progress

EVERY = 500
"""Pairs after which progress is reported."""
SEEN_BY_OTHERS, RANDOM_PART = 0.4, 0.3
"""What a pair that others have counts against it, and how far chance decides; together less than
one comparison, so that items that came rarely go first."""


def balanced_draft(
    wish: DesignWish,
    rng: Generator,
    *,
    start: DraftLists | None = None,
    progress: Progress = no_progress,
) -> DraftLists:
    """Lists in which items come equally often, as far as what judges know allows.

    Where everybody knows everything, two items differ by one comparison at most; with the policy
    "reference" that holds among items and among anchors. `start` is filled up.
    """
    draft = DraftLists(wish) if start is None else start
    total = len(wish.judges) * wish.distinct
    for judge in _shuffled_turns(draft, rng):
        draft.add(judge, *_rare_pair(draft, judge, rng))
        if len(draft) % EVERY == 0:
            progress("balancing", len(draft), total)
    even_out(draft, rng)
    return draft


def _shuffled_turns(draft: DraftLists, rng: Generator) -> Iterator[int]:
    """The judges with room, each turn in an order of its own."""
    turns = [*draft.room()]
    judges = np.array(turns, np.intp)
    ends = np.flatnonzero(np.diff(judges) <= 0) + 1
    for turn in np.split(judges, ends):
        yield from rng.permutation(turn).tolist()


def _rare_pair(draft: DraftLists, judge: int, rng: Generator) -> tuple[int, int]:
    """The item that came least often, with the partner that did, which the judge has not had."""
    known, mine = draft.known[judge], draft.partners[judge]
    score = draft.count[known] + RANDOM_PART * rng.random(len(known))
    anchors = draft.wish.is_anchor[known]
    reference = draft.wish.policy == "reference"
    partners = (
        np.where(anchors, (~anchors).sum(), anchors.sum())
        if reference
        else np.full(len(known), len(known) - 1)
    )
    used = [np.searchsorted(known, item) for item, others in mine.items() if others]
    full = np.zeros(len(known), bool)
    if used:
        have = np.array([len(mine[int(known[k])]) for k in used])
        full[used] = have >= partners[used]
    at = int(np.argmin(np.where(full | anchors, np.inf, score)))
    i = int(known[at])
    score[at] = np.inf
    if reference:
        score[~anchors] = np.inf
    for other, times in draft.times[i].items():
        place = int(np.searchsorted(known, other))
        if place < len(known) and known[place] == other:
            score[place] += SEEN_BY_OTHERS * (1 - 0.5**times)
    for other in mine.get(i, ()):
        score[np.searchsorted(known, other)] = np.inf
    return i, int(known[np.argmin(score)])


def even_out(draft: DraftLists, rng: Generator) -> None:
    """Exchange items of pairs until no exchange brings their numbers of comparisons nearer.

    If a comes more often than c by two, some judge who knows both has a with a b that they do not
    have with c: there c takes the place of a.
    """
    for members in _classes(draft.wish):
        while True:
            order = members[np.argsort(draft.count[members] + 0.5 * rng.random(len(members)))]
            if not _exchange_one(draft, order):
                break


def _classes(wish: DesignWish) -> list[Indices]:
    """Items among which comparisons are evened out: all, or anchors apart from the others."""
    anchors = wish.is_anchor
    return [part for part in (np.flatnonzero(~anchors), np.flatnonzero(anchors)) if len(part)]


def _exchange_one(draft: DraftLists, order: Indices) -> bool:
    """One exchange between items that differ by two or more; the widest gaps are tried first."""
    count = draft.count
    slots = _slots_by_item(draft, order[count[order] >= count[order[0]] + 2])
    for a in order[::-1].tolist():
        for c in order.tolist():
            if count[a] < count[c] + 2:
                break
            for slot in slots[a]:
                judge, i, j = draft.pair(slot)
                b = j if i == a else i
                if draft.may_have(judge, c, b):
                    draft.replace(slot, c, b)
                    return True
    return False


def _slots_by_item(draft: DraftLists, items: Indices) -> dict[int, list[int]]:
    """Where each of these items stands."""
    if not len(items):
        return {}
    _, first, second = draft.columns()
    return {
        item: np.flatnonzero((first == item) | (second == item)).tolist() for item in items.tolist()
    }
