"""Workers for tasks: this process, several processes here, or a Dask cluster.

A worker that dies is replaced, and its task is done again.
"""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from threading import Thread
from typing import Any, NamedTuple

from tiewise.engines.threads import one_blas_thread_for_good
from tiewise.errors import InputError
from tiewise.jobs.journal import TaskRecord
from tiewise.jobs.versions import versions
from tiewise.optional import require
from tiewise.text import error_line

TRIES = 2
"""How often a task may lose its worker beside others, and then alone, before it fails."""
CONNECT_SECONDS, WORKER_SECONDS = 10, 30
"""Seconds in which a Dask scheduler must answer, and in which it must have a worker."""
LOST_WORKER = "its worker ended in the middle of it, each time it was tried"


class Task(NamedTuple):
    """A piece of work: its name, which decides its seed, and its inputs."""

    name: str
    inputs: Mapping[str, Any]


Work = Callable[[Task], TaskRecord]
"""What does a task; other processes must be able to import it."""
OnFailure = Callable[[Task, str], TaskRecord]
"""The record of a task that could not be done, from the task and the error."""
Records = Generator[TaskRecord, None, None]
Execute = Callable[[Work, OnFailure, Iterable[Task]], Records]
"""Do tasks; their records come in the order in which they are ready."""


@dataclass(frozen=True)
class WorkerPool:
    """A number of processes here, or the workers of the Dask cluster at an address."""

    workers: int = 2
    dask: str | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"there must be a worker at least, not {self.workers}")

    @contextmanager
    def open(self) -> Iterator[Execute]:
        """The function that does tasks on these workers."""
        if self.dask is not None:
            with _dask_client(self.dask) as client:
                yield partial(_on_dask, client, self.dask)
        elif self.workers == 1:
            yield lambda work, _, tasks: (work(task) for task in tasks)
        else:
            yield partial(_run_in_processes, self.workers)


# Processes on this machine.


def _run_in_processes(
    workers: int, work: Work, on_failure: OnFailure, tasks: Iterable[Task]
) -> Records:
    """Tasks on processes here; when one of these dies, all are started anew."""
    from joblib.externals.loky.process_executor import BrokenProcessPool

    left, lost = {task.name: task for task in tasks}, Counter[str]()
    while left:
        try:
            for record in _run_in_parallel(workers, work, list(left.values())):
                del left[record.name]
                yield record
        except BrokenProcessPool:
            # The task that ended the process may be any of those that ran, or none of them where
            # somebody killed it: first they are tried again in parallel, then each by itself.
            suspects = list(left)[: 2 * workers]
            lost.update(suspects)
            for name in suspects:
                if lost[name] >= TRIES:
                    yield _run_alone(work, on_failure, left.pop(name))


def _run_in_parallel(workers: int, work: Work, tasks: Iterable[Task]) -> Records:
    """Tasks in parallel, until a process dies."""
    from joblib import Parallel, delayed

    # One task per message, so that each is in the journal as soon as it is done.
    pool = Parallel(
        workers, backend="loky", return_as="generator_unordered", batch_size=1,
        initializer=_start_worker,
    )  # fmt: skip
    records = pool(delayed(run_in_worker)(work, task) for task in tasks)
    try:
        yield from records
    finally:
        # Stop what still runs, without a warning that it did.
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            records.close()


def _run_alone(work: Work, on_failure: OnFailure, task: Task) -> TaskRecord:
    """A task that may have ended its worker, with no other task beside it."""
    from joblib.externals.loky.process_executor import BrokenProcessPool

    for _ in range(TRIES):
        try:
            # With one worker joblib would do the task in this process.
            (record,) = _run_in_parallel(2, work, [task])
        except BrokenProcessPool:
            continue
        return record
    return on_failure(task, LOST_WORKER)


def run_in_worker(work: Work, task: Task) -> TaskRecord:
    """Do a task in a process that does nothing but tasks."""
    # Tasks may be threads of one process, so that none may restore the number of BLAS threads.
    one_blas_thread_for_good()
    return work(task)


def _start_worker() -> None:
    """Leave Ctrl-C, which reaches all processes of a terminal, to the parent, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # joblib's own workers would outlive a parent that was killed, and wait for more tasks.
    Thread(target=_exit_with_parent, args=[os.getppid()], daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


# A Dask cluster.


class _DaskOutcome(NamedTuple):
    """What Dask reports of a task: its status, and a result or an error with its traceback."""

    task: Task
    status: str
    result: Any

    @property
    def killed(self) -> bool:
        """Whether Dask gave it up, because its workers died again and again."""
        from distributed.scheduler import KilledWorker

        return self.status == "error" and isinstance(self.result[1], KilledWorker)


def _on_dask(
    client: Any, address: str, work: Work, on_failure: OnFailure, tasks: Iterable[Task]
) -> Records:
    """Tasks on a Dask cluster, which itself sends those of a dead worker to another one.

    Not through joblib: where Dask gives a task up, joblib (1.6) waits for it for ever.
    """
    suspects = []
    for outcome in _submit_all(client, work, tasks):
        if outcome.killed:
            suspects.append(outcome.task)
        else:
            yield _to_record(outcome, address, on_failure)
    # Dask blames every task of a dead worker. Alone, each shows whether it was the cause.
    for suspect in suspects:
        for outcome in _submit_all(client, work, [suspect]):
            yield _to_record(outcome, address, on_failure)


def _submit_all(client: Any, work: Work, tasks: Iterable[Task]) -> Iterator[_DaskOutcome]:
    """The outcome of each task, as soon as it is known."""
    from distributed import as_completed

    waiting, submitted = iter(tasks), dict[str, Task]()

    def submit(task: Task) -> Any:
        future = client.submit(run_in_worker, work, task, pure=False)
        submitted[future.key] = task
        return future

    # A few wait at each worker, not all of them: there may be many thousands.
    room = max(2 * sum(client.nthreads().values()), 1)
    running = as_completed(
        [submit(task) for task in islice(waiting, room)],
        loop=client.loop, with_results=True, raise_errors=False,
    )  # fmt: skip
    for future, result in running:
        yield _DaskOutcome(submitted.pop(future.key), future.status, result)
        for other in islice(waiting, 1):
            running.add(submit(other))


def _to_record(outcome: _DaskOutcome, address: str, on_failure: OnFailure) -> TaskRecord:
    if outcome.status == "error":
        return on_failure(
            outcome.task, LOST_WORKER if outcome.killed else error_line(outcome.result[1])
        )
    if outcome.status == "cancelled":
        raise InputError(
            f"the Dask scheduler at {address!r} went away; start it and the same command again, "
            "which goes on where it was"
        )
    # Finished, or "lost": its worker died after the result had been fetched.
    return TaskRecord(*outcome.result)


@contextmanager
def _dask_client(address: str) -> Iterator[Any]:
    """A client of the Dask cluster at this address, once there is a worker."""
    require("dask=", "distributed")
    from distributed import Client

    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address!r} ({error_line(error)}); start one with "
            "`dask scheduler`, or leave dask= out"
        ) from None
    with client:
        _require_worker(client, address)
        _require_same_versions(client)
        yield client


def _require_worker(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except (OSError, TimeoutError):
        raise InputError(
            f"the Dask cluster at {address!r} has no worker; start some with "
            f"`dask worker {client.scheduler.address}`"
        ) from None


def _require_same_versions(client: Any) -> None:
    """Refuse workers with other versions than here: their results might differ."""
    ours = _relevant_versions(versions())
    try:
        by_worker = client.run(versions)
    except ModuleNotFoundError as error:
        raise InputError(
            f"a Dask worker cannot do this work ({error}); install there what is installed here"
        ) from None
    for worker, theirs in by_worker.items():
        for name, version in _relevant_versions(theirs).items():
            if version != ours[name]:
                raise InputError(
                    f"the Dask worker at {worker} has {name} {version}, here it is {ours[name]}; "
                    "install the same there"
                )


def _relevant_versions(installed: Mapping[str, str]) -> dict[str, str]:
    """All but that of Python, whose arithmetic is the same in all versions we support."""
    return {name: version for name, version in installed.items() if name != "python"}
