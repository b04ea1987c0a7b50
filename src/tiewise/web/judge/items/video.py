"""Video: played in the page, with its transcript."""

from __future__ import annotations

from tiewise.study.study import Item
from tiewise.web.judge.items.kind import ItemKind
from tiewise.web.judge.items.recording import Recording, reading, recording
from tiewise.web.site import Site


def view(site: Site, item: Item) -> Recording | None:
    """The recording, where the item is one."""
    return recording(site, item, "video")


VIDEO = ItemKind("video", view, reading=reading)
