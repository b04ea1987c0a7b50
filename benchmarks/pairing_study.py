"""A simulated study: judges who come in a crowd, pairs by a policy, and a fit after every round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from tiewise.core.areas import Areas
from tiewise.core.beliefs import Fixed
from tiewise.core.counts import Counts
from tiewise.core.graph import Graph
from tiewise.core.model import BradleyTerry
from tiewise.core.prior import Network
from tiewise.core.simulate import Truth, answers
from tiewise.engines.chart import Chart, draw_chart
from tiewise.plan.pairing import Pair, Standing, next_pair
from tiewise.plan.worth import Target, worth

Floats = NDArray[np.float64]

WARDS, COUNTY, TIE = 95, 1, 0.5
PATIENCE = 50
"""Pairs that a judge answers before somebody else takes their place."""


@dataclass(frozen=True)
class Case:
    """Studies that differ by chance alone: a policy, α², judges at once, comparisons in all.

    `target` is whose variance informative pairs reduce.
    """

    policy: str
    variance: float
    at_once: int
    comparisons: int
    target: Target = "ranks"


class Look(NamedTuple):
    """A study after a round: the counts, and the posterior they give."""

    counts: Counts
    mean: Floats
    covariance: Floats
    tie: float


@dataclass
class _Judge:
    seen: set[Pair] = field(default_factory=set)
    wary: set[Pair] = field(default_factory=set)


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
    judges = [_Judge() for _ in range(case.at_once)]
    standing, chart = None, None
    counts = Counts.of(truth.items, [], [], [], [])
    for number in range(1, case.comparisons // case.at_once + 1):
        judges = [
            judge if len(judge.seen) < _leaves(k) else _Judge() for k, judge in enumerate(judges)
        ]
        counts += _round(case, truth, judges, standing, rng)
        standing = Standing.of(counts)
        if number % every and case.policy != "informative":
            continue
        chart = _refitted(counts, chart)
        look = _look(chart)
        if case.policy == "informative":
            standing = _weighed(standing, look, case.target)
        if number % every == 0:
            yield look


def _refitted(counts: Counts, before: Chart | None) -> Chart:
    """The chart of more counts; α is looked for again each time they have grown by a tenth."""
    model = BradleyTerry(counts, county())
    if before is None:
        return draw_chart(model)
    tenths = np.log([counts.comparisons, before.model.counts.comparisons]) // np.log(1.1)
    if tenths[0] == tenths[1]:
        model = replace(model, variance=Fixed(float(np.exp(2 * before.spread.peak.log_alpha))))
    return draw_chart(model, before.spread)


def _weighed(standing: Standing, look: Look, target: Target) -> Standing:
    """The standing with what pairs are worth, as the live site has it or with another target."""
    full = standing.with_worth(look.mean, look.covariance, look.tie)
    if target == "ranks":
        return full
    other = worth(look.mean, look.covariance, look.tie, of=target)
    return replace(full, worth=other.astype(np.float32))


def _leaves(place: int) -> int:
    # Judges come and go at different times, not all at once.
    return PATIENCE - 10 + place % 20


def _round(
    case: Case, truth: Truth, judges: list[_Judge], standing: Standing | None, rng: Generator
) -> Counts:
    """One answer of each judge, all of whom look at the same standing."""
    place = {item: k for k, item in enumerate(truth.items)}
    first, second = [], []
    for judge in judges:
        pick = next_pair(
            truth.items, judge.seen, rng, policy=case.policy, standing=standing, wary=judge.wary
        )
        assert pick is not None
        first.append(place[pick.left])
        second.append(place[pick.right])
    one, two = np.array(first), np.array(second)
    said = answers(truth, one, two, rng)
    for judge, i, j, answer in zip(judges, first, second, said, strict=True):
        pair = frozenset((truth.items[i], truth.items[j]))
        judge.seen.add(pair)
        if answer == 1:
            judge.wary.add(pair)
    return Counts.of(truth.items, one, two, said == 0, said == 2, said == 1)


def _look(chart: Chart) -> Look:
    """Mean and covariance of the Gaussian that the chart is, at the likeliest α."""
    peak = chart.spread.peak
    width = 1 / (chart.bend + np.exp(-2 * peak.log_alpha))
    return Look(chart.model.counts, peak.quality, (chart.basis * width) @ chart.basis.T, peak.tie)
