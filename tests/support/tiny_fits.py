"""Tiny fits of every kind of model, as numbers: the same whether loops are compiled or not.

`python -m support.tiny_fits` prints them as JSON; with NUMBA_DISABLE_JIT=1, interpreted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
from numpy.random import SeedSequence

from tiewise.criticism.replicates import count_circles, observed_answers, replicate
from tiewise.data.counts import Counts
from tiewise.designs.prior import DesignPrior
from tiewise.designs.search.optimal import optimal_draft, variance_of
from tiewise.designs.wish import DesignWish
from tiewise.engines.preconditioners import hierarchical_preconditioner, plain, skewness
from tiewise.engines.sparse import choice
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.scalar_priors.uniform import Uniform
from tiewise.model.semiorder import is_semiorder
from tiewise.model.simulate import Truth, random_pairs, simulate_counts
from tiewise.model.terms import Order, Sharpness, Thresholds
from tiewise.posterior.diagnostics import convergence, ess, rhat
from tiewise.posterior.fit import fit
from tiewise.posterior.predictions import PosteriorDraws
from tiewise.progress import no_progress

MAP = Graph.grid(2, 3)
ENGINE = Transport(draws=16, chains=8, threads=1)


def counts(*, cuts: tuple[float, ...] = (0.4,)) -> Counts:
    rng = np.random.default_rng(1)
    terms = {"cut": np.array(cuts)} if len(cuts) > 1 else {}
    return simulate_counts(Truth(MAP.items, rng.normal(size=6), cuts[0], 1.0, terms), 30, rng)


def judged() -> Counts:
    rng = np.random.default_rng(2)
    first, second = random_pairs(6, 30, rng)
    answer = rng.integers(3, size=30)
    return Counts.of(
        MAP.items, first, second, answer == 0, answer == 2, answer == 1,
        stratum=np.arange(30) % 3, strata=("p", "q", "r"), ordered=True,
    )  # fmt: skip


def styled() -> Counts:
    """Answers with two facts of their own."""
    rng = np.random.default_rng(3)
    first, second = random_pairs(6, 30, rng)
    answer = rng.integers(3, size=30)
    return Counts.of(
        MAP.items, first, second, answer == 0, answer == 2, answer == 1, stratum=np.arange(30) % 3,
        strata=("p", "q", "r"), ordered=True, facts=rng.normal(size=(30, 2)),
        fact_names=("length", "lists"),
    )  # fmt: skip


STYLE = (Order(facts=("length", "lists")), Sharpness(), Thresholds())


def models() -> Iterator[tuple[str, BradleyTerry]]:
    yield "plain", BradleyTerry(counts())
    yield (
        "other priors",
        BradleyTerry(counts(), variance=InverseGamma(2.0, 2.0), tie=Uniform(0.1, 2.0)),
    )
    apart = Counts.of(MAP.items, [0, 1, 2, 3, 4], [1, 2, 3, 4, 5], [900] * 5, [0] * 5)
    yield "far apart", BradleyTerry(apart, tie=Exponential(1.0))
    yield "map", BradleyTerry(counts(), Network(MAP))
    yield "judges", BradleyTerry(judged(), terms=(Order(), Sharpness(), Thresholds()))
    yield "grades", BradleyTerry(counts(cuts=(0.4, 1.2)))
    yield "facts", BradleyTerry(styled(), terms=STYLE)


def draws_of(model: BradleyTerry) -> list[float]:
    draws = ENGINE.run(model, SeedSequence(3), no_progress)
    return [*draws.quality[:, -1].ravel().tolist(), *draws.tie[:, -1], *draws.variance[:, -1]]


def far_slopes(some: Counts) -> list[float]:
    """Log likelihood and slopes of items much further apart than any study's."""
    model = BradleyTerry(some)
    quality, tie = 130.0 * np.arange(6.0)[:, None], np.array([0.4])
    by_quality, by_tie = model.gradient(quality, tie)
    return [*model.log_likelihood(quality, tie), *by_quality[:, 0], *by_tie]


def design() -> list[float]:
    """How good the best pairs of the map are, by a search of pairs and exchanges."""
    prior = DesignPrior.of(Network(MAP), MAP.items, spread=1.0, cuts=np.array([0.4]))
    wish = DesignWish(items=MAP.items, judges=("p",), per_judge=7, policy="optimal")
    draft, _ = optimal_draft(wish, prior, np.random.default_rng(8))
    return [variance_of(draft, prior)]


def every_fit() -> dict[str, list[float]]:
    """Last draws of every model, dense and sparse, in double and single precision."""
    out = {name: draws_of(model) for name, model in models()}
    with patch.object(plain, "SINGLE_PRECISION_SIZE", 1):
        out["plain, single precision"] = draws_of(BradleyTerry(counts()))
        with patch.object(skewness, "SKEWED_SIZE", 1):
            out["skewed, single precision"] = draws_of(BradleyTerry(counts()))
    with patch.object(skewness, "SKEWED_SIZE", 1):
        out["skewed"] = draws_of(BradleyTerry(counts()))
    with patch.object(hierarchical_preconditioner, "SINGLE_PRECISION_ROWS", 1):
        model = BradleyTerry(judged(), terms=(Order(), Sharpness(), Thresholds()))
        out["judges, single precision"] = draws_of(model)
        out["facts, single precision"] = draws_of(BradleyTerry(styled(), terms=STYLE))
    with patch.multiple(choice, DENSE_ITEMS=0, DENSE_AREAS=0):
        out["many items"] = draws_of(BradleyTerry(counts()))
        out["many areas"] = draws_of(BradleyTerry(counts(), Network(MAP)))
    tree = fit(BradleyTerry(counts()), ENGINE, rng=4)
    walks = np.cumsum(np.random.default_rng(7).normal(size=(8, 20, 2)), axis=1)
    worth = [ess(walks), ess(walks, "tail"), rhat(walks), rhat(walks, 4)]
    out["worth"] = np.concatenate(worth).tolist()
    values = {"quality": walks, "tie": walks[..., 0]}
    whole = convergence(values, np.ones(2, np.int64), 4)
    out["convergence"] = [float(whole.ess), float(whole.rhat)]
    observed = observed_answers(tree, np.random.default_rng(5))
    inputs = replicate(observed, PosteriorDraws.from_tree(tree), np.random.default_rng(6))
    out["checks"] = [float(np.nansum(part)) for group in inputs[1:] for part in group]
    table = observed.table
    circles = count_circles(table.left, table.right, 1 - table.answer, 6)
    out["circles"] = [float(number) for number in circles]
    chain = Counts.of(MAP.items, [0, 1, 2, 0], [1, 2, 3, 3], [1, 1, 0, 1], [0] * 4, [0, 0, 1, 0])
    out["semiorder"] = [float(is_semiorder(some)) for some in (counts(), judged(), chain)]
    out["design"] = design()
    out["far"] = [*far_slopes(counts()), *far_slopes(judged())]
    return out


if __name__ == "__main__":
    print(json.dumps(every_fit()))
