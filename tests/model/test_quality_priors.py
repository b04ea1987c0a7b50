"""What is believed before any judgement, held against SciPy's matrices and densities."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import expm
from scipy.spatial.distance import pdist, squareform

from tiewise.errors import InputError
from tiewise.geo.graph import Graph
from tiewise.model import QUALITY_PRIORS
from tiewise.model.map_priors import Distance, Network
from tiewise.model.quality_priors import (
    Covariance,
    Independent,
    Precision,
    describe_quality_prior,
    quality_prior_class,
)
from tiewise.posterior.earlier_versions import current_model

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
    exponential = expm(graph.adjacency().toarray())
    unit = np.diag(np.diag(exponential) ** -0.5)
    return unit @ exponential @ unit


def kernel(shape: str, apart: np.ndarray) -> np.ndarray:
    """Rasmussen and Williams (4.17, 4.18), and the exponential."""
    if shape == "exponential":
        return np.exp(-apart)
    root = np.sqrt(3.0 if shape == "matern32" else 5.0) * apart
    return (1 + root + (0 if shape == "matern32" else root**2 / 3)) * np.exp(-root)


APART = squareform(pdist(PLACES))
PRIORS = {
    "independent": (Independent(), np.eye(5)),
    "network": (Network(RING, share=1), network_by_expm(RING)),
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
    assert Network(Graph.grid(1, 50), share=1).precision(50) is not None
    row = np.column_stack([np.arange(60.0), np.zeros(60)])
    smooth = Distance(row, tuple(map(str, range(60))), reach=100.0, shape="matern52")
    assert smooth.precision(60) is None
    factor = smooth.factor(60)
    whole = kernel("matern52", squareform(pdist(row)) / 100.0)
    assert np.allclose(factor @ factor.T, whole, atol=1e-7)


def test_network_without_lanes_is_independent():
    lonely = Graph(ITEMS, np.empty((0, 2), int))
    assert np.allclose(Network(lonely, share=1).covariance(), np.eye(5))


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


# By name, and as data.


@pytest.mark.parametrize("kind", QUALITY_PRIORS)
def test_the_registry_has_every_prior_under_its_own_name(kind):
    assert quality_prior_class(kind).kind == kind


@pytest.mark.parametrize(
    ("prior", "line"),
    [
        (Independent(ITEMS), "independent qualities"),
        (Network(RING, share=1), "network: matrix exponential of 6 borders, unit variances"),
        (Distance(PLACES, ITEMS, reach=1234.56),
         "distance between areas: exponential with reach 1235"),
        (Covariance(some_covariance(), ITEMS), "covariance as given"),
        (Covariance(some_covariance(), ITEMS, rescale=True),
         "covariance as given, rescaled to unit variances"),
        (Precision(np.eye(5), ITEMS), "precision as given"),
        (Precision(laplacian(RING), ITEMS, sum_to_zero=True),
         "precision as given, qualities sum to zero"),
    ],
)  # fmt: skip
def test_a_prior_is_described_from_its_data(prior, line):
    facts = json.loads(json.dumps(prior.to_dict()))
    assert facts["kind"] == prior.kind
    assert describe_quality_prior(facts) == line
    assert current_model({"quality": line, "variance": "fixed(1)", "tie": "no ties"}) == {
        "quality": facts | ({"reach": 1235.0} if "reach" in facts else {}),
        "variance": {"kind": "fixed", "value": 1.0}, "tie": None,
    }  # fmt: skip


def test_a_prior_of_ones_own_is_described_by_its_text():
    assert describe_quality_prior({"kind": "tree", "text": "kinship"}) == "kinship"
