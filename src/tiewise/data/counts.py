"""Counts: all that the likelihood needs to know about the judgements."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tiewise.errors import InputError
from tiewise.text import some_names

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

LONGEST_CHAIN = 30
"""Steps between items beyond which SciPy finds out what is joined."""
COLUMNS = ("first", "second", "stratum", "wins_first", "wins_second", "ties")


def natural_order(items: Iterable[str]) -> tuple[str, ...]:
    """The distinct items, as numbers where all of them are whole numbers, else as text."""
    distinct = set(items)
    if all(item.removeprefix("-").isdecimal() for item in distinct):
        return tuple(sorted(distinct, key=lambda item: (int(item), item)))
    return tuple(sorted(distinct))


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each pair of items was compared, and what the answers were.

    One row per pair and stratum, in a canonical order: `first` and `second` are positions in
    `items`, `stratum` a position in `strata`. Unless the rows are `ordered` (the side on which
    an item was shown matters), `first < second`. Build with `Counts.of`, which sorts and sums.

    Of graded answers `strengths` (rows, 2, levels) says how often the first, and the second, was
    chosen how strongly, the weakest first; it is None where there is one way to choose.

    Comparisons may have facts of their own, numbers that favour the first item: `facts` (rows,
    facts) has them by `fact_names`, and then only comparisons with the same facts share a row.
    """

    items: tuple[str, ...]
    first: Integers
    second: Integers
    wins_first: Integers
    wins_second: Integers
    ties: Integers
    stratum: Integers
    strata: tuple[str, ...] = ("all",)
    skips: int = 0
    judges: frozenset[str] | None = None
    ordered: bool = field(default=False, kw_only=True)
    strengths: Integers | None = field(default=None, kw_only=True)
    facts: Floats | None = field(default=None, kw_only=True)
    fact_names: tuple[str, ...] = field(default=(), kw_only=True)

    @classmethod
    def of(
        cls,
        items: Sequence[str],
        first: ArrayLike,
        second: ArrayLike,
        wins_first: ArrayLike,
        wins_second: ArrayLike,
        ties: ArrayLike | None = None,
        *,
        stratum: ArrayLike | None = None,
        strata: Sequence[str] = ("all",),
        skips: int = 0,
        judges: frozenset[str] | None = None,
        ordered: bool = False,
        strengths: ArrayLike | None = None,
        facts: ArrayLike | None = None,
        fact_names: Sequence[str] = (),
    ) -> Counts:
        """Counts from rows in any order and orientation; rows of one pair are added up."""
        one, two = np.asarray(first, np.int64), np.asarray(second, np.int64)
        wins_one, wins_two = np.asarray(wins_first, np.int64), np.asarray(wins_second, np.int64)
        zero = np.zeros_like(one)
        tied = zero if ties is None else np.asarray(ties, np.int64)
        group = zero if stratum is None else np.asarray(stratum, np.int64)
        _refuse_impossible(tuple(items), one, two, wins_one, wins_two, tied)
        turn = np.zeros(len(one), bool) if ordered else one > two
        low, high = np.where(turn, two, one), np.where(turn, one, two)
        wins_low = np.where(turn, wins_two, wins_one)
        wins_high = np.where(turn, wins_one, wins_two)
        shape = (len(items), len(items), len(strata))
        # One number per row sorts many times faster than three.
        each = np.ravel_multi_index((low, high, group), shape)
        own_facts = _checked_facts(facts, fact_names, len(one), ordered=ordered)
        code, row, own_facts = _distinct_rows(each, own_facts)
        sums = [_sum_by(row, v, len(code)) for v in (wins_low, wins_high, tied)]
        compared = sums[0] + sums[1] + sums[2] > 0
        keys = [np.asarray(k, np.int64) for k in np.unravel_index(code[compared], shape)]
        wins_low, wins_high, tied = (s[compared] for s in sums)
        graded = None
        if strengths is not None:
            own = _checked_strengths(strengths, wins_one, wins_two)
            own = np.where(turn[:, None, None], own[:, ::-1], own)
            columns = own.reshape(len(own), 2 * own.shape[2]).T
            summed = np.stack([_sum_by(row, v, len(code))[compared] for v in columns], axis=1)
            # One way to choose is no grade.
            graded = summed.reshape(-1, *own.shape[1:]) if own.shape[2] > 1 else None
        return cls(
            tuple(items), keys[0], keys[1], wins_low, wins_high, tied, keys[2], tuple(strata),
            skips, judges, ordered=ordered, strengths=graded,
            facts=None if own_facts is None else own_facts[compared], fact_names=tuple(fact_names),
        )  # fmt: skip

    @property
    def levels(self) -> int:
        """How many ways there are to choose an item, from weakly to strongly."""
        return 1 if self.strengths is None else self.strengths.shape[2]

    def ungraded(self) -> Counts:
        """The same counts, however strongly an item was chosen."""
        return replace(self, strengths=None)

    def over(self, items: Sequence[str]) -> Counts:
        """The same counts with `items` as the items, in that order; all of ours must be there."""
        if self.facts is not None and tuple(items) == self.items:
            return self
        place = {item: k for k, item in enumerate(items)}
        lost = [item for item in self.items if item not in place]
        if lost:
            raise InputError(
                f"{len(lost)} compared item(s) are not among the model's items: "
                f"{some_names(lost)}; add them to the map or edges, or take their comparisons out"
            )
        move = np.array([place[item] for item in self.items], np.int64)
        return Counts.of(
            items, move[self.first], move[self.second], self.wins_first, self.wins_second,
            self.ties, stratum=self.stratum, strata=self.strata, skips=self.skips,
            judges=self.judges, ordered=self.ordered, strengths=self.strengths,
            facts=self.facts, fact_names=self.fact_names,
        )  # fmt: skip

    def __add__(self, other: Counts) -> Counts:
        """Both together, over the items and strata of either."""
        if self.ordered != other.ordered:
            raise InputError("ordered and unordered counts cannot be added; count both alike")
        if self.levels != other.levels:
            raise InputError(
                f"answers of {self.levels} and of {other.levels} strengths cannot be added; "
                "leave the strengths out (ungraded())"
            )
        if self.fact_names != other.fact_names:
            raise InputError("counts with different facts cannot be added; count both alike")
        items = natural_order((*self.items, *other.items))
        strata = natural_order((*self.strata, *other.strata))
        a, b = self.over(items), other.over(items)
        place = {name: k for k, name in enumerate(strata)}
        moves = [np.array([place[s] for s in c.strata], np.int64) for c in (a, b)]
        known = self.judges is not None and other.judges is not None
        return Counts.of(
            items,
            *(np.concatenate([getattr(a, c), getattr(b, c)]) for c in COLUMNS if c != "stratum"),
            stratum=np.concatenate([moves[0][a.stratum], moves[1][b.stratum]]),
            strata=strata,
            skips=self.skips + other.skips,
            judges=(self.judges or frozenset()) | (other.judges or frozenset()) if known else None,
            ordered=self.ordered,
            strengths=_joined(a.strengths, b.strengths),
            facts=_joined(a.facts, b.facts),
            fact_names=self.fact_names,
        )

    def pooled(self) -> Counts:
        """The same counts with all strata in one, whatever the facts."""
        return Counts.of(
            self.items, self.first, self.second, self.wins_first, self.wins_second, self.ties,
            skips=self.skips, judges=self.judges, ordered=self.ordered, strengths=self.strengths,
        )  # fmt: skip

    def within(self, strata: Sequence[str]) -> Counts:
        """The counts of some strata alone, in the order given."""
        place = {name: k for k, name in enumerate(strata)}
        move = np.array([place.get(name, -1) for name in self.strata], np.int64)
        inside = move[self.stratum] >= 0
        columns = [getattr(self, name)[inside] for name in COLUMNS if name != "stratum"]
        return Counts.of(
            self.items, *columns, stratum=move[self.stratum[inside]], strata=strata,
            skips=self.skips, judges=self.judges, ordered=self.ordered,
            strengths=None if self.strengths is None else self.strengths[inside],
            facts=None if self.facts is None else self.facts[inside], fact_names=self.fact_names,
        )  # fmt: skip

    def without_ties(self) -> Counts:
        """The same counts with the tied judgements left out."""
        return Counts.of(
            self.items, self.first, self.second, self.wins_first, self.wins_second,
            stratum=self.stratum, strata=self.strata, skips=self.skips, judges=self.judges,
            ordered=self.ordered, strengths=self.strengths, facts=self.facts,
            fact_names=self.fact_names,
        )  # fmt: skip

    @property
    def comparisons(self) -> int:
        """Number of judgements that carry likelihood: wins and ties, not skips."""
        return int(self.wins_first.sum() + self.wins_second.sum() + self.ties.sum())

    @property
    def total_ties(self) -> int:
        """Number of tied judgements."""
        return int(self.ties.sum())

    def per_item(self) -> Integers:
        """Number of comparisons each item took part in."""
        comparisons = self.wins_first + self.wins_second + self.ties
        return _sum_by(self.first, comparisons, len(self.items)) + _sum_by(
            self.second, comparisons, len(self.items)
        )

    def successes(self) -> tuple[Integers, Integers]:
        """Directed successes of first over second and of second over first; a tie is one each."""
        return self.wins_first + self.ties, self.wins_second + self.ties

    def rows_by_cut(self, stratum: Integers, strata: int) -> tuple[Integers, ...]:
        """First, second, stratum, successes each way and row of graded answers, cut by cut.

        Lower cuts come first, then upper ones: below those an answer for the first is a success of
        the second. Ties lie between the lowest cuts of both sides. Of each cut there are strata of
        its own, after those of the cuts before it.
        """
        assert self.strengths is not None
        parts = []
        for cut in range(2 * self.levels - 1):
            lower = cut < self.levels
            strength = self.strengths[:, :, cut if lower else cut - self.levels]
            forth, back = strength.T if lower else strength.T[::-1]
            if cut == 0:
                forth, back = forth + self.ties, back + self.ties
            used = forth + back > 0
            own, row = cut * strata + stratum, np.arange(len(stratum))
            parts.append([x[used] for x in (self.first, self.second, own, forth, back, row)])
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))

    def components(self, *, directed: bool = False) -> list[tuple[str, ...]]:
        """Sets of items joined by comparisons; `directed`: by chains of successes both ways."""
        forth, back = self.successes()
        heads = np.concatenate([self.first[forth > 0], self.second[back > 0]])
        tails = np.concatenate([self.second[forth > 0], self.first[back > 0]])
        size = len(self.items)
        ways = [(heads, tails), (tails, heads)]
        if not directed:
            ways = [(np.concatenate(ways[0]), np.concatenate(ways[1]))]
        if all(_reaches_all(*way, size) for way in ways):  # as nearly always, without SciPy's load
            return [self.items]
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        graph = coo_array((np.ones(len(heads)), (heads, tails)), shape=(size, size))
        number, label = connected_components(graph, directed=directed, connection="strong")
        groups: list[list[str]] = [[] for _ in range(number)]
        for item, where in zip(self.items, label, strict=True):
            groups[where].append(item)
        return sorted(map(tuple, groups), key=len, reverse=True)

    def digest(self) -> str:
        """A fingerprint of items and rows, the same on every machine."""
        text = hashlib.sha256("\x1f".join((*self.items, "\x1e", *self.strata)).encode())
        for column in COLUMNS:
            text.update(getattr(self, column).astype("<i8").tobytes())
        if self.strengths is not None:
            text.update(self.strengths.astype("<i8").tobytes())
        if self.facts is not None:
            text.update("\x1f".join(self.fact_names).encode())
            text.update(self.facts.astype("<f8").tobytes())
        return text.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        mine = (self.digest(), self.skips, self.judges, self.ordered)
        return mine == (other.digest(), other.skips, other.judges, other.ordered)

    def __hash__(self) -> int:
        return hash(self.digest())

    def __repr__(self) -> str:
        return (
            f"Counts({len(self.items)} items, {self.comparisons} comparisons, "
            f"{self.total_ties} ties, {self.skips} skips)"
        )


def _reaches_all(heads: Integers, tails: Integers, size: int) -> bool:
    """Whether chains from heads to tails lead from the first item to all; False if they are long.

    `size` is the number of items.
    """
    reached = np.arange(size) == 0
    for _ in range(LONGEST_CHAIN):
        if reached.all():
            break
        reached[tails[reached[heads]]] = True
    return bool(reached.all())


def _sum_by(row: Integers, values: Integers, size: int) -> Integers:
    # Integer weights below 2**53 are exact in the doubles that bincount returns.
    return np.bincount(row, weights=values, minlength=size).astype(np.int64)


def _checked_strengths(
    strengths: ArrayLike, wins_first: Integers, wins_second: Integers
) -> Integers:
    """Strengths (rows, 2, levels) that add up to the choices."""
    out = np.asarray(strengths, np.int64)
    sums = out.sum(axis=2) if out.ndim == 3 else np.empty(0)
    if sums.shape != (len(wins_first), 2) or (sums != np.c_[wins_first, wins_second]).any():
        raise InputError(
            "strengths do not add up to how often each item was chosen; give an array "
            "(rows, 2, levels) that does"
        )
    return out


def _joined(one: NDArray[Any] | None, two: NDArray[Any] | None) -> NDArray[Any] | None:
    return None if one is None or two is None else np.concatenate([one, two])


def _checked_facts(
    facts: ArrayLike | None, names: Sequence[str], rows: int, *, ordered: bool
) -> Floats | None:
    """Facts (rows, facts) that are numbers, of pairs whose order is known."""
    if facts is None:
        return None
    out = np.asarray(facts, np.float64)
    if out.shape != (rows, len(names)) or not np.isfinite(out).all():
        raise InputError(
            f"facts are numbers, a row for each of {rows} rows and a column for each of "
            f"{len(names)} names, not an array of shape {out.shape}; give such an array"
        )
    if not ordered:
        raise InputError("facts favour the first of a pair, so count with ordered=True")
    return out + 0.0  # there is one zero


def rows_of(
    counts: Counts, first: Integers, second: Integers, stratum: Integers, facts: Floats
) -> Integers:
    """The row of counts with facts to which each comparison belongs; -1 where there is none."""
    assert counts.facts is not None
    shape = (len(counts.items), len(counts.items), len(counts.strata))
    known = (first >= 0) & (second >= 0) & (stratum >= 0)
    codes = [
        np.ravel_multi_index((counts.first, counts.second, counts.stratum), shape),
        np.ravel_multi_index((first[known], second[known], stratum[known]), shape),
    ]
    both = np.concatenate([counts.facts, facts[known] + 0.0])
    code, row, _ = _distinct_rows(np.concatenate(codes), both)
    place = np.full(len(code), -1)
    place[row[: len(counts.first)]] = np.arange(len(counts.first))
    out = np.full(len(first), -1)
    out[known] = place[row[len(counts.first) :]]
    return out


def _distinct_rows(
    code: Integers, facts: Floats | None
) -> tuple[Integers, Integers, Floats | None]:
    """Distinct codes in order, with different facts apart; the place of each row; their facts."""
    if facts is None:
        distinct, row = np.unique(code, return_inverse=True)
        return distinct, row, None
    order = np.lexsort((*facts.T[::-1], code))
    sorted_code, sorted_facts = code[order], facts[order]
    new = np.ones(len(code), bool)
    new[1:] = (sorted_code[1:] != sorted_code[:-1]) | (sorted_facts[1:] != sorted_facts[:-1]).any(
        axis=1
    )
    row = np.empty(len(code), np.int64)
    row[order] = np.cumsum(new) - 1
    return sorted_code[new], row, sorted_facts[new]


def _refuse_impossible(
    items: tuple[str, ...], one: Integers, two: Integers, *counts: Integers
) -> None:
    if len(set(items)) != len(items):
        twice = [item for item, times in Counter(items).items() if times > 1]
        raise InputError(f"item ids must be distinct, but {some_names(twice)} occur more than once")
    itself = np.flatnonzero(one == two)
    if len(itself):
        raise InputError(f"item {items[one[itself[0]]]!r} is compared with itself; take it out")
    if any((column < 0).any() for column in counts):
        raise InputError("a count is negative; counts of wins and ties are 0 or more")
