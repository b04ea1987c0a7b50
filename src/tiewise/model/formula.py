"""Columns of covariates, from a table of items and a formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.model.terms import Covariates
from tiewise.text import first_line, some_names

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

ID_COLUMNS = ("item", "item_id", "id")


@dataclass(frozen=True, eq=False)
class CovariateColumns:
    """A formula's columns: standardised values by item, and how they were standardised."""

    names: tuple[str, ...]
    standard: Floats = field(repr=False)
    mean: Floats = field(repr=False)
    sd: Floats = field(repr=False)


def read_columns(term: Covariates, items: Sequence[str]) -> CovariateColumns:
    """The columns of a formula, an item a row, each with mean 0 and standard deviation 1."""
    table = _rows_of(_as_frame(term.table), term.item, items)
    names, values = _evaluate(term.formula, table)
    _refuse_gaps(names, values, items)
    mean, sd = values.mean(axis=0), values.std(axis=0)
    flat = [name for name, width in zip(names, sd, strict=True) if not width > 0]
    if flat:
        raise InputError(
            f"{some_names(flat)} is the same for every item and explains nothing; drop it"
        )
    standard = (values - mean) / sd
    _refuse_repetition(names, standard)
    return CovariateColumns(tuple(names), standard, mean, sd)


def used_columns(term: Covariates, items: Sequence[str]) -> pd.DataFrame:
    """The columns of the table that a formula uses, an item a row, unchanged."""
    from formulaic import Formula

    table = _rows_of(_as_frame(term.table), term.item, items)
    used = {str(name) for name in Formula(f"1 + {term.formula}").required_variables}
    return table[[name for name in table.columns if name in used]]


def _as_frame(table: object) -> pd.DataFrame:
    """The table as a pandas frame, which is what formulas are evaluated on."""
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, Mapping):
        try:
            return pd.DataFrame(dict(table))
        except ValueError as error:
            raise InputError(f"the covariates are no table: {error}") from None
    import narwhals as nw

    try:
        frame: Any = nw.from_native(table)
        return (frame.collect() if isinstance(frame, nw.LazyFrame) else frame).to_pandas()
    except TypeError:
        kind = type(table).__name__
        raise InputError(
            f"covariates are a data frame or a mapping of columns, not {kind}"
        ) from None


def _rows_of(table: pd.DataFrame, column: str | None, items: Sequence[str]) -> pd.DataFrame:
    """One row for each of the model's items, in their order."""
    if column is None:
        column = next((name for name in ID_COLUMNS if name in table.columns), None)
    elif column not in table.columns:
        raise InputError(f"the covariates have no column {column!r} of items; name the one they do")
    ids = [_id(value) for value in (table.index if column is None else table[column])]
    lost = sorted(set(items) - set(ids), key=list(items).index)
    if lost:
        way_out = "add them" if column else f"add them, or name their column ({ID_COLUMNS[0]})"
        raise InputError(f"the covariates lack {len(lost)} item(s): {some_names(lost)}; {way_out}")
    place = {name: k for k, name in enumerate(ids)}
    if len(place) < len(ids):
        twice = [name for name in items if ids.count(name) > 1]
        if twice:
            raise InputError(
                f"the covariates hold {some_names(twice)} more than once; keep one row each"
            )
    return table.iloc[[place[item] for item in items]].reset_index(drop=True)


def _id(value: object) -> str:
    # An integer column with a gap somewhere is read as floats; 7.0 is still item 7.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _evaluate(formula: str, table: pd.DataFrame) -> tuple[list[str], Floats]:
    """Names and values of a formula's columns, without the intercept: only differences matter."""
    from formulaic import Formula
    from formulaic.errors import FormulaicError

    try:
        # With an intercept a category has one column fewer than levels; then it is dropped.
        spec = Formula(f"1 + {formula}")
        used = [str(name) for name in spec.required_variables]
        unknown = [name for name in used if name not in table.columns]
        if unknown:
            raise InputError(
                f"the formula {formula!r} asks for {some_names(unknown)}, which the covariates "
                f"lack; there are {some_names([str(name) for name in table.columns], 12)}"
            )
        _refuse_missing(table, used)
        with np.errstate(all="ignore"):
            matrix = spec.get_model_matrix(table, na_action="ignore")
    except (FormulaicError, ValueError, TypeError, SyntaxError) as error:
        if isinstance(error, InputError):
            raise
        message = first_line(error)
        raise InputError(f"the formula {formula!r} cannot be understood: {message}") from None
    names = [str(name) for name in matrix.columns if name != "Intercept"]
    if not names:
        raise InputError(f"the formula {formula!r} has no column; name one, as in 'deprivation'")
    return names, np.asarray(matrix[names], np.float64)


def _refuse_missing(table: pd.DataFrame, used: Sequence[str]) -> None:
    for name in used:
        missing = int(table[name].isna().sum())
        if missing:
            raise InputError(
                f"covariate {name!r} is missing for {missing} item(s); fill it in, or leave it out"
            )


def _refuse_gaps(names: Sequence[str], values: Floats, items: Sequence[str]) -> None:
    row, column = (where[:1] for where in np.nonzero(~np.isfinite(values)))
    if len(row):
        raise InputError(
            f"{names[column[0]]} is no number for item {items[row[0]]!r} "
            "(the logarithm of 0, perhaps); change the formula or the table"
        )


def _refuse_repetition(names: Sequence[str], standard: Floats) -> None:
    size = standard.shape[1]
    if np.linalg.matrix_rank(standard, tol=1e-8 * np.sqrt(standard.size)) < size:
        raise InputError(
            f"the columns {some_names(list(names))} repeat each other: one of them follows from "
            "the others; leave it out"
        )
