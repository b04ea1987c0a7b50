"""DesignWish: what a design is asked for, and why some wishes cannot be granted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tiewise.designs import DESIGN_POLICIES, TARGETS
from tiewise.errors import InputError
from tiewise.pairing.candidates import ANCHOR_LIMIT
from tiewise.text import some_names

Indices = NDArray[np.intp]
MOST_PAIRS = 2_000_000
TOP = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class DesignWish:
    """The items, who compares how many pairs, and by which policy they are chosen.

    `groups` is the group of each item, `known` the groups that each judge knows; both are () where
    everybody knows everything. Of the `per_judge` comparisons of a judge, `repeats` are pairs that
    they have had before; `practice` pairs come first, beyond them. The policy "reference" compares
    with `anchors`, each at most `anchor_limit` times; "optimal" is to tell best the `target`.
    """

    items: tuple[str, ...]
    judges: tuple[str, ...]
    per_judge: int
    groups: tuple[str, ...] = ()
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    policy: str = "balanced"
    target: str = "differences"
    top: int | None = None
    repeats: int = 0
    practice: int = 0
    anchors: tuple[str, ...] = ()
    anchor_limit: int = ANCHOR_LIMIT

    def __post_init__(self) -> None:
        _refuse_sizes(self)
        _refuse_names(self)
        _refuse_strangers(self)
        _refuse_anchors(self)
        _refuse_few_pairs(self)
        _refuse_apart(self)

    @property
    def top_count(self) -> int:
        """k of 'top k'."""
        return min(TOP, len(self.items) - 1) if self.top is None else self.top

    @property
    def distinct(self) -> int:
        """How many different pairs each judge has, practice apart."""
        return self.per_judge - self.repeats

    @property
    def comparisons(self) -> int:
        """Comparisons of all judges."""
        return len(self.judges) * self.per_judge

    @cached_property
    def is_anchor(self) -> NDArray[np.bool_]:
        """Which items are anchors, where pairs are of an item and an anchor; else none."""
        anchors = set(self.anchors) if self.policy == "reference" else set()
        return np.array([item in anchors for item in self.items])

    @cached_property
    def known_items(self) -> tuple[Indices, ...]:
        """The positions of the items that each judge knows; judges of the same groups share one."""
        everything = np.arange(len(self.items))
        if not self.known:
            return (everything,) * len(self.judges)
        group = np.array(self.groups, object)
        sets: dict[tuple[str, ...], Indices] = {}
        for judge in self.judges:
            groups = self.known[judge]
            if groups not in sets:
                sets[groups] = np.flatnonzero(np.isin(group, groups))
        return tuple(sets[self.known[judge]] for judge in self.judges)

    def pairs_known(self, known: Indices) -> int:
        """How many pairs there are for somebody who knows these items."""
        anchors = int(self.is_anchor[known].sum())
        if self.policy == "reference":
            return anchors * (len(known) - anchors)
        return len(known) * (len(known) - 1) // 2


# Refusals.


def _refuse_sizes(wish: DesignWish) -> None:
    if wish.policy not in DESIGN_POLICIES:
        raise InputError(f"no design {wish.policy!r}; there are {', '.join(DESIGN_POLICIES)}")
    if wish.target not in TARGETS:
        raise InputError(f"no target {wish.target!r}; there are {', '.join(TARGETS)}")
    if len(wish.items) < 2:
        raise InputError(f"{len(wish.items)} items make no pair; a design has 2 items or more")
    if not 1 <= wish.top_count < len(wish.items):
        raise InputError(
            f"the top of {len(wish.items)} items is 1 to {len(wish.items) - 1} of them"
        )
    if not wish.judges:
        raise InputError("a design is for 1 judge or more (judges=)")
    if wish.per_judge < 1:
        raise InputError(f"each judge compares 1 pair or more, not {wish.per_judge} (per_judge=)")
    if wish.comparisons > MOST_PAIRS:
        raise InputError(
            f"{wish.comparisons:,} comparisons are more than a design holds ({MOST_PAIRS:,}); "
            "ask for fewer judges or fewer comparisons of each"
        )
    if not 0 <= wish.repeats <= wish.per_judge // 2:
        raise InputError(
            f"of {wish.per_judge} comparisons at most half can be repeats, not {wish.repeats}; "
            "ask for fewer (repeats=)"
        )
    if not 0 <= wish.practice <= 20:
        raise InputError(f"practice is 0 to 20 pairs, not {wish.practice} (practice=)")


def _refuse_names(wish: DesignWish) -> None:
    for what, names in (("item", wish.items), ("judge", wish.judges)):
        if len(set(names)) < len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise InputError(f"the {what} {twice!r} is there twice; give each a name of its own")


def _refuse_strangers(wish: DesignWish) -> None:
    if not wish.known:
        return
    if len(wish.groups) != len(wish.items):
        raise InputError("judges know groups, and items have none; say which column has them")
    there = set(wish.groups)
    for judge in wish.judges:
        strange = [group for group in wish.known.get(judge, ()) if group not in there]
        if strange:
            raise InputError(
                f"{judge} knows {some_names(strange)}, and no item is of that group; there are "
                f"{some_names(sorted(there), 5)}"
            )
        if not wish.known.get(judge):
            raise InputError(f"{judge} knows no group; name one or more, or leave the judge out")


def _refuse_few_pairs(wish: DesignWish) -> None:
    """Refuse more different pairs than a judge knows."""
    numbers = dict.fromkeys(len(known) for known in wish.known_items)
    counted = {id(known): wish.pairs_known(known) for known in wish.known_items}
    for judge, known in zip(wish.judges, wish.known_items, strict=True):
        pairs = counted[id(known)]
        if wish.distinct > pairs:
            who = judge if len(numbers) > 1 else "a judge"
            kind = "of an item and an anchor " if wish.policy == "reference" else ""
            raise InputError(
                f"{who} knows {len(known)} items, {pairs} pairs {kind}in all, and none twice: "
                f"{wish.distinct} different ones cannot be; ask for {pairs} or fewer of each judge "
                "(per_judge=), or let judges know more"
            )


def _refuse_apart(wish: DesignWish) -> None:
    """Refuse what cannot be connected: too few comparisons, or groups that nobody links."""
    size = len(wish.items)
    if len(wish.judges) * wish.distinct < size - 1:
        least = -(-(size - 1) // len(wish.judges)) + wish.repeats
        raise InputError(
            f"{len(wish.judges) * wish.distinct} different pairs cannot connect {size} items, "
            f"which takes {size - 1}; ask each judge for {least} or more (per_judge=), or more "
            "judges"
        )
    if not wish.known:
        return
    known_groups = set().union(*wish.known.values())
    missing = sorted(set(wish.groups) - known_groups)
    if missing:
        raise InputError(
            f"no judge knows {some_names(missing)}; add one who does, or leave its items out"
        )
    parts = _parts(wish.known.values())
    if len(parts) > 1:
        raise InputError(
            f"no judge knows both {some_names(sorted(parts[0]), 3)} and "
            f"{some_names(sorted(parts[1]), 3)}, so that nobody could compare across them; let a "
            "judge know groups of both"
        )


def _parts(known: Iterable[tuple[str, ...]]) -> list[set[str]]:
    """Groups that are linked by judges who know several of them."""
    parts: list[set[str]] = []
    for groups in known:
        joined = set(groups)
        rest = []
        for part in parts:
            if part & joined:
                joined |= part
            else:
                rest.append(part)
        parts = [*rest, joined]
    return parts


def _refuse_anchors(wish: DesignWish) -> None:
    if wish.policy != "reference":
        return
    if not wish.anchors:
        raise InputError(
            "the design 'reference' compares items with anchors, and there are none; give anchors, "
            "or choose 'balanced'"
        )
    strange = sorted(set(wish.anchors) - set(wish.items), key=wish.anchors.index)
    if strange:
        raise InputError(f"anchors name {some_names(strange)}, not among the items; use their ids")
    room = wish.anchor_limit * int(wish.is_anchor.sum())
    if len(wish.judges) * wish.distinct > room:
        raise InputError(
            f"{int(wish.is_anchor.sum())} anchors that are shown {wish.anchor_limit} times each "
            f"have room for {room} comparisons, not {len(wish.judges) * wish.distinct}; add "
            "anchors, ask for fewer comparisons, or show each oftener (anchor_limit=)"
        )
