"""Rows: the likelihood of a model with terms, and its derivatives by everything that enters it.

Qualities are those of every group of judges, one group after the other. Where strata have a say of
their own there is a shift, a sharpness and a threshold for each; else there is one stratum, and the
loops of the plain model do all the work.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.data.counts import Counts
from tiewise.model import kernels, strata_kernels

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Point(NamedTuple):
    """What the likelihood is asked about, or its slopes there; each has a column per chain.

    Qualities (groups · items); shift, logarithm of sharpness, and threshold of each stratum.
    """

    quality: Floats
    shift: Floats
    sharpness: Floats
    tie: Floats

    def chain(self, k: int) -> Point:
        """One chain alone."""
        return Point(*(part[:, k : k + 1] for part in self))


class Bends(NamedTuple):
    """Minus second derivatives at a point: those between a stratum's three, and with qualities.

    The latter are matrices (strata, groups · items). `laplacians` are those between qualities,
    group by group.
    """

    laplacians: Floats
    shift: Floats
    sharpness: Floats
    tie: Floats
    shift_shift: Floats
    shift_sharpness: Floats
    shift_tie: Floats
    sharpness_sharpness: Floats
    sharpness_tie: Floats
    tie_tie: Floats


@dataclass(frozen=True, eq=False)
class Rows:
    """Directed successes of pairs within groups and strata, sorted by stratum."""

    items: int
    groups: int
    first: Integers
    second: Integers
    stratum: Integers
    forth: Floats
    back: Floats
    ties: Floats
    apart: bool

    @classmethod
    def of(cls, counts: Counts, group: Integers, groups: int, *, apart: bool) -> Rows:
        """Rows of counts whose strata belong to these groups; `apart` keeps strata apart."""
        size = len(counts.items)
        start = size * group[counts.stratum]
        pooled = Counts.of(
            [str(k) for k in range(size * groups)],
            counts.first + start, counts.second + start,
            counts.wins_first, counts.wins_second, counts.ties,
            stratum=counts.stratum if apart else None,
            strata=counts.strata if apart else ("all",),
            ordered=counts.ordered,
        )  # fmt: skip
        order = np.argsort(pooled.stratum, kind="stable")
        forth, back = (successes[order].astype(float) for successes in pooled.successes())
        ties = np.bincount(pooled.stratum, pooled.ties, len(pooled.strata)).astype(float)
        first, second, stratum = pooled.first[order], pooled.second[order], pooled.stratum[order]
        return cls(size, groups, first, second, stratum, forth, back, ties, apart)

    @property
    def strata(self) -> int:
        """Number of strata that have a say of their own; 1 where none has."""
        return len(self.ties)

    @cached_property
    def pairs(self) -> tuple[Integers, Integers, Floats, Floats]:
        """What the loops of the plain model read."""
        return self.first, self.second, self.forth, self.back

    @cached_property
    def rows(self) -> tuple[Integers, Integers, Integers, Floats, Floats]:
        """What the loops over strata read."""
        return self.first, self.second, self.stratum, self.forth, self.back

    def log_likelihood(self, at: Point) -> Floats:
        """Log likelihood of each chain."""
        # A tie is one success each way; the rest depends on its stratum's threshold alone.
        with np.errstate(all="ignore"):
            grown = 2 * at.tie + np.log(-np.expm1(-2 * at.tie))
        own = self.ties @ np.where(self._tied, grown, 0.0)
        if not self.apart:
            return np.asarray(kernels.log_likelihood(*self.pairs, at.quality, at.tie[0]) + own)
        return np.asarray(strata_kernels.log_likelihood(*self.rows, *self._grown(at)) + own)

    def slopes(self, at: Point) -> Point:
        """Its derivatives by everything in a point."""
        with np.errstate(all="ignore"):
            own = np.where(self._tied, self.ties[:, None] * 2 / -np.expm1(-2 * at.tie), 0.0)
        if not self.apart:
            by_quality, by_tie = kernels.slopes(*self.pairs, at.quality, at.tie[0])
            nothing = np.zeros_like(at.tie)
            return Point(by_quality, nothing, nothing, by_tie + own)
        by = Point(*strata_kernels.slopes(*self.rows, *self._grown(at)))
        return by._replace(tie=by.tie + own)

    @property
    def _tied(self) -> NDArray[np.bool_]:
        return self.ties[:, None] > 0

    def _grown(self, at: Point) -> tuple[Floats, Floats, Floats, Floats]:
        return at.quality, at.shift, np.exp(at.sharpness), at.tie

    def bends(self, at: Point) -> Bends:
        """Minus its second derivatives at a point of one chain.

        Those by sharpness leave out what has mean zero at the truth, so that all are positive
        semi-definite together.
        """
        quality, shift, sharpness, tie = (part[:, 0] for part in self._grown(at))
        gap, weight, lean = strata_kernels.curvature(*self.rows, quality, shift, sharpness, tie)
        sharp = sharpness[self.stratum]
        with np.errstate(all="ignore"):
            own = np.where(self.ties > 0, self.ties / np.sinh(np.minimum(tie, 300.0)) ** 2, 0.0)
        return Bends(
            self._laplacians(weight * sharp**2),
            self._by_quality(weight * sharp**2),
            self._by_quality(weight * sharp * gap),
            self._by_quality(lean * sharp),
            self._sum(weight * sharp**2),
            self._sum(weight * sharp * gap),
            self._sum(lean * sharp),
            self._sum(weight * gap**2),
            self._sum(lean * gap),
            self._sum(weight) + own,
        )

    def _sum(self, value: Floats) -> Floats:
        return np.asarray(np.bincount(self.stratum, value, self.strata), np.float64)

    def _by_quality(self, value: Floats) -> Floats:
        """Sums over a stratum's rows: with plus at the first of a pair, with minus at the other."""
        size = self.items * self.groups
        place = self.stratum * size
        up = np.bincount(place + self.first, value, self.strata * size)
        down = np.bincount(place + self.second, value, self.strata * size)
        return np.asarray((up - down).reshape(self.strata, size), np.float64)

    def _laplacians(self, weight: Floats) -> Floats:
        out = np.empty((self.groups, self.items, self.items))
        group = self.first // self.items
        for g in range(self.groups):
            mine = group == g
            first, second = self.first[mine] - g * self.items, self.second[mine] - g * self.items
            out[g] = kernels.laplacian(first, second, weight[mine], self.items)
        return out
