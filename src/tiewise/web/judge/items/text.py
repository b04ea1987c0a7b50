"""Plain text: the description of an item."""

from __future__ import annotations

from tiewise.study.study import Item
from tiewise.web.judge.items.kind import ItemKind
from tiewise.web.site import Site


def view(site: Site, item: Item) -> str:
    """The description; empty where there is none."""
    return item.description


TEXT = ItemKind("text", view)
