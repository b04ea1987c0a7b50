"""Fields of lists of tables: questions, anchors, questions about judges, pairs for practice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any, get_type_hints

from tiewise.study.settings import SignUpField
from tiewise.study.toml.anchors import AnchorSettings
from tiewise.study.toml.answers import AnswerSettings
from tiewise.study.toml.practice import PracticePair
from tiewise.study.toml.questions import QuestionSettings
from tiewise.web.host.settings_fields.fields import (
    SettingField,
    SettingRow,
    field_at,
    fields_of,
)

LISTS: dict[str, type] = {
    "judges.fields": SignUpField, "questions": QuestionSettings, "practice": PracticePair,
    "anchors": AnchorSettings,
}  # fmt: skip
TITLES = {
    "judges.fields": "Question about judges", "questions": "Question", "practice": "Pair",
    "anchors": "Anchor",
}  # fmt: skip
MOST_ROWS = 200
"""Entries of a list that the form has room for."""
NEW_ROWS = 3
"""Empty entries, to be filled in."""
OWN_ANSWERS = "answers"
REFUSED = {
    "questions.answers.both_seen": "it is asked of the pair, and stands with all answers",
}
"""Settings that the form does not offer, and why."""


def too_many(entries: Sequence[Any]) -> str:
    """Why the entries of a list are not in the form; empty where they are."""
    if len(entries) <= MOST_ROWS:
        return ""
    return f"There are {len(entries):,}, too many for this page: edit the file itself."


def rows_of(name: str, entries: Sequence[Any]) -> tuple[SettingRow, ...]:
    """The entries of a list, and a few empty ones."""
    if too_many(entries):
        return ()
    new = [_empty(LISTS[name])] * NEW_ROWS
    return tuple(
        _row(name, number, entry, new=number > len(entries))
        for number, entry in enumerate([*entries, *new], 1)
    )


def _without_number(key: str, number: int) -> str:
    return key.replace(f".{number}.", ".", 1)


def _empty(kind: type) -> Any:
    """An entry in which nothing is said yet."""
    required = {one.name for one in fields(kind)
                if one.default is MISSING and one.default_factory is MISSING}  # fmt: skip
    return kind(**dict.fromkeys(required))


def _row(name: str, number: int, entry: Any, *, new: bool) -> SettingRow:
    at, title = f"{name}.{number}", f"{TITLES[name]} {number}"
    own: tuple[SettingField, ...] = ()
    more: tuple[SettingField, ...] = ()
    if AnswerSettings | None == get_type_hints(type(entry)).get(OWN_ANSWERS):
        answers = f"{at}.{OWN_ANSWERS}"
        own = (field_at(answers, f"{name}.{OWN_ANSWERS}", "own", entry.answers is not None),)
        single = fields_of(answers, entry.answers or AnswerSettings(), words="answers")
        more = tuple(one for one in single if _without_number(one.key, number) not in REFUSED)
    out = SettingField(f"{at}.remove", f"Take {title} out", "", "remove", "")
    return SettingRow(
        f"New: {title}" if new else title,
        (*fields_of(at, entry, words=name), *own, *(() if new else (out,))), more, new,
    )  # fmt: skip
