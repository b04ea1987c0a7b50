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


# What a formula may hold: formulaic would run the rest as Python.

ODD = TABLE.assign(**{"crime rate": [1.0, 5.0, 2.0, 8.0, 3.0], "pop.density": [3, 1, 4, 1, 5]})


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("C(kind) + deprivation", 3),
        ("deprivation*population", 3),
        ("deprivation/population", 2),
        ("deprivation:population - 1", 1),
        ("(deprivation + population)**2", 3),
        ("(deprivation + population)^2", 3),
        ("I(deprivation**2) + I(-deprivation / 2.5 + population)", 2),
        ("sqrt(abs(deprivation)) + log1p(population)", 2),
        ("poly(deprivation, 2)", 2),
        ("poly(deprivation, degree=2)", 2),
        ("bs(deprivation, df=3)", 3),
        ("center(deprivation) + scale(population)", 2),
        ("`crime rate` + log(`crime rate`)", 2),
        ("pop.density + log(`pop.density`)", 2),
        ("deprivation\n  + population", 2),
    ],
)
def test_names_numbers_arithmetic_and_some_functions_are_allowed(formula, names):
    assert len(columns(formula, ODD).names) == names


@pytest.mark.parametrize(
    "formula",
    [
        "{open('ran', 'w').write('x')}",
        "log(open('ran', 'w').write('x'))",
        "I(__import__('pathlib').Path('ran').touch())",
        "deprivation + I(deprivation.to_csv('ran'))",
        "deprivation.to_csv('ran')",
        "np.savetxt('ran', deprivation)",
        "I(np.random.seed(1) or deprivation)",
        "deprivation.__class__",
        "log(deprivation.__class__)",
        "log(pop.density)",
        "C(pop.density)",
        "Q('deprivation')",
        "hashed(kind, levels=5)",
        "deprivation[0]",
        "I([deprivation])",
        "I(deprivation if 1 else 2)",
        "I(lambda: 1)",
        "log(deprivation, population)",
        "log(x=deprivation)",
        "log(*deprivation)",
        "deprivation ~ population",
        "deprivation | population",
        "deprivation %in% population",
        ".",
        "",
        "deprivation\\population",
        "`crime` rate`",
    ],
)
def test_nothing_else_is_run(formula, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="cannot be understood|which the covariates lack") as line:
        columns(formula, ODD)
    assert "\n" not in str(line.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        ("9**9**9", "powers are numbers of at most 10"),
        ("I(9**9**9)", "powers are numbers of at most 10"),
        ("I(9**99999999)", "powers are numbers of at most 10"),
        ("I(deprivation**population)", "powers are numbers of at most 10"),
        ("I((((9**9)**9)**9)**9)", "a power of a power"),
        ("I(kind * 999999999)", "'kind' is no number"),
        ("poly(deprivation, 99999999)", "numbers in poly are at most 10"),
        ("bs(deprivation, df=99999999)", "numbers in bs are at most 10"),
        ("(" + "+".join(["deprivation"] * 30) + ")**9", "more than 1,000 columns"),
        ("*".join(["deprivation"] * 40), "more than 1,000 columns"),
        ("+".join(["deprivation"] * 1000), "more than 1,000 letters"),
        ("(" * 400 + "deprivation" + ")" * 400, "not a sum of terms"),
    ],
)
def test_a_formula_has_bounds(formula, why):
    """Each is refused before anything is evaluated: it would take for ever, or all memory."""
    with pytest.raises(InputError, match=why) as line:
        columns(formula)
    assert len(str(line.value)) < 400


def test_many_levels_of_two_columns_are_not_multiplied_out():
    """Interactions of categories are counted before they are made."""
    many = pd.DataFrame({k: [f"{k}{row}" for row in range(40)] for k in "ab"})
    items = tuple(map(str, range(40)))
    with pytest.raises(InputError, match="more than 1,000 columns"):
        read_columns(Covariates(many.assign(item=items), "a:b"), items)


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
