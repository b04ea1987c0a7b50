"""A process forked before there is work for it, so that it has loaded its libraries by then."""

from __future__ import annotations

import os
import pickle
import select
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, Any, Generic, TypeVar

from tiewise import forking
from tiewise.forking import end_process, fork

Result = TypeVar("Result")


class ReadyProcess:
    """A second process, where there can be one, that gets ready and then does jobs as they come.

    Jobs and their results are pickled: it does not know what came to be after it was forked.
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
            # from the other which of them the second one has done.
            self._queue, self._queue_end = os.pipe()
            self._done, self._done_end = os.pipe()
            os.set_blocking(self._queue, False)
            self._jobs_file = self._open.enter_context(TemporaryFile())
            self._results_file = self._open.enter_context(TemporaryFile())
            self._child = fork(self._serve)
            self._results_in = self._open.enter_context(_reader(self._results_file))
            os.close(self._done_end)
            for pipe in (self._queue, self._queue_end, self._done):
                self._open.callback(os.close, pipe)
        return self

    def __exit__(self, *error: object) -> None:
        """End it."""
        self._give_up()
        self._open.close()

    def begin(self, jobs: Sequence[Callable[[], Result]]) -> BegunJobs[Result]:
        """Hand it jobs, of which it does one after the other."""
        numbers = range(len(self._jobs), len(self._jobs) + len(jobs))
        self._jobs += jobs
        if self._child is not None and jobs:
            pickle.dump(list(jobs), self._jobs_file)
            self._jobs_file.flush()
            os.write(self._queue_end, bytes(numbers))
        return BegunJobs(self, numbers)

    def do_next(self) -> bool:
        """Do, here, the next job that it has not begun; whether there was one."""
        if self._child is None:
            return False
        try:
            (number,) = os.read(self._queue, 1)
        except BlockingIOError:
            return False
        self._results[number] = True, self._jobs[number]()
        return True

    def result(self, number: int) -> Any:
        """The result of a job, as soon as it is there; what failed is done again, here."""
        deadline = monotonic() + forking.PATIENCE
        while self._child is not None and number not in self._results:
            ready, _, _ = select.select([self._done], [], [], max(deadline - monotonic(), 0.0))
            if ready and (done := os.read(self._done, 1)):
                self._results[done[0]] = pickle.load(self._results_in)
            else:  # it hangs, or it has died
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
        jobs: list[Callable[[], object]] = []
        with _reader(self._jobs_file) as incoming:
            while number := self._next_number():
                while len(jobs) <= number[0]:
                    jobs += pickle.load(incoming)
                pickle.dump(_outcome(jobs[number[0]]), self._results_file)
                self._results_file.flush()
                os.write(self._done_end, number)

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

    def results(
        self, next_is: Callable[[int], object] = lambda place: None, *, share: bool = True
    ) -> list[Result]:
        """The results of all jobs, in their order; with `share` this process does some of them.

        `next_is` is called with the place of each job before its result is waited for.
        """
        while share and self._process.do_next():
            pass
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
