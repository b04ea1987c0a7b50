"""A simulated crowd: judges who come, know some of the items, answer or skip, and leave."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiewise.data.answers import FIRST, SECOND, TIE
from tiewise.data.counts import Counts
from tiewise.designs.pair_lists import PRACTICE, ListedPair, PairLists
from tiewise.engines.preconditioners.hierarchical_preconditioner import (
    build_hierarchical_preconditioner,
)
from tiewise.engines.preconditioners.plain import PlainPreconditioner, build_preconditioner
from tiewise.model.anchors.anchors import Anchors
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import QualityPrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, simulate_answers, simulate_strengths
from tiewise.pairing.candidates import ANCHOR_LIMIT
from tiewise.pairing.policies import Pair, PairingState, load_policy, next_pair

Floats = NDArray[np.float64]

MAX_CONCURRENT = 20
"""Judges at work at the same time, at most: all of them see the same state."""


@dataclass
class SimulatedJudge:
    """A judge at work: the items they know, the pairs they saw, and those they found hard."""

    items: tuple[str, ...]
    seen: set[Pair] = field(default_factory=set)
    hard_pairs: set[Pair] = field(default_factory=set)
    answer_count: int = 0
    exhausted: bool = False
    """Whether they have seen every pair."""
    listed: tuple[ListedPair, ...] | None = None
    """Their pairs in order, where these were chosen beforehand."""
    shown: int = 0
    """How many of the listed pairs they were shown."""


@dataclass(frozen=True)
class Crowd:
    """Who judges, and how.

    `groups` are the items of each group; a judge knows `known_groups` of them. Without `per_judge`
    there are `judges` and no others, who take turns; with it, each leaves after so many
    comparisons and somebody new comes. Of `anchors` the policy "reference" shows each at most
    `anchor_limit` times. With `lists` each judge has the pairs of one list, in their order.
    """

    groups: tuple[tuple[str, ...], ...]
    known_groups: int
    judges: int
    per_judge: int | None = None
    policy: str = "uniform"
    skip: float = 0.0
    random_share: float = 0.2
    anchors: Anchors | None = None
    anchor_limit: int = ANCHOR_LIMIT
    lists: PairLists | None = None

    @property
    def concurrent(self) -> int:
        """How many judges are at work at the same time."""
        return min(self.judges, MAX_CONCURRENT)

    def new_judge(self, rng: Generator) -> SimulatedJudge:
        """A judge who knows a random choice of groups."""
        if self.known_groups == len(self.groups):
            return SimulatedJudge(tuple(item for group in self.groups for item in group))
        known = rng.choice(len(self.groups), self.known_groups, replace=False)
        return SimulatedJudge(tuple(item for k in sorted(known) for item in self.groups[k]))

    def pairs_known(self, rng: Generator, judges: int = 400) -> NDArray[np.int64]:
        """How many pairs there are for each of some judges to compare."""
        known = [len(self.new_judge(rng).items) for _ in range(judges)]
        return np.array([number * (number - 1) // 2 for number in known])


class JudgeQueue:
    """The judges of a running study, in the order of their turns."""

    def __init__(self, crowd: Crowd, rng: Generator) -> None:
        self.crowd, self.rng = crowd, rng
        if crowd.lists is not None:
            self.judges = deque(_listed_judge(pairs) for pairs in crowd.lists.lists.values())
            return
        number = crowd.judges if crowd.per_judge is None else crowd.concurrent
        self.judges = deque(crowd.new_judge(rng) for _ in range(number))

    def next_judges(self, limit: int) -> list[SimulatedJudge]:
        """Those who answer next, at most `limit`; nobody where all have seen all pairs."""
        if self.crowd.per_judge is None:
            self.judges = deque(judge for judge in self.judges if not judge.exhausted)
        else:
            self.judges = deque(
                self.crowd.new_judge(self.rng) if self._leaves(judge) else judge
                for judge in self.judges
            )
        number = min(limit, self.crowd.concurrent, len(self.judges))
        judges = [self.judges[k] for k in range(number)]
        self.judges.rotate(-number)
        return judges

    def _leaves(self, judge: SimulatedJudge) -> bool:
        assert self.crowd.per_judge is not None
        return judge.exhausted or judge.answer_count >= self.crowd.per_judge


def _listed_judge(pairs: Iterable[ListedPair]) -> SimulatedJudge:
    """A judge who answers these pairs, practice apart."""
    return SimulatedJudge((), listed=tuple(pair for pair in pairs if pair.kind != PRACTICE))


class CrowdAnswers(NamedTuple):
    """Comparisons: positions of the two items, codes of the answers, and strengths of choices."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    answer: NDArray[np.int64]
    strength: NDArray[np.int64]


def collect_answers(
    judges: Sequence[SimulatedJudge],
    truth: Truth,
    rng: Generator,
    *,
    policy: str = "uniform",
    state: PairingState | None = None,
    skip: float = 0.0,
    random_share: float = 0.2,
    anchors: Collection[str] = (),
    anchor_limit: int = ANCHOR_LIMIT,
) -> CrowdAnswers:
    """One answer of each judge who has a pair left, all of whom see the same state."""
    position = {item: k for k, item in enumerate(truth.items)}
    present, first, second = list[SimulatedJudge](), list[int](), list[int]()
    for judge in judges:
        pair = _next_listed(judge) if judge.listed is not None else next_pair(
            judge.items, judge.seen, rng, policy=policy, state=state, hard_pairs=judge.hard_pairs,
            random_share=random_share, anchors=anchors, anchor_limit=anchor_limit,
        )  # fmt: skip
        if pair is None:
            judge.exhausted = True
            continue
        present.append(judge)
        first.append(position[pair.left])
        second.append(position[pair.right])
    one, two = np.array(first, np.int64), np.array(second, np.int64)
    answer = simulate_answers(truth, one, two, rng)
    skipped = rng.uniform(size=len(one)) < skip if skip else np.zeros(len(one), bool)
    for k, judge in enumerate(present):
        seen = frozenset((truth.items[first[k]], truth.items[second[k]]))
        judge.seen.add(seen)
        judge.answer_count += not skipped[k]
        if skipped[k] or answer[k] == TIE:
            judge.hard_pairs.add(seen)
    strength = simulate_strengths(truth, one, two, answer, rng)
    return CrowdAnswers(*(part[~skipped] for part in (one, two, answer, strength)))


def _next_listed(judge: SimulatedJudge) -> ListedPair | None:
    """The next pair of a judge's list; None at its end."""
    assert judge.listed is not None
    judge.shown += 1
    return judge.listed[judge.shown - 1] if judge.shown <= len(judge.listed) else None


def count_answers(
    items: tuple[str, ...], rounds: Iterable[CrowdAnswers], levels: int = 1
) -> Counts:
    """The counts of several rounds of answers, graded where a choice has several levels."""
    empty = CrowdAnswers(*(np.empty(0, np.int64) for _ in range(4)))
    one, two, answer, strength = (
        np.concatenate(parts) for parts in zip(empty, *rounds, strict=True)
    )
    strengths = None
    if levels > 1:
        same = strength[:, None] == np.arange(1, 1 + levels)
        strengths = np.stack([same & (answer == side)[:, None] for side in (FIRST, SECOND)], 1)
    return Counts.of(
        items, one, two, answer == FIRST, answer == SECOND, answer == TIE, strengths=strengths
    )


class LaplaceApproximation(NamedTuple):
    """A Gaussian approximation to the posterior of qualities, and the tie threshold.

    Of graded answers `tie` has all cuts.
    """

    counts: Counts
    mean: Floats
    covariance: Floats
    tie: float | Floats


def refit(model: BradleyTerry, before: PlainPreconditioner | None) -> PlainPreconditioner:
    """The preconditioner of more counts; α is estimated again when they have grown by a tenth."""
    if before is None:
        return build_preconditioner(model, rounds=0)
    tenths = np.log([model.counts.comparisons, before.model.counts.comparisons]) // np.log(1.1)
    if tenths[0] == tenths[1]:
        log_alpha = before.warm_start.mode.log_alpha
        model = replace(model, variance=Fixed(float(np.exp(2 * log_alpha))))
    return build_preconditioner(model, before.warm_start, rounds=0)


def laplace_approximation(preconditioner: PlainPreconditioner) -> LaplaceApproximation:
    """The Laplace approximation that the preconditioner is built on, at the likeliest α."""
    mode, basis = preconditioner.warm_start.mode, preconditioner.basis
    variance = 1 / (preconditioner.eigenvalues + np.exp(-2 * mode.log_alpha))
    covariance = (basis * variance) @ basis.T
    return LaplaceApproximation(preconditioner.model.counts, mode.quality, covariance, mode.tie)


def graded_approximation(
    model: BradleyTerry, before: tuple[int, float] | None
) -> tuple[LaplaceApproximation, tuple[int, float]]:
    """The same of graded answers, and the number of comparisons at which α² was estimated, and α².

    As in `refit`, it is estimated again when comparisons have grown by a tenth since `before`.
    """
    number = model.counts.comparisons
    if before is not None and number < 1.1 * before[0]:
        model = replace(model, variance=Fixed(before[1]))
    preconditioner = build_hierarchical_preconditioner(model)
    size, scales = preconditioner.dimensions, len(preconditioner.posterior.scales)
    # At fixed scales qualities are linear in q: a column for each of its rows, and the centre.
    at = preconditioner.parameters(np.eye(size, size + 1))
    centre = at.quality[:, -1]
    slope = at.quality[:, : size - scales] - centre[:, None]
    variance = float(preconditioner.draws(at)["variance"][-1])
    known = (number, variance) if before is None or number >= 1.1 * before[0] else before
    cuts = np.cumsum(at.tie[:, -1])
    return LaplaceApproximation(model.counts, centre, slope @ slope.T, cuts), known


def counts_by_size(
    crowd: Crowd,
    truth: Truth,
    sizes: Iterable[int],
    rng: Generator,
    *,
    prior: QualityPrior,
    before: Counts | None = None,
) -> Iterator[tuple[int, Counts]]:
    """The counts of a growing study at each size, `before` included; the sizes ascend.

    Where the judges run out of pairs, the last counts are smaller than the size. `prior` is that
    of the posterior by which informative pairs are chosen, as on a running site.
    """
    queue, rounds, number = JudgeQueue(crowd, rng), list[CrowdAnswers](), 0
    levels = len(truth.terms.get("cut", (truth.tie,)))
    start = count_answers(truth.items, [], levels) if before is None else before
    tracker = _StateTracker(crowd.policy, truth, prior, crowd.anchors)
    anchors = () if crowd.anchors is None else crowd.anchors.items
    for size in sizes:
        while number < size:
            judges = queue.next_judges(size - number)
            if not judges:
                yield size, start + count_answers(truth.items, rounds, levels)
                return
            latest = collect_answers(
                judges, truth, rng, policy=crowd.policy, skip=crowd.skip,
                random_share=crowd.random_share, state=tracker.state(start, rounds),
                anchors=anchors, anchor_limit=crowd.anchor_limit,
            )  # fmt: skip
            number += len(latest.answer)
            rounds.append(latest)
        yield size, start + count_answers(truth.items, rounds, levels)


class _StateTracker:
    """The pairing state of a running study, renewed after every round as far as it is needed."""

    def __init__(
        self, policy: str, truth: Truth, prior: QualityPrior, anchors: Anchors | None = None
    ) -> None:
        self.policy, self.items, self.prior = load_policy(policy), truth.items, prior
        self.anchors = anchors
        self.ties, self.levels = truth.tie > 0, len(truth.terms.get("cut", (truth.tie,)))
        self.preconditioner, self.known_variance = None, None

    preconditioner: PlainPreconditioner | None
    known_variance: tuple[int, float] | None

    def state(self, start: Counts, rounds: Sequence[CrowdAnswers]) -> PairingState | None:
        """What the policy needs; None where it needs nothing."""
        if not self.policy.needs_state:
            return None
        counts = start + count_answers(self.items, rounds, self.levels)
        if not self.policy.needs_posterior or not counts.comparisons:
            return PairingState.of(counts)
        model = BradleyTerry(counts, self.prior, anchors=self.anchors)
        if not self.ties:
            model = replace(model, tie=None)
        if model.steps:
            posterior, self.known_variance = graded_approximation(model, self.known_variance)
        else:
            self.preconditioner = refit(model, self.preconditioner)
            posterior = laplace_approximation(self.preconditioner)
        return PairingState.of(posterior.counts).with_posterior(
            posterior.mean, posterior.covariance, posterior.tie
        )
