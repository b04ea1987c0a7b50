"""Votes by the million: made part by part, and counted where they live."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

from tiewise.data.comparisons import read_comparisons
from tiewise.model import simulate
from tiewise.workflows.simulate import write_simulated_study

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"


# Made part by part.


@pytest.fixture
def in_parts(monkeypatch):
    monkeypatch.setattr(simulate, "BATCH", 64)


@pytest.mark.usefixtures("in_parts")
def test_parquet_holds_the_same_judgements_as_csv(tmp_path):
    """Parts or not, in either kind of file: column by column, row by row."""
    for name, parquet in (("a", False), ("b", True)):
        write_simulated_study(
            tmp_path / name, items=9, comparisons=300, judges=7, skip=0.1, rng=4, parquet=parquet
        )
    csv_rows = pd.read_csv(tmp_path / "a" / "comparisons.csv", dtype=str, keep_default_na=False)
    parquet_rows = pd.read_parquet(tmp_path / "b" / "comparisons.parquet")
    assert parquet_rows["comparison_id"].tolist() == list(range(1, 301))
    as_text = parquet_rows.astype(object).fillna("").astype(str)
    pd.testing.assert_frame_equal(as_text, csv_rows.astype(str))
    truths = [(tmp_path / name / "truth.csv").read_bytes() for name in "ab"]
    assert truths[0] == truths[1]


@pytest.mark.usefixtures("in_parts")
def test_parquet_is_written_in_groups_of_rows_with_plain_texts(tmp_path):
    write_simulated_study(tmp_path / "votes", items=5, comparisons=200, rng=1, parquet=True)
    file = pq.ParquetFile(tmp_path / "votes" / "comparisons.parquet")
    groups = [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
    assert groups == [64, 64, 64, 8]
    kinds = {field.name: str(field.type) for field in file.schema_arrow}
    assert kinds.pop("comparison_id") == "int64"
    assert set(kinds.values()) == {"string"}


def test_one_kind_of_file_takes_the_place_of_the_other(tmp_path):
    """With --force nothing of an older study is left beside the new one."""
    write_simulated_study(tmp_path / "votes", items=5, comparisons=20, rng=1)
    write_simulated_study(
        tmp_path / "votes", items=5, comparisons=20, rng=1, parquet=True, force=True
    )
    names = {path.name for path in (tmp_path / "votes").iterdir()}
    assert names == {"comparisons.parquet", "truth.csv"}


# Counted there.


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("votes") / "made"
    write_simulated_study(
        folder, items=6, comparisons=5000, judges=11, skip=0.05, rng=2, parquet=True
    )
    return folder / "comparisons.parquet"


def read_with_dask(path: Path) -> Any:
    import dask.dataframe as dd  # here, so that not every process of the tests loads it

    return dd.read_parquet(path)


LAZY = {
    "duckdb": lambda path: duckdb.read_parquet(str(path)),
    "polars": pl.scan_parquet,
    "dask": read_with_dask,
}


@pytest.fixture
def collect_calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, int]]:
    """Every lazy frame that is collected, as its library has it, and how many rows it brings."""
    calls, collect = [], nw.LazyFrame.collect

    def spied(frame: nw.LazyFrame[object], *args: object, **named: object) -> object:
        here = collect(frame, *args, **named)
        calls.append((nw.to_native(frame), len(here)))
        return here

    monkeypatch.setattr(nw.LazyFrame, "collect", spied)
    return calls


@pytest.mark.parametrize("library", LAZY)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_only_counts_come_home(library, votes, collect_calls):
    """All that a lazy frame is asked for are kinds of row, and once more for judges."""
    counts = read_comparisons(LAZY[library](votes)).counts()
    table = pd.read_parquet(votes)
    kinds = table.groupby(["item_1_id", "item_2_id", "selected_item_id", "state"], dropna=False)
    assert [rows for _, rows in collect_calls] == [kinds.ngroups, 11]
    assert counts.comparisons == int((table["state"] != "skipped").sum())


@pytest.mark.parametrize("library", ["duckdb", "polars"])
def test_a_library_plans_a_group_by_over_the_columns_that_matter(library, votes, collect_calls):
    """Said by its own account of what it was asked to do."""
    read_comparisons(LAZY[library](votes)).counts()
    plans = [str(frame.explain()) for frame, _ in collect_calls]  # type: ignore[attr-defined]
    for plan in plans:
        assert re.search(r"group.?by|aggregate", plan, re.IGNORECASE)
        assert "comparison_id" not in plan
    assert "user_id" not in plans[0]


@pytest.mark.skipif(
    importlib.util.find_spec("pyspark") is None or shutil.which("java") is None,
    reason="no Spark here",
)
def test_spark_counts_alike(votes):
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").getOrCreate()
    there, here = read_comparisons(spark.read.parquet(str(votes))), read_comparisons(votes)
    assert there.counts() == here.counts()
    assert there.counts(by="judge") == here.counts(by="judge")


# The examples of docs/beyond.md.


@pytest.mark.slow
def test_the_counting_example_counts_alike_everywhere(capsys):
    spec = importlib.util.spec_from_file_location("counting", EXAMPLES / "counting_there.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    outputs = set()
    for library in ("pandas", *LAZY):
        example.main(library)
        outputs.add(capsys.readouterr().out)
    (output,) = outputs
    rows, pairs, judges = map(int, re.findall(r"(\d+) (?:rows|pairs|judges)", output))
    assert (rows, pairs, judges) == (50_000, 40 * 39 // 2, 200)


def test_every_example_is_on_the_page():
    page = (ROOT / "docs" / "beyond.md").read_text(encoding="utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert f"examples/{path.name}" in page
