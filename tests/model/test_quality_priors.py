"""What is believed before any judgement, held against SciPy's matrices and densities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.linalg import expm
from scipy.spatial.distance import pdist, squareform

from support.reference_formulas import DIFFERENCE, derivative
from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model import scalar_priors
from tiewise.model.quality_priors import Covariance, Distance, Independent, Network, Precision
from tiewise.model.scalar_priors import (
    TIE_PRIORS,
    VARIANCE_PRIORS,
    Exponential,
    Fixed,
    Gamma,
    HalfNormal,
    HalfNormalSpread,
    InverseGamma,
    Threshold,
    Uniform,
    say,
    spoken,
)

ITEMS = ("a", "b", "c", "d", "e")
PLACES = np.array([[0.0, 0.0], [1.0, 0.5], [2.5, 0.0], [0.0, 3.0], [4.0, 4.0]])
RING = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "a"), ("a", "c")])


def some_covariance(rank: int = 5) -> np.ndarray:
    root = np.random.default_rng(2).normal(size=(5, rank))
    return root @ root.T


def laplacian(graph: Graph) -> np.ndarray:
    adjacency = graph.adjacency().toarray()
    return np.diag(adjacency.sum(axis=0)) - adjacency


def network_by_expm(graph: Graph) -> np.ndarray:
    grown = expm(graph.adjacency().toarray())
    unit = np.diag(np.diag(grown) ** -0.5)
    return unit @ grown @ unit


def kernel(shape: str, apart: np.ndarray) -> np.ndarray:
    """Rasmussen and Williams (4.17, 4.18), and the exponential."""
    if shape == "exponential":
        return np.exp(-apart)
    root = np.sqrt(3.0 if shape == "matern32" else 5.0) * apart
    return (1 + root + (0 if shape == "matern32" else root**2 / 3)) * np.exp(-root)


APART = squareform(pdist(PLACES))
PRIORS = {
    "independent": (Independent(), np.eye(5)),
    "network": (Network(RING), network_by_expm(RING)),
    "covariance": (Covariance(some_covariance(), ITEMS), some_covariance()),
    "semi-definite": (Covariance(some_covariance(3), ITEMS), some_covariance(3)),
    "precision": (Precision(some_covariance(), ITEMS), np.linalg.inv(some_covariance())),
    "sparse precision": (
        Precision(sparse.csr_array(laplacian(RING) + np.eye(5)), ITEMS),
        np.linalg.inv(laplacian(RING) + np.eye(5)),
    ),
    "sum to zero": (
        Precision(laplacian(RING), ITEMS, sum_to_zero=True),
        np.linalg.pinv(laplacian(RING)),
    ),
    **{
        shape: (Distance(PLACES, ITEMS, reach=1.5, shape=shape), kernel(shape, APART / 1.5))
        for shape in ("exponential", "matern32", "matern52")
    },
}


@pytest.mark.parametrize("name", PRIORS)
def test_factor_squared_is_the_covariance(name):
    """F Fᵀ = Σ, with as many columns as Σ has rank."""
    prior, covariance = PRIORS[name]
    factor = prior.factor(5)
    factor = np.eye(5) if factor is None else factor
    assert np.allclose(factor @ factor.T, covariance, rtol=0, atol=1e-10)
    assert factor.shape[1] == np.linalg.matrix_rank(covariance)


@pytest.mark.parametrize("name", PRIORS)
def test_precision_is_the_inverse_or_is_not_given(name):
    prior, covariance = PRIORS[name]
    precision = prior.precision(5)
    if np.linalg.matrix_rank(covariance) < 5:
        assert precision is None
    else:
        assert np.allclose(precision @ covariance, np.eye(5), atol=1e-8)


@pytest.mark.parametrize("name", ["network", "exponential", "matern32", "matern52"])
def test_map_priors_have_unit_variances(name):
    """So that α² is the variance of one area's quality."""
    assert np.allclose(np.diag(PRIORS[name][0].covariance()), 1)


def test_an_ill_conditioned_covariance_is_worked_with_through_its_factor():
    """A row of neighbours has e^A with a condition number below e⁴, which is inverted; places in
    a row under a smooth covariance function of long reach are all but collinear."""
    assert Network(Graph.grid(1, 50)).precision(50) is not None
    row = np.column_stack([np.arange(60.0), np.zeros(60)])
    smooth = Distance(row, tuple(map(str, range(60))), reach=100.0, shape="matern52")
    assert smooth.precision(60) is None
    factor = smooth.factor(60)
    whole = kernel("matern52", squareform(pdist(row)) / 100.0)
    assert np.allclose(factor @ factor.T, whole, atol=1e-7)


def test_network_without_lanes_is_independent():
    lonely = Graph(ITEMS, np.empty((0, 2), int))
    assert np.allclose(Network(lonely).covariance(), np.eye(5))


def test_a_covariance_is_used_as_given():
    """Never silently rescaled."""
    assert np.allclose(Covariance(4 * some_covariance(), ITEMS).covariance(), 4 * some_covariance())


def test_rescale_gives_correlations():
    unit = np.diag(some_covariance()) ** -0.5
    prior = Covariance(some_covariance(), ITEMS, rescale=True)
    assert np.allclose(prior.covariance(), unit[:, None] * some_covariance() * unit)


@pytest.mark.parametrize("kind", [Covariance, Precision])
@pytest.mark.parametrize(
    ("matrix", "why"),
    [
        (np.eye(4), "5 square, not"),
        (np.ones(5), "5 square, not"),
        (np.eye(5) + np.eye(5, k=1), "not symmetric"),
        (np.eye(5) * np.nan, "not finite"),
    ],
)
def test_matrices_that_cannot_be_are_refused(kind, matrix, why):
    with pytest.raises(InputError, match=why):
        kind(matrix, ITEMS)


@pytest.mark.parametrize("bad", [np.diag([1.0, 1, 1, 1, -0.01]), -np.eye(5)])
def test_a_covariance_that_is_not_one_is_refused(bad):
    with pytest.raises(InputError, match="not positive semi-definite"):
        Covariance(bad, ITEMS)


def test_a_covariance_of_nothing_is_refused():
    with pytest.raises(InputError, match="0 everywhere"):
        Covariance(np.zeros((5, 5)), ITEMS)


def test_rescale_without_variance_is_refused():
    with pytest.raises(InputError, match="positive variances"):
        Covariance(np.diag([1.0, 1, 1, 1, 0]), ITEMS, rescale=True)


@pytest.mark.parametrize("bad", [laplacian(RING), np.zeros((5, 5)), np.diag([1.0, 1, 1, 1, -2])])
def test_a_singular_precision_is_refused(bad):
    with pytest.raises(InputError, match="singular or indefinite.*sum_to_zero"):
        Precision(bad, ITEMS)


def test_sum_to_zero_leaves_only_the_level_free():
    """Two maps with no border between them have two free levels, and one statement."""
    apart = Graph.from_edges([("a", "b"), ("c", "d"), ("d", "e")])
    with pytest.raises(InputError, match="singular"):
        Precision(laplacian(apart), ITEMS, sum_to_zero=True)


def test_places_must_fit_the_items():
    with pytest.raises(InputError, match="as many places"):
        Distance(PLACES[:4], ITEMS)
    with pytest.raises(InputError, match="exponential, matern32, matern52"):
        Distance(PLACES, ITEMS, shape="gaussian")
    with pytest.raises(InputError, match="positive distance"):
        Distance(PLACES, ITEMS, reach=-1.0)


def test_reach_left_out_is_twice_the_typical_step():
    nearest = np.sort(APART, axis=1)[:, 1]
    assert Distance(PLACES, ITEMS).reach == pytest.approx(2 * np.median(nearest))


# Priors of the threshold δ.

TIES = {
    "exponential": (Exponential(2.0), stats.expon(scale=0.5)),
    "gamma": (Gamma(2.0, 3.0), stats.gamma(2, scale=1 / 3)),
    "gamma below one": (Gamma(0.5, 1.0), stats.gamma(0.5)),
    "half-normal": (HalfNormal(0.7), stats.halfnorm(scale=0.7)),
    "uniform": (Uniform(0.0, 1.5), stats.uniform(0, 1.5)),
    "uniform above": (Uniform(0.2, 0.9), stats.uniform(0.2, 0.7)),
}
INSIDE = np.array([0.25, 0.4, 0.63, 0.85])


@pytest.mark.parametrize("name", TIES)
def test_tie_priors_have_scipys_density(name):
    """Up to a constant; slope and bend are its derivatives."""
    prior, known = TIES[name]
    difference = prior.log_density(INSIDE) - known.logpdf(INSIDE)
    assert np.allclose(difference, difference[0], atol=1e-12)
    slope = np.diag(derivative(known.logpdf, INSIDE))
    assert np.allclose(prior.slope(INSIDE), slope, atol=DIFFERENCE)
    assert np.allclose(prior.bend(INSIDE), np.diag(derivative(prior.slope, INSIDE)), atol=1e-7)


@pytest.mark.parametrize("unit", [0.05, 1.0])
@pytest.mark.parametrize("name", TIES)
def test_line_and_threshold_round_trip(name, unit):
    line = Threshold(TIES[name][0], unit)
    for tie in INSIDE:
        there = line.from_line(np.array([line.to_line(tie)]))
        assert there.tie[0] == pytest.approx(tie, rel=1e-12)


@pytest.mark.parametrize("name", TIES)
def test_line_stays_inside_the_support(name):
    prior, known = TIES[name]
    tie = Threshold(prior, 0.3).from_line(np.linspace(-30, 30, 13)).tie
    assert (tie >= known.support()[0]).all()
    assert (tie <= known.support()[1]).all()
    assert (np.diff(tie) >= 0).all()


@pytest.mark.parametrize("unit", [0.05, 1.0])
@pytest.mark.parametrize("name", TIES)
def test_line_knows_its_jacobian(name, unit):
    """Every derivative of `OnLine` is that of the one before it."""
    threshold = Threshold(TIES[name][0], unit)
    line = np.array([-2.0, -0.3, 0.1, 1.1])
    there = threshold.from_line(line)

    def by_t(part):
        return np.diag(derivative(lambda t: getattr(threshold.from_line(t), part), line))

    assert np.allclose(there.by_t, by_t("tie"), atol=DIFFERENCE)
    assert np.allclose(there.by_t_twice, by_t("by_t"), atol=DIFFERENCE)
    assert np.allclose(there.log_stretch, np.log(by_t("tie")), atol=1e-7)
    assert np.allclose(there.log_stretch_by_t, by_t("log_stretch"), atol=DIFFERENCE)
    assert np.allclose(there.log_stretch_by_t_twice, by_t("log_stretch_by_t"), atol=DIFFERENCE)


@pytest.mark.parametrize("name", TIES)
def test_a_threshold_passes_its_priors_density_on(name):
    prior, known = TIES[name]
    threshold = Threshold(prior, 0.3)
    difference = threshold.log_density(INSIDE) - known.logpdf(INSIDE)
    assert np.allclose(difference, difference[0])
    assert np.allclose(threshold.slope(INSIDE), prior.slope(INSIDE))
    assert np.allclose(threshold.bend(INSIDE), prior.bend(INSIDE))


# Priors of the variance α², through a = log α.

VARIANCES = {
    "inverse gamma": (InverseGamma(3.0, 2.0), stats.invgamma(3, scale=2)),
    "paper": (InverseGamma(), stats.invgamma(0.01, scale=0.01)),
}


@pytest.mark.parametrize("name", VARIANCES)
def test_variance_priors_have_scipys_density(name):
    """With the Jacobian of α² = e^{2a}, up to a constant."""
    prior, known = VARIANCES[name]
    a = np.array([-1.0, -0.2, 0.4, 1.3])
    witness = known.logpdf(np.exp(2 * a)) + np.log(2 * np.exp(2 * a))
    difference = prior.log_density(a) - witness
    assert np.allclose(difference, difference[0], atol=1e-12)
    assert np.allclose(prior.slope(a), np.diag(derivative(prior.log_density, a)), atol=DIFFERENCE)


def test_half_normal_spread_is_of_alpha_not_its_square():
    prior, a = HalfNormalSpread(0.8), np.array([-1.0, -0.2, 0.4, 1.3])
    witness = stats.halfnorm(scale=0.8).logpdf(np.exp(a)) + a
    difference = prior.log_density(a) - witness
    assert np.allclose(difference, difference[0], atol=1e-12)
    assert np.allclose(prior.slope(a), np.diag(derivative(prior.log_density, a)), atol=DIFFERENCE)


SAMPLERS = {
    **TIES,
    "inverse gamma": VARIANCES["inverse gamma"],
    "half-normal spread": (HalfNormalSpread(0.8), stats.chi2(1, scale=0.64)),
}


def test_samples_come_from_the_densities():
    """Kolmogorov and Smirnov, over all priors as one family."""
    rng = np.random.default_rng(2)
    for prior, known in SAMPLERS.values():
        draws = [prior.sample(rng) for _ in range(2000)]
        assert stats.kstest(draws, known.cdf).pvalue > 1e-3 / len(SAMPLERS)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize(
    "make",
    [Exponential, HalfNormal, HalfNormalSpread, *(
        lambda v, kind=kind, k=k: kind(*[v if j == k else 1.0 for j in range(2)])
        for kind in (Gamma, InverseGamma) for k in range(2)
    )],
)  # fmt: skip
def test_scales_and_shapes_are_positive(make, value):
    with pytest.raises(InputError, match="positive number"):
        make(value)


@pytest.mark.parametrize("ends", [(1.0, 1.0), (2.0, 1.0), (-1.0, 1.0), (0.0, np.inf), (0, np.nan)])
def test_uniform_needs_an_interval(ends):
    with pytest.raises(InputError, match="0 <= low < high"):
        Uniform(*ends)


@pytest.mark.parametrize("value", [-0.1, np.nan, np.inf])
def test_fixed_values_are_zero_or_more(value):
    with pytest.raises(InputError, match="0 or more"):
        Fixed(value)
    assert Fixed(0.3).sample(np.random.default_rng(2)) == 0.3


def test_no_tie_prior_is_left_out():
    """Every belief about δ in the package is held against SciPy above."""
    known = {type(prior) for prior, _ in TIES.values()}
    assert known == set(scalar_priors.TiePrior.__subclasses__())


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        *((f"{name}({numbers})", TIE_PRIORS) for name, numbers in (
            ("exponential", "0.01"), ("gamma", "2, 3"), ("half-normal", "0.7"),
            ("uniform", "0.1, 1.2"), ("fixed", "0.5"))),
        *((f"{name}({numbers})", VARIANCE_PRIORS) for name, numbers in (
            ("inverse-gamma", "0.01, 0.01"), ("half-normal", "2"), ("fixed", "1"))),
    ],
)  # fmt: skip
def test_a_prior_says_what_was_said(words, kinds):
    assert say(spoken(words, kinds)) == words


def test_a_prior_of_ones_own_says_its_repr():
    class Stubborn(Exponential):
        pass

    assert "Stubborn" in say(Stubborn())
