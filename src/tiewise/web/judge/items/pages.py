"""Pictures and scans: one page or several, each with a copy to read and one to zoom into."""

from __future__ import annotations

from typing import NamedTuple

from tiewise.study.study import Item
from tiewise.web.judge.items.kind import ItemKind, Reading
from tiewise.web.site import Site


class ShownPage(NamedTuple):
    """A page: where its copies are, how large it is, and its text for screen readers."""

    number: int
    src: str
    large: str
    width: int
    height: int
    text: str


class ShownPages(NamedTuple):
    """The pages of an item; `kind` is that of the pair page: a picture or a scan."""

    kind: str
    pages: list[ShownPage]


def view(site: Site, item: Item) -> ShownPages | None:
    """The pages of the item's file, where it has some."""
    media = site.media_of(item, "picture", "scan")
    if media is None:
        return None
    pages = [
        ShownPage(
            number, site.file_url(page.web), site.file_url(page.large), page.width, page.height,
            page.text,
        )
        for number, page in enumerate(media.pages, 1)
    ]  # fmt: skip
    return ShownPages(media.kind, pages)


def reading(view: ShownPages) -> Reading:
    """Its pages."""
    return Reading(pages=len(view.pages))


PAGES = ItemKind("pages", view, reading=reading)
