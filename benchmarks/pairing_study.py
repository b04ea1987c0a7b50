"""A simulated study: judges who come in a crowd, pairs by a policy, and a fit after every round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.random import SeedSequence

from tiewise.data.counts import Counts
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Network
from tiewise.model.scalar_priors import Fixed
from tiewise.model.simulate import Truth
from tiewise.pairing.information import Target, worth
from tiewise.pairing.policies import Standing
from tiewise.planning.crowd import Judge, Look, asked, counted, look, refitted

WARDS, COUNTY, TIE = 95, 1, 0.5
PATIENCE = 50
"""Pairs that a judge answers before somebody else takes their place."""


@dataclass(frozen=True)
class Case:
    """Studies that differ by chance alone: a policy, α², judges at once, comparisons in all.

    `target` is whose variance informative pairs reduce, `random_share` how many of them are left
    to chance.
    """

    policy: str
    variance: float
    at_once: int
    comparisons: int
    target: Target = "ranks"
    random_share: float = 0.2


@cache
def county() -> Network:
    """The prior that `tiewise fit` would take by itself: who borders whom."""
    return Network(Graph.from_areas(Areas.made_up(WARDS, seed=COUNTY)))


def truth_of(case: Case, repeat: int) -> Truth:
    """The truth of a repeat, the same under every policy; all items equal where α² is 0."""
    rng = np.random.default_rng(SeedSequence([1, repeat, round(100 * case.variance)]))
    drawn = Truth.drawn(county(), Fixed(case.variance), Fixed(TIE), rng)
    return Truth(drawn.items, drawn.quality - drawn.quality.mean(), drawn.tie, drawn.variance)


def studied(case: Case, repeat: int, *, every: int = 1) -> Iterator[Look]:
    """A study after every so many rounds, in each of which every judge there answers a pair.

    A policy that looks at the posterior has a fit after each round, the others as often as we look.
    """
    truth = truth_of(case, repeat)
    chance = [2, repeat, round(100 * case.variance), case.at_once]
    rng = np.random.default_rng(SeedSequence([*chance, *f"{case.policy}{case.target}".encode()]))
    judges = [Judge(truth.items) for _ in range(case.at_once)]
    standing, chart = None, None
    counts = Counts.of(truth.items, [], [], [], [])
    for number in range(1, case.comparisons // case.at_once + 1):
        judges = [
            judge if len(judge.seen) < _leaves(k) else Judge(truth.items)
            for k, judge in enumerate(judges)
        ]
        told = asked(
            judges, truth, rng, policy=case.policy, standing=standing,
            random_share=case.random_share,
        )  # fmt: skip
        counts += counted(truth.items, [told])
        standing = Standing.of(counts)
        if number % every and case.policy != "informative":
            continue
        chart = refitted(BradleyTerry(counts, county()), chart)
        seen = look(chart)
        if case.policy == "informative":
            standing = _weighed(standing, seen, case.target)
        if number % every == 0:
            yield seen


def _weighed(standing: Standing, seen: Look, target: Target) -> Standing:
    """The standing with what pairs are worth, as the live site has it or with another target."""
    full = standing.with_worth(seen.mean, seen.covariance, seen.tie)
    if target == "ranks":
        return full
    other = worth(seen.mean, seen.covariance, seen.tie, of=target)
    return replace(full, worth=other.astype(np.float32))


def _leaves(place: int) -> int:
    # Judges come and go at different times, not all at once.
    return PATIENCE - 10 + place % 20
