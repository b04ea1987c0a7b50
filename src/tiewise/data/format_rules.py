"""Rules of formats: how rows become judgements, and the checks that several rules share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from tiewise.data.answers import FIRST, MOST_LEVELS, SECOND
from tiewise.data.counts import Integers
from tiewise.data.text_columns import MISSING, Mask, TextColumns

NO_GRADE = dict.fromkeys({*MISSING, "0", "0.0"}, 0)
YES = {"1", "1.0", "true", "yes"}
NO = MISSING | {"0", "0.0", "false", "no"}


@dataclass(frozen=True, slots=True)
class RowFault:
    """Rows that cannot be, and the message: a template over the row's texts and columns."""

    rows: Mask
    message: str
    reason: str = ""
    """Why there is no pair in such rows, which may then be left out; empty for other faults."""


class ParsedRows(NamedTuple):
    """What a rule makes of rows: what is wrong with them, and pairs of (answer, how often).

    `strength` says how strongly the item was chosen, from 1, in formats with one answer a row.
    """

    faults: list[RowFault]
    answers: list[tuple[Integers, Integers]]
    strength: Integers | None = None


ITSELF, NO_ITEM = "an item with itself", "an item missing"
"""Why a row is no pair."""
LEAVE_OUT = "leave such rows out with drop_invalid=True"

Rule = Callable[[TextColumns, Mapping[str, str]], ParsedRows]
"""From rows, and the names of the columns by part."""


@dataclass(frozen=True, slots=True)
class Judgements:
    """Positions of two items in `texts`, code of the answer, how often, and in which row.

    `left_out` are rows in which there is no pair, by the reason, where they may be left out.
    `strength` is that of a choice, from 1, and 0 of other answers; None where there are no grades.
    """

    texts: tuple[str, ...]
    first: Integers
    second: Integers
    answer: Integers
    times: Integers
    row: Integers
    left_out: Mapping[str, Mask] = field(default_factory=dict)
    strength: Integers | None = None

    def repeated(self, times: Integers) -> Judgements:
        """The judgements of distinct rows, each as often as its row occurs."""
        return replace(self, times=self.times * times[self.row])


class BadRow(NamedTuple):
    """The first row that cannot be, and why."""

    row: int
    message: str


def parse_rows(
    rule: Rule, rows: TextColumns, columns: Mapping[str, str], *, drop_invalid: bool = False
) -> Judgements | BadRow:
    """The judgements in rows; or the first row that cannot be.

    With `drop_invalid` rows without a pair of items are left out.
    """
    faults, answers, strength = rule(rows, columns)
    if strength is None and "grade" in columns:
        strength, wrong = chosen_strengths(rows, answers[0][0])
        faults = [*faults, *wrong]
    left_out = _without_pair(faults) if drop_invalid else {}
    kept = ~np.any([np.zeros(len(rows), bool), *left_out.values()], axis=0)
    faults = [replace(fault, rows=fault.rows & kept) for fault in faults]
    bad = [(int(np.argmax(fault.rows)), fault.message) for fault in faults if fault.rows.any()]
    if bad:
        row, message = min(bad, key=lambda fault: fault[0])
        return BadRow(row, message.format(column=columns, **rows.row(row)))
    # One answer a row, or for counts three: kept in the order of the rows.
    answer, times = (np.stack(arrays, axis=1).ravel() for arrays in zip(*answers, strict=True))
    row_of = np.repeat(np.arange(len(answer) // len(answers)), len(answers))
    inside = kept[row_of]
    answer, times, row_of = answer[inside], times[inside], row_of[inside]
    first, second = rows.columns["first"][row_of], rows.columns["second"][row_of]
    strength = None if strength is None else strength[row_of]
    return Judgements(rows.texts, first, second, answer, times, row_of, left_out, strength)


def _without_pair(faults: Iterable[RowFault]) -> dict[str, Mask]:
    """Rows without a pair of items, by the first reason that each has."""
    left_out: dict[str, Mask] = {}
    for fault in faults:
        if fault.reason:
            earlier = np.any([np.zeros_like(fault.rows), *left_out.values()], axis=0)
            before = left_out.get(fault.reason, False)
            left_out[fault.reason] = before | (fault.rows & ~earlier)
    return left_out


def one_each(answer: Integers) -> list[tuple[Integers, Integers]]:
    """One judgement a row."""
    return [(answer, np.ones_like(answer))]


def chosen_sides(rows: TextColumns) -> tuple[Mask, Mask]:
    """Whether the chosen item is the first of the pair, and whether it is the second."""
    first, second, chosen = (rows.columns[part] for part in ("first", "second", "chosen"))
    # Whole numbers with gaps among them are often written 26.0; an item "1.0" matches as it is.
    code = {text: k for k, text in enumerate(rows.texts)}
    plain = np.array([code.get(text.removesuffix(".0"), k) for text, k in code.items()], np.int64)
    chosen = np.where((chosen == first) | (chosen == second), chosen, plain[chosen])
    return chosen == first, chosen == second


def chosen_strengths(rows: TextColumns, answer: Integers) -> tuple[Integers, list[RowFault]]:
    """How strongly the item was chosen, by a column of numbers; and rows where that cannot be."""
    numbers = range(1, MOST_LEVELS + 1)
    spelt = {f"{k}{end}": k for k in numbers for end in ("", ".0")}
    number = rows.lookup("grade", spelt | NO_GRADE)
    chosen = (answer == FIRST) | (answer == SECOND)
    faults = [
        RowFault(
            chosen & (number < 1),
            f"{{column[grade]}} {{grade!r}} does not say how strongly the item was chosen; write a "
            f"whole number from 1 (just chosen) to {MOST_LEVELS}",
        ),
        RowFault(
            ~chosen & (number != 0),
            "{column[grade]} is {grade!r}, but no item was chosen; empty it, or write 0",
        ),
    ]
    return np.where(chosen, number, 0), faults


def pair_faults(rows: TextColumns) -> list[RowFault]:
    """Rows without two items, or with one twice."""
    first, second = rows.columns["first"], rows.columns["second"]
    itself = f"item {{first!r}} is compared with itself; correct the row, or {LEAVE_OUT}"
    return [
        *_missing_item(rows, "first"),
        *_missing_item(rows, "second"),
        RowFault(first == second, itself, ITSELF),
    ]


def _missing_item(rows: TextColumns, part: str) -> list[RowFault]:
    """Rows without an item in this part: it is empty, or a word such as NA."""
    missing, word = rows.columns[part] == 0, rows.written[part] != 0
    empty = f"is empty; a comparison needs two items: fill it in, or {LEAVE_OUT}"
    no_id = (
        f"{{{part}!r}} is no id, but means that nothing is there; fill it in, give the item "
        f"another id if it has this one, or {LEAVE_OUT}"
    )
    return [
        RowFault(missing & ~word, f"{{column[{part}]}} {empty}", NO_ITEM),
        RowFault(missing & word, f"{{column[{part}]}} {no_id}", NO_ITEM),
    ]


def flag_faults(rows: TextColumns) -> list[RowFault]:
    """Rows whose flag for a tie is neither yes nor no."""
    if "tie" not in rows.columns:
        return []
    wrong = "{column[tie]} {tie!r} is neither yes nor no; write 1 for a tie, else 0"
    return [RowFault(~rows.is_one_of("tie", YES | NO), wrong)]


def count_fault(part: str, number: Integers) -> RowFault:
    """Rows whose count is none."""
    wrong = "is not a whole number, 0 or more; correct the count"
    return RowFault(number < 0, f"{{column[{part}]}} {{{part}!r}} {wrong}")
