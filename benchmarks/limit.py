"""The limit: as many draws from an N-dimensional Gaussian with a ready factor."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

REPEATS = 7


def seconds(size: int, draws: int) -> tuple[float, float]:
    """Best time of L @ z with the BLAS as it is, and with one thread of it."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((size, size))
    factor = np.linalg.cholesky(root @ root.T / size + np.eye(size))
    as_it_is = _best(factor, draws, rng)
    with threadpool_limits(1, user_api="blas"):
        return as_it_is, _best(factor, draws, rng)


def _best(factor: np.ndarray, draws: int, rng: np.random.Generator) -> float:
    times = []
    for _ in range(REPEATS):
        begun = perf_counter()
        factor @ rng.standard_normal((len(factor), draws))
        times.append(perf_counter() - begun)
    return min(times)
