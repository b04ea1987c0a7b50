"""A part of the report about one term of a model."""

from __future__ import annotations

from typing import NamedTuple

SHOWN = 12  # rows of a table in the report
NAMED = 5


class Section(NamedTuple):
    """Words, a table, pictures, and what they do not mean."""

    key: str
    link: str
    title: str
    says: tuple[str, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    pictures: tuple[str, ...]
    not_said: str
