"""Covariance of qualities by the Hessian of the posterior at its mean, all scales held there.

That of draws would not do where it is divided by what an observation adds: of an anchor that is
surer than the answers it is nearly the anchor's own, and what is left of it would be noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.engines.preconditioners.arrowhead import arrowhead_hessian, judge_precisions
from tiewise.engines.preconditioners.hierarchical import HierarchicalPosterior
from tiewise.engines.preconditioners.newton import unconstrained_tie
from tiewise.engines.sparse.anchor_covariance import sparse_anchor_covariance
from tiewise.engines.sparse.centre import SparseCentre
from tiewise.engines.sparse.choice import prefers_sparse
from tiewise.engines.sparse.precision import precision_of
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import LikelihoodArguments
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.fixed import Fixed

Floats = NDArray[np.float64]

NAMES = ("quality", "tie", "cut", "contrast", "order", "sharpness", "threshold")
"""What the likelihood depends on, as results name it."""
SPREADS = {
    "contrast": ("contrast_variance", 1.0), "coefficient": ("coefficient_sd", 2.0),
    "sharpness": ("sharpness_sd", 2.0), "threshold": ("threshold_sd", 2.0),
}  # fmt: skip
"""The variable that has the spread of a layer, and its power that is a variance."""


def anchor_covariance(tree: DataTree, model: BradleyTerry) -> Floats:
    """The covariance of the anchors' qualities; of very many of them their variances."""
    assert model.anchor_factor is not None
    if not prefers_sparse(model):
        own = model.anchor_factor.positions
        return quality_covariance(tree, model)[np.ix_(own, own)]
    posterior, prior = tree["posterior"], unconstrained_tie(model)
    quality = posterior["quality"].to_numpy().mean(axis=(0, 1), dtype=np.float64)
    t = 0.0 if prior is None else prior.unconstrain(float(posterior["tie"].mean()))
    log_alpha = float(np.log(posterior["variance"].mean())) / 2
    share = float(posterior["share"].mean()) if "share" in posterior else _held_share(model)
    return sparse_anchor_covariance(model, SparseCentre(quality, t, log_alpha), share)


def _held_share(model: BradleyTerry) -> float:
    """The share of a network prior that is not inferred."""
    share = getattr(model.prior, "share", None)
    return 0.0 if share is None else float(share)


def quality_covariance(tree: DataTree, model: BradleyTerry) -> Floats:
    """The covariance of qualities, those that groups of judges have in common."""
    if model.terms or model.steps:
        return _with_terms(tree, model)
    posterior = tree["posterior"]
    mean = {name: float(posterior[name].mean()) for name in ("tie", "variance")}
    if isinstance(model.prior, Network) and model.mixture is not None:
        model = replace(model, prior=model.prior.at(float(posterior["share"].mean())))
    quality = posterior["quality"].to_numpy().mean(axis=(0, 1))
    hessian, basis = model.negative_hessian(quality, mean["tie"]), model.factor
    inner = hessian.through(basis)
    inverse = np.linalg.inv(inner + np.eye(len(inner)) / mean["variance"])
    return np.asarray(inverse if basis is None else basis @ inverse @ basis.T, np.float64)


def sd_by_anchors(tree: DataTree, model: BradleyTerry) -> Floats:
    """Standard deviations that centred qualities had with prior and anchors, but no answer.

    Scales of the prior are held at the means that results have. Of very many items each is taken by
    itself: neighbours of an anchor then seem to have been more open than they were.
    """
    factor = model.anchor_factor
    assert factor is not None
    mean = tree["posterior/quality"].to_numpy().mean(axis=(0, 1), dtype=np.float64)
    added = factor.curvature(mean)
    if prefers_sparse(model):
        precision = precision_of(model.prior, model.size)
        own = np.ones(model.size) if precision is None else precision.diagonal
        known = own / float(tree["posterior/variance"].mean()) + added.diagonal(model.size)
        return np.asarray(known**-0.5, np.float64)
    prior, places = _prior_covariance(tree, model), factor.positions
    inner = np.eye(len(places)) + added.matrix @ prior[np.ix_(places, places)]
    covariance = prior - prior[:, places] @ np.linalg.solve(inner, added.matrix) @ prior[places]
    centred = covariance - covariance.mean(axis=0)
    variance = np.diag(centred) - centred.mean(axis=1)
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)), np.float64)


def _prior_covariance(tree: DataTree, model: BradleyTerry) -> Floats:
    """The prior covariance of qualities, those that groups of judges have in common."""
    posterior = HierarchicalPosterior(model)
    sizes = np.diff(posterior.offsets[: len(posterior.core) + 1])
    variances = np.repeat(_variances(posterior, tree)[: len(sizes)], sizes)
    common = _common_qualities(posterior)
    return np.asarray((common[:, : len(variances)] * variances) @ common[:, : len(variances)].T)


def _common_qualities(posterior: HierarchicalPosterior) -> Floats:
    """The qualities that groups have in common, by coordinates (items, coordinates)."""
    size, groups = posterior.likelihood.items, posterior.likelihood.groups
    qualities = posterior.argument_matrix[: groups * size]
    return np.asarray(qualities.reshape(groups, size, -1).mean(axis=0), np.float64)


def _with_terms(tree: DataTree, model: BradleyTerry) -> Floats:
    """The same of a model with terms or graded answers, which are not known either."""
    posterior = HierarchicalPosterior(model)
    draws = tree["posterior"]
    mean = {
        name: draws[name].to_numpy().mean(axis=(0, 1))[..., None] for name in NAMES if name in draws
    }
    precisions = np.array([1 / variance for variance in _variances(posterior, tree)])
    t = [
        prior.unconstrain(float(np.diff(mean["cut"][:, 0], prepend=0.0)[k]))
        if posterior.likelihood.levels > 1
        else prior.unconstrain(float(mean["tie"][0]))
        for k, prior in posterior.inferred_ties
    ]
    hessian = arrowhead_hessian(posterior, _arguments(model, mean), np.array(t)[:, None])
    core = hessian.eliminate_judges(*judge_precisions(posterior, precisions)).core.copy()
    for k, precision in enumerate(precisions[: len(posterior.core)]):
        own = np.arange(posterior.offsets[k], posterior.offsets[k + 1])
        core[own, own] += precision
    common = _common_qualities(posterior)
    return np.asarray(common @ np.linalg.solve(core, common.T), np.float64)


def _arguments(model: BradleyTerry, mean: Mapping[str, Floats]) -> LikelihoodArguments:
    """The arguments of the likelihood at these values, chains last."""
    terms = {name: value for name, value in mean.items() if name not in ("quality", "tie")}
    return model.design.arguments(mean["quality"], mean["tie"], terms)


def _variances(posterior: HierarchicalPosterior, tree: DataTree) -> list[float]:
    """The prior variance of each layer's coordinates, at the mean of what was inferred of it."""
    draws = tree["posterior"]
    variance = float(draws["variance"].mean())
    share = float(draws["share"].mean()) if posterior.mixed else 1.0
    out = []
    for layer in posterior.layers:
        if layer.name in ("quality", "independent"):
            out.append(variance * (share if layer.name == "quality" else 1 - share))
        elif isinstance(layer.variance, Fixed):
            out.append(layer.variance.value)
        else:
            out.append(_mean_variance(layer.name, posterior, tree))
    return out


def _mean_variance(name: str, posterior: HierarchicalPosterior, tree: DataTree) -> float:
    """The mean variance of a layer; of a spread that results do not name, from what it spreads."""
    draws = tree["posterior"]
    spread, power = SPREADS.get(name, ("", 1.0))
    if spread in draws:
        return float((draws[spread] ** power).mean())
    values = draws[name].to_numpy()
    if name == "order":
        facts = posterior.design.facts
        return float(((values if facts is None else values * facts.sd) ** 2).mean())
    middle: Floats | float = 1.0
    if name == "threshold":
        tie = draws["tie"].to_numpy()
        # Where ties are not offered it is the first step that judges' thresholds scale.
        middle = (tie if tie.any() else draws["cut"].to_numpy()[..., 1])[..., None]
    return float((np.log(values / middle) ** 2).mean())
