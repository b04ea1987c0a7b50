"""The chart of a model with terms: against differences, SciPy's priors and longhand judging."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy import stats

from model.test_terms import GROUP, ITEMS, JUDGES, longhand, said_of
from model.test_terms import counted as counted_by
from support.reference_formulas import DIFFERENCE, derivative, monte_carlo_error, within_chance
from tiewise.engines import transport
from tiewise.engines.arrowhead import newton_step
from tiewise.engines.base import Draws
from tiewise.engines.hierarchical import Layers
from tiewise.engines.hierarchical_marginal import Climb
from tiewise.engines.hierarchical_preconditioner import LayeredChart, draw_layered_chart
from tiewise.engines.scale_coordinates import ScaleLines
from tiewise.engines.transport import Transport
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Covariance, Independent, Network
from tiewise.model.scalar_priors import Exponential, Fixed, HalfNormalSpread, InverseGamma, Uniform
from tiewise.model.terms import Covariates, Groups, Order, Sharpness, Thresholds
from tiewise.progress import no_progress

LANE = Network(Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")]))
ROOT = np.random.default_rng(2).normal(size=(4, 2))
TABLE = {"item": list(ITEMS), "x": [0.3, 1.0, 2.5, 2.0], "kind": ["u", "v", "u", "v"]}
SAID = said_of(60)
TERMS = {
    "none": (),
    "covariates": (Covariates(TABLE, "x + kind"),),
    "shrunk covariates": (Covariates(TABLE, "x + kind", variance=HalfNormalSpread(1.0)),),
    "order": (Order(),),
    "order by judge": (
        Order(by={"one": dict.fromkeys(JUDGES, 1), "two": {"p": 0, "q": 1, "r": 3}}),
    ),
    "groups": (Groups(GROUP),),
    "three groups": (Groups(variance=InverseGamma(3, 2)),),
    "groups with a prior": (Groups(GROUP, prior=Independent(ITEMS)),),
    "sharpness": (Sharpness(),),
    "thresholds": (Thresholds(),),
    "fixed sharpness and thresholds": (
        Sharpness(variance=Fixed(0.2)), Thresholds(variance=Fixed(0.3)),
    ),
    "all": (Covariates(TABLE, "x"), Order(), Groups(GROUP), Sharpness(), Thresholds()),
}  # fmt: skip
every_term = pytest.mark.parametrize("name", TERMS)


def model_of(name: str, **beliefs) -> BradleyTerry:
    how = {"variance": InverseGamma(3, 2), "tie": Exponential(2.0)} | beliefs
    return BradleyTerry(counted_by(SAID), how.pop("prior", LANE), terms=TERMS[name], **how)


def flat(parts) -> np.ndarray:
    return np.concatenate([part[:, 0] for part in parts])


# Modes given scales.


@every_term
def test_slopes_given_scales_are_derivatives(name):
    layers = Layers(model_of(name))
    climb, rng = Climb(layers), np.random.default_rng(2)
    scales = layers.log_scales(rng.normal(size=len(layers.lines.bent)) / 3)
    point = layers.start() + 0.4 * rng.normal(size=sum(layers.sizes))
    differences = derivative(lambda p: climb.value(p, scales), point)
    assert np.allclose(flat(climb.slope(point, scales)), differences, rtol=0, atol=1e-6)


def whole_matrix(layers: Layers, arrow, scales: np.ndarray) -> np.ndarray:
    """The arrow written out, priors of layers added."""
    core, strata = len(arrow.core), layers.rows.strata
    size = core + len(arrow.sharpness) + len(arrow.threshold)
    out = np.zeros((size, size))
    out[:core, :core] = arrow.core
    start, places = core, {}
    for kind, own in (
        ("sharpness", arrow.sharpness_own + arrow.sharpness_rest),
        ("threshold", arrow.threshold_own + arrow.threshold_rest),
    ):  # fmt: skip
        if len(own):
            places[kind] = np.arange(start, start + strata)
            out[places[kind], :core] = getattr(arrow, kind)
            out[:core, places[kind]] = getattr(arrow, kind).T
            out[places[kind], places[kind]] = own
            start += strata
    if len(places) == 2:
        out[places["sharpness"], places["threshold"]] = arrow.between
        out[places["threshold"], places["sharpness"]] = arrow.between
    for shrink, span in zip(np.exp(-2 * scales), layers.spans, strict=True):
        here = np.arange(span.start, span.stop)
        out[here, here] += shrink
    return out


@every_term
def test_the_arrow_at_a_mode_is_made_of_second_derivatives(name):
    """But for sharpness with the core, where those that have mean zero are left out."""
    layers = Layers(model_of(name))
    climb = Climb(layers)
    free = layers.lines.to_line(np.full(len(layers.lines.bent), -0.5))
    mode = climb.mode(free, close=1e-12)
    arrow = climb.arrow(mode.point)
    ours = whole_matrix(layers, arrow, mode.log_scales)
    bends = -derivative(lambda p: flat(climb.slope(p, mode.log_scales)), mode.point)
    known = np.ones(bends.shape, bool)
    if layers.sharp:
        core, judges = len(arrow.core), np.arange(len(arrow.core), len(arrow.core) + 3)
        known[np.ix_(judges, np.arange(core))] = known[np.ix_(np.arange(core), judges)] = False
    assert np.allclose(ours[known], bends[known], rtol=1e-5, atol=1e-5)
    assert np.linalg.eigvalsh(ours)[0] > 0


@every_term
def test_newtons_step_solves_the_whole_matrix(name):
    layers = Layers(model_of(name))
    climb, rng = Climb(layers), np.random.default_rng(2)
    scales = layers.log_scales(np.full(len(layers.lines.bent), -0.5))
    mode = climb.mode(layers.lines.to_line(np.full(len(layers.lines.bent), -0.5)), close=1e-10)
    arrow, slope = climb.arrow(mode.point), rng.normal(size=len(mode.point))
    step, log_det = newton_step(layers, arrow, scales, layers.parts(slope))
    whole = whole_matrix(layers, arrow, scales)
    assert np.allclose(step, np.linalg.solve(whole, slope))
    assert log_det == pytest.approx(np.linalg.slogdet(whole)[1])


@every_term
def test_the_mode_is_level_ground(name):
    layers = Layers(model_of(name))
    climb = Climb(layers)
    mode = climb.mode(layers.lines.to_line(np.full(len(layers.lines.bent), -0.5)), close=1e-12)
    slope = derivative(lambda p: climb.value(p, mode.log_scales), mode.point)
    matrix = whole_matrix(layers, climb.arrow(mode.point), mode.log_scales)
    assert slope @ np.linalg.solve(matrix, slope) < 1e-8


@pytest.mark.parametrize("prior", [HalfNormalSpread(0.7), InverseGamma(3, 2)])
def test_lines_of_scales_change_variables(prior):
    """Slopes and Jacobians by differences, and back again."""
    lines = ScaleLines([prior, Fixed(1.0)])
    for t in (-40.0, -3.0, 0.2, 4.0):
        at = lines.at(np.array([t]))
        by_t = derivative(lambda x: lines.at(x).log_scale, np.array([t]))
        assert at.by_t[0] == pytest.approx(by_t[0, 0], rel=1e-7)
        assert at.log_stretch[0] == pytest.approx(np.log(by_t[0, 0]), abs=1e-7)
        twice = derivative(lambda x: lines.at(x).log_stretch, np.array([t]))
        assert at.log_stretch_by_t[0] == pytest.approx(twice[0, 0], abs=1e-7)
        assert lines.to_line(at.log_scale)[0] == pytest.approx(t, abs=1e-9)


# The chart.


@every_term
def test_chart_slope_is_the_derivative_of_its_density(name):
    chart = draw_layered_chart(model_of(name))
    points = np.random.default_rng(2).normal(size=(chart.dimensions, 3))
    ours = chart.slope(points)
    for k, point in enumerate(points.T):
        differences = derivative(lambda q: chart.log_density(q[:, None])[0], point)
        assert np.allclose(ours[:, k], differences, rtol=0, atol=100 * DIFFERENCE)


@pytest.mark.parametrize(
    "beliefs",
    [
        {"tie": Uniform(0.1, 1.5)},
        {"tie": Fixed(0.4)},
        {"variance": Fixed(1.3)},
        {"prior": Independent()},
        {"prior": Covariance(ROOT @ ROOT.T, ITEMS)},
    ],
    ids=str,
)
def test_chart_slope_is_a_derivative_whatever_is_believed(beliefs):
    chart = draw_layered_chart(model_of("all", **beliefs))
    points = np.random.default_rng(2).normal(size=(chart.dimensions, 3))
    ours = chart.slope(points)
    for k, point in enumerate(points.T):
        differences = derivative(lambda q: chart.log_density(q[:, None])[0], point)
        assert np.allclose(ours[:, k], differences, rtol=0, atol=100 * DIFFERENCE)


def natural(chart: LayeredChart, q: np.ndarray) -> dict[str, np.ndarray]:
    """What is told at q, and the random part of quality."""
    at = {name: value[..., 0] for name, value in chart.told(chart.place(q[:, None])).items()}
    columns = chart.layers.design.columns
    known = 0.0
    if columns is not None:
        known = columns.standard @ (at["coefficient"] * columns.sd)
    return at | {"random": at["quality"] - known}


def coordinates(chart: LayeredChart, q: np.ndarray) -> np.ndarray:
    """A coordinate system of all that is inferred, in the scales of its priors."""
    at, design = natural(chart, q), chart.layers.design
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


def log_posterior(chart: LayeredChart, q: np.ndarray) -> float:
    """Longhand judging and SciPy's priors, of the coordinates above."""
    at, design = natural(chart, q), chart.layers.design
    groups, strata = len(design.group_names), len(JUDGES)
    contrast = at.get("contrast", np.zeros((1, 4)))
    total = 0.0
    for one, two, judge, answer in SAID:
        mine = {
            "quality": at["quality"],
            "contrast": np.repeat(contrast[[design.group[judge] if groups > 1 else 0]], 2, axis=0),
            "order": np.atleast_1d(design.sides[judge] @ at["order"] if "order" in at else 0.0),
            "sharpness": at.get("sharpness", np.ones(strata)),
            "threshold": at.get("threshold", np.full(strata, at["tie"])),
        }
        total += longhand([(one, two, judge, answer)], mine)
    normal = stats.multivariate_normal
    total += normal(cov=at["variance"] * LANE.covariance()).logpdf(at["random"])
    total += log_prior_of_scale(InverseGamma(3, 2), float(np.sqrt(at["variance"])))
    total += stats.expon(scale=0.5).logpdf(at["tie"])
    if design.covariates is not None:
        fixed = design.covariates.variance
        sd = float(at["coefficient_sd"]) if "coefficient_sd" in at else np.sqrt(fixed.value)
        total += stats.norm(0, sd).logpdf(at["coefficient"] * design.columns.sd).sum()
        total += log_prior_of_scale(fixed, sd)
    if design.order is not None:
        total += stats.norm(0, 1).logpdf(at["order"]).sum()
    if design.groups is not None:
        apart = design.contrasts.T @ at["contrast"]
        covariance = np.eye(4) if design.groups.prior is not None else LANE.covariance()
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
def test_chart_density_is_the_posterior_times_the_jacobian(name):
    """The determinant by differences of everything that is inferred."""
    chart = draw_layered_chart(model_of(name))
    points = np.random.default_rng(2).normal(size=(chart.dimensions, 4))
    witness = []
    for q in points.T:
        jacobian = derivative(lambda p: coordinates(chart, p), q)
        assert jacobian.shape == (chart.dimensions, chart.dimensions)
        witness.append(log_posterior(chart, q) + np.linalg.slogdet(jacobian)[1])
    difference = chart.log_density(points) - np.array(witness)
    assert np.allclose(difference, difference[0], rtol=0, atol=1e-6)


# The plain model, both ways.


def explore(model: BradleyTerry, engine: Transport, seed: int) -> Draws:
    return engine.run(model, SeedSequence(seed), no_progress)


def test_a_model_without_terms_is_the_same_on_both_charts(village, monkeypatch):
    """Centred qualities and their squares, δ and log α², within Monte Carlo error."""
    engine = Transport(draws=16_000, chains=8)
    plain = explore(village.model, engine, 2)
    monkeypatch.setattr(transport, "draw_chart", lambda model, _: draw_layered_chart(model))
    layered = explore(village.model, engine, 3)
    assert not layered.more
    one, two = (table(draws) for draws in (plain, layered))
    error = np.hypot(monte_carlo_error(one), monte_carlo_error(two))
    within_chance((one.mean(axis=(0, 1)) - two.mean(axis=(0, 1))) / error)


def table(draws: Draws) -> np.ndarray:
    centred = draws.quality - draws.quality.mean(axis=-1, keepdims=True)
    scalars = [draws.tie[..., None], np.log(draws.variance)[..., None]]
    return np.concatenate([centred, centred**2, *scalars], axis=-1)


def test_terms_that_say_nothing_leave_the_plain_posterior(village):
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
    within_chance((one.mean(axis=(0, 1)) - two.mean(axis=(0, 1))) / error)
