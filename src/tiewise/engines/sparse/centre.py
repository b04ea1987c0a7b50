"""The centre of the sparse preconditioner: a Gaussian variational mean, found without any matrix.

A round averages slopes and second derivatives of the likelihood over normal gaps, solves for the
Newton step by conjugate gradients, and moves log α by Newton's method on its marginal under that
quadratic. Variances of gaps are those of a tree, traces are estimated from a few random signs
(always the same ones): the centre need not be exact, because sampling is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.preconditioners.laplace_marginal import MAX_LOG_SCALE
from tiewise.engines.preconditioners.newton import (
    initial_threshold,
    tie_derivatives,
    unconstrained_tie,
)
from tiewise.engines.sparse.conjugate_gradients import conjugate_gradients
from tiewise.engines.sparse.kernels import local_gap_sd, neighbour_sums
from tiewise.engines.sparse.precision import SparsePrecision
from tiewise.model.anchors.precision import AnchorCurvature
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.kernels import laplacian_product
from tiewise.model.likelihood import Likelihood, PlainHessian
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.unconstrained_tie import UnconstrainedTie

Floats = NDArray[np.float64]

MOST_ROUNDS = 40
CLOSE = 0.02  # standard deviations: a round that moves nothing by more is the last
MAX_MOVE, MAX_SCALE_MOVE = 4.0, 0.7  # of a quality and of log α, in one round
ROUGH_TOLERANCE = 1e-3
FEW_PROBES, MOST_PROBES, PROBE_NUMBERS = 8, 64, 400_000


class SparseCentre(NamedTuple):
    """Mean qualities, unconstrained threshold and log α around which the likelihood is expanded."""

    quality: Floats
    unconstrained_tie: float
    log_alpha: float


class ScaleStep(NamedTuple):
    """The marginal of log α under a quadratic: Newton's move, its sd, and the mean's slope."""

    move: float
    sd: float
    mean_slope: Floats


@dataclass(frozen=True, eq=False)
class SparseQuadratic:
    """The log posterior at a centre, as a quadratic, threshold eliminated.

    Its precision is A = H − ccᵀ/h + α⁻² Q, H the Laplacian of `hessian` and, where there are any,
    of `anchors`, c the `cross` derivatives with the threshold and h its `own`. `slope` and
    `tie_slope` are its slopes.
    """

    centre: SparseCentre
    precision: SparsePrecision
    hessian: PlainHessian
    slope: Floats
    tie_slope: float
    cross: Floats
    own: float
    anchors: AnchorCurvature | None = None

    @property
    def prior_precision(self) -> float:
        """α⁻² at the centre."""
        return float(np.exp(-2 * self.centre.log_alpha))

    @property
    def without_anchors(self) -> SparseQuadratic:
        """What comparisons and the prior alone say."""
        return replace(self, anchors=None)

    @cached_property
    def curvature(self) -> Floats:
        """The diagonal of H − ccᵀ/h."""
        rows, size = self.hessian, self.precision.size
        ends = (np.bincount(end, rows.weight, size) for end in (rows.first, rows.second))
        out: Floats = np.add(*ends, dtype=np.float64)
        if self.anchors is not None:
            out += self.anchors.diagonal(size)
        return np.maximum(out - self.cross**2 / self.own, 0.0)

    @property
    def diagonal(self) -> Floats:
        """The diagonal of A."""
        out: Floats = self.curvature + self.prior_precision * self.precision.diagonal
        return out

    @property
    def anchored_directions(self) -> float:
        """About how many directions anchors fix: the sum of their shares in what is known."""
        if self.anchors is None:
            return 0.0
        return float((self.anchors.diagonal(self.precision.size) / self.diagonal).sum())

    def curvature_product(self, x: Floats) -> Floats:
        """(H − ccᵀ/h) x of a matrix (items, columns)."""
        rows = self.hessian
        out = laplacian_product(rows.first, rows.second, rows.weight, np.ascontiguousarray(x))
        out -= np.multiply.outer(self.cross / self.own, self.cross @ x)
        if self.anchors is not None:
            self.anchors.add_product(x, out)
        return out

    def product(self, x: Floats) -> Floats:
        """A x of a matrix (items, columns)."""
        out = self.curvature_product(x)
        out += self.prior_precision * self.precision.product(x)
        return out

    def solve(self, right: Floats, *, tolerance: float) -> Floats:
        """A⁻¹ of a matrix (items, columns)."""
        return conjugate_gradients(
            self.product, self.diagonal, np.ascontiguousarray(right), tolerance=tolerance
        )

    def gap_sd(self) -> Floats:
        """About the standard deviation of every row's gap."""
        rows, diagonal = self.hessian, self.diagonal
        neighbours = neighbour_sums(rows.first, rows.second, rows.weight, diagonal)
        neighbours += self.prior_precision**2 * self.precision.neighbour_sums(1.0 / diagonal)
        return local_gap_sd(rows.first, rows.second, rows.weight, diagonal, neighbours)


def expand_sparse(
    model: BradleyTerry,
    likelihood: Likelihood,
    precision: SparsePrecision,
    centre: SparseCentre,
    gap_sd: Floats,
    anchored_directions: float = 0.0,
) -> SparseQuadratic:
    """The quadratic around a centre, averaged over gaps with these standard deviations.

    Anchors fix about so many directions, as far as is known. The prior's level gets the width of
    an item's, which conditions the quadratic.
    """
    tie_prior, t = unconstrained_tie(model), centre.unconstrained_tie
    tie = _tie_at(model, tie_prior, t)
    slope, by_tie, hessian = likelihood.averaged_derivatives(centre.quality, tie, gap_sd)
    tie_slope, cross, own = 0.0, np.zeros(model.size), 1.0
    if tie_prior is not None:
        tie_slope, cross, own = tie_derivatives(tie_prior, t, by_tie, hessian)
        # Never less than the likelihood's own, or A would not be positive definite.
        own = max(own, hessian.tie * float(tie_prior.constrain(np.array([t])).by_t[0]) ** 2)
    prior_precision = float(np.exp(-2 * centre.log_alpha))
    total = 2 * hessian.weight.sum() / prior_precision + float(precision.diagonal.sum())
    precision = precision.with_level(total)
    slope = slope - prior_precision * precision.product(centre.quality[:, None])[:, 0]
    anchors, curvature = model.anchor_factor, None
    if anchors is not None:
        anchors = anchors.averaged(anchored_directions)
        curvature = anchors.curvature(centre.quality)
        anchors.add_gradient(centre.quality[:, None], slope[:, None])
    return SparseQuadratic(centre, precision, hessian, slope, tie_slope, cross, own, curvature)


def _tie_at(model: BradleyTerry, prior: UnconstrainedTie | None, t: float) -> float:
    """δ at t; where it is not inferred, what it is."""
    if prior is None:
        assert model.fixed_tie is not None
        return model.fixed_tie
    return float(prior.constrain(np.array([t])).tie[0])


def find_centre(
    model: BradleyTerry,
    likelihood: Likelihood,
    precision: SparsePrecision,
    start: SparseCentre | None = None,
) -> tuple[SparseQuadratic, ScaleStep]:
    """The quadratic around the variational mean, and the marginal of log α there."""
    probes = _probes(model.size)
    if start is None and (answers := answers_first(model)) is not None:
        start = find_centre(answers, likelihood, precision)[0].centre
    centre = _start(model) if start is None else start
    gap_sd, directions = np.zeros(len(likelihood.first)), 0.0
    if model.anchors is not None:
        first_look = expand_sparse(model, likelihood, precision, centre, gap_sd)
        directions = first_look.anchored_directions
    for _ in range(MOST_ROUNDS):
        quadratic = expand_sparse(model, likelihood, precision, centre, gap_sd, directions)
        centre, move = _round(model, quadratic, probes)
        first, gap_sd = not gap_sd.any(), quadratic.gap_sd()
        directions = quadratic.anchored_directions
        if move < CLOSE and not first:
            break
    quadratic = expand_sparse(model, likelihood, precision, centre, gap_sd, directions)
    scale = _scale_step(model, quadratic, centre.quality, probes, tolerance=1e-6)
    return quadratic, scale


def answers_first(model: BradleyTerry) -> BradleyTerry | None:
    """The model without anchors, where it has to be known first how far apart these are in logits.

    From equal qualities a slope that is learned would run away from them. None elsewhere.
    """
    learned = model.anchors is not None and model.anchors.is_slope_learned
    return replace(model, anchors=None) if learned else None


def _start(model: BradleyTerry) -> SparseCentre:
    tie_prior = unconstrained_tie(model)
    t = 0.0 if tie_prior is None else initial_threshold(tie_prior)
    fixed = model.fixed_variance
    return SparseCentre(np.zeros(model.size), t, 0.0 if fixed is None else float(np.log(fixed) / 2))


def _probes(size: int) -> Floats:
    """Columns of random signs, fewer for more items, whose traces are known the better."""
    number = int(np.clip(PROBE_NUMBERS // size, FEW_PROBES, MOST_PROBES))
    signs = np.random.default_rng(0).integers(0, 2, (size, number))
    return np.asarray(2.0 * signs - 1.0, np.float64)


def _round(
    model: BradleyTerry, quadratic: SparseQuadratic, probes: Floats
) -> tuple[SparseCentre, float]:
    """The next centre, and by how many standard deviations the furthest coordinate moves."""
    centre = quadratic.centre
    right = quadratic.slope - quadratic.cross * (quadratic.tie_slope / quadratic.own)
    step = quadratic.solve(right[:, None], tolerance=ROUGH_TOLERANCE)[:, 0]
    step *= min(1.0, MAX_MOVE / max(float(np.abs(step).max()), 1e-300))
    moved = float((np.abs(step) * np.sqrt(quadratic.diagonal)).max())
    log_alpha = centre.log_alpha
    if model.fixed_variance is None:
        scale = _scale_step(
            model, quadratic, centre.quality + step, probes[:, :FEW_PROBES], tolerance=1e-2
        )
        log_alpha = float(np.clip(log_alpha + scale.move, -MAX_LOG_SCALE, MAX_LOG_SCALE))
        step += scale.mean_slope * (log_alpha - centre.log_alpha)
        moved = max(moved, abs(log_alpha - centre.log_alpha) / scale.sd)
    tie_step = (quadratic.tie_slope - float(quadratic.cross @ step)) / quadratic.own
    tie_step = float(np.clip(tie_step, -2.0, 2.0))
    moved = max(moved, abs(tie_step) * quadratic.own**0.5)
    new = SparseCentre(centre.quality + step, centre.unconstrained_tie + tie_step, log_alpha)
    return new, moved


def _scale_step(
    model: BradleyTerry,
    quadratic: SparseQuadratic,
    mean: Floats,
    probes: Floats,
    *,
    tolerance: float,
) -> ScaleStep:
    """Newton's step on the marginal of log α under the quadratic, whose mean is given.

    With p = α⁻² and S = A⁻¹ its slope is p mᵀQm + p tr QS − N, and its second derivative
    −2p mᵀQm − 2p tr QS + 4p² mᵀQSQm + 2p² tr (QS)², plus those of the prior.
    """
    variance, p, size = model.variance, quadratic.prior_precision, model.size
    if isinstance(variance, Fixed):
        return ScaleStep(0.0, 0.0, np.zeros(size))
    product, number = quadratic.precision.product, probes.shape[1]
    pull = product(mean[:, None])
    solved = quadratic.solve(np.hstack([pull, probes]), tolerance=tolerance)
    towards, spread = solved[:, 0], product(solved[:, 1:])
    # Signs z: zᵀQSz and, of S(QSz), zᵀQSQSz.
    trace = float((probes * spread).sum()) / number
    again = quadratic.solve(spread, tolerance=tolerance)
    trace_square = float((probes * product(again)).sum()) / number
    square = float(mean @ pull[:, 0])
    log_alpha, h = quadratic.centre.log_alpha, 1e-4
    low, middle, high = variance.derivative(log_alpha + np.array([-h, 0.0, h]))
    slope = p * (square + trace) - size + middle
    second = 2 * p * (square + trace) - 4 * p**2 * float(towards @ pull[:, 0])
    second -= 2 * p**2 * trace_square + (high - low) / (2 * h)
    # No marginal is wider than the prior's own information about a few items.
    second = max(float(second), 1.0)
    move = float(np.clip(slope / second, -MAX_SCALE_MOVE, MAX_SCALE_MOVE))
    return ScaleStep(move, second**-0.5, 2 * p * towards)
