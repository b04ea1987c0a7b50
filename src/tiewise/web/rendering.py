"""Pages: templates filled in, in the words of a language."""

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
    """The words of a language by key, what it calls itself, and which way it runs."""

    code: str
    name: str
    direction: str
    words: Mapping[str, str]

    def say(self, key: str, **values: object) -> str:
        """A wording, filled in."""
        return self.words[key].format(**values)


@cache
def language(code: str) -> Language:
    """A language that we ship."""
    tables = tomllib.loads((HERE / "words" / f"{code}.toml").read_text(encoding="utf-8"))
    about = tables.pop("language")
    words = {f"{table}.{key}": word for table, said in tables.items() for key, word in said.items()}
    return Language(code, about["name"], about["direction"], words)


def preferred(header: str, offered: Sequence[str]) -> str:
    """The language of those offered that a browser likes best, else the first."""
    liked = []
    for place, part in enumerate(header.split(",")[:20]):
        tag, _, rest = part.partition(";")
        weight = re.fullmatch(r"\s*q=([01](?:\.\d{0,3})?)\s*", rest)
        liked.append((-float(weight[1]) if weight else -1.0, place, tag.strip()[:2].lower()))
    wanted = [code for weight, _, code in sorted(liked) if weight < 0 and code in offered]
    return wanted[0] if wanted else offered[0]


@cache
def templates() -> Environment:
    """Our templates. What is not known is an error, and what comes from elsewhere is text."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters["paragraphs"] = paragraphs
    made.filters["contact"] = contact
    return made


def render(name: str, /, **told: Any) -> str:
    """A page."""
    return templates().get_template(name).render(told)


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text: an empty line is between them."""
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


class Contact(NamedTuple):
    """A way to get help, and what a tap on it does; nothing where that cannot be told."""

    text: str
    href: str


def contact(text: str) -> Contact:
    """A contact with the web address, mail address or telephone number that is in it."""
    if found := re.search(r"https?://[^\s<>\"]+", text):
        return Contact(text, found[0].rstrip(".,;)"))
    if found := re.search(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", text):
        return Contact(text, f"mailto:{found[0]}")
    if found := re.search(r"\+?\d[\d ()-]*\d", text):
        return Contact(text, "tel:" + re.sub(r"[^\d+]", "", found[0]))
    return Contact(text, "")
