"""Graded answers in criticism: every figure against the probabilities written out."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from xarray import Dataset, DataTree

from tiewise.criticism.judge_fit import item_fit, judge_fit
from tiewise.criticism.judge_influence import (
    PosteriorWithoutJudge,
    own_answers,
    restrict_to_judges,
    without_terms,
)
from tiewise.criticism.judge_likelihood import OwnAnswers, judge_log_likelihood
from tiewise.criticism.leave_one_out import leave_one_out, scores_by_judge
from tiewise.criticism.leave_own_out import GaussianPosterior, leave_own_out
from tiewise.criticism.predictive_checks import predictive_checks
from tiewise.criticism.replicates import observed_answers, replicate
from tiewise.criticism.robustness.assessment import fragility, removal_table
from tiewise.criticism.robustness.conclusion import Conclusion, Contrast
from tiewise.criticism.robustness.removable import Removable
from tiewise.criticism.robustness.search import Removal
from tiewise.criticism.split_half import Scales, split_half
from tiewise.data.comparisons import Comparisons, read_comparisons
from tiewise.errors import InputError
from tiewise.model.build import build_model
from tiewise.posterior.judgement_record import (
    JudgementRecord,
    JudgementTable,
    fitted_judgements,
    fitted_judgements_by_stratum,
)
from tiewise.posterior.predictions import PosteriorDraws, StratumDraws
from tiewise.posterior.tree import judgement_record

ITEMS = ("a", "b", "c", "d")
WORDS = ("much more", "more", "equal", "less", "much less")
SCORES = (1, 0.75, 0.5, 0.25, 0)


def probabilities(gap: float, cuts: list[float], *, scale: float = 1.0) -> np.ndarray:
    """P(grade) from all for the first: differences of logistic functions at the cuts."""
    bounds = [-np.inf, *(-scale * c for c in cuts[::-1] if c), *(scale * c for c in cuts), np.inf]
    above = [1 / (1 + np.exp(bound - gap)) for bound in bounds]
    return -np.diff(above)[::-1]


def judgements(number: int = 60, judges: int = 3, seed: int = 1, words=WORDS) -> pd.DataFrame:
    """Graded answers about four items, at random."""
    rng = np.random.default_rng(seed)
    first = rng.integers(4, size=number)
    second = (first + rng.integers(1, 4, size=number)) % 4
    return pd.DataFrame(
        {
            "judge": [f"j{k}" for k in rng.integers(judges, size=number)],
            "item_1": np.array(ITEMS)[first], "item_2": np.array(ITEMS)[second],
            "answer": np.array(words)[rng.integers(len(words), size=number)],
        }
    )  # fmt: skip


def read(table: pd.DataFrame, words=WORDS) -> Comparisons:
    return read_comparisons(table, grade="answer", grades=words)


def graded_tree(comparisons: Comparisons, *, width: float = 0.03, draws: int = 40) -> DataTree:
    """A made-up posterior of these answers, so narrow that weights of draws are even."""
    rng = np.random.default_rng(2)
    model = build_model(comparisons)
    counts, sample = model.counts, ("chain", "draw")
    quality = np.array([0.8, 0.1, -0.2, -0.7]) + width * rng.normal(size=(1, draws, 4))
    cut = np.array([0.5, 1.4]) + width * rng.uniform(size=(1, draws, 2))
    if model.tie is None:
        cut[..., 0] = 0
    observed = {
        name: ("pair", getattr(counts, name))
        for name in ("first", "second", "stratum", "wins_first", "wins_second", "ties")
    }
    tree = DataTree.from_dict(
        {
            "posterior": Dataset(
                {
                    "quality": ((*sample, "item"), quality), "tie": (sample, cut[..., 0]),
                    "cut": ((*sample, "strength"), cut),
                },
                coords={"item": list(ITEMS), "strength": [1, 2]},
            ),
            "observed_data": Dataset(
                {**observed, "strengths": (("pair", "side", "strength"), counts.strengths)}
            ),
            "constant_data": Dataset(
                {
                    "name": ("item", list(ITEMS)),
                    "comparisons": ("item", counts.per_item()),
                },
                coords={"item": list(ITEMS)},
            ),
        }
    )  # fmt: skip
    tree.attrs |= {"kind": "exact", "seed": "1"}
    tree["judgements"] = DataTree(judgement_record(model, comparisons).dataset())
    return tree


def written_out(tree: DataTree, table: pd.DataFrame) -> np.ndarray:
    """The probability (draws, judgements) of every answer of the table."""
    quality = tree["posterior/quality"].to_numpy()[0]
    cuts = tree["posterior/cut"].to_numpy()[0]
    rows = [
        (ITEMS.index(one), ITEMS.index(two), WORDS.index(word))
        for one, two, word in zip(table["item_1"], table["item_2"], table["answer"], strict=True)
    ]
    return np.array(
        [
            [probabilities(q[i] - q[j], list(c))[k] for i, j, k in rows]
            for q, c in zip(quality, cuts, strict=True)
        ]
    )


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return judgements()


@pytest.fixture(scope="module")
def tree(table) -> DataTree:
    return graded_tree(read(table))


# The record.


def test_a_record_keeps_how_strongly_an_item_was_chosen(table, tree):
    record = JudgementRecord.from_tree(tree)
    grade = record.judgements.grades(2)
    own = [WORDS.index(word) for word in table["answer"]]
    assert grade.tolist() == own
    assert record.judgements.strength.tolist() == [abs(k - 2) for k in own]


def test_sides_that_mean_nothing_are_swapped_with_their_strength():
    """The chosen one always first: every second row is turned, and is as strong as before."""
    rows = pd.DataFrame(
        {"item_1": ["a", "b"] * 30, "item_2": ["b", "c"] * 30, "answer": ["much more", "more"] * 30}
    )
    comparisons = read(rows)
    record = JudgementRecord.from_comparisons(comparisons, comparisons.items)
    assert not record.has_sides
    assert record.judgements.strength.tolist() == [2, 1] * 30
    assert record.judgements.grades(2).tolist() == [0, 3] * 30


def test_judgements_written_out_of_counts_are_the_same(tree, table):
    comparisons = read(table)
    for rows in (fitted_judgements(tree), fitted_judgements_by_stratum(tree)):
        assert rows.counts(ITEMS, 2).digest() == comparisons.counts().digest()
    without = tree.copy()
    del without["judgements"]
    assert fitted_judgements(without).counts(ITEMS, 2).digest() == comparisons.counts().digest()


def test_a_model_of_some_judges_has_their_answers(table):
    """The counts are those of a file without the others."""
    comparisons = read(table)
    model = build_model(comparisons)
    record = judgement_record(model, comparisons)
    part = restrict_to_judges(model, record, np.array([True, False, True]))
    others = read(table[table["judge"] != "j1"]).counts()
    assert part.counts.digest() == others.over(ITEMS).digest()
    assert part.steps == model.steps


def test_a_record_without_strengths_is_refused(tree):
    record = JudgementRecord.from_tree(tree)
    bare = record.judgements._replace(strength=None)
    with pytest.raises(InputError, match="fit their file again, with its column of grades"):
        bare.grades(2)


# Probabilities.


@pytest.mark.parametrize("cuts", [[0.5, 1.4], [0.0, 1.4], [0.3, 0.9, 2.5]])
def test_probabilities_of_strata_are_those_of_scaled_cuts(cuts):
    """Sharpness multiplies the gap; a threshold of a judge's own multiplies every cut."""
    terms = StratumDraws(sharpness=np.array([[1.0, 2.0]]), threshold=np.array([[0.7, 0.2]]))
    tie = np.array([cuts[0]])
    draws = PosteriorDraws(np.array([[0.9, 0.2]]), tie, terms, np.array([cuts]))
    ours = draws.grade_probabilities(np.array([0, 1]), np.array([1, 0]), np.array([0, 1]))[:, 0]
    first = cuts[0] or cuts[1]
    want = [
        probabilities(0.7, cuts, scale=0.7 / first),
        probabilities(-1.4, cuts, scale=0.2 / first),
    ]
    shown = ours if cuts[0] else np.delete(ours, len(cuts), axis=0)
    assert pytest.approx(np.array(want)) == shown.T


# Leave-one-out.


def test_leave_one_out_is_the_harmonic_mean_of_probabilities(table, tree):
    """With even weights: log score = −log mean over draws of 1 / p, judgement by judgement."""
    probability = written_out(tree, table)
    want = -np.log((1 / probability).mean(axis=0))
    result = leave_one_out(tree)
    assert np.sort(result.elpd_i.to_numpy()) == pytest.approx(np.sort(want))
    by_judge = scores_by_judge(tree, result)
    for judge in ("j0", "j1", "j2"):
        assert by_judge[judge] == pytest.approx(want[table["judge"] == judge].sum())


def test_decided_answers_are_scored_given_that_there_was_no_tie(table, tree):
    decided = table[table["answer"] != "equal"]
    quality, cuts = (tree[f"posterior/{name}"].to_numpy()[0] for name in ("quality", "cut"))
    tied = np.array(
        [
            [
                probabilities(q[ITEMS.index(i)] - q[ITEMS.index(j)], list(c))[2]
                for i, j in zip(decided["item_1"], decided["item_2"], strict=True)
            ]
            for q, c in zip(quality, cuts, strict=True)
        ]
    )
    probability = written_out(tree, decided)
    weight = 1 / probability
    want = np.log((weight * probability / (1 - tied)).sum(axis=0) / weight.sum(axis=0))
    assert leave_one_out(tree, decided=True).elpd == pytest.approx(want.sum())


# Judges.


def certain(cuts: list[float]) -> PosteriorWithoutJudge:
    """Four draws that are all the same."""
    draws = PosteriorDraws(
        np.array([[1.0, 0.0, -0.5]] * 4), np.full(4, cuts[0]), None, np.array([cuts] * 4)
    )
    return PosteriorWithoutJudge(0, draws, np.full(4, 0.25), 0.0, False)


def own_rows(rows: list[tuple[int, int, int]], levels: int = 2) -> JudgementTable:
    """Rows of one judge: left, right, and the position of the answer on the scale."""
    left, right, grade = (np.array(column) for column in zip(*rows, strict=True))
    size, side = len(rows), grade - levels
    return JudgementTable(
        np.zeros(size, int), left, right, 1 + np.sign(side), np.zeros(size, bool),
        np.full(size, np.nan), np.abs(side),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cuts", "scores"), [([0.4, 1.2], SCORES), ([0.0, 1.2], (1, 2 / 3, 1 / 3, 0))]
)
def test_infit_has_scores_in_equal_steps(cuts, scores):
    rows = [(0, 1, 4), (1, 2, 0), (2, 0, 1)]
    result = judge_fit(certain(cuts), own_rows(rows), np.random.default_rng(1))
    squares, variances = [], []
    for left, right, grade in rows:
        p = probabilities((1.0, 0.0, -0.5)[left] - (1.0, 0.0, -0.5)[right], cuts)
        mean = p @ scores
        # Without ties the position in the middle is nobody's.
        place = grade if len(scores) == 5 or grade < 2 else grade - 1
        squares.append((scores[place] - mean) ** 2)
        variances.append(p @ (np.array(scores) - mean) ** 2)
    assert result.infit == pytest.approx(sum(squares) / sum(variances))
    assert result.outfit == pytest.approx(np.mean(np.array(squares) / variances))


def test_infit_of_items_has_the_same_scores(table):
    """At one certain draw: squared residuals of all answers about an item over their variances."""
    sure = graded_tree(read(table), width=0.0)
    quality, cuts = np.array([0.8, 0.1, -0.2, -0.7]), [0.5, 1.4]
    squares, variances = np.zeros(4), np.zeros(4)
    for one, two, word in table[["item_1", "item_2", "answer"]].to_numpy().tolist():
        i, j = ITEMS.index(one), ITEMS.index(two)
        p = probabilities(quality[i] - quality[j], cuts)
        for item in (i, j):
            squares[item] += (SCORES[WORDS.index(word)] - p @ SCORES) ** 2
            variances[item] += p @ np.square(SCORES) - (p @ SCORES) ** 2
    assert item_fit(sure)["infit"].to_numpy() == pytest.approx(squares / variances)


def test_a_judges_likelihood_is_integrated_over_scaled_cuts():
    """By a fine grid over the logarithm of the judge's threshold, which scales both cuts."""
    spread, cuts = 0.5, [0.4, 1.2]
    rows = [(0, 1, 0), (1, 2, 2), (2, 0, 1), (0, 2, 4)]
    quality = np.array([[1.0, 0.0, -0.5], [0.6, 0.2, -0.1]])
    terms = StratumDraws(threshold=np.full((2, 1), 0.4), threshold_sd=np.full(2, spread))
    draws = PosteriorDraws(quality, np.full(2, 0.4), terms, np.array([cuts] * 2))
    ours = judge_log_likelihood(draws, OwnAnswers(own_rows(rows), np.zeros(4, int)))
    line = np.linspace(-6, 6, 401)
    weight = np.exp(-(line**2) / 2)
    for q, result in zip(quality, ours, strict=True):
        each = [
            np.prod([
                probabilities(q[i] - q[j], cuts, scale=np.exp(spread * x))[k] for i, j, k in rows
            ])
            for x in line
        ]  # fmt: skip
        assert result == pytest.approx(np.log(weight @ each / weight.sum()), abs=0.005)


def test_agreement_with_the_others_knows_strengths():
    """Qualities that are certain: shares and scores come from the probabilities alone."""
    cuts, mean = [0.4, 1.2], np.array([1.0, 0.0, -0.5])
    rows = own_rows([(0, 1, 0), (2, 0, 1), (1, 2, 2)])
    posterior = GaussianPosterior(mean, 1e-12 * np.eye(3), cuts[0], np.array(cuts))
    result = leave_own_out(
        posterior, rows.judge, rows.left, rows.right, rows.grades(2), np.zeros(1, bool)
    )
    each = [probabilities(mean[i] - mean[j], cuts) for i, j in ((0, 1), (2, 0), (1, 2))]
    log = [np.log(p) for p in each]
    deviation = sum(own[k] - p @ own for own, p, k in zip(log, each, (0, 1, 2), strict=True))
    variance = sum(p @ own**2 - (p @ own) ** 2 for own, p in zip(log, each, strict=True))
    assert result.score[0] == pytest.approx(deviation / np.sqrt(variance), rel=1e-3)
    assert result.agreed[0] == 0.5
    sure = [max(p[:2].sum(), p[3:].sum()) / (p[:2].sum() + p[3:].sum()) for p in each[:2]]
    assert result.expected[0] == pytest.approx(np.mean(sure), rel=1e-4)


# Predictive checks.


def test_the_discrepancy_of_strengths_is_a_sum_of_squares(tree):
    draws = PosteriorDraws.from_tree(tree, 3)
    data = observed_answers(tree, np.random.default_rng(1))
    inputs = replicate(data, draws, np.random.default_rng(1))
    for k in range(3):
        total: dict[int, float] = {}
        wide: dict[int, float] = {}
        for r, judge in enumerate(data.table.judge):
            i, j = data.table.left[r], data.table.right[r]
            p = probabilities(draws.quality[k, i] - draws.quality[k, j], list(draws.cuts[k]))
            strength = np.array([2, 1, 0, 1, 2])
            total[judge] = total.get(judge, 0) + data.table.strength[r] - p @ strength
            wide[judge] = wide.get(judge, 0) + p @ strength**2 - (p @ strength) ** 2
        want = sum(total[judge] ** 2 / wide[judge] for judge in total)
        assert inputs.observed_discrepancy.judge_strength[k] == pytest.approx(want)
    assert inputs.observed.judge_strength[0] == pytest.approx(
        [data.table.strength[data.table.judge == judge].mean() for judge in range(3)]
    )


def simulated(tree: DataTree, number: int, strong: int) -> pd.DataFrame:
    """Answers by the mean of a posterior, of four judges; `strong` of them have near cuts."""
    rng = np.random.default_rng(7)
    table = judgements(number, judges=4, seed=8)
    quality, cuts = (
        tree[f"posterior/{name}"].mean(("chain", "draw")).to_numpy() for name in ("quality", "cut")
    )
    answers = []
    for row in table.itertuples():
        scale = 0.3 if int(row.judge[1:]) < strong else 1.0
        gap = quality[ITEMS.index(row.item_1)] - quality[ITEMS.index(row.item_2)]
        p = probabilities(gap, list(cuts), scale=scale)
        answers.append(WORDS[rng.choice(5, p=p)])
    return table.assign(answer=answers)


def test_checks_notice_judges_who_choose_strongly(tree):
    alike, differing = (
        {
            check.key: check
            for check in predictive_checks(graded_tree(read(own), draws=200), draws=200)
        }
        for own in (simulated(tree, 400, 0), simulated(tree, 400, 1))
    )
    assert alike["judge_strength"].p > 0.01
    assert alike["strength"].p > 0.01
    assert differing["judge_strength"].p < 0.01
    assert {"ties", "judges", "agreement", "wins"} <= alike.keys()


# Halves of judges, and answers left out.


def test_halves_of_judges_are_fitted_with_their_grades(tree):
    comparisons = read(simulated(tree, 240, 0))
    model = build_model(comparisons)
    record = judgement_record(model, comparisons)
    scales = Scales(0.5, 0.5)
    graded = split_half(without_terms(model), record, splits=3, scales=scales)
    plain = replace(model, counts=model.counts.ungraded(), step=())
    coarse = split_half(plain, record, splits=3, scales=scales)
    assert graded.reliability != pytest.approx(coarse.reliability, abs=1e-6)
    assert graded.reliability > 0.5


def test_answers_are_alike_only_if_as_strong(tree, table):
    record = JudgementRecord.from_tree(tree)
    removable = Removable.answers(record, ties=True, sided=False)
    pairs = [
        (*sorted(pair), word if pair[0] < pair[1] else WORDS[4 - WORDS.index(word)])
        for *pair, word in table[["item_1", "item_2", "answer"]].to_numpy().tolist()
    ]
    assert len(removable.capacity) == len(set(pairs))
    draws = PosteriorDraws.from_tree(tree)
    first = [pairs.index(pairs[np.flatnonzero(removable.column == k)[0]]) for k in range(3)]
    want = np.log(written_out(tree, table))[:, first]
    assert removable.log_likelihood(draws, np.arange(3)) == pytest.approx(want)


def test_the_table_of_answers_left_out_has_their_grades(tree, table):
    record = JudgementRecord.from_tree(tree)
    removable = Removable.answers(record, ties=True, sided=False)
    amounts = np.zeros_like(removable.capacity)
    amounts[removable.column[0]] = 1
    mean = np.array([0.8, 0.1, -0.2, -0.7])
    conclusion = Conclusion.highest(mean, 1)
    removal = Removal(amounts, Contrast(1, 0))
    finding = fragility(conclusion, removal, removable, ITEMS, 5)
    rows = removal_table(finding, removal, removable, ITEMS)
    assert rows["grade"].tolist() == [str(abs(WORDS.index(table["answer"][0]) - 2))]


def test_own_answers_come_with_their_strengths(tree):
    record = JudgementRecord.from_tree(tree)
    parts = dict(own_answers(record, ties=True))
    for judge, answer in product(parts, (0, 2)):
        own = parts[judge].table
        assert (own.strength[own.answer == answer] >= 1).all()
