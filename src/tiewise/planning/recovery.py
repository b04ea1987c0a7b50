"""A posterior against the truth it was simulated from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from tiewise.engines.transport import Transport
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.fit import run_engine
from tiewise.posterior.summaries import ranks
from tiewise.progress import no_progress

Floats = NDArray[np.float64]

DRAWS = 2000


class PosteriorSample(NamedTuple):
    """Draws of all chains: centred qualities (draws, items), threshold, variance."""

    quality: Floats
    tie: Floats
    variance: Floats

    @property
    def mean(self) -> Floats:
        """The posterior mean of every quality."""
        out: Floats = self.quality.mean(axis=0)
        return out


def sample_posterior(
    model: BradleyTerry, seed: SeedSequence, draws: int = DRAWS
) -> PosteriorSample:
    """Draws of the posterior by Transport, on one thread: other tasks have the other cores."""
    _, sample = run_engine(model, Transport(draws=draws, threads=1), seed, no_progress)
    flat = sample.quality.reshape(-1, model.size)
    centred = flat - flat.mean(axis=1, keepdims=True)
    return PosteriorSample(centred, sample.tie.ravel(), sample.variance.ravel())


def interval_covers(draws: Floats, truth: Floats | float, level: float) -> Floats:
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
    """Pearson's correlation; 0 where one of them does not vary."""
    a, b = one - one.mean(), two - two.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0 else 0.0


def rank_positions(values: Floats) -> Floats:
    """The rank of every value, 1 the highest; equal ones in their order."""
    out: Floats = ranks(values[None])[0].astype(np.float64)
    return out
