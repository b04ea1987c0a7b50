"""Short text: the description of an item, with its paragraphs."""

from __future__ import annotations

import re

from tiewise.study.study import Item
from tiewise.web.judge.items.kind import ItemKind, Reading
from tiewise.web.site import Site

BLANK_LINES = re.compile(r"\n\s*\n")


def view(site: Site, item: Item) -> list[list[str]]:
    """The paragraphs of the description, each a list of lines; none where there is none."""
    text = "\n".join(item.description.splitlines()).strip()
    return [block.split("\n") for block in BLANK_LINES.split(text)] if text else []


def reading(view: list[list[str]]) -> Reading | None:
    """A text, where it has more than a line."""
    return Reading(text=True) if len(view) > 1 or len(view[0]) > 1 else None


TEXT = ItemKind("text", view, reading=reading)
