"""Columns of facts: from a formula over the rows of a table of comparisons, and by standard sd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tiewise.data.comparisons import Comparisons
from tiewise.data.counts import Counts
from tiewise.data.facts import number_columns, table_columns
from tiewise.errors import InputError
from tiewise.model.formula import evaluate_formula, formula_columns
from tiewise.text import some_names

Floats = NDArray[np.float64]

FIRST = "first"
"""The name of the fact that an item is the first of its pair, which is 1 everywhere."""


@dataclass(frozen=True, eq=False)
class FactColumns:
    """Facts of the rows of counts, an advantage a column, by the standard deviation of each.

    They are not centred: the advantage is none where a fact is 0. `first` stays 1.
    """

    standard: Floats = field(repr=False)
    sd: Floats

    @classmethod
    def of(cls, counts: Counts, names: Sequence[str]) -> FactColumns:
        """The facts of these names among those of the counts."""
        lost = [name for name in names if name not in (FIRST, *counts.fact_names)]
        if lost or len(set(names)) < len(names):
            raise InputError(
                f"Order asks for the facts {some_names(list(names))}, and the counts have "
                f"{some_names(list(counts.fact_names)) or 'none'}; name each of them once"
            )
        times = counts.wins_first + counts.wins_second + counts.ties
        columns = [_column(counts, name) for name in names]
        sd = np.array([1.0 if name == FIRST else _sd(own, times)
                       for name, own in zip(names, columns, strict=True)])  # fmt: skip
        flat = [name for name, own in zip(names, sd, strict=True) if not own > 0]
        if flat:
            raise InputError(
                f"{some_names(flat)} is the same for every comparison and explains nothing; leave "
                "it out, or ask for the advantage of the first (order=True)"
            )
        standard = np.stack(columns, axis=1)
        standard /= sd
        _refuse_repetition(names, standard)
        return cls(standard, sd)

    def per_unit(self, coefficient: Floats) -> Floats:
        """Coefficients (facts, chains) per unit of each fact, from those per standard deviation."""
        return np.asarray(coefficient / self.sd[:, None], np.float64)

    def per_sd(self, coefficient: Floats) -> Floats:
        """Coefficients (facts, chains) per standard deviation, from those per unit."""
        return np.asarray(coefficient * self.sd[:, None], np.float64)


def read_facts(comparisons: Comparisons, formula: str) -> tuple[tuple[str, ...], Floats]:
    """Names and values (rows of the table, facts) of a formula over columns of the comparisons.

    A formula that is the name of a column is that column, whatever letters are in it. Rows without
    an answer have NaN.
    """
    whole = formula.strip() in table_columns(comparisons)
    columns = [formula.strip()] if whole else formula_columns(formula)
    table = number_columns(comparisons, columns)
    if whole:
        return (formula.strip(),), table.to_numpy()
    used = table.notna().all(axis=1).to_numpy()
    names, values = evaluate_formula(formula, table[used].reset_index(drop=True))
    row, column = (where[:1] for where in np.nonzero(~np.isfinite(values)))
    if len(row):
        raise InputError(
            f"{comparisons.source}, row {np.flatnonzero(used)[row[0]] + 1}: {names[column[0]]} is "
            "no number (the logarithm of 0, perhaps); change the formula or the file"
        )
    out = np.full((len(table), len(names)), np.nan)
    out[used] = values
    return tuple(names), out


def _column(counts: Counts, name: str) -> Floats:
    if name == FIRST or counts.facts is None:
        return np.ones(len(counts.first))
    return counts.facts[:, counts.fact_names.index(name)]


def _sd(values: Floats, times: NDArray[np.int64]) -> float:
    """The standard deviation over comparisons of a fact of rows; 0 but for rounding is 0."""
    total = max(int(times.sum()), 1)
    mean = float(values @ times) / total
    sd = float(np.sqrt(((values - mean) ** 2) @ times / total))
    return sd if sd > 1e-12 * abs(mean) else 0.0


def _refuse_repetition(names: Sequence[str], standard: Floats) -> None:
    scale = np.sqrt((standard**2).mean(axis=0))
    gram = (standard / scale).T @ (standard / scale) / len(standard)
    if np.linalg.eigvalsh(gram)[0] < 1e-10:
        raise InputError(
            f"the facts {some_names(list(names))} repeat each other: one of them follows from the "
            "others; leave it out"
        )
