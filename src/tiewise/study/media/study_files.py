"""The copies of items' files as part of a study: made with it or added, and looked over."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tiewise.errors import InputError, InputWarning
from tiewise.progress import Progress
from tiewise.study.media.checks import MEGABYTE
from tiewise.study.media.intake import copy_files
from tiewise.study.media.library import FOLDER, MediaItem, MediaLibrary
from tiewise.study.media.limits import FileLimits
from tiewise.study.study import Item, Study
from tiewise.text import quantity, some_names


@contextmanager
def copies_of(
    items: Sequence[Item],
    root: Path,
    study: Path,
    limits: FileLimits,
    keep_metadata: bool,
    progress: Progress,
) -> Iterator[Callable[[], None]]:
    """Copy the files of items beside the folder of a study; what is yielded moves them into it."""
    named = [item for item in items if item.file]
    if not named:
        yield lambda: None
        return
    study.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{study.name[:60]}.", dir=study.parent))
    try:
        out = work / FOLDER
        out.mkdir()
        library = copy_files(
            named, root, out, limits=limits, keep_metadata=keep_metadata, progress=progress
        )
        _mention_metadata(library, keep_metadata=keep_metadata)
        yield lambda: _move(out, study / FOLDER)
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(
            f"the files cannot be copied ({why}); make room, or name another"
        ) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _move(out: Path, target: Path) -> None:
    out.rename(target)


def add_copies(item: Item, root: Path, work: Path, study: Study) -> MediaItem:
    """Copy the file of another item, which lies in `root`, into a study and its index.

    Copies are made in `work`, and the index is written once they are there. Nothing shows them
    until `items.csv` has the item, so that a study is sound wherever this is cut off.
    """
    library = MediaLibrary.open(study.folder)
    named = {one.file for one in study.items.values()}  # copies of items taken out are there, too
    there = {name: media for name, media in library.items.items() if name in named}
    out = work / FOLDER
    try:
        out.mkdir()
        added = copy_files(
            [item], root, out, limits=study.settings.files, beside=replace(library, items=there)
        ).items  # fmt: skip
        for name in added[item.file].copies:
            with (out / name).open("rb") as file:
                os.fsync(file.fileno())
            (out / name).replace(library.folder / name)
        replace(library, items={**library.items, **added}).write()
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"the file cannot be copied ({why}); make room, and try again") from None
    return added[item.file]


def _mention_metadata(library: MediaLibrary, *, keep_metadata: bool) -> None:
    """Warn of recordings that keep their metadata, unless that was asked for."""
    names = [name for name, item in library.items.items() if not item.bare]
    if names and not keep_metadata:
        warnings.warn(
            f"ffmpeg is not installed, so that {some_names(names, 3)} keep what else they may tell "
            "(names, places, devices); install it and make the study anew, or check them yourself",
            InputWarning,
            stacklevel=5,
        )


def faults_of_copies(study: Path, items: Iterable[Item]) -> Iterator[str]:
    """Files of items that have no copies, or whose copies have gone."""
    try:
        library = MediaLibrary.open(study)
    except InputError as error:
        yield str(error)
        return
    for item in items:
        if not item.file:
            continue
        if item.file not in library.items:
            yield (
                f"items.csv: {item.file!r}, the file of {item.name!r}, has no copies in {FOLDER}/; "
                "put its old name back, or make the study anew (`tiewise new`)"
            )
            continue
        for name in library.items[item.file].copies:
            if not (library.folder / name).is_file():
                yield (
                    f"items.csv: {FOLDER}/{name}, a copy of {item.file!r}, is not there; restore "
                    "it from a backup, or make the study anew"
                )
                break


def copies_beyond(study: Path, items: Iterable[Item], limits: FileLimits) -> Iterator[str]:
    """Copies that exceed the limits in the settings."""
    try:
        library = MediaLibrary.open(study)
    except InputError:  # said by `faults_of_copies`
        return
    there = {item.file: library.items[item.file] for item in items if item.file in library.items}
    for file, media in there.items():
        if len(media.pages) > limits.pages:
            yield (
                f"files.pages: {file!r} has {len(media.pages)} pages, more than {limits.pages}; "
                "raise it, or make the study anew without that file"
            )
    sizes = {file: library.size(media) for file, media in there.items()}
    for file, size in sizes.items():
        if size > limits.megabytes * MEGABYTE:
            yield (
                f"files.megabytes: the copies of {file!r} have {size / MEGABYTE:.0f} MB, more than "
                f"{limits.megabytes}; raise it, or make the study anew without that file"
            )
    if sum(sizes.values()) > limits.total * MEGABYTE:
        yield (
            f"files.total: all copies have {sum(sizes.values()) / MEGABYTE:.0f} MB, more than "
            f"{limits.total}; raise it, or make the study anew with smaller files"
        )


def without_words(study: Path, items: Iterable[Item]) -> Iterator[str]:
    """Lines about items that have no text for people who cannot see, or hear, them."""
    items, library = list(items), MediaLibrary.open(study)
    kinds = [(item, library.items[item.file]) for item in items if item.file in library.items]
    unseen = [
        item.name for item, media in kinds
        if media.pages and not media.is_read_aloud and not (item.alt or item.description)
    ]  # fmt: skip
    unseen += [item.name for item in items if item.image and not (item.alt or item.description)]
    unheard = [
        item.name for item, media in kinds
        if media.kind in ("sound", "video") and not item.transcript
    ]  # fmt: skip
    for names, what, column in (
        (unseen, "alternative text", "alt"), (unheard, "transcript", "transcript"),
    ):  # fmt: skip
        if names:
            have = "has" if len(names) == 1 else "have"
            yield (
                f"items.csv: {quantity(len(names), 'item')} {have} no {what} ({some_names(names)}) "
                f"for those who cannot {'see' if column == 'alt' else 'hear'} it; write it into a "
                f"column {column}"
            )
