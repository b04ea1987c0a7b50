"""Timed fits: how long an engine takes, and the effective sample size of its draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from tiewise.engines import engine_class
from tiewise.engines.base import Draws, Engine
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.diagnostics import ess
from tiewise.progress import no_progress

Floats = NDArray[np.float64]

LABELS = {"transport": "Transport", "gibbs": "Gibbs", "metropolis": "Metropolis"}

FULL_RUNS: Mapping[str, Mapping[str, Any]] = {
    "transport": {"draws": 4000},
    "gibbs": {"draws": 4600, "warmup": 100, "as_published": True},
    "metropolis": {"draws": 1800, "warmup": 50, "thin": 50},
}
"""The runs of the paper: 5,000 sweeps and 100,000 steps in all; and our own default."""


class TimedFit(NamedTuple):
    """Draws of an engine, the seconds before the first of them, and the seconds in all."""

    draws: Draws
    build_seconds: float
    seconds: float


def time_fit(
    name: str, settings: Mapping[str, Any], build: Callable[[], BradleyTerry], seed: SeedSequence
) -> TimedFit:
    """A fit from its data on: the model's own decompositions included, compiling left out."""
    engine: Engine = engine_class(name)(**settings)
    _warm_up(name)
    started = perf_counter()
    model = build()
    built = perf_counter() - started
    draws = engine.run(model, seed, no_progress)
    return TimedFit(draws, built + draws.build_seconds, perf_counter() - started)


@cache
def _warm_up(name: str) -> None:
    """Compile an engine's loops and load its libraries, once in each process."""
    graph = Graph.grid(3, 3)
    rng = np.random.default_rng(1)
    truth = Truth(graph.items, rng.normal(size=9), tie=0.5, variance=1.0)
    model = BradleyTerry(simulate_counts(truth, 90, rng), Network(graph, share=1.0))
    small: dict[str, Any] = {"draws": 80} | ({"warmup": 5} if name != "transport" else {})
    engine_class(name)(**small).run(model, SeedSequence(1), no_progress)


def total_steps(name: str, settings: Mapping[str, Any]) -> int:
    """How many sweeps or steps a run takes in all, warm-up included; draws for Transport."""
    engine: Any = engine_class(name)(**settings)
    options = asdict(engine)
    warmup = options["chains"] * options.get("warmup", 0)
    return int((options["draws"] + warmup) * options.get("thin", 1))


def tie_ess(draws: Draws) -> float:
    """Effective sample size of δ."""
    return float(ess(draws.tie[:, :, None])[0])


def quality_ess(draws: Draws) -> Floats:
    """Effective sample size of every quality, centred in each draw."""
    return ess(draws.quality - draws.quality.mean(axis=-1, keepdims=True))
