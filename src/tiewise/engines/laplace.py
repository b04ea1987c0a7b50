"""Laplace: Gaussian draws around the mode, with importance weights; instant and approximate."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from tiewise.engines.base import Draws, refuse_terms
from tiewise.engines.capacity import FLOPS, announce, require_memory
from tiewise.engines.preconditioners.hierarchical_preconditioner import (
    build_hierarchical_preconditioner,
)
from tiewise.engines.preconditioners.mixture_preconditioner import WarmStart, plain_or_mixture
from tiewise.engines.preconditioners.plain import Preconditioner
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.progress import Progress

Floats = NDArray[np.float64]

BLOCK = 500


@dataclass(frozen=True)
class Laplace:
    """Gaussian draws in preconditioned coordinates, each with its log importance weight.

    `fit` smooths the weights (Pareto), reports their k-hat and draws again in proportion to them;
    `weighted=False` leaves the Gaussian, blind to most skewness. `start` is the result for
    similar data (`Draws.warm_start`), from which the mode takes fewer steps.
    """

    draws: int = 4000
    weighted: bool = True
    start: WarmStart | None = field(default=None, repr=False, compare=False)

    name = "laplace"
    kind = "approximate"

    def run(self, model: BradleyTerry, seed: SeedSequence, progress: Progress) -> Draws:
        """One chain of independent draws."""
        refuse_terms(model, self)
        require_memory(model, self.name, matrices=6)
        announce(self.name, model, 30 * model.size**3 / FLOPS)
        begin = perf_counter()
        preconditioner: Preconditioner = (
            build_hierarchical_preconditioner(model)
            if model.steps
            else plain_or_mixture(model, self.start)
        )
        build_seconds = perf_counter() - begin
        rng = np.random.default_rng(seed)
        parts: list[dict[str, Floats]] = []
        for start in range(0, self.draws, BLOCK):
            q = rng.normal(size=(preconditioner.dimensions, min(BLOCK, self.draws - start)))
            at: Any = preconditioner.parameters(q)
            parts.append(preconditioner.draws(at))
            if self.weighted:
                weight = preconditioner.log_density(q) + (q**2).sum(axis=0) / 2
                parts[-1] = {**parts[-1], "log_weight": weight}
            progress("sampling", min(start + BLOCK, self.draws), self.draws)
        values = {
            name: np.concatenate([np.moveaxis(part[name], -1, 0) for part in parts])[None]
            for name in parts[0]
        }
        quality, tie, variance = (values.pop(name) for name in ("quality", "tie", "variance"))
        stats = {"log_weight": values.pop("log_weight")} if self.weighted else {}
        return Draws(
            quality, tie, variance, terms=values, stats=stats,
            build_seconds=build_seconds, warm_start=preconditioner.warm_start,
        )  # fmt: skip
