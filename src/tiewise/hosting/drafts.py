"""Drafts of studies, and files for one: what was uploaded, and what was entered so far."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tiewise.errors import InputError
from tiewise.hosting.site_folder import SiteFolder
from tiewise.study.access.private_files import private_folder
from tiewise.study.media.checks import name_fault

MEGABYTE = 1_000_000
ABANDONED_SECONDS = 24 * 3600.0
IDS = re.compile(r"[0-9a-f]{32}")
LONGEST_NAME, DEEPEST, MOST_FILES = 150, 3, 20_000
GROWTH = 64 * MEGABYTE
LEAST_FREE = 256 * MEGABYTE
"""What an upload leaves free on the disk."""


class Quotas(NamedTuple):
    """Megabytes that may be uploaded: in a file, for a study, and of the whole site."""

    file: int = 1000
    study: int = 5000
    site: int = 50_000


USUAL_QUOTAS = Quotas()


class UploadFault(InputError):
    """An upload that is refused; the message says why."""


class UploadedFile(NamedTuple):
    """A file that was uploaded completely."""

    name: str
    size: int


@dataclass(frozen=True)
class Draft:
    """A study that is being made, in a folder of its own below the uploads of the site."""

    folder: Path
    _checked: dict[str, int] = field(default_factory=dict, compare=False)
    """Sizes at which growing files were last looked at."""

    @property
    def id(self) -> str:
        """The id of the draft in addresses."""
        return self.folder.name

    @property
    def files_folder(self) -> Path:
        """The folder of the files that were uploaded completely."""
        return self.folder / "files"

    def details(self) -> dict[str, Any]:
        """Who began it, and the details of the study that were entered so far."""
        values: dict[str, Any] = json.loads(
            (self.folder / "draft.json").read_text(encoding="utf-8")
        )
        return values

    def keep_details(self, **details: Any) -> None:
        """Store further details of the study."""
        write_whole(self.folder / "draft.json", json.dumps(self.details() | details))

    def state(self) -> dict[str, Any]:
        """The result of making the study; empty before that."""
        try:
            values: dict[str, Any] = json.loads(
                (self.folder / "state.json").read_text(encoding="utf-8")
            )
        except (OSError, ValueError):
            return {}
        return values

    def keep_state(self, **state: Any) -> None:
        """Store the result of making the study."""
        write_whole(self.folder / "state.json", json.dumps(state))

    def files(self) -> list[UploadedFile]:
        """The files that were uploaded completely, by name."""
        home = self.files_folder
        paths = [path for path in home.rglob("*") if path.is_file()]
        names = [path.relative_to(home).as_posix() for path in paths]
        return sorted(
            UploadedFile(name, path.stat().st_size) for name, path in zip(names, paths, strict=True)
        )

    def unfinished(self) -> int:
        """How many uploads were begun and not completed."""
        return len(list((self.folder / "parts").iterdir()))

    def received(self, name: str, size: int) -> int:
        """How many bytes of a file of this name and size were uploaded so far."""
        whole = self.files_folder / safe_name(name)
        if whole.is_file() and whole.stat().st_size == size:
            return size
        part = self._part(name, size)
        return part.stat().st_size if part.is_file() else 0

    def begin(self, name: str, size: int, quotas: Quotas, site: SiteFolder) -> None:
        """Refuse a file that there is no room for."""
        safe_name(name)
        if size <= 0:
            raise UploadFault(f"{name} is empty; choose another file")
        _check_quota(f"{name} has", size, quotas.file, "a file may have")
        others = self._promised(besides=self._part(name, size))
        _check_quota("the files of this study would have", others + size, quotas.study, "they may")
        there = folder_size(site.path)
        _check_quota("all studies of this site would have", there + size, quotas.site, "they may")
        if shutil.disk_usage(self.folder).free < size + LEAST_FREE:
            raise UploadFault(f"the disk has no room for {name}; ask who runs this site")
        if len(self.files()) >= MOST_FILES:
            raise UploadFault(f"more than {MOST_FILES:,} files; put them into a zip file")

    @contextmanager
    def appending(self, name: str, size: int, offset: int) -> Iterator[Any]:
        """A file to write the next bytes to; once all are there, it takes its place.

        Refused where these are not the bytes that come next: another window may send them, too.
        """
        with self._locked():
            if self.received(name, size) != offset:
                raise UploadFault(f"{name}: other bytes were expected; it goes on where it is")
            part = self._part(name, size)
            with part.open("ab") as file:
                yield _Bounded(file, size - offset, name)
            os.utime(self.folder)
            if part.stat().st_size == size:
                whole = self.files_folder / safe_name(name)
                whole.parent.mkdir(parents=True, exist_ok=True)
                if whole.is_dir():
                    raise UploadFault(f"{name} is a folder and a file; rename one")
                part.replace(whole)

    def receiving_path(self) -> Path:
        """Where a file of unknown size is written."""
        return self.folder / "parts" / f"form{secrets.token_hex(8)}-0"

    def check_growth(self, name: str, size: int, quotas: Quotas, site: SiteFolder) -> None:
        """Refuse what is being written, once it has grown beyond what there is room for."""
        checked = self._checked.get(name, 0)
        _check_quota(f"{name} has", size, quotas.file, "a file may have")
        if checked == 0 or size - checked > GROWTH or size < checked:
            self._checked[name] = size
            self.begin(name, size, quotas, site)

    def check_beside(self, folder: Path, quotas: Quotas) -> None:
        """Refuse files that a study has no room for, beside those in a folder of it."""
        size = folder_size(folder) + sum(file.size for file in self.files())
        _check_quota("the files of this study would have", size, quotas.study, "they may")

    def keep(self, path: Path, name: str) -> None:
        """Move a file that was written completely into its place."""
        whole = self.files_folder / safe_name(name)
        if path.stat().st_size == 0:
            path.unlink()
            raise UploadFault(f"{name} is empty; choose another file")
        path.replace(whole)
        os.utime(self.folder)

    def remove(self, name: str) -> None:
        """Remove a file."""
        with self._locked():
            (self.files_folder / safe_name(name)).unlink(missing_ok=True)

    def forget_parts(self) -> None:
        """Remove uploads that were not completed."""
        with self._locked():
            for part in (self.folder / "parts").iterdir():
                part.unlink()

    def delete(self) -> None:
        """Remove the draft with its files."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def making_lock(self) -> int | None:
        """The lock of making the study, as an open file; None where another process holds it."""
        return _lock(self.folder / "making", wait=False)

    def is_being_made(self) -> bool:
        """Whether a process makes the study now."""
        lock = self.making_lock()
        if lock is not None:
            os.close(lock)
        return lock is None

    def _part(self, name: str, size: int) -> Path:
        digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:32]
        return self.folder / "parts" / f"{digest}-{size}"

    def _promised(self, besides: Path) -> int:
        """The bytes uploaded so far, and those still to come of files that were begun."""
        parts = [path for path in (self.folder / "parts").iterdir() if path != besides]
        begun = sum(int(path.name.rpartition("-")[2]) for path in parts)
        return begun + sum(file.size for file in self.files())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = _lock(self.folder / "lock", wait=True)
        try:
            yield
        finally:
            if lock is not None:
                os.close(lock)


class _Bounded:
    """A file that refuses bytes beyond a number."""

    def __init__(self, file: Any, left: int, name: str) -> None:
        self._file, self._left, self._name = file, left, name

    def write(self, data: bytes) -> None:
        """Write; refused beyond what was announced."""
        self._left -= len(data)
        if self._left < 0:
            raise UploadFault(f"{self._name} is larger than was announced; send it again")
        self._file.write(data)


def _lock(path: Path, *, wait: bool) -> int | None:
    import fcntl

    file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file


def begin_draft(site: SiteFolder, account: int, **details: Any) -> Draft:
    """A new draft of an account."""
    draft = nameless_draft(site)
    write_whole(draft.folder / "draft.json", json.dumps({"account": account} | details))
    return draft


def nameless_draft(site: SiteFolder) -> Draft:
    """A draft of nobody, which no page finds: for what is used at once, and then deleted."""
    draft = Draft(private_folder(site.uploads / secrets.token_hex(16)))
    (draft.folder / "files").mkdir()
    (draft.folder / "parts").mkdir()
    return draft


def find_draft(site: SiteFolder, id_: str, account: int) -> Draft | None:
    """A draft of this account, where there is one."""
    draft = Draft(site.uploads / id_)
    if not IDS.fullmatch(id_) or not (draft.folder / "draft.json").is_file():
        return None
    return draft if draft.details().get("account") == account else None


def drafts_of(site: SiteFolder, account: int) -> list[Draft]:
    """The drafts of an account that are no study yet, the latest first."""
    paths = sorted(site.uploads.iterdir(), key=lambda path: -path.stat().st_mtime)
    known = [find_draft(site, path.name, account) for path in paths]
    return [draft for draft in known if draft is not None and not draft.state().get("made")]


def remove_abandoned(site: SiteFolder, older_than: float = ABANDONED_SECONDS) -> int:
    """Remove drafts that nobody has changed for a day; returns how many."""
    gone = 0
    for path in site.uploads.iterdir():
        draft = Draft(path)
        if time.time() - path.stat().st_mtime > older_than and not draft.is_being_made():
            draft.delete()
            gone += 1
    return gone


def safe_name(name: str) -> str:
    """The name of a file, perhaps in a folder; refused where it would lie anywhere else."""
    parts = name.split("/")
    bad = (
        "\\" in name or len(name.encode("utf-8", "replace")) > LONGEST_NAME or len(parts) > DEEPEST
        or any(part in ("", ".", "..") or part.startswith((".", "~")) for part in parts)
    )  # fmt: skip
    fault = next((fault for part in parts if (fault := name_fault(part))), "")
    if bad or fault:
        raise UploadFault(fault or f"a file cannot be called {name[:80]!r} here; rename it")
    return name


def folder_size(folder: Path) -> int:
    """The bytes of all files in a folder."""
    total = 0
    for home, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(home, name)).st_size  # noqa: PTH118
            except OSError:
                continue
    return total


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with beside.open("x", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _check_quota(what: str, size: int, most: int, may: str) -> None:
    if size > most * MEGABYTE:
        raise UploadFault(
            f"{what} {size / MEGABYTE:,.0f} MB, more than the {most:,} MB that {may}; take smaller "
            "files, or ask who runs this site"
        )
