"""What a case brings home, whoever ran it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.posterior.diagnostics import convergence, ess

Floats = NDArray[np.float64]

# A run shorter than this is repeated, up to five times, and the middle one is given.
SHORT_SECONDS, REPEATS = 2.0, 5
FEWEST = 4  # draws a chain, below which there is no effective sample size


class EffectiveDraws(NamedTuple):
    """Smallest bulk and tail sizes, and what counts: the smaller, and no more than the draws."""

    bulk: float | None
    tail: float | None
    least: float | None


@dataclass(frozen=True)
class Run:
    """Draws (chains, draws, ...) and what they cost; qualities are centred in each draw.

    `fit_s` is all that `fit` took. `others` are parameters beside λ, δ and α². `gradients` are
    those of the kept draws, `warmup_gradients` those before, `warm_s` the part of the sampling time
    after which draws were kept. `ess` is given only where the draws cannot tell it (weights).
    """

    quality: Floats
    tie: Floats
    variance: Floats
    build_s: float
    sample_s: float
    diagnose_s: float = 0.0
    fit_s: float | None = None
    others: Floats | None = None
    superchains: int = 0
    warm_s: float | None = None
    gradients: int | None = None
    warmup_gradients: int | None = None
    acceptance: float | None = None
    ess: float | None = None
    note: str = ""
    peak_mb: float = 0.0

    @property
    def seconds(self) -> float:
        """Build, sampling and diagnostics together."""
        return self.build_s + self.sample_s + self.diagnose_s

    @property
    def parameters(self) -> Floats:
        """Draws of every λ, of δ, of α² and of whatever else is inferred."""
        scalars = [self.tie[..., None], self.variance[..., None]]
        others = [] if self.others is None else [self.others]
        return np.concatenate([self.quality, *scalars, *others], axis=-1)

    def effective(self) -> EffectiveDraws:
        """Smallest effective sample sizes over every parameter."""
        if self.ess is not None:
            return EffectiveDraws(None, None, float(self.ess))
        if self.tie.shape[1] < FEWEST:
            return EffectiveDraws(None, None, None)
        bulk, tail = (float(np.min(ess(self.parameters, how))) for how in ("bulk", "tail"))
        return EffectiveDraws(bulk, tail, min(bulk, tail, float(self.tie.size)))

    def diagnosed(self) -> Run:
        """The same with the seconds that effective sizes and R-hat take, for everybody alike."""
        if self.tie.shape[1] < FEWEST or self.ess is not None:
            return self
        values = {"quality": self.quality, "tie": self.tie, "variance": self.variance}
        values |= {} if self.others is None else {"others": self.others}
        seconds, comparisons = [], np.ones(self.quality.shape[-1], np.int64)
        few = {"quality": self.quality[..., :2], "tie": self.tie}
        convergence(few, comparisons[:2], self.superchains)  # compiles
        for _ in range(REPEATS):
            begun = perf_counter()
            convergence(values, comparisons, self.superchains)
            seconds.append(perf_counter() - begun)
            if seconds[-1] > SHORT_SECONDS:
                break
        return replace(self, diagnose_s=float(np.median(seconds)))


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
