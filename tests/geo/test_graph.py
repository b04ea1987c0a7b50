"""Graph: who borders whom, from maps, lists and matrices."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from shapely import box

from tiewise.errors import InputError
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph

STUDIES = Path(__file__).parents[3] / "shared" / "data"
needs_studies = pytest.mark.skipif(
    not STUDIES.exists(), reason="real studies not beside this checkout"
)


def town(*shapes) -> geopandas.GeoDataFrame:
    ids = [chr(ord("a") + k) for k in range(len(shapes))]
    return geopandas.GeoDataFrame({"id": ids}, geometry=list(shapes), crs="EPSG:27700")


ISLES = town(box(0, 0, 1, 1), box(1, 0, 2, 1), box(5, 0, 6, 1), box(0, 9, 1, 10))


def test_a_border_and_a_corner_make_neighbours():
    """Two squares beside each other, and a third at the corner of one."""
    graph = Graph.from_areas(town(box(0, 0, 1, 1), box(1, 0, 2, 1), box(2, 1, 3, 2)))
    assert graph.pairs() == [("a", "b"), ("b", "c")]


def test_neighbours_need_no_corner_in_common():
    """A small square against the middle of a long side, no vertex shared, is a neighbour."""
    graph = Graph.from_areas(town(box(0, 0, 10, 1), box(4, 1, 5, 2)))
    assert graph.pairs() == [("a", "b")]


def test_areas_that_overlap_a_little_are_neighbours():
    graph = Graph.from_areas(town(box(0, 0, 1.01, 1), box(1, 0.1, 2, 0.9)))
    assert graph.pairs() == [("a", "b")]


def test_repaired_polygons_have_neighbours():
    """A bow tie touches the square on its right."""
    from shapely import Polygon

    tie = Polygon([(0, 0), (2, 2), (2, 0), (0, 2)])
    assert Graph.from_areas(town(tie, box(2, 0, 3, 2))).pairs() == [("a", "b")]


def test_islands_are_named_and_left_alone():
    graph = Graph.from_areas(ISLES)
    assert graph.islands == ("c", "d")
    assert graph.pairs() == [("a", "b")]
    assert graph.joined == ()
    assert graph.components() == [("a", "b"), ("c",), ("d",)]


def test_islands_are_joined_to_the_nearest_when_asked():
    """c is 3 from b and 4 from a; d is 8 from a."""
    graph = Graph.from_areas(ISLES, join_islands=True)
    assert graph.pairs() == [("a", "b"), ("a", "d"), ("b", "c")]
    assert graph.joined == (("c", "b"), ("d", "a"))
    assert graph.islands == ()


def test_distance_to_islands_is_on_the_ground():
    """At 60 degrees north 1.5 degrees of longitude is nearer than one of latitude."""
    isles = town(box(0, 60, 1, 61), box(0, 58, 1, 59), box(2.5, 60, 3, 61))
    isles = isles.set_crs(4326, allow_override=True)
    assert Graph.from_areas(isles, join_islands=True).joined[0] == ("a", "c")


def test_one_lonely_area_has_nobody_to_join():
    assert Graph.from_areas(town(box(0, 0, 1, 1)), join_islands=True).islands == ("a",)


def test_areas_already_read_serve_as_well():
    areas = Areas.read(ISLES)
    assert Graph.from_areas(areas) == Graph.from_areas(ISLES)


def test_a_made_up_county_hangs_together():
    graph = Graph.from_areas(Areas.synthetic(80, rng=3))
    assert len(graph.components()) == 1


@pytest.mark.parametrize("header", ["a,b", "ward,neighbour", "FROM;TO", "source\ttarget"])
def test_edges_are_read_from_a_file_of_two_columns(tmp_path, header):
    """Either way round, said twice or not, with blank lines: three edges of four items."""
    mark = next(mark for mark in ",;\t" if mark in header)
    rows = ["10,2", "2,10", "", "1,2", " 3 ,10"]
    path = tmp_path / "edges.csv"
    path.write_text("\n".join([header, *(row.replace(",", mark) for row in rows)]) + "\n")
    graph = Graph.from_edges(path)
    assert graph.items == ("1", "2", "3", "10")
    assert graph.pairs() == [("1", "2"), ("2", "10"), ("3", "10")]


def test_known_headings_are_found_among_others(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("weight,item_2,item_1\n0.5,x,y\n")
    assert Graph.from_edges(path).pairs() == [("x", "y")]


def test_tables_and_pairs_tell_the_same():
    table = pd.DataFrame({"a": [1, 2], "b": [2.0, 3.0]})
    assert Graph.from_edges(table) == Graph.from_edges([(2, 1), (3, 2), (1, "2")])
    assert Graph.from_edges(table).items == ("1", "2", "3")


def test_items_given_are_all_there_in_their_order():
    graph = Graph.from_edges([("b", "a")], items=["c", "b", "a"])
    assert graph.items == ("c", "b", "a")
    assert graph.islands == ("c",)
    assert graph.edges.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n\n3,3\n", "line 4: '3' borders itself"),
        ("a,b\n1,2\n3,\n", "line 3: an id is missing"),
        ("x,y,z\n1,2,3\n", "the columns x, y, z"),
        ("1,2\n1,3\n", "begins with numbers"),
        ("only\n1\n", "the columns only"),
        ("", "empty"),
    ],
)
def test_edges_that_cannot_be_are_named_with_their_line(tmp_path, text, words):
    path = tmp_path / "edges.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as error:
        Graph.from_edges(path)
    assert str(path) in str(error.value)


def test_an_edge_to_a_stranger_is_refused():
    with pytest.raises(InputError, match="edge 2: 'z' is not one of the 2 items"):
        Graph.from_edges([("a", "b"), ("a", "z")], items=["a", "b"])


@pytest.mark.parametrize("kind", [np.asarray, csr_array, pd.DataFrame])
def test_a_matrix_and_its_edges_are_one_graph(kind):
    matrix = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    graph = Graph.from_adjacency(kind(matrix), [1, 2, 3])
    assert graph == Graph.from_edges([(1, 2), (2, 3)])
    assert graph.adjacency().toarray().tolist() == matrix
    assert graph.adjacency().dtype == float


def test_a_sparse_matrix_is_never_written_out():
    """Of so many items it would take 80 GB."""
    ends = np.arange(100_000).reshape(-1, 2)
    path = Graph(tuple(map(str, range(100_000))), ends)
    assert Graph.from_adjacency(path.adjacency(), path.items) == path


def peak_of(make: Callable[[], Graph]) -> tuple[Graph, int]:
    """A graph, and the most bytes that were held while it was made."""
    tracemalloc.start()
    try:
        return make(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_many_areas_and_edges_are_read_without_a_matrix(tmp_path):
    """Of 10,000 areas one of single bytes alone would take 100 MB."""
    rows, columns = 100, 100
    y, x = (own.ravel() for own in np.mgrid[:rows, :columns])
    names = [str(k) for k in range(rows * columns)]
    squares = geopandas.GeoDataFrame(
        {"id": names}, geometry=box(x, y, x + 1, y + 1), crs="EPSG:27700"
    )
    areas, known = Areas.read(squares), Graph.grid(rows, columns, queen=True)
    drawn, peak = peak_of(lambda: Graph.from_areas(areas))
    assert np.array_equal(drawn.edges, known.edges)
    assert peak < 50_000_000
    path = tmp_path / "edges.csv"
    path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in known.edges), encoding="utf-8")
    listed, peak = peak_of(lambda: Graph.from_edges(path, items=names))
    assert np.array_equal(listed.edges, known.edges)
    assert peak < 50_000_000


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[0, 1, 0], [1, 0, 0]], "2 by 2, not 2 by 3"),
        ([[0]], "2 by 2, not 1 by 1"),
        ([[0, 2], [2, 0]], "2 for 'x' and 'y'"),
        ([[0, np.nan], [np.nan, 0]], "nan for 'x' and 'y'"),
        ([[0, 1], [0, 0]], "not symmetric: 'x' and 'y'"),
        ([[0, 1], [1, 1]], "'y' borders itself"),
    ],
)
def test_a_matrix_that_cannot_be_says_why(matrix, words):
    with pytest.raises(InputError, match=words):
        Graph.from_adjacency(np.array(matrix), ["x", "y"])


def test_edges_are_kept_in_one_canonical_order():
    graph = Graph(("a", "b", "c"), np.array([[2, 1], [1, 0], [0, 1]]))
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    with pytest.raises(ValueError, match="read-only"):
        graph.edges[0, 0] = 2


@pytest.mark.parametrize(
    ("items", "edges", "words"),
    [
        (("a", "a"), [[0, 1]], "'a' occurs more than once"),
        (("a", "b"), [[1, 1]], "'b' borders itself"),
        (("a", "b"), [[0, 2]], "beyond the 2"),
        (("a", "b"), [[-1, 0]], "beyond the 2"),
    ],
)
def test_an_impossible_graph_cannot_be_made(items, edges, words):
    with pytest.raises(InputError, match=words):
        Graph(items, np.array(edges))


def test_what_graph_and_comparisons_lack_is_listed_both_ways():
    graph = Graph.from_edges([("a", "b"), ("b", "c")])
    assert graph.mismatch(["d", "b", "e"]) == (("d", "e"), ("a", "c"))
    assert graph.mismatch(["c", "b", "a"]) == ((), ())


def test_a_grid_has_the_borders_of_a_chessboard():
    """r(c-1) + c(r-1) borders; a king's moves add both diagonals of every inner corner."""
    assert len(Graph.grid(4, 6).edges) == 4 * 5 + 6 * 3
    assert len(Graph.grid(4, 6, queen=True).edges) == 4 * 5 + 6 * 3 + 2 * 3 * 5
    assert Graph.grid(2, 2).pairs() == [("1", "2"), ("1", "3"), ("2", "4"), ("3", "4")]
    assert Graph.grid(1, 1).islands == ("1",)


@needs_studies
def test_queen_contiguity_of_dar_es_salaam_is_the_published_list():
    """1,262 borders, the same as those its authors computed in R."""
    published = pd.read_csv(STUDIES / "dar-es-salaam-edges.csv")
    graph = Graph.from_areas(STUDIES / "dar-es-salaam-subwards.gpkg")
    assert graph.items == tuple(str(k) for k in range(1, 453))
    expected = sorted(tuple(sorted(pair)) for pair in published.to_numpy().tolist())
    assert (graph.edges + 1).tolist() == [list(pair) for pair in expected]
    assert len(expected) == 1262
    assert Graph.from_edges(STUDIES / "dar-es-salaam-edges.csv") == graph
