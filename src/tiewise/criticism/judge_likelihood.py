"""The likelihood of all of a judge's answers at each draw, the judge's own terms integrated out.

A judge's sharpness a and threshold δ_j are known from the judge's own answers alone. What the other
judges say of somebody new is log a ~ N(0, τ²) and log δ_j ~ N(log δ, ω²) at each draw; for δ stands
the first cut of graded answers where these have no ties. So the likelihood of the answers is an
integral over both: by Gauss–Hermite, with nodes where a quadratic approximation of the log
likelihood puts the mass.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.posterior.judgement_record import JudgementTable
from tiewise.posterior.predictions import PosteriorDraws, StratumDraws

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NODES = {1: 9, 2: 7}
"""Nodes in each direction, by the number of directions: log likelihoods are right to 0.005."""
STEP = 0.05
"""Step in log sharpness and log threshold of numerical derivatives."""
MIN_SD = 1e-6


class OwnAnswers(NamedTuple):
    """The answers of one judge, and their strata."""

    table: JudgementTable
    stratum: Integers

    def within(self, stratum: int) -> JudgementTable:
        """The answers in one stratum."""
        return self.table.where(self.stratum == stratum)


def has_own_terms(draws: PosteriorDraws) -> bool:
    """Whether judges have a sharpness or a threshold of their own.

    Those of groups have no spread over judges, and are known from the others in the group.
    """
    terms = draws.terms
    own = terms is not None and (terms.sharpness_sd is not None or terms.threshold_sd is not None)
    if own and terms is not None and terms.facts is not None:
        raise InputError(
            "leaving judges out does not know judges' own terms together with facts of "
            "comparisons (advantage=); fit without one of them"
        )
    return own


def judge_log_likelihood(
    draws: PosteriorDraws, own: OwnAnswers, at: PosteriorDraws | None = None
) -> Floats:
    """Log likelihood (draws) of a judge's answers, the judge's own terms integrated out.

    Nodes are placed where the draws `at` have those terms: a posterior that knows the answers.
    """
    if not has_own_terms(draws):
        return _sum_of_logs(draws, own.table, own.stratum)
    total = np.zeros(len(draws))
    for stratum in np.unique(own.stratum):
        table = own.within(int(stratum))
        local = _Approximation.of(_of_stratum(at or draws, int(stratum)), table)
        total += _integrated(_of_stratum(draws, int(stratum)), table, local)
    return total


def forget_judge(draws: PosteriorDraws, own: OwnAnswers, rng: Generator) -> PosteriorDraws:
    """The draws with the judge's own terms drawn anew, as of somebody of whom nothing is known."""
    terms = draws.terms
    if not has_own_terms(draws) or terms is None:
        return draws
    columns: dict[str, Any] = {}
    for name in _own_terms(terms):
        new = getattr(terms, name).copy()
        for stratum in np.unique(own.stratum):
            centre, sd = _population(draws, name)
            new[:, stratum] = np.exp(centre + sd * rng.normal(size=len(draws)))
        columns[name] = new
    return replace(draws, terms=replace(terms, **columns))


def _sum_of_logs(draws: PosteriorDraws, table: JudgementTable, stratum: Integers) -> Floats:
    grade = table.grades(draws.levels)
    return np.concatenate([
        part.log_probability(table.left, table.right, grade, stratum).sum(axis=1)
        for part in draws.batches(len(table.left))
    ])  # fmt: skip


def _own_terms(terms: StratumDraws) -> list[str]:
    return [name for name in ("sharpness", "threshold") if getattr(terms, name) is not None]


def _of_stratum(draws: PosteriorDraws, stratum: int) -> PosteriorDraws:
    assert draws.terms is not None
    return replace(draws, terms=draws.terms.of_stratum(stratum))


def _population(draws: PosteriorDraws, name: str) -> tuple[Floats, Floats]:
    """Mean and standard deviation (draws) of the logarithm of a term over judges."""
    assert draws.terms is not None
    sd = np.maximum(getattr(draws.terms, f"{name}_sd"), MIN_SD)
    return np.zeros(len(draws)) if name == "sharpness" else np.log(draws.first_cut), sd


def _at(draws: PosteriorDraws, names: list[str], log_terms: Floats) -> PosteriorDraws:
    """Draws of one stratum with these logarithms (draws, terms) of its own terms."""
    assert draws.terms is not None
    values = {name: np.exp(log_terms[:, [k]]) for k, name in enumerate(names)}
    return replace(draws, terms=replace(draws.terms, **values))


class _Approximation(NamedTuple):
    """Log likelihood of own terms z near a point: slope and negative Hessian there."""

    point: Floats
    slope: Floats
    curvature: Floats

    @classmethod
    def of(cls, draws: PosteriorDraws, table: JudgementTable) -> _Approximation:
        """At the posterior means of everything, by differences."""
        terms = draws.terms
        assert terms is not None
        names = _own_terms(terms)
        point = np.array([np.log(getattr(terms, name)).mean() for name in names])
        mean = _mean_draw(draws)

        def value(z: Floats) -> float:
            return float(_sum_of_logs(_at(mean, names, z[None]), table, _first(table))[0])

        unit = STEP * np.eye(len(names))
        slope = np.array([(value(point + e) - value(point - e)) / (2 * STEP) for e in unit])
        hessian = np.array([
            [
                value(point + e + f) - value(point + e - f) - value(point - e + f)
                + value(point - e - f)
                for f in unit
            ]
            for e in unit
        ]) / (4 * STEP**2)  # fmt: skip
        values, vectors = np.linalg.eigh(-hessian)
        return cls(point, slope, (vectors * np.maximum(values, 0.0)) @ vectors.T)


def _first(table: JudgementTable) -> Integers:
    """The only stratum there is, for every answer."""
    return np.zeros(len(table.left), np.int64)


def _mean_draw(draws: PosteriorDraws) -> PosteriorDraws:
    """One draw: the means of all."""
    terms = draws.terms
    assert terms is not None
    arrays = {
        name: array.mean(axis=0, keepdims=True)
        for name in ("contrast", "advantage", "sharpness", "threshold")
        if (array := getattr(terms, name)) is not None
    }
    return PosteriorDraws(
        draws.quality.mean(axis=0, keepdims=True), draws.tie.mean(keepdims=True),
        replace(terms, **arrays, sharpness_sd=None, threshold_sd=None),
        None if draws.cuts is None else draws.cuts.mean(axis=0, keepdims=True),
    )  # fmt: skip


def _integrated(draws: PosteriorDraws, table: JudgementTable, local: _Approximation) -> Floats:
    """Log of the integral of the likelihood over the own terms of one stratum."""
    assert draws.terms is not None
    names = _own_terms(draws.terms)
    means, sds = zip(*(_population(draws, name) for name in names), strict=True)
    centre, sd = np.stack(means, 1), np.stack(sds, 1)
    precision = local.curvature + np.stack([np.diag(row) for row in sd**-2.0])
    spread = np.linalg.inv(precision)
    push = local.curvature @ local.point + local.slope + centre / sd**2
    mean = np.einsum("dij,dj->di", spread, push)
    root = np.linalg.cholesky(spread)
    log_root = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES[len(names)])
    log_weights = np.log(weights / weights.sum())
    parts = []
    for which in product(range(len(nodes)), repeat=len(names)):
        x = nodes[list(which)]
        z = mean + root @ x
        prior = (-0.5 * ((z - centre) / sd) ** 2 - np.log(sd)).sum(axis=1)
        weight = log_weights[list(which)].sum() + x @ x / 2 + log_root
        parts.append(prior + weight + _sum_of_logs(_at(draws, names, z), table, _first(table)))
    return np.asarray(np.logaddexp.reduce(parts, axis=0), np.float64)
