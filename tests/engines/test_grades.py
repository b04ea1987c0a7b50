"""Graded answers, sampled: calibration, an ordinal regression, and collapsing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator, SeedSequence

from support.calibration import assert_uniform_ranks, transport_ranks
from support.quadrature_cases import IG
from support.reference_formulas import monte_carlo_error
from tiewise.criticism.judge_influence import posterior_draws
from tiewise.data.counts import Counts
from tiewise.engines.preconditioners.hierarchical_preconditioner import (
    build_hierarchical_preconditioner,
)
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.half_normal import HalfNormal
from tiewise.model.simulate import Truth, random_pairs, replicate_counts, simulate_counts
from tiewise.model.terms import Sharpness, Thresholds
from tiewise.posterior.fit import fit
from tiewise.posterior.judgement_record import fitted_judgements
from tiewise.posterior.prior_sensitivity import scale_log_prior, total_log_likelihood
from tiewise.posterior.tree import attach_record, rebuild_model
from tiewise.progress import no_progress

# Simulation-based calibration: the truth is one more draw. By number of answers, and terms.

MAP = Graph.grid(3, 4)
STRATA = ("p", "q", "r", "s")
CALIBRATED = {
    "three": (3, ()),
    "four": (4, ()),
    "five": (5, ()),
    "seven": (7, ()),
    "five, judges": (5, (Sharpness(), Thresholds())),
    "four, judges": (4, (Sharpness(), Thresholds())),
}


def one_study(name: str, rng: Generator) -> tuple[BradleyTerry, Truth]:
    """Eighty graded judgements by four judges of twelve areas, by a truth drawn from the prior."""
    answers, terms = CALIBRATED[name]
    first, second = random_pairs(12, 80, rng)
    strengths = np.zeros((80, 2, answers // 2), int)
    strengths[:, 0, 0] = 1
    counts = Counts.of(
        MAP.items, first, second, np.ones(80), np.zeros(80),
        stratum=rng.integers(4, size=80), strata=STRATA, strengths=strengths,
    )  # fmt: skip
    tie = Exponential(2.0) if answers % 2 else None
    model = BradleyTerry(
        counts, Network(MAP, share=1), variance=IG, tie=tie, step=Exponential(1.0), terms=terms
    )
    truth = Truth.from_model(model, rng)
    return replace(model, counts=replicate_counts(model, truth, rng)), truth


def quantities(model: BradleyTerry, quality, tie, variance, terms) -> np.ndarray:
    """A few qualities and a gap, cuts that are inferred, α², the likelihood, and terms."""
    likelihood = model.design.likelihood.log_likelihood(model.design.arguments(quality, tie, terms))
    cuts = terms.get("cut", tie[None])[0 if model.tie is not None else 1 :]
    rest = [own.reshape(-1, len(tie))[:3] for name, own in terms.items() if name != "cut"]
    rows = [quality[:3], quality[:1] - quality[1:2], cuts, variance[None], likelihood[None]]
    return np.concatenate([*rows, *rest])


def ranks_of_truth(name: str, rng: Generator) -> np.ndarray:
    """Where the truth ranks among the last draws of as many chains."""
    model, truth = one_study(name, rng)
    return transport_ranks(model, truth, quantities, rng)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four", "five"])
def test_truth_is_one_more_draw(name):
    generators = np.random.default_rng(2).spawn(30)
    assert_uniform_ranks(np.array([ranks_of_truth(name, rng) for rng in generators]))


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("name", CALIBRATED)
def test_truth_is_one_more_draw_over_hundreds_of_studies(name):
    generators = np.random.default_rng(3).spawn(120 if CALIBRATED[name][1] else 150)
    assert_uniform_ranks(np.array([ranks_of_truth(name, rng) for rng in generators]))


# The preconditioner.


@pytest.mark.parametrize("name", ["four", "seven", "five, judges", "four, judges"])
def test_gradient_is_that_of_the_log_density(name):
    model, _ = one_study(name, np.random.default_rng(4))
    preconditioner = build_hierarchical_preconditioner(model)
    q = 0.5 * np.random.default_rng(5).normal(size=(preconditioner.dimensions, 1))
    ours, step = preconditioner.gradient(q)[:, 0], 1e-5
    for k in range(len(q)):
        move = np.zeros_like(q)
        move[k] = step
        ends = [preconditioner.log_density(q + sign * move)[0] for sign in (1, -1)]
        assert ours[k] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-5)


# Other witnesses.


def five_answers(comparisons: int = 600) -> tuple[Truth, Counts]:
    rng = np.random.default_rng(6)
    items = tuple(f"i{k}" for k in range(12))
    truth = Truth(items, rng.normal(size=12), 0.4, 1.0, {"cut": np.array([0.4, 1.5])})
    return truth, simulate_counts(truth, comparisons, rng)


def ordinal_regression(counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    """Cuts and coefficients of statsmodels' ordinal regression, each answer turned as well.

    An answer and its mirror image make cuts symmetric: the estimate is that of symmetric cuts.
    """
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    rows, grades = [], []
    for r in range(len(counts.first)):
        x = np.zeros(len(counts.items))
        x[counts.first[r]], x[counts.second[r]] = 1, -1
        first, second = counts.strengths[r]
        by_grade = [*second[::-1], counts.ties[r], *first]
        for grade, times in enumerate(by_grade):
            rows += [x[1:], -x[1:]] * int(times)
            grades += [grade, len(by_grade) - 1 - grade] * int(times)
    model = OrderedModel(np.array(grades), np.array(rows), distr="logit")
    estimate = model.fit(method="bfgs", disp=False, maxiter=500, gtol=1e-6).params
    number = len(counts.items) - 1
    return model.transform_threshold_params(estimate)[1:-1], estimate[:number]


@pytest.mark.slow
def test_with_flat_priors_it_is_ordinal_regression():
    """With as many answers that the posterior is about normal: modes are estimates."""
    _, counts = five_answers(6000)
    model = BradleyTerry(
        counts, Independent(counts.items), variance=Fixed(400.0), tie=HalfNormal(50.0),
        step=HalfNormal(50.0),
    )  # fmt: skip
    draws = Transport(draws=20_000).run(model, SeedSequence(7), no_progress)
    cuts, coefficients = ordinal_regression(counts)
    assert cuts == pytest.approx(-cuts[::-1], abs=1e-3)
    own = draws.terms["cut"]
    sd = own.std(axis=(0, 1))
    # A posterior mean lies a small part of a standard deviation from the mode.
    assert np.abs(own.mean(axis=(0, 1)) - cuts[2:]).max() < 0.15 * sd.max()
    gaps = (draws.quality - draws.quality[..., :1])[..., 1:]
    assert np.abs((gaps.mean(axis=(0, 1)) - coefficients) / gaps.std(axis=(0, 1))).max() < 0.15


def test_collapsing_five_grades_to_three_says_the_same_with_less():
    truth, counts = five_answers()
    graded, coarse = (
        Transport(draws=4000).run(BradleyTerry(own), SeedSequence(8), no_progress)
        for own in (counts, counts.ungraded())
    )
    centred = [own.quality - own.quality.mean(axis=-1, keepdims=True) for own in (graded, coarse)]
    means, sds = ([f(own, axis=(0, 1)) for own in centred] for f in (np.mean, np.std))
    # The difference of two estimates of which one knows more: Var = Var(less) − Var(more).
    spread = np.sqrt(np.maximum(sds[1] ** 2 - sds[0] ** 2, 0.01 * sds[1] ** 2))
    assert (np.abs(means[0] - means[1]) < 4 * spread).all()
    assert sds[0].mean() < 0.95 * sds[1].mean()
    error = monte_carlo_error(graded.terms["cut"][..., 1])
    assert abs(graded.terms["cut"][..., 1].mean() - 1.5) < 4 * (
        graded.terms["cut"][..., 1].std() + error
    )
    assert np.abs(means[0] - truth.quality + truth.quality.mean()).max() < 5 * sds[0].max()


def test_results_hold_cuts_and_the_model_again():
    _, counts = five_answers(100)
    model = BradleyTerry(counts, step=Exponential(1.0))
    tree = fit(model, Transport(draws=400), rng=9)
    cut = tree["posterior/cut"]
    assert cut.dims == ("chain", "draw", "strength")
    assert (cut.sel(strength=1) == tree["posterior/tie"]).all()
    assert (cut.diff("strength") > 0).all()
    attach_record(tree, model, None)
    again = rebuild_model(tree)
    assert again.counts == counts
    assert again.steps == (Exponential(1.0),)
    at = {"cut": cut.to_numpy()[0].T}
    quality, tie = tree["posterior/quality"].to_numpy()[0].T, tree["posterior/tie"].to_numpy()[0]
    whole = model.design.likelihood.log_likelihood(model.design.arguments(quality, tie, at))
    assert np.allclose(total_log_likelihood(tree, again)[0], whole)
    steps = cut.diff("strength").to_numpy()[..., 0]
    without = scale_log_prior(tree["posterior"], replace(again, counts=counts.ungraded(), step=()))
    assert np.allclose(scale_log_prior(tree["posterior"], again), without - steps)


def test_criticism_has_the_likelihood_of_the_model():
    """Answer by answer, from the draws: the sum is what the model makes of all counts."""
    _, counts = five_answers(50)
    model = BradleyTerry(counts)
    tree = fit(model, Transport(draws=400), rng=9)
    table, draws = fitted_judgements(tree), posterior_draws(tree)
    each = draws.log_probability(table.left, table.right, table.grades(2))
    assert each.shape[1] == 50
    assert np.allclose(each.sum(axis=1), np.ravel(total_log_likelihood(tree, model)))
