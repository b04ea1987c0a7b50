"""The marginal of the share ρ of the map, τ = logit ρ, and of log α conditional on it.

Under the averaged quadratic it takes one Cholesky factorisation a point, in the basis in which the
prior is diagonal for every α and ρ (docs/inference.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.preconditioners.averaged_quadratic import (
    Centre,
    ConditionalScale,
    QuadraticLikelihood,
    average,
    expand,
)
from tiewise.engines.preconditioners.laplace_marginal import fit_laplace_marginal
from tiewise.engines.preconditioners.newton import ConditionalPosterior
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Mixture

Floats = NDArray[np.float64]

START_SHARE = 0.6
ROUNDS = 4
# Values of τ at which its marginal is computed: from a first one outwards, then at quantiles of
# what was seen, here as normal ones.
FIRST_SPACING, LOWEST, HIGHEST = 1.0, -5.0, 6.0
NODES = np.array([-3.0, -2.1, -1.4, -0.7, 0.0, 0.7, 1.4, 2.1, 3.0])


Scales = dict[float, ConditionalScale]


class ShareDistribution(NamedTuple):
    """The distribution of τ under a quadratic, on a grid, and log α conditional on some τ."""

    grid: Floats
    cumulative: Floats
    scales: Scales

    @classmethod
    def of(cls, scales: Scales) -> ShareDistribution:
        """The distribution through the marginals at these τ."""
        from scipy.interpolate import PchipInterpolator

        tau = np.array(sorted(scales))
        marginal = np.array([scales[one].log_marginal for one in tau])
        # Far out the marginal falls at least as its prior does, like e^{−|τ|}.
        tau = np.array([tau[0] - 9.0, *tau, tau[-1] + 9.0])
        ends = [-max(1.0, float(slope)) * 9.0 for slope in _outward_slopes(tau[1:-1], marginal)]
        marginal = np.array([marginal[0] + ends[0], *marginal, marginal[-1] + ends[1]])
        grid = np.unique(np.concatenate([np.linspace(*pair, 60) for pair in pairwise(tau)]))
        log_density = PchipInterpolator(tau, marginal)(grid)
        density = np.exp(log_density - log_density.max())
        steps = np.diff(grid) * (density[1:] + density[:-1]) / 2
        cumulative = np.concatenate([[0.0], np.cumsum(steps)])
        return cls(grid, cumulative / cumulative[-1], scales)

    def quantile(self, probability: Floats) -> Floats:
        """τ of these probabilities."""
        out: Floats = np.interp(probability, self.cumulative, self.grid)
        return out

    def probability(self, tau: Floats) -> Floats:
        """Probability of a smaller τ."""
        out: Floats = np.interp(tau, self.grid, self.cumulative)
        return out

    def nearest(self, tau: float) -> ConditionalScale:
        """log α conditional on the τ that is nearest to this one."""
        return self.scales[min(self.scales, key=lambda one: abs(one - tau))]


def _outward_slopes(tau: Floats, marginal: Floats) -> tuple[float, float]:
    """How fast the marginal falls at either end."""
    first = (marginal[1] - marginal[0]) / (tau[1] - tau[0])
    last = (marginal[-2] - marginal[-1]) / (tau[-1] - tau[-2])
    return float(first), float(last)


@dataclass(frozen=True, eq=False)
class MixtureMarginal:
    """The centre of everything, the quadratic there, and the distribution of τ under it."""

    posterior: ConditionalPosterior
    mixture: Mixture
    centre: Centre
    quadratic: QuadraticLikelihood
    share: ShareDistribution


def fit_mixture_marginal(model: BradleyTerry, start: Centre | None = None) -> MixtureMarginal:
    """Rounds of a quadratic averaged around a centre, and the marginal of share and scale."""
    mixture = model.mixture
    assert mixture is not None
    posterior = ConditionalPosterior(model, precision=mixture.precision(START_SHARE))
    if start is None:
        tau = float(np.log(START_SHARE / (1 - START_SHARE)))
        start = Centre.of(fit_laplace_marginal(posterior, rough=True).mode, tau)
    centre, near = start, None
    quadratic = expand(posterior, centre)
    for _ in range(ROUNDS):
        quadratic, centre = average(posterior, quadratic, centre, times=1)
        share = _explore_share(quadratic, centre, near)
        low, middle, high = share.quantile(np.array([0.159, 0.5, 0.841]))
        settled = near is not None and abs(middle - centre.tau) < (high - low) / 6
        centre = quadratic.centre(share.nearest(middle).log_alpha, float(middle))
        if settled:
            break
        near = share.quantile(normal_probabilities(NODES))
    return MixtureMarginal(posterior, mixture, centre, quadratic, share)


def normal_probabilities(q: Floats) -> Floats:
    """Φ(q)."""
    normal = NormalDist()
    return np.array([normal.cdf(float(one)) for one in q])


def _explore_share(
    quadratic: QuadraticLikelihood, centre: Centre, near: Floats | None
) -> ShareDistribution:
    """The distribution of τ: from its peak outwards, or through values near its quantiles."""
    scales: Scales = {}

    def add(tau: float) -> None:
        start, step = _first_guess(scales, tau) or (centre.log_alpha, 2 * quadratic.first_step)
        scales[tau] = quadratic.scale(tau, start, step)

    if near is not None:
        middle = len(near) // 2
        for k in (*range(middle, len(near)), *range(middle - 1, -1, -1)):
            add(float(near[k]))
    else:
        first = float(np.clip(centre.tau, LOWEST + FIRST_SPACING, HIGHEST - FIRST_SPACING))
        for tau in (first, first + FIRST_SPACING, first - FIRST_SPACING):
            add(tau)
        _bracket_peak(scales, add)
    for _ in range(3 if near is not None else 1):
        peak, sd, gap = _peak(scales)
        if gap < 2 * sd:
            break
        for tau in (peak, peak + sd, peak - sd):
            if min(abs(tau - one) for one in scales) > sd / 3:
                add(tau)
    return ShareDistribution.of(scales)


def _first_guess(scales: Scales, tau: float) -> tuple[float, float] | None:
    """log α at τ, on the line through those of the nearest two, and a step for parabolas."""
    nearest = sorted(scales, key=lambda other: abs(other - tau))[:2]
    if not nearest:
        return None
    start, step = scales[nearest[0]].log_alpha, scales[nearest[0]].sd
    if len(nearest) > 1:
        one, other = nearest
        slope = (start - scales[other].log_alpha) / (one - other)
        start += float(np.clip(slope * (tau - one), -2 * step, 2 * step))
    return start, step


def _bracket_peak(scales: Scales, add: Callable[[float], None]) -> None:
    """Go outwards until the marginal of τ is lower on either side of its largest value."""
    step = 1.5 * FIRST_SPACING
    for _ in range(6):
        best = max(scales, key=lambda tau: scales[tau].log_marginal)
        if best == max(scales) and best < HIGHEST:
            add(min(best + step, HIGHEST))
        elif best == min(scales) and best > LOWEST:
            add(max(best - step, LOWEST))
        else:
            return
        step *= 1.5


def _peak(scales: Scales) -> tuple[float, float, float]:
    """Where the marginal of τ peaks, its sd there, and the distance of the points around it."""
    tau = np.array(sorted(scales))
    marginal = np.array([scales[one].log_marginal for one in tau])
    best = int(np.clip(np.argmax(marginal), 1, len(tau) - 2))
    around = slice(best - 1, best + 2)
    quadratic, linear, _ = np.polyfit(tau[around] - tau[best], marginal[around], 2)
    gap = float((tau[best + 1] - tau[best - 1]) / 2)
    if quadratic >= -1e-6:
        return float(tau[best]), gap, 0.0
    move = float(np.clip(-linear / (2 * quadratic), -gap, gap))
    return float(tau[best]) + move, float(1 / np.sqrt(-2 * quadratic)), gap
