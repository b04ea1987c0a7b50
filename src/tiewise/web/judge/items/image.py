"""An image: the file that the list of items names."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

from tiewise.study.media.pictures import shown_size
from tiewise.study.study import Item
from tiewise.web.assets import ImageFile
from tiewise.web.judge.items.kind import ItemKind, Reading
from tiewise.web.site import Site

SIZES_IN_MEMORY = 10_000


class ShownImage(NamedTuple):
    """Where an image is, and the room it takes before it is there, where that is known."""

    src: str
    size: tuple[int, int] | None


def view(site: Site, item: Item) -> ShownImage | None:
    """The image on the site; None where there is none."""
    image = site.images.get(item.image)
    if image is None:
        return None
    path = site.url(f"/image/{quote(item.id, safe='')}?v={image.digest}")
    return ShownImage(path, _size(image))


@lru_cache(SIZES_IN_MEMORY)
def _size(image: ImageFile) -> tuple[int, int] | None:
    return shown_size(image.path)


def reading(view: ShownImage) -> Reading:
    """An image is a page."""
    return Reading(pages=1)


IMAGE = ItemKind("image", view, reading=reading)
