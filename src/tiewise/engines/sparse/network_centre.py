"""The centre of the network's preconditioner: variational means of both layers, and of α and ρ.

As in `centre`, with the layers η in the place of qualities. The marginal of (log α, τ) under the
quadratic kᵀλ − ½ λᵀHλ has the slopes E[(k − Hλ)·∂λ/∂(a, τ)], whose traces are estimated from
random signs, the same ones at every point, so that differences of slopes are its Hessian.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.preconditioners.laplace_marginal import MAX_LOG_SCALE
from tiewise.engines.preconditioners.newton import initial_threshold, unconstrained_tie
from tiewise.engines.sparse.centre import (
    CLOSE,
    MAX_SCALE_MOVE,
    ROUGH_TOLERANCE,
    SparseCentre,
    SparseQuadratic,
    answers_first,
    expand_sparse,
)
from tiewise.engines.sparse.conjugate_gradients import conjugate_gradients
from tiewise.engines.sparse.network_anchors import AnchorWhitening, anchor_whitening
from tiewise.engines.sparse.network_layers import Layers, NetworkScale, whiten, whitening
from tiewise.engines.sparse.precision import SparsePrecision
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import Likelihood
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.fixed import Fixed

Floats = NDArray[np.float64]

MOST_ROUNDS = 25
DIFFERENCE = 0.02  # of log α and τ, for second derivatives
MAX_TAU = 8.0
GAP_SAMPLES, FEW_SIGNS, MOST_SIGNS, SIGN_NUMBERS = 16, 4, 32, 400_000
EXACT_ROWS = 200
POWER_ITERATIONS, LARGEST_PRECISION = 40, 2.5


class NetworkMean(NamedTuple):
    """Means of the layers at one scale, and slopes of the marginal by log α and τ there."""

    layers: Floats
    slopes: Floats


@dataclass(frozen=True, eq=False)
class NetworkQuadratic:
    """The log likelihood as a quadratic, threshold eliminated, and the layers at one scale."""

    likelihood: SparseQuadratic
    layers: Layers
    anchors: AnchorWhitening | None = None

    @cached_property
    def linear(self) -> Floats:
        """k (items)."""
        own = self.likelihood
        slope = own.slope - own.cross * (own.tie_slope / own.own)
        return own.curvature_product(own.centre.quality[:, None])[:, 0] + slope

    @cached_property
    def whitening(self) -> Floats:
        """The whitening at this scale, anchors left out."""
        curvature = float(self.likelihood.without_anchors.curvature.mean())
        return whitening(self.layers.exponential, self.layers.scale, curvature)

    def product(self, layers: Floats) -> Floats:
        """(I + BᵀHB) η."""
        quality = self.layers.qualities(layers)
        return layers + self.layers.transposed(self.likelihood.curvature_product(quality))

    def solve(self, right: Floats, tolerance: float) -> Floats:
        """(I + BᵀHB)⁻¹ of stacked layers, preconditioned by the whitening."""

        def inverse(x: Floats) -> Floats:
            return self.whitened(self.whitened_transposed(x))

        return conjugate_gradients(self.product, inverse, right, tolerance=tolerance)

    def whitened(self, q: Floats) -> Floats:
        """The whitening, with that of anchors, times stacked layers."""
        own = q if self.anchors is None else self.anchors.product(q)
        return whiten(self.layers.exponential, self.whitening, own)

    def whitened_transposed(self, layers: Floats) -> Floats:
        """Its transpose."""
        own = whiten(self.layers.exponential, self.whitening, layers)
        return own if self.anchors is None else self.anchors.product(own)

    def at(self, scale: NetworkScale) -> NetworkQuadratic:
        """The same at another scale."""
        return replace(self, layers=self.layers._replace(scale=scale))

    def mean(self, signs: Floats, tolerance: float) -> NetworkMean:
        """Means of the layers, and slopes of the marginal without its priors."""
        right = np.hstack([self.layers.transposed(self.linear[:, None]), signs])
        solved = self.solve(right, tolerance)
        mean, number = solved[:, :1], signs.shape[1]
        quality = self.layers.qualities(mean)
        rest = (self.linear[:, None] - self.likelihood.curvature_product(quality))[:, 0]
        by_tau = self.layers.qualities_by_tau(solved)
        image = self.likelihood.curvature_product(self.layers.qualities(signs))
        traces = [
            len(mean) - float((signs * solved[:, 1:]).sum()) / number,
            float((image * by_tau[:, 1:]).sum()) / number,
        ]
        own = [float(rest @ quality[:, 0]), float(rest @ by_tau[:, 0])]
        return NetworkMean(mean[:, 0], np.array(own) - traces)

    def gap_sd(self, rng: np.random.Generator) -> Floats:
        """Standard deviation of every row's gap, from a few draws by perturbation."""
        rows, size = self.likelihood.hessian, self.likelihood.precision.size
        noise = np.sqrt(rows.weight)[:, None] * rng.standard_normal((len(rows.weight), GAP_SAMPLES))
        spread = np.zeros((size, GAP_SAMPLES))
        np.add.at(spread, rows.first, noise)
        np.subtract.at(spread, rows.second, noise)
        right = rng.standard_normal((2 * size, GAP_SAMPLES)) + self.layers.transposed(spread)
        quality = self.layers.qualities(self.solve(right, 1e-2))
        gaps = quality[rows.first] - quality[rows.second]
        return np.asarray(np.sqrt((gaps**2).mean(axis=1)))


class NetworkPoint(NamedTuple):
    """Where the likelihood is expanded: qualities, threshold, scale, and sd of every row's gap."""

    quality: Floats
    t: float
    scale: NetworkScale
    gap_sd: Floats
    anchored_directions: float = 0.0


class NetworkCentre(NamedTuple):
    """Where the coordinates are centred, and how the centre moves with log α and τ.

    `layer_slopes` (2 · items, 2) are derivatives of the layers' mean, `scale_root` the Cholesky
    factor of the covariance of (log α, τ); what is fixed has zeros.

    Comparisons say nothing of the common level, so that the whitening, which takes all directions
    for as well known, leaves one much wider than the others: `widest`, a unit vector, whose
    coordinate is stretched by `stretch`.
    """

    quadratic: NetworkQuadratic
    layers: Floats
    layer_slopes: Floats
    scale_root: Floats
    widest: Floats
    stretch: float
    point: NetworkPoint
    """Where it was found: a start for similar data."""

    def whitened(self, q: Floats) -> Floats:
        """Layers less their mean, from their coordinates."""
        return self.quadratic.whitened(self._stretched(q))

    def whitened_transposed(self, layers: Floats) -> Floats:
        """The transpose: slopes by coordinates, from those by layers."""
        return self._stretched(self.quadratic.whitened_transposed(layers))

    def _stretched(self, q: Floats) -> Floats:
        return q + np.multiply.outer((self.stretch - 1) * self.widest, self.widest @ q)


def find_network_centre(
    model: BradleyTerry, likelihood: Likelihood, start: NetworkPoint | None = None
) -> NetworkCentre:
    """The variational centre of a model with a network prior; `start` is that of similar data."""
    signs = _signs(2 * model.size)
    if start is None:
        point = _first_point(model, likelihood)
        if (answers := answers_first(model)) is not None:
            point = _settled(answers, likelihood, point, signs)
    else:
        point = _point_from(start, model, likelihood)
    point = _settled(model, likelihood, point, signs)
    quadratic = expand_network(model, likelihood, *point)
    final = _newton(model, quadratic, signs, 1e-4)
    return NetworkCentre(
        quadratic, final.layers, final.layer_slopes, final.root, *_widest(quadratic), point
    )


def _first_point(model: BradleyTerry, likelihood: Likelihood) -> NetworkPoint:
    """All items alike."""
    tie_prior, gap_sd = unconstrained_tie(model), np.zeros(len(likelihood.first))
    t = 0.0 if tie_prior is None else initial_threshold(tie_prior)
    return NetworkPoint(np.zeros(model.size), t, _first_scale(model), gap_sd)


def _point_from(start: NetworkPoint, model: BradleyTerry, likelihood: Likelihood) -> NetworkPoint:
    """The centre of similar data, with what is fixed here, and the gaps of these data."""
    first, gap_sd = _first_scale(model), np.zeros(len(likelihood.first))
    assert isinstance(model.prior, Network)
    scale = NetworkScale(
        first.log_alpha if model.fixed_variance is not None else start.scale.log_alpha,
        # A share that was held at 1 is infinitely far from any that is inferred.
        first.tau
        if model.prior.share is not None or not np.isfinite(start.scale.tau)
        else start.scale.tau,
    )
    point = start._replace(scale=scale, gap_sd=gap_sd)
    rough = expand_network(model, likelihood, *point)
    return point._replace(gap_sd=rough.gap_sd(np.random.default_rng(1)))


def _settled(
    model: BradleyTerry, likelihood: Likelihood, point: NetworkPoint, signs: Floats
) -> NetworkPoint:
    """Where rounds from a point come to rest."""
    for _ in range(MOST_ROUNDS):
        quadratic = expand_network(model, likelihood, *point)
        at = _newton(model, quadratic, signs, 1e-2)
        centred = quadratic.at(at.scale)
        mean = centred.mean(signs[:, :1], ROUGH_TOLERANCE)
        step = centred.layers.qualities(mean.layers[:, None])[:, 0] - point.quality
        own = quadratic.likelihood
        tie_step = float(np.clip((own.tie_slope - own.cross @ step) / own.own, -2.0, 2.0))
        sd = (own.curvature + np.exp(-2 * point.scale.log_alpha)) ** -0.5
        moved = max(float((np.abs(step) / sd).max()), at.moved, abs(tie_step) * own.own**0.5)
        first, gap_sd = not point.gap_sd.any(), centred.gap_sd(np.random.default_rng(1))
        directions = own.anchored_directions
        point = NetworkPoint(point.quality + step, point.t + tie_step, at.scale, gap_sd, directions)
        if moved < 3 * CLOSE and not first:
            break
    return point


def _widest(quadratic: NetworkQuadratic) -> tuple[Floats, float]:
    """The direction that is widest after whitening, by power iterations, and its sd."""
    ones = np.ones((quadratic.likelihood.precision.size, 1))
    vector = quadratic.whitened_transposed(quadratic.layers.transposed(ones))
    precision = 1.0
    for _ in range(POWER_ITERATIONS):
        vector /= np.linalg.norm(vector)
        image = quadratic.product(quadratic.whitened(vector))
        image = quadratic.whitened_transposed(image)
        precision = float((vector * image).sum())
        vector = LARGEST_PRECISION * vector - image
    vector /= np.linalg.norm(vector)
    return vector[:, 0], max(precision, 1e-6) ** -0.5


def _signs(size: int) -> Floats:
    """Columns of random signs for traces; for few items columns that make these exact."""
    if size <= EXACT_ROWS:
        return np.asarray(size**0.5 * np.eye(size))
    number = int(np.clip(SIGN_NUMBERS // size, FEW_SIGNS, MOST_SIGNS))
    signs = np.random.default_rng(0).integers(0, 2, (size, number))
    return np.asarray(2.0 * signs - 1.0, np.float64)


def _first_scale(model: BradleyTerry) -> NetworkScale:
    fixed, share = model.fixed_variance, model.prior.share  # type: ignore[attr-defined]
    log_alpha = 0.0 if fixed is None else float(np.log(fixed) / 2)
    if share is None:
        return NetworkScale(log_alpha, 0.0)
    with np.errstate(divide="ignore"):
        return NetworkScale(log_alpha, float(np.log(share) - np.log1p(-share)))


def expand_network(
    model: BradleyTerry, likelihood: Likelihood, quality: Floats, t: float, scale: NetworkScale,
    gap_sd: Floats, anchored_directions: float = 0.0,
) -> NetworkQuadratic:  # fmt: skip
    """The quadratic around a centre; the prior that `expand_sparse` adds is taken out."""
    assert isinstance(model.prior, Network)
    nothing = SparsePrecision(model.size)
    centre = SparseCentre(quality, t, 0.0)
    own = expand_sparse(model, likelihood, nothing, centre, gap_sd, anchored_directions)
    pull = own.precision.product(quality[:, None])[:, 0]
    own = replace(own, slope=own.slope + pull)
    out = NetworkQuadratic(own, Layers(model.prior.exponential, scale))
    if own.anchors is None:
        return out
    known = anchor_whitening(own.anchors, out.layers, out.whitening, model.size)
    return replace(out, anchors=known)


class _Step(NamedTuple):
    """Newton's step on the marginal: the next scale, and what is known where it began."""

    scale: NetworkScale
    moved: float
    layers: Floats
    layer_slopes: Floats
    root: Floats


def _newton(
    model: BradleyTerry, quadratic: NetworkQuadratic, signs: Floats, tolerance: float
) -> _Step:
    """One step of Newton's method for (log α, τ), by differences of slopes."""
    begin = np.array(quadratic.layers.scale, float)
    free = np.array([model.fixed_variance is None, model.prior.share is None])  # type: ignore[attr-defined]
    here = quadratic.mean(signs, tolerance)
    layer_slopes, hessian = np.zeros((len(here.layers), 2)), -np.eye(2)
    for k in np.flatnonzero(free):
        shift = DIFFERENCE * np.eye(2)[k]
        near = [quadratic.at(NetworkScale(*map(float, begin + side * shift))) for side in (-1, 1)]
        low, high = (one.mean(signs, tolerance) for one in near)
        layer_slopes[:, k] = (high.layers - low.layers) / (2 * DIFFERENCE)
        slopes = [
            own.slopes + _prior_slopes(model, begin + side * shift)
            for own, side in ((low, -1), (high, 1))
        ]
        hessian[:, k] = (slopes[1] - slopes[0]) / (2 * DIFFERENCE)
    hessian[np.ix_(~free, free)] = 0.0
    hessian[np.ix_(free, ~free)] = 0.0
    # Negative definite, and never flatter than a wide prior.
    values, vectors = np.linalg.eigh(-(hessian + hessian.T) / 2)
    values = np.maximum(np.abs(values), 0.2)
    covariance = (vectors / values) @ vectors.T
    slope = np.where(free, here.slopes + _prior_slopes(model, begin), 0.0)
    move = np.clip(covariance @ slope, -MAX_SCALE_MOVE, MAX_SCALE_MOVE)
    end = np.where(free, begin + move, begin)
    limits = np.array([MAX_LOG_SCALE, MAX_TAU])
    end = np.where(free, np.clip(end, -limits, limits), begin)
    root = np.linalg.cholesky(covariance) * np.outer(free, free)
    sd = np.sqrt(np.diag(covariance))
    moved = float(np.where(free, np.abs(move) / sd, 0.0).max())
    return _Step(NetworkScale(*map(float, end)), moved, here.layers, layer_slopes, root)


def _prior_slopes(model: BradleyTerry, scale: Floats) -> Floats:
    """Slopes of the log priors of log α and τ."""
    by_log_alpha = 0.0
    if not isinstance(model.variance, Fixed):
        by_log_alpha = float(model.variance.derivative(scale[:1])[0])
    by_tau = -float(np.tanh(scale[1] / 2)) if np.isfinite(scale[1]) else 0.0
    return np.array([by_log_alpha, by_tau])
