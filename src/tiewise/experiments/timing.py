"""Engines on a progress: how long a fit takes, and how much its draws are worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from tiewise.engines.base import Draws, Engine
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Network
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.diagnostics import ess
from tiewise.posterior.fit import ENGINES
from tiewise.progress import no_progress

Floats = NDArray[np.float64]

LABELS = {"transport": "Transport", "gibbs": "Gibbs", "metropolis": "Metropolis"}

WHOLE: Mapping[str, Mapping[str, Any]] = {
    "transport": {"draws": 4000},
    "gibbs": {"draws": 4600, "warmup": 100, "as_published": True},
    "metropolis": {"draws": 1800, "warmup": 50, "thin": 50},
}
"""The runs of the paper: 5,000 sweeps and 100,000 steps in all; and our own default."""


class Clocked(NamedTuple):
    """Draws of an engine, the seconds before the first of them, and those of all."""

    draws: Draws
    build_seconds: float
    seconds: float


def clocked(
    name: str, settings: Mapping[str, Any], build: Callable[[], BradleyTerry], source: SeedSequence
) -> Clocked:
    """A fit from its data on: the model's own decompositions included, compiling left out."""
    engine: Engine = ENGINES[name](**settings)
    _warmed(name)
    begun = perf_counter()
    model = build()
    built = perf_counter() - begun
    draws = engine.run(model, source, no_progress)
    return Clocked(draws, built + draws.build_seconds, perf_counter() - begun)


@cache
def _warmed(name: str) -> None:
    """Have an engine's loops compiled and its libraries loaded, once in each process."""
    graph = Graph.grid(3, 3)
    rng = np.random.default_rng(1)
    truth = Truth(graph.items, rng.normal(size=9), tie=0.5, variance=1.0)
    model = BradleyTerry(simulate_counts(truth, 90, rng), Network(graph))
    small: dict[str, Any] = {"draws": 80} | ({"warmup": 5} if name != "transport" else {})
    ENGINES[name](**small).run(model, SeedSequence(1), no_progress)


def steps(name: str, settings: Mapping[str, Any]) -> int:
    """How many sweeps or steps a run takes in all, warm-up included; draws for Transport."""
    engine: Any = ENGINES[name](**settings)
    warm = engine.chains * getattr(engine, "warmup", 0)
    return int((engine.draws + warm) * getattr(engine, "thin", 1))


def tie_ess(draws: Draws) -> float:
    """Effective sample size of δ."""
    return float(ess(draws.tie[:, :, None])[0])


def quality_ess(draws: Draws) -> Floats:
    """Effective sample size of every quality, centred in each draw."""
    return ess(draws.quality - draws.quality.mean(axis=-1, keepdims=True))
