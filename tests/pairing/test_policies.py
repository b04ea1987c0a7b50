"""Which pair next: what is known and new, by each policy, sides by chance, nothing twice."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.pairing import POLICIES
from tiewise.pairing.policies import OrderedPair, next_pair
from tiewise.pairing.state import PairingState

ITEMS = tuple("abcdef")
LEVEL = 1e-4


def pairs(items) -> list[frozenset[str]]:
    return [frozenset(pair) for pair in combinations(items, 2)]


@pytest.mark.parametrize("seen", [0, 4, 11])
def test_every_pair_left_is_equally_likely_on_either_side(seen):
    """With few and with most pairs seen, which are two ways of drawing."""
    rng = np.random.default_rng(2)
    used = pairs(ITEMS)[:seen]
    draws = Counter(next_pair(ITEMS, used, rng)[:2] for _ in range(6000))
    possible = [side for pair in pairs(ITEMS)[seen:] for side in (tuple(pair), tuple(pair)[::-1])]
    assert set(draws) == set(possible)
    assert chisquare([draws[side] for side in possible]).pvalue > LEVEL


def pairing_state(
    items, seed: int = 2, *, comparisons: int = 0, posterior: bool = True
) -> PairingState:
    """What is known of items that were compared at random."""
    rng = np.random.default_rng(seed)
    size = len(items)
    first = rng.integers(size, size=comparisons)
    second = (first + rng.integers(1, size, size=comparisons)) % size
    known = PairingState.of(
        Counts.of(items, first, second, np.ones(comparisons), np.zeros(comparisons))
    )
    root = rng.normal(size=(size, size)) / np.sqrt(size)
    return known.with_posterior(rng.normal(size=size), root @ root.T, 0.5) if posterior else known


@given(
    count=st.integers(2, 9),
    seed=st.integers(0, 2**32 - 1),
    strangers=st.booleans(),
    policy=st.sampled_from(sorted(POLICIES)),
    known=st.sampled_from(["nothing", "counts", "posterior", "of others"]),
)
def test_no_pair_comes_twice_and_all_come(count, seed, strangers, policy, known):
    items = [str(k) for k in range(count)]
    rng = np.random.default_rng(seed)
    there = [*items[: max(count // 2, 2)], "z"] if known == "of others" else items
    about = (
        None
        if known == "nothing"
        else pairing_state(there, seed, comparisons=count, posterior=known != "counts")
    )
    # Pairs of items that the judge no longer says they know are nobody's business.
    seen = {frozenset(("x", "0")), frozenset(("x", "y"))} if strangers else set()
    shown = []
    while (
        pick := next_pair(
            items, seen, rng, policy=policy, state=about, hard_pairs=shown[::2], anchors="03"
        )
    ) is not None:
        assert pick.left != pick.right
        assert not pick.repeat
        shown.append(frozenset(pick[:2]))
        seen.add(shown[-1])
    assert sorted(map(sorted, shown)) == sorted(map(sorted, pairs(items)))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("items", [(), ("a",), ("a", "a")])
def test_one_item_makes_no_pair(items, policy):
    rules = {"policy": policy, "state": pairing_state(ITEMS), "anchors": "ab"}
    assert next_pair(items, (), np.random.default_rng(2), **rules) is None


def test_planned_repeats_come_as_often_as_asked_with_sides_exchanged():
    rng = np.random.default_rng(2)
    answered = [OrderedPair("a", "b"), OrderedPair("c", "d")]
    draws = [
        next_pair(ITEMS, pairs("abcd"), rng, repeats=0.3, answered=answered) for _ in range(4000)
    ]
    again = [pick for pick in draws if pick.repeat]
    share = len(again) / len(draws)
    assert abs(share - 0.3) < 4 * np.sqrt(0.3 * 0.7 / len(draws))
    assert set(again) == {OrderedPair("b", "a", True), OrderedPair("d", "c", True)}
    assert not any(frozenset(pick[:2]) in pairs("abcd") for pick in draws if not pick.repeat)


def test_repeats_need_something_to_repeat():
    rng = np.random.default_rng(2)
    assert not any(next_pair(ITEMS, (), rng, repeats=0.5).repeat for _ in range(50))


@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_chance_gives_the_same_pair(policy):
    rules = {"policy": policy, "state": pairing_state(ITEMS), "anchors": "ab"}
    first, second = (next_pair(ITEMS, (), np.random.default_rng(5), **rules) for _ in range(2))
    assert first == second
    assert next_pair(ITEMS[::-1], (), np.random.default_rng(5), **rules) == first


@pytest.mark.parametrize("policy", POLICIES)
def test_either_side_is_as_likely(policy):
    rng = np.random.default_rng(2)
    rules = {"policy": policy, "state": pairing_state(ITEMS), "anchors": "ab"}
    picks = [next_pair(ITEMS, (), rng, **rules) for _ in range(4000)]
    ahead = np.mean([pick.left < pick.right for pick in picks])
    assert abs(ahead - 0.5) < 4 * 0.5 / np.sqrt(len(picks))


def test_a_policy_that_is_none_is_refused_with_the_way_out():
    with pytest.raises(InputError, match="'swiss'; there are uniform, balanced, informative, ref"):
        next_pair(ITEMS, (), np.random.default_rng(2), policy="swiss")


# Balanced.


def counts_after(policy: str, items, comparisons: int, *, at_once: int) -> np.ndarray:
    """Comparisons per item of a study by judges who come in crowds and see one pair each."""
    rng = np.random.default_rng(2)
    first, second = [], []
    while len(first) < comparisons:
        known = PairingState.of(
            Counts.of(items, first, second, np.ones(len(first)), [0] * len(first))
        )
        picks = [next_pair(items, (), rng, policy=policy, state=known) for _ in range(at_once)]
        first += [items.index(pick.left) for pick in picks]
        second += [items.index(pick.right) for pick in picks]
    return np.bincount(first + second, minlength=len(items))


def test_balanced_evens_out_comparisons():
    """At random their variance is about their mean, 20; here it is a few units."""
    items = tuple(f"{k:02}" for k in range(40))
    plain = counts_after("uniform", items, 400, at_once=10)
    even = counts_after("balanced", items, 400, at_once=10)
    assert plain.sum() == even.sum() == 800
    assert even.var() < plain.var() / 4
    assert even.min() > plain.min()


def test_a_crowd_that_looks_at_old_counts_does_not_overshoot():
    """100 judges at once on 40 items: each round is five comparisons an item, all unseen."""
    items = tuple(f"{k:02}" for k in range(40))
    plain = counts_after("uniform", items, 1600, at_once=100)
    even = counts_after("balanced", items, 1600, at_once=100)
    assert even.var() < plain.var() / 4


@pytest.mark.parametrize("policy", ["balanced", "informative"])
def test_balanced_joins_what_nobody_has_compared_with_each_other(policy):
    """Two halves with as many comparisons each; informative does the same before any fit."""
    items = tuple("abcdefgh")
    halves = [pair for half in ("abcd", "efgh") for pair in combinations(half, 2)]
    first, second = zip(*[(items.index(one), items.index(two)) for one, two in halves], strict=True)
    known = PairingState.of(Counts.of(items, first, second, [1] * 12, [0] * 12))
    rng = np.random.default_rng(2)
    picks = [next_pair(items, (), rng, policy=policy, state=known) for _ in range(2000)]
    across = np.mean([(pick.left in "abcd") != (pick.right in "abcd") for pick in picks])
    # By chance alone it would be 4/7; half of the rest are asked across on purpose.
    assert abs(across - (0.5 + 0.5 * 4 / 7)) < 4 * np.sqrt(0.2 / len(picks))


def test_an_item_nobody_has_compared_comes_soon_and_not_to_all_at_once():
    items = tuple(f"{k:02}" for k in range(50))
    first = [k for k in range(49) for _ in range(5)]
    second = [(k + 1) % 49 for k in first]
    known = PairingState.of(Counts.of(items, first, second, [1] * len(first), [0] * len(first)))
    rng = np.random.default_rng(2)
    picks = [next_pair(items, (), rng, policy="balanced", state=known) for _ in range(400)]
    share = np.mean(["49" in pick[:2] for pick in picks])
    assert share > 10 * 2 / 50
    assert len({frozenset(pick[:2]) for pick in picks if "49" in pick[:2]}) > 30


def test_items_that_the_standing_does_not_know_are_asked_about():
    """A ward added to the study while it runs: it has been compared with nothing so far."""
    known = pairing_state(ITEMS, comparisons=30)
    rng = np.random.default_rng(2)
    for policy in ("balanced", "informative"):
        picks = [
            next_pair((*ITEMS, "new"), (), rng, policy=policy, state=known) for _ in range(300)
        ]
        assert np.mean(["new" in pick[:2] for pick in picks]) > 2 / 7


# Informative.


def handmade(utility: np.ndarray, quality=None) -> PairingState:
    size = len(utility)
    return PairingState(
        tuple(f"{k:02}" for k in range(size)),
        np.full(size, 5, np.int32),
        np.zeros(size, np.int32),
        utility.astype(np.float32),
        np.zeros(size, np.float32) if quality is None else np.asarray(quality, np.float32),
    )


def test_informative_prefers_what_is_uncertain():
    """The item with a wide posterior, all else alike, is in most pairs and not in all."""
    size = 20
    variance = np.full(size, 0.1)
    variance[7] = 2.0
    known = pairing_state([f"{k:02}" for k in range(size)], comparisons=100, posterior=False)
    known = known.with_posterior(np.zeros(size), np.diag(variance), 0.5)
    rng = np.random.default_rng(2)
    picks = [next_pair(known.items, (), rng, policy="informative", state=known) for _ in range(500)]
    share = np.mean(["07" in pick[:2] for pick in picks])
    assert 0.5 < share < 1


def test_the_random_share_is_left_to_chance():
    """Of pairs that are worth nothing only chance shows any, while others are worth something."""
    size = 12
    utility = np.zeros((size, size))
    utility[:6, :6] = 1.0
    known, rng = handmade(utility), np.random.default_rng(2)
    rules = {"policy": "informative", "state": known}
    worthless = [
        next_pair(known.items, (), rng, random_share=1.0, **rules).right > "05" for _ in range(2000)
    ]
    assert abs(np.mean(worthless) - 0.5) < 4 * 0.5 / np.sqrt(2000)
    # Of 66 pairs 15 are worth something: a sample of 16 that has none of them is rare.
    greedy = [next_pair(known.items, (), rng, random_share=0.0, **rules) for _ in range(2000)]
    assert np.mean([max(pick.left, pick.right) > "05" for pick in greedy]) < 0.03


@pytest.mark.parametrize("size", [10, 95])
def test_many_judges_at_once_are_not_all_asked_the_same(size):
    """200 of them look at the same state, in which one pair is far ahead of the others."""
    utility = np.random.default_rng(2).uniform(0.1, 1, size=(size, size))
    utility = utility + utility.T
    utility[1, 0] = utility[0, 1] = 50.0
    known, rng = handmade(utility), np.random.default_rng(2)
    picks = Counter(
        frozenset(next_pair(known.items, (), rng, policy="informative", state=known)[:2])
        for _ in range(200)
    )
    assert picks.most_common(1)[0][1] < 200 / 3
    assert len(picks) > min(50, size * (size - 1) / 4)


# What a judge finds hard.

LADDER = tuple(f"{k:02}" for k in range(16))


def informative_pairs(known: PairingState, seen, hard) -> list[OrderedPair]:
    rng = np.random.default_rng(2)
    rules = {"policy": "informative", "state": known, "hard_pairs": hard, "random_share": 0.0}
    return [next_pair(known.items, seen, rng, **rules) for _ in range(300)]


def test_pairs_as_close_as_those_called_equal_are_spared():
    """One step apart they always said equal, six steps apart never."""
    known = handmade(np.ones((16, 16)), quality=np.arange(16.0))
    hard = [frozenset((LADDER[k], LADDER[k + 1])) for k in range(0, 12, 2)]
    seen = [*hard, *(frozenset((LADDER[k], LADDER[k + 6])) for k in range(8))]

    def close(picks) -> float:
        return np.mean([abs(int(pick.left) - int(pick.right)) == 1 for pick in picks])

    assert close(informative_pairs(known, seen, ())) > 0.04
    assert close(informative_pairs(known, seen, hard)) == 0


def test_a_tie_now_and_then_spares_nothing():
    """Called equal, but no more often than other pairs as close were not."""
    known = handmade(np.ones((16, 16)), quality=np.arange(16.0))
    seen = [frozenset((LADDER[k], LADDER[k + 1])) for k in range(12)]
    assert informative_pairs(known, seen, seen[::3]) == informative_pairs(known, seen, ())


def test_an_item_that_a_judge_keeps_skipping_is_spared():
    known = handmade(np.ones((16, 16)), quality=10.0 * np.arange(16))
    skipped = [frozenset(("03", other)) for other in ("05", "10")]
    seen = [*skipped, frozenset(("05", "10")), frozenset(("05", "11")), frozenset(("10", "11"))]

    def meets(picks) -> float:
        return np.mean(["03" in pick[:2] for pick in picks])

    assert meets(informative_pairs(known, seen, ())) > 0.05
    assert meets(informative_pairs(known, seen, skipped)) == 0


def test_what_is_spared_comes_when_nothing_else_is_left():
    """All six pairs are equally close, and five of them were called equal."""
    known = handmade(np.ones((4, 4)))
    *hard, last = pairs(known.items)
    assert {frozenset(pick[:2]) for pick in informative_pairs(known, hard, hard)} == {last}
