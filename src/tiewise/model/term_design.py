"""Design: the terms of a model, worked out for its items and strata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tiewise.data.counts import Counts, natural_order, some
from tiewise.errors import InputError
from tiewise.model.formula import Columns, read_columns
from tiewise.model.strata import Point, Rows
from tiewise.model.terms import Covariates, Groups, Order, Sharpness, Term, Thresholds

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Kind = TypeVar("Kind")


@dataclass(frozen=True, eq=False)
class Design:
    """Which column, group, side and stratum each row of the counts has to do with.

    `group` has the group of each stratum, `sides` (strata, advantages) what favours the first.
    """

    counts: Counts = field(repr=False)
    covariates: Covariates | None = None
    columns: Columns | None = None
    order: Order | None = None
    advantages: tuple[str, ...] = ()
    sides: Floats = field(default_factory=lambda: np.zeros((1, 0)), repr=False)
    groups: Groups | None = None
    group_names: tuple[str, ...] = ("all",)
    group: Integers = field(default_factory=lambda: np.zeros(1, np.int64), repr=False)
    sharpness: Sharpness | None = None
    thresholds: Thresholds | None = None

    @classmethod
    def of(cls, counts: Counts, terms: Sequence[Term]) -> Design:
        """The design of terms, each of a kind at most once, over these counts."""
        covariates, order = _only(terms, Covariates), _only(terms, Order)
        groups, sharpness = _only(terms, Groups), _only(terms, Sharpness)
        thresholds = _only(terms, Thresholds)
        columns = None if covariates is None else read_columns(covariates, counts.items)
        names, group = _grouped(counts, groups)
        advantages, sides = _sided(counts, order)
        for term in (sharpness, thresholds):
            if term is not None and len(counts.strata) < 2:
                raise InputError(
                    f"{type(term).__name__} tells judges apart, and the judgements are counted "
                    "as of one; count them with by='judge'"
                )
        return cls(
            counts, covariates, columns, order, advantages, sides,
            groups, names, group, sharpness, thresholds,
        )  # fmt: skip

    @cached_property
    def rows(self) -> Rows:
        """The likelihood's rows."""
        apart = self.order is not None or self.sharpness is not None or self.thresholds is not None
        return Rows.of(self.counts, self.group, len(self.group_names), apart=apart)

    def point(self, quality: Floats, tie: Floats, more: Mapping[str, Floats]) -> Point:
        """What the likelihood is asked about, from what results call it, chains last.

        `more` has `contrast` (groups, items, chains), `order`, `sharpness` and `threshold` as far
        as there are such terms; what covariates explain is part of `quality`.
        """
        strata, chains = self.rows.strata, len(tie)
        groups = np.repeat(quality[None], len(self.group_names), axis=0)
        if "contrast" in more:
            groups = groups + more["contrast"]
        nothing = np.zeros((strata, chains))
        return Point(
            groups.reshape(-1, chains),
            self.sides @ more["order"] if "order" in more else nothing,
            np.log(more["sharpness"]) if "sharpness" in more else nothing,
            more["threshold"] if "threshold" in more else np.repeat(tie[None], strata, axis=0),
        )

    def gaps(self, at: Point) -> tuple[Floats, Floats]:
        """For each row of the counts: how far apart its judge sees the pair, and the threshold."""
        counts = self.counts
        start = len(counts.items) * self.group[counts.stratum]
        own = counts.stratum if self.rows.apart else np.zeros_like(counts.stratum)
        gap = at.quality[counts.first + start] - at.quality[counts.second + start] + at.shift[own]
        return np.exp(at.sharpness[own]) * gap, at.tie[own]

    @cached_property
    def contrasts(self) -> Floats:
        """Q (groups, groups − 1), orthonormal columns that sum to zero over groups.

        Contrasts Qw with w ~ N(0, ν²Σ) independently are those of groups that differ from a
        common quality by N(0, ν²Σ) each, less their mean: the same for every choice of Q.
        """
        number = len(self.group_names)
        out = np.zeros((number, number - 1))
        # Helmert's: each group against the mean of those before it.
        for k in range(1, number):
            out[:k, k - 1], out[k, k - 1] = 1.0, -k
        return np.asarray(out / np.sqrt((out**2).sum(axis=0)), np.float64)


def _only(terms: Sequence[Term], kind: type[Kind]) -> Kind | None:
    found = [term for term in terms if isinstance(term, kind)]
    if len(found) > 1:
        raise InputError(f"{kind.__name__} is given {len(found)} times; put it all into one")
    return found[0] if found else None


def _grouped(counts: Counts, groups: Groups | None) -> tuple[tuple[str, ...], Integers]:
    """Names of groups, and the group of each stratum."""
    if groups is None:
        return ("all",), np.zeros(len(counts.strata), np.int64)
    of = dict(groups.of) if groups.of is not None else {name: name for name in counts.strata}
    lost = [name for name in counts.strata if name not in of]
    if lost:
        raise InputError(f"no group is given for {some(lost)}; say which, or take them out")
    names = natural_order(str(of[name]) for name in counts.strata)
    if len(names) < 2:
        raise InputError(
            f"groups are compared, and there is only {some(names)}; count the judgements by a "
            "column with several values"
        )
    place = {name: k for k, name in enumerate(names)}
    return names, np.array([place[str(of[name])] for name in counts.strata], np.int64)


def _sided(counts: Counts, order: Order | None) -> tuple[tuple[str, ...], Floats]:
    """What may favour the first of a pair, and its value in each stratum."""
    number = len(counts.strata)
    if order is None:
        return (), np.zeros((number, 0))
    if not counts.ordered:
        raise InputError(
            "an order effect needs to know which item came first, and these counts do not; "
            "count with ordered=True"
        )
    if order.by is None:
        return ("first",), np.ones((number, 1))
    for name, values in order.by.items():
        lost = [stratum for stratum in counts.strata if stratum not in values]
        if lost:
            raise InputError(f"{name!r} has no value for {some(lost)}; give one for each stratum")
    sides = [[float(values[s]) for s in counts.strata] for values in order.by.values()]
    return tuple(order.by), np.array(sides).T.reshape(number, len(order.by))
