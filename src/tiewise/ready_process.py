"""A process forked before there is work for it, so that it has loaded its libraries by then."""

from __future__ import annotations

import os
import pickle
import select
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, Any, Generic, TypeVar

from tiewise import forking
from tiewise.forking import end_process, fork

Result = TypeVar("Result")

FAREWELL = 1.0  # seconds for it to end by itself


class ReadyProcess:
    """A second process, where there can be one, that gets ready and then does jobs as they come.

    Once it is ready it forks a third, which is ready, too, and shares the jobs with it. Jobs and
    their results are pickled: the two do not know what came to be after they were forked.
    """

    def __init__(self, get_ready: Callable[[], object] = lambda: None) -> None:
        self._get_ready = get_ready
        self._child: int | None = None
        self._jobs: list[Callable[[], Any]] = []
        self._results: dict[int, tuple[bool, Any]] = {}
        self._open = ExitStack()

    def __enter__(self) -> ReadyProcess:
        """Fork it."""
        if forking.can_fork():
            # Whoever is free reads the number of the next job from one pipe; this process reads
            # from the other which of the two has done which of them.
            self._queue, self._queue_end = os.pipe()
            self._done, self._done_end = os.pipe()
            os.set_blocking(self._queue, False)
            enter = self._open.enter_context
            self._jobs_file = enter(TemporaryFile())
            self._results_files = enter(TemporaryFile()), enter(TemporaryFile())
            self._child = fork(self._serve)
            self._results_in = [enter(_reader(file)) for file in self._results_files]
            os.close(self._done_end)
            for pipe in (self._queue, self._done):
                self._open.callback(os.close, pipe)
        return self

    def __exit__(self, *error: object) -> None:
        """End it; by itself, where it has nothing left to do."""
        if self._child is not None:
            os.close(self._queue_end)
            if error[0] is None and forking.ended_well(self._child, FAREWELL):
                self._child = None
        self._give_up()
        self._open.close()

    def begin(self, jobs: Sequence[Callable[[], Result]]) -> BegunJobs[Result]:
        """Hand it jobs, which are begun in their order."""
        numbers = range(len(self._jobs), len(self._jobs) + len(jobs))
        self._jobs += jobs
        if self._child is not None and jobs:
            pickle.dump(list(jobs), self._jobs_file)
            self._jobs_file.flush()
            os.write(self._queue_end, bytes(numbers))
        return BegunJobs(self, numbers)

    def result(self, number: int) -> Any:
        """The result of a job, as soon as it is there; what failed is done again, here."""
        deadline = monotonic() + forking.PATIENCE
        while self._child is not None and number not in self._results:
            ready, _, _ = select.select([self._done], [], [], max(deadline - monotonic(), 0.0))
            if ready and (done := os.read(self._done, 2)):
                self._results[done[1]] = pickle.load(self._results_in[done[0]])
            else:  # it hangs, or it has died
                os.close(self._queue_end)
                self._give_up()
        went_well, result = self._results.get(number, (False, None))
        return result if went_well else self._jobs[number]()

    def _give_up(self) -> None:
        if self._child is not None:
            end_process(self._child)
        self._child = None

    def _serve(self) -> None:
        """What the second process does, until the first closes the queue."""
        os.close(self._queue_end)
        self._get_ready()
        with forking.twin(partial(self._do_jobs, 1)):
            self._do_jobs(0)

    def _do_jobs(self, which: int) -> None:
        """Do what nobody has begun, and say so: the first or the second of the two."""
        jobs: list[Callable[[], object]] = []
        with _reader(self._jobs_file) as incoming:
            while number := self._next_number():
                while len(jobs) <= number[0]:
                    jobs += pickle.load(incoming)
                pickle.dump(_outcome(jobs[number[0]]), self._results_files[which])
                self._results_files[which].flush()
                os.write(self._done_end, bytes([which]) + number)

    def _next_number(self) -> bytes:
        """The number of the next job, as a byte; none once the queue is closed."""
        while True:
            select.select([self._queue], [], [])
            with suppress(BlockingIOError):  # the other process was quicker
                return os.read(self._queue, 1)


class BegunJobs(Generic[Result]):
    """Jobs that a ready process has begun with."""

    def __init__(self, process: ReadyProcess, numbers: range) -> None:
        self._process, self._numbers = process, numbers

    def results(self, next_is: Callable[[int], object] = lambda place: None) -> list[Result]:
        """The results of all jobs, in their order.

        `next_is` is called with the place of each job before its result is waited for.
        """
        out: list[Result] = []
        for place, number in enumerate(self._numbers):
            next_is(place)
            out.append(self._process.result(number))
        return out


def _outcome(job: Callable[[], object]) -> tuple[bool, object]:
    """Whether a job went well, and its result."""
    try:
        return True, job()
    except Exception:
        return False, None


def _reader(file: IO[bytes]) -> IO[bytes]:
    """A file without a name, opened once more, to be read from its start while it grows."""
    return Path(f"/proc/self/fd/{file.fileno()}").open("rb")
