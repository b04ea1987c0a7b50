"""The likelihood of comparisons: pairs, strata and thresholds, and its derivatives.

Qualities are those of every group of judges, one group after the other. Where strata differ, each
has a shift, a sharpness and a threshold of its own. The plain model is the case of one group and
one stratum, for which `kernels` has faster loops; `strata_kernels` has those of the general case.

Graded answers have cuts 0 ≤ c₁ < c₂ < …, whose steps δ = c₁, c₂ − c₁, … are the thresholds here. An
answer between two cuts is one success above the lower and one below the upper, so that every cut
is a threshold of rows of its own, and with a minus where it is an upper one (docs/grades.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.data.answers import CHOOSE_OR_TIE, AnswerScale, sigmoid
from tiewise.data.counts import Counts
from tiewise.model import kernels, strata_kernels

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Pairs = tuple[Integers, Integers, NDArray[Any], NDArray[Any]]


class LikelihoodArguments(NamedTuple):
    """The arguments of the likelihood, or its derivatives by them; each has a column per chain.

    Qualities (groups · items); shift, logarithm of sharpness, and threshold of each stratum. Of
    graded answers `tie` has a row per step and stratum, δ of all strata first. `facts` are
    coefficients of facts that comparisons have of their own.
    """

    quality: Floats
    shift: Floats
    log_sharpness: Floats
    tie: Floats
    facts: Floats = np.zeros((0, 1))

    @classmethod
    def plain(cls, quality: Floats, tie: Floats) -> LikelihoodArguments:
        """Those of the plain model: qualities (items, chains) and one threshold (chains)."""
        zero = np.zeros((1, len(tie)))
        return cls(quality, zero, zero, tie[None])

    def chain(self, k: int) -> LikelihoodArguments:
        """One chain alone."""
        return LikelihoodArguments(*(part[:, k : k + 1] if part.size else part for part in self))


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
    group by group. Those by thresholds have the steps of graded answers in front. `facts` are
    those by coefficients of facts (`facts.likelihood.FactHessian`), where there are any.
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
    facts: Any = None


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Directed successes of pairs within groups and strata, row by row; sorted where stratified.

    A tie is one success each way, times a factor of its stratum's threshold alone, which the
    answer scale knows; `ties` counts them by stratum. Of graded answers every cut has rows of its
    own, `stratum` is that of cut and stratum together, and `steps` (steps, strata) counts the
    answers between each cut and the next.
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
    steps: Floats | None = None

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
            ordered=counts.ordered, strengths=counts.strengths,
        )  # fmt: skip
        strata, steps = len(pooled.strata), None
        ties = np.bincount(pooled.stratum, pooled.ties, strata).astype(float)
        rows: tuple[Integers, ...] = (
            pooled.first, pooled.second, pooled.stratum, *pooled.successes(),
        )  # fmt: skip
        if pooled.strengths is not None:
            rows = pooled.rows_by_cut(pooled.stratum, strata)[:-1]
            between = pooled.strengths[:, :, :-1].sum(axis=1).T
            steps = np.array([np.bincount(pooled.stratum, own, strata) for own in between], float)
        order = np.argsort(rows[2], kind="stable")
        first, second, stratum, over_second, over_first = (part[order] for part in rows)
        return cls(
            size, groups, first, second, stratum, over_second.astype(float),
            over_first.astype(float), ties, stratified, steps=steps,
        )  # fmt: skip

    @property
    def strata(self) -> int:
        """Number of strata with effects of their own; 1 where none has."""
        return len(self.ties)

    @property
    def levels(self) -> int:
        """Number of thresholds of a stratum: δ, and the steps from there to further cuts."""
        return 1 if self.steps is None else 1 + len(self.steps)

    @cached_property
    def cut_signs(self) -> Floats:
        """From steps to the thresholds of rows (cuts, steps): lower cuts, then minus upper ones."""
        lower = np.tri(self.levels)
        return np.concatenate([lower, -lower[1:]])

    def _by_cut(self, at: LikelihoodArguments) -> tuple[Floats, Floats, Floats, Floats]:
        """The arguments for rows by cut: thresholds from steps, sharpness for its logarithm."""
        sharpness = np.exp(at.log_sharpness)
        if self.steps is None:
            return at.quality, at.shift, sharpness, at.tie
        tie = np.tensordot(self.cut_signs, self._by_step(at.tie), 1)
        shift, sharpness = (np.tile(own, (len(tie), 1)) for own in (at.shift, sharpness))
        return at.quality, shift, sharpness, tie.reshape(-1, tie.shape[-1])

    def _by_step(self, tie: Floats) -> Floats:
        """Thresholds as (steps, strata, ...)."""
        return tie.reshape(self.levels, self.strata, *tie.shape[1:])

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
        factor = self._log_factor(at.tie)
        if not self.stratified and self.steps is None:
            value = kernels.pair_log_likelihood(*self.pairs, at.quality, at.tie[0])
        else:
            value = strata_kernels.stratum_log_likelihood(*self.rows, *self._by_cut(at))
        return np.asarray(value + factor)

    def _log_factor(self, tie: Floats) -> Floats:
        """Logarithm of the factor that thresholds alone have in each chain."""
        own = tie[: self.strata]
        with np.errstate(all="ignore"):
            factor = self.ties @ np.where(self._tied, self.scale.log_factor(own), 0.0)
            if self.steps is not None:
                steps = self._by_step(tie)[1:]
                log = np.where(self.steps[..., None] > 0, self.scale.log_step_factor(steps), 0.0)
                factor = factor + np.einsum("sj,sjc->c", self.steps, log)
        return np.asarray(factor)

    def _factor_slope(self, tie: Floats) -> Floats:
        """Its derivatives by thresholds."""
        with np.errstate(all="ignore"):
            slope = self.scale.log_factor_slope(tie[: self.strata], self.ties[:, None])
            out = np.where(self._tied, slope, 0.0)
            if self.steps is None:
                return out
            times = self.steps[..., None]
            steps = times * self.scale.log_step_factor_slope(self._by_step(tie)[1:])
        steps = np.where(times > 0, steps, 0.0)
        return np.concatenate([out, steps.reshape(-1, tie.shape[1])])

    def gradient(self, at: LikelihoodArguments) -> LikelihoodArguments:
        """Its derivatives by each of its arguments, those by quality in the precision of it."""
        factor = self._factor_slope(at.tie)
        single = at.quality.dtype == np.float32
        if not self.stratified and self.steps is None:
            pairs = self.single_pairs if single else self.pairs
            by_quality, by_tie = kernels.pair_gradient(*pairs, at.quality, at.tie[0])
            zero = np.zeros_like(at.tie)
            return LikelihoodArguments(by_quality, zero, zero, by_tie + factor)
        slopes: Any = (
            strata_kernels.stratum_gradient_single if single else strata_kernels.stratum_gradient
        )
        by = LikelihoodArguments(*slopes(*self.rows, *self._by_cut(at)))
        if self.steps is not None:
            by = self._summed_over_cuts(by)
        return by._replace(tie=by.tie + factor)

    def _summed_over_cuts(self, by: LikelihoodArguments) -> LikelihoodArguments:
        """Derivatives by strata and steps, from those by rows' shift, sharpness and threshold."""
        shape = (len(self.cut_signs), self.strata, -1)
        by_tie = np.tensordot(self.cut_signs.T, by.tie.reshape(shape), 1)
        return by._replace(
            shift=by.shift.reshape(shape).sum(axis=0),
            log_sharpness=by.log_sharpness.reshape(shape).sum(axis=0),
            tie=by_tie.reshape(self.levels * self.strata, -1),
        )

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
        gap, weight, cross = self._curvatures(at)
        return self._strata_hessian(at, gap, weight, cross, with_shift=with_shift)

    def _curvatures(self, at: LikelihoodArguments) -> tuple[Floats, Floats, Floats]:
        """The gap of each row, and minus the second derivatives by it; also with the threshold."""
        arguments = (part[:, 0] for part in self._by_cut(at))
        return strata_kernels.stratum_negative_hessian(*self.rows, *arguments)

    def _strata_hessian(
        self,
        at: LikelihoodArguments,
        gap: Floats,
        weight: Floats,
        cross: Floats,
        *,
        with_shift: bool,
    ) -> StrataHessian:
        """The sums over rows, from the second derivatives of each."""
        scale = self._by_cut(at)[2][self.stratum, 0]
        return StrataHessian(
            self._laplacians(weight * scale**2),
            self._by_quality(weight * scale**2) if with_shift else np.empty((0, 0)),
            self._by_quality(weight * scale * gap),
            self._by_threshold(self._by_quality(cross * scale, by_cut=True)),
            self._by_stratum(weight * scale**2),
            self._by_stratum(weight * scale * gap),
            self._by_threshold(self._by_stratum(cross * scale, by_cut=True)),
            self._by_stratum(weight * gap**2),
            self._by_threshold(self._by_stratum(cross * gap, by_cut=True)),
            self._by_both_thresholds(self._by_stratum(weight, by_cut=True), at.tie[:, 0]),
        )

    def _by_threshold(self, value: Floats) -> Floats:
        """Derivatives by thresholds (steps, strata, ...), from those by rows' thresholds."""
        if self.steps is None:
            return value[None]
        by_cut = value.reshape(len(self.cut_signs), self.strata, *value.shape[1:])
        return np.tensordot(self.cut_signs.T, by_cut, 1)

    def _by_both_thresholds(self, value: Floats, tie: Floats) -> Floats:
        """Minus second derivatives by thresholds (steps, steps, strata), their factor included."""
        with np.errstate(all="ignore"):
            factor = self.scale.log_factor_curvature(tie[: self.strata], self.ties)
            factor = np.where(self.ties > 0, factor, 0.0)
            if self.steps is None:
                return np.asarray((value + factor)[None, None], np.float64)
            steps = self.steps * self.scale.log_step_factor_curvature(self._by_step(tie)[1:])
        steps = np.where(self.steps > 0, steps, 0.0)
        by_cut = value.reshape(len(self.cut_signs), self.strata)
        out = np.einsum("bs,bt,bj->stj", self.cut_signs, self.cut_signs, by_cut)
        out[np.arange(self.levels), np.arange(self.levels)] += np.vstack([factor, steps])
        return np.asarray(out, np.float64)

    def _strata_of(self, *, by_cut: bool) -> tuple[Integers, int]:
        """The stratum of each row and their number; with every cut as a stratum, or without."""
        cuts = 1 if self.steps is None else len(self.cut_signs)
        if by_cut:
            return self.stratum, cuts * self.strata
        return (self.stratum if cuts == 1 else self.stratum % self.strata), self.strata

    def _by_stratum(self, value: Floats, *, by_cut: bool = False) -> Floats:
        """Sums over each stratum's rows."""
        stratum, number = self._strata_of(by_cut=by_cut)
        return np.asarray(np.bincount(stratum, value, number), np.float64)

    def _by_quality(self, value: Floats, *, by_cut: bool = False) -> Floats:
        """Sums over a stratum's rows: with plus at the first of a pair, with minus at the other."""
        return self._signed_sums(*self._strata_of(by_cut=by_cut), value)

    def _signed_sums(self, stratum: Integers, number: int, value: Floats) -> Floats:
        size = self.items * self.groups
        start = stratum * size
        plus = np.bincount(start + self.first, value, number * size)
        minus = np.bincount(start + self.second, value, number * size)
        return np.asarray((plus - minus).reshape(number, size), np.float64)

    def _laplacians(self, weight: Floats) -> Floats:
        out = np.empty((self.groups, self.items, self.items))
        group = self.first // self.items
        for g in range(self.groups):
            mine = group == g
            first, second = self.first[mine] - g * self.items, self.second[mine] - g * self.items
            out[g] = kernels.laplacian(first, second, weight[mine], self.items)
        return out


def answer_probabilities(gap: Floats, tie: Floats) -> tuple[Floats, Floats, Floats]:
    """Probabilities that a judge says first, about equal, second, for a difference in quality."""
    ahead, behind = kernels.margins(gap, tie)
    # (e^{2δ} − 1) σ(a) σ(b) = (1 − e^{−2δ}) σ(−a) σ(−b), and only the latter never overflows.
    tied = -np.expm1(-2 * tie) * sigmoid(-ahead) * sigmoid(-behind)
    return sigmoid(ahead), tied, sigmoid(behind)
