"""Infit, outfit and influence: what they are, how good judges fare, and that bad ones stand out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from xarray import DataTree, open_datatree

from support.everyday import everyday, thorough
from support.panel import BAD, crowd, fitted, network
from support.reference_formulas import assert_normal_scores, rao_kupper_probabilities
from tiewise.criticism.judge_fit import COLUMNS, item_fit, judge_fit, judge_table
from tiewise.criticism.judge_influence import (
    PosteriorWithoutJudge,
    QualitySummary,
    influence,
    leave_each_judge_out,
    restrict_to_judges,
)
from tiewise.data.comparisons import Comparisons
from tiewise.data.counts import Counts
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.build import build_model
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, random_pairs
from tiewise.model.term_options import TermOptions
from tiewise.model.terms import Groups, Order, Sharpness, Thresholds
from tiewise.posterior.fit import fit
from tiewise.posterior.judgement_record import JudgementRecord, JudgementTable
from tiewise.posterior.predictions import PosteriorDraws, StratumDraws, tail_probability
from tiewise.posterior.tree import attach_record, judgement_record, rebuild_model


def rows(left: list[int], right: list[int], outcome: list[int]) -> JudgementTable:
    size = len(left)
    return JudgementTable(
        np.zeros(size, int), np.array(left), np.array(right), np.array(outcome),
        np.zeros(size, bool), np.full(size, np.nan),
    )  # fmt: skip


# The figures, by hand.


def test_infit_and_outfit_are_those_of_the_formula():
    """Two pairs at one certain draw, every chance written out."""
    quality, tie = (1.0, 0.0, -0.5), 0.4
    sure = PosteriorDraws(np.array([quality] * 4), np.full(4, tie))
    own = rows([0, 1], [1, 2], [2, 1])
    result = judge_fit(
        PosteriorWithoutJudge(0, sure, np.full(4, 0.25), 0.0, False), own, np.random.default_rng(1)
    )
    squares, variances = [], []
    for left, right, worth in ((0, 1, 0.0), (1, 2, 0.5)):
        probability = rao_kupper_probabilities(quality[left], quality[right], tie)
        mean = probability["first"] + probability["tie"] / 2
        squares.append((worth - mean) ** 2)
        variances.append(
            sum(
                probability[answer] * (value - mean) ** 2
                for answer, value in (("first", 1), ("tie", 0.5), ("second", 0))
            )
        )
    assert result.infit == pytest.approx(sum(squares) / sum(variances))
    assert result.outfit == pytest.approx(np.mean(np.array(squares) / variances))


def test_without_ties_infit_is_that_of_rasch():
    """Residuals over binomial variances, as comparative judgement has always had it."""
    gap = np.array([0.3, -1.2, 2.0])
    sure = PosteriorDraws(np.array([[*gap, 0.0]] * 3), np.zeros(3))
    own = rows([0, 1, 2], [3, 3, 3], [0, 0, 2])
    result = judge_fit(
        PosteriorWithoutJudge(0, sure, np.full(3, 1 / 3), 0.0, False), own, np.random.default_rng(1)
    )
    p = 1 / (1 + np.exp(-gap))
    rest = np.array([1.0, 1.0, 0.0]) - p
    assert result.infit == pytest.approx((rest**2).sum() / (p * (1 - p)).sum())
    assert result.outfit == pytest.approx((rest**2 / (p * (1 - p))).mean())


def test_a_tail_counts_equal_values_half():
    assert tail_probability(np.array([1.0, 2.0, 2.0, 3.0]), 2.0) == pytest.approx((1 + 1 + 0.5) / 5)


def test_terms_of_strata_enter_as_the_formula_has_them():
    """± a (λ + contrast − λ' − contrast' + κ) − δ for every stratum, written out."""
    terms = StratumDraws(
        group=np.array([0, 1]),
        contrast=np.array([[[0.2, -0.2], [-0.2, 0.2]]]),
        advantage=np.array([[0.3, 0.6]]),
        sharpness=np.array([[1.5, 0.5]]),
        threshold=np.array([[0.4, 0.9]]),
    )
    result = PosteriorDraws(np.array([[1.0, -0.5]]), np.array([0.7]), terms).answer_probabilities(
        np.array([0, 1]), np.array([1, 0]), np.array([0, 1])
    )
    gaps = (1.5 * (1.5 + 0.4 + 0.3), 0.5 * (-1.5 + 0.4 + 0.6))
    for k, (gap, tie) in enumerate(zip(gaps, (0.4, 0.9), strict=True)):
        by_hand = list(rao_kupper_probabilities(gap, 0.0, tie).values())
        assert result[:, 0, k] == pytest.approx(by_hand)


def test_terms_are_read_from_a_posterior_and_need_a_stratum(village):
    tree = fit(village.model, rng=1)
    size = tree["posterior/tie"].shape
    posterior = (
        tree["posterior"]
        .to_dataset()
        .assign(order=(("chain", "draw", "advantage"), np.full((*size, 1), 0.25)))
    )
    tree["posterior"] = DataTree(posterior)
    with pytest.raises(InputError, match="advantage_of_stratum"):
        PosteriorDraws.from_tree(tree)
    constant = (
        tree["constant_data"]
        .to_dataset()
        .assign(advantage_of_stratum=(("stratum", "advantage"), np.array([[1.0], [0.0]])))
    )
    tree["constant_data"] = DataTree(constant)
    draws = PosteriorDraws.from_tree(tree, 10)
    assert draws.terms.advantage == pytest.approx(np.tile([0.25, 0.0], (10, 1)))
    with pytest.raises(InputError, match="who was asked"):
        draws.answer_probabilities(np.array([0]), np.array([1]))


def test_infit_of_a_model_with_terms_is_that_of_the_judges_stratum():
    """Two pairs at one certain draw of a judge with a sharpness and a threshold, written out."""
    quality, sharp, tie = (1.0, 0.0, -0.5), 0.6, 0.9
    terms = StratumDraws(
        sharpness=np.tile([2.0, sharp], (4, 1)), threshold=np.tile([0.1, tie], (4, 1))
    )
    sure = PosteriorDraws(np.array([quality] * 4), np.full(4, 0.4), terms)
    own = rows([0, 1], [1, 2], [2, 1])
    result = judge_fit(
        PosteriorWithoutJudge(0, sure, np.full(4, 0.25), 0.0, False), own,
        np.random.default_rng(1), stratum=np.array([1, 1]),
    )  # fmt: skip
    squares, variances = [], []
    for left, right, worth in ((0, 1, 0.0), (1, 2, 0.5)):
        p = rao_kupper_probabilities(sharp * quality[left], sharp * quality[right], tie)
        mean = p["first"] + p["tie"] / 2
        squares.append((worth - mean) ** 2)
        variances.append(p["first"] + p["tie"] / 4 - mean**2)
    assert result.infit == pytest.approx(sum(squares) / sum(variances))
    assert result.outfit == pytest.approx(np.mean(np.array(squares) / variances))


# Good judges, and bad ones.


@pytest.fixture(scope="module")
def mixed() -> pd.DataFrame:
    """Four bad judges among fifteen good ones, as in the live issue."""
    prior = network(60)
    _, comparisons = crowd(prior, np.random.default_rng(11), good=15, bad=BAD)
    table = judge_table(*fitted(comparisons, prior), rng=2)
    return table.assign(kind=table["judge"].str.split().str[0])


def test_bad_judges_stand_out_from_good_ones(mixed):
    """The careless have a larger infit than any good judge; who always ties, a smaller one."""
    good = mixed[mixed["kind"] == "good"]["infit"]
    bad = mixed[mixed["kind"] != "good"].set_index("kind")["infit"]
    assert (bad[["random", "left", "reversed"]] > good.max()).all()
    assert bad["tie"] < good.min()


def test_the_table_has_every_figure_and_flagged_judges_first(mixed):
    assert list(mixed.columns) == [*COLUMNS, "kind"]
    assert len(mixed) == 19
    flagged = mixed["flags"] != ""
    assert flagged.any()
    assert not flagged[flagged.sum() :].any()


def good_judges(repeats: int, seed: int) -> pd.DataFrame:
    prior, tables = network(40), []
    for k in range(repeats):
        _, comparisons = crowd(prior, np.random.default_rng([seed, k]), good=10, each=40)
        model, tree = fitted(comparisons, prior, draws=1000, seed=k)
        tables.append(judge_table(model, tree, rng=k))
    return pd.concat(tables)


def scores_of_one(values: pd.Series, groups: int) -> float:
    """How far a mean is from 1, in standard errors over studies, whose judges share a fit."""
    means = values.to_numpy().reshape(groups, -1).mean(axis=1)
    return float((means.mean() - 1) / (means.std(ddof=1) / np.sqrt(groups)))


@pytest.mark.slow
def test_infit_and_outfit_of_good_judges_centre_on_one_and_p_values_are_uniform():
    table = good_judges(24, 7)
    assert_normal_scores(np.array([scores_of_one(table[name], 24) for name in ("infit", "outfit")]))
    for name in ("infit_p", "outfit_p"):
        assert stats.kstest(table[name], "uniform").pvalue > 1e-3


TERMS = {
    "sharpness": (Sharpness(variance=Fixed(0.3)),),
    "thresholds": (Thresholds(variance=Fixed(0.5)),),
    "order": (Order(variance=Fixed(0.5)),),
    "groups": (Groups(GROUPS := {f"j{k}": "ab"[k % 2] for k in range(8)}, variance=Fixed(0.5)),),
}


def study_with_terms(name: str, seed: int, draws: int = 1000):
    """Eight judges of thirty answers each, from the model with these terms itself."""
    rng, items = np.random.default_rng([29, seed]), tuple("abcdefghij")
    first, second = random_pairs(len(items), 240, rng)
    judge = np.repeat(np.arange(8), 30)
    empty = Counts.of(
        items, first, second, np.ones(240, int), np.zeros(240, int), stratum=judge,
        strata=tuple(GROUPS), ordered=name == "order",
    )  # fmt: skip
    priors = {"variance": Fixed(1.5), "tie": Fixed(0.5)}
    unjudged = BradleyTerry(empty, Independent(items), **priors, terms=TERMS[name])
    truth = Truth.from_model(unjudged, rng)
    at = truth.terms
    sharp = at["sharpness"][judge] if name == "sharpness" else 1.0
    tie = at["threshold"][judge] if name == "thresholds" else truth.tie
    quality = np.repeat(truth.quality[None], 2, axis=0)
    if name == "groups":
        quality = quality + at["contrast"]
    gap = quality[judge % 2, first] - quality[judge % 2, second]
    gap = gap + (at["order"][0] if name == "order" else 0.0)
    win, lose = 1 / (1 + np.exp(tie - sharp * gap)), 1 / (1 + np.exp(tie + sharp * gap))
    uniform = rng.uniform(size=240)
    answer = (uniform >= win).astype(int) + (uniform >= 1 - lose)
    names = np.array(items)
    data = Comparisons.from_columns(
        first=names[first], second=names[second],
        outcome=np.array(["first", "tie", "second"])[answer], judge=[f"j{k}" for k in judge],
    )  # fmt: skip
    counts = data.counts(by="judge", ordered=name == "order")
    model = BradleyTerry(counts, Independent(items), **priors, terms=TERMS[name])
    tree = fit(model, Transport(draws=draws), rng=seed)
    attach_record(tree, model, data)
    return model, tree


@pytest.mark.slow
@pytest.mark.parametrize("name", thorough(TERMS, "sharpness", "order", "groups"))
def test_infit_centres_on_one_for_judges_from_a_model_with_terms(name):
    """Judges left out, their own terms unknown; and p-values are uniform."""
    tables = [judge_table(*study_with_terms(name, k), rng=k) for k in range(12)]
    table = pd.concat(tables)
    assert len(table) == 96
    assert_normal_scores(np.array([scores_of_one(table["infit"], 12)]))
    assert stats.kstest(table["infit_p"], "uniform").pvalue > 1e-3


@pytest.mark.parametrize("name", everyday(TERMS, "order"))
def test_a_model_with_terms_is_put_together_again(name, tmp_path):
    """From its file: the same counts, terms and record."""
    model, tree = study_with_terms(name, 1, draws=200)
    tree.to_netcdf(tmp_path / "posterior.nc", engine="h5netcdf")
    back = open_datatree(tmp_path / "posterior.nc", engine="h5netcdf")
    again = rebuild_model(back)
    assert again.counts.digest() == model.counts.digest()
    assert again.counts.ordered == model.counts.ordered
    assert [type(term) for term in again.terms] == [type(term) for term in model.terms]
    assert np.array_equal(again.design.group, model.design.group)
    assert np.array_equal(again.design.advantage_values, model.design.advantage_values)
    record = JudgementRecord.from_tree(back)
    assert np.array_equal(record.stratum, record.judgements.judge)


@pytest.mark.slow
def test_nearly_all_bad_judges_stand_out_and_hardly_a_good_one():
    """By infit alone; flags on ties, sides and misfit come on top (docs/scrutiny.md)."""
    prior, tables = network(60), []
    for k in range(10):
        _, comparisons = crowd(prior, np.random.default_rng([13, k]), good=15, bad=BAD)
        tables.append(judge_table(*fitted(comparisons, prior, seed=k), rng=k))
    table = pd.concat(tables)
    kind = table["judge"].str.split().str[0]
    odd = (table["infit_p"] < 0.05) | (table["infit_p"] > 0.99)
    assert odd[kind != "good"].mean() >= 0.8
    assert odd[kind == "good"].mean() <= 0.08


@pytest.mark.slow
def test_items_centre_on_one_too():
    """Averaged over draws of the model that made the answers: own answers draw nothing below 1."""
    prior, means = network(20), []
    for k in range(12):
        _, comparisons = crowd(prior, np.random.default_rng([17, k]), good=5, each=60, variance=1.0)
        model = BradleyTerry(comparisons.counts(), prior, variance=Fixed(1.0), tie=Fixed(0.5))
        table = item_fit(fit(model, Transport(draws=500), rng=k), rng=k)
        means.append(table[["infit", "outfit"]].mean().to_numpy())
    result = np.array(means)
    error = result.std(axis=0, ddof=1) / np.sqrt(len(result))
    assert_normal_scores((result.mean(axis=0) - 1) / error)


def test_an_item_that_was_never_compared_has_no_fit(village):
    comparisons = Comparisons.from_columns(
        first=["ash"], second=["oak"], outcome=["first"], judge=["a"]
    )
    model = BradleyTerry(comparisons.counts(), village.model.prior, variance=Fixed(1.0))
    table = item_fit(fit(model, rng=1)).set_index("item")
    assert table.loc[["ash", "oak"], "infit"].notna().all()
    assert table.drop(["ash", "oak"])["infit"].isna().all()


# Influence.


@pytest.fixture(scope="module")
def small():
    """Twelve judges of thirty comparisons of twelve items."""
    prior = Independent(tuple("abcdefghijkl"))
    _, comparisons = crowd(prior, np.random.default_rng(19), good=12, each=30, variance=1.0)
    model, tree = fitted(comparisons, prior, draws=8000)
    return model, tree, JudgementRecord.from_comparisons(comparisons, model.items)


@pytest.mark.slow
def test_weights_and_refits_tell_the_same_story(small):
    """Means of quality without each judge, judged by Monte Carlo errors of both ways."""
    model, tree, record = small
    weighted = leave_each_judge_out(model, tree, record, rng=3, trusted=0.5)
    again = leave_each_judge_out(model, tree, record, rng=3, trusted=0.0)
    scores = []
    for one, two in zip(weighted, again, strict=True):
        assert two.refitted
        assert one.judge == two.judge
        if one.refitted:
            continue
        here, there = (
            QualitySummary.from_draws(one.draws, one.weight),
            QualitySummary.from_draws(two.draws, two.weight),
        )
        sizes = 1 / (one.weight**2).sum(), len(two.weight)
        error = there.sd * np.sqrt(1 / sizes[0] + 1 / sizes[1])
        scores.append((here.mean - there.mean) / error)
    assert len(scores) >= 6
    assert_normal_scores(np.array(scores))


def test_weights_that_cannot_be_trusted_are_not_used(mixed):
    assert (mixed["refitted"] == (mixed["k_hat"] > 0.7)).all()


def test_influence_is_in_standard_deviations_and_names_whom_it_moves():
    whole = QualitySummary(
        np.array([0.0, 1.0, -1.0]), np.array([0.5, 0.5, 0.25]), np.array([2, 1, 3])
    )
    less = QualitySummary(np.array([0.0, 0.5, -0.5]), np.full(3, 0.9), np.array([2, 2, 3]))
    result = influence(whole, less)
    assert result.shift == pytest.approx(np.sqrt((0 + 1 + 4) / 3))
    assert (result.most, result.item, result.moved) == (pytest.approx(-2.0), 2, 1)


def test_who_turns_everything_round_moves_the_results_most(mixed):
    assert mixed.set_index("kind")["influence"].idxmax() == "reversed"


# Where judges come from.


def test_a_record_survives_the_file(tmp_path, small):
    _, tree, record = small
    tree.to_netcdf(tmp_path / "posterior.nc", engine="h5netcdf")
    back = open_datatree(tmp_path / "posterior.nc", engine="h5netcdf")
    again = JudgementRecord.from_tree(back)
    assert again.judges == record.judges
    assert again.has_sides == record.has_sides
    for one, two in zip(again.judgements, record.judgements, strict=True):
        assert (one is None and two is None) or np.array_equal(
            one, two, equal_nan=one.dtype.kind == "f"
        )


def test_a_model_is_put_together_again(village):
    """Prior, beliefs and counts: the log prior and likelihood of the rebuilt one are the same."""
    comparisons = Comparisons.from_columns(
        first=["ash", "oak"], second=["oak", "yew"], outcome=["first", "tie"], judge=["a", "b"]
    )
    model = BradleyTerry(comparisons.counts(), village.model.prior, variance=Fixed(2.0))
    tree = fit(model, rng=1)
    attach_record(tree, model, comparisons)
    again = rebuild_model(tree)
    assert again.counts.digest() == model.counts.digest()
    assert (again.variance, again.tie) == (model.variance, model.tie)
    assert np.allclose(again.factor @ again.factor.T, model.factor @ model.factor.T)


def test_the_same_answers_again_count_as_consistent():
    """Four pairs asked twice by one judge, sides exchanged, three of them answered alike."""
    comparisons = Comparisons.from_columns(
        first=["a", "b", "c", "d", "b", "c", "d", "a", "a"],
        second=["b", "c", "d", "a", "a", "b", "c", "d", "c"],
        outcome=["first", "tie", "first", "second", "second", "tie", "second", "second", "first"],
        judge=["x"] * 8 + ["y"],
    )
    model, tree = fitted(comparisons, Independent(), draws=400)
    table = judge_table(model, tree).set_index("judge")
    assert table.loc["x", "repeats"] == 4
    assert table.loc["x", "consistency"] == 0.75


def test_judges_must_be_named():
    comparisons = Comparisons.from_columns(
        first=["a", "b"], second=["b", "c"], outcome=["first", "tie"]
    )
    model, tree = fitted(comparisons, Independent(), draws=400)
    with pytest.raises(InputError, match="name no judges"):
        judge_table(model, tree)


def test_one_judge_has_nobody_to_be_set_against():
    comparisons = Comparisons.from_columns(
        first=["a", "b"], second=["b", "c"], outcome=["first", "tie"], judge=["x", "x"]
    )
    with pytest.raises(InputError, match="one judge"):
        judge_table(*fitted(comparisons, Independent(), draws=400))


def test_where_the_chosen_one_always_comes_first_no_side_is_blamed():
    """A file of winners and losers says nothing of sides: no share, and no flag for it."""
    rng = np.random.default_rng(4)
    pairs = np.array([rng.choice(list("abcdef"), 2, replace=False) for _ in range(120)])
    comparisons = Comparisons.from_columns(
        first=pairs[:, 0], second=pairs[:, 1], outcome=["first"] * 120, judge=["x", "y", "z"] * 40
    )
    model, tree = fitted(comparisons, Independent(), draws=400)
    record = JudgementRecord.from_tree(tree)
    assert not record.has_sides
    assert record.counts(model.items, np.ones(3, bool)).digest() == model.counts.digest()
    table = judge_table(model, tree)
    assert table["left_share"].isna().all()
    assert not table["flags"].str.contains("left|right").any()


# Strata.


STRATA = {
    "nobody apart": {},
    "judges": {"sharpness": True},
    "order": {"order": True},
    "groups": {"judge_groups": "sex"},
    "groups and judges": {"judge_groups": "sex", "thresholds": True},
    "a table of judges": {
        "judge_groups": "town",
        "judges": {"judge": ["x", "y", "z"], "town": ["a", "b", "a"]},
    },
    "waves": {"waves": "year"},
    "waves and judges": {"waves": "year", "sharpness": True, "order": True},
    "advantage": {"advantage": "home"},
    "advantage and judges": {"advantage": "home", "sharpness": True, "judge_groups": "sex"},
    "groups by group": {"judge_groups": "sex", "sharpness": "by-group", "order": "by-group"},
}


@pytest.mark.parametrize("name", STRATA)
def test_a_record_knows_the_stratum_of_every_judgement(name):
    """Counted again from the record, the judgements are those that the model counted."""
    rng = np.random.default_rng(23)
    judge = rng.choice(["x", "y", "z"], 90)
    pairs = np.array([rng.choice(list("abcd"), 2, replace=False) for _ in range(90)])
    data = Comparisons.from_columns(
        first=pairs[:, 0], second=pairs[:, 1], judge=judge,
        outcome=rng.choice(["first", "tie", "second", "skip"], 90),
        sex=np.where(judge == "z", "women", "men"), year=rng.choice(["2019", "2024"], 90),
        home=rng.choice(["-1", "0", "1"], 90),
    )  # fmt: skip
    model = build_model(data, **STRATA[name])
    record = judgement_record(model, data, TermOptions(**STRATA[name]))
    again = restrict_to_judges(model, record, np.ones(3, bool))
    assert again.counts.digest() == model.counts.digest()
    assert (record.stratum is None) == (name in ("nobody apart", "order"))
