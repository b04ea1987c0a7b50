"""Witnesses: the model written out longhand, integrals by quadrature, and how chance is judged.

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
"""Two positions of items and what was said: `first`, `tie` or `second`."""


# The model, as the paper prints it.


def chances(one: float, two: float, tie: float) -> dict[str, float]:
    """Rao and Kupper's chances of each answer."""
    e = math.exp
    first, second = e(one) / (e(one) + e(two + tie)), e(two) / (e(two) + e(one + tie))
    tied = (e(2 * tie) - 1) * e(one + two) / ((e(one) + e(two + tie)) * (e(one + tie) + e(two)))
    return {"first": first, "tie": tied, "second": second}


def log_likelihood(said: Sequence[Judgement], quality: Sequence[float], tie: float) -> float:
    """One judgement after the other."""
    total = 0.0
    for one, two, answer in said:
        total += math.log(chances(quality[one], quality[two], tie)[answer])
    return total


def tally(said: Sequence[Judgement]) -> dict[str, list[int]]:
    """Columns for `Counts.of`, one row per judgement."""
    columns: dict[str, list[int]] = {
        "first": [one for one, _, _ in said],
        "second": [two for _, two, _ in said],
        "wins_first": [int(answer == "first") for *_, answer in said],
        "wins_second": [int(answer == "second") for *_, answer in said],
        "ties": [int(answer == "tie") for *_, answer in said],
    }
    return columns


def repeated(*rows: tuple[int, int, int, int, int]) -> list[Judgement]:
    """Judgements from rows (first, second, wins of first, ties, wins of second)."""
    said: list[Judgement] = []
    for one, two, wins, ties, losses in rows:
        said += [(one, two, "first")] * wins + [(one, two, "tie")] * ties
        said += [(one, two, "second")] * losses
    return said


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
    """All mass in one place."""
    return Nodes(np.array([value]), np.ones(1))


class Exact(NamedTuple):
    """Expectations under a posterior."""

    gaps: Floats
    squares: Floats
    tie: float
    variance: float
    log_variance: float


def exact_posterior(
    said: Sequence[Judgement], covariance: Floats, tie: Nodes, variance: Nodes
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
    rows = {pair: [0, 0, 0] for pair in {(one, two) for one, two, _ in said}}
    for one, two, answer in said:
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


# Chance, judged as a family.

LEVEL = 1e-3
"""How often a right program fails one family of scores."""


def farthest(number: int, level: float = LEVEL) -> float:
    """The bound that the largest of so many |z| passes with chance `level` (Šidák)."""
    return float(stats.norm.isf(-math.expm1(math.log1p(-level) / number) / 2))


def within_chance(scores: Floats, level: float = LEVEL) -> None:
    """Standard normal scores, judged together: the largest is no larger than chance allows."""
    scores = np.ravel(scores)
    assert np.isfinite(scores).all()
    worst, bound = np.abs(scores).max(), farthest(scores.size, level)
    assert worst < bound, f"largest |z| of {scores.size} is {worst:.2f}, above {bound:.2f}"


def monte_carlo_error(draws: Floats) -> Floats:
    """Standard error of the mean of draws (chains, draws, ...), by ArviZ."""
    from arviz_stats.base import array_stats

    return np.asarray(array_stats.mcse(draws, chain_axis=0, draw_axis=1, method="mean"))
