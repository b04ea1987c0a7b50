"""The simulated crowd: what judges know, see, answer and skip, and when they leave."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tiewise.data.counts import Counts
from tiewise.model.quality_priors import Independent
from tiewise.model.simulate import Truth
from tiewise.planning.crowd import (
    MAX_CONCURRENT,
    Crowd,
    JudgeQueue,
    collect_answers,
    count_answers,
    counts_by_size,
)

ITEMS = tuple("abcdefghijkl")
GROUPS = (tuple("abcd"), tuple("efgh"), tuple("ijkl"))


def truth(*, apart: float = 0.3, tie: float = 0.5, items: tuple[str, ...] = ITEMS) -> Truth:
    quality = apart * np.arange(len(items), dtype=float)
    return Truth(items, quality - quality.mean(), tie, 1.0)


def simulate(crowd: Crowd, *sizes: int, seed: int = 1, real: Truth | None = None, **more):
    real = real or truth()
    rng = np.random.default_rng(seed)
    return list(counts_by_size(crowd, real, sizes, rng, prior=Independent(real.items), **more))


def judges_of(crowd: Crowd, rounds: int, seed: int = 1):
    """Everybody who was asked in so many rounds, in the order they came."""
    rng, real = np.random.default_rng(seed), truth()
    queue, judges_seen = JudgeQueue(crowd, rng), {}
    for _ in range(rounds):
        judges = queue.next_judges(10**6)
        collect_answers(judges, real, rng, policy=crowd.policy, skip=crowd.skip)
        judges_seen |= {id(judge): judge for judge in judges}
    return list(judges_seen.values())


def test_no_judge_sees_a_pair_twice_or_an_item_they_do_not_know():
    for judge in judges_of(Crowd(GROUPS, 2, judges=5, per_judge=20), 60):
        # Pairs are kept as a set, so that one seen twice would be missing here.
        assert len(judge.seen) == judge.answer_count
        known = [set(part) for part in GROUPS if set(part) <= set(judge.items)]
        assert len(known) == 2
        assert set().union(*judge.seen, set()) <= set().union(*known)


def test_a_judge_leaves_after_as_many_comparisons_as_were_asked_for():
    judges = judges_of(Crowd((ITEMS,), 1, judges=4, per_judge=7), 21)
    assert [judge.answer_count for judge in judges] == [7] * 12


def test_judges_who_share_the_work_take_turns():
    judges = judges_of(Crowd((ITEMS,), 1, judges=2 * MAX_CONCURRENT + 3), 43)
    answers = [judge.answer_count for judge in judges]
    assert len(judges) == 2 * MAX_CONCURRENT + 3
    assert sum(answers) == 43 * MAX_CONCURRENT
    assert max(answers) - min(answers) <= 1


def test_counts_are_taken_at_the_sizes_asked_for():
    sizes = (5, 6, 37, 90)
    sizes_and_counts = simulate(Crowd((ITEMS,), 1, judges=4), *sizes)
    assert [(size, counts.comparisons) for size, counts in sizes_and_counts] == [
        (n, n) for n in sizes
    ]


def test_a_study_only_grows():
    for (_, before), (_, after) in pairwise(simulate(Crowd((ITEMS,), 1, judges=4), 10, 50, 120)):
        later = by_pair(after)
        assert all(later[pair] >= number for pair, number in by_pair(before).items())


def by_pair(counts: Counts) -> dict[tuple[int, int], int]:
    pairs = zip(counts.first.tolist(), counts.second.tolist(), strict=True)
    return dict(zip(pairs, _comparisons(counts), strict=True))


def _comparisons(counts: Counts):
    return (counts.wins_first + counts.wins_second + counts.ties).tolist()


def test_judges_who_run_out_of_pairs_end_the_study():
    [(size, counts)] = simulate(Crowd((ITEMS,), 1, judges=3), 1000)
    assert size == 1000
    assert counts.comparisons == 3 * 66
    assert set(_comparisons(counts)) == {3}  # every pair once by each of three judges


def test_judges_who_run_out_of_pairs_are_replaced_where_others_come():
    [(_, counts)] = simulate(Crowd(GROUPS, 1, judges=3, per_judge=50), 100)
    assert counts.comparisons == 100
    group = np.repeat(np.arange(3), 4)
    assert (group[counts.first] == group[counts.second]).all()


def test_skipped_pairs_are_seen_but_not_counted():
    rng, real = np.random.default_rng(2), truth()
    queue, answered = JudgeQueue(Crowd((ITEMS,), 1, judges=20, per_judge=40), rng), []
    for _ in range(100):
        answered.append(len(collect_answers(queue.next_judges(20), real, rng, skip=0.25).answer))
    number = 20 * 100
    assert abs(sum(answered) - 0.75 * number) < 4 * np.sqrt(number * 0.25 * 0.75)


def test_of_two_far_apart_the_better_is_always_chosen():
    real = truth(apart=40.0)
    [(_, counts)] = simulate(Crowd((ITEMS,), 1, judges=3, per_judge=30), 150, real=real)
    assert counts.wins_first.sum() == 0  # items are in ascending order
    assert counts.wins_second.sum() == 150


def test_of_equal_items_as_many_are_tied_as_the_threshold_says():
    """At a difference of 0 the probability is (e^2δ − 1) / (e^δ + 1)², which is tanh(δ / 2)."""
    real, number = truth(apart=0.0, tie=0.8), 3000
    [(_, counts)] = simulate(Crowd((ITEMS,), 1, judges=20, per_judge=50), number, real=real)
    expected = np.tanh(0.4)
    assert abs(counts.ties.sum() - expected * number) < 4 * np.sqrt(
        number * expected * (1 - expected)
    )


def test_balanced_pairs_even_out_what_was_compared_before():
    """Pairs that chance picks leave counts with about the variance of a multinomial."""
    start = Counts.of(ITEMS, [0] * 4, [1, 2, 3, 4], [2] * 4, [2] * 4)
    [(_, even)] = simulate(
        Crowd((ITEMS,), 1, judges=4, per_judge=30, policy="balanced"), 120, before=start
    )
    [(_, uniform)] = simulate(Crowd((ITEMS,), 1, judges=4, per_judge=30), 120, before=start)
    assert even.comparisons == uniform.comparisons == 136
    assert even.per_item().std() < uniform.per_item().std() / 2


@pytest.mark.parametrize("tie", [0.0, 0.5])
def test_informative_pairs_are_closer_than_random_ones(tie):
    real = truth(apart=0.8, tie=tie)

    def gap(policy):
        crowd = Crowd((ITEMS,), 1, judges=10, per_judge=30, policy=policy)
        [(_, counts)] = simulate(crowd, 400, real=real)
        away = np.abs(real.quality[counts.first] - real.quality[counts.second])
        return np.average(away, weights=_comparisons(counts))

    assert gap("informative") < 0.9 * gap("uniform")


@pytest.mark.slow
def test_the_same_seed_gives_the_same_study():
    crowd = Crowd(GROUPS, 2, judges=6, per_judge=12, policy="informative", skip=0.1)
    one, two, other = (simulate(crowd, 60, seed=seed)[0][1] for seed in (3, 3, 4))
    assert one == two
    assert one != other


def test_nothing_told_is_nothing_counted():
    assert count_answers(ITEMS, []).comparisons == 0


def test_pairs_known_are_those_of_the_groups():
    rng = np.random.default_rng(1)
    assert set(Crowd(GROUPS, 2, judges=1).pairs_known(rng)) == {28}
    assert set(Crowd((tuple("ab"), tuple("cdef")), 1, judges=1).pairs_known(rng)) == {1, 6}
