"""The likelihood of comparisons: pairs, strata and thresholds, and its derivatives.

Qualities are those of every group of judges, one group after the other. Where strata differ, each
has a shift, a sharpness and a threshold of its own. The plain model is the case of one group and
one stratum, for which `kernels` has faster loops; `strata_kernels` has those of the general case.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.data.answers import CHOOSE_OR_TIE, AnswerScale
from tiewise.data.counts import Counts
from tiewise.model import kernels, strata_kernels

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Pairs = tuple[Integers, Integers, NDArray[Any], NDArray[Any]]


class LikelihoodArguments(NamedTuple):
    """The arguments of the likelihood, or its derivatives by them; each has a column per chain.

    Qualities (groups · items); shift, logarithm of sharpness, and threshold of each stratum.
    """

    quality: Floats
    shift: Floats
    log_sharpness: Floats
    tie: Floats

    @classmethod
    def plain(cls, quality: Floats, tie: Floats) -> LikelihoodArguments:
        """Those of the plain model: qualities (items, chains) and one threshold (chains)."""
        zero = np.zeros((1, len(tie)))
        return cls(quality, zero, zero, tie[None])

    def chain(self, k: int) -> LikelihoodArguments:
        """One chain alone."""
        return LikelihoodArguments(*(part[:, k : k + 1] for part in self))


@dataclass(frozen=True)
class PlainHessian:
    """Minus the second derivatives of the plain model's log likelihood at one point.

    By qualities they are the Laplacian of the comparisons, each row with its own `weight`.
    """

    first: Integers
    second: Integers
    weight: Floats
    quality_and_tie: Floats
    tie: float

    @property
    def qualities(self) -> Floats:
        """By qualities, written out (items, items)."""
        return kernels.laplacian(self.first, self.second, self.weight, len(self.quality_and_tie))

    def through(self, factor: Floats | None) -> Floats:
        """By coordinates y with quality = factor · y; None stands for the identity."""
        if factor is None:
            return self.qualities
        return factor.T @ kernels.laplacian_product(self.first, self.second, self.weight, factor)


class AveragedDerivatives(NamedTuple):
    """Slopes of the plain log likelihood, and minus its second derivatives, averaged over gaps."""

    by_quality: Floats
    by_tie: float
    hessian: PlainHessian


class StrataHessian(NamedTuple):
    """Minus the second derivatives at a point: those between a stratum's three, and with qualities.

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
class Likelihood:
    """Directed successes of pairs within groups and strata, row by row; sorted where stratified.

    A tie is one success each way, times a factor of its stratum's threshold alone, which the
    answer scale knows; `ties` counts them by stratum.
    """

    items: int
    groups: int
    first: Integers
    second: Integers
    stratum: Integers
    successes_first: Floats
    successes_second: Floats
    ties: Floats
    stratified: bool
    scale: AnswerScale = CHOOSE_OR_TIE

    @classmethod
    def plain(cls, counts: Counts) -> Likelihood:
        """That of one quality per item and one threshold, whatever strata the counts have."""
        over_second, over_first = (successes.astype(float) for successes in counts.successes())
        return cls(
            len(counts.items), 1, counts.first, counts.second, np.zeros_like(counts.first),
            over_second, over_first, np.array([float(counts.total_ties)]), stratified=False,
        )  # fmt: skip

    @classmethod
    def of(cls, counts: Counts, group: Integers, groups: int, *, stratified: bool) -> Likelihood:
        """That of counts whose strata belong to these groups, and have effects if `stratified`."""
        size = len(counts.items)
        start = size * group[counts.stratum]
        pooled = Counts.of(
            [str(k) for k in range(size * groups)],
            counts.first + start, counts.second + start,
            counts.wins_first, counts.wins_second, counts.ties,
            stratum=counts.stratum if stratified else None,
            strata=counts.strata if stratified else ("all",),
            ordered=counts.ordered,
        )  # fmt: skip
        order = np.argsort(pooled.stratum, kind="stable")
        over_second, over_first = (part[order].astype(float) for part in pooled.successes())
        ties = np.bincount(pooled.stratum, pooled.ties, len(pooled.strata)).astype(float)
        first, second, stratum = pooled.first[order], pooled.second[order], pooled.stratum[order]
        return cls(size, groups, first, second, stratum, over_second, over_first, ties, stratified)

    @property
    def strata(self) -> int:
        """Number of strata with effects of their own; 1 where none has."""
        return len(self.ties)

    @property
    def pairs(self) -> Pairs:
        """First, second, and successes each way, row by row: what the plain loops read."""
        return self.first, self.second, self.successes_first, self.successes_second

    @cached_property
    def single_pairs(self) -> Pairs:
        """The same with successes in single precision."""
        first, second, *successes = self.pairs
        forth, back = (own.astype(np.float32) for own in successes)
        return first, second, forth, back

    @property
    def rows(self) -> tuple[Integers, Integers, Integers, Floats, Floats]:
        """The same with the stratum of each row: what the loops over strata read."""
        return self.first, self.second, self.stratum, self.successes_first, self.successes_second

    def log_likelihood(self, at: LikelihoodArguments) -> Floats:
        """Log likelihood of each chain."""
        with np.errstate(all="ignore"):
            factor = self.ties @ np.where(self._tied, self.scale.log_factor(at.tie), 0.0)
        if not self.stratified:
            value = kernels.pair_log_likelihood(*self.pairs, at.quality, at.tie[0])
        else:
            value = strata_kernels.stratum_log_likelihood(*self.rows, *_with_sharpness(at))
        return np.asarray(value + factor)

    def gradient(self, at: LikelihoodArguments) -> LikelihoodArguments:
        """Its derivatives by each of its arguments, those by quality in the precision of it."""
        with np.errstate(all="ignore"):
            slope = self.scale.log_factor_slope(at.tie, self.ties[:, None])
        factor = np.where(self._tied, slope, 0.0)
        if not self.stratified:
            single = at.quality.dtype == np.float32
            pairs = self.single_pairs if single else self.pairs
            by_quality, by_tie = kernels.pair_gradient(*pairs, at.quality, at.tie[0])
            zero = np.zeros_like(at.tie)
            return LikelihoodArguments(by_quality, zero, zero, by_tie + factor)
        single = at.quality.dtype == np.float32
        slopes: Any = (
            strata_kernels.stratum_gradient_single if single else strata_kernels.stratum_gradient
        )
        by = LikelihoodArguments(*slopes(*self.rows, *_with_sharpness(at)))
        return by._replace(tie=by.tie + factor)

    @property
    def _tied(self) -> NDArray[np.bool_]:
        return self.ties[:, None] > 0

    def plain_negative_hessian(self, quality: Floats, tie: float) -> PlainHessian:
        """Minus its second derivatives for one group, one stratum and one chain."""
        weight, cross, own = kernels.pair_negative_hessian(*self.pairs, quality, tie)
        if self.ties[0]:
            own += float(self.scale.log_factor_curvature(tie, self.ties[0]))
        return PlainHessian(self.first, self.second, weight, cross, own)

    def averaged_derivatives(
        self, quality: Floats, tie: float, gap_sd: Floats
    ) -> AveragedDerivatives:
        """The plain model's derivatives, each row's gap averaged over a normal distribution."""
        gap = quality[self.first] - quality[self.second]
        by_gap, by_tie, weight, cross = kernels.averaged_pair_derivatives(
            self.successes_first, self.successes_second, gap, gap_sd, tie
        )
        slope, own = float(by_tie.sum()), float(weight.sum())
        if self.ties[0]:
            slope += float(self.scale.log_factor_slope(tie, self.ties[0]))
            own += float(self.scale.log_factor_curvature(tie, self.ties[0]))
        by_quality, by_both = self._by_quality(by_gap)[0], self._by_quality(cross)[0]
        hessian = PlainHessian(self.first, self.second, weight, by_both, own)
        return AveragedDerivatives(by_quality, slope, hessian)

    def negative_hessian(
        self, at: LikelihoodArguments, *, with_shift: bool = True
    ) -> StrataHessian:
        """Minus its second derivatives at a point of one chain; perhaps not by shift and quality.

        Those by sharpness leave out what has mean zero at the truth, so that all are positive
        semi-definite together.
        """
        quality, shift, sharpness, tie = (part[:, 0] for part in _with_sharpness(at))
        gap, weight, cross = strata_kernels.stratum_negative_hessian(
            *self.rows, quality, shift, sharpness, tie
        )
        scale = sharpness[self.stratum]
        with np.errstate(all="ignore"):
            factor = self.scale.log_factor_curvature(tie, self.ties)
        return StrataHessian(
            self._laplacians(weight * scale**2),
            self._by_quality(weight * scale**2) if with_shift else np.empty((0, 0)),
            self._by_quality(weight * scale * gap),
            self._by_quality(cross * scale),
            self._by_stratum(weight * scale**2),
            self._by_stratum(weight * scale * gap),
            self._by_stratum(cross * scale),
            self._by_stratum(weight * gap**2),
            self._by_stratum(cross * gap),
            self._by_stratum(weight) + np.where(self.ties > 0, factor, 0.0),
        )

    def _by_stratum(self, value: Floats) -> Floats:
        """Sums over each stratum's rows."""
        return np.asarray(np.bincount(self.stratum, value, self.strata), np.float64)

    def _by_quality(self, value: Floats) -> Floats:
        """Sums over a stratum's rows: with plus at the first of a pair, with minus at the other."""
        size = self.items * self.groups
        start = self.stratum * size
        plus = np.bincount(start + self.first, value, self.strata * size)
        minus = np.bincount(start + self.second, value, self.strata * size)
        return np.asarray((plus - minus).reshape(self.strata, size), np.float64)

    def _laplacians(self, weight: Floats) -> Floats:
        out = np.empty((self.groups, self.items, self.items))
        group = self.first // self.items
        for g in range(self.groups):
            mine = group == g
            first, second = self.first[mine] - g * self.items, self.second[mine] - g * self.items
            out[g] = kernels.laplacian(first, second, weight[mine], self.items)
        return out


def _with_sharpness(at: LikelihoodArguments) -> tuple[Floats, Floats, Floats, Floats]:
    """The arguments with sharpness in place of its logarithm."""
    return at.quality, at.shift, np.exp(at.log_sharpness), at.tie


def answer_probabilities(gap: Floats, tie: Floats) -> tuple[Floats, Floats, Floats]:
    """Probabilities that a judge says first, about equal, second, for a difference in quality."""
    ahead, behind = kernels.margins(gap, tie)
    # (e^{2δ} − 1) σ(a) σ(b) = (1 − e^{−2δ}) σ(−a) σ(−b), and only the latter never overflows.
    tied = -np.expm1(-2 * tie) * _sigmoid(-ahead) * _sigmoid(-behind)
    return _sigmoid(ahead), tied, _sigmoid(behind)


def _sigmoid(x: Floats) -> Floats:
    out: Floats = np.exp(-np.logaddexp(0.0, -x))
    return out
