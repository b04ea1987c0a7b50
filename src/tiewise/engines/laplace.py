"""Laplace: the chart with no correction beyond weights. Instant, and approximate."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from numpy.random import SeedSequence

from tiewise.engines.base import Draws, refuse_terms
from tiewise.engines.newton import Spread
from tiewise.engines.preconditioner import draw_chart
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.progress import Progress

BLOCK = 500


@dataclass(frozen=True)
class Laplace:
    """Gaussian draws on the chart, each with the log weight that would make them exact.

    `fit` smooths the weights (Pareto), reports their k-hat and draws again in proportion to them;
    `weighted=False` leaves the plain Gaussian, which is blind to skewness. `start` is the spread
    found for similar data (`Draws.spread`), from which the mode is found in fewer steps.
    """

    draws: int = 4000
    weighted: bool = True
    start: Spread | None = field(default=None, repr=False, compare=False)

    name = "laplace"
    kind = "approximate"

    def run(self, model: BradleyTerry, seed: SeedSequence, progress: Progress) -> Draws:
        """One chain of independent draws."""
        refuse_terms(model, self)
        begun = perf_counter()
        chart = draw_chart(model, self.start)
        built = perf_counter() - begun
        rng = np.random.default_rng(seed)
        quality, tie, variance, weight = [], [], [], []
        for start in range(0, self.draws, BLOCK):
            q = rng.normal(size=(chart.dimensions, min(BLOCK, self.draws - start)))
            at = chart.place(q)
            quality.append(at.quality.T)
            tie.append(at.tie)
            variance.append(np.exp(2 * at.log_alpha))
            weight.append(chart.log_density(q) + (q**2).sum(axis=0) / 2)
            progress("sampling", min(start + BLOCK, self.draws), self.draws)
        return Draws(
            np.concatenate(quality)[None],
            np.concatenate(tie)[None],
            np.concatenate(variance)[None],
            stats={"log_weight": np.concatenate(weight)[None]} if self.weighted else {},
            build_seconds=built,
            spread=chart.spread,
        )
