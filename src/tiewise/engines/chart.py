"""Coordinates in which the posterior is nearly N(0, I) (docs/inference.md).

Prior and likelihood are diagonalised together once, so that moving α costs nothing beyond
products with one matrix: in λ = B x the prior is x ~ N(0, α² I) for every α and the likelihood is
about −½ Σ d_k (x_k − m_k)².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.core.beliefs import Fixed, TiePrior, VariancePrior
from tiewise.core.model import BradleyTerry
from tiewise.engines.peak import Slopes, Spread, find_spread

Floats = NDArray[np.float64]


class Place(NamedTuple):
    """Where a matrix of chart points q (dimensions, chains) lies in the model."""

    x: Floats
    mu: Floats
    width: Floats
    log_alpha: Floats
    line: Floats
    quality: Floats
    tie: Floats


@dataclass(frozen=True)
class Chart:
    """A map from q ~ nearly N(0, I) to qualities, log α and δ, and the log density of q.

    Rows of q: one per direction of B, then log α if it is inferred, then δ if it is.
    """

    model: BradleyTerry
    basis: Floats
    bend: Floats
    pulled: Floats
    top: Floats
    line_top: float
    line_lean: Floats
    line_scale: float
    alpha_mean: float
    alpha_sd: float
    tie_prior: TiePrior | None
    variance_prior: VariancePrior | None
    spread: Spread

    @property
    def rank(self) -> int:
        """Number of directions of quality."""
        return len(self.bend)

    @property
    def dimensions(self) -> int:
        """Number of rows of q."""
        free = (self.variance_prior is not None) + (self.tie_prior is not None)
        return self.rank + int(free)

    def place(self, q: Floats) -> Place:
        """Qualities, log α and threshold at q."""
        chains = q.shape[1]
        log_alpha = np.full(chains, self.alpha_mean)
        if self.variance_prior is not None:
            log_alpha = log_alpha + self.alpha_sd * q[self.rank]
        width2 = 1 / (self.bend[:, None] + np.exp(-2 * log_alpha))
        mu, width = self.pulled[:, None] * width2, np.sqrt(width2)
        x = mu + q[: self.rank] * width
        quality = self.basis @ x
        if self.tie_prior is None:
            tie = np.full(chains, self.model.fixed_tie, dtype=float)
            return Place(x, mu, width, log_alpha, np.zeros(chains), quality, tie)
        line = self.line_top + q[-1] * self.line_scale
        line = line - self.line_lean @ (x - self.top[:, None])
        tie = self.tie_prior.from_line(line).tie
        return Place(x, mu, width, log_alpha, line, quality, tie)

    def log_density(self, q: Floats) -> Floats:
        """Log density of q for each chain, up to a constant."""
        return self.density_at(self.place(q))

    def density_at(self, at: Place) -> Floats:
        """Log density of the q that lies at a place."""
        with np.errstate(all="ignore"):
            total = self.model.log_likelihood(at.quality, at.tie)
            total = total - self.rank * at.log_alpha + np.log(at.width).sum(axis=0)
            total = total - (at.x**2).sum(axis=0) * np.exp(-2 * at.log_alpha) / 2
            if self.variance_prior is not None:
                total = total + self.variance_prior.log_density(at.log_alpha)
            if self.tie_prior is not None:
                there = self.tie_prior.from_line(at.line)
                total = total + self.tie_prior.log_density(there.tie) + there.log_stretch
        return np.where(np.isfinite(total), total, -np.inf)

    def slope(self, q: Floats) -> Floats:
        """Derivative of `log_density` by q."""
        return self.slope_at(self.place(q))

    def slope_at(self, at: Place) -> Floats:
        """Derivative of `log_density` by the q that lies at a place."""
        shrink = np.exp(-2 * at.log_alpha)
        by_quality, by_tie = self.model.slopes(at.quality, at.tie)
        by_x = self.basis.T @ by_quality - at.x * shrink
        out = np.empty((self.dimensions, len(shrink)))
        if self.tie_prior is not None:
            there = self.tie_prior.from_line(at.line)
            by_line = (by_tie + self.tie_prior.slope(there.tie)) * there.by_t
            by_line = by_line + there.log_stretch_by_t
            by_x -= self.line_lean[:, None] * by_line
            out[-1] = by_line * self.line_scale
        out[: self.rank] = by_x * at.width
        if self.variance_prior is not None:
            flow = at.width**2 * shrink
            by_a = (by_x * flow * (at.x + at.mu)).sum(axis=0) - self.rank
            by_a += (at.x**2).sum(axis=0) * shrink + flow.sum(axis=0)
            out[self.rank] = self.alpha_sd * (by_a + self.variance_prior.slope(at.log_alpha))
        return out


def draw_chart(model: BradleyTerry, start: Spread | None = None) -> Chart:
    """The chart of a model, from an earlier spread of a similar one where there is one."""
    slopes = Slopes(model)
    spread = find_spread(slopes, None if start is None else start.peak)
    peak = spread.peak
    curve = model.curvature(peak.quality, peak.tie)
    both, lean, own = curve.qualities, np.zeros(model.size), 1.0
    if slopes.tie_prior is not None:
        by_tie = model.slopes(peak.quality[:, None], np.array([peak.tie]))[1]
        _, lean, own = slopes.threshold_bend(peak.line, float(by_tie[0]), curve)
        both = both - np.outer(lean, lean) / own
    factor = model.factor
    bend, basis = _diagonalise(both, factor)
    shrink = np.exp(-2 * peak.log_alpha)
    top = _coordinates(model, basis, peak.quality)
    variance = model.variance
    return Chart(
        model=model, basis=basis, bend=bend, pulled=(bend + shrink) * top, top=top,
        line_top=peak.line, line_lean=(lean @ basis) / own, line_scale=1 / np.sqrt(own),
        alpha_mean=spread.mean, alpha_sd=spread.sd, tie_prior=slopes.tie_prior,
        variance_prior=None if isinstance(variance, Fixed) else variance, spread=spread,
    )  # fmt: skip


def _diagonalise(both: Floats, factor: Floats | None) -> tuple[Floats, Floats]:
    """d and B with Bᵀ H B = diag(d) and B Bᵀ = Σ."""
    from scipy.linalg import eigh

    inner = both if factor is None else factor.T @ both @ factor
    values, vectors = eigh(inner, driver="evd", overwrite_a=True, check_finite=False)
    basis = vectors if factor is None else factor @ vectors
    return np.clip(values, 0.0, None), np.ascontiguousarray(basis)


def _coordinates(model: BradleyTerry, basis: Floats, quality: Floats) -> Floats:
    """x with B x = quality."""
    if basis.shape[0] != basis.shape[1]:
        return np.asarray(np.linalg.lstsq(basis, quality, rcond=None)[0], np.float64)
    precision = model.precision
    if precision is None:
        return np.asarray(np.linalg.solve(basis, quality), np.float64)
    out: Floats = basis.T @ (precision @ quality)
    return out
