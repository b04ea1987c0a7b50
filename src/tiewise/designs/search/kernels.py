"""Compiled loops of the search for optimal designs: the best pair, and one comparison more."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Matrix = NDArray[Any]


@njit(cache=True, fastmath=True)
def best_pair(
    covariance: Matrix, square: Matrix, information: Matrix, known: Matrix, blocked: Matrix,
    labels: Matrix,
) -> tuple[int, int]:  # fmt: skip
    """The pair of known items, of different labels and not blocked, that tells most; −1 if none."""
    best, best_i, best_j = -1.0, -1, -1
    for a in range(len(known)):
        i = known[a]
        for b in range(a):
            j = known[b]
            w = information[i, j]
            cross = w * (square[i, i] + square[j, j] - 2 * square[i, j])
            spread = w * (covariance[i, i] + covariance[j, j] - 2 * covariance[i, j])
            gain = cross / (1 + spread)
            if gain > best and labels[i] != labels[j] and not blocked[i, j]:
                best, best_i, best_j = gain, i, j
    return best_i, best_j


@njit(cache=True, fastmath=True)
def add_comparison(covariance: Matrix, square: Matrix, i: int, j: int, weight: float) -> float:
    """A comparison comes, or goes where its weight is negative; by how much the variance falls."""
    size = len(covariance)
    u = covariance[:, i] - covariance[:, j]
    v = square[:, i] - square[:, j]
    share = 1 / (1 / weight + u[i] - u[j])
    fall = share * (v[i] - v[j])
    half = v - 0.5 * fall * u
    for a in range(size):
        moved = share * u[a]
        turned = share * half[a]
        for b in range(size):
            covariance[a, b] -= moved * u[b]
            square[a, b] -= moved * half[b] + turned * u[b]
    return float(fall)


def labels_apart(size: int) -> NDArray[np.int32]:
    """Labels of which no two are the same."""
    return np.arange(size, dtype=np.int32)
