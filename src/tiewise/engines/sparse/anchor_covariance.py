"""Covariance of the anchors' qualities without matrices of items by items, at a given centre.

Column by column, by conjugate gradients; of very many anchors only variances, as they are where
pairs of items make a tree: those of an item given its neighbours' own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.sparse.centre import SparseCentre, SparseQuadratic, expand_sparse
from tiewise.engines.sparse.kernels import neighbour_sums
from tiewise.engines.sparse.network_centre import expand_network
from tiewise.engines.sparse.network_layers import NetworkScale
from tiewise.engines.sparse.precision import precision_of
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import Likelihood

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_COLUMNS = 400
"""Anchors up to which their covariance is that of the quadratic; that of a link always is."""
BLOCK = 64
TOLERANCE = 1e-6
LEAST_SHARE = 0.1
"""Of an item's own precision, what is left of it however little is known of its neighbours."""


def sparse_anchor_covariance(model: BradleyTerry, centre: SparseCentre, share: float) -> Floats:
    """That of the anchors, or their variances, threshold and scales held at the centre."""
    precision = precision_of(model.prior, model.size)
    likelihood = Likelihood.plain(model.counts.pooled())
    nothing = np.zeros(len(likelihood.first))
    if precision is None:
        return _network_covariance(model, likelihood, centre, share)
    quadratic = _held(expand_sparse(model, likelihood, precision, centre, nothing))
    assert quadratic.anchors is not None
    own = quadratic.anchors.positions
    if len(own) > MOST_COLUMNS and quadratic.anchors.precision.weights is not None:
        return _tree_variances(quadratic)
    columns = [
        quadratic.solve(_unit_columns(some, model.size), tolerance=TOLERANCE)[own]
        for some in _blocks(own)
    ]
    return np.hstack(columns)


def _held(quadratic: SparseQuadratic) -> SparseQuadratic:
    """The quadratic with the threshold held."""
    return replace(quadratic, cross=np.zeros_like(quadratic.cross), own=1.0)


def _tree_variances(quadratic: SparseQuadratic) -> Floats:
    """About the variances of the anchors' qualities, their level and a slope being known."""
    rows, diagonal, anchors = quadratic.hessian, quadratic.diagonal, quadratic.anchors
    assert anchors is not None
    assert anchors.precision.weights is not None
    neighbours = neighbour_sums(rows.first, rows.second, rows.weight, diagonal)
    neighbours += quadratic.prior_precision**2 * quadratic.precision.neighbour_sums(1.0 / diagonal)
    compared = quadratic.without_anchors.diagonal
    left = np.maximum(compared - neighbours, LEAST_SHARE * compared)[anchors.positions]
    return np.asarray(1.0 / (anchors.factor * anchors.precision.weights + left), np.float64)


def _network_covariance(
    model: BradleyTerry, likelihood: Likelihood, centre: SparseCentre, share: float
) -> Floats:
    """The same with a network prior whose share is given, by its layers."""
    with np.errstate(divide="ignore"):
        scale = NetworkScale(centre.log_alpha, float(np.log(share) - np.log1p(-share)))
    at, nothing = centre.unconstrained_tie, np.zeros(len(likelihood.first))
    quadratic = expand_network(model, likelihood, centre.quality, at, scale, nothing)
    quadratic = replace(quadratic, likelihood=_held(quadratic.likelihood))
    assert quadratic.likelihood.anchors is not None
    own, layers = quadratic.likelihood.anchors.positions, quadratic.layers
    columns = []
    for some in _blocks(own):
        right = layers.transposed(_unit_columns(some, model.size))
        columns.append(layers.qualities(quadratic.solve(right, TOLERANCE))[own])
    return np.hstack(columns)


def _blocks(positions: Integers) -> list[Integers]:
    return np.array_split(positions, -(-len(positions) // BLOCK))


def _unit_columns(positions: Integers, size: int) -> Floats:
    """A column for each of these items, 1 at its place."""
    out = np.zeros((size, len(positions)))
    out[positions, np.arange(len(positions))] = 1.0
    return out
