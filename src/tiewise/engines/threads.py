"""Chains on threads, and a BLAS that leaves the cores to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
from numpy.random import Generator, SeedSequence

from tiewise.progress import ProgressCounter

Result = TypeVar("Result")
Thing = TypeVar("Thing")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Leave the cores to our own threads: a BLAS that also wants them only gets in the way."""
    # SciPy brings a BLAS of its own, and only those already loaded can be limited.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield


def one_blas_thread_for_good() -> None:
    """The same for the rest of this process, whose threads would else undo it for each other."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")


def side_by_side(
    run: Callable[[Generator, ProgressCounter], Result],
    seeds: Sequence[SeedSequence],
    counter: ProgressCounter,
    threads: int,
) -> list[Result]:
    """One result per seed, in the order of seeds, whatever the number of threads."""
    return in_threads(run, [np.random.default_rng(seed) for seed in seeds], counter, threads)


def in_threads(
    run: Callable[[Thing, ProgressCounter], Result],
    things: Sequence[Thing],
    counter: ProgressCounter,
    threads: int,
) -> list[Result]:
    """One result per thing, in the order of things, whatever the number of threads."""
    with ThreadPoolExecutor(max_workers=threads) as pool:
        try:
            futures = [pool.submit(run, thing, counter) for thing in things]
            # Whichever fails first speaks; the others are not waited for, but stopped.
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
            return [future.result() for future in futures]
        except BaseException:
            counter.stopped.set()
            raise
