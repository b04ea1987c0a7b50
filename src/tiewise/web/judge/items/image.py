"""An image: the file that the list of items names."""

from __future__ import annotations

from urllib.parse import quote

from tiewise.study.study import Item
from tiewise.web.judge.items.kind import ItemKind
from tiewise.web.site import Site


def view(site: Site, item: Item) -> str:
    """The path of the image on the site; empty where there is none."""
    image = site.images.get(item.image)
    return site.url(f"/image/{quote(item.id, safe='')}?v={image.digest}") if image else ""


IMAGE = ItemKind("image", view)
