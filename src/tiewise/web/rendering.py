"""Templates, and what they are rendered with."""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

HERE = Path(__file__).parent
KEPT = 2048
"""Pieces of pages that are kept: some kilobytes each."""


@cache
def templates() -> Environment:
    """The templates: an undefined name is an error, and values are escaped."""
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        auto_reload=False,
    )  # fmt: skip
    environment.globals["kept"] = kept
    environment.filters["paragraphs"] = paragraphs
    environment.filters["contact"] = contact
    return environment


def render(name: str, /, **values: Any) -> str:
    """A template, rendered."""
    return templates().get_template(name).render(values)


@lru_cache(KEPT)
def kept(template: str, macro: str, /, *values: Hashable) -> str:
    """The markup that a macro makes of values that come again and again, such as map labels."""
    markup: str = getattr(templates().get_template(template).module, macro)(*values)
    return markup


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
