"""The preconditioner of a model with terms, against differences and SciPy's priors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy import stats

from support.judge_studies import (
    ANSWERS,
    FACTS,
    ITEMS,
    JUDGES,
    PATH,
    TERMS,
    model_with_terms,
    term_log_likelihood,
)
from support.reference_formulas import (
    DIFFERENCE,
    assert_normal_scores,
    derivative,
    monte_carlo_error,
)
from tiewise.engines import transport
from tiewise.engines.base import Draws
from tiewise.engines.preconditioners import arrowhead as arrowhead_module
from tiewise.engines.preconditioners import hierarchical_preconditioner
from tiewise.engines.preconditioners.arrowhead import newton_step
from tiewise.engines.preconditioners.hierarchical import HierarchicalPosterior, UnconstrainedScales
from tiewise.engines.preconditioners.hierarchical_marginal import HierarchicalMode, ModeFinder
from tiewise.engines.preconditioners.hierarchical_preconditioner import (
    HierarchicalPreconditioner,
    build_hierarchical_preconditioner,
)
from tiewise.engines.transport import Transport
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Covariance, Independent
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.scalar_priors.uniform import Uniform
from tiewise.model.terms import Groups, Sharpness, Thresholds
from tiewise.progress import no_progress

ROOT = np.random.default_rng(2).normal(size=(4, 2))
every_term = pytest.mark.parametrize("name", TERMS)


def flat(parts) -> np.ndarray:
    return np.concatenate([part[:, 0] for part in parts])


# Modes conditional on scales.


@every_term
def test_gradient_is_the_derivative_of_the_log_density(name):
    posterior = HierarchicalPosterior(model_with_terms(name))
    finder, rng = ModeFinder(posterior), np.random.default_rng(2)
    scales = posterior.log_scales(rng.normal(size=len(posterior.scales)) / 3)
    point = posterior.start() + 0.4 * rng.normal(size=sum(posterior.sizes))
    differences = derivative(lambda p: finder.log_density(p, scales), point)
    assert np.allclose(flat(finder.gradient(point, scales)), differences, rtol=0, atol=1e-6)


def some_mode(finder: ModeFinder, tolerance: float) -> HierarchicalMode:
    """The mode where all scales are e^{−½}."""
    scales = finder.posterior.scales
    return finder.mode(scales.unconstrain(np.full(len(scales), -0.5)), tolerance=tolerance)


def whole_matrix(posterior: HierarchicalPosterior, arrowhead, scales: np.ndarray) -> np.ndarray:
    """The arrowhead written out, priors of layers added."""
    core, strata = len(arrowhead.core), posterior.likelihood.strata
    size = core + len(arrowhead.sharpness_rows) + len(arrowhead.threshold_rows)
    out = np.zeros((size, size))
    out[:core, :core] = arrowhead.core
    start, rows = core, {}
    for kind in ("sharpness", "threshold"):
        diagonal = getattr(arrowhead, f"{kind}_diagonal") + getattr(arrowhead, f"{kind}_residual")
        cross = getattr(arrowhead, f"{kind}_rows") @ arrowhead.design
        if len(diagonal):
            rows[kind] = np.arange(start, start + strata)
            out[rows[kind], :core] = cross
            out[:core, rows[kind]] = cross.T
            out[rows[kind], rows[kind]] = diagonal
            start += strata
    if len(rows) == 2:
        out[rows["sharpness"], rows["threshold"]] = arrowhead.sharpness_threshold
        out[rows["threshold"], rows["sharpness"]] = arrowhead.sharpness_threshold
    for precision, own in zip(np.exp(-2 * scales), posterior.layer_slices, strict=True):
        diagonal = np.arange(own.start, own.stop)
        out[diagonal, diagonal] += precision
    return out


@every_term
def test_the_arrowhead_at_a_mode_is_made_of_second_derivatives(name):
    """But for sharpness with the core, where those that have mean zero are left out."""
    posterior = HierarchicalPosterior(model_with_terms(name))
    finder = ModeFinder(posterior)
    mode = some_mode(finder, 1e-12)
    arrowhead = finder.hessian(mode.point)
    ours = whole_matrix(posterior, arrowhead, mode.log_scales)
    hessian = -derivative(lambda p: flat(finder.gradient(p, mode.log_scales)), mode.point)
    compared = np.ones(hessian.shape, bool)
    if posterior.has_sharpness:
        core = np.arange(len(arrowhead.core))
        judges = len(core) + np.arange(3)
        compared[np.ix_(judges, core)] = compared[np.ix_(core, judges)] = False
    assert np.allclose(ours[compared], hessian[compared], rtol=1e-5, atol=1e-5)
    assert np.linalg.eigvalsh(ours)[0] > 0


@every_term
def test_newtons_step_solves_the_whole_matrix(name):
    posterior = HierarchicalPosterior(model_with_terms(name))
    finder, rng = ModeFinder(posterior), np.random.default_rng(2)
    scales = posterior.log_scales(np.full(len(posterior.scales), -0.5))
    mode = some_mode(finder, 1e-10)
    arrowhead, gradient = finder.hessian(mode.point), rng.normal(size=len(mode.point))
    step, log_determinant = newton_step(posterior, arrowhead, scales, posterior.split(gradient))
    whole = whole_matrix(posterior, arrowhead, scales)
    assert np.allclose(step, np.linalg.solve(whole, gradient))
    assert log_determinant == pytest.approx(np.linalg.slogdet(whole)[1])


@every_term
def test_the_gradient_is_zero_at_the_mode(name):
    posterior = HierarchicalPosterior(model_with_terms(name))
    finder = ModeFinder(posterior)
    mode = some_mode(finder, 1e-12)
    gradient = derivative(lambda p: finder.log_density(p, mode.log_scales), mode.point)
    matrix = whole_matrix(posterior, finder.hessian(mode.point), mode.log_scales)
    assert gradient @ np.linalg.solve(matrix, gradient) < 1e-8


@pytest.mark.parametrize("prior", [HalfNormalSpread(0.7), InverseGamma(3, 2)])
def test_unconstrained_scales_change_variables(prior):
    """Derivatives and Jacobians by differences, and back again."""
    scales = UnconstrainedScales([prior, Fixed(1.0)])
    for t in (-40.0, -3.0, 0.2, 4.0):
        at = scales.constrain(np.array([t]))
        by_t = derivative(lambda x: scales.constrain(x).log_scale, np.array([t]))
        assert at.by_t[0] == pytest.approx(by_t[0, 0], rel=1e-7)
        assert at.log_jacobian[0] == pytest.approx(np.log(by_t[0, 0]), abs=1e-7)
        twice = derivative(lambda x: scales.constrain(x).log_jacobian, np.array([t]))
        assert at.log_jacobian_by_t[0] == pytest.approx(twice[0, 0], abs=1e-7)
        assert scales.unconstrain(at.log_scale)[0] == pytest.approx(t, abs=1e-9)


# The preconditioner.


@every_term
def test_gradient_is_the_derivative_of_the_density_of_q(name):
    preconditioner = build_hierarchical_preconditioner(model_with_terms(name))
    points = np.random.default_rng(2).normal(size=(preconditioner.dimensions, 3))
    ours = preconditioner.gradient(points)
    for k, point in enumerate(points.T):
        differences = derivative(lambda q: preconditioner.log_density(q[:, None])[0], point)
        assert np.allclose(ours[:, k], differences, rtol=0, atol=100 * DIFFERENCE)


@pytest.mark.parametrize("name", ["fixed sharpness and thresholds", "all"])
def test_the_gradient_may_be_in_single_precision(name, monkeypatch):
    """The density is not: it decides about trajectories."""
    model = model_with_terms(name)
    exact = build_hierarchical_preconditioner(model)
    monkeypatch.setattr(hierarchical_preconditioner, "SINGLE_PRECISION_ROWS", 0)
    single = build_hierarchical_preconditioner(model)
    points = np.random.default_rng(2).normal(size=(exact.dimensions, 3))
    assert (single.log_density(points) == exact.log_density(points)).all()
    at = single.parameters(points, single=True)
    for gradient in (single.gradient(points), single.gradient_at(at)):
        assert not (gradient == exact.gradient(points)).all()
        assert np.allclose(gradient, exact.gradient(points), rtol=0, atol=1e-3)


def test_many_judges_are_eliminated_in_parts(monkeypatch):
    posterior = HierarchicalPosterior(model_with_terms("fixed sharpness and thresholds"))
    finder = ModeFinder(posterior)
    hessian = finder.hessian(some_mode(finder, 1e-8).point)
    whole = hessian.eliminate_judges(2.0, 3.0)
    monkeypatch.setattr(arrowhead_module, "MANY_JUDGES", 2)
    for ours, theirs in zip(hessian.eliminate_judges(2.0, 3.0), whole, strict=True):
        assert np.allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "priors",
    [
        {"tie": Uniform(0.1, 1.5)},
        {"tie": Fixed(0.4)},
        {"variance": Fixed(1.3)},
        {"prior": Independent()},
        {"prior": Covariance(ROOT @ ROOT.T, ITEMS)},
    ],
    ids=str,
)
def test_gradient_is_a_derivative_under_other_priors(priors):
    preconditioner = build_hierarchical_preconditioner(model_with_terms("all", **priors))
    points = np.random.default_rng(2).normal(size=(preconditioner.dimensions, 3))
    ours = preconditioner.gradient(points)
    for k, point in enumerate(points.T):
        differences = derivative(lambda q: preconditioner.log_density(q[:, None])[0], point)
        assert np.allclose(ours[:, k], differences, rtol=0, atol=100 * DIFFERENCE)


def natural(preconditioner: HierarchicalPreconditioner, q: np.ndarray) -> dict[str, np.ndarray]:
    """The draws at q by name, and the random part of quality."""
    draws = preconditioner.draws(preconditioner.parameters(q[:, None]))
    at = {name: value[..., 0] for name, value in draws.items()}
    columns = preconditioner.posterior.design.columns
    explained = 0.0
    if columns is not None:
        explained = columns.standard @ (at["coefficient"] * columns.sd)
    return at | {"random": at["quality"] - explained}


def coordinates(preconditioner: HierarchicalPreconditioner, q: np.ndarray) -> np.ndarray:
    """A coordinate system of all that is inferred, in the scales of its priors."""
    at, design = natural(preconditioner, q), preconditioner.posterior.design
    parts = [at["random"], [np.log(at["variance"])], [at["tie"]]]
    for name in ("coefficient", "order"):
        if name in at:
            parts.append(at[name])
    if "coefficient_sd" in at:
        parts.append([np.log(at["coefficient_sd"])])
    if "contrast" in at:
        parts += [np.ravel(design.contrasts.T @ at["contrast"]), [np.log(at["contrast_variance"])]]
    for name, free in (("sharpness", design.sharpness), ("threshold", design.thresholds)):
        if free is not None:
            parts.append(np.log(at[name]))
            if not isinstance(free.variance, Fixed):
                parts.append([np.log(at[f"{name}_sd"])])
    return np.concatenate(parts)


def log_prior_of_scale(prior, sd: float) -> float:
    """Density of the logarithm of a scale, by SciPy."""
    if isinstance(prior, Fixed):
        return 0.0
    if isinstance(prior, HalfNormalSpread):
        return float(stats.halfnorm(scale=prior.scale).logpdf(sd) + np.log(sd))
    return float(stats.invgamma(prior.shape, scale=prior.scale).logpdf(sd**2) + 2 * np.log(sd))


def log_posterior(preconditioner: HierarchicalPreconditioner, q: np.ndarray) -> float:
    """The likelihood of one answer after the other, and SciPy's priors."""
    at, design = natural(preconditioner, q), preconditioner.posterior.design
    groups, strata = len(design.group_names), len(JUDGES)
    contrast = at.get("contrast", np.zeros((1, 4)))
    total = 0.0
    for (one, two, judge, answer), facts in zip(ANSWERS, FACTS, strict=True):
        values = design.advantage_values[judge]
        if design.facts is not None:
            values = facts if len(design.advantages) == 2 else np.append(1.0, facts)
        mine = {
            "quality": at["quality"],
            "contrast": np.repeat(contrast[[design.group[judge] if groups > 1 else 0]], 2, axis=0),
            "order": np.atleast_1d(values @ at["order"] if "order" in at else 0.0),
            "sharpness": at.get("sharpness", np.ones(strata)),
            "threshold": at.get("threshold", np.full(strata, at["tie"])),
        }
        total += term_log_likelihood([(one, two, judge, answer)], mine)
    normal = stats.multivariate_normal
    total += normal(cov=at["variance"] * PATH.covariance()).logpdf(at["random"])
    total += log_prior_of_scale(InverseGamma(3, 2), float(np.sqrt(at["variance"])))
    total += stats.expon(scale=0.5).logpdf(at["tie"])
    if design.covariates is not None:
        fixed = design.covariates.variance
        sd = float(at["coefficient_sd"]) if "coefficient_sd" in at else np.sqrt(fixed.value)
        total += stats.norm(0, sd).logpdf(at["coefficient"] * design.columns.sd).sum()
        total += log_prior_of_scale(fixed, sd)
    if design.order is not None:
        unit = 1.0 if design.facts is None else design.facts.sd
        total += stats.norm(0, 1).logpdf(at["order"] * unit).sum()
    if design.groups is not None:
        apart = design.contrasts.T @ at["contrast"]
        covariance = np.eye(4) if design.groups.prior is not None else PATH.covariance()
        total += normal(cov=at["contrast_variance"] * covariance).logpdf(apart).sum()
        total += log_prior_of_scale(design.groups.variance, float(np.sqrt(at["contrast_variance"])))
    for name, term, centre in (
        ("sharpness", design.sharpness, 0.0), ("threshold", design.thresholds, np.log(at["tie"])),
    ):  # fmt: skip
        if term is not None:
            total += stats.norm(centre, at[f"{name}_sd"]).logpdf(np.log(at[name])).sum()
            total += log_prior_of_scale(term.variance, float(at[f"{name}_sd"]))
    return float(total)


@every_term
def test_the_density_of_q_is_the_posterior_times_the_jacobian(name):
    """The determinant by differences of everything that is inferred."""
    preconditioner = build_hierarchical_preconditioner(model_with_terms(name))
    points = np.random.default_rng(2).normal(size=(preconditioner.dimensions, 4))
    witness = []
    for q in points.T:
        jacobian = derivative(lambda p: coordinates(preconditioner, p), q)
        assert jacobian.shape == (preconditioner.dimensions, preconditioner.dimensions)
        witness.append(log_posterior(preconditioner, q) + np.linalg.slogdet(jacobian)[1])
    difference = preconditioner.log_density(points) - np.array(witness)
    assert np.allclose(difference, difference[0], rtol=0, atol=1e-6)


# The plain model, both ways.


def explore(model: BradleyTerry, engine: Transport, seed: int) -> Draws:
    return engine.run(model, SeedSequence(seed), no_progress)


@pytest.mark.slow
def test_a_model_without_terms_is_the_same_with_both_preconditioners(village, monkeypatch):
    """Centred qualities and their squares, δ and log α², within Monte Carlo error."""
    engine = Transport(draws=16_000, chains=8)
    plain = explore(village.model, engine, 2)
    monkeypatch.setattr(
        transport, "plain_or_mixture", lambda model, _: build_hierarchical_preconditioner(model)
    )
    layered = explore(village.model, engine, 3)
    assert not layered.terms
    one, two = (table(draws) for draws in (plain, layered))
    error = np.hypot(monte_carlo_error(one), monte_carlo_error(two))
    assert_normal_scores((one.mean(axis=(0, 1)) - two.mean(axis=(0, 1))) / error)


def table(draws: Draws) -> np.ndarray:
    centred = draws.quality - draws.quality.mean(axis=-1, keepdims=True)
    scalars = [draws.tie[..., None], np.log(draws.variance)[..., None]]
    return np.concatenate([centred, centred**2, *scalars], axis=-1)


@pytest.mark.slow
def test_terms_without_variance_leave_the_plain_posterior(village):
    """Sharpness, thresholds and contrasts of next to no variance, against the plain model."""
    counts = village.counts
    halves = type(counts).of(
        counts.items, np.tile(counts.first, 2), np.tile(counts.second, 2),
        np.append(counts.wins_first, 0 * counts.wins_first),
        np.append(0 * counts.wins_second, counts.wins_second),
        np.append(counts.ties, 0 * counts.ties),
        stratum=np.repeat([0, 1], len(counts.first)), strata=("p", "q"),
    )  # fmt: skip
    none = Fixed(1e-10)
    terms = (Sharpness(variance=none), Thresholds(variance=none), Groups(variance=none))
    model = BradleyTerry(
        halves, village.model.prior, variance=village.model.variance, tie=village.model.tie,
        terms=terms,
    )  # fmt: skip
    engine = Transport(draws=16_000, chains=8)
    one, two = table(explore(village.model, engine, 2)), table(explore(model, engine, 3))
    error = np.hypot(monte_carlo_error(one), monte_carlo_error(two))
    assert_normal_scores((one.mean(axis=(0, 1)) - two.mean(axis=(0, 1))) / error)
