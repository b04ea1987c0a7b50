"""The form of all settings of a study, made from what `study.toml` may hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import date
from functools import cache
from importlib import resources
from typing import Any, NamedTuple, get_origin, get_type_hints

from tiewise.study.settings import LEAVE_STYLES, POLICY_NAMES, PRIORS, SCALES, Settings
from tiewise.text import capital
from tiewise.web.request import Form

TITLES = {
    "study": "What is asked", "answers": "Answers", "consent": "Consent", "judges": "Judges",
    "pairing": "Which pairs are shown", "model": "How it is fitted", "support": "Help and exit",
    "about": "Who runs the study", "files": "Limits of files", "map": "Maps", "reasons": "Reasons",
}  # fmt: skip
LONG = ("study.kept", "study.welcome", "consent.text", "study.question")
CHOICES: dict[str, tuple[str, ...]] = {
    "pairing.policy": POLICY_NAMES, "model.priors": ("", *PRIORS), "model.scale": ("", *SCALES),
    "support.leave": LEAVE_STYLES, "study.asked": ("together", "in turn"),
}  # fmt: skip
HINT = re.compile(r"(?:# )?(\w+) = .*?\s#\s(.*)")


class SettingField(NamedTuple):
    """One field of the form."""

    key: str
    label: str
    hint: str
    kind: str
    """`text`, `long`, `lines`, `yes`, `number`, `whole`, `day` or `choice`."""
    value: str
    choices: tuple[str, ...] = ()


class SettingTable(NamedTuple):
    """The fields of one table of the file."""

    name: str
    title: str
    fields: tuple[SettingField, ...]


def setting_tables(settings: Settings) -> list[SettingTable]:
    """All tables of single values, with the values that hold now."""
    hints = get_type_hints(Settings)
    return [
        SettingTable(name, TITLES[name], tuple(_fields(name, getattr(settings, name))))
        for name in TITLES if hasattr(hints[name], "__dataclass_fields__")
    ]  # fmt: skip


def changed_values(settings: Settings, form: Form) -> tuple[dict[str, Any], list[str]]:
    """What a form changes, as values by key; and what is wrong with single fields."""
    values: dict[str, Any] = {}
    faults = []
    for table in setting_tables(settings):
        for one in table.fields:
            text = _sent(one, form)
            if text == one.value:
                continue
            try:
                values[one.key] = _value(one.kind, text)
            except ValueError:
                faults.append(f"{one.key}: {text[:40]!r} is no {NUMBERS.get(one.kind, 'value')}")
    return values, faults


NUMBERS = {"whole": "whole number", "number": "number", "day": "day such as 2027-01-31"}


def filled_in(tables: list[SettingTable], form: Form) -> list[SettingTable]:
    """The tables with what was sent, so that nothing is lost where something is refused."""
    return [
        table._replace(fields=tuple(one._replace(value=_sent(one, form)) for one in table.fields))
        for table in tables
    ]


def _sent(one: SettingField, form: Form) -> str:
    if one.kind == "yes":
        return "yes" if form.get(one.key) else ""
    return form.get(one.key).replace("\r\n", "\n").strip("\n" if one.kind == "long" else None)


def _fields(table: str, values: Any) -> Iterator[SettingField]:
    hints = get_type_hints(type(values))
    for one in fields(values):
        key, value = f"{table}.{one.name}", getattr(values, one.name)
        kind = _kind(key, hints[one.name])
        if kind:
            label = capital(one.name.replace("_", " "))
            choices = CHOICES.get(key, ())
            text = _text(kind, value)
            if choices and text not in choices:
                choices = (*choices, text)
            yield SettingField(key, label, _template_hints().get(key, ""), kind, text, choices)


def _kind(key: str, hint: Any) -> str:
    """How a field is asked for; empty where the file itself has to be edited."""
    if key in CHOICES:
        return "choice"
    if get_origin(hint) is tuple:
        return "lines" if hint == tuple[str, ...] else ""
    simple = {str: "text", bool: "yes", int: "whole", float: "number", date | None: "day"}
    kind = simple.get(hint, "")
    return "long" if key in LONG else kind


def _text(kind: str, value: Any) -> str:
    if kind == "yes":
        return "yes" if value else ""
    if kind == "lines":
        return "\n".join(value)
    if kind == "day":
        return value.isoformat() if value else ""
    text = str(value)
    return text.strip("\n") if kind == "long" else text.strip()


def _value(kind: str, text: str) -> Any:
    """What is written into the file; None where the key is taken out."""
    if kind == "yes":
        return bool(text)
    if kind == "lines":
        return [line.strip() for line in text.splitlines() if line.strip()]
    if kind == "day":
        return date.fromisoformat(text) if text else None
    if kind == "whole":
        return int(text)
    return float(text) if kind == "number" else text


@cache
def _template_hints() -> Mapping[str, str]:
    """What the remarks of a new study's file say of its keys."""
    text = (
        resources.files("tiewise.study").joinpath("study.toml.template").read_text(encoding="utf-8")
    )
    table, hints = "", {}
    for line in text.splitlines():
        if line.startswith("["):
            table = line.strip("[]")
        elif match := HINT.fullmatch(line):
            hints[f"{table}.{match[1]}"] = match[2]
    return hints
