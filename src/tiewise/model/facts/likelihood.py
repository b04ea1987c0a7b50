"""The likelihood of comparisons with facts of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.data.counts import Counts
from tiewise.model.facts import kernels
from tiewise.model.likelihood import (
    Likelihood,
    LikelihoodArguments,
    StrataHessian,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class FactHessian(NamedTuple):
    """Minus the second derivatives by coefficients of facts, and by one of them and another.

    With qualities (facts, groups · items), with each other, with the log sharpness of strata
    (strata, facts), and with thresholds (steps, strata, facts).
    """

    quality: Floats
    facts: Floats
    sharpness: Floats
    tie: Floats


@dataclass(frozen=True, eq=False)
class FactLikelihood(Likelihood):
    """`Likelihood` with a shift xᵀβ of every row; `facts` (rows, facts) are the x."""

    facts: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def of_facts(
        cls, counts: Counts, group: Integers, groups: int, facts: Floats, *, stratified: bool
    ) -> FactLikelihood:
        """That of counts whose rows have these facts; the rest is as for `of`."""
        start = len(counts.items) * group[counts.stratum]
        stratum = counts.stratum if stratified else np.zeros_like(counts.stratum)
        strata, steps = len(counts.strata) if stratified else 1, None
        row = np.arange(len(stratum))
        cut_rows: Any = (counts.first, counts.second, stratum, *counts.successes())
        if counts.strengths is not None:
            *cut_rows, row = counts.rows_by_cut(stratum, strata)
            between = counts.strengths[:, :, :-1].sum(axis=1).T
            steps = np.array([np.bincount(stratum, each, strata) for each in between], float)
        order = np.argsort(cut_rows[2], kind="stable")
        own = row[order]
        first, second, by_cut, over_second, over_first = (part[order] for part in cut_rows)
        return cls(
            len(counts.items), groups, first + start[own], second + start[own], by_cut,
            over_second.astype(float), over_first.astype(float),
            np.bincount(stratum, counts.ties, strata).astype(float), stratified, steps=steps,
            facts=np.ascontiguousarray(facts[own], np.float64),
        )  # fmt: skip

    @cached_property
    def single_rows(self) -> tuple[Any, ...]:
        """Rows with successes and facts in single precision."""
        single = (self.successes_first, self.successes_second, self.facts)
        return (*self.rows[:3], *(part.astype(np.float32) for part in single))

    def log_likelihood(self, at: LikelihoodArguments) -> Floats:
        """Log likelihood of each chain."""
        factor = self._log_factor(at.tie)
        value = kernels.fact_log_likelihood(*self.rows, self.facts, *self._with_facts(at))
        return np.asarray(value + factor)

    def gradient(self, at: LikelihoodArguments) -> LikelihoodArguments:
        """Its derivatives by each of its arguments, those by quality in the precision of it."""
        arguments: Any = self._with_facts(at)
        slopes: Any
        if at.quality.dtype == np.float32:
            slopes = kernels.fact_gradient_single(*self.single_rows, *arguments)
        else:
            slopes = kernels.fact_gradient(*self.rows, self.facts, *arguments)
        by_quality, by_facts, by_sharpness, by_tie = slopes
        zero = np.zeros_like(by_tie)
        by = LikelihoodArguments(by_quality, zero, by_sharpness, by_tie, by_facts)
        if self.steps is not None:
            by = self._summed_over_cuts(by)
        return by._replace(tie=by.tie + self._factor_slope(at.tie))

    def _with_facts(self, at: LikelihoodArguments) -> tuple[Floats, Floats, Floats, Floats]:
        """Qualities, coefficients, sharpnesses and thresholds, as the loops take them."""
        quality, _, sharpness, tie = self._by_cut(at)
        return quality, np.ascontiguousarray(at.facts), sharpness, tie

    def _curvatures(self, at: LikelihoodArguments) -> tuple[Floats, Floats, Floats]:
        quality, coefficient, sharpness, tie = (part[:, 0] for part in self._with_facts(at))
        shift = self.facts @ coefficient
        return kernels.fact_negative_hessian(*self.rows, shift, quality, sharpness, tie)

    def negative_hessian(
        self, at: LikelihoodArguments, *, with_shift: bool = True
    ) -> StrataHessian:
        """Minus its second derivatives at a point of one chain, those by coefficients added."""
        gap, weight, cross = self._curvatures(at)
        plain = self._strata_hessian(at, gap, weight, cross, with_shift=with_shift)
        scale = self._by_cut(at)[2][self.stratum, 0]
        one = np.zeros_like(self.stratum)
        columns = self.facts.T
        own = weight * scale**2
        return plain._replace(
            facts=FactHessian(
                np.stack([self._signed_sums(one, 1, own * x)[0] for x in columns]),
                self.facts.T @ (own[:, None] * self.facts),
                np.stack([self._by_stratum(weight * scale * gap * x) for x in columns], 1),
                np.stack(
                    [
                        self._by_threshold(self._by_stratum(cross * scale * x, by_cut=True))
                        for x in columns
                    ],
                    axis=-1,
                ),
            )
        )
