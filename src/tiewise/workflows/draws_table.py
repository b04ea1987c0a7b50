"""Draws as a table with one row a draw, in the layout of R's package posterior: CSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from xarray import DataArray, DataTree

from tiewise.errors import InputError

Floats = NDArray[np.float64]

FORMATS = ("netcdf", "csv", "parquet")
"""In what draws are written; `posterior.nc` is always there."""
BATCH_NUMBERS = 1_000_000
"""Numbers written at once."""


def draws_table(tree: DataTree) -> pd.DataFrame:
    """The draws of a fit, a row each: `.chain`, `.iteration`, `.draw` from 1, then the variables.

    A variable with dimensions has a column for each of its entries: `quality[Mill Lane]`,
    `contrast[experts,Mill Lane]`. Units are those of the tree.
    """
    return pd.concat(list(_parts(tree)), ignore_index=True)


def write_draws(tree: DataTree, path: str | Path) -> Path:
    """Write the table of `draws_table` to `path`, as CSV or Parquet by how its name ends.

    Some draws at a time, so that the table is never whole in memory. Numbers in CSV are the
    shortest that read back to the same double.
    """
    place = Path(path)
    if place.suffix == ".csv":
        _write_csv(tree, place)
    elif place.suffix == ".parquet":
        _write_parquet(tree, place)
    else:
        raise InputError(f"draws are written to .csv or .parquet files, and {place} is neither")
    return place


def _write_csv(tree: DataTree, place: Path) -> None:
    for number, part in enumerate(_parts(tree)):
        part.to_csv(
            place, mode="a" if number else "w", header=not number, index=False, lineterminator="\n"
        )


def _write_parquet(tree: DataTree, place: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = (pa.Table.from_pandas(part, preserve_index=False) for part in _parts(tree))
    first = next(tables)
    with pq.ParquetWriter(place, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def _parts(tree: DataTree) -> Iterator[pd.DataFrame]:
    """The table, some rows at a time."""
    posterior = tree["posterior"].dataset
    flat = {str(name): _flat(draws) for name, draws in posterior.data_vars.items()}
    chains, iterations = posterior.sizes["chain"], posterior.sizes["draw"]
    number = np.arange(chains * iterations)
    heading = {
        ".chain": number // iterations + 1, ".iteration": number % iterations + 1,
        ".draw": number + 1,
    }  # fmt: skip
    labels = [label for name in flat for label in _labels(name, posterior[name])]
    step = max(BATCH_NUMBERS // len(labels), 1)
    for k in range(0, len(number), step):
        rows = slice(k, k + step)
        values = np.concatenate([draws[rows] for draws in flat.values()], axis=1)
        index = pd.DataFrame({name: column[rows] for name, column in heading.items()})
        yield pd.concat([index, pd.DataFrame(values, columns=labels)], axis=1)


def _flat(draws: DataArray) -> Floats:
    """Draws of a variable (draws of all chains, entries)."""
    whole: Floats = draws.transpose("chain", "draw", ...).to_numpy()
    return whole.reshape(whole.shape[0] * whole.shape[1], -1)


def _labels(name: str, draws: DataArray) -> list[str]:
    """The names of a variable's columns, in the order of its entries."""
    own: tuple[Any, ...] = tuple(d for d in draws.dims if d not in ("chain", "draw"))
    if not own:
        return [name]
    entries = np.indices(tuple(draws.sizes[d] for d in own)).reshape(len(own), -1).T
    index = [draws[d].to_numpy().astype(str) for d in own]
    return [
        f"{name}[{','.join(names[at] for names, at in zip(index, entry, strict=True))}]"
        for entry in entries
    ]
