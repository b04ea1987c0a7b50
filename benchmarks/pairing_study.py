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
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth
from tiewise.pairing.information import Target, expected_variance_reduction
from tiewise.pairing.policies import PairingState
from tiewise.planning.crowd import (
    LaplaceApproximation,
    SimulatedJudge,
    collect_answers,
    count_answers,
    laplace_approximation,
    refit,
)

WARDS, COUNTY, TIE = 95, 1, 0.5
PATIENCE = 50
"""Pairs that a judge answers before somebody else takes their place."""


@dataclass(frozen=True)
class Case:
    """Studies that are alike but for random numbers: policy, α², judges at once, comparisons.

    `target` is whose variance informative pairs reduce, `random_share` how many of them are drawn
    at random.
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
    return Network(Graph.from_areas(Areas.synthetic(WARDS, rng=COUNTY)))


def case_truth(case: Case, repeat: int) -> Truth:
    """The truth of a repeat, the same under every policy; all items equal where α² is 0."""
    rng = np.random.default_rng(SeedSequence([1, repeat, round(100 * case.variance)]))
    truth = Truth.from_priors(county(), Fixed(case.variance), Fixed(TIE), rng)
    return Truth(truth.items, truth.quality - truth.quality.mean(), truth.tie, truth.variance)


def simulate_case(case: Case, repeat: int, *, every: int = 1) -> Iterator[LaplaceApproximation]:
    """The posterior after every so many rounds, in each of which every judge answers a pair.

    The informative policy has a fit after each round, the others only where one is yielded.
    """
    truth = case_truth(case, repeat)
    entropy = [2, repeat, round(100 * case.variance), case.at_once]
    rng = np.random.default_rng(SeedSequence([*entropy, *f"{case.policy}{case.target}".encode()]))
    judges = [SimulatedJudge(truth.items) for _ in range(case.at_once)]
    state, preconditioner = None, None
    counts = Counts.of(truth.items, [], [], [], [])
    for number in range(1, case.comparisons // case.at_once + 1):
        judges = [
            judge if len(judge.seen) < _leaves(k) else SimulatedJudge(truth.items)
            for k, judge in enumerate(judges)
        ]
        answers = collect_answers(
            judges, truth, rng, policy=case.policy, state=state,
            random_share=case.random_share,
        )  # fmt: skip
        counts += count_answers(truth.items, [answers])
        state = PairingState.of(counts)
        if number % every and case.policy != "informative":
            continue
        preconditioner = refit(BradleyTerry(counts, county()), preconditioner)
        posterior = laplace_approximation(preconditioner)
        if case.policy == "informative":
            state = _with_posterior(state, posterior, case.target)
        if number % every == 0:
            yield posterior


def _with_posterior(
    state: PairingState, posterior: LaplaceApproximation, target: Target
) -> PairingState:
    """The state with the utility of pairs, as the live site has it or with another target."""
    full = state.with_posterior(posterior.mean, posterior.covariance, posterior.tie)
    if target == "ranks":
        return full
    other = expected_variance_reduction(
        posterior.mean, posterior.covariance, posterior.tie, of=target
    )
    return replace(full, utility=other.astype(np.float32))


def _leaves(place: int) -> int:
    # Judges come and go at different times, not all at once.
    return PATIENCE - 10 + place % 20
