"""Independent references: the model written out, integrals by quadrature, and tests of scores.

Nothing here imports tiewise, so nothing here can share its mistakes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
Judgement = tuple[int, int, str]
"""Two positions of items and the answer: `first`, `tie` or `second`."""


# The model, as the paper prints it.


def rao_kupper_probabilities(one: float, two: float, tie: float) -> dict[str, float]:
    """Rao and Kupper's probability of each answer."""
    e = math.exp
    first, second = e(one) / (e(one) + e(two + tie)), e(two) / (e(two) + e(one + tie))
    tied = (e(2 * tie) - 1) * e(one + two) / ((e(one) + e(two + tie)) * (e(one + tie) + e(two)))
    return {"first": first, "tie": tied, "second": second}


def log_likelihood(judgements: Sequence[Judgement], quality: Sequence[float], tie: float) -> float:
    """One judgement after the other."""
    total = 0.0
    for one, two, answer in judgements:
        total += math.log(rao_kupper_probabilities(quality[one], quality[two], tie)[answer])
    return total


def tally(judgements: Sequence[Judgement]) -> dict[str, list[int]]:
    """Columns for `Counts.of`, one row per judgement."""
    columns: dict[str, list[int]] = {
        "first": [one for one, _, _ in judgements],
        "second": [two for _, two, _ in judgements],
        "wins_first": [int(answer == "first") for *_, answer in judgements],
        "wins_second": [int(answer == "second") for *_, answer in judgements],
        "ties": [int(answer == "tie") for *_, answer in judgements],
    }
    return columns


def repeated(*rows: tuple[int, int, int, int, int]) -> list[Judgement]:
    """Judgements from rows (first, second, wins of first, ties, wins of second)."""
    judgements: list[Judgement] = []
    for one, two, wins, ties, losses in rows:
        judgements += [(one, two, "first")] * wins + [(one, two, "tie")] * ties
        judgements += [(one, two, "second")] * losses
    return judgements


# Derivatives.

STEP = 1e-3
# Five points: the formula errs by h⁴ f⁗/30, rounding by ε|f|/h; both stay below this.
DIFFERENCE = 1e-8


def derivative(f: Callable[[Floats], NDArray | float], x: Floats) -> Floats:
    """∂f/∂x by five-point differences; the last axis runs over x."""
    columns = []
    for k in range(len(x)):
        step = np.zeros(len(x))
        step[k] = STEP
        near = np.asarray(f(x + step)) - np.asarray(f(x - step))
        far = np.asarray(f(x + 2 * step)) - np.asarray(f(x - 2 * step))
        columns.append((8 * near - far) / (12 * STEP))
    return np.stack(columns, axis=-1)


# Posteriors of two or three items, by quadrature.


class Nodes(NamedTuple):
    """Points and weights that integrate against a density."""

    points: Floats
    weights: Floats


def half_line(
    density: Callable[[Floats], Floats], low: float, high: float, number: int = 48
) -> Nodes:
    """The trapezoid rule in log x, which converges geometrically for such densities."""
    line = np.linspace(low, high, number)
    points = np.exp(line)
    return Nodes(points, density(points) * points)


def between(low: float, high: float) -> Nodes:
    """Gauss and Legendre's rule for the uniform density."""
    points, weights = np.polynomial.legendre.leggauss(40)
    return Nodes(low + (high - low) * (points + 1) / 2, weights)


def at(value: float) -> Nodes:
    """All mass at one point."""
    return Nodes(np.array([value]), np.ones(1))


class Exact(NamedTuple):
    """Expectations under a posterior."""

    gaps: Floats
    squares: Floats
    tie: float
    variance: float
    log_variance: float


def exact_posterior(
    judgements: Sequence[Judgement], covariance: Floats, tie: Nodes, variance: Nodes
) -> Exact:
    """Expectations of gaps to the first item, their squares, δ, α² and log α².

    Gaps are α C η with η standard normal on a grid; only gaps enter the likelihood.
    """
    size = len(covariance)
    to_gaps = np.hstack([np.ones((size - 1, 1)), -np.eye(size - 1)])
    root = np.linalg.cholesky(to_gaps @ covariance @ to_gaps.T)
    line = np.linspace(-6, 6, 41 if size > 2 else 1201)
    eta = np.stack(np.meshgrid(*[line] * (size - 1), indexing="ij"), -1).reshape(-1, size - 1)
    normal = np.exp(-(eta**2).sum(axis=1) / 2)
    unit = eta @ root.T
    rows = {pair: [0, 0, 0] for pair in {(one, two) for one, two, _ in judgements}}
    for one, two, answer in judgements:
        rows[one, two][("first", "tie", "second").index(answer)] += 1
    sums, mass = np.zeros(2 * (size - 1) + 3), 0.0
    for point, weight in zip(*variance, strict=True):
        gaps = np.hstack([np.zeros((len(unit), 1)), -np.sqrt(point) * unit])
        log = np.zeros((len(unit), len(tie.points)))
        for (one, two), (wins, ties, losses) in rows.items():
            gap = (gaps[:, one] - gaps[:, two])[:, None]
            first = -np.logaddexp(0.0, tie.points - gap)
            second = -np.logaddexp(0.0, tie.points + gap)
            log += wins * first + losses * second
            if ties:
                log += ties * (first + second + np.log(np.expm1(2 * tie.points)))
        joint = np.exp(log) * normal[:, None] * tie.weights * weight
        over, by_gap = joint.sum(), joint.sum(axis=1)
        apart = -gaps[:, 1:]
        sums += np.concatenate(
            [
                by_gap @ apart,
                by_gap @ apart**2,
                [joint.sum(axis=0) @ tie.points, over * point, over * np.log(point)],
            ]
        )
        mass += over
    means = sums / mass
    return Exact(means[: size - 1], means[size - 1 : -3], *map(float, means[-3:]))


# Scores, tested as a family.

LEVEL = 1e-3
"""The probability that a correct program fails one family of scores."""


def largest_score(number: int, level: float = LEVEL) -> float:
    """The bound that the largest of so many |z| exceeds with probability `level` (Šidák)."""
    return float(stats.norm.isf(-math.expm1(math.log1p(-level) / number) / 2))


def assert_normal_scores(scores: Floats, level: float = LEVEL) -> None:
    """Standard normal scores, tested together: the largest |z| is within its bound."""
    scores = np.ravel(scores)
    assert np.isfinite(scores).all()
    worst, bound = np.abs(scores).max(), largest_score(scores.size, level)
    assert worst < bound, f"largest |z| of {scores.size} is {worst:.2f}, above {bound:.2f}"


def monte_carlo_error(draws: Floats) -> Floats:
    """Standard error of the mean of draws (chains, draws, ...), by ArviZ."""
    from arviz_stats.base import array_stats

    return np.asarray(array_stats.mcse(draws, chain_axis=0, draw_axis=1, method="mean"))
