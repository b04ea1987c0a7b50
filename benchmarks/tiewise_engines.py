"""Our engines, run through `fit` as a user runs them."""

from __future__ import annotations

from dataclasses import asdict, replace
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.data import load
from benchmarks.memory import peak_mb
from benchmarks.run import Run, centred, middle
from benchmarks.workload import Effort
from tiewise.engines.base import Engine
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.laplace import Laplace
from tiewise.engines.metropolis import Metropolis
from tiewise.engines.transport import Transport
from tiewise.posterior.fit import fit


def engine(name: str, effort: Effort) -> Engine:
    """The engine of this name, with its settings."""
    if name == "metropolis":
        return Metropolis(draws=effort.draws, warmup=effort.warmup)
    if name == "gibbs-as-published":
        return Gibbs(draws=effort.draws, warmup=effort.warmup, as_published=True)
    if name == "gibbs":
        return Gibbs(draws=effort.draws, warmup=effort.warmup)
    return {"transport": Transport, "laplace": Laplace}[name](draws=effort.draws)


def explore(name: str, data: str, effort: Effort) -> Run:
    """A timed run after a short one that brings compiled code and libraries in."""
    chosen: Any = engine(name, effort)
    short = {"draws": 32} | ({"warmup": 2} if "warmup" in asdict(chosen) else {})
    fit(load(data), replace(chosen, **short), rng=1)
    return middle(lambda seed: _run_fit(data, chosen, seed))


def _run_fit(data: str, chosen: Engine, seed: int) -> Run:
    # A fresh model each time: an earlier one would have kept the factor of its prior.
    model = load(data)
    begun = perf_counter()
    tree = fit(model, chosen, rng=seed, ess=0)
    whole = perf_counter() - begun
    memory = peak_mb()
    facts, posterior = tree.attrs, tree["posterior"]
    notes = [f"fell back to {facts['engine']}"] if facts["engine"] != chosen.name else []
    if "engine_k_hat" in facts:
        notes.append(f"k-hat {facts['engine_k_hat']:.2f}")
    if "engine_steps" in facts:
        notes.append(f"{facts['engine_steps']} steps a draw, angle {facts['engine_angle']:.2f}")
    build_s, sample_s = (float(facts[f"{part}_seconds"]) for part in ("build", "sample"))
    others = [posterior["share"].to_numpy()[..., None]] if "share" in posterior else []
    others += [posterior["cut"].to_numpy()[..., 1:]] if "cut" in posterior else []
    return Run(
        quality=centred(tree["posterior/quality"].to_numpy()),
        tie=posterior["tie"].to_numpy(),
        variance=posterior["variance"].to_numpy(),
        build_s=build_s,
        sample_s=sample_s,
        fit_s=whole,
        superchains=int(facts["superchains"]),
        others=np.concatenate(others, axis=-1) if others else None,
        gradients=facts.get("engine_gradients"),
        warmup_gradients=facts.get("engine_pilot_gradients"),
        acceptance=facts.get("engine_acceptance"),
        ess=facts.get("engine_weight_ess"),
        note="; ".join(notes),
        peak_mb=memory,
    )
