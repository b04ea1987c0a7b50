"""Anchors in units of their own: how many of these a logit is, is learned.

A value is level + s λ + error, with a flat prior of the level and a half-normal one of the slope
s > 0. Given qualities both are Gaussian (s cut at 0), so that both are integrated out in closed
form, and drawn afterwards. With A = λᵀQλ + 1/τ², b = λᵀQv and z = b / √A the log density is
½ z² + log Φ(z) − ½ log A: it is no quadratic, but it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.model.anchors.factor import AnchorFactor, FittedLine
from tiewise.model.anchors.precision import AnchorCurvature

Floats = NDArray[np.float64]

LEAST_SHARE = 0.1
"""Of the curvature across the line of anchors, what is left of it in an average."""


class ConditionalSlope(NamedTuple):
    """The slope given qualities: N(z / √A, 1 / A), cut at 0."""

    z: Floats
    precision: Floats

    @property
    def mean(self) -> Floats:
        """E s."""
        out: Floats = (self.z + self._hazard) / np.sqrt(self.precision)
        return out

    @property
    def square(self) -> Floats:
        """E s²."""
        # (z + φ/Φ) z + 1, which for z far below 0 is the small rest of large terms.
        out: Floats = np.maximum(1 + self.z * (self.z + self._hazard), 0.0) / self.precision
        return out

    @property
    def log_mass(self) -> Floats:
        """The log of what integrating it out leaves."""
        from scipy.special import log_ndtr

        out: Floats = self.z**2 / 2 + log_ndtr(self.z) - np.log(self.precision) / 2
        return out

    def draw(self, rng: np.random.Generator) -> Floats:
        """One draw for each."""
        from scipy.special import log_ndtr, ndtri_exp

        below = ndtri_exp(np.log(rng.uniform(size=self.z.shape)) + log_ndtr(self.z))
        return np.asarray((self.z - below) / np.sqrt(self.precision), np.float64)

    @property
    def _hazard(self) -> Floats:
        """φ(z) / Φ(z)."""
        from scipy.special import erfcx

        out: Floats = np.sqrt(2 / np.pi) / erfcx(-self.z / np.sqrt(2))
        return out


@dataclass(frozen=True, eq=False)
class LearnedSlopeFactor(AnchorFactor):
    """The log density of qualities at `positions`, the level and the slope integrated out.

    `slope_scale` is τ, the scale of the slope's half-normal prior. `directions` is 0, or
    the number of those in which qualities have the errors of anchors (`averaged`).
    """

    slope_scale: float = field(default=1.0, kw_only=True)
    directions: float = field(default=0.0, kw_only=True)

    def log_density(self, quality: NDArray[Any]) -> Floats:
        """For qualities (items, chains), up to a constant."""
        slope = self._slope(quality[self.positions].astype(np.float64))
        out: Floats = slope.log_mass + self.directions / 2 * np.log(slope.precision)
        return out

    def add_gradient(self, quality: NDArray[Any], by_quality: NDArray[Any]) -> None:
        """Add its derivatives: those at a known slope, averaged over the slope."""
        own = quality[self.positions].astype(np.float64)
        slope = self._slope(own)
        by_square = slope.square - self.directions / slope.precision
        by_quality[self.positions] += (
            self._linear[:, None] * slope.mean - self.precision.product(own) * by_square
        )

    def curvature(self, quality: Floats) -> AnchorCurvature:
        """Minus its second derivatives where anchors fit; never negative."""
        own = quality[self.positions]
        slope = self._slope(own)
        along = self.precision.product(own) / np.sqrt(slope.precision)
        room = self.directions / float(slope.precision)
        square = float(slope.square)
        factor, rest = max(square - room, LEAST_SHARE * square), max(square - 2 * room, 0.0)
        return AnchorCurvature(
            self.positions, self.precision, factor, along * np.sqrt(rest / factor)
        )

    def averaged(self, directions: float) -> LearnedSlopeFactor:
        """The factor at means of qualities that have the errors of anchors in so many directions.

        Errors are 1/s as large in logits, so that the room that they leave in n directions grows
        as s⁻ⁿ, or (λᵀQλ)^(n/2). At the mode, where that does not count, many anchors have
        qualities that are much too small: the mean is near the mode of the density times it.
        """
        return replace(self, directions=directions)

    def slope_draws(self, quality: Floats, rng: np.random.Generator) -> Floats:
        """Draws of the slope, given qualities (..., items)."""
        own = np.moveaxis(quality[..., self.positions], -1, 0)
        return self._slope(own).draw(rng)

    def _slope(self, own: Floats) -> ConditionalSlope:
        """The slope given the anchors' qualities (anchors, ...)."""
        square = (own * self.precision.product(own)).sum(axis=0)
        precision = square + self.slope_scale**-2
        return ConditionalSlope(np.tensordot(self._linear, own, 1) / np.sqrt(precision), precision)

    def _fitted_line(self, quality: Floats) -> FittedLine:
        """The line at these qualities (items), its slope at its mean."""
        assert self.weights is not None
        own, share = quality[self.positions], self.weights / self.weights.sum()
        slope, along = self._slope(own), own - share @ own
        mean, precision = float(slope.mean), float(slope.precision)
        values = self.values @ share + mean * along
        conditional = 1 / self.weights.sum() + along**2 / precision
        turn = self.precision.product(own) / precision
        return FittedLine(values, mean, along, turn, conditional)
