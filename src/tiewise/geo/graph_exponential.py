"""Products with functions of a graph's adjacency matrix A, without writing any of them out.

A function on the range of A's eigenvalues is a short Chebyshev series, so that its product with a
vector takes a few products with A. diag(e^A) is found by probing: items further apart than a few
steps hardly share walks, so that those of one colour can be probed together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tiewise.geo.graph import Graph

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

compiled = njit(cache=True, nogil=True, error_model="numpy")

LARGEST_BOUND = 20.0
"""Of A's eigenvalues: so far e^A of sparse parts is right to 1e-6 beside that of dense ones."""
CLOSE_BOUND = 6.0
"""A bound from degrees alone that needs no closer look."""
ACCURACY = 1e-13
FURTHEST, NEAREST, MOST_COLOURS = 12, 2, 600
"""Steps apart that items of one colour are at least, and the most colours."""
PROBES_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class GraphExponential:
    """e^{A/2} and D = diag(e^A) of a graph; R = D^{-1/2} e^A D^{-1/2} is its correlation."""

    graph: Graph

    @cached_property
    def _rows(self) -> tuple[Integers, Integers]:
        adjacency = self.graph.adjacency()
        return adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int64)

    @cached_property
    def bound(self) -> float:
        """A number that no eigenvalue of A exceeds."""
        from scipy.sparse.linalg import eigsh

        ends, size = self.graph.edges, len(self.graph.items)
        if not len(ends):
            return 1.0
        degree = np.bincount(ends.ravel(), minlength=size)
        bound = float(np.sqrt((degree[ends[:, 0]] * degree[ends[:, 1]]).max()))
        if bound > CLOSE_BOUND and size > 2:
            start = np.sqrt(degree + 1.0)
            largest = eigsh(self.graph.adjacency(), 1, which="LA", v0=start, tol=1e-3)[0][0]
            bound = min(bound, 1.02 * float(largest) + 0.05)
        # A little more, or rounding puts the largest eigenvalue beyond.
        return bound * (1 + 1e-9)

    @property
    def is_exact(self) -> bool:
        """Whether series are as good as exact: on maps, but not where very many border one another.

        Beyond, what is computed of sparse parts would be lost beside dense ones.
        """
        return self.bound <= LARGEST_BOUND

    def series(self, function: Callable[[Floats], Floats], accuracy: float = ACCURACY) -> Floats:
        """Chebyshev coefficients of a function of A, as many as the accuracy asks for."""
        from numpy.polynomial.chebyshev import chebinterpolate

        scaled: Any = lambda x: function(self.bound * x)  # noqa: E731
        values: Floats = np.asarray(chebinterpolate(scaled, 127), np.float64)
        large = np.flatnonzero(np.abs(values) > accuracy * np.abs(values).max())
        return np.asarray(values[: max(int(large.max(initial=0)) + 1, 2)])

    def product(self, coefficients: Floats, x: Floats) -> Floats:
        """The function with these coefficients times a matrix (items, columns)."""
        return _series_product(*self._rows, 1.0 / self.bound, coefficients, x)

    def pair_product(self, coefficients: Floats, one: Floats, two: Floats) -> tuple[Floats, Floats]:
        """[[f, g], [g, h]](A) times two stacked matrices; coefficients (3, terms) of f, g, h."""
        return _pair_series_product(*self._rows, 1.0 / self.bound, coefficients, one, two)

    @cached_property
    def half_series(self) -> Floats:
        """Coefficients of e^{A/2}."""
        return self.series(lambda a: np.exp(a / 2))

    @cached_property
    def colours(self) -> Integers:
        """A colour of every item, those of one colour at least some steps apart."""
        for distance in range(FURTHEST, NEAREST - 1, -2):
            colours = _colours(*self._rows, distance)
            if colours.max() < MOST_COLOURS:
                break
        return colours

    @cached_property
    def probed(self) -> tuple[Floats, float]:
        """D, and its largest relative error as two draws of signs tell it."""
        coefficients = self.series(np.exp)
        draws = [self._probe(coefficients, np.random.default_rng(seed)) for seed in (0, 1)]
        mean = (draws[0] + draws[1]) / 2
        return mean, float((np.abs(draws[0] - draws[1]) / mean).max())

    def _probe(self, coefficients: Floats, rng: np.random.Generator) -> Floats:
        colours, size = self.colours, len(self.graph.items)
        signs, out = 2.0 * rng.integers(0, 2, size) - 1.0, np.empty(size)
        for start in range(0, int(colours.max()) + 1, PROBES_AT_ONCE):
            own = np.flatnonzero((colours >= start) & (colours < start + PROBES_AT_ONCE))
            probes = np.zeros((size, PROBES_AT_ONCE))
            probes[own, colours[own] - start] = signs[own]
            image = self.product(coefficients, probes)
            out[own] = image[own, colours[own] - start] * signs[own]
        return out

    @cached_property
    def scale(self) -> Floats:
        """D^{-1/2}."""
        return np.asarray(self.probed[0] ** -0.5)

    def root(self, x: Floats) -> Floats:
        """G x with G = D^{-1/2} e^{A/2}, so that R = G Gᵀ."""
        out = self.product(self.half_series, x)
        out *= self.scale[:, None]
        return out

    def root_transposed(self, x: Floats) -> Floats:
        """Gᵀ x."""
        return self.product(self.half_series, self.scale[:, None] * x)

    @cached_property
    def row_sums(self) -> Floats:
        """R 1."""
        ones = np.ones((len(self.graph.items), 1))
        return self.root(self.root_transposed(ones))[:, 0]

    @property
    def unevenness(self) -> float:
        """t = tr(C R C)/(N − 1), C the centring matrix: the variance of differences under R."""
        size = len(self.graph.items)
        return float((size - self.row_sums.mean()) / (size - 1))


@compiled
def _series_product(
    starts: Integers, neighbours: Integers, scale: float, coefficients: Floats, x: Floats
) -> Floats:
    """Σ c_k T_k(scale · A) x."""
    before, last = x.copy(), np.zeros(x.shape)
    out: Floats = coefficients[0] * x
    # T_1 is half of what the recurrence makes of T_0 and 0.
    _next_term(starts, neighbours, scale, before, last)
    out += coefficients[1] * last
    for k in range(2, coefficients.size):
        _next_term(starts, neighbours, 2 * scale, last, before)
        out += coefficients[k] * before
        before, last = last, before
    return out


@compiled
def _pair_series_product(
    starts: Integers,
    neighbours: Integers,
    scale: float,
    coefficients: Floats,
    one: Floats,
    two: Floats,
) -> tuple[Floats, Floats]:
    """Two stacked matrices times the symmetric 2 × 2 blocks of three series."""
    before_one, before_two = one.copy(), two.copy()
    last_one, last_two = np.zeros(one.shape), np.zeros(two.shape)
    f, g, h = coefficients[:, 0]
    out_one, out_two = f * one + g * two, g * one + h * two
    for k in range(1, coefficients.shape[1]):
        f, g, h = coefficients[:, k]
        if k == 1:
            _next_term(starts, neighbours, scale, before_one, last_one)
            _next_term(starts, neighbours, scale, before_two, last_two)
        else:
            _next_term(starts, neighbours, 2 * scale, last_one, before_one)
            _next_term(starts, neighbours, 2 * scale, last_two, before_two)
            before_one, last_one = last_one, before_one
            before_two, last_two = last_two, before_two
        for i in range(one.shape[0]):
            for c in range(one.shape[1]):
                out_one[i, c] += f * last_one[i, c] + g * last_two[i, c]
                out_two[i, c] += g * last_one[i, c] + h * last_two[i, c]
    return out_one, out_two


@compiled
def _next_term(
    starts: Integers, neighbours: Integers, scale: float, last: Floats, before: Floats
) -> None:
    """Put scale · A · last − before in the place of `before`."""
    for i in range(last.shape[0]):
        row = before[i]
        for c in range(row.size):
            row[c] = -row[c]
        for e in range(starts[i], starts[i + 1]):
            other = last[neighbours[e]]
            for c in range(row.size):
                row[c] += scale * other[c]


@compiled
def _colours(starts: Integers, neighbours: Integers, distance: int) -> Integers:
    """The smallest colour of each item in turn that no other within this distance has."""
    size = starts.size - 1
    colours, seen = np.full(size, -1), np.full(size, -1)
    taken, queue, depth = np.full(size + 1, -1), np.empty(size, np.int64), np.empty(size, np.int64)
    for item in range(size):
        queue[0], depth[0], seen[item], head, tail = item, 0, item, 0, 1
        while head < tail:
            here, steps = queue[head], depth[head]
            head += 1
            if colours[here] >= 0:
                taken[colours[here]] = item
            if steps == distance:
                continue
            for e in range(starts[here], starts[here + 1]):
                there = neighbours[e]
                if seen[there] != item:
                    seen[there] = item
                    queue[tail], depth[tail] = there, steps + 1
                    tail += 1
        colour = 0
        while taken[colour] == item:
            colour += 1
        colours[item] = colour
    return colours
