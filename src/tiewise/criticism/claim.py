"""The claim that a report would make, which items are the highest, and what it rests on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.posterior.large.groups import (
    all_draws,
    is_thinned,
    stored_moments,
    stored_top_probability,
    watched_draws,
)
from tiewise.posterior.large.watched_items import CONFIDENT as CONFIDENT
from tiewise.posterior.prior_sensitivity import power_weights, sensitivities
from tiewise.posterior.scales.anchored import SD_BY_ANCHORS
from tiewise.posterior.summaries import BATCH, FEW_ITEMS

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Claim(NamedTuple):
    """The items that would be named, what is known of all, and what the named rest on.

    `prior_share` is the posterior standard deviation of the difference between a named item and
    the average, as a share of its prior one at the spread that the answers suggest: near 1 the
    answers said nothing about it. `prior_sensitivity` is how far the difference between the named
    and the average, in units of the spread of all, moves with the priors of the scales
    (power-scaling; NaN where not computed). `anchor_share`, of a fit with anchors or a link, is the
    posterior standard deviation as a share of that with these and no answer, of the named or of all
    items, whichever is less: near 1 it is they that say it, and not the answers. NaN without any.
    """

    named: Mask
    prior_share: float
    reliability: float
    prior_sensitivity: float
    anchor_share: float = np.nan


def leading_claim(tree: DataTree, top: int) -> Claim:
    """The claim about the `top` highest; about the most probable where none is confidently so."""
    if tree.attrs["kind"] == "point":
        return _of_point(tree, top)
    if is_thinned(tree):
        return _of_very_many(tree, top)
    quality = tree["posterior/quality"].to_numpy()
    flat = quality.reshape(-1, quality.shape[-1])
    mean, variance = _moments(flat)
    probability = top_probability(flat, top)
    named = probability >= min(CONFIDENT, float(probability.max()))
    prior_share, reliability = _shares(mean, variance, named, len(flat))
    # An order is claimed, not a size: the spread of qualities, which priors do move, is taken out.
    batches = (flat[k : k + BATCH] for k in range(0, len(flat), BATCH))
    spread = np.concatenate([batch.std(axis=1) for batch in batches])
    difference = (flat[:, named].mean(axis=1) - flat.mean(axis=1)) / np.where(spread > 0, spread, 1)
    sensitivity = _sensitivity(tree, difference)
    anchor_share = _anchor_share(tree, variance, named)
    return Claim(named, prior_share, reliability, sensitivity, anchor_share)


def _of_very_many(tree: DataTree, top: int) -> Claim:
    """The same from what is stored of all draws; those named are among the watched items."""
    moments = stored_moments(tree)
    assert moments is not None
    kept = tree["posterior/quality"].to_numpy()
    probability = stored_top_probability(tree, top)
    if probability is None:
        probability = top_probability(kept.reshape(-1, kept.shape[-1]), top)
    named = probability >= min(CONFIDENT, float(probability.max()))
    prior_share, reliability = _shares(moments.mean, moments.variance, named, moments.draws)
    watched, draws = watched_draws(tree)
    spread = all_draws(tree)["spread"].to_numpy().ravel()
    difference = draws[:, named[watched]].mean(axis=1) / np.where(spread > 0, spread, 1)
    log_prior = all_draws(tree).get("scales")
    sensitivity = np.nan if log_prior is None else _moved(log_prior.to_numpy().ravel(), difference)
    return Claim(named, prior_share, reliability, sensitivity)


def _of_point(tree: DataTree, top: int) -> Claim:
    estimate = tree["posterior/quality"].to_numpy().reshape(-1)
    estimate = estimate - estimate.mean()
    variance = tree["constant_data/standard_error"].to_numpy().astype(float) ** 2
    named = np.zeros(len(estimate), bool)
    named[np.argsort(-estimate, kind="stable")[:top]] = True
    # Estimates spread by their errors, too.
    known = np.maximum(estimate.var() - variance.mean(), 0.0)
    total = known + variance.mean()
    with np.errstate(all="ignore"):
        share = float(np.sqrt(variance[named].mean() / total))
    return Claim(named, share, float(known / total) if total > 0 else 0.0, np.nan)


def top_probability(flat: Floats, top: int) -> Floats:
    """Probability of each item to be among the `top` highest, from draws (draws, items)."""
    size = flat.shape[1]
    if top >= size:
        return np.ones(size)
    times = np.zeros(size)
    for k in range(0, len(flat), BATCH):
        highest = np.argpartition(-flat[k : k + BATCH], top - 1, axis=1)[:, :top]
        times += np.bincount(highest.ravel(), minlength=size)
    return times / len(flat)


def _moments(flat: Floats) -> tuple[Floats, Floats]:
    """Means and variances of centred qualities; some items at a time, so that copies are small."""
    level = flat.mean(axis=1, keepdims=True)
    parts = (flat[:, k : k + FEW_ITEMS] - level for k in range(0, flat.shape[1], FEW_ITEMS))
    means, variances = zip(*((part.mean(axis=0), part.var(axis=0)) for part in parts), strict=True)
    return np.concatenate(means), np.concatenate(variances)


def _shares(mean: Floats, variance: Floats, named: Mask, draws: int) -> tuple[float, float]:
    """The prior's share in the claim about the named items, and the reliability of all items.

    Means and variances together make up the spread of qualities, whatever the model: that of the
    prior at the scale that the answers suggest. Monte Carlo error of means is taken off.
    """
    unknown = float(variance.mean())
    known = max(float(mean.var()) - unknown / draws, 0.0)
    total = known + unknown
    if total <= 0:
        return np.nan, 0.0
    return float(np.sqrt(variance[named].mean() / total)), known / total


def _anchor_share(tree: DataTree, variance: Floats, named: Mask) -> float:
    """What answers left open of what anchors, or a link, had left open.

    That a known item is the highest is learnt from answers about the others, too.
    """
    if SD_BY_ANCHORS not in tree["constant_data"]:
        return np.nan
    before = tree["constant_data"][SD_BY_ANCHORS].to_numpy() ** 2
    shares = [variance[some].mean() / before[some].mean() for some in (named, slice(None))]
    return float(np.sqrt(min(shares)))


def _sensitivity(tree: DataTree, difference: Floats) -> float:
    """Power-scaling sensitivity of a difference (draws) to the priors of the scales."""
    if "log_prior" not in tree.children or np.ptp(difference) == 0:
        return np.nan
    log_prior = sum(values.to_numpy().ravel() for values in tree["log_prior"].data_vars.values())
    return _moved(np.asarray(log_prior, np.float64), difference)


def _moved(log_prior: Floats, difference: Floats) -> float:
    """That sensitivity, from the log prior density of each draw."""
    if np.ptp(log_prior) == 0:
        return 0.0
    weights = power_weights(log_prior)
    return float(sensitivities(difference.reshape(-1, 1), weights)[0])
