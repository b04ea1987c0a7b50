"""What is known of a table of judgements besides its rows, in a small file beside it.

`comparisons.csv` has `comparisons.about.json` beside it, written by the export of a study. Judges
who could have called a tie and never did say something by that; the rows alone do not show it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from tiewise.data.answers import MOST_LEVELS
from tiewise.errors import InputError

TIES_OFFERED = "ties_offered"
GRADES = "grades"
"""How many ordered answers there were, where choices are graded."""
QUESTIONS = "questions"
"""By the id of a question, its own ties and grades, where several were asked of each pair."""
RAW = "raw"
"""True where cells are as they are, and not defused for spreadsheets."""


def about_path(table: str | PathLike[str]) -> Path:
    """The file beside a table that says what its rows do not."""
    path = Path(table)
    return path.with_name(f"{path.stem}.about.json")


def write_about(
    table: str | PathLike[str],
    *,
    ties_offered: bool,
    grades: int = 0,
    raw: bool = False,
    questions: Mapping[str, tuple[bool, int]] | None = None,
) -> Path:
    """Write it beside the table; `grades` is the number of graded answers, 0 where none are.

    `questions` are both by the id of a question, where there are several.
    """
    path = about_path(table)
    facts: dict[str, Any] = _answers(ties_offered, grades) | ({RAW: True} if raw else {})
    if questions:
        facts[QUESTIONS] = {id_: _answers(*answers) for id_, answers in questions.items()}
    path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return path


def _answers(ties_offered: bool, grades: int) -> dict[str, bool | int]:
    return {TIES_OFFERED: ties_offered} | ({GRADES: grades} if grades else {})


def is_raw(table: str | PathLike[str]) -> bool:
    """Whether the file beside a table says that its cells were not defused."""
    return _facts(table).get(RAW) is True


def read_levels_offered(table: object, question: str | None = None) -> int:
    """How many ways there were to choose an item; 1 where no file beside the table says more."""
    facts = _facts(table, question) if isinstance(table, (str, PathLike)) else {}
    grades = facts.get(GRADES)
    if not isinstance(grades, int) or isinstance(grades, bool):
        return 1
    return min(max(grades // 2, 1), MOST_LEVELS)


def _facts(table: str | PathLike[str], question: str | None = None) -> dict[str, Any]:
    """All that the file says, of one question where it has several; nothing if it is not ours."""
    path = about_path(table)
    try:
        facts = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (ValueError, RecursionError):  # said where the rest of the file is needed
        return {}
    return _of_question(facts, question) if isinstance(facts, dict) else {}


def _of_question(facts: dict[str, Any], question: str | None) -> dict[str, Any]:
    """What a file says of one question, in place of what it says of all."""
    several = facts.get(QUESTIONS)
    own = several.get(question) if question and isinstance(several, dict) else None
    return own if isinstance(own, dict) else facts


def read_ties_offered(table: str | PathLike[str], question: str | None = None) -> bool | None:
    """Whether judges could call a tie; None where no file beside the table says so."""
    path = about_path(table)
    if not path.is_file():
        return None
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        offered = _of_question(facts, question)[TIES_OFFERED]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        offered = None
    if not isinstance(offered, bool):
        raise InputError(
            f'{path}: it should hold {{"{TIES_OFFERED}": true}} or false, which says whether '
            "judges could call a tie; mend it, or move it away"
        )
    return offered


class TableAnswers(NamedTuple):
    """What answers the judges of a table could give, as far as that is known, and their ties."""

    source: str
    levels: int
    is_graded: bool
    ties_offered: bool | None
    ties: int


def refuse_other_answers(one: TableAnswers, two: TableAnswers) -> None:
    """Raise InputError where judges of two tables could not give the same answers.

    What a file beside the table says is known; else that there were the answers that were given.
    """
    if max(one.levels, two.levels) > 1 and one.is_graded != two.is_graded:
        _refuse(one, two, "in one of them answers are graded, in the other they are not")
    for table, other in ((one, two), (two, one)):
        offered, known = table.ties_offered, other.ties_offered is not None
        if offered is None:
            continue
        if other.levels > table.levels or (known and other.levels < table.levels):
            strengths = f"{one.levels} and {two.levels} strengths of a choice"
            _refuse(one, two, f"their answers have {strengths}")
        if not offered and (other.ties_offered or other.ties):
            _refuse(one, two, "only in one of them could judges call a tie")


def _refuse(one: TableAnswers, two: TableAnswers, why: str) -> None:
    raise InputError(
        f"{one.source} and {two.source} are no two waves of one scale: {why}, so that an answer "
        "does not mean the same; fit them apart, the later one with link= to the earlier"
    )
