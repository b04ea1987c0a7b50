"""Laplace: Gaussian draws around the mode, with importance weights; instant and approximate."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from numpy.random import SeedSequence

from tiewise.engines.base import Draws, refuse_terms
from tiewise.engines.laplace_marginal import LaplaceMarginal
from tiewise.engines.preconditioner import build_preconditioner
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.progress import Progress

BLOCK = 500


@dataclass(frozen=True)
class Laplace:
    """Gaussian draws in preconditioned coordinates, each with its log importance weight.

    `fit` smooths the weights (Pareto), reports their k-hat and draws again in proportion to them;
    `weighted=False` leaves the plain Gaussian, which has no skewness. `start` is the result for
    similar data (`Draws.warm_start`), from which the mode takes fewer steps.
    """

    draws: int = 4000
    weighted: bool = True
    start: LaplaceMarginal | None = field(default=None, repr=False, compare=False)

    name = "laplace"
    kind = "approximate"

    def run(self, model: BradleyTerry, seed: SeedSequence, progress: Progress) -> Draws:
        """One chain of independent draws."""
        refuse_terms(model, self)
        begin = perf_counter()
        preconditioner = build_preconditioner(model, self.start)
        build_seconds = perf_counter() - begin
        rng = np.random.default_rng(seed)
        quality, tie, variance, weight = [], [], [], []
        for start in range(0, self.draws, BLOCK):
            q = rng.normal(size=(preconditioner.dimensions, min(BLOCK, self.draws - start)))
            at = preconditioner.parameters(q)
            quality.append(at.quality.T)
            tie.append(at.tie)
            variance.append(np.exp(2 * at.log_alpha))
            weight.append(preconditioner.log_density(q) + (q**2).sum(axis=0) / 2)
            progress("sampling", min(start + BLOCK, self.draws), self.draws)
        return Draws(
            np.concatenate(quality)[None],
            np.concatenate(tie)[None],
            np.concatenate(variance)[None],
            stats={"log_weight": np.concatenate(weight)[None]} if self.weighted else {},
            build_seconds=build_seconds,
            warm_start=preconditioner.warm_start,
        )
