"""Scales: modes of a model with terms given the scales of its layers, and the marginal of scales.

As in `peak`, with several scales in place of α: the mode given all of them is good, the joint mode
is not, and the Laplace marginals of the scales say where to look and how far.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.arrowhead import Arrow, arrow_at, newton_step
from tiewise.engines.hierarchical import Layers, Parts
from tiewise.engines.newton import CLOSE_ENOUGH, FARTHEST, ROUGHLY, weighted_moments
from tiewise.model.scalar_priors import Fixed

Floats = NDArray[np.float64]

LONGEST = 2.0  # farthest that a judge or the line may move in one of Newton's steps
STEP = 0.35  # between the places at which a marginal is looked at, to begin with
FARTHEST_STEP = 1.5
ROUNDS = 12


class Given(NamedTuple):
    """The mode given scales, and their Laplace marginal there."""

    log_scales: Floats
    point: Floats
    log_marginal: float


@dataclass(frozen=True)
class Scales:
    """The marginal of the scales that are inferred, along their lines.

    The mode at its top with the arrow there, its mean, and a root of its covariance.
    """

    top: Given
    arrow: Arrow
    mean: Floats
    root: Floats


class Climb:
    """Modes given scales, each looked for from the nearest one known."""

    def __init__(self, layers: Layers) -> None:
        self.layers = layers
        self.known: dict[bytes, Given] = {}
        self.last: Arrow | None = None

    def value(self, point: Floats, log_scales: Floats) -> float:
        """Log posterior given scales, without what depends on scales alone."""
        layers, parts = self.layers, self.layers.parts(point)
        with np.errstate(all="ignore"):
            total = layers.rows.log_likelihood(layers.point(layers.lifts, parts))
            total = total + layers.line_density(parts.line)
            for shrink, span in zip(np.exp(-2 * log_scales), layers.spans, strict=True):
                total = total - shrink * float(point[span] @ point[span]) / 2
        return float(total[0]) if np.isfinite(total[0]) else -np.inf

    def slope(self, point: Floats, log_scales: Floats) -> Parts:
        """Its derivative."""
        layers, parts = self.layers, self.layers.parts(point)
        by = layers.slopes(layers.lifts, layers.point(layers.lifts, parts), parts.line)
        flat = np.concatenate([part[:, 0] for part in by])
        for shrink, span in zip(np.exp(-2 * log_scales), layers.spans, strict=True):
            flat[span] -= shrink * point[span]
        return layers.parts(flat)

    def arrow(self, point: Floats) -> Arrow:
        """Minus its second derivatives, priors of layers left out."""
        layers, parts = self.layers, self.layers.parts(point)
        return arrow_at(layers, layers.point(layers.lifts, parts), parts.line)

    def mode(self, free: Floats, *, close: float = ROUGHLY) -> Given:
        """The mode given scales, by Newton's way, and the Laplace marginal along their lines."""
        layers, scaled = self.layers, self.layers.lines.at(free)
        log_scales = layers.log_scales(scaled.log_scale)
        key = free.tobytes()
        if key in self.known and close >= ROUGHLY:
            return self.known[key]
        nearest = min(self.known.values(), key=lambda g: _away(g, log_scales), default=None)
        point = layers.start() if nearest is None else nearest.point
        height, log_det, stale = self.value(point, log_scales), 0.0, self.last
        for _ in range(100):
            slope = self.slope(point, log_scales)
            # The last arrow is good for a first step, with the priors of these scales.
            arrow = self.arrow(point) if stale is None else stale
            step, log_det = newton_step(layers, arrow, log_scales, slope)
            gain = float(np.concatenate([part[:, 0] for part in slope]) @ step)
            fresh, stale = stale is None, None
            if gain < close and fresh:
                point, height = point + step, height + gain / 2
                break
            taken = self._shortened(point, self._bounded(step), log_scales, height)
            if taken is not None:
                point, height = taken
            elif fresh:
                break
        self.last = arrow
        marginal = height - log_det / 2 + float(scaled.log_stretch.sum())
        for layer, a in zip(layers.layers, log_scales, strict=True):
            marginal -= layer.size * float(a)
            if not isinstance(layer.variance, Fixed):
                marginal += float(layer.variance.log_density(np.array([a]))[0])
        found = Given(log_scales, point, marginal)
        self.known[key] = found
        return found

    def _bounded(self, step: Floats) -> Floats:
        """A step that moves no judge and no threshold further than `LONGEST`."""
        tail = np.abs(step[self.layers.ends[-1] :])
        farthest = float(tail.max()) if len(tail) else 0.0
        return step * min(1.0, LONGEST / max(farthest, 1e-300))

    def _shortened(
        self, point: Floats, step: Floats, log_scales: Floats, height: float
    ) -> tuple[Floats, float] | None:
        """The first of the step, half of it, a quarter... that does not lead down."""
        for _ in range(40):
            higher = self.value(point + step, log_scales)
            if higher >= height:
                return point + step, higher
            step = step / 2
        return None


def _away(one: Given, log_scales: Floats) -> float:
    return float(((one.log_scales - log_scales) ** 2).sum())


def find_scales(layers: Layers) -> Scales:
    """Top, mean and covariance of the Laplace marginal of all scales that are inferred."""
    climb, number = Climb(layers), sum(layer.free for layer in layers.layers)
    centre, width = _summit(climb, _first_guess(layers))
    if number:
        mean, root = _widened(climb, centre, _covariance(climb, centre, width))
    else:
        mean, root = centre, np.empty((0, 0))
    top = climb.mode(centre, close=CLOSE_ENOUGH)
    return Scales(top, climb.arrow(top.point), mean, root)


def _first_guess(layers: Layers) -> Floats:
    """Qualities of spread 1, and everything else a third as wide."""
    free = [layer for layer in layers.layers if layer.free]
    guess = np.array([0.0 if layer.name == "quality" else np.log(0.3) for layer in free])
    return layers.lines.to_line(guess)


def _summit(climb: Climb, centre: Floats) -> tuple[Floats, Floats]:
    """Where the marginal is highest, and its width along each scale, by parabolas."""
    width = np.full(len(centre), STEP)
    if not len(centre):
        return centre, width
    here = climb.mode(centre).log_marginal
    for _ in range(ROUNDS):
        moved = 0.0
        # One scale after the other: each parabola already knows of the last one's move.
        for k in range(len(centre)):
            step = np.zeros(len(centre))
            step[k] = float(np.clip(width[k], 0.05, STEP))
            up, down = (climb.mode(centre + sign * step).log_marginal for sign in (1, -1))
            slope, bend = (up - down) / 2, up + down - 2 * here
            if bend < -1e-3:
                width[k] = step[k] / np.sqrt(-bend)
                move = float(np.clip(-slope / bend * step[k], -FARTHEST_STEP, FARTHEST_STEP))
            else:
                width[k], move = 1.0, float(np.sign(slope)) * FARTHEST_STEP / 2
            new = centre.copy()
            new[k] = np.clip(centre[k] + move, -FARTHEST, FARTHEST)
            there = climb.mode(new).log_marginal
            if there > here:
                moved = max(moved, abs(new[k] - centre[k]) / width[k])
                centre, here = new, there
        if moved < 0.5:
            break
    return centre, width


def _covariance(climb: Climb, centre: Floats, width: Floats) -> Floats:
    """Inverse of minus the second derivatives of the marginal at its top."""
    number, here = len(centre), climb.mode(centre).log_marginal
    steps = np.diag(np.minimum(width, 1.0))
    precision = np.diag(width**-2.0)
    up = [climb.mode(centre + step).log_marginal for step in steps] if number > 1 else []
    for k in range(number):
        for m in range(k):
            both = climb.mode(centre + steps[k] + steps[m]).log_marginal
            bend = both - up[k] - up[m] + here
            precision[k, m] = precision[m, k] = -bend / steps[k, k] / steps[m, m]
    # Differences this wide may overstate a correlation beyond what can be.
    for share in (1.0, 0.5, 0.0):
        shrunk = np.where(np.eye(number, dtype=bool), precision, share * precision)
        if np.linalg.eigvalsh(shrunk)[0] > 0.2 * np.diag(precision).min():
            break
    return np.asarray(np.linalg.inv(shrunk), np.float64)


def _widened(climb: Climb, centre: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Mean and root of covariance, with how lopsided the marginal is along each of its axes."""
    root = np.asarray(np.linalg.cholesky(covariance), np.float64)
    here, mean = climb.mode(centre).log_marginal, centre.copy()
    for k in range(len(centre)):
        along = np.array([-2.5, -1.25, 0.0, 1.25, 2.5])
        heights = [
            here if t == 0 else climb.mode(centre + t * root[:, k]).log_marginal for t in along
        ]
        middle, spread = weighted_moments(along, np.array(heights))
        mean = mean + middle * root[:, k]
        root[:, k] *= spread
    return mean, root
