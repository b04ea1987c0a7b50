"""Who carries out tasks: this process, several processes here, or the workers of a Dask cluster.

A worker that dies is replaced, and what it was doing is done again.
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
from tiewise.jobs.journal import Done
from tiewise.jobs.versions import versions

TRIES = 2
"""How often a task may lose its worker among others, and then alone, before it is given up."""
KNOCKING, GATHERING = 10, 30
"""Seconds in which a Dask scheduler must answer, and in which it must have a worker."""
LOST = "its worker ended in the middle of it, each time it was tried"


class Task(NamedTuple):
    """A piece of work: its name, which decides its chance, and what it is about."""

    name: str
    about: Mapping[str, Any]


Work = Callable[[Task], Done]
"""What does a task; other processes must be able to find it."""
GiveUp = Callable[[Task, str], Done]
"""What is to be said of a task that could not be done, and why."""
Coming = Generator[Done, None, None]
Each = Callable[[Work, GiveUp, Iterable[Task]], Coming]
"""A way to have tasks done; they come back in whatever order they are ready."""


@dataclass(frozen=True)
class Crew:
    """Who does the work: so many processes here, or the workers of a Dask cluster."""

    workers: int = 2
    dask: str | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"there must be a worker at least, not {self.workers}")

    @contextmanager
    def at_work(self) -> Iterator[Each]:
        """The crew's way to have tasks done."""
        if self.dask is not None:
            with _cluster(self.dask) as client:
                yield partial(_on_dask, client, self.dask)
        elif self.workers == 1:
            yield lambda work, _, tasks: (work(task) for task in tasks)
        else:
            yield partial(_here, self.workers)


# Processes on this machine.


def _here(workers: int, work: Work, give_up: GiveUp, tasks: Iterable[Task]) -> Coming:
    """Tasks done by processes here; when one of these dies, all are started anew."""
    from joblib.externals.loky.process_executor import BrokenProcessPool

    left, lost = {task.name: task for task in tasks}, Counter[str]()
    while left:
        try:
            for done in _together(workers, work, list(left.values())):
                del left[done.name]
                yield done
        except BrokenProcessPool:
            # Nobody knows which of those under way it was. Mostly it was none: somebody ended the
            # process, and they are tried again side by side. Else each of them by itself.
            suspects = list(left)[: 2 * workers]
            lost.update(suspects)
            for name in suspects:
                if lost[name] >= TRIES:
                    yield _alone(work, give_up, left.pop(name))


def _together(workers: int, work: Work, tasks: Iterable[Task]) -> Coming:
    """Tasks done side by side, until a process dies."""
    from joblib import Parallel, delayed

    # One task a message: what is done is in the journal as soon as it is done.
    pool = Parallel(
        workers, backend="loky", return_as="generator_unordered", batch_size=1,
        initializer=_enlisted,
    )  # fmt: skip
    found = pool(delayed(away)(work, task) for task in tasks)
    try:
        yield from found
    finally:
        # Stop what is still under way, without the warning that it was.
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            found.close()


def _alone(work: Work, give_up: GiveUp, task: Task) -> Done:
    """A task that may have ended its worker, with no other beside it."""
    from joblib.externals.loky.process_executor import BrokenProcessPool

    for _ in range(TRIES):
        try:
            # Of one worker joblib would make none: it would do the task in this process.
            (done,) = _together(2, work, [task])
        except BrokenProcessPool:
            continue
        return done
    return give_up(task, LOST)


def away(work: Work, task: Task) -> Done:
    """Do a task in a process that has nothing else to do, or only other tasks beside it."""
    # Tasks may share a process as threads, so that none must put back what it found there.
    one_blas_thread_for_good()
    return work(task)


def _enlisted() -> None:
    """Leave Ctrl-C, which all processes of a terminal hear, to the parent, and end when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # joblib's own workers would outlive a parent that was killed, and wait for more to do.
    Thread(target=_outlived, args=[os.getppid()], daemon=True).start()


def _outlived(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


# A Dask cluster.


class _Outcome(NamedTuple):
    """What Dask says came of a task: its status, and a result or an error with its traceback."""

    task: Task
    status: str
    result: Any

    @property
    def killed(self) -> bool:
        """Whether it was given up, because workers died again and again that were at it."""
        from distributed.scheduler import KilledWorker

        return self.status == "error" and isinstance(self.result[1], KilledWorker)


def _on_dask(
    client: Any, address: str, work: Work, give_up: GiveUp, tasks: Iterable[Task]
) -> Coming:
    """Tasks done by a Dask cluster, which itself sends those of a dead worker to another one.

    Not through joblib: where Dask gives a task up, joblib (1.6) waits for it for ever.
    """
    suspects = []
    for outcome in _sent(client, work, tasks):
        if outcome.killed:
            suspects.append(outcome.task)
        else:
            yield _told(outcome, address, give_up)
    # Dask blames every task that a dead worker was at. By itself each shows whether it was the one.
    for suspect in suspects:
        for outcome in _sent(client, work, [suspect]):
            yield _told(outcome, address, give_up)


def _sent(client: Any, work: Work, tasks: Iterable[Task]) -> Iterator[_Outcome]:
    """What came of each task, as soon as it is known."""
    from distributed import as_completed

    waiting, sent = iter(tasks), dict[str, Task]()

    def send(task: Task) -> Any:
        future = client.submit(away, work, task, pure=False)
        sent[future.key] = task
        return future

    # Some are waiting at each worker, not all of them: there may be many thousands.
    room = max(2 * sum(client.nthreads().values()), 1)
    under_way = as_completed(
        [send(task) for task in islice(waiting, room)],
        loop=client.loop, with_results=True, raise_errors=False,
    )  # fmt: skip
    for future, result in under_way:
        yield _Outcome(sent.pop(future.key), future.status, result)
        for other in islice(waiting, 1):
            under_way.add(send(other))


def _told(outcome: _Outcome, address: str, give_up: GiveUp) -> Done:
    if outcome.status == "finished":
        return Done(*outcome.result)
    if outcome.status == "error":
        return give_up(outcome.task, LOST if outcome.killed else one_line(outcome.result[1]))
    raise InputError(
        f"the Dask scheduler at {address!r} went away; start it and the same command again, which "
        "goes on where it was"
    )


@contextmanager
def _cluster(address: str) -> Iterator[Any]:
    """A client of the Dask cluster at this address, once there is a worker."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            "--dask needs Dask, which is not installed: pip install 'tiewise[dask]'"
        ) from None
    try:
        client = Client(address, timeout=KNOCKING, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address!r} ({one_line(error)}); start one with "
            "`dask scheduler`, or leave --dask out"
        ) from None
    with client:
        _refuse_nobody(client, address)
        _refuse_strangers(client)
        yield client


def _refuse_nobody(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=GATHERING)
    except (OSError, TimeoutError):
        raise InputError(
            f"the Dask cluster at {address!r} has no worker; start some with "
            f"`dask worker {client.scheduler.address}`"
        ) from None


def _refuse_strangers(client: Any) -> None:
    """Say so where workers have other versions than we: results would not be the same there."""
    ours = _deciding(versions())
    try:
        found = client.run(versions)
    except ModuleNotFoundError as error:
        raise InputError(
            f"a Dask worker cannot do this work ({error}); install there what is installed here"
        ) from None
    for worker, theirs in found.items():
        for name, version in _deciding(theirs).items():
            if version != ours[name]:
                raise InputError(
                    f"the Dask worker at {worker} has {name} {version}, here it is {ours[name]}; "
                    "install the same there"
                )


def _deciding(found: Mapping[str, str]) -> dict[str, str]:
    """Without Python itself, whose own arithmetic is the same in all versions we run on."""
    return {name: version for name, version in found.items() if name != "python"}


def one_line(error: BaseException) -> str:
    """What an error says, on one line, and of what kind it is."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
