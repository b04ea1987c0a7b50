"""What anchors say of qualities: a factor of the likelihood, and how well each of them fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.model.anchors.precision import AnchorCurvature, LevelFreePrecision
from tiewise.model.likelihood import PlainHessian

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class AnchorCheck(NamedTuple):
    """How far each anchor is from where everything else puts it, in standard deviations (z)."""

    expected: Floats
    expected_sd: Floats
    z: Floats


class FittedLine(NamedTuple):
    """Values level + s λ expected at qualities λ of the anchors, linear around these.

    Their derivatives by λ are `slope` · (I − 1 pᵀ − `along` `turn`ᵀ), p the share of each anchor in
    the level; `conditional` are their variances at known qualities, for what is not known of
    the line.
    """

    values: Floats
    slope: float
    along: Floats
    turn: Floats
    conditional: Floats

    def variance(self, weights: Floats, covariance: Floats) -> Floats:
        """The variance of every value, of qualities with this covariance (or these variances)."""
        share = weights / weights.sum()
        own = np.diag(covariance) if covariance.ndim == 2 else covariance
        by_level, by_turn = (
            covariance @ part if covariance.ndim == 2 else covariance * part
            for part in (share, self.turn)
        )
        moved = own - 2 * (by_level + self.along * by_turn) + share @ by_level
        moved += 2 * self.along * (share @ by_turn) + self.along**2 * (self.turn @ by_turn)
        out: Floats = self.slope**2 * moved + self.conditional
        return out


class LinkDistance(NamedTuple):
    """χ² of a link against the answers, its degrees of freedom, and how often it is as large."""

    distance: float
    freedom: int
    p: float


@dataclass(frozen=True, eq=False)
class AnchorFactor:
    """The log density −½ (sλ − v)ᵀ Q (sλ − v) of the qualities at `positions`, s the slope."""

    positions: Integers
    values: Floats
    precision: LevelFreePrecision
    slope: float = 1.0

    @property
    def weights(self) -> Floats | None:
        """1 / sd² of each value; None where errors are correlated."""
        return self.precision.weights

    def log_density(self, quality: NDArray[Any]) -> Floats:
        """For qualities (items, chains), up to a constant."""
        away = self._away(quality)
        out: Floats = -(self.precision.product(away) * away).sum(axis=0) / 2
        return out

    def add_gradient(self, quality: NDArray[Any], by_quality: NDArray[Any]) -> None:
        """Add its derivatives to those by qualities (items, chains)."""
        by_quality[self.positions] -= self.slope * self.precision.product(self._away(quality))

    def added(self, hessian: PlainHessian, quality: Floats) -> PlainHessian:
        """Minus second derivatives with its own: like those of comparisons between all anchors."""
        one, two = np.triu_indices(len(self.positions), 1)
        own = self.curvature(quality).matrix
        return replace(
            hessian,
            first=np.concatenate([hessian.first, self.positions[one]]),
            second=np.concatenate([hessian.second, self.positions[two]]),
            weight=np.concatenate([hessian.weight, -own[one, two]]),
        )

    def curvature(self, quality: Floats) -> AnchorCurvature:
        """Minus its second derivatives by the anchors' qualities, at those of all items."""
        return AnchorCurvature(self.positions, self.precision, self.slope**2)

    def averaged(self, directions: float) -> AnchorFactor:
        """The factor whose derivatives at means are about those averaged over qualities.

        Anchors fix about so many `directions`, which answers do not. With a slope that is known
        it is the same.
        """
        return self

    def slope_draws(self, quality: Floats, rng: np.random.Generator) -> Floats:
        """The slope in each draw of qualities (..., items)."""
        return np.full(quality.shape[:-1], self.slope)

    def add_conditional(
        self, quality: Floats, precision: Floats, target: Floats, rng: np.random.Generator
    ) -> None:
        """Add to precision and linear term of a Gaussian conditional of qualities (items).

        Given a slope the density is Gaussian; one that is learned is drawn given the qualities.
        """
        slope, own = float(self.slope_draws(quality, rng)), self.positions
        precision[np.ix_(own, own)] += slope**2 * self.precision.matrix
        target[own] += slope * self._linear

    @cached_property
    def _linear(self) -> Floats:
        """Qv, of values that are centred so that their level costs no digits."""
        out: Floats = self.precision.product(self.values - self.values.mean())
        return out

    def level(self, quality: Floats, slope: Floats, rng: np.random.Generator) -> Floats:
        """Draws of the level given qualities (..., items): a score is level + slope λ."""
        assert self.weights is not None
        total = self.weights.sum()
        away = self.values - slope[..., None] * quality[..., self.positions]
        mean: Floats = away @ self.weights / total
        return np.asarray(mean + rng.standard_normal(mean.shape) / np.sqrt(total), np.float64)

    def check(self, quality: Floats, covariance: Floats) -> AnchorCheck:
        """Each anchor against the others and the answers, from the posterior of quality.

        By the Gaussian formula for leaving one observation out: its residual over 1 − leverage,
        the share of the posterior's precision that is the observation's own. The level is free.
        `covariance` is that of the anchors' qualities: a matrix, or variances of some that are
        taken for independent.
        """
        assert self.weights is not None
        line = self._fitted_line(quality)
        variance = line.variance(self.weights, covariance)
        rest = np.clip(1 - variance * self.weights, 1e-6, 1.0)
        residual, sd = (self.values - line.values) / rest, np.sqrt(1 / self.weights / rest)
        expected_sd = np.sqrt(np.maximum(sd**2 - 1 / self.weights, 0.0))
        return AnchorCheck(self.values - residual, expected_sd, residual / sd)

    def link_check(self, quality: Floats, covariance: Floats) -> AnchorCheck:
        """Each linked item against this study's answers and the rest of the link.

        With S the precision of the difference between link and answers, (C + Q⁺)⁻¹ where C is the
        covariance by answers alone, and C̄ that of the posterior: S = Q − Q C̄ Q, and S times
        the difference is Q times the residual. z tests whether this item alone has changed.
        `covariance` is that of the linked items.
        """
        precision, whole = self.precision.diagonal, self.precision.matrix
        rest = np.maximum(precision - np.diag(whole @ covariance @ whole), 0.0)
        known = rest > 1e-6 * precision.max()
        score, own = whole @ (self.values - quality[self.positions]), rest[known]
        away, z, sd = (np.full(len(rest), number) for number in (0.0, 0.0, np.inf))
        away[known], z[known] = score[known] / own, score[known] / np.sqrt(own)
        sd[known] = np.sqrt(np.maximum(1 / own - 1 / precision[known], 0.0))
        return AnchorCheck(self.values - away, sd, z)

    def link_distance(self, quality: Floats, covariance: Floats) -> LinkDistance:
        """How far the whole link is from this study's answers."""
        from scipy.special import chdtrc

        size, rotation = np.linalg.eigh(self.precision.matrix)
        known = size > 1e-9 * max(size[-1], 0.0)
        root = rotation[:, known] * np.sqrt(size[known])
        rest, turned = np.linalg.eigh(np.eye(int(known.sum())) - root.T @ covariance @ root)
        score = turned.T @ (root.T @ (self.values - quality[self.positions]))
        # A direction of which the answers say nothing has its share of the posterior alone.
        square, freedom = float((score**2 / np.maximum(rest, 1e-6)).sum()), int(known.sum())
        return LinkDistance(square, freedom, float(chdtrc(freedom, square)) if freedom else 1.0)

    def _fitted_line(self, quality: Floats) -> FittedLine:
        """The line at these qualities (items)."""
        assert self.weights is not None
        own, total = self.slope * quality[self.positions], self.weights.sum()
        values, nothing = own + (self.values - own) @ self.weights / total, np.zeros(len(own))
        return FittedLine(values, self.slope, nothing, nothing, np.full(len(own), 1 / total))

    def _away(self, quality: NDArray[Any]) -> Floats:
        out: Floats = self.slope * quality[self.positions].astype(np.float64) - self.values[:, None]
        return out
