"""Where the posterior is highest: modes given α, and the Laplace marginal of log α.

The joint mode of (λ, α) sits at α = 0 and is of no use; the mode of λ and δ *given* α is, and so
is the curve of Laplace marginals over α that such modes give.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tiewise.model.bradley_terry import BradleyTerry, Curvature
from tiewise.model.scalar_priors import Fixed, Threshold

Floats = NDArray[np.float64]

CLOSE_ENOUGH = 1e-8  # nats still to be gained by another Newton step
ROUGHLY = 1e-3  # the same, on the way to the top of the marginal of log α
FARTHEST = 6.0  # |log α| beyond which no search goes: spreads from 1/400 to 400


Factor = tuple[Floats, bool]


class Summit(NamedTuple):
    """Where a climb ended: the point, its value, and the log determinant of minus the Hessian."""

    point: Floats
    value: float
    log_det: float
    factor: Factor


class Hill(Protocol):
    """Something to climb."""

    def value(self, point: Floats) -> float:
        """Its height."""

    def slope(self, point: Floats) -> Floats:
        """Its derivative."""

    def bend(self, point: Floats) -> Floats:
        """Minus its second derivatives."""


def climb(
    hill: Hill,
    point: Floats,
    *,
    longest: float = np.inf,
    close: float = CLOSE_ENOUGH,
    stale: Factor | None = None,
) -> Summit:
    """Newton's way to the top of a hill, with shorter steps where it overshoots.

    `longest` bounds a step's last coordinate. Steps that would gain less than `close` are taken
    unseen, and end the climb. The factor of a similar matrix (`stale`) is used as far as it goes.
    """
    from scipy.linalg import cho_solve

    height, fresh, factor = hill.value(point), stale is None, stale
    for _ in range(200):
        slope = hill.slope(point)
        if fresh or factor is None:
            factor = cholesky(partial(hill.bend, point))
        step = cho_solve(factor, slope, check_finite=False)
        gain = float(slope @ step)
        if gain < close:
            if fresh:
                point, height = point + step, height + gain / 2
                break
            fresh = True
            continue
        step *= min(1.0, longest / max(abs(float(step[-1])), 1e-300))
        taken = _shortened(hill, point, step, height)
        if taken is not None:
            point, height = taken
        elif fresh:
            break
        # An old matrix is worth its while only as long as it brings us on quickly.
        fresh = fresh or taken is None
    assert factor is not None
    log_det = 2 * float(np.log(np.diag(factor[0])).sum())
    return Summit(point, height, log_det, factor)


def _shortened(
    hill: Hill, point: Floats, step: Floats, height: float
) -> tuple[Floats, float] | None:
    """The first of the step, half of it, a quarter... that does not lead down."""
    for _ in range(40):
        higher = hill.value(point + step)
        if higher >= height:
            return point + step, higher
        step = step / 2
    return None


def cholesky(made: Callable[[], Floats]) -> Factor:
    """The factor of a matrix, in its own room; lifted until it is positive definite."""
    from scipy.linalg import LinAlgError, cho_factor

    lift = 0.0
    for _ in range(60):
        fresh = made()
        widest = float(np.abs(np.diag(fresh)).max())
        fresh[np.diag_indices(len(fresh))] += lift
        try:
            # Transposed, a symmetric matrix is the same and LAPACK needs no copy of it.
            return cho_factor(fresh.T, lower=True, overwrite_a=True)
        except LinAlgError:
            lift = max(2 * lift, 1e-10 * widest)
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
    factor: Factor | None


class Slopes:
    """The posterior given α in coordinates y of quality (λ = L y) and t of the threshold.

    Where the prior's precision can be trusted y is λ itself, else λ = F y; either way Newton's
    matrix is one Cholesky factorisation away.
    """

    def __init__(self, model: BradleyTerry) -> None:
        self.model = model
        # None stands for the identity, which y = F⁻¹λ has for its precision.
        self.precision = model.precision
        self.lift = None if self.precision is not None else model.factor
        self.rank = model.size if self.lift is None else self.lift.shape[1]
        self.tie_prior = threshold_line(model)

    def start(self) -> Floats:
        """Equal qualities, and the threshold that gives the ties seen at equal quality."""
        y = np.zeros(self.rank)
        if self.tie_prior is None:
            return y
        low, high = self.tie_prior.low, self.tie_prior.high
        width = min(high - low, 1.0)
        inside = np.clip(typical_tie(self.model), low + 1e-3 * width, high - 1e-2 * width)
        return np.append(y, self.tie_prior.to_line(float(inside)))

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
            total -= float(y @ self._weighed(y)) * np.exp(-2 * log_alpha) / 2
            if self.tie_prior is not None:
                there = self.tie_prior.from_line(point[-1:])
                total += float((self.tie_prior.log_density(there.tie) + there.log_stretch)[0])
        return total if np.isfinite(total) else -np.inf

    def slope(self, point: Floats, log_alpha: float) -> Floats:
        """Derivative of `value`."""
        quality, tie = self.unpack(point)
        by_quality, by_tie = self.model.slopes(quality[:, None], np.array([tie]))
        y = point[: self.rank]
        shrink = float(np.exp(-2 * log_alpha))
        slope: Floats = self.pull(by_quality[:, 0]) - shrink * self._weighed(y)
        if self.tie_prior is None:
            return slope
        there = self.tie_prior.from_line(point[-1:])
        by_t = (by_tie + self.tie_prior.slope(there.tie)) * there.by_t + there.log_stretch_by_t
        return np.append(slope, by_t)

    def bend(self, point: Floats, log_alpha: float) -> Floats:
        """Minus the second derivatives of `value`."""
        quality, tie = self.unpack(point)
        curve = self.model.curvature(quality, tie)
        matrix = np.empty((len(point), len(point)))
        both = matrix[: self.rank, : self.rank]
        both[:] = curve.through(self.lift)
        shrink = float(np.exp(-2 * log_alpha))
        if self.precision is None:
            both[np.diag_indices(self.rank)] += shrink
        else:
            both += shrink * self.precision
        if self.tie_prior is not None:
            cross, own = self.threshold_bend(quality, point[-1], curve)
            matrix[-1, :-1] = matrix[:-1, -1] = self.pull(cross)
            matrix[-1, -1] = own
        return matrix

    def _weighed(self, y: Floats) -> Floats:
        return y if self.precision is None else self.precision @ y

    def pull(self, by_quality: Floats) -> Floats:
        """Derivatives by y from derivatives by quality."""
        return by_quality if self.lift is None else self.lift.T @ by_quality

    def threshold_bend(
        self, quality: Floats, line: float, curve: Curvature
    ) -> tuple[Floats, float]:
        """Minus the second derivatives by t: with quality, and alone, the prior included."""
        assert self.tie_prior is not None
        there = self.tie_prior.from_line(np.array([line]))
        by_tie = self.model.slopes(quality[:, None], there.tie)[1]
        by_delta = by_tie + self.tie_prior.slope(there.tie)
        own = curve.tie - self.tie_prior.bend(there.tie)
        bend = own * there.by_t**2 - by_delta * there.by_t_twice - there.log_stretch_by_t_twice
        return curve.quality_and_tie * there.by_t[0], float(bend[0])

    def peak(
        self, log_alpha: float, start: Peak | None = None, *, close: float = CLOSE_ENOUGH
    ) -> Peak:
        """The mode given α, and the Laplace marginal of log α there."""
        begun = start is not None and len(start.point) == len(self.start())
        summit = climb(
            _Given(self, log_alpha),
            start.point if start is not None and begun else self.start(),
            longest=np.inf if self.tie_prior is None else 2.0,
            close=close,
            stale=start.factor if start is not None and begun else None,
        )
        quality, tie = self.unpack(summit.point)
        marginal = summit.value - self.rank * log_alpha - summit.log_det / 2
        if not isinstance(self.model.variance, Fixed):
            marginal += float(self.model.variance.log_density(np.array([log_alpha]))[0])
        line = float(summit.point[-1]) if self.tie_prior is not None else 0.0
        return Peak(log_alpha, summit.point, quality, tie, line, marginal, summit.factor)


def typical_tie(model: BradleyTerry) -> float:
    """The threshold that gives the ties seen at equal quality."""
    share = (model.counts.total_ties + 0.5) / (model.counts.comparisons + 1)
    return float(2 * np.arctanh(min(share, 0.99)))


def threshold_line(model: BradleyTerry) -> Threshold | None:
    """The threshold's line, its unit about the size of δ; None where δ is not inferred."""
    if model.tie is None or isinstance(model.tie, Fixed):
        return None
    return Threshold(model.tie, typical_tie(model))


@dataclass(frozen=True)
class _Given:
    """The posterior given α as a hill."""

    slopes: Slopes
    log_alpha: float

    def value(self, point: Floats) -> float:
        return self.slopes.value(point, self.log_alpha)

    def slope(self, point: Floats) -> Floats:
        return self.slopes.slope(point, self.log_alpha)

    def bend(self, point: Floats) -> Floats:
        return self.slopes.bend(point, self.log_alpha)


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
        peak = slopes.peak(np.log(fixed) / 2, start)
        return Spread(peak, peak.log_alpha, 0.0)
    known: list[Peak] = []

    def look(a: float) -> Peak:
        # One matrix is kept, the last; there is no room for all where there are many items.
        last = known[-1].factor if known else None
        known[:] = [replace(peak, factor=None) for peak in known]
        nearest = min(known, key=lambda p: abs(p.log_alpha - a), default=start)
        begin = nearest if nearest is None or last is None else replace(nearest, factor=last)
        known.append(slopes.peak(a, begin, close=ROUGHLY))
        return known[-1]

    look(0.0 if start is None else start.log_alpha)

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
    for step in (-2.5, -1.25, 1.25, 2.5):
        if min(abs(p.log_alpha - top.log_alpha - step * sd) for p in known) > 0.5 * sd:
            look(top.log_alpha + step * sd)
    peak = slopes.peak(top.log_alpha, top)
    return Spread(peak, *_moments(known, top.log_alpha, sd))


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


def _moments(known: list[Peak], centre: float, sd: float) -> tuple[float, float]:
    """Mean and standard deviation of log α under a quartic through the marginals near the top."""
    near = [p for p in known if abs(p.log_alpha - centre) < 4 * sd]
    a = (np.array([p.log_alpha for p in near]) - centre) / sd
    mean, spread = weighted_moments(a, np.array([p.log_marginal for p in near]))
    return centre + sd * mean, sd * spread


def weighted_moments(a: Floats, m: Floats) -> tuple[float, float]:
    """Mean and standard deviation under a quartic through log densities m at a few places a."""
    curve = np.polynomial.Polynomial.fit(a, m - m.max(), min(4, len(a) - 1))
    grid = np.linspace(-4, 4, 401)
    log = curve(grid)
    # Far out a quartic may turn up again; a marginal does not.
    for side in (slice(200, None), slice(200, None, -1)):
        log[side] = np.minimum.accumulate(log[side])
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    mean = float(weight @ grid)
    spread = float(np.sqrt(weight @ (grid - mean) ** 2))
    return mean, spread


def diagonalised(matrix: Floats) -> tuple[Floats, Floats]:
    """d ≥ 0 and U with Uᵀ M U = diag(d); the matrix is overwritten."""
    from scipy.linalg import eigh

    # Transposed, a symmetric matrix is the same and LAPACK needs no copy of it.
    values, vectors = eigh(matrix.T, driver="evd", overwrite_a=True, check_finite=False)
    return np.clip(values, 0.0, None), np.ascontiguousarray(vectors)
