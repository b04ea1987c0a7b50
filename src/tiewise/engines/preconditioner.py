"""Coordinates in which the posterior is nearly N(0, I) (docs/inference.md).

Prior and likelihood are diagonalised together once, so that moving α costs nothing beyond
products with one matrix: in λ = B x the prior is x ~ N(0, α² I) for every α and the likelihood is
about −½ Σ d_k (x_k − m_k)².

Where there are many items, kicks are computed with the basis in single precision. A trajectory need
only be reversible, which it is with any kick that depends on its place alone; what decides about
its end, and what is kept of it, is computed in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines import preconditioner_kernels as loops
from tiewise.engines.newton import Slopes, Spread, diagonalised, find_spread
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.scalar_priors import Fixed, Threshold, VariancePrior

Floats = NDArray[np.float64]

MANY = 256  # items from which on products with the basis are worth the casting


class Place(NamedTuple):
    """Where a matrix of chart points q (dimensions, chains) lies in the model."""

    x: Floats
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
    rough: NDArray[np.float32] | None
    bend: Floats
    pulled: Floats
    top: Floats
    line_top: float
    line_lean: Floats
    line_scale: float
    alpha_mean: float
    alpha_sd: float
    tie_prior: Threshold | None
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

    def place(self, q: Floats, *, rough: bool = False) -> Place:
        """Qualities, log α and threshold at q; `rough` is good enough for a kick."""
        log_alpha = np.full(q.shape[1], self.alpha_mean)
        if self.variance_prior is not None:
            log_alpha += self.alpha_sd * q[self.rank]
        shrink = np.exp(-2 * log_alpha)
        x, width, leaning = loops.spread_out(
            q, self.bend, self.pulled, shrink, self.line_lean, self.top
        )
        if self.tie_prior is None:
            line, tie = leaning, np.full(q.shape[1], self.model.fixed_tie, dtype=float)
        else:
            line = self.line_top + q[-1] * self.line_scale - leaning
            tie = self.tie_prior.from_line(line).tie
        if rough and self.rough is not None:
            quality = (self.rough @ x.astype(np.float32)).astype(np.float64)
        else:
            quality = self.basis @ x
        return Place(x, width, log_alpha, line, quality, tie)

    def told(self, at: Place) -> dict[str, Floats]:
        """What is kept of a place, by the names that results have for it."""
        return {"quality": at.quality, "tie": at.tie, "variance": np.exp(2 * at.log_alpha)}

    def log_density(self, q: Floats) -> Floats:
        """Log density of q for each chain, up to a constant."""
        return self.density_at(self.place(q))

    def density_at(self, at: Place) -> Floats:
        """Log density of the q that lies at a place."""
        with np.errstate(all="ignore"):
            total = self.model.log_likelihood(at.quality, at.tie) - self.rank * at.log_alpha
            total += loops.prior_part(at.x, at.width, np.exp(-2 * at.log_alpha))
            if self.variance_prior is not None:
                total += self.variance_prior.log_density(at.log_alpha)
            if self.tie_prior is not None:
                there = self.tie_prior.from_line(at.line)
                total += self.tie_prior.log_density(there.tie) + there.log_stretch
        return np.where(np.isfinite(total), total, -np.inf)

    def slope(self, q: Floats) -> Floats:
        """Derivative of `log_density` by q."""
        return self.slope_at(self.place(q))

    def slope_at(self, at: Place) -> Floats:
        """Derivative of `log_density` by the q that lies at a place, good enough for a kick."""
        out = np.empty((self.dimensions, len(at.tie)))
        by_quality, by_tie = self.model.slopes(at.quality, at.tie)
        by_line = np.zeros_like(by_tie)
        if self.tie_prior is not None:
            there = self.tie_prior.from_line(at.line)
            by_line = (by_tie + self.tie_prior.slope(there.tie)) * there.by_t
            by_line += there.log_stretch_by_t
            out[-1] = by_line * self.line_scale
        if self.rough is None:
            by_x = self.basis.T @ by_quality
        else:
            by_x = (self.rough.T @ by_quality.astype(np.float32)).astype(np.float64)
        by_alpha = loops.gather_in(
            by_x, at.x, at.width, self.pulled,
            np.exp(-2 * at.log_alpha), self.line_lean, by_line, out,
        )  # fmt: skip
        if self.variance_prior is not None:
            by_alpha += self.variance_prior.slope(at.log_alpha)
            out[self.rank] = self.alpha_sd * by_alpha
        return out


def draw_chart(model: BradleyTerry, start: Spread | None = None) -> Chart:
    """The chart of a model, from an earlier spread of a similar one where there is one."""
    slopes = Slopes(model)
    spread = find_spread(slopes, None if start is None else start.peak)
    peak = spread.peak
    curve = model.curvature(peak.quality, peak.tie)
    lean, own = np.zeros(model.size), 1.0
    if slopes.tie_prior is not None:
        lean, own = slopes.threshold_bend(peak.quality, peak.line, curve)
    factor = model.factor
    inner = curve.through(factor)
    pulled = lean if factor is None else factor.T @ lean
    inner -= np.outer(pulled, pulled / own)
    bend, turn = diagonalised(inner)
    basis = turn if factor is None else np.ascontiguousarray(factor @ turn)
    shrink = np.exp(-2 * peak.log_alpha)
    top = turn.T @ model.prior.coordinates(peak.quality)
    variance = model.variance
    return Chart(
        model=model, basis=basis, rough=basis.astype(np.float32) if model.size >= MANY else None,
        bend=bend, pulled=(bend + shrink) * top, top=top,
        line_top=peak.line, line_lean=(lean @ basis) / own, line_scale=1 / np.sqrt(own),
        alpha_mean=spread.mean, alpha_sd=spread.sd, tie_prior=slopes.tie_prior,
        variance_prior=None if isinstance(variance, Fixed) else variance,
        spread=replace(spread, peak=replace(peak, factor=None)),
    )  # fmt: skip
