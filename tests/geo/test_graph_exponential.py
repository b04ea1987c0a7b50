"""Functions of a graph's adjacency matrix by Chebyshev series, against SciPy's exponential."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from tiewise.geo.graph import Graph
from tiewise.geo.graph_exponential import GraphExponential
from tiewise.model.map_priors import Network

HUB = Graph.from_edges([("hub", str(k)) for k in range(30)] + [("alone", "other")])
GRAPHS = {
    "grid": Graph.grid(6, 7),
    "corners touch": Graph.grid(5, 6, queen=True),
    "hub": HUB,
    "islands": Graph.from_edges([("a", "b")], items=["a", "b", "c"]),
    "no edges": Graph(("a", "b"), np.empty((0, 2), np.int64)),
}
every_graph = pytest.mark.parametrize("name", GRAPHS)


@every_graph
def test_products_are_those_of_the_matrix(name):
    graph = GRAPHS[name]
    exponential, whole = GraphExponential(graph), expm(graph.adjacency().toarray())
    half = expm(graph.adjacency().toarray() / 2) / np.sqrt(np.diag(whole))[:, None]
    x = np.random.default_rng(2).normal(size=(len(graph.items), 3))
    assert np.allclose(exponential.root(x), half @ x, rtol=0, atol=1e-9)
    assert np.allclose(exponential.root_transposed(x), half.T @ x, rtol=0, atol=1e-9)
    assert np.allclose(exponential.row_sums, (half @ half.T).sum(axis=1), rtol=0, atol=1e-9)


@every_graph
def test_no_eigenvalue_is_beyond_the_bound(name):
    values = np.linalg.eigvalsh(GRAPHS[name].adjacency().toarray())
    assert np.abs(values).max() <= GraphExponential(GRAPHS[name]).bound


def test_unevenness_is_that_of_the_correlation():
    graph = GRAPHS["grid"]
    ours, known = GraphExponential(graph).unevenness, Network(graph).correlation.unevenness
    assert np.isclose(ours, known, rtol=0, atol=1e-10)


def test_blocks_of_series_are_symmetric_functions_of_the_matrix():
    graph = GRAPHS["grid"]
    exponential, matrix = GraphExponential(graph), graph.adjacency().toarray()
    rows = [exponential.series(f) for f in (np.exp, np.cos, lambda a: 1 + a**2)]
    series = np.zeros((3, max(map(len, rows))))
    for k, row in enumerate(rows):
        series[k, : len(row)] = row
    one, two = np.random.default_rng(2).normal(size=(2, 42, 3))
    values, vectors = np.linalg.eigh(matrix)
    f, g, h = ((vectors * own(values)) @ vectors.T for own in (np.exp, np.cos, lambda a: 1 + a**2))
    ours = exponential.pair_product(series, one, two)
    assert np.allclose(ours, [f @ one + g @ two, g @ one + h @ two], rtol=0, atol=1e-9)


def test_items_of_one_colour_are_far_apart():
    from scipy.sparse.csgraph import shortest_path

    graph = Graph.grid(20, 20)
    colours = GraphExponential(graph).colours
    same = (colours[:, None] == colours) & ~np.eye(400, dtype=bool)
    assert same.any()
    assert shortest_path(graph.adjacency(), unweighted=True)[same].min() > 12


def test_the_stated_error_of_the_diagonal_is_about_its_own():
    graph = Graph.grid(20, 20)
    diagonal, stated = GraphExponential(graph).probed
    known = np.diag(expm(graph.adjacency().toarray()))
    error = np.abs(diagonal / known - 1).max()
    assert error < 1e-5
    assert error < 3 * stated


def test_a_crowd_of_neighbours_is_no_map():
    size = 30
    pairs = np.array([(i, j) for i in range(size) for j in range(i)])
    crowd = Graph(tuple(str(k) for k in range(size)), pairs)
    assert not GraphExponential(crowd).is_exact
    assert GraphExponential(HUB).is_exact
