"""Anchors together with graded answers and terms: densities written out, engines, calibration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator, SeedSequence
from scipy import special, stats

from support.calibration import assert_uniform_ranks, transport_ranks
from support.judge_studies import GROUP, JUDGES, TERMS, model_with_terms
from support.quadrature_cases import IG
from support.reference_formulas import LEVEL, assert_normal_scores, derivative, monte_carlo_error
from tiewise.data.counts import Counts
from tiewise.engines.gibbs import Gibbs
from tiewise.engines.metropolis import Metropolis
from tiewise.engines.preconditioners.hierarchical import HierarchicalPosterior
from tiewise.engines.preconditioners.hierarchical_marginal import ModeFinder
from tiewise.engines.preconditioners.hierarchical_preconditioner import (
    build_hierarchical_preconditioner,
)
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model.anchors.anchors import Anchors
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.half_normal import HalfNormal
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.simulate import Truth, random_pairs, replicate_counts, simulate_counts
from tiewise.model.terms import Covariates, Groups, Order, Sharpness, Thresholds
from tiewise.posterior.fit import fit
from tiewise.posterior.prior_sensitivity import total_log_likelihood
from tiewise.posterior.scales.anchored import anchor_table
from tiewise.posterior.tree import attach_record, rebuild_model
from tiewise.progress import no_progress

VALUES, SD = np.array([31.0, 30.2, 32.5]), np.array([0.4, 0.9, 0.6])
LOGITS = Anchors(("a", "c", "d"), VALUES, SD)
UNITS = Anchors(("a", "c", "d"), 50 * VALUES, 50 * SD, slope="learned")


def differences_log_density(anchors: Anchors, quality: np.ndarray) -> float:
    """Of the differences between each anchor's value and that of the first, whatever the level."""
    values, sd = np.asarray(anchors.values), np.asarray(anchors.sd)
    covariance = np.diag(sd[1:] ** 2) + sd[0] ** 2
    away = values[1:] - values[0] - quality[1:] + quality[0]
    return float(stats.multivariate_normal(cov=covariance).logpdf(away))


# Densities.


@pytest.mark.parametrize("anchors", [LOGITS, UNITS], ids=["logits", "units"])
@pytest.mark.parametrize("name", [name for name in TERMS if name != "none"])
def test_gradient_is_the_derivative_of_the_log_density(name, anchors):
    posterior = HierarchicalPosterior(model_with_terms(name, anchors=anchors))
    finder, rng = ModeFinder(posterior), np.random.default_rng(2)
    scales = posterior.log_scales(rng.normal(size=len(posterior.scales)) / 3)
    point = posterior.start() + 0.4 * rng.normal(size=sum(posterior.sizes))
    by = np.concatenate([part[:, 0] for part in finder.gradient(point, scales)])
    slopes = derivative(lambda p: finder.log_density(p, scales), point)
    np.testing.assert_allclose(by, slopes, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["all", "three groups", "facts and judges"])
def test_second_derivatives_of_the_core_know_the_anchors(name):
    """What anchors add to the Hessian is what they add to finite differences of the gradient."""
    with_anchors = HierarchicalPosterior(model_with_terms(name, anchors=LOGITS))
    without = HierarchicalPosterior(model_with_terms(name))
    finders = ModeFinder(with_anchors), ModeFinder(without)
    point = without.start() + 0.3 * np.random.default_rng(3).normal(size=sum(without.sizes))
    scales = without.log_scales(np.zeros(len(without.scales)))
    one, two = (finder.hessian(point).core for finder in finders)

    def slopes(finder, p):
        return np.concatenate([part[:, 0] for part in finder.gradient(p, scales)])

    added = derivative(lambda p: slopes(finders[1], p) - slopes(finders[0], p), point)
    size = len(one)
    assert np.abs(one - two).max() > 1
    np.testing.assert_allclose(one - two, added[:size, :size], atol=1e-5)


def graded_study(terms=(), answers: int = 40, **options) -> BradleyTerry:
    """Answers on a scale of five by three judges about four items, with sides."""
    rng = np.random.default_rng(8)
    first, second = random_pairs(4, answers, rng)
    strengths = np.zeros((answers, 2, 2), int)
    strengths[:, 0, 0] = 1
    counts = Counts.of(
        tuple("abcd"), first, second, np.ones(answers), np.zeros(answers),
        stratum=rng.integers(3, size=answers), strata=JUDGES, ordered=True, strengths=strengths,
    )  # fmt: skip
    priors = {"variance": InverseGamma(3, 2), "tie": Exponential(2.0), "step": Exponential(1.0)}
    model = BradleyTerry(counts, **priors, terms=terms, **options)
    return replace(model, counts=replicate_counts(model, Truth.from_model(model, rng), rng))


ALL = (Order(), Groups(GROUP, variance=Fixed(0.5)), Sharpness(), Thresholds())


def written_out(model: BradleyTerry, at: dict[str, np.ndarray]) -> float:
    """The log likelihood, row by row and grade by grade, and that of the anchors."""
    total, counts = 0.0, model.counts
    for r in range(len(counts.first)):
        judge = counts.stratum[r]
        quality = at["quality"] + at["contrast"][int(GROUP[JUDGES[judge]] == "young")]
        gap = quality[counts.first[r]] + at["order"][0] - quality[counts.second[r]]
        gap *= at["sharpness"][judge]
        near, far = at["threshold"][judge] * at["cut"] / at["cut"][0]
        times = {
            special.expit(gap + near) - special.expit(gap - near): counts.ties[r],
            special.expit(gap - near) - special.expit(gap - far): counts.strengths[r, 0, 0],
            special.expit(gap - far): counts.strengths[r, 0, 1],
            special.expit(-gap - near) - special.expit(-gap - far): counts.strengths[r, 1, 0],
            special.expit(-gap - far): counts.strengths[r, 1, 1],
        }
        total += sum(number * np.log(probability) for probability, number in times.items())
    own = at["quality"][[0, 2, 3]]
    return total + differences_log_density(model.anchors, own)


def test_the_density_of_grades_terms_and_anchors_is_the_one_written_out():
    """Draws' likelihood beside the formula, and a preconditioner's gradient beside differences."""
    model = graded_study(ALL, anchors=LOGITS)
    preconditioner = build_hierarchical_preconditioner(model)
    q = 0.6 * np.random.default_rng(5).normal(size=(preconditioner.dimensions, 6))
    at = preconditioner.parameters(q)
    named = preconditioner.draws(at)
    ours = preconditioner.posterior.log_likelihood(at.arguments)
    expected = [written_out(model, {k: v[..., c] for k, v in named.items()}) for c in range(6)]
    np.testing.assert_allclose(ours - ours[0], np.array(expected) - expected[0], atol=1e-8)
    bare = replace(preconditioner, posterior=HierarchicalPosterior(replace(model, anchors=None)))
    gap = preconditioner.log_density_at(at) - bare.log_density_at(at)
    of_anchors = [differences_log_density(LOGITS, own) for own in named["quality"][[0, 2, 3]].T]
    np.testing.assert_allclose(gap - gap[0], np.array(of_anchors) - of_anchors[0], atol=1e-8)
    one = q[:, :1]
    slopes = derivative(lambda p: preconditioner.log_density(p[:, None])[0], one[:, 0])
    np.testing.assert_allclose(preconditioner.gradient(one)[:, 0], slopes, atol=1e-4)


def test_results_hold_the_likelihood_of_answers_and_anchors():
    """As in a model without terms: checks of priors weigh both."""
    model = graded_study(ALL, anchors=LOGITS)
    tree = fit(model, Transport(draws=400), rng=1)
    draws = tree["posterior"]
    names = ("quality", "contrast", "order", "sharpness", "threshold", "cut")
    at = [{name: draws[name].to_numpy()[0, k] for name in names} for k in (0, 3)]
    total = total_log_likelihood(tree, model)[0]
    expected = [written_out(model, one) for one in at]
    assert total[0] - total[3] == pytest.approx(expected[0] - expected[1], abs=1e-6)
    attach_record(tree, model, None)
    again = rebuild_model(tree)
    np.testing.assert_array_equal(again.anchors.values, VALUES)
    assert len(again.terms) == len(ALL)


# Engines.

RING = Network(Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]))
MODELS = {
    "choices": (Independent(tuple("abcd")), LOGITS, (0.4,)),
    "map": (RING, LOGITS, (0.4,)),
    "grades": (Independent(tuple("abcd")), LOGITS, (0.4, 1.3)),
    "grades, units": (RING, UNITS, (0.4, 1.3)),
}


def sixty_answers(name: str) -> BradleyTerry:
    """Sixty answers about four items, of which three are anchors."""
    prior, anchors, cuts = MODELS[name]
    rng = np.random.default_rng(3)
    terms = {"cut": np.array(cuts)} if len(cuts) > 1 else {}
    truth = Truth(tuple("abcd"), np.array([0.2, 0.9, -0.6, 1.1]), cuts[0], 1.0, terms)
    return BradleyTerry(
        simulate_counts(truth, 60, rng), prior, variance=InverseGamma(3, 2),
        tie=Exponential(2.0), step=HalfNormal(1.5), anchors=anchors,
    )  # fmt: skip


def summary(draws) -> np.ndarray:
    """Differences of quality, thresholds and log α², and squares (chains, draws, quantities)."""
    quality = draws.quality - draws.quality[..., :1]
    parts = [quality[..., 1:], np.log(draws.variance)[..., None]]
    own = np.concatenate([*parts, draws.terms.get("cut", draws.tie[..., None])], axis=-1)
    return np.concatenate([own, own**2], axis=-1)


GIBBS, METROPOLIS = Gibbs(1200, 60, 4, 1), Metropolis(1200, 12, 60, 4, 1)
EVERYDAY = {("map", GIBBS)}
PAIRS = [
    pytest.param(name, engine, marks=() if (name, engine) in EVERYDAY else pytest.mark.slow,
                 id=f"{name}, {engine.name}")
    for name in MODELS for engine in (GIBBS, METROPOLIS)
]  # fmt: skip


@pytest.mark.parametrize(("name", "engine"), PAIRS)
def test_exact_engines_agree(name, engine):
    """Gibbs draws a slope that is learned; Transport and Metropolis have it integrated out."""
    model = sixty_answers(name)
    ours, theirs = (
        summary(own.run(model, SeedSequence(4), no_progress))
        for own in (engine, Transport(4000, threads=1))
    )
    error = np.hypot(monte_carlo_error(ours), monte_carlo_error(theirs))
    gap = ours.mean(axis=(0, 1)) - theirs.mean(axis=(0, 1))
    assert_normal_scores(gap / error, LEVEL / 8)


# The check of each anchor.


@pytest.mark.slow
@pytest.mark.parametrize("name", ["grades", "covariates and judges"])
def test_each_anchor_is_checked_against_a_fit_without_it(name):
    """Where answers are many and scales are held, leaving it out is what the formula says.

    With an anchor that is not far off: the formula is linear about the fit that has it.
    """
    rng = np.random.default_rng(12)
    items, quality = tuple("abcdefgh"), np.linspace(-1.2, 1.2, 8)
    first, second = random_pairs(8, 1600, rng)
    strengths = np.zeros((1600, 2, 2), int)
    strengths[:, 0, 0] = 1
    strata = {"stratum": rng.integers(4, size=1600), "strata": tuple("pqrs")}
    graded = {"strengths": strengths} if name == "grades" else strata
    counts = Counts.of(items, first, second, np.ones(1600), np.zeros(1600), ordered=True, **graded)
    table = {"item": list(items), "x": quality**2}
    terms = (Order(), Sharpness(variance=Fixed(0.1)), Thresholds(variance=Fixed(0.1)))
    terms = () if name == "grades" else (Covariates(table, "x", variance=Fixed(0.5)), *terms)
    values = quality[:5] + 7 + np.array([0.0, 0.3, -0.1, 0.4, 0.2])
    anchors = Anchors(items[:5], values, 0.25)
    model = BradleyTerry(counts, variance=Fixed(1.5), terms=terms, anchors=anchors)
    truth = replace(Truth.from_model(model, rng), quality=quality)
    model = replace(model, counts=replicate_counts(model, truth, rng))
    own = anchor_table(fit(model, Transport(draws=8000), rng=2)).iloc[3]
    rest = Anchors(tuple("abce"), np.delete(values, 3), 0.25)
    left = fit(replace(model, anchors=rest), Transport(draws=8000), rng=3)
    score = left["posterior/quality"].sel(item="d") + left["posterior/anchor_level"]
    assert own["expected"] == pytest.approx(float(score.mean()), abs=0.1 * float(score.std()))
    assert own["expected_sd"] == pytest.approx(float(score.std()), rel=0.05)
    z = (values[3] - float(score.mean())) / np.hypot(0.25, float(score.std()))
    assert own["z"] == pytest.approx(z, abs=0.1)


# Calibration, with values of anchors that are simulated, too.

MAP = Graph.grid(3, 4)
STRATA = {"p": "old", "q": "old", "r": "young", "s": "young"}
CALIBRATED = {
    "five answers": (2, ()),
    "order and groups": (1, (Order(), Groups(STRATA))),
    "five answers, judges": (2, (Sharpness(), Thresholds())),
}


def one_study(name: str, rng: Generator) -> tuple[BradleyTerry, Truth]:
    """Eighty answers by four judges of twelve areas, five of which are anchors, from the prior."""
    levels, terms = CALIBRATED[name]
    first, second = random_pairs(12, 80, rng)
    strengths = np.zeros((80, 2, levels), int)
    strengths[:, 0, 0] = 1
    graded = {"strengths": strengths} if levels > 1 else {}
    counts = Counts.of(
        MAP.items, first, second, np.ones(80), np.zeros(80), ordered=True,
        stratum=rng.integers(4, size=80), strata=tuple(STRATA), **graded,
    )  # fmt: skip
    model = BradleyTerry(
        counts, Network(MAP, share=1), variance=IG, tie=Exponential(2.0), step=Exponential(1.0),
        terms=terms,
    )  # fmt: skip
    truth, sd = Truth.from_model(model, rng), rng.uniform(0.2, 1.5, 5)
    values = rng.normal(0, 10) + truth.quality[:5] + rng.normal(0, sd)
    anchors = Anchors(MAP.items[:5], values, sd)
    return replace(model, counts=replicate_counts(model, truth, rng), anchors=anchors), truth


def quantities(model: BradleyTerry, quality, tie, variance, terms) -> np.ndarray:
    """Qualities and gaps, thresholds, α², the likelihood of answers and anchors, and terms."""
    likelihood = model.design.likelihood.log_likelihood(model.design.arguments(quality, tie, terms))
    likelihood = likelihood + model.anchor_factor.log_density(quality)
    rest = [own.reshape(-1, len(tie))[:3] for key, own in terms.items() if key != "cut"]
    cuts = terms.get("cut", tie[None])
    gaps = quality[:2] - quality[2:4]
    rows = [quality[:2], quality[8:9], gaps, cuts, variance[None], likelihood[None]]
    return np.concatenate([*rows, *rest])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("studies", "name"),
    [
        (30, "five answers"), (30, "order and groups"),
        *(pytest.param(150, name, marks=pytest.mark.thorough) for name in CALIBRATED),
    ],
)  # fmt: skip
def test_truth_is_one_more_draw(studies, name):
    generators = np.random.default_rng(5).spawn(studies)
    own = [transport_ranks(*one_study(name, rng), quantities, rng) for rng in generators]
    assert_uniform_ranks(np.array(own))
