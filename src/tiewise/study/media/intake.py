"""The files of a study's items, checked and copied when the study is made or gets an item."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiewise.progress import Progress, no_progress
from tiewise.study.media.checks import (
    alike_but_for_case,
    check_file,
    digest_of,
    name_fault,
    repeated,
    too_much,
)
from tiewise.study.media.faults import FaultyFiles, FileFault
from tiewise.study.media.library import MediaItem, MediaLibrary, MediaPage
from tiewise.study.media.limits import FileLimits
from tiewise.study.media.process import DecodingProcess
from tiewise.study.media.signatures import TEXTS, FileFormat
from tiewise.study.media.sources import files_of
from tiewise.study.study import Item


@dataclass(frozen=True)
class CheckedFile:
    """A file that can be decoded, and what messages call it."""

    path: Path
    name: str
    form: FileFormat
    digest: str
    size: int


def copy_files(
    items: Sequence[Item],
    root: Path,
    out: Path,
    *,
    limits: FileLimits,
    beside: MediaLibrary | None = None,
    keep_metadata: bool = False,
    progress: Progress = no_progress,
) -> MediaLibrary:
    """Copy the files of items, which lie in `root`, into the folder `out`, with an index.

    Everything that is wrong with them is refused at once. `beside` are files that the study has
    already: what would be like one of them, or too much with them, is refused, too.
    """
    there = dict(beside.items) if beside else {}
    faults = _named_twice(items) + [
        f"there is a file {item.file} in this study already; rename this one"
        for item in items if item.file in there
    ]  # fmt: skip
    checked = _collect(items, lambda item: _check(item, root, limits), faults, no_progress)
    faults += repeated(
        {item: [(item, media.source)] for item, media in there.items()}
        | {item: [(one.name, one.digest) for one in files] for item, files in checked.items()}
    )
    new = [file for files in checked.values() for file in files]
    faults += alike_but_for_case([*there, *(file.name for file in new)])
    sizes = [beside.size(media) for media in there.values()] if beside else []
    faults += too_much([*sizes, *(file.size for file in new)], limits)
    if faults:
        raise FaultyFiles(faults)
    with DecodingProcess(limits) as process:
        copier = _Copier(process, out, limits, keep_metadata)
        taken = _collect(
            items, lambda item: copier.take(checked[item.file], root / item.file), faults, progress
        )
    if faults:
        raise FaultyFiles(faults)
    library = MediaLibrary(out, taken)
    library.write()
    return library


def _named_twice(items: Sequence[Item]) -> list[str]:
    first: dict[str, str] = {}
    lines = []
    for item in items:
        other = first.setdefault(item.file, item.name)
        if other != item.name:
            lines.append(
                f"{item.file} is the file of {other!r} and of {item.name!r}; name one for each"
            )
    return lines


def _collect(
    items: Sequence[Item], make: Callable[[Item], Any], faults: list[str], progress: Progress
) -> dict[str, Any]:
    """What is made of each item's file; faults are gathered."""
    made = {}
    for done, item in enumerate(items, 1):
        try:
            made[item.file] = make(item)
        except FileFault as fault:
            faults.append(str(fault))
        progress("Copying files", done, len(items))
    return made


def _check(item: Item, root: Path, limits: FileLimits) -> list[CheckedFile]:
    paths, are_pages = files_of(item, root)
    if are_pages:
        for fault in filter(None, (name_fault(path.name) for path in paths)):
            raise FileFault(f"in the folder {item.file}, {fault}")
        _check_folder(item, root, paths, limits)
    checked = []
    for path in paths:
        name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
        form = check_file(path, name, root, limits)
        if are_pages and form.task != "picture":
            raise FileFault(
                f"{name} is no picture, and a folder of an item holds its pages; take it out, or "
                "put it beside the folder"
            )
        checked.append(CheckedFile(path, name, form, digest_of(path), path.stat().st_size))
    return checked


def _check_folder(item: Item, root: Path, paths: Sequence[Path], limits: FileLimits) -> None:
    if not (root / item.file).resolve().is_relative_to(root.resolve()):
        raise FileFault(f"{item.file} leads outside {root}; put the folder itself into it")
    if not paths:
        raise FileFault(f"the folder {item.file} is empty; put pages there, or take it out")
    if len(paths) > limits.pages:
        raise FileFault(
            f"the folder {item.file} has {len(paths)} pages, more than {limits.pages}; divide it, "
            "or raise the limit pages"
        )
    inner = next((path for path in paths if path.is_dir()), None)
    if inner is not None:
        raise FileFault(
            f"{item.file}/{inner.name} is a folder in the folder of an item, which holds pages "
            "alone; move its pages up"
        )


@dataclass(frozen=True)
class _Copier:
    """Makes the copies of items one after the other."""

    process: DecodingProcess
    out: Path
    limits: FileLimits
    keep_metadata: bool

    def take(self, files: Sequence[CheckedFile], place: Path) -> MediaItem:
        """The copies of one item."""
        first = files[0]
        source = hashlib.sha256("".join(file.digest for file in files).encode()).hexdigest()
        source = first.digest if len(files) == 1 else source
        if first.form.task in TEXTS:
            return MediaItem("text", source, file=self._run(first, words=self.limits.words))
        if first.form.task == "recording":
            made = self._run(first, ending=first.path.suffix.lower(), keep=self.keep_metadata)
            kind = "video" if first.form.media_type.startswith("video") else "sound"
            return MediaItem(kind, source, file=made["file"], bare=made["bare"])
        pages = [page for file in files for page in self._pages(file, alone=not place.is_dir())]
        if len(pages) > self.limits.pages:
            raise FileFault(
                f"{place.name} has {len(pages)} pages, more than {self.limits.pages}; divide it, "
                "or raise the limit pages"
            )
        kind = "scan" if len(pages) > 1 or first.form.task == "pdf" else "picture"
        return MediaItem(kind, source, tuple(pages))

    def _pages(self, file: CheckedFile, *, alone: bool) -> list[MediaPage]:
        limits = {"megapixels": self.limits.megapixels, "pages": self.limits.pages}
        more = {"alone": alone} if file.form.task == "picture" else {}
        return [MediaPage(**page) for page in self._run(file, **limits, **more)]

    def _run(self, file: CheckedFile, **values: Any) -> Any:
        reader = {"reader": file.form.reader} if file.form.reader else {}
        return self.process.run(
            file.form.task, file.name, path=str(file.path.resolve()), out=str(self.out.resolve()),
            **reader, **values,
        )  # fmt: skip
