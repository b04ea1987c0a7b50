"""The Laplace marginal of log α.

The joint mode of (λ, α) is at α = 0 and of no use. The mode of λ and δ conditional on α is useful,
and Laplace's approximation around such modes gives the marginal density of log α.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.preconditioners.newton import (
    ROUGH_TOLERANCE,
    ConditionalMode,
    ConditionalPosterior,
)

Floats = NDArray[np.float64]

MAX_LOG_SCALE = 6.0  # bound of |log α| in every search: α from 1/400 to 400
FIRST_STEP = 0.4  # of log α, in search of its maximum
MANY_DIRECTIONS = 256  # from which on the marginal is as good as normal, and threads pay


@dataclass(frozen=True)
class LaplaceMarginal:
    """The Laplace marginal of log α: the mode at its maximum, its mean and standard deviation."""

    mode: ConditionalMode
    mean: float
    sd: float
    at_edge: bool = False


def fit_laplace_marginal(
    posterior: ConditionalPosterior,
    start: ConditionalMode | None = None,
    *,
    rough: bool = False,
    width: bool = True,
) -> LaplaceMarginal:
    """Maximum and width of the Laplace marginal of log α; each mode starts from the nearest.

    `rough` is for whoever needs no more than a start: a bracket, and the best mode in it. Without
    `width` the standard deviation is only about right where there are many directions.
    """
    fixed = posterior.model.fixed_variance
    if fixed is not None:
        mode = posterior.mode(np.log(fixed) / 2, start)
        return LaplaceMarginal(mode, mode.log_alpha, 0.0)
    modes: list[ConditionalMode] = []

    def evaluate(*points: float) -> None:
        # Only the last factor stays in memory: with many items there is no room for all.
        last = modes[-1].factor if modes else None
        modes[:] = [replace(mode, factor=None) for mode in modes]

        def mode_at(a: float) -> ConditionalMode:
            nearest = min(modes, key=lambda m: abs(m.log_alpha - a), default=start)
            begin = nearest if nearest is None or last is None else replace(nearest, factor=last)
            return posterior.mode(a, begin, tolerance=ROUGH_TOLERANCE)

        if len(points) == 1:
            modes.append(mode_at(points[0]))
            return
        with ThreadPoolExecutor(len(points)) as pool:
            modes.extend(list(pool.map(mode_at, points)))

    first = 0.0 if start is None else start.log_alpha
    evaluate(first)
    many, step = posterior.rank >= MANY_DIRECTIONS, FIRST_STEP
    if many and abs(first) + step < MAX_LOG_SCALE:  # both sides at once
        evaluate(first - step, first + step)
        step *= 1.5
    best = _bracket(evaluate, modes, step)
    if abs(best.log_alpha) >= MAX_LOG_SCALE:
        return LaplaceMarginal(best, best.log_alpha, 0.5, at_edge=True)
    if rough:
        return LaplaceMarginal(best, best.log_alpha, _parabola(modes, best)[1])
    sd = 0.25
    for _ in range(3):
        centre, sd = _parabola(modes, best)
        if abs(centre - best.log_alpha) < 0.05 * sd:
            break
        evaluate(centre)
        best = max(modes, key=lambda m: m.log_marginal)
    if many and not width:
        return LaplaceMarginal(best, best.log_alpha, sd)
    around = (-1.25, 1.25) if many else (-2.5, -1.25, 1.25, 2.5)
    sides = [best.log_alpha + step * sd for step in around]
    sides = [a for a in sides if min(abs(m.log_alpha - a) for m in modes) > 0.5 * sd]
    for points in [sides] if many and sides else [[a] for a in sides]:
        evaluate(*points)
    mode = best if many else posterior.mode(best.log_alpha, best)
    return LaplaceMarginal(mode, *_moments(modes, best.log_alpha, sd))


def _bracket(
    evaluate: Callable[[float], None], modes: list[ConditionalMode], step: float
) -> ConditionalMode:
    """Move along log α until the best mode has a worse one on either side."""
    while True:
        best = max(modes, key=lambda m: m.log_marginal)
        log_alphas = [m.log_alpha for m in modes]
        if abs(best.log_alpha) >= MAX_LOG_SCALE:
            return best
        if best.log_alpha == max(log_alphas):
            evaluate(min(best.log_alpha + step, MAX_LOG_SCALE))
        elif best.log_alpha == min(log_alphas):
            evaluate(max(best.log_alpha - step, -MAX_LOG_SCALE))
        else:
            return best
        step *= 1.5


def _parabola(modes: list[ConditionalMode], best: ConditionalMode) -> tuple[float, float]:
    """Centre and standard deviation of the parabola through the best mode and its neighbours."""
    row = sorted(modes, key=lambda m: m.log_alpha)
    k = row.index(best)
    a = np.array([m.log_alpha for m in row[k - 1 : k + 2]])
    m = np.array([m.log_marginal for m in row[k - 1 : k + 2]])
    quadratic, linear, _ = np.polyfit(a - best.log_alpha, m, 2)
    return best.log_alpha - linear / (2 * quadratic), float(1 / np.sqrt(-2 * quadratic))


def _moments(modes: list[ConditionalMode], centre: float, sd: float) -> tuple[float, float]:
    """Mean and standard deviation of log α under a quartic through the marginals near `centre`."""
    near = [m for m in modes if abs(m.log_alpha - centre) < 4 * sd]
    a = (np.array([m.log_alpha for m in near]) - centre) / sd
    mean, scaled_sd = quartic_moments(a, np.array([m.log_marginal for m in near]))
    return centre + sd * mean, sd * scaled_sd


def quartic_moments(a: Floats, log_density: Floats) -> tuple[float, float]:
    """Mean and standard deviation under a quartic through log densities at a few points a."""
    curve = np.polynomial.Polynomial.fit(a, log_density - log_density.max(), min(4, len(a) - 1))
    grid = np.linspace(-4, 4, 401)
    log = curve(grid)
    # Far out a quartic may turn up again; a marginal does not.
    for side in (slice(200, None), slice(200, None, -1)):
        log[side] = np.minimum.accumulate(log[side])
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    mean = float(weight @ grid)
    sd = float(np.sqrt(weight @ (grid - mean) ** 2))
    return mean, sd
