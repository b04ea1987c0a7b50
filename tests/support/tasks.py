"""Tasks for workers, in a module that other processes can import."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from tiewise.jobs.journal import Journal
from tiewise.jobs.run import Task, TaskResult, WorkerPool, run_tasks
from tiewise.jobs.tables import RESULTS, write_tables

PATIENCE = 120.0
HEADING = {"seed": 5, "what": "a test"}
NUMBER = 8


def study_tasks(folder: Path, **more: object) -> list[Task]:
    """Tasks for `fit_study`, which leave a note in the folder."""
    note = str(folder / "note")
    return [Task(f"study {k}", {"number": k, "note": note, **more}) for k in range(NUMBER)]


def result_bytes(folder: Path, tasks: list[Task], pool: WorkerPool) -> bytes:
    """The bytes of results.parquet, with a journal in the folder."""
    journal = Journal(folder / "journal.jsonl", HEADING)
    records = run_tasks(fit_study, tasks, seed=5, journal=journal, pool=pool)
    write_tables(folder, records, HEADING)
    return (folder / RESULTS).read_bytes()


def start_counts(folder: Path) -> Counter[int]:
    """How often each task was started."""
    return Counter(map(int, (folder / "note").read_text(encoding="utf-8").split()))


def fit_study(inputs: Mapping[str, Any], seed: SeedSequence) -> TaskResult:
    """A made-up study and its fit, with dense linear algebra in it; times on the side.

    A file `inputs["note"]` gets a line. With `inputs["dies"]`, a file that is not there yet, it is
    written and the worker ends at once, as if somebody had killed it; a task that `fails` says so.
    """
    from tiewise.engines.laplace import Laplace
    from tiewise.model.bradley_terry import BradleyTerry
    from tiewise.model.quality_priors import Independent
    from tiewise.model.scalar_priors.fixed import Fixed
    from tiewise.model.simulate import Truth, simulate_counts
    from tiewise.progress import no_progress

    started = time.perf_counter()
    with Path(inputs["note"]).open("a", encoding="utf-8") as note:
        note.write(f"{inputs['number']}\n")
    if "dies" in inputs and not Path(inputs["dies"]).exists():
        Path(inputs["dies"]).touch()
        _die()
    if inputs.get("fails"):
        raise ValueError(f"number {inputs['number']}\nis unlucky")
    rng = np.random.default_rng(seed)
    items = tuple(map(str, range(8)))
    truth = Truth.from_priors(Independent(items), Fixed(1.0), Fixed(0.4), rng)
    model = BradleyTerry(simulate_counts(truth, 60, rng))
    draws = Laplace(draws=200).run(model, SeedSequence(int(rng.integers(2**31))), no_progress)
    quality = draws.quality.mean(axis=(0, 1))
    rows = [
        {"number": inputs["number"], "item": item, "error": mean - true}
        for item, mean, true in zip(items, quality, truth.quality, strict=True)
    ]
    return TaskResult(rows, [{"seconds": time.perf_counter() - started, "process": os.getpid()}])


def deadly(inputs: Mapping[str, Any], _seed: SeedSequence) -> TaskResult:
    """The end of the worker, where it says so, each time it is tried."""
    if inputs["deadly"]:
        _die()
    return TaskResult([{"alive": True}])


def threads(_inputs: Mapping[str, Any], seed: SeedSequence) -> TaskResult:
    """How many threads each BLAS has in the middle of a task, others beside it."""
    from threadpoolctl import threadpool_info

    size = int(np.random.default_rng(seed).integers(200, 400))
    for _ in range(20):
        np.linalg.cholesky(np.eye(size))
        time.sleep(0.01)
    libraries = {
        one["filepath"]: one["num_threads"]
        for one in threadpool_info()
        if one["user_api"] == "blas"
    }
    return TaskResult([{"library": name, "threads": number} for name, number in libraries.items()])


def waiting(inputs: Mapping[str, Any], _seed: SeedSequence) -> TaskResult:
    """A task that leaves its process's number, and ends when there is a file `inputs["go"]`."""
    folder, ends = Path(inputs["folder"]), time.monotonic() + PATIENCE
    (folder / f"{inputs['number']}.process").write_text(str(os.getpid()), encoding="utf-8")
    while not (folder / "go").exists() and time.monotonic() < ends:
        time.sleep(0.02)
    return TaskResult([{"number": inputs["number"]}])


def kinds(_inputs: Mapping[str, Any], _seed: SeedSequence) -> TaskResult:
    """Values of NumPy, one of each kind that rows are made of."""
    row = {"float": np.float64(0.1) + 0.2, "single": np.float32(0.5), "whole": np.int64(7),
           "flag": np.bool_(True), "none": None, "not": np.nan, "text": "é",
           "many": np.arange(3)}  # fmt: skip
    return TaskResult([row])


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(PATIENCE)
