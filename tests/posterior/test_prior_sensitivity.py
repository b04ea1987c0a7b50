"""Log densities of draws, and power-scaling sensitivity to the priors of the scales."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats
from xarray import DataTree

from support.judge_studies import ANSWERS, model_with_terms, term_log_likelihood
from support.prior_sets import PAPER
from tiewise.data.counts import Counts
from tiewise.engines.caron_doucet import CaronDoucet
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.engines.transport import Transport
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.fit import fit
from tiewise.posterior.prior_sensitivity import power_weights, sensitivities

SEED = 2


def flat(tree: DataTree, name: str) -> np.ndarray:
    values = tree[name].to_numpy()
    return values.reshape(-1, *values.shape[2:])


def differences_vanish(ours: np.ndarray, witness: np.ndarray) -> bool:
    """Whether two log densities differ by a constant."""
    return np.allclose(ours - witness, (ours - witness)[0], atol=1e-8)


@pytest.fixture(scope="module")
def few() -> Counts:
    truth = Truth(tuple("abcdef"), np.linspace(-1, 1, 6), tie=0.5, variance=1.0)
    return simulate_counts(truth, 15, np.random.default_rng(SEED))


@pytest.fixture(scope="module")
def tree(few) -> DataTree:
    return fit(BradleyTerry(few), Transport(draws=4000), rng=SEED, ess=0)


# Densities.


def test_log_prior_is_that_of_the_scales_as_they_are_stated(few, tree):
    """Half-normal α, not α² or log α; nothing of the qualities."""
    alpha, tie = np.sqrt(flat(tree, "posterior/variance")), flat(tree, "posterior/tie")
    witness = stats.halfnorm(scale=2).logpdf(alpha) + stats.halfnorm.logpdf(tie)
    assert differences_vanish(flat(tree, "log_prior/scales"), witness)
    paper = fit(BradleyTerry(few, **PAPER), Transport(draws=400), rng=SEED)
    variance, tie = flat(paper, "posterior/variance"), flat(paper, "posterior/tie")
    witness = stats.invgamma(0.01, scale=0.01).logpdf(variance) - 0.01 * tie
    assert differences_vanish(flat(paper, "log_prior/scales"), witness)


def test_log_likelihood_is_that_of_the_model(village):
    tree = fit(village.model, Transport(draws=320), rng=SEED)
    quality, tie = flat(tree, "posterior/quality"), flat(tree, "posterior/tie")
    for k in (0, 150, 319):
        gap = quality[k][village.counts.first] - quality[k][village.counts.second]
        first, second = stats.logistic.cdf(gap - tie[k]), stats.logistic.cdf(-gap - tie[k])
        counts = village.counts
        total = (
            counts.wins_first @ np.log(first)
            + counts.wins_second @ np.log(second)
            + counts.ties @ np.log(1 - first - second)
        )
        assert flat(tree, "log_likelihood/judgements")[k] == pytest.approx(total)


def test_terms_have_their_part_in_both():
    tree = fit(model_with_terms("all"), Transport(draws=320), rng=SEED)
    spreads = {name: flat(tree, f"posterior/{name}") for name in ("sharpness_sd", "threshold_sd")}
    witness = stats.invgamma(3, scale=2).logpdf(flat(tree, "posterior/variance"))
    witness = witness - 2 * flat(tree, "posterior/tie")
    witness += stats.halfnorm(scale=0.5).logpdf(spreads["sharpness_sd"])
    witness += stats.halfnorm.logpdf(spreads["threshold_sd"])
    witness += stats.halfnorm.logpdf(np.sqrt(flat(tree, "posterior/contrast_variance")))
    assert differences_vanish(flat(tree, "log_prior/scales"), witness)
    names = ("quality", "contrast", "order", "sharpness", "threshold")
    assert list(tree["posterior/group"].to_numpy()) == ["old", "young"]
    for k in (0, 319):
        at = {name: flat(tree, f"posterior/{name}")[k] for name in names}
        total = flat(tree, "log_likelihood/judgements")[k]
        assert total == pytest.approx(term_log_likelihood(ANSWERS, at))


def test_a_point_and_an_engine_with_its_own_priors_have_neither(few):
    counts = few + Counts.of(few.items, [0, 1, 2, 3, 4], [1, 2, 3, 4, 5], [3] * 5, [3] * 5)
    for engine in (MaximumLikelihood(), CaronDoucet(draws=40, warmup=10)):
        tree = fit(BradleyTerry(counts), engine, rng=SEED)
        assert not {"log_prior", "log_likelihood"} & set(tree.children)
        assert "prior_sensitivity" not in tree.attrs


# Sensitivity.


def test_it_is_arvizs(tree):
    """ArviZ smooths the tails of the weights, which hardly matters so near to 1."""
    from arviz_stats import psense

    tree, alpha = tree.copy(), tree["posterior/variance"] ** 0.5
    tree["posterior"] = tree["posterior"].to_dataset().assign(alpha=alpha)
    for group, name in (("prior", "log_prior/scales"), ("likelihood", "log_likelihood/judgements")):
        known = psense(tree, var_names=["quality", "tie", "alpha"], group=group)
        weights = power_weights(flat(tree, name))
        for parameter in ("quality", "tie", "alpha"):
            draws = flat(tree, f"posterior/{parameter}")
            ours = sensitivities(draws.reshape(len(draws), -1), weights)
            assert np.allclose(ours, known[parameter].to_numpy().ravel(), rtol=0.02, atol=1e-4)


def test_a_fit_has_that_of_its_scales_and_of_its_most_sensitive_item(tree):
    facts = json.loads(tree.attrs["prior_sensitivity"])
    weights = power_weights(flat(tree, "log_prior/scales"))
    own = sensitivities(flat(tree, "posterior/quality"), weights)
    assert facts["quality"] == pytest.approx(own.max(), abs=1e-4)
    assert facts["item"] == tree["posterior/item"].to_numpy()[own.argmax()]
    assert set(facts) == {"tie", "alpha", "quality", "item"}


def test_the_same_item_twice_is_as_sensitive_and_one_of_chance_is_not():
    """Weights that depend on one parameter alone move it, and what is independent of it hardly."""
    rng = np.random.default_rng(SEED)
    draws = rng.normal(size=(4000, 2))
    own, other = sensitivities(draws, power_weights(-(draws[:, 0] ** 2) / 2 + draws[:, 0]))
    assert own > 0.2
    assert other < 0.05
    again = sensitivities(draws * 7 + 3, power_weights(-(draws[:, 0] ** 2) / 2 + draws[:, 0]))
    assert again == pytest.approx([own, other], rel=1e-6)


def test_more_answers_leave_less_to_the_priors(few, tree):
    truth = Truth(few.items, np.linspace(-1, 1, 6), tie=0.5, variance=1.0)
    much = simulate_counts(truth, 600, np.random.default_rng(SEED))
    more = fit(BradleyTerry(much), Transport(draws=4000), rng=SEED)
    before, after = (json.loads(one.attrs["prior_sensitivity"]) for one in (tree, more))
    assert after["tie"] < before["tie"] / 3
    assert after["quality"] < 0.05 < before["alpha"]


def test_where_nothing_is_inferred_there_is_nothing_to_be_sensitive(few):
    model = BradleyTerry(few.without_ties(), variance=Fixed(1.0), tie=None)
    tree = fit(model, Transport(draws=400), rng=SEED)
    assert json.loads(tree.attrs["prior_sensitivity"]) == {}
