"""The Laplace marginal of the scales of a model with terms.

As in `laplace_marginal`, with several scales in place of α: the mode conditional on all scales is
useful, the joint mode is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.preconditioners.arrowhead import (
    ArrowheadHessian,
    arrowhead_hessian,
    newton_step,
)
from tiewise.engines.preconditioners.hierarchical import CoordinateBlocks, HierarchicalPosterior
from tiewise.engines.preconditioners.laplace_marginal import MAX_LOG_SCALE, quartic_moments
from tiewise.engines.preconditioners.newton import ROUGH_TOLERANCE, TOLERANCE

Floats = NDArray[np.float64]

MAX_NEWTON_STEP = 2.0  # bound on the step of a judge or of the unconstrained threshold
DIFFERENCE_STEP = 0.35  # of finite differences of the marginal, at first
MAX_SCALE_STEP = 1.5
ROUNDS = 12


class HierarchicalMode(NamedTuple):
    """The mode conditional on scales, and their Laplace marginal there."""

    log_scales: Floats
    point: Floats
    log_marginal: float


@dataclass(frozen=True)
class ScaleMarginal:
    """The Laplace marginal of the inferred scales, in their unconstrained coordinates.

    The mode at its maximum with the Hessian there, its mean, and a root of its covariance.
    """

    mode: HierarchicalMode
    hessian: ArrowheadHessian
    mean: Floats
    covariance_root: Floats


class ModeFinder:
    """Modes conditional on scales, each started from the nearest of those computed before."""

    def __init__(self, posterior: HierarchicalPosterior) -> None:
        self.posterior = posterior
        self.cache: dict[bytes, HierarchicalMode] = {}
        self.last_hessian: ArrowheadHessian | None = None

    def log_density(self, point: Floats, log_scales: Floats) -> float:
        """Log density conditional on scales, without the part that depends on scales alone."""
        posterior, blocks = self.posterior, self.posterior.split(point)
        with np.errstate(all="ignore"):
            total = posterior.log_likelihood(posterior.arguments(posterior.matrices, blocks))
            total = total + posterior.tie_log_prior(blocks.unconstrained_tie)
            for precision, own in self._precisions(log_scales):
                total = total - precision * float(point[own] @ point[own]) / 2
        return float(total[0]) if np.isfinite(total[0]) else -np.inf

    def gradient(self, point: Floats, log_scales: Floats) -> CoordinateBlocks:
        """Gradient of `log_density`."""
        posterior, blocks = self.posterior, self.posterior.split(point)
        arguments = posterior.arguments(posterior.matrices, blocks)
        by = posterior.gradient(posterior.matrices, arguments, blocks.unconstrained_tie)
        flat = np.concatenate([part[:, 0] for part in by])
        for precision, own in self._precisions(log_scales):
            flat[own] -= precision * point[own]
        return posterior.split(flat)

    def hessian(self, point: Floats) -> ArrowheadHessian:
        """Minus the second derivatives of `log_density`, without the layers' priors."""
        posterior, blocks = self.posterior, self.posterior.split(point)
        arguments = posterior.arguments(posterior.matrices, blocks)
        return arrowhead_hessian(posterior, arguments, blocks.unconstrained_tie)

    def _precisions(self, log_scales: Floats) -> zip[tuple[float, slice]]:
        """Prior precision and coordinates of each layer."""
        return zip(np.exp(-2 * log_scales), self.posterior.layer_slices, strict=True)

    def mode(self, free: Floats, *, tolerance: float = ROUGH_TOLERANCE) -> HierarchicalMode:
        """The mode at unconstrained scales, by Newton's method, and their Laplace marginal."""
        posterior, scales = self.posterior, self.posterior.scales.constrain(free)
        log_scales = posterior.log_scales(scales.log_scale)
        key = free.tobytes()
        if key in self.cache and tolerance >= ROUGH_TOLERANCE:
            return self.cache[key]
        point, value, log_determinant = self._maximise(log_scales, tolerance)
        marginal = value - log_determinant / 2 + float(scales.log_jacobian.sum())
        terms = posterior.scale_terms(scales.log_scale[:, None], log_scales[:, None])
        for normaliser, prior in terms:
            marginal -= float(normaliser[0])
            marginal += 0.0 if prior is None else float(np.ravel(prior)[0])
        self.cache[key] = HierarchicalMode(log_scales, point, marginal)
        return self.cache[key]

    def _maximise(self, log_scales: Floats, tolerance: float) -> tuple[Floats, float, float]:
        """The mode, the log density there, and the log determinant of the negative Hessian."""
        modes = self.cache.values()
        nearest = min(modes, key=lambda mode: _distance(mode, log_scales), default=None)
        point = self.posterior.start() if nearest is None else nearest.point
        value, log_determinant = self.log_density(point, log_scales), 0.0
        stale = self.last_hessian
        for _ in range(100):
            gradient = self.gradient(point, log_scales)
            # The last Hessian is good enough for a first step, with the priors of these scales.
            hessian = self.hessian(point) if stale is None else stale
            step, log_determinant = newton_step(self.posterior, hessian, log_scales, gradient)
            decrement = float(np.concatenate([part[:, 0] for part in gradient]) @ step)
            fresh, stale = stale is None, None
            if decrement < tolerance and fresh:
                point, value = point + step, value + decrement / 2
                break
            improved = self._backtrack(point, self._bounded(step), log_scales, value)
            if improved is not None:
                point, value = improved
            elif fresh:
                break
        self.last_hessian = hessian
        return point, value, log_determinant

    def _bounded(self, step: Floats) -> Floats:
        """The step, shortened so that no judge and no threshold exceeds `MAX_NEWTON_STEP`."""
        tail = np.abs(step[self.posterior.offsets[-1] :])
        largest = float(tail.max()) if len(tail) else 0.0
        return step * min(1.0, MAX_NEWTON_STEP / max(largest, 1e-300))

    def _backtrack(
        self, point: Floats, step: Floats, log_scales: Floats, value: float
    ) -> tuple[Floats, float] | None:
        """The first of the step, half of it, a quarter, … that does not lower the density."""
        for _ in range(40):
            new = self.log_density(point + step, log_scales)
            if new >= value:
                return point + step, new
            step = step / 2
        return None


def _distance(mode: HierarchicalMode, log_scales: Floats) -> float:
    return float(((mode.log_scales - log_scales) ** 2).sum())


def fit_scale_marginal(posterior: HierarchicalPosterior) -> ScaleMarginal:
    """Maximum, mean and covariance of the Laplace marginal of all scales that are inferred."""
    finder, number = ModeFinder(posterior), len(posterior.scales)
    centre, sd = _maximum(finder, _initial_scales(posterior))
    if number:
        mean, root = _moments(finder, centre, _covariance(finder, centre, sd))
    else:
        mean, root = centre, np.empty((0, 0))
    mode = finder.mode(centre, tolerance=TOLERANCE)
    return ScaleMarginal(mode, finder.hessian(mode.point), mean, root)


def _initial_scales(posterior: HierarchicalPosterior) -> Floats:
    """Scale 1 for qualities, about a third of that for everything else."""
    free = [layer for layer in posterior.layers if layer.free]
    guess = np.array([0.0 if layer.name == "quality" else np.log(0.3) for layer in free])
    guess = np.append(guess, [0.4] * posterior.mixed)
    return posterior.scales.unconstrain(guess)


def _maximum(finder: ModeFinder, centre: Floats) -> tuple[Floats, Floats]:
    """The maximum of the marginal, and its sd along each scale, by parabolas."""
    sd = np.full(len(centre), DIFFERENCE_STEP)
    if not len(centre):
        return centre, sd
    best = finder.mode(centre).log_marginal
    for _ in range(ROUNDS):
        moved = 0.0
        # One scale after the other: each parabola starts from the maximum of the last.
        for k in range(len(centre)):
            step = np.zeros(len(centre))
            step[k] = float(np.clip(sd[k], 0.05, DIFFERENCE_STEP))
            up, down = (finder.mode(centre + sign * step).log_marginal for sign in (1, -1))
            first, second = (up - down) / 2, up + down - 2 * best
            if second < -1e-3:
                sd[k] = step[k] / np.sqrt(-second)
                move = float(np.clip(-first / second * step[k], -MAX_SCALE_STEP, MAX_SCALE_STEP))
            else:
                sd[k], move = 1.0, float(np.sign(first)) * MAX_SCALE_STEP / 2
            new = centre.copy()
            new[k] = np.clip(centre[k] + move, -MAX_LOG_SCALE, MAX_LOG_SCALE)
            there = finder.mode(new).log_marginal
            if there > best:
                moved = max(moved, abs(new[k] - centre[k]) / sd[k])
                centre, best = new, there
        if moved < 0.5:
            break
    return centre, sd


def _covariance(finder: ModeFinder, centre: Floats, sd: Floats) -> Floats:
    """Inverse of minus the second derivatives of the marginal at its maximum."""
    number, best = len(centre), finder.mode(centre).log_marginal
    steps = np.diag(np.minimum(sd, 1.0))
    precision = np.diag(sd**-2.0)
    up = [finder.mode(centre + step).log_marginal for step in steps] if number > 1 else []
    for k in range(number):
        for m in range(k):
            both = finder.mode(centre + steps[k] + steps[m]).log_marginal
            second = both - up[k] - up[m] + best
            precision[k, m] = precision[m, k] = -second / steps[k, k] / steps[m, m]
    # Differences this wide may overstate correlations until the matrix is not positive definite.
    for share in (1.0, 0.5, 0.0):
        damped = np.where(np.eye(number, dtype=bool), precision, share * precision)
        if np.linalg.eigvalsh(damped)[0] > 0.2 * np.diag(precision).min():
            break
    return np.asarray(np.linalg.inv(damped), np.float64)


def _moments(finder: ModeFinder, centre: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Mean and root of covariance, corrected for skewness along each column of the root."""
    root = np.asarray(np.linalg.cholesky(covariance), np.float64)
    best, mean = finder.mode(centre).log_marginal, centre.copy()
    for k in range(len(centre)):
        along = np.array([-2.5, -1.25, 0.0, 1.25, 2.5])
        marginals = [
            best if t == 0 else finder.mode(centre + t * root[:, k]).log_marginal for t in along
        ]
        shift, sd = quartic_moments(along, np.array(marginals))
        mean = mean + shift * root[:, k]
        root[:, k] *= sd
    return mean, root
