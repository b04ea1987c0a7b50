"""Records of many tasks as Parquet: results in one file, times in another."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiewise.jobs.journal import Row, TaskRecord
from tiewise.jobs.versions import machine, versions

if TYPE_CHECKING:
    import pandas as pd

RESULTS, TIMINGS = "results.parquet", "timings.parquet"
HEADING = b"tiewise"


def write_tables(
    folder: Path,
    records: Iterable[TaskRecord],
    heading: Mapping[str, Any],
    *,
    results: str = RESULTS,
) -> None:
    """Write results.parquet, the same wherever the work was done, and timings.parquet."""
    records = list(records)
    metadata = {**heading, "versions": versions()}
    _write(folder / results, _rows(records, "rows"), metadata)
    _write(folder / TIMINGS, _rows(records, "timings"), {**metadata, "machine": machine()})


def read_table(path: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A table that `write_tables` wrote, and its heading."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return table.to_pandas(), json.loads((table.schema.metadata or {}).get(HEADING, b"{}"))


def _rows(records: Iterable[TaskRecord], kind: str) -> list[Row]:
    return [
        {"task": record.name, "seed": record.seed, **row}
        for record in records
        for row in getattr(record, kind)
    ]


def _write(path: Path, rows: list[Row], metadata: Mapping[str, Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Rows of different kinds may share a table.
    columns = dict.fromkeys(key for row in rows for key in row)
    table = pa.table({key: [row.get(key) for row in rows] for key in columns})
    table = table.replace_schema_metadata({HEADING: json.dumps(metadata, sort_keys=True)})
    temporary = path.with_name(f".{path.name}")
    pq.write_table(table, temporary)
    temporary.replace(path)
