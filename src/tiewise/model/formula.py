"""Columns of covariates, from a table of items and a formula."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.model.terms import Covariates
from tiewise.text import first_line, one_line, some_names

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

ID_COLUMNS = ("item", "item_id", "id")
FUNCTIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("log", "log2", "log10", "log1p", "exp", "sqrt", "abs", "center", "scale", "C", "I"), ()
    ),
    "poly": ("degree",),
    "bs": ("df", "degree"),
}
"""The functions of formulas, and the numbers that they take after a column."""
OUR_FUNCTIONS = {"log1p": np.log1p, "sqrt": np.sqrt, "abs": np.abs}
"""Those that formulaic does not bring."""
TOKEN = re.compile(
    r"[ \t\n]*(?:(?P<other>(?:df|degree) *=|[0-9]+(?:\.[0-9]*)?|\.[0-9]+|\*\*|[-+*/:^(),])|"
    r"(?P<name>[^\W\d][\w.]*)|`(?P<quoted>[^`\\\n]+)`)"
)
SPELLINGS = {":": "@", "^": "**"}
BARE, QUOTED = "b", "q"
"""The letters before the number of a name: as it is, or in backticks."""
SUMS = (ast.Add, ast.Sub)
LONGEST, MOST_POWER, MOST_COLUMNS = 1_000, 10, 1_000


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
    names, values = evaluate_formula(term.formula, table)
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
    table = _rows_of(_as_frame(term.table), term.item, items)
    used = CheckedFormula.of(term.formula, table).names
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


def formula_columns(formula: str) -> list[str]:
    """The names of the columns of numbers that a formula speaks of, in its order."""
    import pandas as pd

    words, _ = _python_source(formula)
    return CheckedFormula.of(formula, pd.DataFrame({name: np.zeros(0) for name in words})).names


def evaluate_formula(formula: str, table: pd.DataFrame) -> tuple[list[str], Floats]:
    """Names and values of a formula's columns, without the intercept: only differences matter."""
    from formulaic import Formula
    from formulaic.errors import FormulaicError

    _refuse_missing(table, CheckedFormula.of(formula, table).names)
    try:
        # With an intercept a category has one column fewer than levels; then it is dropped.
        spec = Formula(f"1 + {formula}")
        with np.errstate(all="ignore"):
            matrix = spec.get_model_matrix(table, context=OUR_FUNCTIONS, na_action="ignore")
    except (
        FormulaicError,
        ValueError,
        TypeError,
        SyntaxError,
        ArithmeticError,
        RecursionError,
    ) as error:
        message = first_line(error)
        raise InputError(
            f"the formula {one_line(formula, 100)!r} cannot be understood: {one_line(message, 300)}"
        ) from None
    names = [str(name) for name in matrix.columns if name != "Intercept"]
    if not names:
        raise InputError(f"the formula {formula!r} has no column; name one, as in 'deprivation'")
    return names, np.asarray(matrix[names], np.float64)


@dataclass(frozen=True)
class CheckedFormula:
    """A formula that is safe to evaluate, and the columns that it speaks of.

    formulaic runs what is in it as Python. So a formula is taken apart first, and refused unless it
    has nothing but names, numbers, arithmetic and the functions of `FUNCTIONS`, within bounds.
    """

    formula: str
    table: pd.DataFrame
    words: tuple[str, ...]
    """The names in the formula, which the syntax tree has by their numbers."""
    tree: ast.expr

    @classmethod
    def of(cls, formula: str, table: pd.DataFrame) -> CheckedFormula:
        """The formula, checked against the table; refused in one line."""
        words, source = _python_source(formula)
        try:
            tree = ast.parse(source, mode="eval").body
            checked = cls(formula, table, tuple(words), tree)
            checked._check_names()
            checked._check(tree, inside=False)
            wide = checked._width(tree) > MOST_COLUMNS
        except (SyntaxError, RecursionError, MemoryError):
            raise _refusal(formula, "it is not a sum of terms") from None
        if wide:
            raise _refusal(formula, f"it has more than {MOST_COLUMNS:,} columns")
        return checked

    @property
    def names(self) -> list[str]:
        """The columns of the table that it speaks of, in its order."""
        functions = [node.func for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, ast.Name)]
        return list(dict.fromkeys(self._word(node) for node in nodes if node not in functions))

    def _word(self, node: ast.Name) -> str:
        return self.words[int(node.id[1:])]

    def _check_names(self) -> None:
        unknown = [name for name in self.names if name not in self.table.columns]
        if unknown:
            raise InputError(
                f"the formula {one_line(self.formula, 100)!r} asks for {some_names(unknown)}, "
                "which the covariates lack; there are "
                f"{some_names([str(name) for name in self.table.columns], 12)}"
            )

    def _check(self, node: ast.expr, *, inside: bool) -> None:
        """Refuse what is not allowed in a part of the formula, or `inside` a function."""
        match node:
            case ast.Name():
                if inside:
                    self._check_dots(node)
                if inside and self._levels(node) is not None:
                    raise self._refused(f"{self._word(node)!r} is no number; only C() takes it")
            case ast.Constant():
                return
            case ast.UnaryOp():
                self._check(node.operand, inside=inside)
            case ast.BinOp(op=ast.Pow()):
                self._check_power(node)
                self._check(node.left, inside=inside)
            case ast.BinOp():
                if inside and isinstance(node.op, ast.MatMult):
                    raise self._refused("':' stands between columns, not in a function")
                self._check(node.left, inside=inside)
                self._check(node.right, inside=inside)
            case ast.Call(func=ast.Name()):
                self._check_call(node)
            case _:
                raise self._refused("it is not a sum of terms")

    def _check_power(self, node: ast.BinOp) -> None:
        """Refuse a power that may take for ever: of a power, or to more than a small number."""
        exponent = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
        if not _is_small_number(exponent):
            raise self._refused(f"powers are numbers of at most {MOST_POWER}")
        if any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.Pow)
               for part in ast.walk(node.left)):  # fmt: skip
            raise self._refused("it has a power of a power")

    def _check_call(self, node: ast.Call) -> None:
        name = self._word(node.func)  # type: ignore[arg-type]
        if name not in FUNCTIONS:
            raise self._refused(f"there is no function {one_line(name, 40)!r}")
        numbers = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
        if len(node.args) < 1 or len(numbers) > len(FUNCTIONS[name]):
            raise self._refused(f"{name} takes one column")
        if not all(map(_is_small_number, numbers)):
            raise self._refused(f"numbers in {name} are at most {MOST_POWER}")
        if any(keyword.arg not in FUNCTIONS[name] for keyword in node.keywords):
            raise self._refused(f"{name} takes no more than {', '.join(FUNCTIONS[name])}")
        if name != "C":
            self._check(node.args[0], inside=True)
        elif isinstance(node.args[0], ast.Name):
            self._check_dots(node.args[0])
        else:
            raise self._refused("C takes the name of a column")

    def _check_dots(self, node: ast.Name) -> None:
        """Refuse a dot in a name within a function, where Python would look for an attribute."""
        if node.id[0] == BARE and "." in self._word(node):
            raise self._refused(f"put {self._word(node)} in backticks there")

    def _levels(self, node: ast.Name) -> int | None:
        """How many different values a column of text has; None for numbers."""
        from pandas.api.types import is_numeric_dtype

        column = self.table[self._word(node)]
        return None if is_numeric_dtype(column) else int(column.nunique())

    def _width(self, node: ast.expr) -> int:
        """At most how many columns a part of the formula has."""
        match node:
            case ast.Name():
                return self._levels(node) or 1
            case ast.Call(args=[ast.Name() as column, *_]) if self._word(node.func) == "C":  # type: ignore[arg-type]
                return int(self.table[self._word(column)].nunique())
            case ast.Call():
                return MOST_POWER if node.keywords or node.args[1:] else 1
            case ast.UnaryOp():
                return self._width(node.operand)
            case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=int() | float() as power)):
                return int((1 + self._width(node.left)) ** power)
            case ast.BinOp():
                left, right = self._width(node.left), self._width(node.right)
                return left + right if isinstance(node.op, SUMS) else left + right + left * right
        return 1

    def _refused(self, why: str) -> InputError:
        return _refusal(self.formula, why)


def _is_small_number(node: ast.expr) -> bool:
    number = node.value if isinstance(node, ast.Constant) else None
    return isinstance(number, int | float) and number <= MOST_POWER


def _refusal(formula: str, why: str) -> InputError:
    return InputError(
        f"the formula {one_line(formula, 100)!r} cannot be understood: {why}; write names of "
        f"columns, numbers, + - * / : ** and the functions {', '.join(FUNCTIONS)}"
    )


def _python_source(formula: str) -> tuple[list[str], str]:
    """The words of a formula, and Python with a letter and their number in their place."""
    if len(formula) > LONGEST:
        raise _refusal(formula, f"it has more than {LONGEST:,} letters")
    words: list[str] = []
    source: list[str] = []
    place = 0
    for match in TOKEN.finditer(formula):
        if match.start() != place:
            break
        place = match.end()
        if match["name"] or match["quoted"]:
            source.append(f"{BARE if match['name'] else QUOTED}{len(words)}")
            words.append(match["name"] or match["quoted"])
        else:
            source.append(SPELLINGS.get(match["other"], match["other"]))
    if place < len(formula.rstrip(" \t\n")):
        raise _refusal(formula, f"{formula[place:].lstrip()[0]!r} has no meaning in it")
    return words, " ".join(source)


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
