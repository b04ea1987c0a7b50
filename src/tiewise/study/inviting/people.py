"""Who is invited: names or labels, with mail addresses where there are some, from a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from tiewise.data.files import Sheet, read_sheet
from tiewise.data.text_columns import as_text
from tiewise.errors import InputError
from tiewise.study.signup import clean_line

LABELS = ("label", "name", "judge")
ADDRESSES = ("mail", "email", "e-mail")
LONGEST_LABEL, LONGEST_ADDRESS, MOST = 100, 254, 5000
ADDRESS = re.compile(r"[^\s@,;:<>()\[\]\\\"]+@[^\s@,;:<>()\[\]\\\"]+\.[^\s@,;:<>()\[\]\\\"]+")


class Invitee(NamedTuple):
    """Somebody to invite: a name or label, and an address for mail or nothing."""

    label: str
    mail: str = ""


def read_invitees(path: str | Path) -> list[Invitee]:
    """Those whom a table names in `label` or `name`, and perhaps in `mail`; each of them once."""
    path = Path(path)
    sheet = read_sheet(path)
    labels = _column(sheet, LABELS)
    if labels is None:
        there = ", ".join(sheet.table.columns) or "none"
        raise InputError(f"{path.name} has no column label or name (columns: {there}); add one")
    mails = _column(sheet, ADDRESSES) or [""] * len(labels)
    people = [
        Invitee(clean_line(label), clean_line(mail))
        for label, mail in zip(labels, mails, strict=True)
    ]
    return checked(people, [f"{path.name}, {sheet.place(k)}" for k in range(len(people))])


def read_lines(text: str) -> list[Invitee]:
    """Those who are named one a line, each perhaps with an address after a comma."""
    people = []
    for line in text.splitlines():
        label, _, mail = line.rpartition(",") if "@" in line else (line, "", "")
        if clean_line(line):
            people.append(Invitee(clean_line(label) or clean_line(mail), clean_line(mail)))
    return checked(people, [f"line {k + 1}" for k in range(len(people))])


def checked(people: Sequence[Invitee], places: Sequence[str]) -> list[Invitee]:
    """These people, each once; the first of whom something is wrong is refused by its place."""
    if not people:
        raise InputError("nobody is named; give one name a line")
    if len(people) > MOST:
        raise InputError(f"{len(people)} people; invite at most {MOST} at a time")
    for one, place in zip(people, places, strict=True):
        if not 1 <= len(one.label) <= LONGEST_LABEL:
            raise InputError(f"{place}: a name of 1 to {LONGEST_LABEL} letters was expected")
        if one.mail and (len(one.mail) > LONGEST_ADDRESS or not ADDRESS.fullmatch(one.mail)):
            raise InputError(
                f"{place}: {one.mail[:60]!r} is no mail address; mend it, or leave it empty"
            )
    return list(dict.fromkeys(people))


def _column(sheet: Sheet, names: Iterable[str]) -> list[str] | None:
    headings = {heading.strip().lower(): heading for heading in sheet.table.columns}
    heading = next((headings[name] for name in names if name in headings), None)
    if heading is None:
        return None
    return [as_text(value) for value in sheet.table[heading].to_list()]
