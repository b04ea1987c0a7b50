"""Small tables beside the judgements: names of items, and matrices for a prior."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tiewise.data.files import read_numbers, read_sheet, release_arrow_memory
from tiewise.data.formats import heading
from tiewise.data.text_columns import as_text, tidied_ids
from tiewise.errors import InputError

ID_HEADINGS = ("item", "id", "item_id")


def read_names(path: str | Path) -> dict[str, str]:
    """Names by item id, from a table with a column `item` (or `id`) and a column `name`."""
    sheet = read_sheet(Path(path))
    table = sheet.table
    headings = {heading(column): column for column in table.columns}
    key = next((headings[heading(name)] for name in ID_HEADINGS if heading(name) in headings), None)
    if key is None or "name" not in headings:
        raise InputError(
            f"{path}: a table of names has the columns item and name; "
            f"this one has {', '.join(map(repr, table.columns))}: rename them"
        )
    columns = [table[column].to_list() for column in (key, headings["name"])]
    names: dict[str, str] = {}
    for row, (item, name) in enumerate(zip(*(map(as_text, c) for c in columns), strict=True)):
        if item in names:
            raise InputError(
                f"{path}, {sheet.place(row)}: item {item!r} has two names; leave it one"
            )
        if name and not item:
            raise InputError(
                f"{path}, {sheet.place(row)}: the name {name!r} has no item; give it the id, "
                "or take the row out"
            )
        if item:
            names[item] = name or item
    # Where 79 is called 79.0 here, its name is found under both.
    return dict(zip(tidied_ids([*names]), names.values(), strict=True)) | names


def read_table(path: str | Path, ids: Sequence[str]) -> dict[str, list[str | float | None]]:
    """The columns of a table: numbers where all are, except in those called like one of `ids`."""
    table = read_sheet(Path(path)).table
    columns = {name: [as_text(v) for v in table[name].to_list()] for name in table.columns}
    return {
        name: list(tidied_ids(words)) if name.strip().lower() in ids else _numbers(words)
        for name, words in columns.items()
    }


def _numbers(words: Sequence[str]) -> list[str | float | None]:
    """Numbers where every entry is one; what is empty is missing."""
    try:
        return [float(word) if word else None for word in words]
    except ValueError:
        return [word or None for word in words]


def read_matrix(path: str | Path) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """A square matrix and its items: column headings are ids, rows stand in the same order.

    A first column called `item` or `id`, holding the ids once more, is checked and left out.
    """
    # As texts a million numbers take several times their room.
    numbers = read_numbers(Path(path), ID_HEADINGS)
    table = read_sheet(Path(path)).table if numbers is None else numbers
    headings = list(table.columns)
    ids: list[str] | None = None
    if headings[0].strip().lower() in ID_HEADINGS:
        ids = [as_text(value) for value in table[headings[0]].to_list()]
        headings = headings[1:]
    items = tidied_ids([as_text(label) for label in headings])
    if len(table) != len(items):
        raise InputError(
            f"{path}: {len(items)} ids in the first line need as many rows of numbers beneath, "
            f"and there are {len(table)}; give a square matrix under a line of ids"
        )
    if ids is not None and tidied_ids(ids) != items:
        raise InputError(f"{path}: rows and columns name the items in different orders; use one")
    matrix = np.empty((len(items), len(items)))
    for column, label in enumerate(headings):
        try:
            matrix[:, column] = table[label].cast(nw.Float64).to_numpy()
            continue
        except ValueError:
            pass
        for row, value in enumerate(table[label].to_list()):
            try:
                matrix[row, column] = float(value)
            except (TypeError, ValueError):
                place = read_sheet(Path(path)).place(row)
                raise InputError(
                    f"{path}, {place}: {value!r} in column {label!r} is not a number; "
                    "write every entry of the matrix"
                ) from None
    del table, numbers
    release_arrow_memory()
    return matrix, items
