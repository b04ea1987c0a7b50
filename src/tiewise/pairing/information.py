"""Expected information of one more comparison of each pair, from a Gaussian posterior.

Let e pick the difference of a pair, d = eᵀλ ~ N(μ, v). Whatever the judge answers, the rest of the
posterior follows d along a line, so that for a linear target T the expected loss of variance is

    ‖Cov(T, d)‖² · Σ_answers (E P′)² / E P,

with P the probability of an answer at d, and E P′ = E[z P] / √v for d = μ + √v z (Stein's lemma):
the probabilities are all that is needed of the likelihood. For ranks, Cov(T, d) is exact and the
line is the best linear approximation (docs/pairing.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tiewise.data.answers import grade_probabilities
from tiewise.model.likelihood import answer_probabilities

Floats = NDArray[np.float64]
Target = Literal["ranks", "qualities"]

MIN_SPREAD = 1e-4  # a difference is never known better than this, in units of quality
GAPS, SPREADS, NODES = 65, 17, 21


def expected_variance_reduction(
    mean: Floats, covariance: Floats, cuts: float | Floats, *, of: Target = "ranks"
) -> Floats:
    """Expected loss of total posterior variance by one more comparison of each pair.

    `mean` (items) and `covariance` (items, items) are of qualities; `cuts` is the threshold δ, or
    has all cuts of graded answers. `of` says whose variance: that of all ranks, or that of all
    centred qualities. Symmetric, 0 on the diagonal.
    """
    gap, spread = _differences(mean, covariance)
    ranks = of == "ranks"
    cross = _rank_covariance(covariance, gap, spread) if ranks else covariance - covariance.mean(0)
    above = np.triu_indices(len(mean), 1)
    info = information(np.abs(gap[above]), spread[above], cuts)
    out = np.zeros(gap.shape)
    out[above] = _pair_quadratic_forms(cross.T @ cross)[above] * info
    return out + out.T


def information(gap: Floats, spread: Floats, cuts: float | Floats) -> Floats:
    """Σ (E P′)² / E P over the answers, for differences N(gap, spread²) with gap ≥ 0.

    It is tabulated on a grid that covers all differences, and interpolated.
    """
    gaps = np.linspace(0.0, max(float(gap.max(initial=0.0)), 1e-3), GAPS)
    low = float(spread.min(initial=1.0))
    spreads = np.linspace(low, max(float(spread.max(initial=1.0)), 1.001 * low), SPREADS)
    column = (spread - spreads[0]) / (spreads[1] - spreads[0])
    return _interpolate(_table(gaps, spreads, np.atleast_1d(cuts)), gap / gaps[1], column)


def _differences(mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of every difference between two qualities."""
    spread = np.sqrt(np.maximum(_pair_quadratic_forms(covariance), MIN_SPREAD**2))
    return mean[:, None] - mean, spread


def _pair_quadratic_forms(square: Floats) -> Floats:
    """(eᵢ − eⱼ)ᵀ M (eᵢ − eⱼ) for all i and j."""
    own = np.diag(square)
    out: Floats = own[:, None] + own - 2 * square
    return out


def _rank_covariance(covariance: Floats, gap: Floats, spread: Floats) -> Floats:
    """Covariances of all ranks (rows) with all qualities.

    A rank counts the items below, and whether j is below i varies with any quality as the
    difference of the two does, times the density of that difference at 0.
    """
    density = np.exp(-((gap / spread) ** 2) / 2) / (spread * np.sqrt(2 * np.pi))
    np.fill_diagonal(density, 0.0)
    out: Floats = density.sum(axis=1)[:, None] * covariance - density @ covariance
    return out


def _probabilities(gap: Floats, cuts: Floats) -> Sequence[Floats]:
    """Probabilities of every answer, however many there are."""
    if len(cuts) == 1:
        return answer_probabilities(gap, cuts[0])
    return list(grade_probabilities(gap, cuts.reshape(-1, *(1,) * gap.ndim)))


def _table(gaps: Floats, spreads: Floats, cuts: Floats) -> Floats:
    """The information for every gap (rows) and spread (columns), by Gauss–Hermite quadrature."""
    z, weight = np.polynomial.hermite_e.hermegauss(NODES)
    weight = weight / weight.sum()
    difference = gaps[:, None, None] + spreads[:, None] * z
    total = np.zeros((len(gaps), len(spreads)))
    for probability in _probabilities(difference, cuts):
        slope = probability @ (weight * z) / spreads
        # An answer that never comes adds nothing, and must not become 0 / 0.
        total += slope**2 / np.maximum(probability @ weight, 1e-300)
    return total


def _interpolate(table: Floats, row: Floats, column: Floats) -> Floats:
    """A table at positions between its rows and columns, linearly in each."""
    i = np.clip(row.astype(np.intp), 0, table.shape[0] - 2)
    j = np.clip(column.astype(np.intp), 0, table.shape[1] - 2)
    down, right = row - i, column - j
    at = i * table.shape[1] + j
    flat, width = table.ravel(), table.shape[1]
    near = flat[at] * (1 - right) + flat[at + 1] * right
    far = flat[at + width] * (1 - right) + flat[at + width + 1] * right
    out: Floats = near * (1 - down) + far * down
    return out
