"""Tables of judges: the group of each, and counts by group."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiewise.data.counts import Counts, natural_order
from tiewise.data.formats import heading
from tiewise.data.layout import JUDGE_HEADINGS
from tiewise.data.text_columns import as_text, tidied_ids
from tiewise.errors import InputError, InputWarning
from tiewise.text import some_names


def judge_columns(table: object) -> dict[str, list[str]]:
    """A table of judges as columns of text."""
    if isinstance(table, str | Path):
        from tiewise.data.files import read_sheet

        sheet = read_sheet(Path(table)).table
        table = {name: sheet[name].to_list() for name in sheet.columns}
    columns: Any = table
    return {str(name): [as_text(value) for value in columns[name]] for name in columns}


def groups_of_judges(judges: Mapping[str, list[str]], column: str) -> dict[str, str]:
    """The group of each judge in a table of judges."""
    if column not in judges:
        raise InputError(
            f"the table of judges has no column {column!r}; there are {some_names([*judges])}"
        )
    spellings = {heading(name) for name in JUDGE_HEADINGS}
    key = next((name for name in judges if heading(name) in spellings), None)
    if key is None:
        raise InputError(
            f"the table of judges has no column of judges; call it {JUDGE_HEADINGS[0]} or "
            f"{JUDGE_HEADINGS[2]}"
        )
    return dict(zip(tidied_ids(judges[key]), judges[column], strict=True))


def leave_out_judges(counts: Counts, silent: list[str], column: str) -> Counts:
    """The counts of those whose group is known, with a word on the others."""
    known = [name for name in counts.strata if name not in silent]
    left = counts.within(known)
    warnings.warn(
        f"{counts.comparisons - left.comparisons} judgements are left out: {column} is not known "
        f"of {some_names(silent)}",
        InputWarning,
        stacklevel=2,
    )
    return replace(left, judges=frozenset(known))


def count_by_group(counts: Counts, of: Mapping[str, str]) -> Counts:
    """Counts by judge made counts by group."""
    names = natural_order(of[judge] for judge in counts.strata)
    place = {name: k for k, name in enumerate(names)}
    stratum = [place[of[counts.strata[k]]] for k in counts.stratum]
    return Counts.of(
        counts.items, counts.first, counts.second, counts.wins_first, counts.wins_second,
        counts.ties, stratum=stratum, strata=names, skips=counts.skips, judges=counts.judges,
        ordered=counts.ordered, strengths=counts.strengths, facts=counts.facts,
        fact_names=counts.fact_names,
    )  # fmt: skip
