"""What a kind of item has to say about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tiewise.registry import load
from tiewise.study.study import Item
from tiewise.web.judge.items import KINDS
from tiewise.web.site import Site


def _nothing(site: Site, left: Item, right: Item) -> None:
    return None


@dataclass(frozen=True)
class ItemKind:
    """A kind of item: the values that its template shows of one item, and of both together.

    The template is `judge/items/NAME.html`: its macro `item(side, view)` gets what `view` makes of
    an item, and `overview(sides, marks, view)` what `overview` makes of a pair. Either is left out
    where there is nothing to show.
    """

    name: str
    view: Callable[[Site, Item], Any]
    overview: Callable[[Site, Item, Item], Any] = _nothing

    @property
    def template(self) -> str:
        """The template with the macros of this kind."""
        return f"judge/items/{self.name}.html"


def item_kinds() -> list[ItemKind]:
    """Every kind of item, in the order in which they are shown."""
    return [load(line) for line in KINDS]
