"""What came of many tasks, as Parquet: results in one file, times in another."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiewise.jobs.journal import Done, Row
from tiewise.jobs.versions import machine, versions

if TYPE_CHECKING:
    import pandas as pd

RESULTS, TIMINGS = "results.parquet", "timings.parquet"
HEADING = b"tiewise"


def write_tables(
    folder: Path, done: Iterable[Done], heading: Mapping[str, Any], *, results: str = RESULTS
) -> None:
    """Write results.parquet, the same wherever the work was done, and timings.parquet."""
    done = list(done)
    said = {**heading, "versions": versions()}
    _write(folder / results, _rows(done, "rows"), said)
    _write(folder / TIMINGS, _rows(done, "timings"), {**said, "machine": machine()})


def read_table(path: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A table that was written here, and what it says of itself."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return table.to_pandas(), json.loads((table.schema.metadata or {}).get(HEADING, b"{}"))


def _rows(done: Iterable[Done], kind: str) -> list[Row]:
    return [
        {"task": one.name, "seed": one.seed, **row} for one in done for row in getattr(one, kind)
    ]


def _write(path: Path, rows: list[Row], said: Mapping[str, Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Rows of different kinds may lie in one table.
    columns = dict.fromkeys(key for row in rows for key in row)
    table = pa.table({key: [row.get(key) for row in rows] for key in columns})
    table = table.replace_schema_metadata({HEADING: json.dumps(said, sort_keys=True)})
    beside = path.with_name(f".{path.name}")
    pq.write_table(table, beside)
    beside.replace(path)
