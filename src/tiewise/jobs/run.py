"""Many tasks with a chance of their own each, on as many processes or machines as there are.

What comes out depends on seeds alone: not on how many workers there were, nor on their order.
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
from tiewise.jobs.journal import Done, Journal, Row
from tiewise.jobs.workers import Crew as Crew
from tiewise.jobs.workers import Task as Task
from tiewise.jobs.workers import one_line
from tiewise.progress import Progress, no_progress


class Found(NamedTuple):
    """Rows of a task: those that depend on its seed alone, and those that depend on the machine."""

    rows: list[Row]
    timings: list[Row] = []  # noqa: RUF012  a tuple has no fresh list to give


Job = Callable[[Mapping[str, Any], SeedSequence], Found]
"""A function of a module, so that other processes can find it."""


def carry_out(
    job: Job,
    tasks: Sequence[Task],
    *,
    seed: int,
    journal: Journal | None = None,
    crew: Crew | None = None,
    progress: Progress = no_progress,
    what: str = "simulating",
) -> list[Done]:
    """What came of each task, in the order of tasks; those in the journal are not done again.

    A task that fails, or that ends its worker each time it is tried, does not stop the others: its
    error is in what came of it.
    """
    if len({task.name for task in tasks}) < len(tasks):
        raise ValueError("tasks of one name would have the same chance")
    crew, journal = crew or Crew(), journal or Journal(None, {})
    left = [task for task in tasks if task.name not in journal.done]
    finished = len(tasks) - len(left)
    progress(what, finished, len(tasks))
    if left:
        work, give_up = partial(worked, job, seed), partial(given_up, seed)
        with crew.at_work() as each, closing(each(work, give_up, left)) as found:
            for done in found:
                journal.add(done)
                finished += 1
                progress(what, finished, len(tasks))
    return [journal.done[task.name] for task in tasks]


def chance(seed: int, name: str) -> SeedSequence:
    """The source of chance of a task, which its name picks out."""
    digest = hashlib.sha256(name.encode()).digest()[:16]
    return SeedSequence(seed, spawn_key=tuple(np.frombuffer(digest, "<u4").tolist()))


def told_seed(source: SeedSequence) -> str:
    """A source of chance in writing: the seed and what picks out the task."""
    return f"{source.entropy}/" + "".join(f"{word:08x}" for word in source.spawn_key)


def worked(job: Job, seed: int, task: Task) -> Done:
    """Do a task with one BLAS thread; what it raises becomes its error."""
    source = chance(seed, task.name)
    try:
        with one_blas_thread():
            found = job(task.about, source)
        rows, timings = (json.loads(json.dumps(part, default=_plain)) for part in found)
        return Done(task.name, told_seed(source), rows, timings)
    except (Exception, SystemExit) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return given_up(seed, task, f"{one_line(error)} ({where.name}, line {where.lineno})")


def given_up(seed: int, task: Task, why: str) -> Done:
    """What is said of a task that came to nothing."""
    return Done(task.name, told_seed(chance(seed, task.name)), [], [], why)


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy as those of Python."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be kept in a journal")
