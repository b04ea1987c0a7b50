"""How far a posterior moves with the priors of its scales: power-scaling sensitivity.

The priors are raised to powers a little below and above 1, draws are weighted accordingly, and the
cumulative Jensen-Shannon distance between weighted and unweighted draws is set against the change
of the power (Kallioinen et al. 2024). For all parameters at once: a thousand items take a second.
Tests hold it against ArviZ.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xarray import Dataset, DataTree, Variable

from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import LikelihoodArguments
from tiewise.model.scalar_priors.base import VariancePrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.posterior.diagnostics import watched_items
from tiewise.posterior.large.groups import all_draws, is_thinned, watched_draws
from tiewise.posterior.predictions import PosteriorDraws, has_strata

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

POWERS = (0.99, 1.01)
MOST_DRAWS = 5000
"""Draws that are looked at; of more, as many that are evenly spaced."""
BATCH = 16
"""Parameters looked at together."""
MOST_DRAWS_AT_ONCE, MOST_QUALITIES_AT_ONCE = 256, 120_000
"""Of which the likelihood is computed together."""
SPREADS = {
    "covariates": ("coefficient_sd", 1.0), "groups": ("contrast_variance", 0.5),
    "sharpness": ("sharpness_sd", 1.0), "thresholds": ("threshold_sd", 1.0),
}  # fmt: skip
"""The variable with the spread of a term, and the power of it that is a standard deviation."""


def attach_prior_sensitivity(tree: DataTree, model: BradleyTerry) -> None:
    """Add log densities to a fit with draws under the model's priors, and the sensitivity to it."""
    if tree.attrs["kind"] == "point" or "quality" not in json.loads(tree.attrs["model"]):
        return
    attach_log_densities(tree, model)
    tree.attrs["prior_sensitivity"] = json.dumps(prior_sensitivity(tree))


def prior_sensitivity(tree: DataTree) -> dict[str, Any]:
    """Sensitivity of δ, α, the share and, as `quality`, of the item that has the largest.

    `item` is that item; qualities are centred. What is fixed is left out, and so is everything
    where nothing is inferred.
    """
    thinned = is_thinned(tree)
    scales = all_draws(tree)["scales"] if thinned else tree["log_prior/scales"]
    log_prior = scales.to_numpy().ravel()
    if np.ptp(log_prior) == 0:
        return {}
    which = np.linspace(0, len(log_prior) - 1, min(len(log_prior), MOST_DRAWS)).round().astype(int)
    weights = power_weights(log_prior[which])
    result: dict[str, Any] = {
        name: round(float(sensitivities(draws[which, None], weights)[0]), 4)
        for name, draws in _free_scales(tree).items()
    }
    watched, parts = _watched(tree, which)
    own = np.concatenate([sensitivities(part, weights) for part in parts])
    item = tree["posterior/item"].to_numpy()[watched[int(own.argmax())]]
    return result | {"quality": round(float(own.max()), 4), "item": str(item)}


def _watched(tree: DataTree, which: Integers) -> tuple[Integers, Iterable[Floats]]:
    """Positions of the watched items, and some of their draws (draws, items), some at a time."""
    if is_thinned(tree):
        watched, draws = watched_draws(tree, which)
        return watched, [draws]
    quality = tree["posterior/quality"].to_numpy()
    watched = watched_items(quality, tree["constant_data/comparisons"].to_numpy())
    flat = quality.reshape(-1, quality.shape[-1])
    batches = (watched[k : k + BATCH] for k in range(0, len(watched), BATCH))
    return watched, (flat[np.ix_(which, some)] for some in batches)


def _free_scales(tree: DataTree) -> dict[str, Floats]:
    """Draws of δ, α and the share, as far as they are inferred."""
    posterior = all_draws(tree)
    scales = {"tie": posterior["tie"], "alpha": posterior["variance"] ** 0.5}
    if "share" in posterior:
        scales["share"] = posterior["share"]
    draws = {name: values.to_numpy().ravel() for name, values in scales.items()}
    return {name: values for name, values in draws.items() if np.ptp(values) > 0}


def read_sensitivity(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """The sensitivity that a fit's attributes hold; empty where it was not computed."""
    facts: dict[str, Any] = json.loads(attributes.get("prior_sensitivity", "{}"))
    return facts


def power_weights(log_density: Floats) -> list[Floats]:
    """Weights of draws (draws) under the density raised to each of the powers."""
    raised = [np.exp((power - 1) * (log_density - log_density.mean())) for power in POWERS]
    return [weight / weight.sum() for weight in raised]


def sensitivities(draws: Floats, weights: list[Floats]) -> Floats:
    """Sensitivity of every parameter (draws, parameters) to what these weights change."""
    parts = [_part(draws[:, k : k + BATCH].T, weights) for k in range(0, draws.shape[1], BATCH)]
    return np.concatenate(parts)


def _part(rows: Floats, weights: list[Floats]) -> Floats:
    """The mean over the powers of distance by change of the power, on the scale of log 2."""
    order = np.argsort(rows, axis=1)
    widths = np.diff(np.take_along_axis(rows, order, axis=1), axis=1)
    slopes = [
        _distance(widths, np.cumsum(weight[order], axis=1)[:, :-1]) / abs(np.log2(power))
        for weight, power in zip(weights, POWERS, strict=True)
    ]
    out: Floats = np.mean(slopes, axis=0)
    return out


def _distance(widths: Floats, weighted: Floats) -> Floats:
    """Cumulative Jensen-Shannon distance from plain to weighted draws, from the worse side."""
    size = widths.shape[1] + 1
    plain = np.linspace(1 / size, 1 - 1 / size, size - 1)
    return np.maximum(
        _one_sided(widths, plain, weighted), _one_sided(widths, 1 - plain, 1 - weighted)
    )


def _one_sided(widths: Floats, plain: Floats, weighted: Floats) -> Floats:
    """That distance between two distribution functions at the draws (parameters, draws)."""
    weighted = weighted.clip(1e-300)
    middle = np.log2((plain + weighted) / 2)
    # The linear terms of both directions cancel in their sum.
    total = widths * (plain * (np.log2(plain) - middle) + weighted * (np.log2(weighted) - middle))
    bound = (widths * (plain + weighted)).sum(axis=1)
    with np.errstate(invalid="ignore"):
        out: Floats = np.nan_to_num(np.sqrt(total.sum(axis=1).clip(0) / bound))
    return out


# Log densities of draws.


def attach_log_densities(tree: DataTree, model: BradleyTerry) -> None:
    """Add the groups `log_prior` and `log_likelihood`, one variable (chain, draw) each.

    The prior is that of the scales alone: variance, threshold and the spreads of terms. That of
    qualities given their variance is a part of the model, as the likelihood is.
    """
    index = {name: tree["posterior"][name] for name in ("chain", "draw")}
    likelihood = _stored_likelihood(tree)
    for group, name, values in (
        ("log_prior", "scales", scale_log_prior(tree.children["posterior"], model)),
        (
            "log_likelihood",
            "judgements",
            total_log_likelihood(tree, model) if likelihood is None else likelihood,
        ),
    ):
        tree[group] = DataTree(Dataset({name: (("chain", "draw"), values)}, coords=index))
    if is_thinned(tree):
        whole = all_draws(tree)
        whole["scales"] = Variable(("chain", "draw"), scale_log_prior(whole, model))


def _stored_likelihood(tree: DataTree) -> Floats | None:
    """The log likelihood of the draws that were kept, where that of all is stored."""
    if not is_thinned(tree) or "judgements" not in all_draws(tree):
        return None
    kept = tree["posterior/draw"].to_numpy()
    out: Floats = all_draws(tree)["judgements"].to_numpy()[:, kept]
    return out


THREADS = 2
TERM_VALUES = ("contrast", "order", "sharpness", "threshold")


def scale_log_prior(posterior: DataTree, model: BradleyTerry) -> Floats:
    """Log prior density (chains, draws) of the scales that are inferred, up to a constant."""
    tie = posterior["tie"].to_numpy()
    total: Floats = _log_density(model.variance, posterior["variance"].to_numpy() ** 0.5)
    if model.tie is not None and not isinstance(model.tie, Fixed):
        total = total + model.tie.log_density(tie)
    if model.steps:
        steps = np.diff(posterior["cut"].to_numpy(), axis=-1)
        for k, prior in enumerate(model.steps):
            total = total + prior.log_density(steps[..., k])
    for term in model.terms:
        name, power = SPREADS.get(term.kind, ("", 1.0))
        if name in posterior:
            total = total + _log_density(term.variance, posterior[name].to_numpy() ** power)
    return np.asarray(np.broadcast_to(total, tie.shape))


def _log_density(prior: VariancePrior | Fixed, scale: Floats) -> Floats:
    """Log density of a scale in the quantity whose prior is stated: α or α², not log α."""
    if isinstance(prior, Fixed):
        return np.zeros(1)
    log_scale = np.log(scale)
    out: Floats = prior.log_density(log_scale) - prior.power * log_scale
    return out


def total_log_likelihood(tree: DataTree, model: BradleyTerry) -> Floats:
    """Log likelihood (chains, draws) of all judgements together."""
    if model.steps or has_strata(tree):
        return _with_terms(tree, model)
    return _plain(PosteriorDraws.from_tree(tree), model).reshape(tree["posterior/tie"].shape)


def _with_terms(tree: DataTree, model: BradleyTerry) -> Floats:
    """The same of a model with terms or graded answers, chain by chain."""
    posterior, design = tree["posterior"], model.design
    names = ("quality", "tie", "cut", *TERM_VALUES)
    values = {name: posterior[name].to_numpy() for name in names if name in posterior}
    likelihood, anchors = design.likelihood, model.anchor_factor

    def one_chain(*chain: Floats) -> Floats:
        own = {name: np.moveaxis(v, 0, -1) for name, v in zip(values, chain, strict=True)}
        quality = own.pop("quality")
        at = design.arguments(quality, own.pop("tie"), own)
        total = likelihood.log_likelihood(LikelihoodArguments(*map(np.ascontiguousarray, at)))
        return total if anchors is None else total + anchors.log_density(quality)

    with ThreadPoolExecutor(THREADS) as pool:
        return np.stack(list(pool.map(one_chain, *values.values())))


def _plain(draws: PosteriorDraws, model: BradleyTerry) -> Floats:
    step = max(1, min(MOST_DRAWS_AT_ONCE, MOST_QUALITIES_AT_ONCE // model.size))
    parts = [draws.select(slice(k, k + step)) for k in range(0, len(draws), step)]
    return np.concatenate(
        [model.log_likelihood(np.ascontiguousarray(part.quality.T), part.tie) for part in parts]
    )
