"""Steps between the cuts of graded answers, for engines that draw parameters one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.engines.preconditioners.newton import initial_threshold, unconstrained_thresholds
from tiewise.engines.updates.slice_sampling import slice_draw
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import Likelihood, LikelihoodArguments, Pairs
from tiewise.model.unconstrained_tie import UnconstrainedTie

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SteppedLikelihood:
    """The likelihood of qualities, δ and the steps from there to further cuts; of anchors, too.

    Of answers without grades there are no steps, and it is that of the plain model.
    """

    model: BradleyTerry

    @cached_property
    def likelihood(self) -> Likelihood:
        """The likelihood's rows; of graded answers each cut has its own."""
        return self.model.design.likelihood if self.model.steps else self.model.likelihood

    @cached_property
    def priors(self) -> list[UnconstrainedTie]:
        """The priors of steps, on the real line."""
        return [prior for prior in unconstrained_thresholds(self.model)[1:] if prior is not None]

    @property
    def pairs(self) -> Pairs:
        """First, second, and successes each way, row by row."""
        return self.likelihood.pairs

    def row_thresholds(self, tie: float, steps: Floats) -> Floats:
        """The threshold of each row: its cut, with a minus where that is an upper bound."""
        if not self.model.steps:
            return np.asarray(tie, np.float64)
        out: Floats = (self.likelihood.cut_signs @ np.array([tie, *steps]))[self.likelihood.stratum]
        return out

    def log_likelihood(self, quality: Floats, tie: Floats, steps: Floats) -> Floats:
        """Log likelihood of qualities (items, values), δ (values) and steps (steps, values)."""
        if not self.model.steps:
            return self.model.log_likelihood(quality, tie)
        at = LikelihoodArguments.plain(quality, tie)
        own = self.likelihood.log_likelihood(at._replace(tie=np.concatenate([at.tie, steps])))
        anchors = self.model.anchor_factor
        return own if anchors is None else own + anchors.log_density(quality)

    def gradient(self, quality: Floats, thresholds: Floats) -> tuple[Floats, Floats]:
        """Its derivatives by qualities and by thresholds, δ and steps, at one point."""
        if not self.model.steps:
            by_quality, by_tie = self.model.gradient(quality[:, None], thresholds)
            return by_quality[:, 0], by_tie
        at = LikelihoodArguments.plain(quality[:, None], thresholds[:1])
        by = self.likelihood.gradient(at._replace(tie=thresholds[:, None]))
        return by.quality[:, 0], by.tie[:, 0]

    def negative_hessian(
        self, quality: Floats, thresholds: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Minus its second derivatives: by qualities, by thresholds and these, by thresholds."""
        if not self.model.steps:
            plain = self.model.negative_hessian(quality, float(thresholds[0]))
            return plain.qualities, plain.quality_and_tie[None], np.array([[plain.tie]])
        at = LikelihoodArguments.plain(quality[:, None], thresholds[:1])
        hessian = self.likelihood.negative_hessian(at._replace(tie=thresholds[:, None]))
        return hessian.laplacians[0], hessian.tie[:, 0], hessian.tie_tie[..., 0]

    def start(self) -> Floats:
        """The steps that explain the shares of answers if all items had the same quality."""
        points = [(prior, np.array([initial_threshold(prior)])) for prior in self.priors]
        return np.array([float(prior.constrain(t).tie[0]) for prior, t in points])

    def sds(self, quality: Floats, tie: float, steps: Floats) -> Floats:
        """Standard deviations of steps on the real line, each by its own second derivative."""
        if not self.model.steps:
            return np.empty(0)
        own = np.diagonal(self.negative_hessian(quality, np.array([tie, *steps]))[2])[1:]
        out = []
        for prior, step, curvature in zip(self.priors, steps, own, strict=True):
            by_t = float(prior.constrain(np.array([prior.unconstrain(step)])).by_t[0])
            out.append(1 / np.sqrt(max(curvature * by_t**2, 1e-2)))
        return np.array(out)

    def moved(self, steps: Floats, k: int, t: Floats) -> tuple[Floats, Floats]:
        """Steps with one of them at points t of the real line, and the log prior of that one."""
        at = self.priors[k].constrain(t)
        out = np.repeat(steps[:, None], len(t), axis=1)
        out[k] = at.tie
        return out, self.priors[k].log_density(at.tie) + at.log_jacobian

    def dispersed(self, steps: Floats, sds: Floats, rng: Generator) -> Floats:
        """Steps about these, `sds` away on the real line."""
        out = steps.copy()
        for k, prior in enumerate(self.priors):
            t = prior.unconstrain(float(steps[k])) + sds[k] * rng.normal()
            out[k] = prior.constrain(np.array([t])).tie[0]
        return out

    def draw(
        self, quality: Floats, tie: float, steps: Floats, widths: Floats, rng: Generator
    ) -> Floats:
        """Each step in turn by slice sampling, conditional on everything else."""
        for k, prior in enumerate(self.priors):
            log_density = self._log_density(quality, tie, steps, k)
            t = slice_draw(log_density, prior.unconstrain(float(steps[k])), widths[k], rng)
            steps = self.moved(steps, k, np.array([t]))[0][:, 0]
        return steps

    def _log_density(
        self, quality: Floats, tie: float, steps: Floats, k: int
    ) -> Callable[[Floats], Floats]:
        """Log density of one step on the real line, conditional on everything else."""

        def log_density(t: Floats) -> Floats:
            with np.errstate(all="ignore"):
                own, log_prior = self.moved(steps, k, t)
                columns = np.repeat(quality[:, None], len(t), axis=1)
                total = self.log_likelihood(columns, np.full(len(t), tie), own) + log_prior
            return np.where(np.isfinite(total), total, -np.inf)

        return log_density


def cuts(tie: Floats, steps: Floats) -> Floats:
    """All cuts (..., levels), from δ (...) and the steps (..., steps) from there."""
    return np.cumsum(np.concatenate([tie[..., None], steps], axis=-1), axis=-1)
