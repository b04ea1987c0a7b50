"""Tasks for workers, in a module that other processes can import."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from tiewise.jobs.run import Found

PATIENCE = 120.0


def fitted(about: Mapping[str, Any], source: SeedSequence) -> Found:
    """A made-up study and its fit, with dense linear algebra in it; times on the side.

    A file `about["note"]` gets a line. With `about["dies"]`, a file that is not there yet, it is
    written and the worker ends at once, as if somebody had killed it; a task that `fails` says so.
    """
    from tiewise.engines.laplace import Laplace
    from tiewise.model.bradley_terry import BradleyTerry
    from tiewise.model.quality_priors import Independent
    from tiewise.model.scalar_priors import Fixed
    from tiewise.model.simulate import Truth, simulate_counts
    from tiewise.progress import no_progress

    begun = time.perf_counter()
    with Path(about["note"]).open("a", encoding="utf-8") as note:
        note.write(f"{about['number']}\n")
    if "dies" in about and not Path(about["dies"]).exists():
        Path(about["dies"]).touch()
        _die()
    if about.get("fails"):
        raise ValueError(f"number {about['number']}\nis unlucky")
    rng = np.random.default_rng(source)
    items = tuple(map(str, range(8)))
    truth = Truth.drawn(Independent(items), Fixed(1.0), Fixed(0.4), rng)
    model = BradleyTerry(simulate_counts(truth, 60, rng))
    draws = Laplace(draws=200).run(model, SeedSequence(int(rng.integers(2**31))), no_progress)
    quality = draws.quality.mean(axis=(0, 1))
    rows = [
        {"number": about["number"], "item": item, "error": mean - true}
        for item, mean, true in zip(items, quality, truth.quality, strict=True)
    ]
    return Found(rows, [{"seconds": time.perf_counter() - begun, "process": os.getpid()}])


def deadly(about: Mapping[str, Any], _source: SeedSequence) -> Found:
    """The end of the worker, where it says so, each time it is tried."""
    if about["deadly"]:
        _die()
    return Found([{"alive": True}])


def threads(_about: Mapping[str, Any], source: SeedSequence) -> Found:
    """How many threads each BLAS has in the middle of a task, others beside it."""
    from threadpoolctl import threadpool_info

    size = int(np.random.default_rng(source).integers(200, 400))
    for _ in range(20):
        np.linalg.cholesky(np.eye(size))
        time.sleep(0.01)
    found = {one["filepath"]: one["num_threads"] for one in threadpool_info()
             if one["user_api"] == "blas"}  # fmt: skip
    return Found([{"library": name, "threads": number} for name, number in found.items()])


def waiting(about: Mapping[str, Any], _source: SeedSequence) -> Found:
    """A task that leaves its process's number, and ends when there is a file `about["go"]`."""
    folder, ends = Path(about["folder"]), time.monotonic() + PATIENCE
    (folder / f"{about['number']}.process").write_text(str(os.getpid()), encoding="utf-8")
    while not (folder / "go").exists() and time.monotonic() < ends:
        time.sleep(0.02)
    return Found([{"number": about["number"]}])


def kinds(_about: Mapping[str, Any], _source: SeedSequence) -> Found:
    """Values of NumPy, one of each kind that rows are made of."""
    return Found([{"float": np.float64(0.1) + 0.2, "single": np.float32(0.5), "whole": np.int64(7),
                   "flag": np.bool_(True), "none": None, "not": np.nan, "text": "é",
                   "many": np.arange(3)}])  # fmt: skip


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(PATIENCE)
