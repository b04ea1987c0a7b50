"""A design as a value, and how it is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

from tiewise.designs.balanced import balanced_draft
from tiewise.designs.connect import connect
from tiewise.designs.draft import DraftLists
from tiewise.designs.pair_lists import PRACTICE, REPEAT, ListedPair, PairLists
from tiewise.designs.prior import DesignPrior
from tiewise.designs.search.optimal import optimal_draft
from tiewise.designs.sides import even_sides
from tiewise.designs.spanning import require_connectable
from tiewise.designs.wish import DesignWish
from tiewise.errors import InputError
from tiewise.progress import Progress, no_progress
from tiewise.randomness import RNGLike, as_seed

TRIES = 200
"""How often an order is drawn in which no item comes twice running."""


@dataclass(frozen=True)
class Design:
    """The lists of all judges, what they were made for, and the seed that makes them again."""

    wish: DesignWish = field(repr=False)
    prior: DesignPrior = field(repr=False)
    lists: PairLists = field(repr=False)
    seed: int
    interrupted: bool = False
    """Whether an optimal design was stopped before its search ended."""


def make_design(
    wish: DesignWish, prior: DesignPrior, *, rng: RNGLike = 1, progress: Progress = no_progress
) -> Design:
    """A design by the policy of the wish; the same seed gives the same design.

    Stopped by Ctrl-C, an optimal design is the best so far.
    """
    if wish.known:
        require_connectable(wish)
    seed = as_seed(rng)
    generator = np.random.default_rng(seed)
    draft, interrupted = _draft(wish, prior, generator, progress)
    _refuse_overused_anchors(draft)
    lists = _lists(draft, generator)
    return Design(wish, prior, lists, seed, interrupted)


def _refuse_overused_anchors(draft: DraftLists) -> None:
    """Refuse lists that show an anchor more often than allowed: judges know too few of them."""
    wish = draft.wish
    if not wish.is_anchor.any():
        return
    times = np.where(wish.is_anchor, draft.count, 0)
    most = int(times.max())
    if most > wish.anchor_limit:
        raise InputError(
            f"the anchor {wish.items[int(times.argmax())]!r} would be shown {most} times, and "
            f"{wish.anchor_limit} are allowed: of the anchors, judges know too few; let them know "
            f"more, ask for fewer comparisons, or show each oftener (anchor_limit={most})"
        )


def _draft(
    wish: DesignWish, prior: DesignPrior, rng: Generator, progress: Progress
) -> tuple[DraftLists, bool]:
    """The pairs of all judges, of items in an order by chance: it decides among equals."""
    order = rng.permutation(len(wish.items))
    groups = tuple(wish.groups[k] for k in order) if wish.groups else ()
    mixed = replace(wish, items=tuple(wish.items[k] for k in order), groups=groups)
    if wish.policy == "optimal":
        turned = DesignPrior(prior.mean[order], prior.covariance[np.ix_(order, order)], prior.cuts)
        return optimal_draft(mixed, turned, rng, progress)
    draft = balanced_draft(mixed, rng, progress=progress)
    connect(draft, rng)
    return draft, False


def _lists(draft: DraftLists, rng: Generator) -> PairLists:
    """Sides, orders, repeats and practice, and names in place of positions."""
    judge, first, second = draft.columns()
    left, right = even_sides(len(draft.wish.items), first, second, rng)
    items = draft.wish.items
    lists: dict[str, tuple[ListedPair, ...]] = {}
    for k, name in enumerate(draft.wish.judges):
        mine = np.flatnonzero(judge == k)
        pairs = [
            ListedPair(items[i], items[j]) for i, j in zip(left[mine], right[mine], strict=True)
        ]
        ordered = _with_repeats(_in_order(pairs, rng), draft.wish.repeats, rng)
        lists[name] = (*_practice(draft, k, rng), *ordered)
    return PairLists(lists)


def _in_order(pairs: Sequence[ListedPair], rng: Generator) -> list[ListedPair]:
    """The pairs in an order of chance in which items seldom come twice running."""
    left = [pairs[k] for k in rng.permutation(len(pairs))]
    out: list[ListedPair] = []
    while left:
        last = out[-1].items if out else frozenset[str]()
        at = next((k for k, pair in enumerate(left[:TRIES]) if not pair.items & last), 0)
        out.append(left.pop(at))
    return out


def _with_repeats(pairs: list[ListedPair], repeats: int, rng: Generator) -> list[ListedPair]:
    """Some of the pairs once more, sides exchanged, as far behind the first time as there is room.

    They are the earliest, in an order of their own, spread over the second half.
    """
    if not repeats:
        return pairs
    early = rng.permutation(max(len(pairs) // 2, repeats))[:repeats]
    again = [ListedPair(pairs[k].right, pairs[k].left, REPEAT) for k in sorted(early.tolist())]
    total = len(pairs) + repeats
    places = np.linspace(total // 2 + 1, total, repeats, dtype=int) - 1
    out, rest, more = list[ListedPair](), iter(pairs), iter(again)
    for place in range(total):
        out.append(next(more) if place in set(places.tolist()) else next(rest))
    return out


def _practice(draft: DraftLists, judge: int, rng: Generator) -> list[ListedPair]:
    """Pairs to begin with, which do not count: of what a judge knows, not in the list if it can."""
    known, items = draft.known[judge], draft.wish.items
    out: list[ListedPair] = []
    seen = {frozenset((i, j)) for i, others in draft.partners[judge].items() for j in others}
    for attempt in range(50 * draft.wish.practice):
        if len(out) == draft.wish.practice:
            break
        i, j = rng.choice(known, 2, replace=False).tolist()
        if frozenset((i, j)) not in seen or attempt > 25 * draft.wish.practice:
            seen.add(frozenset((i, j)))
            out.append(ListedPair(items[i], items[j], PRACTICE))
    return out


def known_groups(
    groups: Sequence[str], judges: Sequence[str], knows: int, rng: RNGLike
) -> Mapping[str, tuple[str, ...]]:
    """Groups for judges who know `knows` of them, so that all are linked as soon as can be.

    Groups stand in an order of chance, and each judge has one in common with the one before; once
    all are linked, it begins anew.
    """
    generator = np.random.default_rng(as_seed(rng))
    names, out = sorted(set(groups)), dict[str, tuple[str, ...]]()
    row: list[str] = []
    for judge in judges:
        if len(row) < knows:
            order = generator.permutation(len(names)).tolist()
            start = [name for name in row if name in names]
            row = start + [names[k] for k in order if names[k] not in start]
        out[judge] = tuple(sorted(row[:knows]))
        row = row[max(knows - 1, 1) :]
        if len(row) == 1:  # the last one of the chain: all are linked
            row = []
    return out
