"""Leave-one-out against integrals and refits, and models whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature

import numpy as np
import pytest

from support.everyday import everyday
from support.panel import crowd, network
from support.reference_formulas import (
    assert_normal_scores,
    rao_kupper_probabilities,
    repeated,
    tally,
)
from tiewise.criticism import leave_one_out as leave_one_out_module
from tiewise.criticism.leave_one_out import answer_rows, data_digest, leave_one_out
from tiewise.criticism.model_comparison import clustered_error, compare, compare_results
from tiewise.data.comparisons import read_comparisons
from tiewise.data.counts import Counts
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.build import build_model
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.term_options import TermOptions
from tiewise.posterior.fit import fit
from tiewise.posterior.results_folder import Results, read_results, write_results_folder
from tiewise.posterior.tree import attach_record

ANSWERS = repeated((0, 1, 5, 2, 1), (1, 2, 3, 3, 0), (0, 2, 4, 0, 1))
TIE, VARIANCE = 0.5, 1.0


def exact_scores() -> dict[tuple[int, int, str], float]:
    """Log score of each kind of judgement, left out once, by a grid over both differences."""
    line = np.linspace(-6, 6, 241)
    one, two = np.meshgrid(line, line, indexing="ij")  # quality 0 and 1, less quality 2
    level = (one + two) / 3  # quality 2 integrated out: what is left of three standard normals
    weight = np.exp(-(one**2 + two**2 - 3 * level**2) / (2 * VARIANCE))
    quality = (one, two, np.zeros_like(one))
    log = {}
    for i, j in ((0, 1), (1, 2), (0, 2)):
        table = [
            rao_kupper_probabilities(a, b, TIE)
            for a, b in zip(quality[i].flat, quality[j].flat, strict=True)
        ]
        for answer in ("first", "tie", "second"):
            log[i, j, answer] = np.log([row[answer] for row in table]).reshape(one.shape)
    total = sum(log[judgement] for judgement in ANSWERS)
    scores = {}
    for judgement in set(ANSWERS):
        others = weight * np.exp(total - log[judgement])
        scores[judgement] = float(np.log((others * np.exp(log[judgement])).sum() / others.sum()))
    return scores


def three(draws: int = 8000) -> BradleyTerry:
    counts = Counts.of(("a", "b", "c"), **tally(ANSWERS))
    return BradleyTerry(counts, Independent(), variance=Fixed(VARIANCE), tie=Fixed(TIE))


@pytest.mark.slow
def test_leave_one_out_is_that_of_exact_integration():
    """Each row's score beside the integral, in Monte Carlo standard errors of twelve fits."""
    exact = exact_scores()
    result = [leave_one_out(fit(three(), Transport(draws=2000), rng=k)) for k in range(12)]
    scores = np.array([one.elpd_i.to_numpy() for one in result])
    rows = answer_rows(fit(three(), Transport(draws=200), rng=1))
    words = ("first", "tie", "second")
    kinds = [
        (int(i), int(j), words[a]) for i, j, a, _, n in zip(*rows, strict=True) for _ in range(n)
    ]
    expected = np.array([exact[kind] for kind in kinds])
    error = scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
    # Twelve fits give the error itself eleven degrees of freedom; 1e-3 allows for PSIS's own bias.
    assert (np.abs(scores.mean(axis=0) - expected) < 6 * error + 1e-3).all()


@pytest.mark.slow
def test_leave_one_out_is_that_of_refitting(village):
    """The village with one judgement less, row by row, fitted again."""
    tree = fit(village.model, Transport(draws=4000), rng=3)
    quick = leave_one_out(tree).elpd_i.to_numpy()
    rows, scores, start = answer_rows(tree), [], 0
    for first, second, answer, _, times in zip(*rows, strict=True):
        counts = village.model.counts
        less = [np.array(column) for column in (counts.wins_first, counts.ties, counts.wins_second)]
        row = int(np.flatnonzero((counts.first == first) & (counts.second == second))[0])
        less[answer][row] -= 1
        fewer = Counts.of(counts.items, counts.first, counts.second, less[0], less[2], less[1])
        again = fit(replace(village.model, counts=fewer), Transport(draws=4000), rng=5)
        quality = again["posterior/quality"].to_numpy().reshape(-1, len(counts.items))
        tie = again["posterior/tie"].to_numpy().ravel()
        word = ("first", "tie", "second")[answer]
        p = np.array([
            rao_kupper_probabilities(q[first], q[second], t)[word]
            for q, t in zip(quality, tie, strict=True)
        ])  # fmt: skip
        error = p.std() / np.sqrt(len(p)) / p.mean()
        # Draws of both ways err alike.
        scores.append((quick[start] - np.log(p.mean())) / (np.sqrt(2) * error))
        start += times
    assert_normal_scores(np.array(scores))


def test_even_weights_need_no_smoothing(village, monkeypatch):
    """Taken as they are, they give the score that smoothing gives, but for far less than a unit."""
    tree = fit(village.model, Transport(draws=4000), rng=3)
    quick = leave_one_out(tree)
    monkeypatch.setattr(leave_one_out_module, "LOG_WEIGHT_RANGE", 0.0)
    smoothed = leave_one_out(tree)
    assert (quick.pareto_k == 0).any()
    assert abs(quick.elpd - smoothed.elpd) < 0.01 * quick.se
    assert np.abs(quick.elpd_i - smoothed.elpd_i).max() < 2e-3


def test_rows_count_as_often_as_they_occur():
    """Ten judgements of one kind are one row, and ten entries of the same score."""
    tree = fit(three(), Transport(draws=400), rng=1)
    rows, result = answer_rows(tree), leave_one_out(tree)
    assert len(rows.times) == len(set(ANSWERS))
    assert rows.times.sum() == len(ANSWERS) == result.n_data_points
    start = 0
    for times in rows.times:
        assert np.ptp(result.elpd_i.to_numpy()[start : start + times]) == 0
        start += times


def test_a_digest_does_not_depend_on_how_a_model_sorts_judgements():
    """Strata and sides are the model's business; another judgement is not."""
    columns = {key: np.array(value) for key, value in tally(ANSWERS).items()}
    plain = fit(three(), Transport(draws=200), rng=1)
    turned = {
        "first": columns["second"], "second": columns["first"], "ties": columns["ties"],
        "wins_first": columns["wins_second"], "wins_second": columns["wins_first"],
    }  # fmt: skip
    stratum = np.arange(len(ANSWERS)) % 2
    counts = Counts.of(("a", "b", "c"), **turned, stratum=stratum, strata=("x", "y"), ordered=True)
    sorted_otherwise = fit(replace(three(), counts=counts), Transport(draws=200), rng=1)
    assert data_digest(plain) == data_digest(sorted_otherwise)
    less = Counts.of(("a", "b", "c"), **{key: value[1:] for key, value in columns.items()})
    other = fit(replace(three(), counts=less), Transport(draws=200), rng=1)
    assert data_digest(plain) != data_digest(other)


def differences(truth_prior, repeats: int, seed: int) -> np.ndarray:
    """Score with the network prior less that with the independent one, study by study."""
    # The paper's prior, which is wrong where neighbours are not alike; a learned share is not.
    near, out = network(40), []
    for k in range(repeats):
        _, data = crowd(truth_prior(near), np.random.default_rng([seed, k]), good=10, each=30)
        scores = []
        for prior in (near, Independent(near.items)):
            tree = fit(BradleyTerry(data.counts(), prior), Transport(draws=1000), rng=k)
            scores.append(leave_one_out(tree).elpd)
        out.append(scores[0] - scores[1])
    return np.array(out)


@pytest.mark.slow
def test_the_right_prior_wins_when_the_truth_is_known():
    """Neighbours alike, or not: in most studies, and clearly over all of them."""
    alike = differences(lambda near: near, 12, 1)
    alone = differences(lambda near: Independent(near.items), 12, 2)
    for result in (alike, -alone):
        assert (result > 0).mean() > 0.7
        assert result.mean() > 3 * result.std(ddof=1) / np.sqrt(len(result))


def test_results_of_different_judgements_are_refused(village, tmp_path):
    one = write_results_folder(fit(village.model, Transport(draws=200), rng=1), tmp_path / "one")
    less = village.model.counts.without_ties()
    tree = fit(replace(village.model, counts=less), Transport(draws=200), rng=1)
    two = write_results_folder(tree, tmp_path / "two")
    with pytest.raises(InputError, match="different judgements"):
        compare_results([one, two])


def test_a_clear_winner_is_told_so_and_the_table_is_arviz_own(village):
    from arviz_stats import compare as arviz_compare

    flat = replace(village.model, variance=Fixed(0.01))
    trees = {"free": fit(village.model, rng=1), "flat": fit(flat, rng=1)}
    result = compare(trees)
    assert list(result.table["model"]) == ["free", "flat"]
    assert "free predicts better than flat, and clearly so" in result.sentences[0]
    exact = {"round_to": "none"} if "round_to" in signature(arviz_compare).parameters else {}
    theirs = arviz_compare({name: leave_one_out(tree) for name, tree in trees.items()}, **exact)
    assert np.allclose(result.table["elpd"], theirs["elpd"])
    assert np.allclose(result.table["difference_se"], theirs["dse"])
    each = [leave_one_out(tree).elpd_i.to_numpy() for tree in trees.values()]
    gap = each[1] - each[0]
    assert result.table["difference"].iloc[1] == pytest.approx(gap.sum())


def test_models_that_hardly_differ_are_told_so(village):
    trees = {str(k): fit(village.model, rng=k) for k in (1, 2)}
    assert "about equally well" in compare(trees).sentences[0]


def test_one_model_is_no_comparison(village):
    with pytest.raises(InputError, match="two results folders"):
        compare({"one": fit(village.model, Transport(draws=200), rng=1)})


def test_a_point_estimate_is_refused(village):
    trees = {"a": fit(village.model, MaximumLikelihood()), "b": fit(village.model, rng=1)}
    with pytest.raises(InputError, match="no draws"):
        compare(trees)


def test_folders_of_the_same_name_keep_their_paths(village, tmp_path):
    tree = fit(village.model, Transport(draws=400), rng=1)
    folders: list[Results] = []
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        write_results_folder(tree, tmp_path / place / "results")
        folders.append(read_results(tmp_path / place / "results"))
    assert set(compare_results(folders).table["model"]) == {str(one.folder) for one in folders}
    with pytest.raises(InputError, match="twice"):
        compare_results([folders[0], folders[0]])


# Judges.


def test_a_clustered_error_is_that_of_as_many_sums():
    """The textbook's: judges times the variance of their sums, whatever is inside them."""
    sums = [4.0, -1.0, 0.5, 9.5]
    mean = sum(sums) / 4
    variance = sum((s - mean) ** 2 for s in sums) / 3
    assert clustered_error(sums) == pytest.approx((4 * variance) ** 0.5)
    assert np.isnan(clustered_error([1.0]))


def judged_fits(**options):
    """A crowd, with its scores judgement by judgement worked out by a dictionary."""
    prior = network(12)
    _, comparisons = crowd(prior, np.random.default_rng(6), good=5, bad=("tie",), each=30)
    trees = {}
    for name, more in (("plain", {}), ("other", options)):
        model = build_model(comparisons, **more)
        trees[name] = fit(model, Transport(draws=400), rng=2)
        attach_record(trees[name], model, comparisons, TermOptions(**more))
    return comparisons, trees


def sums_by_judge(comparisons, tree, by_judge: bool, ordered: bool) -> dict[str, float]:
    """Each judge's scores, looked up row by row of the file."""
    rows, scores = answer_rows(tree), leave_one_out(tree).elpd_i.to_numpy()
    items = list(tree["constant_data/item"].to_numpy())
    table, start = {}, 0
    for first, second, answer, stratum, times in zip(*rows, strict=True):
        table[first, second, answer, stratum] = scores[start]
        start += times
    judges, total = sorted(comparisons.judges), dict.fromkeys(comparisons.judges, 0.0)
    codes = {"first": 0, "tie": 1, "second": 2}
    for row in comparisons.rows().itertuples():
        one, two, answer = items.index(row.first), items.index(row.second), codes[row.outcome]
        if not ordered and one > two:
            one, two, answer = two, one, 2 - answer
        stratum = judges.index(row.judge) if by_judge else 0
        total[row.judge] += table[one, two, answer, stratum]
    return total


@pytest.mark.parametrize("term", everyday(["thresholds", "order"], "order"))
def test_errors_are_clustered_by_judge_where_judges_are_known(term):
    comparisons, trees = judged_fits(**{term: True})
    result = compare(trees)
    plain = sums_by_judge(comparisons, trees["plain"], False, False)
    other = sums_by_judge(comparisons, trees["other"], term == "thresholds", term == "order")
    gap = np.array([other[judge] - plain[judge] for judge in plain])
    row = result.table.iloc[1]
    assert abs(row["difference"]) == pytest.approx(abs(gap.sum()))
    assert row["difference_se"] == pytest.approx(np.sqrt(len(gap) * gap.var(ddof=1)))
    assert row["naive_se"] < row["difference_se"] or term == "order"
    assert dict(result.by_judge["plain"]) == pytest.approx(plain)


def test_who_makes_a_difference_alone_is_named():
    """One judge always ties: thresholds are better for that judge, and hardly for another."""
    _, trees = judged_fits(thresholds=True)
    words = " ".join(compare(trees).sentences)
    assert "over 6 judges: too little to be sure" in words
    assert "are of one judge, tie 5" in words
    assert "6 judges are few" in words


def test_choices_alone_are_scored_by_the_probability_of_a_choice():
    """Three items by integration; a model without ties is scored as ever."""
    line = np.linspace(-6, 6, 241)
    one, two = np.meshgrid(line, line, indexing="ij")
    level = (one + two) / 3
    weight = np.exp(-(one**2 + two**2 - 3 * level**2) / (2 * VARIANCE))
    quality = (one, two, np.zeros_like(one))

    def probability(i, j, answer):
        gap = quality[i] - quality[j]
        win, lose = 1 / (1 + np.exp(TIE - gap)), 1 / (1 + np.exp(TIE + gap))
        return {"first": win, "tie": 1 - win - lose, "second": lose}[answer]

    total = np.exp(sum(np.log(probability(*judgement)) for judgement in ANSWERS))
    exact, choices = 0.0, [judgement for judgement in ANSWERS if judgement[2] != "tie"]
    for judgement in choices:
        others = weight * total / probability(*judgement)
        choice = probability(*judgement) / (1 - probability(*judgement[:2], "tie"))
        exact += np.log((others * choice).sum() / others.sum())
    decided = [
        leave_one_out(fit(three(), Transport(draws=2000), rng=k), decided=True) for k in range(12)
    ]
    assert decided[0].n_data_points == len(choices)
    scores = np.array([one.elpd for one in decided])
    error = scores.std(ddof=1) / np.sqrt(len(scores))
    # Twelve fits give the error itself eleven degrees of freedom; 1e-3 allows for PSIS's own bias.
    assert abs(scores.mean() - exact) < 6 * error + 1e-3 * len(choices)
    without = fit(replace(three(), counts=three().counts.without_ties(), tie=None), rng=1)
    assert leave_one_out(without, decided=True).elpd == pytest.approx(leave_one_out(without).elpd)


@pytest.mark.slow
def test_south_yorkshire_is_less_clear_than_its_judgements_make_it(real):
    """Thresholds of judges: +129, 15 if judgements were independent, 79 over 18 judges."""
    comparisons = read_comparisons(real("data/south-yorkshire-comparisons.csv"))
    trees = {}
    for name, more in (("plain", {}), ("thresholds", {"thresholds": True})):
        model = build_model(comparisons, variance=InverseGamma(), tie=Exponential(), **more)
        trees[name] = fit(model, rng=1)
        attach_record(trees[name], model, comparisons)
    row = compare(trees).table.iloc[1]
    assert row["model"] == "plain"
    # PSIS of two fits: log scores are known to a unit or so.
    assert row["difference"] == pytest.approx(-129, abs=3)
    assert row["naive_se"] == pytest.approx(15, abs=1)
    assert row["difference_se"] == pytest.approx(79, abs=2)
