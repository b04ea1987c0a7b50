"""What an earlier study says of items that a later one shares: its posterior without its prior.

A posterior that is used as a prior counts the prior twice. Here the prior of the shared items is
divided out, in Gaussian form: with the posterior N(m, C) and the prior N(0, P) of differences
between them, what the answers say has the precision C⁻¹ − P⁻¹ and the mean that goes with it.

Where α² was inferred, draws are first weighted to those with α² held (`held_variance`). Of other
scales of the prior (the share of a map, the spread of coefficients; with these α², too) P⁻¹ is the
prior's precision averaged over their posterior: minus the slope of the log prior with the
scales integrated out is E[P⁻¹ | λ] λ (Fisher's identity), so that it is this average which the
posterior holds. Terms of the earlier study are integrated out in its posterior of quality already.

C is known from draws, and its inverse looks surer than it is unless there are many more of these
than items. Its eigenvalues are therefore shrunk first, as far as the number of draws says (Ledoit
and Wolf 2020, "Analytical nonlinear shrinkage of large-dimensional covariance matrices").
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.errors import InputError
from tiewise.model.anchors.anchors import Anchors
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import RANK_TOLERANCE
from tiewise.model.terms import Covariates
from tiewise.posterior.diagnostics import ess
from tiewise.posterior.scales.held_variance import hold_variance
from tiewise.posterior.tree import rebuild_prior

Floats = NDArray[np.float64]
Part = tuple[Floats, Floats]
"""A part of the prior covariance of differences: its weight in each draw, and its matrix."""

LEAST_LEARNED = 1e-3
"""Of a direction of which a study has learned less than this share, it says nothing."""
FEWEST_PER_ITEM = 2
"""Independent draws for each shared item, below which their covariance is not known."""
INVERTED_NUMBERS, FEWEST_DRAWS, MOST_DRAWS = 40_000, 25, 400
"""Rows of matrices that are inverted for an average over draws, and draws that it is taken over."""


def linked_anchors(tree: DataTree, items: Sequence[str]) -> Anchors:
    """What the answers of an earlier fit say of those of these items that it has, as anchors."""
    if tree.attrs["kind"] != "exact":
        raise InputError("link= needs draws of an exact engine; fit the earlier study again")
    here, there = set(items), tree["posterior"]["item"].to_numpy().astype(str)
    positions = np.flatnonzero([item in here for item in there])
    if len(positions) < 2:
        raise InputError(
            f"link=: both studies share {len(positions) or 'no'} item{'s'[: len(positions) != 1]}; "
            "at least two are needed, under the same ids"
        )
    held, share = hold_variance(tree)
    worth = share * float(np.median(ess(_shared(tree, positions))))
    draws = _shared(held, positions).reshape(-1, len(positions))
    worth = min(worth, len(draws))
    _refuse_few_draws(worth, len(positions))
    values, precision = divided(draws, prior_covariance(held, positions), worth=worth)
    kurtosis = excess_kurtosis(draws, worth)
    return Anchors(tuple(there[positions]), values, precision=precision, kurtosis=kurtosis)


def _shared(tree: DataTree, positions: NDArray[np.int64]) -> Floats:
    """Qualities (chain, draw, items) of these items."""
    out: Floats = tree["posterior/quality"].to_numpy()[..., positions].astype(np.float64)
    return out


def excess_kurtosis(draws: Floats, worth: float) -> float:
    """How much heavier than a Gaussian's the tails of differences are, on average over directions.

    0 where draws that are `worth` so many independent ones cannot tell it from 0: uncorrelated
    Gaussian directions would be as far off in fewer than one of ten thousand studies.
    """
    away = draws @ _contrasts(draws.shape[1]).T
    away -= away.mean(axis=0)
    apart = away @ np.linalg.eigh(np.atleast_2d(np.cov(away.T)))[1]
    kurtosis = float(np.mean((apart**4).mean(axis=0) / (apart**2).mean(axis=0) ** 2) - 3)
    return kurtosis if kurtosis > 4 * (24 / (worth * apart.shape[1])) ** 0.5 else 0.0


def _refuse_few_draws(worth: float, shared: int) -> None:
    if not worth >= FEWEST_PER_ITEM * shared:
        raise InputError(
            f"link=: the draws of the earlier study are worth {worth:.0f} independent ones, too "
            f"few for {shared} shared items: {FEWEST_PER_ITEM * shared} are needed; fit that one "
            "again, with more draws"
        )


def divided(draws: Floats, prior: Floats, *, worth: float | None = None) -> tuple[Floats, Floats]:
    """Centre and precision of what answers say, from draws (draws, items) and the prior covariance.

    Of differences alone: the level of a study is its own. The draws are `worth` so many independent
    ones, by default their number; infinitely many where their covariance is known to be exact.
    """
    contrasts = _contrasts(draws.shape[1])
    root = np.linalg.cholesky(contrasts @ prior @ contrasts.T)
    # In these coordinates the prior is N(0, I), and a posterior variance is what was not learned.
    white = np.linalg.solve(root, contrasts @ draws.T)
    variance, rotation = np.linalg.eigh(np.atleast_2d(np.cov(white)))
    variance = _without_noise(variance, (len(draws) if worth is None else worth) - 1)
    learned = 1 - variance
    known = learned > LEAST_LEARNED
    precision = np.where(known, learned / variance, 0.0)
    mean = rotation.T @ white.mean(axis=1)
    centre = np.where(known, mean / np.where(known, learned, 1.0), 0.0)
    back = np.linalg.solve(root, contrasts).T @ rotation
    values = contrasts.T @ (root @ (rotation @ centre))
    return values, (back * precision) @ back.T


def _without_noise(variance: Floats, freedom: float) -> Floats:
    """Eigenvalues of a sample covariance, shrunk to the variances that their vectors have.

    By the density of eigenvalues and its Hilbert transform, both estimated with Epanechnikov's
    kernel, whose width is in proportion to each eigenvalue.
    """
    if not np.isfinite(freedom):
        return variance
    ratio, width = len(variance) / freedom, freedom ** (-1 / 3) * variance
    away = (variance[:, None] - variance) / width
    inside, edge = 0.75 / np.sqrt(5) * (1 - away**2 / 5), np.sqrt(5)
    density = (np.maximum(inside, 0) / width).mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.nan_to_num(inside * np.log(np.abs((edge - away) / (edge + away))))
    transform = ((log - 0.3 * away) / width).mean(axis=1) / np.pi
    one, two = np.pi * ratio * variance * density, np.pi * ratio * variance * transform
    out: Floats = variance / (one**2 + (1 - ratio - two) ** 2)
    return out


def prior_covariance(tree: DataTree, positions: NDArray[np.int64]) -> Floats:
    """The prior covariance that these items had in a fit, the level left out.

    Its inverse, of differences, is the mean of that in every draw of the scales.
    """
    contrasts = _contrasts(len(positions))
    parts = [
        (weight, contrasts @ matrix @ contrasts.T) for weight, matrix in _parts(tree, positions)
    ]
    possible = np.linalg.eigvalsh(sum(weight.mean() * matrix for weight, matrix in parts))
    if possible[0] < RANK_TOLERANCE * possible[-1]:
        raise InputError(
            "link=: the prior of the earlier study rules some differences between shared items "
            "out, and cannot be divided out; fit that one again, with prior='independent'"
        )
    inner = np.linalg.inv(_mean_precision(parts))
    return np.asarray(contrasts.T @ inner @ contrasts, np.float64)


def _mean_precision(parts: Sequence[Part]) -> Floats:
    """The inverse of a covariance that is the sum of these parts, averaged over draws."""
    if len(parts) == 1:
        weight, matrix = parts[0]
        return np.asarray(np.linalg.inv(matrix) * (1 / weight).mean(), np.float64)
    draws, size = len(parts[0][0]), len(parts[0][1])
    number = int(np.clip(INVERTED_NUMBERS // size, FEWEST_DRAWS, MOST_DRAWS))
    some = np.linspace(0, draws - 1, min(number, draws)).round().astype(int)
    total = np.zeros((size, size))
    for k in some:
        total += np.linalg.inv(sum(weight[k] * matrix for weight, matrix in parts))
    return total / len(some)


def _parts(tree: DataTree, positions: NDArray[np.int64]) -> list[Part]:
    """Parts of the prior covariance of these items, with their weight in each draw."""
    posterior, prior = tree["posterior"], rebuild_prior(tree)
    variance = posterior["variance"].to_numpy().ravel()
    size, identity = posterior.sizes["item"], np.eye(len(positions))
    mixture = prior.mixture if isinstance(prior, Network) else None
    if mixture is not None:
        share, own = posterior["share"].to_numpy().ravel(), mixture.vectors[positions]
        correlation = (own * mixture.values) @ own.T
        parts = [(variance * share, correlation), (variance * (1 - share), identity)]
    elif (factor := prior.factor(size)) is None:
        parts = [(variance, identity)]
    else:
        parts = [(variance, factor[positions] @ factor[positions].T)]
    return [*parts, *_explained(tree, positions)]


def _explained(tree: DataTree, positions: NDArray[np.int64]) -> list[Part]:
    """What covariates may explain, where there are any: part of the quality's prior, too."""
    posterior, constant = tree["posterior"], tree["constant_data"]
    if "coefficient" not in posterior:
        return []
    if "covariate_value" not in constant:
        raise InputError(
            "link=: the earlier study has covariates, and its results, of an earlier version, do "
            "not hold their values; fit that one again"
        )
    own = constant["covariate_value"].to_numpy()[positions]
    if "coefficient_sd" in posterior:
        return [(posterior["coefficient_sd"].to_numpy().ravel() ** 2, own @ own.T)]
    terms = {term["kind"]: term for term in json.loads(tree.attrs["model"])["terms"]}
    held = float(terms[Covariates.kind]["variance"]["value"])
    return [(np.full(posterior["variance"].size, held), own @ own.T)]


def _contrasts(size: int) -> Floats:
    """Rows that are orthonormal and orthogonal to the level."""
    square = np.column_stack([np.ones(size), np.eye(size)[:, 1:]])
    out: Floats = np.linalg.qr(square)[0][:, 1:].T
    return out
