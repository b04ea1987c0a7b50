"""Small tables beside the judgements: names of items, and matrices for a prior."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiewise.core.files import read_sheet
from tiewise.core.judgements import as_text
from tiewise.errors import InputError

ID_HEADINGS = ("item", "id", "item_id")


def read_names(path: str | Path) -> dict[str, str]:
    """Names by item id, from a table with a column `item` (or `id`) and a column `name`."""
    table = read_sheet(Path(path)).table
    headings = {heading.strip().lower(): heading for heading in table.column_names}
    key = next((headings[h] for h in ID_HEADINGS if h in headings), None)
    if key is None or "name" not in headings:
        raise InputError(
            f"{path}: a table of names has the columns item and name; "
            f"this one has {', '.join(map(repr, table.column_names))}"
        )
    ids = [as_text(value) for value in table.column(key).to_pylist()]
    twice = (
        next((item for item in ids if ids.count(item) > 1), None)
        if len(set(ids)) < len(ids)
        else None
    )
    if twice is not None:
        raise InputError(f"{path}: item {twice!r} has two names; leave it one")
    names = [as_text(value) for value in table.column(headings["name"]).to_pylist()]
    return {item: name or item for item, name in zip(ids, names, strict=True)}


def read_matrix(path: str | Path) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """A square matrix and its items: column headings are ids, rows stand in the same order.

    A first column called `item` or `id`, holding the ids once more, is checked and left out.
    """
    table = read_sheet(Path(path)).table
    headings = list(table.column_names)
    ids: list[str] | None = None
    if headings and headings[0].strip().lower() in ID_HEADINGS:
        ids = [as_text(value) for value in table.column(0).to_pylist()]
        headings = headings[1:]
    items = tuple(as_text(heading) for heading in headings)
    if ids is not None and tuple(ids) != items:
        raise InputError(f"{path}: rows and columns name the items in different orders; use one")
    try:
        rows = [[float(v) for v in table.column(h).to_pylist()] for h in headings]
    except (TypeError, ValueError):
        raise InputError(f"{path}: the matrix holds something that is not a number") from None
    matrix = np.array(rows).T
    if matrix.shape != (len(items), len(items)):
        raise InputError(
            f"{path}: {len(items)} columns of ids need as many rows, not {len(matrix)}"
        )
    return matrix, items
