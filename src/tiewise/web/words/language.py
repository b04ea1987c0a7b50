"""A language of the site: its texts by key, and how it writes numbers."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tiewise.web.words.plurals import plural_rule

HERE = Path(__file__).parent
ORIGINAL = "en"
"""The language that all others are translated from."""


class Language(NamedTuple):
    """A language: its name, its direction, and its texts by key.

    A text with several forms has one key for each, such as `privacy.cookie_text.one`; the value
    `count` says which is taken.
    """

    code: str
    name: str
    direction: str
    words: Mapping[str, str]
    thousands: str = ","
    thousands_from: int = 1000
    """The smallest number that is written with a separator."""
    unread: bool = False
    """Whether no native speaker has read it."""

    def translate(self, key: str, **values: object) -> str:
        """The text of a key, with its values filled in."""
        text = self.words.get(key)
        if text is None:
            text = self.words[self._form(key, values["count"])]
        return text.format(**{name: self._written(value) for name, value in values.items()})

    def _form(self, key: str, count: object) -> str:
        form = plural_rule(self.code).form(count) if isinstance(count, int) else "other"
        return f"{key}.{form}" if f"{key}.{form}" in self.words else f"{key}.other"

    def _written(self, value: object) -> object:
        if not isinstance(value, int) or value < self.thousands_from:
            return value
        return f"{value:,}".replace(",", self.thousands)


@cache
def language(code: str) -> Language:
    """A language that we ship."""
    text = (HERE / f"{code}.toml").read_text(encoding="utf-8")
    return make_language(code, tomllib.loads(text))


def make_language(code: str, tables: Mapping[str, Any]) -> Language:
    """A language from the tables of its file."""
    about = tables["language"]
    return Language(
        code, about["name"], about["direction"], flat_words(tables),
        about.get("thousands", ","), about.get("thousands_from", 1000),
        code != ORIGINAL and not about.get("read_by_native_speaker", False),
    )  # fmt: skip


def flat_words(tables: Mapping[str, Any]) -> dict[str, str]:
    """The texts of a file by key: `table.key`, or `table.key.form` where there are several."""
    words: dict[str, str] = {}
    for table, texts in tables.items():
        for key, text in texts.items() if table != "language" else ():
            forms = text if isinstance(text, Mapping) else {"": text}
            words |= {f"{table}.{key}.{form}".rstrip("."): word for form, word in forms.items()}
    return words


def preferred(header: str, offered: Sequence[str]) -> str:
    """The offered language that a browser prefers, else the first."""
    ranked = []
    for place, part in enumerate(header.split(",")[:20]):
        tag, _, rest = part.partition(";")
        weight = re.fullmatch(r"\s*q=([01](?:\.\d{0,3})?)\s*", rest)
        code = tag.strip().lower().partition("-")[0]
        ranked.append((-float(weight[1]) if weight else -1.0, place, code))
    known = [code for weight, _, code in sorted(ranked) if weight < 0 and code in offered]
    return known[0] if known else offered[0]
