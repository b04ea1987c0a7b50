"""nutpie's NUTS on the non-centred posterior, given as a compiled density with its gradient.

PyMC models, nutpie's usual food, would pin an older Numba for all of Tiewise. In the sampler a
gradient of this loop cost 40 µs, 1.5 ms and 1.1 ms of processor time for South Yorkshire, Dar es
Salaam and N = 1024, and one of the same model in PyMC 5.28 70 µs, 2.3 ms and 1.4 ms (measured in
turns, three times, on a machine that had other work).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numba import njit

from benchmarks.memory import peak_mb
from benchmarks.other_samplers import RATE, SCALE, SHAPE, factor_of, out_of_time
from benchmarks.run import Floats, Run, centred
from benchmarks.workload import Effort
from tiewise.model.bradley_terry import BradleyTerry

CHAINS = 2


@njit(cache=True, nogil=True, error_model="numpy")
def _density(
    point: Any, first: Any, second: Any, forth: Any, back: Any, ties: int, factor: Any, out: Any
) -> float:
    """Log density at (log α², log δ, η), λ = α F η; its gradient is written to `out`."""
    variance, tie, raw = math.exp(point[0]), math.exp(point[1]), point[2:]
    alpha, flat = math.sqrt(variance), factor.shape[0] == 1
    quality = alpha * (raw if flat else factor @ raw)
    slope, close, by_tie = np.zeros(quality.size), math.exp(-tie), 0.0
    value = ties * math.log(math.expm1(2 * tie)) - RATE * tie + point[1]
    value += -SHAPE * point[0] - SCALE / variance - raw @ raw / 2
    for r in range(first.size):
        i, j, f, b = first[r], second[r], forth[r], back[r]
        gap = quality[i] - quality[j]
        odds = math.exp(gap)
        ahead, behind = 1 + odds * close, 1 + close / odds
        value += (f - b) * gap - (f + b) * tie - f * math.log(ahead) - b * math.log(behind)
        up, down = f / ahead, b / behind
        slope[i] += up - down
        slope[j] -= up - down
        by_tie -= up + down
    out[0] = slope @ quality / 2 - SHAPE + SCALE / variance
    out[1] = (by_tie + 2 * ties / -math.expm1(-2 * tie) - RATE) * tie + 1
    out[2:] = alpha * (slope if flat else slope @ factor) - raw
    return value


def density(model: BradleyTerry, factor: Floats) -> Callable[[Floats], tuple[float, Floats]]:
    """Log density and gradient, one compiled call for both."""
    rows, ties, lift = model.rows, model.counts.total_ties, np.atleast_2d(factor)

    def at(point: Floats) -> tuple[float, Floats]:
        out = np.empty(point.size)
        value = _density(point, *rows, ties, lift, out)
        return value, out

    return at


def explore(model: BradleyTerry, effort: Effort) -> Run:
    """A timed run with nutpie's own defaults; what is compiled is left out of its time."""
    import nutpie
    from nutpie.compiled_pyfunc import from_pyfunc

    begun = perf_counter()
    factor = factor_of(model)
    built = perf_counter() - begun
    size = factor.shape[-1] + 2
    log_density = density(model, factor)
    log_density(np.zeros(size))  # compiles
    clocks: list[list[float]] = []

    def watched(*_: int) -> Callable[[Floats], dict[str, Floats]]:
        """For one chain: what is kept of a draw, and when it was made, tables not included."""
        clocks.append([])
        clock = clocks[-1]

        def expand(point: Floats) -> dict[str, Floats]:
            clock.append(perf_counter())
            return {"point": np.array(point)}

        return expand

    compiled = from_pyfunc(
        size, lambda: log_density, watched, [np.dtype("float64")], [(size,)], ["point"]
    )
    begun = perf_counter()
    sampler = nutpie.sample(
        compiled, draws=effort.draws, tune=effort.warmup, chains=CHAINS, cores=CHAINS, seed=1,
        progress_bar=False, blocking=False,
    )  # fmt: skip
    try:
        tree = sampler.wait(timeout=effort.seconds)
    except TimeoutError:
        tree = sampler.abort()
    run = _to_run(tree, factor, effort)
    whole = max(max(clock, default=begun) for clock in clocks) - begun
    warm = [clock[effort.warmup - 1] - begun for clock in clocks if len(clock) >= effort.warmup]
    return replace(run, build_s=built, sample_s=whole, warm_s=max(warm, default=None))


def _to_run(tree: Any, factor: Floats, effort: Effort) -> Run:
    memory = peak_mb()
    tuned = tree["warmup_sample_stats"]["n_steps"].to_numpy()
    warmup_gradients, warmed = int(tuned.sum()), int((tuned > 0).sum(axis=1).min())
    if warmed < effort.warmup:
        none = np.empty((CHAINS, 0))
        return Run(
            np.empty((CHAINS, 0, 1)), none, none, 0.0, 0.0,
            warmup_gradients=warmup_gradients, note=out_of_time(effort, warmed), peak_mb=memory,
        )  # fmt: skip
    stats = tree["sample_stats"]
    number = int((stats["n_steps"].to_numpy() > 0).sum(axis=1).min())
    point = tree["posterior"]["point"].to_numpy()[:, :number]
    variance, tie, raw = np.exp(point[..., 0]), np.exp(point[..., 1]), point[..., 2:]
    quality = raw * factor if factor.ndim == 1 else raw @ factor.T
    diverging = int(stats["diverging"].to_numpy()[:, :number].sum())
    notes = [out_of_time(effort, warmed + number)] if number < effort.draws else []
    notes += [f"{diverging} divergences"] if diverging else []
    return Run(
        quality=centred(np.sqrt(variance)[..., None] * quality),
        tie=tie,
        variance=variance,
        build_s=0.0,
        sample_s=0.0,
        gradients=int(stats["n_steps"].to_numpy()[:, :number].sum()),
        warmup_gradients=warmup_gradients,
        acceptance=float(stats["mean_tree_accept"].to_numpy()[:, :number].mean())
        if number
        else None,
        note="; ".join(notes),
        peak_mb=memory,
    )
