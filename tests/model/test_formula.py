"""Covariates: a table and a formula to columns, or one clear line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.formula import read_columns
from tiewise.model.terms import Covariates

ITEMS = ("3", "1", "2", "10")
TABLE = pd.DataFrame(
    {
        "item": [1, 2, 3, 10, 99],
        "deprivation": [1.0, 4.0, 2.0, 3.0, np.nan],
        "population": [100, 1000, 10, 10000, 0],
        "kind": ["town", "field", "town", "shore", None],
    }
)


def columns(formula: str, table: object = TABLE, **how: object):
    return read_columns(Covariates(table, formula, **how), ITEMS)


def test_columns_follow_the_items_of_the_model_and_not_the_table():
    result = columns("deprivation + log(population)")
    assert result.names == ("deprivation", "log(population)")
    raw = result.standard * result.sd + result.mean
    assert np.allclose(raw[:, 0], [2, 1, 4, 3])
    assert np.allclose(raw[:, 1], np.log([10, 100, 1000, 10000]))


def test_columns_are_standardised():
    result = columns("deprivation + log(population)")
    assert np.allclose(result.standard.mean(axis=0), 0)
    assert np.allclose(result.standard.std(axis=0), 1)


def test_a_category_has_a_column_fewer_than_levels():
    """Only differences matter, so that the level of all items is no column."""
    result = columns("kind")
    assert result.names == ("kind[T.shore]", "kind[T.town]")
    raw = result.standard * result.sd + result.mean
    assert np.allclose(raw, [[0, 1], [0, 1], [0, 0], [1, 0]])


@pytest.mark.parametrize(
    "table",
    [
        pl.from_pandas(TABLE),
        pl.from_pandas(TABLE).lazy(),
        pa.Table.from_pandas(TABLE),
        TABLE.to_dict("list"),
        TABLE.set_index("item"),
        TABLE.rename(columns={"item": "id"}),
    ],
    ids=["polars", "lazy", "pyarrow", "mapping", "index", "id"],
)
def test_every_kind_of_table_says_the_same(table):
    assert np.allclose(columns("deprivation", table).standard, columns("deprivation").standard)


def test_the_column_of_items_can_be_named():
    table = TABLE.rename(columns={"item": "ward"})
    result = columns("deprivation", table, item="ward")
    assert np.allclose(result.standard, columns("deprivation").standard)


@pytest.mark.parametrize(
    ("table", "formula", "message"),
    [
        (TABLE.iloc[1:], "deprivation", "lack 1 item.*'1'"),
        (pd.concat([TABLE, TABLE.iloc[:1]]), "deprivation", "'1' more than once"),
        (TABLE.assign(deprivation=[1, 2, None, 4, 5]), "deprivation", "missing for 1 item"),
        (TABLE.assign(kind=["a", None, "b", "a", "b"]), "kind", "'kind' is missing for 1 item"),
        (TABLE.assign(population=[1, 0, 1, 2, 3]), "log(population)", "no number for item '2'"),
        (TABLE, "wealth", "asks for 'wealth'.*'deprivation'"),
        (TABLE, "deprivation +* 2", "cannot be understood"),
        (TABLE, "1", "no column"),
        (TABLE.assign(same=1.0), "same", "the same for every item"),
        (TABLE.assign(twice=2 * TABLE["deprivation"]), "deprivation + twice", "repeat each other"),
        ("covariates.csv", "deprivation", "not str"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(table, formula, message):
    with pytest.raises(InputError, match=message) as refusal:
        columns(formula, table)
    assert "\n" not in str(refusal.value)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(InputError, match="'ward'"):
        columns("deprivation", item="ward")


def test_covariates_and_formula_come_together():
    counts = Counts.of(ITEMS, [0, 1], [1, 2], [1, 1], [0, 0])
    model = BradleyTerry(counts, covariates=TABLE, formula="deprivation")
    assert model.design.columns.names == ("deprivation",)
    with pytest.raises(InputError, match="without a formula"):
        BradleyTerry(counts, covariates=TABLE)
    with pytest.raises(InputError, match="need a table"):
        BradleyTerry(counts, formula="deprivation")
