"""The expected posterior variance of a target, kept up to date while comparisons come and go.

With Σ the posterior covariance and M = TᵀT, the variance of a target is tr(MΣ). A comparison of a
pair e = eᵢ − eⱼ that tells w about its difference changes Σ by −c uuᵀ with u = Σe and
c = w / (1 + w eᵀΣe), and so the variance falls by c eᵀSe with S = ΣMΣ: all pairs are looked up in
Σ and S. Several comparisons at once are the same with matrices in place of vectors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tiewise.designs.prior import ROWS, DesignPrior, Floats
from tiewise.designs.search.kernels import Matrix, add_comparison, best_pair, labels_apart
from tiewise.designs.wish import Indices


class PosteriorVariance:
    """The covariance Σ, S = ΣMΣ, what an answer to each pair tells, and the target's variance."""

    def __init__(self, prior: DesignPrior, target: str = "differences", top: int = 5) -> None:
        slopes = prior.target(target, top)
        turned = slopes @ prior.covariance
        self.value = float(np.vdot(turned, slopes))
        del slopes  # Matrices of thousands of items are large.
        self.square: Matrix = turned.T @ turned
        del turned
        self.covariance: Matrix = prior.covariance.copy()
        self.information: Matrix = prior.information()

    def gains(self, i: Indices, j: Indices) -> Floats:
        """How far the variance falls by one more comparison of each of these pairs."""
        own, square = np.diag(self.covariance), np.diag(self.square)
        spread = own[i] + own[j] - 2 * self.covariance[i, j]
        cross = square[i] + square[j] - 2 * self.square[i, j]
        w = self.information[i, j]
        return np.asarray(w * cross / (1 + w * spread), np.float64)

    def losses(self, i: Indices, j: Indices) -> Floats:
        """How far the variance rises if one comparison of each of these pairs is taken away."""
        own, square = np.diag(self.covariance), np.diag(self.square)
        spread = own[i] + own[j] - 2 * self.covariance[i, j]
        cross = square[i] + square[j] - 2 * self.square[i, j]
        w = self.information[i, j]
        return np.asarray(w * cross / (1 - w * spread), np.float64)

    def best_pair(
        self, known: Indices, blocked: NDArray[np.bool_], labels: NDArray[np.int32] | None = None
    ) -> tuple[int, int] | None:
        """The pair that tells most of those that are not blocked; None without any.

        With `labels`, of those whose items have different ones.
        """
        apart = labels_apart(len(blocked)) if labels is None else labels
        parts = self.covariance, self.square, self.information
        i, j = best_pair(*parts, known, blocked, apart)
        return None if i < 0 else (i, j)

    def all_gains(self, items: Indices | None = None) -> Matrix:
        """`gains` of all pairs of these items, as a matrix."""
        parts = [self.covariance, self.square, self.information]
        if items is not None and len(items) < len(self.covariance):
            at = np.ix_(items, items)
            parts = [part[at] for part in parts]
        covariance, square, w = parts
        own = np.diag(covariance)
        spread = own[:, None] + own
        spread -= 2 * covariance
        spread *= w
        spread += 1
        own = np.diag(square)
        cross = own[:, None] + own
        cross -= 2 * square
        cross *= w
        cross /= spread
        return np.asarray(cross)

    def add(self, i: Indices, j: Indices, sign: int = 1) -> None:
        """Comparisons of these pairs come; with `sign` −1 they go."""
        covariance, square = self.covariance, self.square
        if len(i) == 1:
            weight = sign * float(self.information[i[0], j[0]])
            self.value -= add_comparison(covariance, square, int(i[0]), int(j[0]), weight)
            return
        u = covariance[:, i] - covariance[:, j]
        v = square[:, i] - square[:, j]
        within = u[i] - u[j]
        joint = np.linalg.inv(np.diag(sign / self.information[i, j]) + within)
        crossed = joint @ (v[i] - v[j])
        self.value -= float(np.trace(crossed))
        moved = u @ joint
        half = v - 0.5 * (u @ crossed)
        for begin in range(0, len(covariance), ROWS):
            rows = slice(begin, begin + ROWS)
            covariance[rows] -= moved[rows] @ u.T
            square[rows] -= moved[rows] @ half.T + half[rows] @ moved.T

    def add_all(self, i: Indices, j: Indices) -> None:
        """`add` of many, some at a time."""
        for begin in range(0, len(i), ROWS):
            part = slice(begin, begin + ROWS)
            self.add(i[part], j[part])


def expected_variance(
    prior: DesignPrior, first: Indices, second: Indices, *, target: str = "differences",
    top: int = 5,
) -> float:  # fmt: skip
    """The expected posterior variance of a target after these comparisons; 1 before any."""
    from scipy.linalg import lu_factor, lu_solve
    from scipy.sparse import coo_array, diags_array

    size, slopes = len(prior.mean), prior.target(target, top)
    weight = prior.information_of(first, second).astype(prior.covariance.dtype)
    ends = (np.concatenate([first, second]), np.concatenate([second, first]))
    beside = coo_array((np.concatenate([weight, weight]), ends), shape=(size, size)).tocsr()
    laplacian = diags_array(beside.sum(axis=1)).tocsr() - beside
    # Σ − Σ(I + LΣ)⁻¹LΣ needs no inverse of Σ, which may be singular; L and Σ are symmetric.
    inner = np.asarray(laplacian @ prior.covariance, prior.covariance.dtype).T
    inner[np.diag_indices(size)] += 1
    factor = lu_factor(inner, overwrite_a=True, check_finite=False)
    value = 0.0
    for begin in range(0, size, ROWS):  # Matrices of thousands of items are large.
        rows = slopes[begin : begin + ROWS]
        after = lu_solve(factor, prior.covariance @ rows.T, overwrite_b=True, check_finite=False)
        value += float(np.vdot(rows, after.T))
    return value
