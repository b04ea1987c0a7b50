"""The sign-up form of a judge, checked against the fields of the study."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tiewise.study.settings import SignUpField
from tiewise.study.toml.panel import LONGEST_VALUE, PanelSettings

MAX_LENGTH = 500
MAX_NUMBER = 1e15


class SignUpFault(NamedTuple):
    """A field that cannot stay as it is, and why: missing, choice, number or long."""

    field: str
    why: str


class SignUpAnswers(NamedTuple):
    """What can be kept of a form, and what cannot."""

    answers: dict[str, str]
    faults: list[SignUpFault]


def read_answers(fields: Sequence[SignUpField], form: Mapping[str, str]) -> SignUpAnswers:
    """The answers to the fields that a study asks for; whatever else is in the form is not read."""
    read = SignUpAnswers({}, [])
    for one in fields:
        value = clean_line(form.get(one.name, ""))
        why = _fault(one, value)
        if why:
            read.faults.append(SignUpFault(one.name, why))
        elif value:
            read.answers[one.name] = _plain_number(value) if one.kind == "number" else value
    return read


def read_identifiers(panel: PanelSettings, query: Mapping[str, str]) -> dict[str, str]:
    """What the link of a panel says of a judge, by name; nothing without the first of the names."""
    values = {name: clean_line(query.get(name, "")) for name in panel.identifiers}
    known = {name: value for name, value in values.items() if 0 < len(value) <= LONGEST_VALUE}
    return known if panel.identifiers and panel.identifiers[0] in known else {}


def clean_line(text: str) -> str:
    """A line of text without control letters, which a database need not take."""
    letters = (" " if unicodedata.category(letter) in ("Cc", "Cs") else letter for letter in text)
    return " ".join("".join(letters).split())


def _fault(one: SignUpField, value: str) -> str:
    if not value:
        return "missing" if one.required else ""
    if len(value) > MAX_LENGTH:
        return "long"
    if one.kind == "choice" and value not in one.choices:
        return "choice"
    if one.kind == "number" and _number(value) is None:
        return "number"
    return ""


def _number(value: str) -> float | None:
    """Digits of any script; neither infinite nor beyond all measure."""
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) and abs(number) < MAX_NUMBER else None


def _plain_number(value: str) -> str:
    number = float(value)
    return str(int(number)) if number.is_integer() else repr(number)
