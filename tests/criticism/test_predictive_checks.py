"""Predictive checks: uniform where the model is right, small where it is not."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from support.panel import comparisons, fitted, honest, network
from tiewise.criticism.leave_one_out import leave_one_out
from tiewise.criticism.predictive_checks import Check, checks_table, predictive_checks
from tiewise.criticism.replicates import circular_share
from tiewise.data.comparisons import Comparisons
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, random_pairs
from tiewise.model.terms import Groups, Order, Thresholds
from tiewise.posterior.fit import fit
from tiewise.posterior.predictions import PosteriorDraws
from tiewise.posterior.tree import attach_record
from tiewise.report.model_checks import check_finding

JUDGES = 16


def study(prior, rng, *, order: float = 0.0, spread: float = 0.0, number: int = 800):
    """Judgements by sixteen judges; perhaps they lean left, perhaps their thresholds differ."""
    truth = Truth.from_priors(prior, Fixed(1.5), Fixed(0.5), rng)
    first, second = random_pairs(len(truth.items), number, rng)
    judge = np.arange(number) % JUDGES
    ties = 0.5 * np.exp(spread * rng.normal(size=JUDGES))
    answers = honest(truth, first, second, rng, order=order, tie=ties[judge])
    return comparisons(truth, first, second, answers, np.array([f"judge {k}" for k in judge]))


def p_values(data, prior, seed: int) -> dict[str, float]:
    tree = fitted(data, prior, draws=1000, seed=seed)[1]
    return {check.key: check.p for check in predictive_checks(tree)}


@pytest.fixture(scope="module")
def prior():
    return network(40)


def test_every_check_is_made_where_the_data_allow_it(prior):
    result = p_values(study(prior, np.random.default_rng(3)), prior, 1)
    assert set(result) == {"ties", "judges", "agreement", "triads", "order", "wins"}


@pytest.mark.slow
def test_p_values_are_about_uniform_where_the_model_is_right(prior):
    """Those of sides are uniform; where the fit follows the data, they lean to the middle."""
    result = [p_values(study(prior, np.random.default_rng([5, k])), prior, k) for k in range(40)]
    by_key = {key: np.array([one[key] for one in result]) for key in result[0]}
    assert stats.kstest(by_key["order"], "uniform").pvalue > 1e-3
    for key, values in by_key.items():
        small = int((values < 0.05).sum())
        assert stats.binom.sf(small - 1, len(values), 0.05) > 1e-3, key
        assert 0.3 < values.mean() < 0.7, key


@pytest.mark.parametrize(("fault", "key"), [({"order": 0.6}, "order"), ({"spread": 1.0}, "judges")])
def test_a_wrong_model_is_found_out(prior, fault, key):
    """A lean to the left, or thresholds that differ from judge to judge."""
    result = p_values(study(prior, np.random.default_rng(7), **fault), prior, 2)
    assert result[key] < 0.01


def test_tastes_of_two_kinds_make_circles():
    """Three sorts of items that beat each other in a ring fit no scale."""
    rng = np.random.default_rng(9)
    items = tuple(f"{k:02d}" for k in range(18))
    pairs = np.array(list(combinations(range(18), 2)) * 3)
    kind = pairs % 3
    wins = (kind[:, 1] - kind[:, 0]) % 3
    answers = np.where(wins == 1, 0, np.where(wins == 2, 2, rng.choice([0, 2], len(pairs))))
    truth = Truth(items, np.zeros(18), 0.5, 1.0)
    data = comparisons(truth, *pairs.T, answers, np.array(["x"] * len(pairs)))
    result = {c.key: c for c in predictive_checks(fitted(data, Independent(), draws=1000)[1])}
    assert result["triads"].p < 0.01
    assert result["triads"].observed > result["triads"].high


@pytest.mark.parametrize(("opposed", "term"), [(False, ()), (True, ()), (True, (Groups(),))])
def test_two_camps_of_judges_are_found_out_and_groups_mend_it(opposed, term):
    """Each camp has a scale of its own; together they look like one scale with much noise."""
    rng = np.random.default_rng(31)
    items = tuple("abcdefghijkl")
    scales = rng.normal(0, 2, (2, 12))
    first, second = random_pairs(12, 1200, rng)
    judge = np.arange(1200) % JUDGES
    camp = judge % 2 if opposed else np.zeros(1200, int)
    answers = np.empty(1200, int)
    for k in (0, 1):
        own = camp == k
        truth = Truth(items, scales[k], 0.5, 4.0)
        answers[own] = honest(truth, first[own], second[own], rng)
    names = np.array([f"{'north' if k % 2 else 'south'} {k:02d}" for k in judge])
    data = comparisons(Truth(items, scales[0], 0.5, 4.0), first, second, answers, names)
    model = BradleyTerry(data.counts(), Independent(items))
    if term:
        groups = {name: name.split()[0] for name in set(names)}
        model = BradleyTerry(data.counts(by="judge"), Independent(items), terms=(Groups(groups),))
    tree = fit(model, Transport(draws=1000), rng=1)
    attach_record(tree, model, data)
    result = {check.key: check for check in predictive_checks(tree)}
    assert (result["agreement"].p < 0.01) is (opposed and not term)


def test_ties_among_those_far_apart_are_found_out():
    """Where judges tie whenever they do not know the pair, ties do not fall with the difference."""
    rng = np.random.default_rng(21)
    truth = Truth(tuple("abcdefghijkl"), np.linspace(-3, 3, 12), 0.2, 1.0)
    first, second = random_pairs(12, 1200, rng)
    answers = honest(truth, first, second, rng)
    answers[rng.uniform(size=1200) < 0.25] = 1
    data = comparisons(truth, first, second, answers, np.array(["x", "y"] * 600))
    assert p_values(data, Independent(), 3)["ties"] < 0.01


def test_circles_are_counted_as_by_hand():
    """All triads of a tournament of more than 64 items, which are a word, one after the other."""
    rng = np.random.default_rng(2)
    size = 70
    pairs = np.array([pair for pair in combinations(range(size), 2) if rng.uniform() < 0.9])
    answers = rng.integers(3, size=len(pairs))
    net = {tuple(pair): 1 - answer for pair, answer in zip(pairs, answers, strict=True)}

    def beats(a: int, b: int) -> int:
        return net.get((a, b), 0) - net.get((b, a), 0)

    whole = circles = 0
    for a, b, c in combinations(range(size), 3):
        ring = (beats(a, b), beats(b, c), beats(c, a))
        whole += all(ring)
        circles += ring in ((1, 1, 1), (-1, -1, -1))
    table = SimpleNamespace(left=pairs[:, 0], right=pairs[:, 1])
    shown = SimpleNamespace(items=size, table=table, levels=1)
    assert whole >= 10
    assert circular_share(shown, answers) == pytest.approx(circles / whole)


def test_of_very_many_judgements_some_are_looked_at(monkeypatch):
    """A tie among any pair is found out in a sample, too; each judgement in it is one win."""
    monkeypatch.setattr("tiewise.criticism.replicates.MAX_JUDGEMENTS", 3000)
    rng = np.random.default_rng(21)
    truth = Truth(tuple("abcdefghijkl"), np.linspace(-3, 3, 12), 0.2, 1.0)
    first, second = random_pairs(12, 9000, rng)
    answers = honest(truth, first, second, rng)
    answers[rng.uniform(size=9000) < 0.25] = 1
    data = comparisons(truth, first, second, answers, np.array(["x", "y"] * 4500))
    tree = fitted(data, Independent(), draws=1000)[1]
    result = {check.key: check for check in predictive_checks(tree)}
    assert result["ties"].p < 0.01
    assert result["wins"].parts["observed"].sum() == 3000


def test_without_a_record_sides_and_judges_are_not_checked(village):
    result = {check.key for check in predictive_checks(fit(village.model, rng=1))}
    assert result == {"ties", "triads", "wins"}


def test_the_same_results_give_the_same_figures(village):
    tree = fit(village.model, rng=1)
    one, two = (checks_table(predictive_checks(tree)) for _ in range(2))
    assert one.equals(two)


def test_a_model_without_ties_is_not_asked_about_them():
    data = Comparisons.from_columns(
        first=["a", "b", "c"] * 5, second=["b", "c", "a"] * 5,
        outcome=["first", "first", "second"] * 5, judge=["x", "y", "z"] * 5,
    )  # fmt: skip
    model = BradleyTerry(data.counts(), tie=None, variance=Fixed(1.0))
    tree = fit(model, rng=1)
    attach_record(tree, model, data)
    assert {check.key for check in predictive_checks(tree)} == {"agreement", "order", "wins"}


def test_nothing_can_be_made_up_from_a_point(village):
    tree = fit(village.model, MaximumLikelihood(), rng=1)
    with pytest.raises(InputError, match="no draws"):
        predictive_checks(tree)


@pytest.mark.parametrize(
    ("p", "level", "words"),
    [(0.5, "good", "The side does not matter"), (0.03, "care", "about 3 of 100"),
     (0.001, "stop", "fewer than 1 of 100")],
)  # fmt: skip
def test_a_check_is_told_as_its_p_value_deserves(p, level, words):
    check = Check("order", "", "", 61.0, 45.0, 50.0, 55.0, p)
    finding = check_finding(check, "wards")
    assert finding.level == level
    assert words in finding.text


def test_a_lean_is_told_with_its_side():
    lean = Check("order", "", "", 61.0, 45.0, 50.0, 55.0, 0.001)
    assert "lean to the left" in check_finding(lean, "wards").text
    other = Check("order", "", "", 39.0, 45.0, 50.0, 55.0, 0.001)
    assert "lean to the right" in check_finding(other, "wards").text


# Models with terms.


@pytest.mark.parametrize(
    ("fault", "term", "key"),
    [
        ({"order": 0.6}, Order(), "order"),
        pytest.param({"spread": 1.0}, Thresholds(), "judges", marks=pytest.mark.slow),
    ],
)
def test_a_term_mends_what_a_check_found_and_predicts_better(prior, fault, term, key):
    data = study(prior, np.random.default_rng(11), **fault)
    plain = fitted(data, prior, draws=1000)[1]
    counts = data.counts(by="judge", ordered=True)
    model = BradleyTerry(counts, prior, terms=(term,))
    tree = fit(model, Transport(draws=1000), rng=1)
    result = {check.key: check.p for check in predictive_checks(tree)}
    assert {check.key: check.p for check in predictive_checks(plain)}[key] < 0.01
    # The misfit has gone, as far as a thousand studies like this one would show.
    assert result[key] > 1e-3
    assert leave_one_out(tree).elpd > leave_one_out(plain).elpd


def test_groups_of_judges_are_asked_each_for_their_own_view(prior):
    """Chances of a group's answers beside the formula written out from its own qualities."""
    data = study(prior, np.random.default_rng(12))
    counts = data.counts(by="judge")
    of = {name: "ab"[k % 2] for k, name in enumerate(counts.strata)}
    tree = fit(BradleyTerry(counts, prior, terms=(Groups(of),)), Transport(draws=400), rng=1)
    stratum = np.arange(len(counts.strata))
    first, second = np.zeros_like(stratum), np.full_like(stratum, 7)
    probability = PosteriorDraws.from_tree(tree).answer_probabilities(first, second, stratum)
    posterior = tree["posterior"]
    view = (posterior["quality"] + posterior["contrast"]).sel(group=["a", "b"])
    gap = (view.isel(item=0) - view.isel(item=7)).transpose("chain", "draw", "group").to_numpy()
    wins = 1 / (1 + np.exp(posterior["tie"].to_numpy()[..., None] - gap)).reshape(-1, 2)
    np.testing.assert_allclose(probability[0], wins[:, stratum % 2], rtol=1e-9)
