"""What a new judge tells of themselves, checked against what the study asks."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tiewise.study.settings import SignUpField

LONGEST = 500
LARGEST = 1e15


class Fault(NamedTuple):
    """A field that cannot stay as it is, and why: missing, choice, number or long."""

    field: str
    why: str


class Told(NamedTuple):
    """What can be kept of a form, and what cannot."""

    answers: dict[str, str]
    faults: list[Fault]


def read_answers(asked: Sequence[SignUpField], given: Mapping[str, str]) -> Told:
    """The answers to the fields that a study asks for; whatever else was given is not read."""
    told = Told({}, [])
    for one in asked:
        value = tidy(given.get(one.name, ""))
        why = _fault(one, value)
        if why:
            told.faults.append(Fault(one.name, why))
        elif value:
            told.answers[one.name] = _plain_number(value) if one.kind == "number" else value
    return told


def tidy(text: str) -> str:
    """A line of text without control letters, which a database need not take."""
    kept = (" " if unicodedata.category(letter) in ("Cc", "Cs") else letter for letter in text)
    return " ".join("".join(kept).split())


def _fault(one: SignUpField, value: str) -> str:
    if not value:
        return "missing" if one.required else ""
    if len(value) > LONGEST:
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
    return number if math.isfinite(number) and abs(number) < LARGEST else None


def _plain_number(value: str) -> str:
    number = float(value)
    return str(int(number)) if number.is_integer() else repr(number)
