"""A posterior beside the truth it was simulated from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from tiewise.engines.transport import Transport
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.fit import explored
from tiewise.posterior.summaries import ranks
from tiewise.progress import no_progress

Floats = NDArray[np.float64]

DRAWS = 2000


class Found(NamedTuple):
    """Draws of a posterior in a row: centred qualities (draws, items), threshold, variance."""

    quality: Floats
    tie: Floats
    variance: Floats

    @property
    def mean(self) -> Floats:
        """The posterior mean of every quality."""
        out: Floats = self.quality.mean(axis=0)
        return out


def found(model: BradleyTerry, source: SeedSequence, draws: int = DRAWS) -> Found:
    """The posterior as Transport finds it, on one thread: other tasks have the other cores."""
    _, drawn = explored(model, Transport(draws=draws, threads=1), source, no_progress)
    flat = drawn.quality.reshape(-1, model.size)
    centred = flat - flat.mean(axis=1, keepdims=True)
    return Found(centred, drawn.tie.ravel(), drawn.variance.ravel())


def held(draws: Floats, truth: Floats | float, level: float) -> Floats:
    """Whether the central interval of this probability holds the truth, for each parameter."""
    low, high = np.quantile(draws, ((1 - level) / 2, (1 + level) / 2), axis=0)
    out: Floats = ((low <= truth) & (truth <= high)).astype(float)
    return out


def centred(quality: Floats) -> Floats:
    """Qualities about their own mean: only differences can be learnt."""
    out: Floats = quality - quality.mean()
    return out


def rmse(estimate: Floats, truth: Floats) -> float:
    """Root of the mean squared error."""
    return float(np.sqrt(((estimate - truth) ** 2).mean()))


def correlation(one: Floats, two: Floats) -> float:
    """Pearson's; 0 where one of them does not vary, and so tells nothing of the other."""
    a, b = one - one.mean(), two - two.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0 else 0.0


def places(values: Floats) -> Floats:
    """Rank of every value, 1 the highest; equal ones in the order they came."""
    out: Floats = ranks(values[None])[0].astype(np.float64)
    return out
