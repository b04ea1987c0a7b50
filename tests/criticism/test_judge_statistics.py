"""Judges in figures: counted by hand, held against fits without them, bad ones made up."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SeedSequence

from tiewise.criticism.judge_statistics import LEFT, RIGHT, SKIP, TIE, Said, judge_rows
from tiewise.criticism.leave_own_out import Belief, surprise
from tiewise.data.counts import Counts
from tiewise.engines.transport import Transport
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry, answer_probabilities
from tiewise.model.quality_priors import Network
from tiewise.model.scalar_priors import Fixed
from tiewise.model.simulate import Truth, answers, random_pairs
from tiewise.progress import no_progress

WARDS, EACH = 60, 40
GOOD = 15
BAD = ("random", "always left", "always tie", "reversed")


@pytest.fixture(scope="module")
def land() -> Network:
    return Network(Graph.from_areas(Areas.made_up(WARDS, seed=1)))


def said(*rows: tuple[int, int, int, int], repeat=(), seconds=None) -> Said:
    """Judgements (judge, left, right, outcome); `repeat` are the places of those shown again."""
    judge, left, right, outcome = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    again = np.isin(np.arange(len(rows)), list(repeat))
    took = np.full(len(rows), np.nan) if seconds is None else np.array(seconds, float)
    return Said(judge, left, right, outcome, again, took)


def rows_of(told: Said, judges: int, belief: Belief | None = None, excluded=()) -> list[dict]:
    names = [f"j{k}" for k in range(judges)]
    return judge_rows(names, told, belief, np.isin(np.arange(judges), list(excluded)))


def fitted(prior: Network, told: Said) -> Belief:
    """The posterior of these judgements, around its mode."""
    items = prior.items
    counts = Counts.of(
        items, told.left, told.right, told.outcome == LEFT, told.outcome == RIGHT,
        told.outcome == TIE,
    )  # fmt: skip
    model = BradleyTerry(counts, prior)
    peak = Transport(draws=8).run(model, SeedSequence(1), no_progress).spread.peak
    return Belief.at_peak(model, peak.quality, peak.tie, float(np.exp(peak.log_alpha)))


def judged(truth: Truth, kinds: list[str], rng: np.random.Generator) -> Said:
    """What judges of these kinds say, 40 pairs each."""
    judge = np.repeat(np.arange(len(kinds)), EACH)
    left, right = random_pairs(len(truth.items), len(judge), rng)
    outcome = answers(truth, left, right, rng)
    for k, kind in enumerate(kinds):
        mine = judge == k
        outcome[mine] = {
            "good": lambda own: own,
            "random": lambda own: rng.integers(3, size=len(own)),
            "always left": lambda own: np.full(len(own), LEFT),
            "always tie": lambda own: np.full(len(own), TIE),
            "reversed": lambda own: 2 - own,
        }[kind](outcome[mine])
    return Said(judge, left, right, outcome, np.zeros(len(judge), bool), np.full(len(judge), 6.0))


# Figures, counted by hand.


def test_counts_and_shares_are_those_of_the_rows():
    told = said(
        (0, 1, 2, LEFT), (0, 3, 4, LEFT), (0, 1, 4, RIGHT), (0, 2, 3, TIE), (0, 2, 4, SKIP),
        (1, 1, 2, SKIP),
        seconds=[2, 4, 9, np.nan, 3, 7],
    )  # fmt: skip
    first, second = rows_of(told, 3)
    assert first["judge"] == "j0"
    assert (first["comparisons"], first["skips"]) == (4, 1)
    assert (first["tie_share"], first["skip_share"]) == (0.25, 0.2)
    assert first["left_share"] == pytest.approx(2 / 3, abs=1e-4)
    assert first["median_seconds"] == 3.5
    assert second["comparisons"] == 0
    assert second["median_seconds"] == 7
    for unknown in ("tie_share", "left_share", "agreement", "misfit", "misfit_p", "consistency"):
        assert second[unknown] is None
    assert first["flags"] == second["flags"] == []


def test_a_repeat_is_alike_where_the_same_item_is_chosen_on_the_other_side():
    told = said(
        (0, 1, 2, LEFT), (0, 3, 4, TIE), (0, 5, 6, RIGHT), (0, 7, 8, LEFT), (0, 1, 3, LEFT),
        (0, 2, 1, RIGHT),  # 1 again
        (0, 4, 3, TIE),  # a tie again
        (0, 6, 5, RIGHT),  # 5, which was 6
        (0, 8, 7, SKIP),  # no answer
        (1, 2, 1, LEFT),  # somebody else's
        (0, 1, 2, RIGHT),  # 2, which was 1 the time before
        repeat=[5, 6, 7, 8, 10],
    )  # fmt: skip
    mine, other = rows_of(told, 2)
    assert (mine["repeats"], mine["consistency"]) == (4, 0.5)
    assert (other["repeats"], other["consistency"]) == (0, None)


def test_judges_without_a_word_have_no_row():
    assert [row["judge"] for row in rows_of(said((2, 0, 1, LEFT)), 5)] == ["j2"]


# How alike the others.


def test_a_judge_is_held_against_the_others_and_not_against_their_own_answers(land):
    """The witness is a fit without the judge."""
    rng = np.random.default_rng(5)
    truth = Truth.drawn(land, Fixed(2.0), Fixed(0.5), rng)
    told = judged(truth, ["good"] * 10 + ["random", "reversed"], rng)
    all_in, everybody = fitted(land, told), np.ones(12, bool)
    with_them = surprise(all_in, *told[:4], np.zeros(12, bool))
    quick = surprise(all_in, *told[:4], everybody)
    for judge in (0, 5, 10, 11):
        others = fitted(land, told.where(told.judge != judge))
        own = told.where(told.judge == judge)
        nobody = np.zeros(1, bool)
        slow = surprise(others, own.judge * 0, own.left, own.right, own.outcome, nobody)
        apart = abs(quick.score[judge] - slow.score[0])
        # More than half of what their own answers did is undone; that they also moved α is not.
        assert apart < abs(with_them.score[judge] - slow.score[0]) / 2 + 0.1
        assert abs(quick.agreed[judge] - slow.agreed[0]) <= 0.08


def test_judges_who_answer_as_believed_score_0_give_or_take_1():
    """The witness is simulation: qualities from the belief, answers from the qualities."""
    rng = np.random.default_rng(6)
    size, judges, each = 12, 4000, 25
    root = rng.normal(size=(size, size)) / 3
    belief = Belief(rng.normal(size=size), root @ root.T, 0.6)
    quality = rng.multivariate_normal(belief.mean, belief.covariance, size=judges)
    judge = np.repeat(np.arange(judges), each)
    left, right = random_pairs(size, len(judge), rng)
    gap = quality[judge, left] - quality[judge, right]
    win, tied, _ = answer_probabilities(gap, np.asarray(0.6))
    chance = rng.uniform(size=len(judge))
    answer = (chance >= win).astype(np.int64) + (chance >= win + tied)
    found = surprise(belief, judge, left, right, answer, np.zeros(judges, bool))
    error = 1 / np.sqrt(judges)
    assert abs(found.score.mean()) < 4 * error
    # The sd of 4,000 has an error of 1.1 %, and answers that hang together are counted in part.
    assert abs(found.score.std() - 1) < 0.08
    assert abs((found.agreed - found.expected).mean()) < 4 * np.std(found.agreed) * error


def test_an_excluded_judge_is_held_against_the_fit_of_the_others(land):
    rng = np.random.default_rng(7)
    truth = Truth.drawn(land, Fixed(2.0), Fixed(0.5), rng)
    told = judged(truth, ["good"] * 11 + ["reversed"], rng)
    belief = fitted(land, told.where(told.judge != 11))
    last = rows_of(told, 12, belief, excluded=[11])[-1]
    assert last["excluded"]
    assert last["agreement"] < 0.5
    assert [flag["kind"] for flag in last["flags"]] == ["reversed"]
    assert not any(row["excluded"] for row in rows_of(told, 12, belief, excluded=[11])[:-1])


def test_a_judge_alone_has_nobody_to_agree_with(land):
    rng = np.random.default_rng(8)
    told = judged(Truth.drawn(land, Fixed(2.0), Fixed(0.5), rng), ["good"], rng)
    (row,) = rows_of(told, 1, fitted(land, told))
    assert row["comparisons"] == EACH
    assert row["agreement"] is row["misfit"] is None


def test_one_judge_of_very_many_comparisons_is_no_trouble(land):
    rng = np.random.default_rng(9)
    truth = Truth.drawn(land, Fixed(2.0), Fixed(0.5), rng)
    told = judged(truth, ["good"] * 80, rng)
    # 76 judges are one and the same person.
    told = told._replace(judge=np.minimum(told.judge, 4))
    rows = rows_of(told, 5, fitted(land, told))
    assert rows[-1]["comparisons"] == 76 * EACH
    assert all(0.5 < row["agreement"] < 1 for row in rows)
    assert all(abs(row["misfit"]) < 5 for row in rows)


def test_items_that_the_fit_does_not_know_are_left_out_of_agreement(land):
    rng = np.random.default_rng(10)
    truth = Truth.drawn(land, Fixed(2.0), Fixed(0.5), rng)
    told = judged(truth, ["good"] * 3, rng)
    belief = fitted(land, told)
    lost = told._replace(left=np.where(told.judge == 1, -1, told.left))
    rows = rows_of(lost, 3, belief)
    assert rows[1]["comparisons"] == EACH
    assert rows[1]["agreement"] is None
    assert rows[0]["agreement"] is not None


# Flags.


def left_and_right(
    judge: int, lefts: int, rights: int, ties: int
) -> list[tuple[int, int, int, int]]:
    outcomes = [LEFT] * lefts + [RIGHT] * rights + [TIE] * ties
    return [(judge, k % 7, 7 + k % 5, outcome) for k, outcome in enumerate(outcomes)]


def test_flags_say_the_figures_behind_them():
    usual = [row for judge in range(1, 6) for row in left_and_right(judge, 41, 41, 18)]
    one_sided = rows_of(said(*left_and_right(0, 39, 1, 0), *usual), 6)[0]["flags"]
    assert one_sided == [
        {
            "kind": "side",
            "says": "chose the left item in 39 of 40 decided comparisons; by chance 20",
        }
    ]
    tied = rows_of(said(*left_and_right(0, 2, 2, 36), *usual), 6)[0]["flags"]
    assert tied == [{"kind": "ties", "says": "called 36 of 40 pairs equal; others call 18 % equal"}]
    rows = left_and_right(0, 12, 12, 6)
    (hasty,) = rows_of(said(*rows, seconds=np.full(len(rows), 0.8)), 1)
    assert hasty["flags"] == [{"kind": "haste", "says": "median answer in 0.8 s"}]


def test_nothing_is_said_of_a_judge_of_few_comparisons():
    usual = [row for judge in range(1, 6) for row in left_and_right(judge, 41, 41, 18)]
    for lefts, ties in ((19, 0), (0, 19)):
        few = said(*left_and_right(0, lefts, 0, ties), *usual)
        assert rows_of(few._replace(seconds=np.full(len(few.judge), 0.1)), 6)[0]["flags"] == []
        one_more = said(*left_and_right(0, lefts + (lefts > 0), 0, ties + (ties > 0)), *usual)
        assert len(rows_of(one_more, 6)[0]["flags"]) == 1


def test_those_who_contradict_themselves_are_flagged():
    rows, repeat = [], []
    for judge in range(4):
        for k in range(20):
            rows.append((judge, k, k + 20, LEFT if k % 2 else RIGHT))
            repeat.append(len(rows))
            again = LEFT if k % 2 else RIGHT
            # The first judge chooses by side: on exchanged sides that is the other item.
            rows.append((judge, k + 20, k, again if judge == 0 else 2 - again))
    first, *rest = rows_of(said(*rows, repeat=repeat), 4)
    assert [flag["kind"] for flag in first["flags"]] == ["inconsistent"]
    assert "0 of 20 pairs that came a second time; others do to 100 %" in first["flags"][0]["says"]
    assert not any(row["flags"] for row in rest)


@pytest.mark.slow
@pytest.mark.parametrize("wards", [60, 95])
def test_bad_judges_are_flagged_and_good_ones_are_not(wards):
    """One of each kind among 15 good ones: 9 in 10 of each kind, and at most 1 good one in 20.

    A share of 9 in 10 among so many studies is seen as less than the limits below with a chance
    of 1 in 40 for each kind.
    """
    prior = Network(Graph.from_areas(Areas.made_up(wards, seed=1)))
    studies, flagged = 100, dict.fromkeys(("good", *BAD), 0)
    kinds = ["good"] * GOOD + list(BAD)
    for seed in range(studies):
        rng = np.random.default_rng([seed, wards])
        told = judged(Truth.drawn(prior, Fixed(2.0), Fixed(0.5), rng), kinds, rng)
        for kind, row in zip(kinds, rows_of(told, len(kinds), fitted(prior, told)), strict=True):
            flagged[kind] += bool(row["flags"])
    slack = 2 * np.sqrt(0.9 * 0.1 * studies)
    assert flagged["good"] <= GOOD * studies / 20, flagged
    assert all(flagged[kind] >= 0.9 * studies - slack for kind in BAD), flagged


@pytest.mark.slow
def test_among_good_judges_alone_few_are_flagged(land):
    flagged, studies = 0, 60
    for seed in range(studies):
        rng = np.random.default_rng([seed, 99])
        told = judged(Truth.drawn(land, Fixed(2.0), Fixed(0.5), rng), ["good"] * GOOD, rng)
        flagged += sum(bool(row["flags"]) for row in rows_of(told, GOOD, fitted(land, told)))
    assert flagged <= GOOD * studies / 20
