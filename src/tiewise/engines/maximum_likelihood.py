"""MaximumLikelihood: the estimate of Rao and Kupper, and of graded answers; no prior at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from tiewise.engines.base import Draws, refuse_terms
from tiewise.engines.capacity import FLOPS, announce, require_memory
from tiewise.engines.finite_estimates import (
    refuse_graded_without_estimate,
    refuse_without_estimate,
)
from tiewise.engines.preconditioners.newton import maximise
from tiewise.engines.updates.steps import SteppedLikelihood
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.progress import Progress

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class MaximumLikelihood:
    """The qualities (summing to zero) and cuts that make the data most likely.

    A point, with standard errors from the Hessian there. The model's priors are not used, so
    there is no α². Data without a finite estimate are refused, and the items named.
    """

    name = "maximum-likelihood"
    kind = "point"

    def run(self, model: BradleyTerry, seed: SeedSequence, progress: Progress) -> Draws:
        """One draw: the estimate."""
        refuse_terms(model, self)
        require_memory(model, self.name, matrices=4)
        announce(self.name, model, 10 * model.size**3 / FLOPS)
        likelihood = _Likelihood(SteppedLikelihood(model), free_thresholds(model))
        if model.steps:
            refuse_graded_without_estimate(model.counts, likelihood.free)
        else:
            refuse_without_estimate(model.counts)
        max_step = 2.0 if len(likelihood.free) else np.inf
        estimate = maximise(likelihood, likelihood.start(), max_step=max_step).point
        quality, thresholds = likelihood.unpack(estimate)
        covariance = likelihood.covariance(estimate)
        progress("climbing", 1, 1)
        errors = likelihood.cut_errors(covariance, thresholds)
        return Draws(
            (quality - quality.mean())[None, None],
            thresholds[None, :1],
            np.array([[np.nan]]),
            terms={"cut": np.cumsum(thresholds)[None, None]} if model.steps else {},
            standard_error=np.sqrt(np.diag(covariance))[: model.size],
            tie_standard_error=_tie_error(model, float(errors[0]), likelihood.free),
            cut_standard_error=errors if model.steps else None,
            facts={"prior": "none: maximum likelihood"},
        )


def free_thresholds(model: BradleyTerry) -> Integers:
    """The thresholds that are estimated: δ and steps with answers between their two cuts.

    Of a threshold without such an answer the estimate is 0.
    """
    answers = [model.counts.total_ties if model.fixed_tie is None else 0]
    if model.counts.strengths is not None:
        answers += model.counts.strengths[..., :-1].sum(axis=(0, 1)).tolist()
    return np.flatnonzero(answers)


def _tie_error(model: BradleyTerry, error: float, free: Integers) -> float | None:
    """None where δ is at its boundary because there are no ties, 0 where it is fixed."""
    if model.fixed_tie is not None:
        return 0.0
    return error if 0 in free else None


@dataclass(frozen=True)
class _Likelihood:
    """The log likelihood of qualities and log thresholds, with a penalty that fixes the level.

    `free` are the thresholds that are estimated, δ and steps of graded answers.
    """

    stepped: SteppedLikelihood
    free: Integers

    @property
    def model(self) -> BradleyTerry:
        return self.stepped.model

    def start(self) -> Floats:
        share = self.model.counts.total_ties / self.model.counts.comparisons
        thresholds = np.array([2 * np.arctanh(min(share, 0.99)), *self.stepped.start()])
        return np.append(np.zeros(self.model.size), np.log(thresholds[self.free]))

    def unpack(self, point: Floats) -> tuple[Floats, Floats]:
        size = self.model.size
        thresholds = np.zeros(1 + len(self.model.steps))
        thresholds[0] = self.model.fixed_tie or 0.0
        thresholds[self.free] = np.exp(point[size:])
        return point[:size], thresholds

    def value(self, point: Floats) -> float:
        quality, thresholds = self.unpack(point)
        level = float(quality.sum()) ** 2 / (2 * len(quality))
        at = quality[:, None], thresholds[:1], thresholds[1:, None]
        return float(self.stepped.log_likelihood(*at)[0]) - level

    def gradient(self, point: Floats) -> Floats:
        quality, thresholds = self.unpack(point)
        by_quality, by_threshold = self.stepped.gradient(quality, thresholds)
        by_log = (by_threshold * thresholds)[self.free]
        return np.append(by_quality - quality.mean(), by_log)

    def negative_hessian(self, point: Floats) -> Floats:
        quality, thresholds = self.unpack(point)
        by_quality, by_both, by_thresholds = self.stepped.negative_hessian(quality, thresholds)
        matrix = by_quality + 1 / len(quality)
        if not len(self.free):
            return matrix
        by_threshold = self.stepped.gradient(quality, thresholds)[1]
        scale = thresholds[self.free]
        cross = by_both[self.free] * scale[:, None]
        own = by_thresholds[np.ix_(self.free, self.free)] * np.outer(scale, scale)
        own[np.diag_indices(len(own))] -= by_threshold[self.free] * scale
        return np.block([[matrix, cross.T], [cross, own]])

    def covariance(self, point: Floats) -> Floats:
        """Covariance of the estimate; the level, which the penalty fixes, has none."""
        size = self.model.size
        out = np.asarray(np.linalg.inv(self.negative_hessian(point)), np.float64)
        out[:size, :size] -= 1 / size
        return out

    def cut_errors(self, covariance: Floats, thresholds: Floats) -> Floats:
        """Standard errors of the cuts, each the sum of the thresholds up to it."""
        size = self.model.size
        by_log = np.tri(len(thresholds))[:, self.free] * thresholds[self.free]
        own = covariance[size:, size:]
        return np.asarray(np.sqrt(np.einsum("ci,ij,cj->c", by_log, own, by_log)), np.float64)
