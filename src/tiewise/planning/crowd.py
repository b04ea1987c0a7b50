"""A simulated crowd: judges who come, know some of the items, answer or skip, and leave."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.data.counts import Counts
from tiewise.engines.preconditioner import Chart, draw_chart
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Prior
from tiewise.model.scalar_priors import Fixed
from tiewise.model.simulate import Truth, answers
from tiewise.pairing.policies import Pair, Standing, next_pair

Floats = NDArray[np.float64]

AT_ONCE = 20
"""Judges at work at the same time, at most: all of them look at the same standing."""


@dataclass
class Judge:
    """Somebody at work: the items they know, the pairs they saw, and those they found hard."""

    knows: tuple[str, ...]
    seen: set[Pair] = field(default_factory=set)
    wary: set[Pair] = field(default_factory=set)
    answers: int = 0
    spent: bool = False
    """Whether no pair is left that they have not seen."""


@dataclass(frozen=True)
class Crowd:
    """Who judges, and how.

    `parts` are the items of each group; a judge knows `knows` of the groups. Without `per_judge`
    there are `judges` and no others, who take turns; with it, each leaves after so many
    comparisons and somebody new comes.
    """

    parts: tuple[tuple[str, ...], ...]
    knows: int
    judges: int
    per_judge: int | None = None
    policy: str = "uniform"
    skip: float = 0.0
    random_share: float = 0.2

    @property
    def at_once(self) -> int:
        """How many are at work at the same time."""
        return min(self.judges, AT_ONCE)

    def newcomer(self, rng: Generator) -> Judge:
        """A judge who knows as many groups as all do, whichever they are."""
        if self.knows == len(self.parts):
            return Judge(tuple(item for part in self.parts for item in part))
        known = rng.choice(len(self.parts), self.knows, replace=False)
        return Judge(tuple(item for k in sorted(known) for item in self.parts[k]))

    def pairs_known(self, rng: Generator, judges: int = 400) -> NDArray[np.int64]:
        """How many pairs there are for each of some judges to compare."""
        known = [len(self.newcomer(rng).knows) for _ in range(judges)]
        return np.array([number * (number - 1) // 2 for number in known])


class Panel:
    """The judges of a study that runs: whose turn it is."""

    def __init__(self, crowd: Crowd, rng: Generator) -> None:
        self.crowd, self.rng = crowd, rng
        here = crowd.judges if crowd.per_judge is None else crowd.at_once
        self.judges = deque(crowd.newcomer(rng) for _ in range(here))

    def turn(self, wanted: int) -> list[Judge]:
        """Those who answer next, no more than are wanted; nobody where all have seen all."""
        if self.crowd.per_judge is None:
            self.judges = deque(judge for judge in self.judges if not judge.spent)
        else:
            self.judges = deque(
                self.crowd.newcomer(self.rng) if self._leaves(judge) else judge
                for judge in self.judges
            )
        here = min(wanted, self.crowd.at_once, len(self.judges))
        asked = [self.judges[k] for k in range(here)]
        self.judges.rotate(-here)
        return asked

    def _leaves(self, judge: Judge) -> bool:
        assert self.crowd.per_judge is not None
        return judge.spent or judge.answers >= self.crowd.per_judge


class Told(NamedTuple):
    """Comparisons: positions of the two items, and 0 the first, 1 about equal, 2 the second."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    said: NDArray[np.int64]


def asked(
    judges: Sequence[Judge],
    truth: Truth,
    rng: Generator,
    *,
    policy: str = "uniform",
    standing: Standing | None = None,
    skip: float = 0.0,
    random_share: float = 0.2,
) -> Told:
    """One answer of each judge who has a pair left, all of whom look at the same standing."""
    place = {item: k for k, item in enumerate(truth.items)}
    there, first, second = list[Judge](), list[int](), list[int]()
    for judge in judges:
        pick = next_pair(
            judge.knows, judge.seen, rng, policy=policy, standing=standing, wary=judge.wary,
            random_share=random_share,
        )  # fmt: skip
        if pick is None:
            judge.spent = True
            continue
        there.append(judge)
        first.append(place[pick.left])
        second.append(place[pick.right])
    one, two = np.array(first, np.int64), np.array(second, np.int64)
    said = answers(truth, one, two, rng)
    skipped = rng.uniform(size=len(one)) < skip if skip else np.zeros(len(one), bool)
    for k, judge in enumerate(there):
        pair = frozenset((truth.items[first[k]], truth.items[second[k]]))
        judge.seen.add(pair)
        judge.answers += not skipped[k]
        if skipped[k] or said[k] == 1:
            judge.wary.add(pair)
    return Told(one[~skipped], two[~skipped], said[~skipped])


def counted(items: tuple[str, ...], told: Iterable[Told]) -> Counts:
    """Counts of what was told."""
    empty = Told(*(np.empty(0, np.int64) for _ in range(3)))
    one, two, said = (np.concatenate(parts) for parts in zip(empty, *told, strict=True))
    return Counts.of(items, one, two, said == 0, said == 2, said == 1)


class Look(NamedTuple):
    """What is believed of qualities after some judgements: a Gaussian, and the threshold."""

    counts: Counts
    mean: Floats
    covariance: Floats
    tie: float


def refitted(model: BradleyTerry, before: Chart | None) -> Chart:
    """The chart of more counts; α is looked for again each time they have grown by a tenth."""
    if before is None:
        return draw_chart(model)
    tenths = np.log([model.counts.comparisons, before.model.counts.comparisons]) // np.log(1.1)
    if tenths[0] == tenths[1]:
        model = replace(model, variance=Fixed(float(np.exp(2 * before.spread.peak.log_alpha))))
    return draw_chart(model, before.spread)


def look(chart: Chart) -> Look:
    """Mean and covariance of the Gaussian that the chart is, at the likeliest α."""
    peak = chart.spread.peak
    width = 1 / (chart.bend + np.exp(-2 * peak.log_alpha))
    return Look(chart.model.counts, peak.quality, (chart.basis * width) @ chart.basis.T, peak.tie)


def gathered(
    crowd: Crowd,
    truth: Truth,
    sizes: Iterable[int],
    rng: Generator,
    *,
    prior: Prior,
    before: Counts | None = None,
) -> Iterator[tuple[int, Counts]]:
    """A study as it grows: its counts at each size, `before` included; the sizes ascend.

    Where the judges run out of pairs, the last counts are smaller than the size. `prior` is that
    of the posterior by which informative pairs are chosen, as a site that runs has it.
    """
    panel, made, number = Panel(crowd, rng), list[Told](), 0
    start = counted(truth.items, []) if before is None else before
    standing = _Watched(crowd.policy, truth, prior)
    for size in sizes:
        while number < size:
            judges = panel.turn(size - number)
            if not judges:
                yield size, start + counted(truth.items, made)
                return
            told = asked(
                judges, truth, rng, policy=crowd.policy, skip=crowd.skip,
                random_share=crowd.random_share, standing=standing.of(start, made),
            )  # fmt: skip
            number += len(told.said)
            made.append(told)
        yield size, start + counted(truth.items, made)


class _Watched:
    """The standing of a study while it runs, renewed after every round as far as it is used."""

    def __init__(self, policy: str, truth: Truth, prior: Prior) -> None:
        self.policy, self.items, self.prior = policy, truth.items, prior
        self.ties, self.chart = truth.tie > 0, None

    chart: Chart | None

    def of(self, start: Counts, made: Sequence[Told]) -> Standing | None:
        """What a policy may look at; None where it looks at nothing, or there is nothing."""
        if self.policy == "uniform":
            return None
        counts = start + counted(self.items, made)
        if self.policy == "balanced" or not counts.comparisons:
            return Standing.of(counts)
        model = BradleyTerry(counts, self.prior)
        if not self.ties:
            model = replace(model, tie=None)
        self.chart = refitted(model, self.chart)
        seen = look(self.chart)
        return Standing.of(seen.counts).with_worth(seen.mean, seen.covariance, seen.tie)
