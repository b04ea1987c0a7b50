"""Judgements counted where they live: only the counts come home.

    python docs/examples/counting_there.py duckdb      # or polars, dask, spark, pandas

Makes up 50,000 votes on 40 items in a Parquet file, opens it with the library named, has it count
them, and fits the counts.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tiewise as tw
from tiewise.workflows.simulate import write_simulated_study


def opened(library: str, path: str) -> Any:
    """The rows of a Parquet file, as a frame of this library; nothing but pandas reads them yet."""
    if library == "duckdb":
        import duckdb

        return duckdb.read_parquet(path)
    if library == "polars":
        import polars

        return polars.scan_parquet(path)
    if library == "dask":
        import dask.dataframe

        return dask.dataframe.read_parquet(path)
    if library == "spark":
        from pyspark.sql import SparkSession

        return SparkSession.builder.master("local[2]").getOrCreate().read.parquet(path)
    import pandas

    return pandas.read_parquet(path)


def main(library: str) -> None:
    """Count, fit, and say what came of it."""
    with TemporaryDirectory() as folder:
        write_simulated_study(
            folder, items=40, comparisons=50_000, judges=200, rng=3, parquet=True, force=True
        )
        votes = opened(library, str(Path(folder) / "comparisons.parquet"))
        comparisons = tw.read_comparisons(votes)
        counts = comparisons.counts()
    print(f"{len(comparisons)} rows, {len(counts.first)} pairs, {len(counts.judges or ())} judges")
    print(counts.digest())
    table = tw.summarise(tw.fit(tw.BradleyTerry(counts), rng=1))
    print(table[["item", "mean", "q2.5", "q97.5"]].head(3).round(2).to_string(index=False))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "duckdb")
