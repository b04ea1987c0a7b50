"""Draws as a table in the layout of R's posterior, and tables as polars has them."""

from __future__ import annotations

import csv
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from support.tiny_fits import ENGINE, MAP, counts, judged
from tiewise.cli.main import main
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.terms import Sharpness
from tiewise.posterior.fit import fit
from tiewise.posterior.results_folder import read_results
from tiewise.posterior.summaries import parameters, summarise
from tiewise.workflows import draws_table as module
from tiewise.workflows.analyse import analyse
from tiewise.workflows.draws_table import draws_table, write_draws
from tiewise.workflows.polars_tables import as_polars


@pytest.fixture(scope="module")
def tree():
    return fit(BradleyTerry(counts()), ENGINE, rng=1, ess=0)


def test_each_row_is_a_draw_with_its_chain_and_iteration(tree):
    table = draws_table(tree)
    chains, draws = tree["posterior"].sizes["chain"], tree["posterior"].sizes["draw"]
    assert list(table.columns[:3]) == [".chain", ".iteration", ".draw"]
    assert table[".draw"].tolist() == list(range(1, chains * draws + 1))
    for row in (0, draws - 1, draws, len(table) - 1):
        at = {"chain": table[".chain"][row] - 1, "draw": table[".iteration"][row] - 1}
        drawn = tree["posterior"].isel(at)
        assert table["tie"][row] == float(drawn["tie"])
        for item in MAP.items:
            assert table[f"quality[{item}]"][row] == float(drawn["quality"].sel(item=item))


def test_entries_with_two_names_have_both(tree):
    """The names of an entry stand in the order of the variable's dimensions."""
    values = np.arange(12.0).reshape(1, 2, 2, 3)
    other = tree["posterior"].dataset.isel(chain=[0], draw=[0, 1])[["tie"]]
    other = other.assign(contrast=(("chain", "draw", "group", "item"), values))
    other = other.assign_coords(group=["lay", "expert"], item=["a", "b", "c"])
    table = draws_table(type(tree).from_dict({"posterior": other}))
    assert table["contrast[expert,b]"].tolist() == [4.0, 10.0]


def test_csv_reads_back_to_the_same_numbers(tree, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BATCH_NUMBERS", 100)  # several batches
    with write_draws(tree, tmp_path / "draws.csv").open(newline="") as file:
        heading, *rows = csv.reader(file)
    table = draws_table(tree)
    assert heading == list(table.columns)
    np.testing.assert_array_equal(np.array(rows, float), table.to_numpy(float))


def test_parquet_has_the_same_columns_and_numbers(tree, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BATCH_NUMBERS", 100)
    written = pq.read_table(write_draws(tree, tmp_path / "draws.parquet"))
    assert written.schema.field(".chain").type == "int64"
    pd.testing.assert_frame_equal(written.to_pandas(), draws_table(tree))


def test_judges_of_a_model_with_terms_have_columns():
    table = draws_table(fit(BradleyTerry(judged(), terms=[Sharpness()]), ENGINE, rng=1, ess=0))
    assert {"sharpness[p]", "sharpness[q]", "sharpness[r]", "sharpness_sd"} <= set(table.columns)


def test_another_ending_is_refused(tree, tmp_path):
    with pytest.raises(InputError, match=r"draws\.xlsx is neither"):
        write_draws(tree, tmp_path / "draws.xlsx")


def test_another_format_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(InputError, match="netcdf, csv, parquet"):
        analyse(tmp_path / "none.csv", tmp_path / "out", draws_format="feather")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_command_writes_the_draws_of_its_tree(kind, tmp_path):
    file = tmp_path / "answers.csv"
    file.write_text("winner,loser\n" + "a,b\nb,c\nc,a\na,c\n" * 4, encoding="utf-8")
    words = ["fit", str(file), "--draws-format", kind, "--seed", "1", "--draws", "200"]
    run = CliRunner().invoke(main, [*words, "--no-report", "--out", str(tmp_path / "out")])
    assert run.exit_code == 0, run.output
    # As words, since older versions of pandas lose the last digit of a number.
    read = partial(pd.read_csv, dtype=str) if kind == "csv" else pd.read_parquet
    table = read(tmp_path / "out" / f"draws.{kind}")
    drawn = draws_table(read_results(tmp_path / "out").tree)
    np.testing.assert_array_equal(table["quality[a]"].astype(float), drawn["quality[a]"])


# Polars.


def test_polars_has_what_pandas_has(tree):
    ours, theirs = summarise(tree), as_polars(summarise(tree))
    assert isinstance(theirs, pl.DataFrame)
    assert theirs.columns == list(ours.columns)
    assert theirs["item"].to_list() == ours["item"].tolist()
    np.testing.assert_array_equal(theirs["mean"], ours["mean"])
    assert theirs["comparisons"].dtype == pl.Int64


def test_the_index_of_parameters_is_a_column(tree):
    assert as_polars(parameters(tree))["parameter"].to_list() == ["tie", "variance"]


def test_what_is_not_known_is_null():
    table = pd.DataFrame({
        "band": pd.array([1, None], "Int64"), "sd": [np.nan, 0.5], "item": ["a", "NA"],
        "empty": [np.nan, np.nan],
    })  # fmt: skip
    shown = as_polars(table)
    assert shown.to_dict(as_series=False) == {
        "band": [1, None], "sd": [None, 0.5], "item": ["a", "NA"], "empty": [None, None]
    }  # fmt: skip
