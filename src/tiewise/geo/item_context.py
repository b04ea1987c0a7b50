"""What is known of the items besides the judgements: a map, neighbours, names, a matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tiewise.data.tables import read_matrix, read_names
from tiewise.data.text_columns import as_text, tidied_ids
from tiewise.errors import InputError
from tiewise.geo.areas import Areas, attributes
from tiewise.geo.graph import Graph
from tiewise.text import some_names

if TYPE_CHECKING:
    from geopandas import GeoDataFrame


@dataclass(frozen=True)
class ItemContext:
    """What is known of the items besides the judgements."""

    areas: Areas | None = None
    graph: Graph | None = None
    names: Mapping[str, str] | None = None
    matrix: tuple[np.ndarray[Any, Any], tuple[str, ...]] | None = None
    seconds: float = 0.0
    """How long reading it took."""
    id: str | None = None
    """The map's column of ids, where it was named."""
    table: Callable[[], object] | None = None
    """Reads the other columns of the map, which only some models need."""

    @classmethod
    def read(
        cls,
        *,
        areas: str | Path | GeoDataFrame | None = None,
        id: str | None = None,
        name: str | None = None,
        group: str | None = None,
        edges: str | Path | None = None,
        names: str | Path | None = None,
        matrix: str | Path | None = None,
        join_islands: bool = False,
    ) -> ItemContext:
        """The context from files; a map brings its neighbours and names along."""
        if areas is not None and edges is not None:
            raise InputError("give a map (areas=) or a list of neighbours (edges=), not both")
        if areas is None and (id or name or group or join_islands):
            raise InputError(
                "id=, name=, group= and join_islands= speak of a map; give it with areas="
            )
        begun = perf_counter()
        land = None if areas is None else Areas.read(areas, id=id, name=name, group=group)
        graph = None if edges is None else Graph.from_edges(edges)
        if land is not None:
            land = land.with_tidied_ids()
            graph = Graph.from_areas(land, join_islands=join_islands)
        item_names = dict(zip(land.items, land.names, strict=True)) if land is not None else {}
        if names is not None:
            item_names |= read_names(names)
        square = None if matrix is None else read_matrix(matrix)
        table = None if areas is None else partial(attributes, areas, id)
        return cls(land, graph, item_names, square, perf_counter() - begun, id, table)

    @property
    def items(self) -> tuple[str, ...] | None:
        """Every item there is, compared or not; None where only the judgements tell."""
        if self.graph is not None:
            return self.graph.items
        return None if self.matrix is None else self.matrix[1]

    def refuse_strangers(self, compared: Sequence[str], known: Sequence[str]) -> None:
        """Ask whether this is the right map, or list, where it has less than half of the items."""
        inside = set(known)
        lost = [item for item in compared if item not in inside]
        if 2 * len(lost) <= len(compared):
            return
        kind = "edges" if self.areas is None else "map"
        kind = kind if self.matrix is None else "matrix"
        if len(lost) < len(compared):
            what = f"{len(lost)} of the {len(compared)} compared items are not in the {kind} "
            what += f"({some_names(lost)})"
        else:
            what = (
                f"none of the compared items ({_some(lost)}) is in the {kind}, but {_some(known)}"
            )
        way = self._id_column_of(compared) if kind == "map" else ""
        raise InputError(f"{what}: {_ASK[kind]}{way}")

    def _id_column_of(self, compared: Sequence[str]) -> str:
        """How to name the map's column that has most of the compared items."""
        table: Any = {} if self.table is None else self.table()
        shared = {
            str(name): len(set(compared) & set(tidied_ids([as_text(v) for v in table[name]])))
            for name in table
            if name != "item"
        }
        best = max(shared, key=lambda name: shared[name], default=None)
        if best is None or 2 * shared[best] < len(compared):
            return "id="
        return f"id={best!r}, which has {shared[best]} of them"


_ASK = {
    "map": "is this the right map? If so, choose its column of ids with ",
    "edges": "are these the right edges? If so, use the same ids",
    "matrix": "is this the right matrix? If so, use the same ids",
}


def _some(items: Sequence[str]) -> str:
    return some_names(items, 3, ellipsis=True) or "none"
