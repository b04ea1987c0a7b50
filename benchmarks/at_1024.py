"""N = 1024 more closely: files for the command, seconds of the map, where sampling time goes."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401  its own BLAS must be there to be held to one thread

from benchmarks.data import SEED, synthetic
from tiewise.engines.chain_block import ChainBlock, TrajectorySettings
from tiewise.engines.preconditioners.plain import build_preconditioner
from tiewise.engines.threads import one_blas_thread
from tiewise.engines.transport import Transport
from tiewise.experiments.designs import scaling_study
from tiewise.posterior.fit import fit

SIZE = 1024


def write(folder: Path) -> None:
    """counts.csv and matrix.csv of the largest data set, as `tiewise fit` reads them."""
    matrix, counts = scaling_study(SIZE, np.random.default_rng([SEED, SIZE]))
    items = counts.items
    columns = (counts.first, counts.second, counts.wins_first, counts.wins_second, counts.ties)
    with (folder / "counts.csv").open("w", newline="") as file:
        sheet = csv.writer(file)
        sheet.writerow(["item_1", "item_2", "wins_1", "wins_2", "ties"])
        for i, j, *numbers in zip(*columns, strict=True):
            sheet.writerow([items[i], items[j], *numbers])
    np.savetxt(
        folder / "matrix.csv", matrix, delimiter=",", fmt="%.17g", header=",".join(items),
        comments="",
    )  # fmt: skip


def measure() -> dict[str, Any]:
    """Seconds of the map on one core, and what a Transport run spends its sampling on."""
    return {**_map(), "transport_1024": _spent()}


def _map() -> dict[str, float]:
    """From the bare covariance (its factor is part of the map), and with the factor ready."""
    build_preconditioner(synthetic(64))  # compiles
    with _one_core(), one_blas_thread():
        models = [synthetic(SIZE) for _ in range(3)]
        whole = [_timed(lambda m=model: build_preconditioner(m)) for model in models]
        again = [_timed(lambda m=model: build_preconditioner(m)) for model in models]
    return {"map_1024_s": min(whole), "map_1024_factor_ready_s": min(again)}


def _spent() -> dict[str, float]:
    """What a Transport run takes, and the shares of a trajectory's time, on one block of chains."""
    engine, model = Transport(), synthetic(SIZE)
    fit(synthetic(64), engine, rng=1)  # compiles
    facts = fit(model, engine, rng=1, ess=0).attrs
    steps, width = int(facts["engine_steps"]), engine.chains // engine.blocks
    with one_blas_thread():
        preconditioner = build_preconditioner(model)
        rng = np.random.default_rng(1)
        block = ChainBlock(
            preconditioner, rng.standard_normal((preconditioner.dimensions, width)), rng
        )
        at, size = block.parameters, block.q.shape
        settings = TrajectorySettings(float(facts["engine_angle"]), steps)
        # Turn by turn, so that a slower moment of the machine is everybody's.
        each = _turns({
            "trajectory": lambda: block.transition(settings),
            "end": lambda: preconditioner.basis @ at.x,
            "up": lambda: preconditioner.basis_single @ at.x.astype("f4"),
            "down": lambda: preconditioner.basis_single.T @ at.quality.astype("f4"),
            "slope": lambda: model.gradient(at.quality.astype("f4"), at.tie),
            "value": lambda: model.log_likelihood(at.quality, at.tie),
            "normal": lambda: rng.standard_normal(size),
        })  # fmt: skip
    shares = {
        "product_that_places_the_end": each["end"],
        "products_for_kicks": (steps - 1) * each["up"] + steps * each["down"],
        "slope_of_the_likelihood": steps * each["slope"],
        "value_of_the_likelihood": each["value"],
        "fresh_momentum": each["normal"],
    }
    shares = {what: seconds / each["trajectory"] for what, seconds in shares.items()}
    pilot, sampling = (int(facts[f"engine_{key}"]) for key in ("pilot_gradients", "gradients"))
    return {
        "sample_s": float(facts["sample_seconds"]),
        "build_s": float(facts["build_seconds"]),
        "pilot_share_of_gradients": pilot / (pilot + sampling),
        **shares,
        "the_rest": 1 - sum(shares.values()),
    }


def _turns(pieces: Mapping[str, Callable[[], object]], times: int = 40) -> dict[str, float]:
    """Median seconds of each piece, measured in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in pieces}
    for _ in range(times):
        for name, work in pieces.items():
            seconds[name].append(_timed(work))
    return {name: float(np.median(some)) for name, some in seconds.items()}


def _timed(work: Callable[[], object], times: int = 1) -> float:
    seconds = []
    for _ in range(times):
        begun = perf_counter()
        work()
        seconds.append(perf_counter() - begun)
    return float(np.median(seconds))


@contextmanager
def _one_core() -> Any:
    """Hold this process to one core, where the system lets it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]))
    else:
        print(json.dumps(measure()))
