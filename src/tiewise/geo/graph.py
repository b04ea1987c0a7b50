"""The items of a study and which of them are neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tiewise.data.counts import natural_order
from tiewise.data.files import read_sheet
from tiewise.data.text_columns import as_text, plain_ids
from tiewise.errors import InputError
from tiewise.geo.areas import Areas

if TYPE_CHECKING:
    from geopandas import GeoDataFrame
    from pandas import DataFrame
    from scipy.sparse import coo_array, csr_array

Integers = NDArray[np.int64]
Pair = tuple[str, str]

HEADERS = (
    ("a", "b"),
    ("from", "to"),
    ("source", "target"),
    ("first", "second"),
    ("item_1", "item_2"),
    ("item_1_id", "item_2_id"),
)


@dataclass(frozen=True, eq=False)
class Graph:
    """Items, and the pairs of them that are neighbours.

    `edges` are positions in `items`, (E, 2), with the smaller first, sorted and distinct.
    `joined` lists the islands that were joined to a neighbour on request.
    """

    items: tuple[str, ...]
    edges: Integers
    joined: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        _refuse_duplicates(self.items)
        edges = np.sort(np.asarray(self.edges, np.int64).reshape(-1, 2), axis=1)
        loops = edges[edges[:, 0] == edges[:, 1], 0]
        if len(loops):
            raise InputError(f"item {self.items[loops[0]]!r} borders itself; take that edge out")
        if edges.size and not 0 <= edges.min() <= edges.max() < len(self.items):
            raise InputError(f"an edge speaks of an item beyond the {len(self.items)} there are")
        edges = np.unique(edges, axis=0)
        edges.setflags(write=False)
        object.__setattr__(self, "edges", edges)

    @classmethod
    def from_areas(
        cls,
        source: str | Path | GeoDataFrame | Areas,
        *,
        id: str | None = None,
        name: str | None = None,
        group: str | None = None,
        join_islands: bool = False,
    ) -> Graph:
        """Neighbours on a map: areas that share a border or a corner (queen contiguity).

        With `join_islands`, an area that touches no other borders the one nearest to it.
        """
        if isinstance(source, Areas):
            areas = source
        else:
            areas = Areas.read(source, id=id, name=name, group=group)
        graph = cls(areas.items, _touching(areas))
        return graph._join_islands(areas) if join_islands and graph.islands else graph

    @classmethod
    def from_edges(
        cls,
        source: str | Path | DataFrame | Iterable[tuple[Any, Any]],
        items: Iterable[Any] | None = None,
    ) -> Graph:
        """Neighbours from a file (CSV, TSV, XLSX, Parquet), a table or pairs of ids.

        A file or table has two columns, or two called `a, b`, `from, to`, `source, target`,
        `first, second`, `item_1, item_2` or `item_1_id, item_2_id`. A repeated edge counts
        once. Without `items`, they are those with a neighbour, in natural order.
        """
        pairs, place = _pairs(source)
        if items is None:
            named = natural_order(item for pair in pairs for item in pair)
        else:
            named = tuple(as_text(item) for item in items)
        position = {item: k for k, item in enumerate(named)}
        for row, pair in enumerate(pairs):
            problem = _edge_problem(pair, position)
            if problem:
                raise InputError(f"{place(row)}: {problem}")
        return cls(named, np.array([(position[a], position[b]) for a, b in pairs], np.int64))

    @classmethod
    def from_adjacency(cls, matrix: ArrayLike | Any, items: Iterable[Any]) -> Graph:
        """Neighbours from a square, symmetric matrix of 0 and 1, dense or sparse."""
        named = tuple(as_text(item) for item in items)
        from scipy.sparse import coo_array

        entries: Any = matrix if hasattr(matrix, "tocoo") else np.asarray(matrix)
        _refuse_shape(entries.shape, named)
        sparse = coo_array(entries)
        sparse.sum_duplicates()
        sparse.eliminate_zeros()
        _refuse_entries(sparse, named)
        above = sparse.row < sparse.col
        return cls(named, np.column_stack([sparse.row[above], sparse.col[above]]))

    @classmethod
    def grid(cls, rows: int, columns: int, *, queen: bool = False) -> Graph:
        """A grid of squares, "1" in the first corner; with `queen`, corners touch too."""
        cells = np.arange(rows * columns).reshape(rows, columns)
        pairs = [(cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])]
        if queen:
            pairs += [(cells[:-1, :-1], cells[1:, 1:]), (cells[:-1, 1:], cells[1:, :-1])]
        edges = [np.column_stack([one.ravel(), two.ravel()]) for one, two in pairs]
        return cls(tuple(str(k + 1) for k in range(rows * columns)), np.vstack(edges))

    @property
    def islands(self) -> tuple[str, ...]:
        """The items without neighbours."""
        alone = np.setdiff1d(np.arange(len(self.items)), self.edges)
        return tuple(self.items[k] for k in alone)

    def adjacency(self) -> csr_array:
        """The (N, N) symmetric matrix with 1.0 where two items are neighbours."""
        from scipy.sparse import csr_array

        both = np.vstack([self.edges, self.edges[:, ::-1]])
        size = len(self.items)
        return csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(size, size))

    def components(self) -> list[tuple[str, ...]]:
        """The connected components, largest first."""
        from scipy.sparse.csgraph import connected_components

        number, label = connected_components(self.adjacency(), directed=False)
        groups: list[list[str]] = [[] for _ in range(number)]
        for item, where in zip(self.items, label, strict=True):
            groups[where].append(item)
        return sorted(map(tuple, groups), key=len, reverse=True)

    def mismatch(self, items: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Which of the compared `items` the graph lacks, and which of its own were not compared."""
        compared = dict.fromkeys(items)
        own = set(self.items)
        missing = tuple(item for item in compared if item not in own)
        return missing, tuple(item for item in self.items if item not in compared)

    def pairs(self) -> list[tuple[str, str]]:
        """The edges as pairs of ids."""
        return [(self.items[one], self.items[two]) for one, two in self.edges]

    def _join_islands(self, areas: Areas) -> Graph:
        pairs = _nearest(areas, self.islands)
        position = {item: k for k, item in enumerate(self.items)}
        more = np.array([(position[one], position[two]) for one, two in pairs], np.int64)
        return Graph(self.items, np.vstack([self.edges, more.reshape(-1, 2)]), tuple(pairs))

    def __len__(self) -> int:
        return len(self.items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self.items == other.items and np.array_equal(self.edges, other.edges)

    def __hash__(self) -> int:
        return hash((self.items, self.edges.tobytes()))

    def __repr__(self) -> str:
        return (
            f"Graph({len(self.items)} items, {len(self.edges)} edges, {len(self.islands)} islands)"
        )


def _touching(areas: Areas) -> Integers:
    """Pairs of positions of areas with a point in common."""
    # Not equal vertices, nor polygons that touch without overlapping: real maps have corners in the
    # middle of a neighbour's side, and slivers that overlap.
    both: Integers = areas.geometry.sindex.query(areas.geometry, predicate="intersects").T
    return both[both[:, 0] < both[:, 1]]


def _nearest(areas: Areas, islands: Sequence[str]) -> list[tuple[str, str]]:
    """Each island with the area nearest to it, by the distance between their shores."""
    if len(areas) < 2:
        return []
    import shapely

    shapes = areas.metric().to_numpy()
    position = {item: k for k, item in enumerate(areas.items)}
    here = np.array([position[island] for island in islands], np.int64)
    one, nearest = shapely.STRtree(shapes).query_nearest(shapes[here], exclusive=True)
    # Of several at the same distance the first on the map.
    order = np.lexsort((nearest, one))
    one, first = np.unique(one[order], return_index=True)
    pairs = zip(one, nearest[order][first], strict=True)
    return [(islands[k], areas.items[other]) for k, other in pairs]


def _pairs(source: Any) -> tuple[list[Pair], Callable[[int], str]]:
    """Pairs of ids as text, and a function that names the place of each in a message."""
    if isinstance(source, str | Path):
        sheet = read_sheet(Path(source))
        columns = _two_columns(sheet.table.columns, str(source))
        cells = [sheet.table[sheet.table.columns[k]].to_list() for k in columns]
        pairs = _texts(zip(*cells, strict=True))
        plain = plain_ids(item for pair in pairs for item in pair)
        tidied = [(plain[one], plain[two]) for one, two in pairs]
        return tidied, lambda row: f"{source}, {sheet.place(row)}"
    if hasattr(source, "columns"):
        columns = _two_columns([str(column) for column in source.columns], "the table of edges")
        source = zip(*(source.iloc[:, k] for k in columns), strict=True)
    return _texts(source), lambda row: f"edge {row + 1}"


def _texts(pairs: Iterable[Iterable[Any]]) -> list[Pair]:
    return [(as_text(one), as_text(two)) for one, two in pairs]


def _two_columns(header: Sequence[str], where: str) -> tuple[int, int]:
    names = [cell.strip().lower() for cell in header]
    if len(names) >= 2 and all(name.lstrip("-").isdecimal() for name in names[:2]):
        raise InputError(f"{where} begins with numbers; put a line with headings above, like a,b")
    for one, two in HEADERS:
        if one in names and two in names:
            return names.index(one), names.index(two)
    if len(names) != 2:
        raise InputError(
            f"{where} has the columns {', '.join(header)}; "
            "keep the two with the ids of neighbours, or call them a and b"
        )
    return 0, 1


def _refuse_duplicates(items: Sequence[str]) -> None:
    twice = [item for item, times in Counter(items).items() if times > 1]
    if twice:
        raise InputError(f"item ids must be distinct, but {twice[0]!r} occurs more than once")
    if "" in items:
        raise InputError(f"item {items.index('') + 1} of {len(items)} has no id; give it one")


def _edge_problem(pair: Pair, known: dict[str, int]) -> str | None:
    """What is wrong with an edge and how to correct it, or None."""
    if "" in pair:
        return "an id is missing; fill it in, or take the row out"
    if pair[0] == pair[1]:
        return f"{pair[0]!r} borders itself; correct the row, or take it out"
    for item in pair:
        if item not in known:
            return f"{item!r} is not one of the {len(known)} items; correct it, or add it to them"
    return None


def _refuse_shape(shape: tuple[int, ...], items: tuple[str, ...]) -> None:
    size = len(items)
    if shape != (size, size):
        raise InputError(
            f"an adjacency matrix of {size} items is {size} by {size}, "
            f"not {' by '.join(map(str, shape)) or 'a number'}; give one row per item"
        )


def _refuse_entries(matrix: coo_array, items: tuple[str, ...]) -> None:
    """Refuse entries that are not 0 or 1, neighbours one way only, and items beside themselves."""
    row, column, value = matrix.row, matrix.col, matrix.data
    invalid = np.flatnonzero(value != 1)
    if len(invalid):
        k = invalid[np.lexsort((column[invalid], row[invalid]))[0]]
        raise InputError(
            f"the adjacency matrix has {value[k]} for {items[row[k]]!r} and "
            f"{items[column[k]]!r}; it must be 1 for neighbours, else 0"
        )
    forth, back = (a.astype(np.int64) * len(items) + b for a, b in ((row, column), (column, row)))
    asymmetric = np.setxor1d(forth, back)
    if len(asymmetric):
        one, two = divmod(int(asymmetric[0]), len(items))
        raise InputError(
            f"the adjacency matrix is not symmetric: {items[one]!r} and {items[two]!r} are "
            "neighbours one way only; make both entries alike"
        )
    loops = np.sort(row[row == column])
    if len(loops):
        raise InputError(f"item {items[loops[0]]!r} borders itself; make the diagonal 0")
