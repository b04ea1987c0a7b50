"""The likelihood: Rao and Kupper's, written out longhand beside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from support.reference_formulas import (
    DIFFERENCE,
    Judgement,
    derivative,
    log_likelihood,
    rao_kupper_probabilities,
    repeated,
    tally,
)
from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.likelihood import answer_probabilities
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.fixed import Fixed

QUALITIES = st.floats(-4, 4)
TIES = st.floats(0.01, 3)


def model_of(judgements: list[Judgement], size: int, **beliefs: object) -> BradleyTerry:
    items = [f"item {k}" for k in range(size)]
    return BradleyTerry(Counts.of(items, **tally(judgements)), **beliefs)


@st.composite
def studies(draw: st.DrawFn) -> tuple[list[Judgement], np.ndarray, float]:
    """Judgements of two to five items, qualities and a threshold."""
    size = draw(st.integers(2, 5))
    pair = st.permutations(range(size)).map(lambda order: (order[0], order[1]))
    answer = st.sampled_from(["first", "tie", "second"])
    rows = draw(st.lists(st.tuples(pair, answer), min_size=1, max_size=15))
    quality = draw(st.lists(QUALITIES, min_size=size, max_size=size))
    return [(*both, judgements) for both, judgements in rows], np.array(quality), draw(TIES)


@given(studies())
@settings(max_examples=60, deadline=None)
def test_likelihood_is_rao_and_kuppers(study):
    """The counted likelihood equals the paper's probabilities multiplied judgement by judgement."""
    judgements, quality, tie = study
    model = model_of(judgements, len(quality))
    ours = model.log_likelihood(quality[:, None], np.array([tie]))[0]
    assert ours == pytest.approx(log_likelihood(judgements, quality, tie), rel=1e-12, abs=1e-12)


@given(studies(), st.sampled_from([10.0, 35.0, 42.0]))
@settings(max_examples=60, deadline=None)
def test_likelihood_is_rao_and_kuppers_far_apart(study, wide):
    """At gaps of hundreds, where one way of computing gives over to another."""
    judgements, quality, tie = study
    model = model_of(judgements, len(quality))
    ours = model.log_likelihood(wide * quality[:, None], np.array([tie]))[0]
    longhand = log_likelihood(judgements, wide * quality, tie)
    # Sums of hundreds lose what a double cannot hold of them.
    assert ours == pytest.approx(longhand, rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("times", [1, 2, 3, 40, 90, 400])
def test_judgements_of_one_pair_add_up(times):
    """A few or many of them: the logarithm of the same product."""
    judgements = repeated((0, 1, 2 * times, times, times), (1, 2, 0, 2 * times, times))
    quality, tie = np.array([0.7, -0.4, 1.9]), 0.6
    ours = model_of(judgements, 3).log_likelihood(quality[:, None], np.array([tie]))[0]
    assert ours == pytest.approx(log_likelihood(judgements, quality, tie), rel=1e-12)
    one = model_of(repeated((0, 1, 2, 1, 1), (1, 2, 0, 2, 1)), 3)
    for many, few in zip(
        gradient_of(model_of(judgements, 3), np.append(quality, tie)),
        gradient_of(one, np.append(quality, tie)),
        strict=True,
    ):
        assert many == pytest.approx(times * few, rel=1e-12)


@given(QUALITIES, QUALITIES, TIES)
@settings(max_examples=60, deadline=None)
def test_answers_are_rao_and_kuppers(one, two, tie):
    """The probabilities of the three answers are the paper's, and one of the three is given."""
    ours = answer_probabilities(np.array(one - two), np.array(tie))
    assert np.allclose(
        ours, list(rao_kupper_probabilities(one, two, tie).values()), rtol=1e-10, atol=0
    )
    assert sum(ours) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("tie", [0.0, 0.05, 0.468, 0.964, 3.0])
def test_equals_tie_with_chance_tanh_of_half_the_threshold(tie):
    assert answer_probabilities(np.array(0.0), np.array(tie))[1] == pytest.approx(np.tanh(tie / 2))


@given(studies(), st.floats(-50, 50))
@settings(max_examples=60, deadline=None)
def test_only_differences_matter(study, shift):
    """Raising every quality equally leaves the likelihood alone."""
    judgements, quality, tie = study
    model = model_of(judgements, len(quality))
    both = np.column_stack([quality, quality + shift])
    one, other = model.log_likelihood(both, np.array([tie, tie]))
    assert one == pytest.approx(other, rel=1e-10, abs=1e-10)


@pytest.mark.slow
@given(studies())
@settings(max_examples=40, deadline=None)
def test_chains_do_not_touch_each_other(study):
    """Side by side chains give what each gives beside itself, and alone but for rounding."""
    judgements, quality, tie = study
    model = model_of(judgements, len(quality))
    many, ties = np.column_stack([quality, -quality, 2 * quality]), np.array([tie, 0.3, 2 * tie])
    together = (model.log_likelihood(many, ties), *model.gradient(many, ties))
    for chain in range(3):
        own = many[:, [chain, chain]], ties[[chain, chain]]
        twice = (model.log_likelihood(*own), *model.gradient(*own))
        for part, whole in zip(twice, together, strict=True):
            assert np.array_equal(part[..., 0], whole[..., chain])
        alone = model.log_likelihood(many[:, [chain]], ties[[chain]])
        assert alone[0] == pytest.approx(together[0][chain], rel=1e-12, abs=1e-12)


@given(studies())
@settings(max_examples=40, deadline=None)
def test_slopes_and_curvature_are_derivatives(study):
    """Of the longhand likelihood, by finite differences; curvature, of the slopes."""
    judgements, quality, tie = study
    model = model_of(judgements, len(quality))
    point = np.append(quality, tie + 0.1)
    longhand = derivative(lambda p: log_likelihood(judgements, p[:-1], p[-1]), point)
    scale = len(judgements) / point[-1] ** 4
    assert np.allclose(gradient_of(model, point), longhand, rtol=0, atol=DIFFERENCE * scale)
    hessian = -derivative(lambda p: gradient_of(model, p), point)
    curve = model.negative_hessian(point[:-1], float(point[-1]))
    both, cross, own = curve.qualities, curve.quality_and_tie, curve.tie
    ours = np.block([[both, cross[:, None]], [cross[None], np.array([[own]])]])
    assert np.allclose(ours, hessian, rtol=0, atol=DIFFERENCE * scale / point[-1])


def gradient_of(model: BradleyTerry, point: np.ndarray) -> np.ndarray:
    by_quality, by_tie = model.gradient(point[:-1, None], point[-1:])
    return np.append(by_quality[:, 0], by_tie)


@given(studies())
@settings(max_examples=40, deadline=None)
def test_without_ties_it_is_logistic_regression(study):
    """δ = 0 and no ties: Bernoulli trials with log-odds the difference in quality."""
    judgements, quality, _ = study
    judgements = [row for row in judgements if row[2] != "tie"] or [(0, 1, "first")]
    model = model_of(judgements, len(quality), tie=None)
    ours = model.log_likelihood(quality[:, None], np.zeros(1))[0]
    odds = [quality[one] - quality[two] for one, two, _ in judgements]
    won = [answer == "first" for *_, answer in judgements]
    logistic = stats.bernoulli.logpmf(won, special.expit(odds)).sum()
    assert ours == pytest.approx(logistic, rel=1e-10, abs=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("gap", [0.0, 40.0, 800.0, -800.0])
@pytest.mark.parametrize("tie", [1e-8, 0.5, 30.0, 700.0])
def test_extreme_gaps_stay_finite(gap, tie):
    """Far beyond what e^x can hold, nothing overflows and no chance is lost."""
    model = model_of(repeated((0, 1, 2, 1, 3)), 2)
    quality, ties = np.array([[gap], [0.0]]), np.array([tie])
    assert np.isfinite(model.log_likelihood(quality, ties)).all()
    assert all(np.isfinite(part).all() for part in model.gradient(quality, ties))
    curve = model.negative_hessian(quality[:, 0], tie)
    assert np.isfinite(curve.weight).all()
    assert np.isfinite([*curve.quality_and_tie, curve.tie]).all()
    assert sum(answer_probabilities(np.array(gap), np.array(tie))) == pytest.approx(1, abs=1e-12)


def test_far_apart_the_likelihood_is_linear():
    """At a gap of 800 an upset costs 800 + δ nats, and a sure thing nothing."""
    upset = model_of(repeated((0, 1, 0, 0, 1)), 2, tie=Fixed(0.5))
    sure = model_of(repeated((0, 1, 1, 0, 0)), 2, tie=Fixed(0.5))
    quality, tie = np.array([[800.0], [0.0]]), np.array([0.5])
    assert upset.log_likelihood(quality, tie)[0] == pytest.approx(-800.5)
    assert sure.log_likelihood(quality, tie)[0] == 0


def test_ties_are_refused_where_there_are_none():
    judgements = repeated((0, 1, 1, 2, 1))
    with pytest.raises(InputError, match="2 ties.*without_ties"):
        model_of(judgements, 2, tie=None)
    with pytest.raises(InputError, match="2 ties"):
        model_of(judgements, 2, tie=Fixed(0))


def test_a_variance_of_nothing_is_refused():
    with pytest.raises(InputError, match="must be positive"):
        model_of(repeated((0, 1, 1, 0, 1)), 2, variance=Fixed(0))


def test_one_item_is_refused():
    with pytest.raises(InputError, match="needs two items"):
        BradleyTerry(Counts.of(["alone"], [], [], [], []))


def test_an_item_the_prior_does_not_know_is_refused_by_name():
    prior = Network(Graph.from_edges([("a", "b")]), share=1)
    counts = Counts.of(["a", "c"], [0], [1], [1], [0])
    with pytest.raises(InputError, match="'c'"):
        BradleyTerry(counts, prior)


def test_every_item_of_the_prior_is_in_the_model():
    """Compared or not, and in the prior's order."""
    prior = Network(Graph.from_edges([("c", "b"), ("b", "a")], ["c", "b", "a"]), share=1)
    model = BradleyTerry(Counts.of(["a", "b"], [0], [1], [2], [1]), prior)
    assert model.items == ("c", "b", "a")
    assert list(model.counts.per_item()) == [0, 3, 3]
