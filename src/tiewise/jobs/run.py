"""Many independent tasks with a seed each, on as many processes or machines as there are.

Results depend on seeds alone: not on the number of workers, nor on the order of tasks.
"""

from __future__ import annotations

import hashlib
import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence

from tiewise.engines.threads import one_blas_thread
from tiewise.jobs.journal import Journal, Row, TaskRecord
from tiewise.jobs.workers import Task as Task
from tiewise.jobs.workers import WorkerPool as WorkerPool
from tiewise.progress import Progress, no_progress
from tiewise.text import error_line


class TaskResult(NamedTuple):
    """Rows of a task: those that depend on its seed alone, and those that depend on the machine."""

    rows: list[Row]
    timings: list[Row] = []  # noqa: RUF012  a NamedTuple has no default factories


Job = Callable[[Mapping[str, Any], SeedSequence], TaskResult]
"""A function of the inputs of a task and its seed, in a module that other processes can import."""


def run_tasks(
    job: Job,
    tasks: Sequence[Task],
    *,
    seed: int,
    journal: Journal | None = None,
    pool: WorkerPool | None = None,
    progress: Progress = no_progress,
    what: str = "simulating",
) -> list[TaskRecord]:
    """The record of each task, in the order of tasks; those in the journal are not done again.

    A task that fails, or that ends its worker each time it is tried, does not stop the others: its
    record has the error.
    """
    if len({task.name for task in tasks}) < len(tasks):
        raise ValueError("tasks of one name would have the same chance")
    pool, journal = pool or WorkerPool(), journal or Journal(None, {})
    left = [task for task in tasks if task.name not in journal.records]
    finished = len(tasks) - len(left)
    progress(what, finished, len(tasks))
    if left:
        work, on_failure = partial(run_task, job, seed), partial(failure_record, seed)
        with pool.open() as execute, closing(execute(work, on_failure, left)) as records:
            for record in records:
                journal.add(record)
                finished += 1
                progress(what, finished, len(tasks))
    return [journal.records[task.name] for task in tasks]


def task_seed(seed: int, name: str) -> SeedSequence:
    """The seed of a task: the seed of the run, with a spawn key made of the name of the task."""
    digest = hashlib.sha256(name.encode()).digest()[:16]
    return SeedSequence(seed, spawn_key=tuple(np.frombuffer(digest, "<u4").tolist()))


def seed_text(seed: SeedSequence) -> str:
    """A seed in writing: the seed of the run, and the spawn key of the task."""
    return f"{seed.entropy}/" + "".join(f"{word:08x}" for word in seed.spawn_key)


def run_task(job: Job, seed: int, task: Task) -> TaskRecord:
    """Do a task with one BLAS thread; what it raises becomes its error."""
    own_seed = task_seed(seed, task.name)
    try:
        with one_blas_thread():
            result = job(task.inputs, own_seed)
        rows, timings = (json.loads(json.dumps(part, default=_plain)) for part in result)
        return TaskRecord(task.name, seed_text(own_seed), rows, timings)
    except (Exception, SystemExit) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return failure_record(
            seed, task, f"{error_line(error)} ({where.name}, line {where.lineno})"
        )


def failure_record(seed: int, task: Task, error: str) -> TaskRecord:
    """The record of a task that failed."""
    return TaskRecord(task.name, seed_text(task_seed(seed, task.name)), [], [], error)


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy as those of Python."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be kept in a journal")
