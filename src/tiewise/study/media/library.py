"""The copies of items' files in the folder of a study, and what is known of each."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from tiewise.errors import InputError
from tiewise.study.media.prose import sanitised
from tiewise.study.media.signatures import BY_ENDING

FOLDER, INDEX = "media", "index.json"
COPY = re.compile(r"[0-9a-f]{24}\.[a-z0-9]{2,8}")
"""The name of a copy: by its content, so that it can be kept for ever and tells nothing."""
KINDS = ("text", "picture", "scan", "sound", "video")
TEXTS_IN_MEMORY = 512


@dataclass(frozen=True)
class MediaPage:
    """A page or a picture: its copy for reading, that for zooming, sizes in pixels, its text."""

    web: str
    width: int
    height: int
    large: str
    large_width: int
    large_height: int
    text: str = ""


@dataclass(frozen=True)
class MediaItem:
    """The copies of an item's file: a text, pages, or a recording."""

    kind: str
    source: str
    """The SHA-256 of the file that came, or of all its pages."""
    pages: tuple[MediaPage, ...] = ()
    file: str = ""
    """The recording, or the text as HTML."""
    bare: bool = True
    """Whether what else the file told was left out."""

    @property
    def copies(self) -> list[str]:
        """Names of its files."""
        names = [name for page in self.pages for name in (page.web, page.large)]
        return list(dict.fromkeys([*names, *([self.file] if self.file else [])]))

    @property
    def media_type(self) -> str:
        """The type of a recording."""
        return BY_ENDING[Path(self.file).suffix].media_type

    @property
    def is_read_aloud(self) -> bool:
        """Whether a screen reader has something to read, without words for it."""
        return self.kind == "text" or (bool(self.pages) and all(page.text for page in self.pages))


@dataclass(frozen=True)
class MediaLibrary:
    """The files of a study's items, by what `items.csv` calls them."""

    folder: Path
    items: Mapping[str, MediaItem] = field(default_factory=dict)

    @classmethod
    def open(cls, study: Path) -> MediaLibrary:
        """The copies in the folder of a study; none where it has none."""
        folder = study / FOLDER
        path = folder / INDEX
        if not path.is_file():
            return cls(folder)
        try:
            rows = json.loads(path.read_text(encoding="utf-8"))["items"]
            items = {str(name): _item(row) for name, row in rows.items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            raise InputError(
                f"{path} cannot be read; restore it from a backup, or make the study anew"
            ) from None
        return cls(folder, items)

    def write(self) -> None:
        """The index, beside the copies: whole, or as it was."""
        rows = {name: asdict(item) for name, item in self.items.items()}
        body = json.dumps({"format": 1, "items": rows}, ensure_ascii=False, indent=1)
        beside = self.folder / f".{INDEX}.new"
        with beside.open("w", encoding="utf-8") as file:
            file.write(body + "\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.folder / INDEX)

    def size(self, item: MediaItem) -> int:
        """The bytes of the copies of an item that are there."""
        paths = [self.folder / name for name in item.copies]
        return sum(path.stat().st_size for path in paths if path.is_file())

    @cached_property
    def served(self) -> Mapping[str, str]:
        """Media types of the files that browsers may ask for, by their names."""
        pictures = {
            name: "image/webp"
            for item in self.items.values() for page in item.pages
            for name in (page.web, page.large)
        }  # fmt: skip
        recordings = {
            item.file: item.media_type
            for item in self.items.values() if item.kind in ("sound", "video")
        }  # fmt: skip
        return pictures | recordings

    def html(self, item: MediaItem) -> str:
        """A text as HTML that is safe to show; empty where its file has gone."""
        return _read_html(self.folder / item.file)


@lru_cache(TEXTS_IN_MEMORY)
def _read_html(path: Path) -> str:
    try:
        return sanitised(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""


def _item(row: Mapping[str, Any]) -> MediaItem:
    """An item of the index; what is not as it was written is refused."""
    pages = tuple(MediaPage(**page) for page in row["pages"])
    item = MediaItem(**{**row, "pages": pages})
    numbers = [n for p in pages for n in (p.width, p.height, p.large_width, p.large_height)]
    texts = [item.source, item.file, *(page.text for page in pages)]
    fine = item.kind in KINDS and all(COPY.fullmatch(name) for name in item.copies)
    if not (
        fine and item.copies and all(isinstance(n, int) for n in numbers)
        and all(isinstance(text, str) for text in texts)
        and (item.kind not in ("sound", "video") or Path(item.file).suffix in BY_ENDING)
    ):  # fmt: skip
        raise ValueError("no item of ours")
    return item
