"""Where the posterior is highest: modes given α, and the Laplace marginal of log α.

The joint mode of (λ, α) sits at α = 0 and is of no use; the mode of λ and δ *given* α is, and so
is the curve of Laplace marginals over α that such modes give.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.core.beliefs import Fixed, TiePrior
from tiewise.core.model import BradleyTerry, Curvature

Floats = NDArray[np.float64]

CLOSE_ENOUGH = 1e-8  # nats still to be gained by another Newton step
FARTHEST = 6.0  # |log α| beyond which no search goes: spreads from 1/400 to 400


class Summit(NamedTuple):
    """Where a climb ended: the point, its value, and the log determinant of minus the Hessian."""

    point: Floats
    value: float
    log_det: float
    factor: tuple[Floats, bool]


def climb(
    value: Callable[[Floats], float],
    bend: Callable[[Floats], tuple[Floats, Floats]],
    point: Floats,
    *,
    longest: float = np.inf,
) -> Summit:
    """Newton's way to the top of `value`, with shorter steps where it overshoots.

    `bend` gives slope and minus the Hessian; `longest` bounds a step's last coordinate.
    """
    from scipy.linalg import cho_solve

    height = value(point)
    for _ in range(200):
        slope, matrix = bend(point)
        factor = _cholesky(matrix)
        step = cho_solve(factor, slope)
        gain = float(slope @ step)
        if gain < CLOSE_ENOUGH:
            break
        step *= min(1.0, longest / max(abs(float(step[-1])), 1e-300))
        for _ in range(40):
            higher = value(point + step)
            if higher >= height:
                break
            step /= 2
        else:
            break
        point, height = point + step, higher
    log_det = 2 * float(np.log(np.diag(factor[0])).sum())
    return Summit(point, height, log_det, factor)


def _cholesky(matrix: Floats) -> tuple[Floats, bool]:
    from scipy.linalg import LinAlgError, cho_factor

    lift = 0.0
    for _ in range(60):
        try:
            return cho_factor(matrix + lift * np.eye(len(matrix)) if lift else matrix, lower=True)
        except LinAlgError:
            lift = max(2 * lift, 1e-10 * float(np.abs(np.diag(matrix)).max()))
    raise FloatingPointError("Newton's matrix is not finite")


@dataclass(frozen=True)
class Peak:
    """The mode given α: qualities, threshold, its place t on the line, and what surrounds it."""

    log_alpha: float
    point: Floats
    quality: Floats
    tie: float
    line: float
    log_marginal: float


class Slopes:
    """The posterior given α in coordinates y of quality (λ = L y) and t of the threshold.

    Where the prior's precision can be trusted y is λ itself, else λ = F y; either way Newton's
    matrix is one Cholesky factorisation away.
    """

    def __init__(self, model: BradleyTerry) -> None:
        self.model = model
        precision = model.precision
        self.lift = None if precision is not None else model.factor
        if self.lift is not None:
            precision = np.eye(self.lift.shape[1])
        assert precision is not None
        self.precision: Floats = precision
        self.rank = len(self.precision)
        free = model.tie is not None and not isinstance(model.tie, Fixed)
        self.tie_prior: TiePrior | None = model.tie if free else None  # type: ignore[assignment]

    def start(self) -> Floats:
        """Equal qualities, and the threshold that gives the ties seen at equal quality."""
        y = np.zeros(self.rank)
        if self.tie_prior is None:
            return y
        share = (self.model.counts.total_ties + 0.5) / (self.model.counts.comparisons + 1)
        low, high = self.tie_prior.low, self.tie_prior.high
        guess = 2 * np.arctanh(min(share, 0.99))
        inside = float(np.clip(guess, low + 1e-3, 0.99 * high + 0.01 * low))
        return np.append(y, self.tie_prior.to_line(inside))

    def unpack(self, point: Floats) -> tuple[Floats, float]:
        """Qualities and threshold at a point."""
        y = point[: self.rank]
        quality = y if self.lift is None else self.lift @ y
        if self.tie_prior is None:
            assert self.model.fixed_tie is not None
            return quality, self.model.fixed_tie
        return quality, float(self.tie_prior.from_line(point[-1:]).tie[0])

    def value(self, point: Floats, log_alpha: float) -> float:
        """Log posterior given α, without the normalising −rank·log α."""
        quality, tie = self.unpack(point)
        with np.errstate(all="ignore"):
            total = float(self.model.log_likelihood(quality[:, None], np.array([tie]))[0])
            y = point[: self.rank]
            total -= float(y @ (self.precision @ y)) * np.exp(-2 * log_alpha) / 2
            if self.tie_prior is not None:
                there = self.tie_prior.from_line(point[-1:])
                total += float((self.tie_prior.log_density(there.tie) + there.log_stretch)[0])
        return total if np.isfinite(total) else -np.inf

    def bend(self, point: Floats, log_alpha: float) -> tuple[Floats, Floats]:
        """Slope and minus the Hessian of `value`."""
        quality, tie = self.unpack(point)
        by_quality, by_tie = self.model.slopes(quality[:, None], np.array([tie]))
        curve = self.model.curvature(quality, tie)
        shrink = np.exp(-2 * log_alpha)
        y = point[: self.rank]
        slope = self.pull(by_quality[:, 0]) - shrink * (self.precision @ y)
        both = curve.qualities if self.lift is None else self.lift.T @ curve.qualities @ self.lift
        matrix = both + shrink * self.precision
        if self.tie_prior is None:
            return slope, matrix
        by_t, cross, own = self.threshold_bend(point[-1], float(by_tie[0]), curve)
        edge = self.pull(cross)[:, None]
        return np.append(slope, by_t), np.block([[matrix, edge], [edge.T, np.array([[own]])]])

    def pull(self, by_quality: Floats) -> Floats:
        """Derivatives by y from derivatives by quality."""
        return by_quality if self.lift is None else self.lift.T @ by_quality

    def threshold_bend(
        self, line: float, by_tie: float, curve: Curvature
    ) -> tuple[float, Floats, float]:
        """By t: slope, and minus the second derivatives with quality and alone, prior included."""
        assert self.tie_prior is not None
        there = self.tie_prior.from_line(np.array([line]))
        by_delta = by_tie + self.tie_prior.slope(there.tie)
        own = curve.tie - self.tie_prior.bend(there.tie)
        slope = by_delta * there.by_t + there.log_stretch_by_t
        bend = own * there.by_t**2 - by_delta * there.by_t_twice - there.log_stretch_by_t_twice
        return float(slope[0]), curve.quality_and_tie * there.by_t[0], float(bend[0])

    def peak(self, log_alpha: float, start: Floats | None = None) -> Peak:
        """The mode given α, and the Laplace marginal of log α there."""
        summit = climb(
            lambda p: self.value(p, log_alpha),
            lambda p: self.bend(p, log_alpha),
            self.start() if start is None else start,
            longest=np.inf if self.tie_prior is None else 2.0,
        )
        quality, tie = self.unpack(summit.point)
        marginal = summit.value - self.rank * log_alpha - summit.log_det / 2
        if not isinstance(self.model.variance, Fixed):
            marginal += float(self.model.variance.log_density(np.array([log_alpha]))[0])
        line = float(summit.point[-1]) if self.tie_prior is not None else 0.0
        return Peak(log_alpha, summit.point, quality, tie, line, marginal)


@dataclass(frozen=True)
class Spread:
    """The Laplace marginal of log α: the peak at its top, its mean and standard deviation."""

    peak: Peak
    mean: float
    sd: float
    at_edge: bool = False


def find_spread(slopes: Slopes, start: Peak | None = None) -> Spread:
    """The top and the width of the Laplace marginal of log α, each mode started from the last."""
    fixed = slopes.model.fixed_variance
    if fixed is not None:
        peak = slopes.peak(np.log(fixed) / 2, None if start is None else start.point)
        return Spread(peak, peak.log_alpha, 0.0)
    known = [slopes.peak(0.0) if start is None else slopes.peak(start.log_alpha, start.point)]

    def look(a: float) -> Peak:
        nearest = min(known, key=lambda p: abs(p.log_alpha - a))
        known.append(slopes.peak(a, nearest.point))
        return known[-1]

    top = _bracket(look, known)
    if abs(top.log_alpha) >= FARTHEST:
        return Spread(top, top.log_alpha, 0.5, at_edge=True)
    sd = 0.25
    for _ in range(3):
        centre, sd = _parabola(known, top)
        if abs(centre - top.log_alpha) < 0.05 * sd:
            break
        look(centre)
        top = max(known, key=lambda p: p.log_marginal)
    for step in (-3.0, -2.0, -1.0, 1.0, 2.0, 3.0):
        if min(abs(p.log_alpha - top.log_alpha - step * sd) for p in known) > 0.4 * sd:
            look(top.log_alpha + step * sd)
    return Spread(top, *_moments(known))


def _bracket(look: Callable[[float], Peak], known: list[Peak]) -> Peak:
    """Climb along log α until the best point has a worse neighbour on both sides."""
    step = 0.4
    while True:
        top = max(known, key=lambda p: p.log_marginal)
        places = [p.log_alpha for p in known]
        if abs(top.log_alpha) >= FARTHEST:
            return top
        if top.log_alpha == max(places):
            look(min(top.log_alpha + step, FARTHEST))
        elif top.log_alpha == min(places):
            look(max(top.log_alpha - step, -FARTHEST))
        else:
            return top
        step *= 1.5


def _parabola(known: list[Peak], top: Peak) -> tuple[float, float]:
    """Centre and standard deviation of the parabola through the top and its neighbours."""
    row = sorted(known, key=lambda p: p.log_alpha)
    k = row.index(top)
    a = np.array([p.log_alpha for p in row[k - 1 : k + 2]])
    m = np.array([p.log_marginal for p in row[k - 1 : k + 2]])
    quadratic, linear, _ = np.polyfit(a - top.log_alpha, m, 2)
    return top.log_alpha - linear / (2 * quadratic), float(1 / np.sqrt(-2 * quadratic))


def _moments(known: list[Peak]) -> tuple[float, float]:
    """Mean and standard deviation of log α under a spline through the marginals found."""
    from scipy.interpolate import CubicSpline

    row = sorted({p.log_alpha: p.log_marginal for p in known}.items())
    a, m = np.array(row).T
    grid = np.linspace(a[0], a[-1], 400)
    weight = np.exp(np.clip(CubicSpline(a, m)(grid) - m.max(), -50, 5))
    weight /= weight.sum()
    mean = float(weight @ grid)
    return mean, float(np.sqrt(weight @ (grid - mean) ** 2))
