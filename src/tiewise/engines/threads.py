"""Chains on threads, and a BLAS limited to one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
from numpy.random import Generator, SeedSequence

from tiewise.progress import ProgressCounter

Result = TypeVar("Result")
Task = TypeVar("Task")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, because it would compete with our own threads for the cores."""
    # SciPy has a BLAS of its own, and only those already loaded can be limited.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield


def one_blas_thread_for_good() -> None:
    """The same for the rest of the process, where several threads would undo it for each other."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")


def chain_generators(seed: SeedSequence, chains: int) -> list[Generator]:
    """A generator of its own for each chain."""
    return [np.random.default_rng(own) for own in seed.spawn(chains)]


def in_threads(
    run: Callable[[Task, ProgressCounter], Result],
    tasks: Sequence[Task],
    counter: ProgressCounter,
    threads: int,
) -> list[Result]:
    """One result per task, in the order of tasks, for any number of threads."""
    with ThreadPoolExecutor(max_workers=threads) as pool:
        try:
            futures = [pool.submit(run, task, counter) for task in tasks]
            # The first failure is raised; the other tasks are stopped, not waited for.
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
            return [future.result() for future in futures]
        except BaseException:
            counter.stopped.set()
            raise
