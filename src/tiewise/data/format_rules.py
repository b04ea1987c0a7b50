"""Judgements: what the rows of each kind of file tell, and which rows cannot be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isnan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiewise.data.counts import Integers

if TYPE_CHECKING:
    import pyarrow as pa

Mask = NDArray[np.bool_]

OUTCOMES = ("first", "second", "tie", "skip")
FIRST, SECOND, TIE, SKIP = range(4)

STATES = {"selected": FIRST, "tied": TIE, "skipped": SKIP}
VOTES = {"model_a": FIRST, "model_b": SECOND, "tie": TIE, "tie (bothbad)": TIE, "both_bad": TIE}
EMPTY = {"", "na", "none", "nan", "null"}
YES = {"1", "1.0", "true", "yes"}
NO = EMPTY | {"0", "0.0", "false", "no"}


def as_text(value: object) -> str:
    """The text of an id: 9, 9.0 and " 9 " are all "9", and what is missing is empty."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, (float, np.floating, Decimal)):
        if isnan(value):
            return ""
        return str(int(value)) if float(value).is_integer() else str(value)
    return str(value).strip()


@dataclass(frozen=True, slots=True)
class Coded:
    """Columns as positions in a list of distinct texts; position 0 is the empty text."""

    words: tuple[str, ...]
    columns: Mapping[str, Integers]

    @classmethod
    def of(cls, columns: Mapping[str, pa.ChunkedArray]) -> Coded:
        """Columns of anything, each distinct value turned to text once."""
        words = {"": 0}
        coded = {}
        for part, column in columns.items():
            values, place = _distinct(column)
            code = [words.setdefault(as_text(value), len(words)) for value in values]
            coded[part] = np.array(code, np.int64)[place]
        return cls(tuple(words), coded)

    def within(self, part: str, allowed: Iterable[str]) -> Mask:
        """Rows whose text in `part` is one of those allowed, in any letter case."""
        inside: Mask = self.lookup(part, dict.fromkeys(allowed, 1)) > 0
        return inside

    def lookup(self, part: str, table: Mapping[str, int]) -> Integers:
        """The number that the table gives each row's text in `part`, in any letter case, or -1."""
        return self._by_word(part, lambda word: table.get(word.lower(), -1))

    def whole(self, part: str) -> Integers:
        """The whole number in each row of `part`, or -1 where there is none."""
        return self._by_word(
            part, lambda word: int(float(word)) if re.fullmatch(r"\d{1,15}(\.0+)?", word) else -1
        )

    def _by_word(self, part: str, number: Callable[[str], int]) -> Integers:
        column = self.columns[part]
        out = np.empty(len(self.words), np.int64)
        used = np.unique(column)
        out[used] = [number(self.words[k]) for k in used]
        return out[column]

    def texts(self, row: int) -> dict[str, str]:
        """The texts of one row, by part."""
        return {part: self.words[codes[row]] for part, codes in self.columns.items()}


def _distinct(column: pa.ChunkedArray) -> tuple[list[object], Integers]:
    """The distinct values of a column, and which of them each row holds."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.type == pa.string_view():
        column = column.cast(pa.large_string())
    chunks = column.dictionary_encode(null_encoding="encode").unify_dictionaries().chunks
    if not chunks:
        return [], np.zeros(0, np.int64)
    return chunks[0].dictionary.to_pylist(), np.concatenate(
        [chunk.indices.to_numpy() for chunk in chunks], dtype=np.int64
    )


@dataclass(frozen=True, slots=True)
class Fault:
    """Rows that cannot be, and the words for it: a template over the row's texts and columns."""

    rows: Mask
    words: str


# What a rule makes of rows: what is wrong with them, and pairs of (outcome, how often).
Told = tuple[list[Fault], list[tuple[Integers, Integers]]]
Rule = Callable[[Coded, Mapping[str, str]], Told]


@dataclass(frozen=True, slots=True)
class Judgements:
    """Positions of two items in `words`, outcome, how often, and which row it was."""

    words: tuple[str, ...]
    first: Integers
    second: Integers
    outcome: Integers
    times: Integers
    row: Integers


def understand(rule: Rule, rows: Coded, columns: Mapping[str, str]) -> Judgements | tuple[int, str]:
    """What the rows tell; or the first row that cannot be, and why."""
    faults, told = rule(rows, columns)
    bad = [(int(np.argmax(fault.rows)), fault.words) for fault in faults if fault.rows.any()]
    if bad:
        row, words = min(bad, key=lambda fault: fault[0])
        return row, words.format(column=columns, **rows.texts(row))
    # One answer a row, or for counts three: kept in the order of the rows.
    outcome, times = (np.stack(arrays, axis=1).ravel() for arrays in zip(*told, strict=True))
    at = np.repeat(np.arange(len(outcome) // len(told)), len(told))
    first, second = rows.columns["first"][at], rows.columns["second"][at]
    return Judgements(rows.words, first, second, outcome, times, at)


def interface(rows: Coded, columns: Mapping[str, str]) -> Told:
    """The comparison interface's rows: a state, and the chosen item if it is `selected`."""
    state = rows.lookup("state", STATES)
    one, two = _which(rows)
    selected, empty = state == FIRST, rows.within("chosen", EMPTY)
    faults = [
        *_pair_faults(rows),
        Fault(
            state == -1,
            "{column[state]} {state!r} is not selected, tied or skipped; correct the row",
        ),
        Fault(
            selected & empty & ~one & ~two,
            "{column[state]} is selected but {column[chosen]} is empty; "
            "say which item was chosen, or write tied or skipped",
        ),
        Fault(
            selected & ~one & ~two,
            "{column[chosen]} {chosen!r} is neither {first!r} nor {second!r}; "
            "leave it empty and write tied for a tie, or correct the row",
        ),
        Fault(
            ~selected & ~empty,
            "{column[state]} is {state} but {column[chosen]} is {chosen!r}; "
            "empty it, or write selected",
        ),
    ]
    return faults, _once(np.where(selected & two, SECOND, state))


def chosen(rows: Coded, columns: Mapping[str, str]) -> Told:
    """Rows that name the chosen item, with a flag for ties perhaps; also (winner, loser)."""
    one, two = _which(rows)
    empty = rows.within("chosen", EMPTY) & ~one & ~two
    tied = rows.within("tie", YES) if "tie" in columns else np.zeros_like(empty)
    # Of (winner, loser) the chosen column is also an item's, so a tie cannot leave it empty.
    own = columns["chosen"] not in (columns["first"], columns["second"])
    faults = [
        *_pair_faults(rows),
        *_flag_faults(rows),
        Fault(
            empty & ~tied,
            "{column[chosen]} is empty and no column says that this is a tie; "
            "say which item was chosen, or flag the tie in a column named with tie=",
        ),
        Fault(
            ~empty & ~one & ~two,
            "{column[chosen]} {chosen!r} is neither {first!r} nor {second!r}; "
            "correct the row, or leave it empty and flag it as a tie",
        ),
        Fault(
            tied & ~empty & own,
            "flagged as a tie but {column[chosen]} is {chosen!r}; empty it, or take the flag away",
        ),
    ]
    return faults, _once(np.select([tied, one], [TIE, FIRST], SECOND))


def votes(rows: Coded, columns: Mapping[str, str]) -> Told:
    """Arena votes, where the answer names a side and not an item."""
    vote = rows.lookup("vote", VOTES)
    wrong = (
        "{column[vote]} {vote!r} is not model_a, model_b, tie or tie (bothbad); correct the row, "
        "or if it holds names of models, say first={column[first]!r}, "
        "second={column[second]!r}, chosen={column[vote]!r}"
    )
    return [*_pair_faults(rows), Fault(vote == -1, wrong)], _once(vote)


def counted(rows: Coded, columns: Mapping[str, str]) -> Told:
    """Rows that are counts already: wins of the first, of the second, and ties."""
    parts = [part for part in ("wins_1", "wins_2", "ties") if part in columns]
    numbers = [rows.whole(part) for part in parts]
    faults = [_count_fault(part, number) for part, number in zip(parts, numbers, strict=True)]
    told = [(np.full_like(number, kind), number) for kind, number in enumerate(numbers)]
    return [*_pair_faults(rows), *faults], told


def ours(rows: Coded, columns: Mapping[str, str]) -> Told:
    """Rows in our own words: first, second, outcome, and perhaps how many times."""
    outcome = rows.lookup("outcome", {word: k for k, word in enumerate(OUTCOMES)})
    times = rows.whole("times") if "times" in columns else np.ones_like(outcome)
    wrong = "{column[outcome]} {outcome!r} is not first, second, tie or skip; correct the row"
    faults = [*_pair_faults(rows), Fault(outcome == -1, wrong), _count_fault("times", times)]
    return faults, [(outcome, times)]


def _once(outcome: Integers) -> list[tuple[Integers, Integers]]:
    return [(outcome, np.ones_like(outcome))]


def _which(rows: Coded) -> tuple[Mask, Mask]:
    """Whether the chosen item is the first of the pair, and whether it is the second."""
    first, second, named = (rows.columns[part] for part in ("first", "second", "chosen"))
    # Whole numbers with gaps among them are often written 26.0; an item "1.0" matches as it is.
    code = {word: k for k, word in enumerate(rows.words)}
    plain = np.array([code.get(word.removesuffix(".0"), k) for word, k in code.items()], np.int64)
    named = np.where((named == first) | (named == second), named, plain[named])
    return named == first, named == second


def _pair_faults(rows: Coded) -> list[Fault]:
    first, second = rows.columns["first"], rows.columns["second"]
    needed = "is empty; a comparison needs two items: fill it in, or take the row out"
    itself = "item {first!r} is compared with itself; correct the row, or take it out"
    return [
        Fault(first == 0, "{column[first]} " + needed),
        Fault(second == 0, "{column[second]} " + needed),
        Fault(first == second, itself),
    ]


def _flag_faults(rows: Coded) -> list[Fault]:
    if "tie" not in rows.columns:
        return []
    wrong = "{column[tie]} {tie!r} is neither yes nor no; write 1 for a tie, else 0"
    return [Fault(~rows.within("tie", YES | NO), wrong)]


def _count_fault(part: str, number: Integers) -> Fault:
    wrong = "is not a whole number, 0 or more; correct the count"
    return Fault(number < 0, f"{{column[{part}]}} {{{part}!r}} {wrong}")
