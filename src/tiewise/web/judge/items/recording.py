"""A recording, as sound and video have it."""

from __future__ import annotations

from typing import NamedTuple

from tiewise.study.study import Item
from tiewise.web.judge.items.kind import Reading
from tiewise.web.site import Site


class Recording(NamedTuple):
    """Where a recording is, its media type, and what is said in it, line by line."""

    src: str
    media_type: str
    transcript: list[str]


def reading(view: Recording) -> Reading:
    """A recording, and the text of what is said in it."""
    return Reading(text=bool(view.transcript))


def recording(site: Site, item: Item, kind: str) -> Recording | None:
    """The recording of an item, where it has one of this kind."""
    media = site.media_of(item, kind)
    if media is None:
        return None
    lines = [line for line in item.transcript.splitlines() if line.strip()]
    return Recording(site.file_url(media.file), media.media_type, lines)
