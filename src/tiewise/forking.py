"""Work beside one's own, in a forked process, where that is safe; elsewhere one after the other.

A forked process has everything in memory that this one has, and so costs next to nothing to start.
It is safe only where no other thread of Python runs, which might hold a lock for ever.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from tempfile import TemporaryFile
from time import monotonic, sleep
from typing import IO, Generic, TypeVar

Result = TypeVar("Result")

PR_SET_PDEATHSIG = 1  # of Linux: the signal that a process gets when its parent ends
PATIENCE = 120.0  # seconds after which a process that has not ended does not count any more


def can_fork() -> bool:
    """Whether a second process can be forked safely, and has a core of its own."""
    return (
        sys.platform == "linux"
        and threading.active_count() == 1
        and len(os.sched_getaffinity(0)) > 1
    )


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Do `work`, which leaves its results in files, in a second process while the block runs.

    Where there cannot be one, or it fails, the work is done in this process after the block.
    """
    child = fork(work) if can_fork() else None
    done = False
    try:
        yield
        done = child is not None and ended_well(child, PATIENCE)
    finally:
        if child is not None and not done:
            end_process(child)
    if not done:
        work()


def share_out(
    jobs: Sequence[Callable[[], Result]], done: Callable[[int], None] = lambda number: None
) -> list[Result]:
    """The results of jobs, in their order; a second process takes some of them if it can.

    Results are pickled there. `done` is called, in this process, with the number of jobs begun.
    """
    with SharedJobs(jobs) as shared:
        return shared.results(done)


class SharedJobs(Generic[Result]):
    """Jobs that a second process begins with at once, where there can be one, while a block runs.

    In the block `results` does what nobody has begun; whatever the other process could not do, too.
    """

    def __init__(self, jobs: Sequence[Callable[[], Result]]) -> None:
        self._jobs = jobs
        # A pipe is a queue of jobs: whoever is free reads the next byte.
        self._queue, end = os.pipe()
        os.write(end, bytes(range(len(jobs))))
        os.close(end)
        self._file = TemporaryFile()  # noqa: SIM115
        self._child: int | None = None

    def __enter__(self) -> SharedJobs[Result]:
        """Begin."""
        if can_fork():
            self._child = fork(partial(_write_results, self._jobs, self._queue, self._file))
        return self

    def __exit__(self, *error: object) -> None:
        """End the other process, if it still runs."""
        if self._child is not None:
            end_process(self._child)
        self._file.close()
        os.close(self._queue)

    def results(self, done: Callable[[int], None] = lambda number: None) -> list[Result]:
        """The results of all jobs, in their order; `done` is called with the number of each begun.

        Results of the other process were pickled.
        """
        own: dict[int, Result] = {}
        for k in _next_jobs(self._queue):
            done(k)
            own[k] = self._jobs[k]()
        if self._child is not None:
            if not ended_well(self._child, PATIENCE):
                end_process(self._child)
            self._child = None
            own.update(_read_results(self._file))
        return [own[k] if k in own else job() for k, job in enumerate(self._jobs)]


def _next_jobs(queue: int) -> Iterator[int]:
    while number := os.read(queue, 1):
        yield number[0]


def _write_results(jobs: Sequence[Callable[[], Result]], queue: int, file: IO[bytes]) -> None:
    for k in _next_jobs(queue):
        pickle.dump((k, jobs[k]()), file)
        file.flush()


def _read_results(file: IO[bytes]) -> Iterator[tuple[int, Result]]:
    """What the other process has finished; it may have been ended in the middle of a result."""
    file.seek(0)
    with suppress(EOFError, pickle.UnpicklingError):
        while True:
            yield pickle.load(file)


def fork(work: Callable[[], object]) -> int:
    """The id of a process that does the work, says nothing, and ends with 0 if all went well."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


@contextmanager
def twin(work: Callable[[], object]) -> Iterator[None]:
    """Do `work`, in a forked process, where this one, forked itself, does the same in the block.

    Neither outlives the other: it would go on as if all were well. After the block both are done.
    """
    other = fork(partial(_end_with_parent, work))

    def end_as_well(*ended: object) -> None:
        with suppress(ChildProcessError):
            if os.waitpid(other, os.WNOHANG)[1]:
                os._exit(1)

    signal.signal(signal.SIGCHLD, end_as_well)
    yield
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with suppress(ChildProcessError):  # it ended before
        os.waitpid(other, 0)


def _end_with_parent(work: Callable[[], object]) -> None:
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == parent:
        work()


def ended_well(child: int, patience: float) -> bool:
    """Whether a process that was forked ends, with 0, within so many seconds."""
    deadline = monotonic() + patience
    while monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        sleep(0.002)
    return False


def end_process(child: int) -> None:
    """End a process that was forked, whatever it does."""
    with suppress(ProcessLookupError, ChildProcessError):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
