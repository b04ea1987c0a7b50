"""Formats of tables of judgements: the columns by which each is known, and its rule."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tiewise.data.answers import (
    ANSWERS,
    CODE_OF_VOTE,
    CODE_OF_WORD,
    FIRST,
    MOST_LEVELS,
    SECOND,
    SELECTED,
    SKIP,
    TIE,
)
from tiewise.data.format_rules import (
    YES,
    ParsedRows,
    RowFault,
    Rule,
    chosen_sides,
    count_fault,
    flag_faults,
    one_each,
    pair_faults,
)
from tiewise.data.text_columns import MISSING, UNKNOWN, TextColumns

if TYPE_CHECKING:
    import pandas as pd

FLAG = {"tie": ("tie", "tied", "is_tie")}


def heading(column: object) -> str:
    """A column's name without regard to letter case or to what stands between its words.

    Judge ID, judge_id, judge.id and judgeId are one.
    """
    return re.sub(r"[\s._-]+", "", str(column).lower())


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of table: the headings, any of several, by which each part is known, and its rule."""

    name: str
    rule: Rule
    needs: Mapping[str, Sequence[str]]
    may: Mapping[str, Sequence[str]] = field(default_factory=dict)
    instead_of: Sequence[str] = ()
    """Names of formats that also fit some of its tables, and say less of them."""

    def fits(self, headings: set[str]) -> bool:
        """Whether every needed part is among the headings."""
        return all(headings & set(map(heading, names)) for names in self.needs.values())


# The comparison interface.

STATE_WITHOUT_CHOICE = {answer.state: answer.code for answer in ANSWERS if not answer.chosen}


def _interface(rows: TextColumns, columns: Mapping[str, str]) -> ParsedRows:
    """A state, and the chosen item if it is `selected`."""
    state = rows.lookup("state", {SELECTED: FIRST} | STATE_WITHOUT_CHOICE)
    one, two = chosen_sides(rows)
    selected, empty = state == FIRST, rows.is_one_of("chosen", MISSING)
    faults = [
        *pair_faults(rows),
        RowFault(
            state == UNKNOWN,
            "{column[state]} {state!r} is not selected, tied or skipped; correct the row",
        ),
        RowFault(
            selected & empty & ~one & ~two,
            "{column[state]} is selected but {column[chosen]} is empty; "
            "say which item was chosen, or write tied or skipped",
        ),
        RowFault(
            selected & ~one & ~two,
            "{column[chosen]} {chosen!r} is neither {first!r} nor {second!r}; "
            "leave it empty and write tied for a tie, or correct the row",
        ),
        RowFault(
            ~selected & ~empty,
            "{column[state]} is {state} but {column[chosen]} is {chosen!r}; "
            "empty it, or write selected",
        ),
    ]
    return ParsedRows(faults, one_each(np.where(selected & two, SECOND, state)))


INTERFACE = Format(
    "comparison interface",
    _interface,
    {
        "first": ["item_1_id"],
        "second": ["item_2_id"],
        "chosen": ["selected_item_id"],
        "state": ["state"],
    },
    instead_of=["pair and winner"],
)


def interface_table(rows: pd.DataFrame, items: tuple[str, ...] | None) -> pd.DataFrame:
    """Our rows in the columns of the comparison interface; pairs in the order of `items` if any."""
    import pandas as pd

    first, second, outcome = rows["first"], rows["second"], rows["outcome"]
    chosen_first, chosen_second = (outcome == ANSWERS[code].word for code in (FIRST, SECOND))
    chosen = first.where(chosen_first, second.where(chosen_second, None))
    if items is not None:
        position = {item: k for k, item in enumerate(items)}
        turn = first.map(position) > second.map(position)
        first, second = first.mask(turn, second), second.mask(turn, first)
    return pd.DataFrame(
        {
            "user_id": rows["judge"],
            "item_1_id": first,
            "item_2_id": second,
            "selected_item_id": chosen,
            "state": outcome.map({answer.word: answer.state for answer in ANSWERS}),
            **({"grade": rows["grade"]} if "grade" in rows else {}),
        }
    )


# Tables that name the chosen item.


def _chosen(rows: TextColumns, columns: Mapping[str, str]) -> ParsedRows:
    """The chosen item, with a flag for ties perhaps; also (winner, loser)."""
    one, two = chosen_sides(rows)
    empty = rows.is_one_of("chosen", MISSING) & ~one & ~two
    tied = rows.is_one_of("tie", YES) if "tie" in columns else np.zeros_like(empty)
    # Of (winner, loser) the chosen column is also an item's, so a tie cannot leave it empty.
    own = columns["chosen"] not in (columns["first"], columns["second"])
    faults = [
        *pair_faults(rows),
        *flag_faults(rows),
        RowFault(
            empty & ~tied,
            "{column[chosen]} is empty and no column says that this is a tie; "
            "say which item was chosen, or flag the tie in a column named with tie=",
        ),
        RowFault(
            ~empty & ~one & ~two,
            "{column[chosen]} {chosen!r} is neither {first!r} nor {second!r}; "
            "correct the row, or leave it empty and flag it as a tie",
        ),
        RowFault(
            tied & ~empty & own,
            "flagged as a tie but {column[chosen]} is {chosen!r}; empty it, or take the flag away",
        ),
    ]
    return ParsedRows(faults, one_each(np.select([tied, one], [TIE, FIRST], SECOND)))


WINNER = ("winner", "winner_id")
WON = (*WINNER, "win")
CHOSEN = ("candidate_chosen", "chosen", "chosen_id", "chosen_item", "chosen_item_id")
NOT_CHOSEN = (
    "candidate_not_chosen", "not_chosen", "not_chosen_id", "not_chosen_item", "not_chosen_item_id",
    "rejected", "rejected_id",
)  # fmt: skip
THINGS = ("item", "choice", "option", "candidate", "object", "alternative")


def _numbered(number: str, letter: str, side: str, place: str) -> list[str]:
    """Headings of one item of a pair: item_1, choice_id1, option_a_id, left, first_item, …"""
    names = [name for word in (side, place) for name in (word, f"{word}_id")]
    for thing in THINGS:
        for mark in (number, letter):
            names += [f"{thing}_{mark}", f"{thing}_{mark}_id", f"{thing}_id_{mark}"]
        for word in (side, place):
            names += [f"{word}_{thing}", f"{word}_{thing}_id"]
    return names


FIRST_ITEM = _numbered("1", "a", "left", "first")
SECOND_ITEM = _numbered("2", "b", "right", "second")
COMPARATIVE_JUDGEMENT = Format(
    "comparative judgement",
    _chosen,
    {"first": CHOSEN, "second": NOT_CHOSEN, "chosen": CHOSEN},
    FLAG,
)
WINNER_AND_LOSER = Format(
    "winner and loser",
    _chosen,
    {"first": WON, "second": ["loser", "loser_id", "lost"], "chosen": WON},
    FLAG,
)
PAIR_AND_WINNER = Format(
    "pair and winner",
    _chosen,
    {
        "first": FIRST_ITEM,
        "second": SECOND_ITEM,
        "chosen": [*WINNER, *CHOSEN, "preferred", "preferred_id"],
    },
    FLAG,
    instead_of=["winner and loser", "comparative judgement"],
)
NAMED_COLUMNS = Format("named columns", _chosen, {"first": [], "second": [], "chosen": []}, FLAG)
"""Columns that the user names; never recognised by headings."""


# Graded answers, which say by themselves which item has more.


def graded_pairs(words: Sequence[str] = ()) -> Format:
    """Pairs with a graded answer: one of these words, or a whole number that favours the first.

    `words` run from all for the first item to all for the second.
    """
    grades = _grades(words)
    allowed = f"a whole number from -{MOST_LEVELS} to {MOST_LEVELS} (for words, give grades=)"
    allowed = f"one of {', '.join(words)}" if words else allowed
    # Braces in a word are not parts of the message.
    allowed = allowed.replace("{", "{{").replace("}", "}}")

    def rule(rows: TextColumns, columns: Mapping[str, str]) -> ParsedRows:
        return _graded(rows, grades, allowed)

    return Format("graded pairs", rule, {"first": FIRST_ITEM, "second": SECOND_ITEM})


def _grades(words: Sequence[str]) -> dict[str, int]:
    """The grade of each text: positive for the first item, 0 about equal, negative the second."""
    if not words:
        numbers = range(-MOST_LEVELS, MOST_LEVELS + 1)
        spelt = {str(k): k for k in numbers} | {f"+{k}": k for k in numbers if k > 0}
        # Whole numbers with gaps among them are often written 2.0.
        return spelt | {f"{text}.0": k for text, k in spelt.items()}
    levels, odd = divmod(len(words), 2)
    grades = [*range(levels, 0, -1), *[0] * odd, *range(-1, -levels - 1, -1)]
    return {word.strip().lower(): grade for word, grade in zip(words, grades, strict=True)}


def _graded(rows: TextColumns, grades: Mapping[str, int], allowed: str) -> ParsedRows:
    """A grade in each row; an empty one is a pair that was skipped."""
    code = rows.lookup("grade", dict.fromkeys(MISSING, 0) | {g: k + 10 for g, k in grades.items()})
    skipped, grade = code == 0, code - 10
    answer = np.select([skipped, grade > 0, grade < 0], [SKIP, FIRST, SECOND], TIE)
    wrong = f"{{column[grade]}} {{grade!r}} is not {allowed}; correct the row, or empty it"
    faults = [*pair_faults(rows), RowFault(code == UNKNOWN, wrong)]
    return ParsedRows(faults, one_each(answer), np.where(skipped, 0, np.abs(grade)))


# Arena votes, where the answer names a side and not an item.


def _votes(rows: TextColumns, columns: Mapping[str, str]) -> ParsedRows:
    vote = rows.lookup("vote", CODE_OF_VOTE)
    wrong = (
        "{column[vote]} {vote!r} is not model_a, model_b, tie or tie (bothbad); correct the row, "
        "or if it holds names of models, say first={column[first]!r}, "
        "second={column[second]!r}, chosen={column[vote]!r}"
    )
    return ParsedRows([*pair_faults(rows), RowFault(vote == UNKNOWN, wrong)], one_each(vote))


ARENA_VOTES = Format(
    "arena votes", _votes, {"first": ["model_a"], "second": ["model_b"], "vote": ["winner"]}
)


# Rows that are counts already.

COUNTED = {"wins_1": FIRST, "wins_2": SECOND, "ties": TIE}


def _counts(rows: TextColumns, columns: Mapping[str, str]) -> ParsedRows:
    """Wins of the first, of the second, and ties."""
    numbers = {part: rows.whole_numbers(part) for part in COUNTED if part in columns}
    faults = [count_fault(part, number) for part, number in numbers.items()]
    answers = [(np.full_like(n, COUNTED[part]), n) for part, n in numbers.items()]
    return ParsedRows([*pair_faults(rows), *faults], answers)


COUNTS = Format(
    "counts",
    _counts,
    {"first": ["item_1"], "second": ["item_2"], "wins_1": ["wins_1"], "wins_2": ["wins_2"]},
    {"ties": ["ties"]},
    instead_of=["pair and winner"],
)


# Our own words.


def _own_words(rows: TextColumns, columns: Mapping[str, str]) -> ParsedRows:
    """First, second, outcome, and perhaps how many times."""
    outcome = rows.lookup("outcome", CODE_OF_WORD)
    times = rows.whole_numbers("times") if "times" in columns else np.ones_like(outcome)
    wrong = "{column[outcome]} {outcome!r} is not first, second, tie or skip; correct the row"
    unknown = RowFault(outcome == UNKNOWN, wrong)
    faults = [*pair_faults(rows), unknown, count_fault("times", times)]
    return ParsedRows(faults, [(outcome, times)])


TIEWISE_ROWS = Format(
    "tiewise rows",
    _own_words,
    {"first": ["first"], "second": ["second"], "outcome": ["outcome"]},
    {"times": ["times"]},
    instead_of=["pair and winner"],
)
