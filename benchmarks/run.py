"""What a case brings home, whoever ran it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from tiewise.posterior.diagnostics import ess

Floats = NDArray[np.float64]

# A run shorter than this is repeated, up to five times, and the middle one is given.
SHORT_SECONDS, REPEATS = 2.0, 5
FEWEST = 4  # draws a chain, below which there is no effective sample size


@dataclass(frozen=True)
class Run:
    """Draws (chains, draws, ...) and what they cost; qualities are centred in each draw.

    `gradients` are those of the kept draws, `warmup_gradients` those before, `warm_s` the part of
    the sampling time after which draws were kept. `ess` is given only where the draws cannot tell
    it (weights).
    """

    quality: Floats
    tie: Floats
    variance: Floats
    build_s: float
    sample_s: float
    warm_s: float | None = None
    gradients: int | None = None
    warmup_gradients: int | None = None
    acceptance: float | None = None
    ess: float | None = None
    note: str = ""
    peak_mb: float = 0.0

    @property
    def seconds(self) -> float:
        """Build and sampling together."""
        return self.build_s + self.sample_s

    def smallest_ess(self) -> float | None:
        """Smallest bulk effective sample size over every λ, α² and δ."""
        if self.ess is not None:
            return float(self.ess)
        if self.tie.shape[1] < FEWEST:
            return None
        scalars = np.stack([self.tie, self.variance], axis=-1)
        return float(np.min(ess(np.concatenate([self.quality, scalars], axis=-1))))


def centred(quality: Floats) -> Floats:
    """Each draw less its own mean."""
    return np.asarray(quality - quality.mean(axis=-1, keepdims=True))


def middle(attempt: Callable[[int], Run]) -> Run:
    """The run with the middle time: of five where they are short, else the only one."""
    runs, begun = [attempt(0)], perf_counter()
    while runs[0].seconds < SHORT_SECONDS and len(runs) < REPEATS:
        if perf_counter() - begun > 10 * SHORT_SECONDS:
            break
        runs.append(attempt(len(runs)))
    # Later runs lie on top of the earlier in memory: the first one's peak is the honest one.
    chosen = sorted(runs, key=lambda run: run.seconds)[len(runs) // 2]
    return replace(chosen, peak_mb=runs[0].peak_mb)
