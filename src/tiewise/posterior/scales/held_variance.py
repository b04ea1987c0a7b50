"""An earlier study as if its α² had been known, by weights on its draws.

With α² inferred, the posterior of qualities is a mixture of Gaussians of many widths, and what its
prior contributed is a mixture, too: in studies of few answers it cannot be divided out as one
Gaussian by another. With α² held at V it can. A draw (λ, α²) becomes one of the posterior with V
by the weight

    N(λ; 0, V Σ) h(α² | λ) / (N(λ; 0, α² Σ) π(α²)),

whatever the density h. With the inverse gamma of shape n/2 and scale r²/2, r² = λᵀ Σ⁻¹ λ, it is
exp(−r²/2V) rⁿ / π(log α), which hardly depends on the α² of the draw.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray
from xarray import Dataset, DataTree

from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors import VARIANCE_PRIORS
from tiewise.model.scalar_priors.base import VariancePrior
from tiewise.model.scalar_priors.notation import prior_from_dict
from tiewise.posterior.tree import rebuild_prior

Floats = NDArray[np.float64]

VALUES = np.linspace(0.1, 0.9, 17)
"""Quantiles of the posterior of α² at which it may be held."""


def hold_variance(tree: DataTree) -> tuple[DataTree, float]:
    """The posterior with α² held, as draws of one chain, and the share of draws that it is worth.

    Of likely values it is the one that keeps most draws. Studies whose α² is known are as they
    were, as are those with covariates, where α² is not the whole variance of quality.
    """
    prior = prior_from_dict(json.loads(tree.attrs["model"])["variance"], VARIANCE_PRIORS)
    posterior = tree["posterior"]
    if not isinstance(prior, VariancePrior) or "coefficient" in posterior:
        return tree, 1.0
    variance = posterior["variance"].to_numpy().ravel().astype(np.float64)
    square, size = _squares(tree)
    common = size / 2 * np.log(square) - prior.log_density(np.log(variance) / 2)
    weights = [
        (_normalised(common - square / (2 * value)), float(value))
        for value in np.quantile(variance, VALUES)
    ]
    weight, value = min(weights, key=lambda one: float((one[0] ** 2).sum()))
    # As many draws, at even steps of the sum of weights.
    steps = (np.arange(len(weight)) + 0.5) / len(weight)
    rows = np.minimum(np.searchsorted(np.cumsum(weight), steps), len(weight) - 1)
    return _chosen(tree, rows, value), float(1 / (len(weight) * (weight**2).sum()))


def _normalised(log_weight: Floats) -> Floats:
    weight = np.exp(log_weight - log_weight.max())
    out: Floats = weight / weight.sum()
    return out


def _squares(tree: DataTree) -> tuple[Floats, int]:
    """λᵀ Σ⁻¹ λ of each draw, λ with its level, and the number of dimensions."""
    posterior, prior = tree["posterior"], rebuild_prior(tree)
    quality = posterior["quality"].to_numpy().astype(np.float64)
    quality = (quality + posterior["level"].to_numpy()[..., None]).reshape(-1, quality.shape[-1])
    mixture = prior.mixture if isinstance(prior, Network) else None
    if mixture is not None:
        share = posterior["share"].to_numpy().ravel()
        own = (quality @ mixture.vectors).T
        return (own**2 / mixture.variances(share)).sum(axis=0), len(own)
    if prior.factor(quality.shape[1]) is not None:
        each = [prior.coordinates(one) for one in np.eye(quality.shape[1])]
        quality = quality @ np.array(each)
    return (quality**2).sum(axis=1), quality.shape[1]


def _chosen(tree: DataTree, rows: NDArray[np.int64], value: float) -> DataTree:
    """The tree with these draws, and with this variance."""
    posterior = tree["posterior"].to_dataset()[
        [name for name in ("quality", "variance", "share") if name in tree["posterior"]]
    ]
    own = {}
    for name, column in posterior.items():
        numbers = column.to_numpy()
        numbers = numbers.reshape(-1, *numbers.shape[2:])[rows][None]
        own[name] = (column.dims, numbers)
    own["variance"] = (("chain", "draw"), np.full((1, len(rows)), value))
    parts = {"posterior": Dataset(own, coords={"item": posterior["item"].to_numpy()})}
    others = {name: tree[name].to_dataset() for name in tree.children if name != "posterior"}
    held = DataTree.from_dict(others | parts)
    held.attrs.update(tree.attrs)
    return held
