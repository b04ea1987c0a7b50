"""One field of the form: what it is called, how it is asked for, and what is written of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import date
from typing import Any, NamedTuple, get_origin, get_type_hints

from tiewise.web.host.settings_fields.words import CHOICES, LONG, WORDS


class SettingField(NamedTuple):
    """One field of the form."""

    key: str
    """Such as `study.title`, or `anchors.2.value` of the second anchor."""
    label: str
    hint: str
    kind: str
    """`text`, `long`, `lines`, `pairs`, `yes`, `number`, `whole`, `day`, `choice`, `own` for tables
    that may be there or not, or `remove` for taking an entry of a list out."""
    value: str
    choices: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The key as faults name it."""
        return in_brackets(self.key)


def in_brackets(key: str) -> str:
    """A key as faults name it, such as `anchors[2].value`."""
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", key)


class SettingRow(NamedTuple):
    """The fields of one entry of a list."""

    title: str
    fields: tuple[SettingField, ...]
    more: tuple[SettingField, ...] = ()
    """Those that are folded away."""
    new: bool = False
    """Whether it is not in the file yet."""


class SettingTable(NamedTuple):
    """The fields of one table of the file, and the entries of a list that belongs to it."""

    name: str
    title: str
    fields: tuple[SettingField, ...]
    rows: tuple[SettingRow, ...] = ()
    note: str = ""

    def all_fields(self) -> Iterator[SettingField]:
        """All fields, those of entries too."""
        yield from self.fields
        for row in self.rows:
            yield from (*row.fields, *row.more)


def fields_of(at: str, values: Any, *, words: str = "") -> Iterator[SettingField]:
    """The fields of the single values of a table `at` a key; `words` is what labels go by."""
    hints = get_type_hints(type(values))
    for one in fields(values):
        kind = kind_of(f"{words or at}.{one.name}", hints[one.name])
        if kind:
            yield field_at(f"{at}.{one.name}", f"{words or at}.{one.name}", kind,
                           getattr(values, one.name))  # fmt: skip


def field_at(key: str, word: str, kind: str, value: Any) -> SettingField:
    """The field of a value."""
    label, _, about = WORDS[word].partition("; ")
    choices, text = CHOICES.get(word, ()), text_of(kind, value)
    if choices and text not in choices:
        choices = (*choices, text)
    return SettingField(key, label, about, kind, text, choices)


def kind_of(word: str, hint: Any) -> str:
    """How a field is asked for; empty for tables and lists of them."""
    if word in CHOICES:
        return "choice"
    if hint == Mapping[str, str]:
        return "pairs"
    if get_origin(hint) is tuple:
        return "lines" if hint == tuple[str, ...] else ""
    simple = {str: "text", bool: "yes", int: "whole", float: "number", date | None: "day"}
    return "long" if word in LONG else simple.get(hint, "")


def text_of(kind: str, value: Any) -> str:
    """A value as it stands in its field."""
    if value is None:
        return ""
    if kind in TICKS:
        return "yes" if value else ""
    if kind == "lines":
        return "\n".join(value)
    if kind == "pairs":
        return "\n".join(f"{key}: {one}" for key, one in value.items())
    if kind == "day":
        return str(value.isoformat())
    text = str(value)
    return text.strip("\n") if kind == "long" else text.strip()


TICKS = ("yes", "own", "remove")
VALUES = {
    "whole": "whole number", "number": "number", "day": "day such as 2027-01-31",
    "pairs": "list of lines such as style: left",
}  # fmt: skip
"""What a text that cannot be read was to be."""


def value_of(kind: str, text: str) -> Any:
    """What is written into the file; None where the key is taken out."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if kind == "yes":
        return bool(text)
    if kind == "own":
        return {} if text else None
    if kind == "remove":
        return None
    if kind == "lines":
        return lines
    if kind == "pairs":
        parts = [line.partition(":") for line in lines]
        if not all(colon for _, colon, _ in parts):
            raise ValueError(text)
        return {key.strip(): one.strip() for key, _, one in parts} or None
    if kind == "day":
        return date.fromisoformat(text) if text else None
    if kind == "whole":
        return int(text)
    return float(text) if kind == "number" else text
