"""Many tasks with a chance of their own each, on as many processes or machines as there are.

What comes out depends on seeds alone: not on how many workers there were, nor on their order.
"""

from __future__ import annotations

import hashlib
import json
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence

from tiewise.engines.chains import Watch, one_blas_thread, unwatched
from tiewise.errors import InputError
from tiewise.plan.journal import Done, Journal, Row

TRIES = 2
"""How often a task that ends its worker is tried by itself before it is given up."""


class Task(NamedTuple):
    """A piece of work: its name, which decides its chance, and what it is about."""

    name: str
    about: Mapping[str, Any]


class Found(NamedTuple):
    """Rows of a task: those that depend on its seed alone, and those that depend on the machine."""

    rows: list[Row]
    timings: list[Row] = []  # noqa: RUF012  a tuple has no fresh list to give


Job = Callable[[Mapping[str, Any], SeedSequence], Found]
"""A function of a module, so that other processes can find it."""


@dataclass(frozen=True)
class Crew:
    """Who does the work: so many processes here, or the workers of a Dask cluster."""

    workers: int = 2
    dask: str | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"there must be a worker at least, not {self.workers}")


def carry_out(
    job: Job,
    tasks: Sequence[Task],
    *,
    seed: int,
    journal: Journal | None = None,
    crew: Crew | None = None,
    watch: Watch = unwatched,
    what: str = "simulating",
) -> list[Done]:
    """What came of each task, in the order of tasks; those in the journal are not done again.

    A task that fails does not stop the others: its error is in what came of it.
    """
    crew, journal = crew or Crew(), journal or Journal(None, {})
    left = {task.name: task for task in tasks if task.name not in journal.done}
    if len({task.name for task in tasks}) < len(tasks):
        raise ValueError("tasks of one name would have the same chance")
    watch(what, len(tasks) - len(left), len(tasks))
    with _working(crew) as each:
        while left:
            try:
                for done in each([_call(job, task, seed) for task in left.values()]):
                    journal.add(done)
                    del left[done.name]
                    watch(what, len(tasks) - len(left), len(tasks))
            except _worker_lost():
                for task in list(left.values())[: 2 * crew.workers]:
                    journal.add(_by_itself(each, job, task, seed))
                    del left[task.name]
    return [journal.done[task.name] for task in tasks]


def chance(seed: int, name: str) -> SeedSequence:
    """The source of chance of a task, which its name picks out."""
    digest = hashlib.sha256(name.encode()).digest()[:16]
    return SeedSequence(seed, spawn_key=tuple(np.frombuffer(digest, "<u4").tolist()))


def told_seed(source: SeedSequence) -> str:
    """A source of chance in writing: the seed and what picks out the task."""
    return f"{source.entropy}/" + "".join(f"{word:08x}" for word in source.spawn_key)


def worked(job: Job, task: Task, seed: int) -> Done:
    """Do a task with one BLAS thread; what it raises becomes its error."""
    source = chance(seed, task.name)
    try:
        with one_blas_thread():
            found = job(task.about, source)
        rows, timings = (json.loads(json.dumps(part, default=_plain)) for part in found)
        return Done(task.name, told_seed(source), rows, timings)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        told = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
        return Done(task.name, told_seed(source), [], [], told)


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy as those of Python."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be kept in a journal")


Call = Any
Each = Callable[[Sequence[Call]], Iterator[Done]]


def _call(job: Job, task: Task, seed: int) -> Call:
    from joblib import delayed

    return delayed(worked)(job, task, seed)


@contextmanager
def _working(crew: Crew) -> Iterator[Each]:
    """A way to have calls carried out, in whatever order they are ready."""
    from joblib import Parallel

    if crew.dask is None and crew.workers == 1:
        yield lambda calls: (function(*given) for function, given, _ in calls)
        return
    # One task a message: what is done is in the journal as soon as it is done.
    settings: dict[str, Any] = {"return_as": "generator_unordered", "batch_size": 1}
    if crew.dask is None:
        yield Parallel(crew.workers, backend="loky", **settings)
        return
    from joblib import parallel_config

    with _cluster(crew.dask) as client, parallel_config(backend="dask", client=client):
        yield Parallel(-1, **settings)


@contextmanager
def _cluster(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            "--dask needs Dask, which is not installed: pip install 'tiewise[dask]'"
        ) from None
    try:
        client = Client(address, timeout=20)
    except (OSError, ValueError, TimeoutError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"no Dask scheduler answers at {address!r} ({why}); start one with `dask scheduler`, "
            "or leave --dask out"
        ) from None
    with client:
        yield client


def _by_itself(each: Each, job: Job, task: Task, seed: int) -> Done:
    """A task that may have ended its worker, with no other beside it."""
    for _ in range(TRIES):
        try:
            return next(iter(each([_call(job, task, seed)])))
        except _worker_lost():
            continue
    source = told_seed(chance(seed, task.name))
    return Done(task.name, source, [], [], f"its worker ended {TRIES} times in the middle of it")


def _worker_lost() -> tuple[type[Exception], ...]:
    """What is raised when a worker dies: by joblib's own processes, and by Dask."""
    from joblib.externals.loky.process_executor import BrokenProcessPool

    try:
        from distributed.scheduler import KilledWorker
    except ImportError:
        return (BrokenProcessPool,)
    return (BrokenProcessPool, KilledWorker)
