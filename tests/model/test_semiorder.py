"""Answers that a semiorder explains: found exactly, at any size; and what they leave open."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from support.everyday import everyday
from support.reference_formulas import repeated, tally
from tiewise.data.counts import Counts
from tiewise.model.anchors.anchors import Anchors
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.semiorder import cannot_say, is_semiorder

NONE, FIRST, SECOND, TIE = range(4)


def counts_of(answers: dict[tuple[int, int], set[int]], size: int) -> Counts:
    """Counts in which each pair got each of these answers once."""
    pairs = list(answers)
    first, second = ([pair[k] for pair in pairs] for k in (0, 1))
    columns = [[code in answers[pair] for pair in pairs] for code in (FIRST, SECOND, TIE)]
    return Counts.of([str(k) for k in range(size)], first, second, *columns)


def model_of(judgements, **priors) -> BradleyTerry:
    """The model of three items."""
    return BradleyTerry(Counts.of(["a", "b", "c"], **tally(judgements)), **priors)


def semiorders(size: int) -> np.ndarray:
    """Every semiorder on so many items by Luce's axioms: which item stands above which.

    a > b and c > d give a > d or c > b; a > b > c give a > d or d > c.
    """
    pairs = list(combinations(range(size), 2))
    way = np.array(list(product((NONE, FIRST, SECOND), repeat=len(pairs))))
    above = np.zeros((len(way), size, size), bool)
    for k, (i, j) in enumerate(pairs):
        above[:, i, j], above[:, j, i] = way[:, k] == FIRST, way[:, k] == SECOND
    fits = np.ones(len(way), bool)
    for a, b, c, d in product(range(size), repeat=4):
        fits &= ~(above[:, a, b] & above[:, c, d]) | above[:, a, d] | above[:, c, b]
        fits &= ~(above[:, a, b] & above[:, b, c]) | above[:, a, d] | above[:, d, c]
    return above[fits]


def explained(answers: dict[tuple[int, int], set[int]], known: np.ndarray) -> bool:
    """The witness: whether one of all semiorders has every answer."""
    fits = np.ones(len(known), bool)
    for (i, j), codes in answers.items():
        for code in codes:
            wins = known[:, i, j], known[:, j, i], ~known[:, i, j] & ~known[:, j, i]
            fits &= wins[code - 1]
    return bool(fits.any())


@pytest.fixture(scope="module")
def known() -> dict[int, np.ndarray]:
    return {size: semiorders(size) for size in (2, 3, 4, 5)}


def test_the_witness_knows_as_many_semiorders_as_there_are(known):
    """Their numbers are known (OEIS A006531)."""
    assert [len(known[size]) for size in (2, 3, 4, 5)] == [3, 19, 183, 2371]


def test_three_items_whatever_the_answers(known):
    """All 512 sets of answers about three pairs, contradictions within a pair included."""
    every = [{code for code in (1, 2, 3) if bits >> code & 1} for bits in range(0, 16, 2)]
    verdicts = []
    for codes in product(every, repeat=3):
        answers = dict(zip(combinations(range(3), 2), codes, strict=True))
        verdicts.append(is_semiorder(counts_of(answers, 3)))
        assert verdicts[-1] == explained(answers, known[3]), answers
    assert 0 < sum(verdicts) < len(verdicts)


def test_four_items_one_answer_a_pair_at_most(known):
    pairs = list(combinations(range(4), 2))
    for codes in product((NONE, FIRST, SECOND, TIE), repeat=6):
        answers = {pair: {code} - {NONE} for pair, code in zip(pairs, codes, strict=True)}
        assert is_semiorder(counts_of(answers, 4)) == explained(answers, known[4]), answers


def test_five_items(known):
    """Answers of a semiorder, a few of them changed; what is left is one in half of the cases."""
    rng, pairs = np.random.default_rng(5), list(combinations(range(5), 2))
    verdicts = []
    for above in rng.choice(known[5], 1500):
        answers = {}
        for i, j in pairs:
            code = FIRST if above[i, j] else SECOND if above[j, i] else TIE
            answers[i, j] = {int(rng.integers(4)) if rng.random() < 0.15 else code} - {NONE}
        verdicts.append(is_semiorder(counts_of(answers, 5)))
        assert verdicts[-1] == explained(answers, known[5]), answers
    assert 0.2 < np.mean(verdicts) < 0.8


def test_as_many_wins_as_ties_around_a_circle_are_no_semiorder():
    """A gap of exactly the threshold would do, but then each answer has probability one half."""
    same_pair = {(0, 1): {FIRST, TIE}}
    ring = {(0, 1): {FIRST}, (1, 2): {TIE}, (2, 3): {FIRST}, (0, 3): {TIE}}
    assert not is_semiorder(counts_of(same_pair, 2))
    assert not is_semiorder(counts_of(ring, 4))
    assert is_semiorder(counts_of(ring | {(0, 1): {TIE}}, 4))


def test_strata_are_read_as_one():
    """Two judges who contradict each other contradict, though each alone does not."""
    apart = Counts.of(
        ["a", "b"], [0, 0], [1, 1], [1, 0], [0, 1], [0, 0], stratum=[0, 1], strata=("p", "q")
    )
    assert not is_semiorder(apart)
    assert all(is_semiorder(apart.within([judge])) for judge in ("p", "q"))


@pytest.mark.slow
@pytest.mark.parametrize("contradicted", [False, True])
def test_a_hundred_thousand_items(contradicted):
    """Items on a line, a million answers about those near each other, none or one of them wrong."""
    rng, size = np.random.default_rng(1), 100_000
    quality = np.sort(rng.uniform(0, 300, size))
    first = rng.integers(size, size=1_000_000)
    second = np.searchsorted(quality, quality[first] + rng.uniform(0, 3, len(first)))
    first, second = first[second < size], second[second < size]
    first, second = first[first != second], second[first != second]
    gap = quality[second] - quality[first]
    ahead, tied = gap > 1, gap <= 1
    lower = np.zeros_like(ahead)
    if contradicted:
        wrong = np.argmax(gap)
        ahead[wrong], lower[wrong] = False, True
    items = [str(k) for k in range(size)]
    assert is_semiorder(Counts.of(items, first, second, lower, ahead, tied)) != contradicted


def test_a_long_chain_is_quick_whatever_its_order():
    """Rounds of Bellman and Ford in any fixed order would take one for every tie on the way."""
    rng, size = np.random.default_rng(2), 50_000
    place, tied = rng.permutation(size), rng.random(size) < 0.6
    items = [str(k) for k in range(size)]
    ring = np.append(place, place[0])
    assert is_semiorder(Counts.of(items, ring[:-1], ring[1:], ~tied, np.zeros(size), tied))
    assert not is_semiorder(Counts.of(items, ring[:-1], ring[1:], tied, np.zeros(size), ~tied))


@pytest.mark.parametrize(
    ("judgements", "answer"),
    [
        (repeated((0, 1, 3, 0, 0), (1, 2, 1, 0, 0), (0, 2, 5, 0, 0)), "order"),
        (repeated((0, 1, 0, 3, 0), (1, 2, 0, 1, 0)), "ties"),
        (repeated((0, 1, 0, 3, 0), (1, 2, 2, 0, 0)), "semiorder"),
        (repeated((0, 1, 0, 3, 0), (1, 2, 0, 1, 0), (0, 2, 2, 0, 0)), "semiorder"),
        (repeated((0, 1, 3, 0, 1)), ""),
        (repeated((0, 1, 3, 1, 0)), ""),
        (repeated((0, 1, 3, 1, 1), (1, 2, 1, 0, 0)), ""),
        (repeated((0, 1, 1, 0, 0), (1, 2, 1, 0, 0), (2, 0, 1, 0, 0)), ""),
        (repeated((0, 1, 1, 0, 0), (1, 2, 1, 0, 0), (2, 0, 0, 1, 0)), ""),
    ],
)
def test_what_cannot_be_said_is_what_can_be_made_certain(judgements, answer):
    """The likelihood comes as near to 1 as one likes there, and stays below 1/2 elsewhere."""
    model = model_of(judgements)
    assert cannot_say(model) == answer
    grid = np.array(list(product(np.linspace(-2.0, 2.0, 9), repeat=2)))
    gaps = np.column_stack([grid, np.zeros(len(grid))]).T * 400
    best = max(
        model.log_likelihood(gaps, np.full(gaps.shape[1], tie)).max()
        for tie in (1e-9, 100.0, 300.0, 500.0)
    )
    assert bool(best > -1e-6) == bool(answer)
    assert bool(best < np.log(0.5) + 1e-6) != bool(answer)


def test_a_scale_that_is_held_leaves_nothing_open():
    wins, tied = repeated((0, 1, 2, 0, 0)), repeated((0, 1, 0, 3, 0), (1, 2, 2, 0, 0))
    assert cannot_say(model_of(wins, variance=Fixed(1.0))) == ""
    assert cannot_say(model_of(wins, tie=None)) == "order"
    assert cannot_say(model_of(wins, tie=Fixed(0.5))) == "order"
    assert cannot_say(model_of(tied, tie=Fixed(0.5))) == ""
    assert cannot_say(model_of(repeated((0, 1, 0, 3, 0)), variance=Fixed(1.0))) == "ties"


@pytest.mark.parametrize("ties", everyday([True, False], True))
def test_graded_answers_that_some_line_explains_are_found_exactly(ties):
    """Against every line of four items on whole numbers, and all cuts between such numbers."""
    rng, reach = np.random.default_rng(6), 9
    pairs = list(combinations(range(4), 2))
    lines = np.array([(0, *rest) for rest in product(range(-reach, reach + 1), repeat=3)])
    gap = np.stack([lines[:, i] - lines[:, j] for i, j in pairs], 1)
    if not ties:
        gap = gap[gap.all(axis=1)]  # equal items would tie
    between = np.arange(reach) + 0.5
    cuts = combinations(between, 2) if ties else [(0.0, strong) for strong in between]
    digits = 5 ** np.arange(len(pairs))
    codes = [
        np.unique((np.sign(gap) * ((abs(gap) > a) + 1 * (abs(gap) > b)) + 2) @ digits)
        for a, b in cuts
    ]
    possible = np.unique(np.concatenate(codes))[:, None] // digits % 5 - 2
    grades = (-2, -1, 0, 1, 2) if ties else (-2, -1, 1, 2)
    reasons = []
    for _ in range(150):
        asked = rng.choice(len(pairs), rng.integers(2, 7), replace=False)
        grade_of = rng.choice(grades, len(asked))
        strengths = [[[int(sign * g == k) for k in (1, 2)] for sign in (1, -1)] for g in grade_of]
        counts = Counts.of(
            list("abcd"), [pairs[k][0] for k in asked], [pairs[k][1] for k in asked],
            grade_of > 0, grade_of < 0, grade_of == 0, strengths=strengths,
        )  # fmt: skip
        expected = (possible[:, asked] == grade_of).all(axis=1).any()
        model = BradleyTerry(counts) if ties else BradleyTerry(counts, tie=None)
        reason = cannot_say(model)
        assert bool(reason) == (expected or not grade_of.any()), grade_of
        reasons.append(bool(reason))
    assert 0.1 < np.mean(reasons) < 0.9


def test_more_and_much_more_of_one_pair_contradict_each_other():
    """Which item is higher is not disputed, and yet the cuts say how far apart the items are."""
    alike, both = (
        Counts.of(["a", "b"], [0], [1], [4], [0], strengths=[[own, [0, 0]]])
        for own in ([0, 4], [3, 1])
    )
    assert cannot_say(BradleyTerry(alike, tie=None)) == "order"
    assert cannot_say(BradleyTerry(both, tie=None)) == ""


def test_anchors_in_logits_are_the_scale_of_what_is_compared_with_them():
    """Two in every part; not one, not those of another part, and not in units that are learned."""
    chain = Counts.of(list("abcd"), [0, 1, 2], [1, 2, 3], [1, 1, 1], [0, 0, 0])
    parts = Counts.of(list("abcd"), [0, 2], [1, 3], [1, 1], [0, 0])
    values, link = np.array([2.0, 0.0]), 4 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    for counts, anchors, reason in (
        (chain, Anchors(("a", "d"), values, 0.1), ""),
        (chain, Anchors(("a", "d"), values, precision=link), ""),
        (chain, Anchors(("a", "d"), values, precision=0 * link), "order"),
        (chain, Anchors(("a", "b", "d"), [2.0, 1.0, 0.0], 0.1, slope="learned"), "order"),
        (parts, Anchors(("a", "b"), values, 0.1), "order"),
        (parts, Anchors(("a", "c"), values, 0.1), "order"),
        (parts, Anchors(tuple("abcd"), [2.0, 1.0, 0.0, -1.0], 0.1), ""),
    ):
        assert cannot_say(BradleyTerry(counts, tie=None, anchors=anchors)) == reason
