"""What a kind of item has to say about itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from tiewise.registry import load
from tiewise.study.study import Item
from tiewise.web.judge.items import KINDS
from tiewise.web.site import Site


class Reading(NamedTuple):
    """What of an item takes a pane of its own: so many pages, and whether there is a text."""

    pages: int = 0
    text: bool = False


def _nothing(site: Site, left: Item, right: Item) -> None:
    return None


def _short(view: Any) -> None:
    return None


@dataclass(frozen=True)
class ItemKind:
    """A kind of item: the values that its template shows of one item, and of both together.

    The template is `judge/items/NAME.html`: its macro `item(side, view)` gets what `view` makes of
    an item, and `overview(sides, marks, view)` what `overview` makes of a pair. Either is left out
    where there is nothing to show. `reading` says of a view what there is to read, look at or play;
    None where it is short.
    """

    name: str
    view: Callable[[Site, Item], Any]
    overview: Callable[[Site, Item, Item], Any] = _nothing
    reading: Callable[[Any], Reading | None] = _short

    @property
    def template(self) -> str:
        """The template with the macros of this kind."""
        return f"judge/items/{self.name}.html"


def whole_reading(views: Iterable[tuple[ItemKind, Any]]) -> Reading | None:
    """What there is to read of an item, over all that is shown of it; None where all is short."""
    parts = [one for kind, view in views if (one := kind.reading(view)) is not None]
    if not parts:
        return None
    return Reading(sum(one.pages for one in parts), any(one.text for one in parts))


def item_kinds() -> list[ItemKind]:
    """Every kind of item, in the order in which they are shown."""
    return [load(line) for line in KINDS]
