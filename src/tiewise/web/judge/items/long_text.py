"""Long text: a file of plain text or Markdown, as HTML that is safe to show."""

from __future__ import annotations

from tiewise.study.study import Item
from tiewise.web.judge.items.kind import ItemKind, Reading
from tiewise.web.site import Site


def view(site: Site, item: Item) -> str:
    """The HTML of the text; empty where the item has none."""
    media = site.media_of(item, "text")
    return site.media.html(media) if media is not None else ""


def reading(view: str) -> Reading:
    """A text."""
    return Reading(text=True)


LONG_TEXT = ItemKind("long_text", view, reading=reading)
