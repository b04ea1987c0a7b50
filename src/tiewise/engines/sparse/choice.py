"""Which models are sampled without matrices of items by items, and their preconditioners."""

from __future__ import annotations

from tiewise.engines.sparse.centre import SparseCentre
from tiewise.engines.sparse.network_centre import NetworkPoint
from tiewise.engines.sparse.network_preconditioner import (
    NetworkPreconditioner,
    build_network_preconditioner,
)
from tiewise.engines.sparse.precision import precision_of
from tiewise.engines.sparse.preconditioner import (
    DiagonalPreconditioner,
    build_diagonal_preconditioner,
)
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import DENSE_ITEMS

DENSE_AREAS = 4000
"""Areas up to which the network prior is sampled with matrices: without, its share moves slowly."""

SparseStart = SparseCentre | NetworkPoint
SparsePreconditioner = DiagonalPreconditioner | NetworkPreconditioner


def prefers_sparse(model: BradleyTerry) -> bool:
    """Whether a model has too many items for matrices of items by items, and does without them."""
    if model.terms or model.steps:
        return False
    if isinstance(model.prior, Network):
        return model.size > DENSE_AREAS and model.prior.exponential.is_exact
    return model.size > DENSE_ITEMS and precision_of(model.prior, model.size) is not None


def build_sparse_preconditioner(model: BradleyTerry, start: object = None) -> SparsePreconditioner:
    """The preconditioner of a model that `prefers_sparse`; `start` is that of similar data."""
    if precision_of(model.prior, model.size) is None:
        return build_network_preconditioner(model, start)
    return build_diagonal_preconditioner(model, start)
