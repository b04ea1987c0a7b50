"""Templates and the languages that they are rendered in."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

HERE = Path(__file__).parent


class Language(NamedTuple):
    """A language: its name, its direction, and its texts by key."""

    code: str
    name: str
    direction: str
    words: Mapping[str, str]

    def translate(self, key: str, **values: object) -> str:
        """The text of a key, with its values filled in."""
        return self.words[key].format(**values)


@cache
def language(code: str) -> Language:
    """A language that we ship."""
    tables = tomllib.loads((HERE / "words" / f"{code}.toml").read_text(encoding="utf-8"))
    about = tables.pop("language")
    words = {
        f"{table}.{key}": word for table, texts in tables.items() for key, word in texts.items()
    }
    return Language(code, about["name"], about["direction"], words)


def preferred(header: str, offered: Sequence[str]) -> str:
    """The offered language that a browser prefers, else the first."""
    ranked = []
    for place, part in enumerate(header.split(",")[:20]):
        tag, _, rest = part.partition(";")
        weight = re.fullmatch(r"\s*q=([01](?:\.\d{0,3})?)\s*", rest)
        ranked.append((-float(weight[1]) if weight else -1.0, place, tag.strip()[:2].lower()))
    known = [code for weight, _, code in sorted(ranked) if weight < 0 and code in offered]
    return known[0] if known else offered[0]


@cache
def templates() -> Environment:
    """The templates: an undefined name is an error, and values are escaped."""
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["paragraphs"] = paragraphs
    environment.filters["contact"] = contact
    return environment


def render(name: str, /, **values: Any) -> str:
    """A template, rendered."""
    return templates().get_template(name).render(values)


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text: an empty line is between them."""
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


class Contact(NamedTuple):
    """A way to get help, and its link; empty where it has none."""

    text: str
    href: str


def contact(text: str) -> Contact:
    """A contact with the web address, mail address or telephone number that is in it."""
    if match := re.search(r"https?://[^\s<>\"]+", text):
        return Contact(text, match[0].rstrip(".,;)"))
    if match := re.search(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", text):
        return Contact(text, f"mailto:{match[0]}")
    if match := re.search(r"\+?\d[\d ()-]*\d", text):
        return Contact(text, "tel:" + re.sub(r"[^\d+]", "", match[0]))
    return Contact(text, "")
