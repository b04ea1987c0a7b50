"""The archive of a backup: a gzipped tar with what it is first, and digests of its files last.

It is written and read piece by piece. Without this program: `age -d`, `tar -xz`, `sha256sum -c`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from tiewise.errors import InputError
from tiewise.study.access.folder_files import FILES, FOLDERS

FORMAT = 1
ABOUT, DIGESTS = "about.json", "SHA256SUMS"
BACKED_UP = (*FILES, "secret")
DATABASE_FILES = {"sqlite": "study.db", "postgresql": "study.dump"}
"""What the database is called in an archive, by its kind."""
PIECE = 1 << 20
LARGEST_TEXT = 1 << 23
"""Bytes of the two texts in an archive, and of a header, at most."""
COMPRESSION = 3


@dataclass(frozen=True)
class BackupFacts:
    """What a backup is: of which study and version, from when, and how many judgements."""

    study: str
    made: str
    """When the database was read, UTC, in ISO format: answers stored before are in it."""
    tiewise: str
    database: str
    revision: str
    """The revision of the database's tables."""
    judgements: int
    format: int = FORMAT

    @property
    def moment(self) -> datetime:
        """When the database was read."""
        return datetime.fromisoformat(self.made)


def study_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """The files of a study that are backed up, by their names in the archive; not its database."""
    for name in BACKED_UP:
        if (folder / name).is_file():
            yield name, folder / name
    for name in FOLDERS:
        home = (folder / name).resolve()
        for path in sorted(home.rglob("*")):
            if path.is_file() and path.resolve().is_relative_to(home):
                yield f"{name}/{path.relative_to(home).as_posix()}", path


# Writing.


def write_archive(out: BinaryIO, facts: BackupFacts, files: Iterable[tuple[str, Path]]) -> None:
    """Write what it is, the files, and their digests."""
    digests: dict[str, str] = {}
    with (
        gzip.GzipFile(fileobj=out, mode="wb", compresslevel=COMPRESSION, filename="") as packed,
        tarfile.open(fileobj=packed, mode="w|") as tar,
    ):
        _add_text(tar, ABOUT, json.dumps(asdict(facts), indent=1), digests)
        for name, path in files:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                digests[name] = _add(tar, name, file, size)
        lines = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
        _add_text(tar, DIGESTS, lines, {})


def _add_text(tar: tarfile.TarFile, name: str, text: str, digests: dict[str, str]) -> None:
    body = text.encode()
    digests[name] = _add(tar, name, BytesIO(body), len(body))


def _add(tar: tarfile.TarFile, name: str, file: BinaryIO, size: int) -> str:
    entry, reader = tarfile.TarInfo(name), _DigestingReader(file)
    entry.size, entry.mode = size, 0o600
    tar.addfile(entry, reader)
    return reader.digest.hexdigest()


class _DigestingReader:
    """A file that is digested as it is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        piece = self._file.read(size)
        self.digest.update(piece)
        return piece


# Reading.


def unpack(source: BinaryIO, into: Path, *, name: str, room: int) -> BackupFacts:
    """Unpack an archive into an empty folder; refused where anything of it is not as it should be.

    `name` is what messages call it, `room` how many bytes may be written.
    """
    with _refusing_damage(name):
        packed = gzip.GzipFile(fileobj=source, mode="rb")
        with tarfile.open(fileobj=packed, mode="r|", tarinfo=_CheckedEntry) as tar:
            entries = iter(tar)
            facts = _read_facts(tar, next(entries, None), name)
            _unpack_files(tar, entries, facts, into, name, room)
        while packed.read(PIECE):  # to the end, where the checksum of gzip is
            pass
    return facts


@contextmanager
def _refusing_damage(name: str) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeError):
        raise InputError(
            f"{name} is no backup, or is damaged or cut off; take another copy, or an earlier one"
        ) from None


class _CheckedEntry(tarfile.TarInfo):
    """An entry whose extra headers, which are read into memory, are short."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        # What every Python asks of each header before it reads on; newer ones pass frombuf by.
        if not self.isreg() and self.size > LARGEST_TEXT:
            raise tarfile.ReadError("a header of an absurd length")
        entry: tarfile.TarInfo = super()._proc_member(tar)  # type: ignore[misc]
        return entry


def _read_facts(tar: tarfile.TarFile, entry: tarfile.TarInfo | None, name: str) -> BackupFacts:
    if entry is None or entry.name != ABOUT:
        raise tarfile.ReadError("it does not begin with what it is")
    try:
        values = json.loads(_text(tar, entry))
        newer = values["format"] > FORMAT
    except (ValueError, TypeError, KeyError):
        raise tarfile.ReadError("what it is cannot be read") from None
    if newer:
        raise InputError(
            f"{name} was made by a newer version of Tiewise ({values.get('tiewise')}); "
            "restore it with that version"
        )
    return _checked_facts(values)


def _checked_facts(values: Mapping[str, Any]) -> BackupFacts:
    try:
        facts = BackupFacts(**values)
        known = facts.moment is not None and facts.database in DATABASE_FILES
    except (TypeError, ValueError):
        known = False
    if not (known and isinstance(facts.revision, str) and isinstance(facts.judgements, int)):
        raise tarfile.ReadError("what it is cannot be read")
    return facts


def _text(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> str:
    file = tar.extractfile(entry) if entry.isreg() and entry.size <= LARGEST_TEXT else None
    if file is None:
        raise tarfile.ReadError(f"{entry.name} is no text")
    return file.read().decode()


def _unpack_files(
    tar: tarfile.TarFile,
    entries: Iterator[tarfile.TarInfo],
    facts: BackupFacts,
    into: Path,
    name: str,
    room: int,
) -> None:
    digests: dict[str, str] = {}
    listed: dict[str, str] | None = None
    for entry in entries:
        if entry.name == DIGESTS and listed is None:
            listed = _read_digests(_text(tar, entry))
            continue
        _check_entry(entry, facts, name)
        room -= entry.size
        if room < 0:
            raise InputError(f"{name} holds more than there is room for; make some, or restore "
                             "on another disk")  # fmt: skip
        if entry.name in digests or listed is not None:
            raise tarfile.ReadError("a file is there twice, or after the end")
        digests[entry.name] = _unpack_one(tar, entry, into / entry.name)
    _compare(digests, listed, facts, name)


def _check_entry(entry: tarfile.TarInfo, facts: BackupFacts, name: str) -> None:
    """Refuse whatever is not a file of a study inside its folder: links, devices, other paths."""
    parts = PurePosixPath(entry.name).parts
    ours = entry.name in (*BACKED_UP, DATABASE_FILES[facts.database]) or (
        len(parts) > 1 and parts[0] in FOLDERS and entry.name == "/".join(parts)
    )
    strange = {"..", "."} & set(parts) or set("\\:\0") & set(entry.name)
    if not ours or strange or entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
        raise InputError(
            f"{name} holds {entry.name[:100]!r}, which is no file of a study; it was not made by "
            "`tiewise backup`, and nothing of it is restored"
        )


def _unpack_one(tar: tarfile.TarFile, entry: tarfile.TarInfo, path: Path) -> str:
    source = tar.extractfile(entry)
    assert source is not None
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest = hashlib.sha256()
    file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(file, "wb") as out:
        while piece := source.read(PIECE):
            digest.update(piece)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _read_digests(text: str) -> dict[str, str]:
    rows = (line.split("  ", 1) for line in text.splitlines())
    return {row[1]: row[0] for row in rows if len(row) == 2}


def _compare(
    digests: Mapping[str, str], listed: Mapping[str, str] | None, facts: BackupFacts, name: str
) -> None:
    expected = {key: value for key, value in (listed or {}).items() if key != ABOUT}
    wrong = sorted(key for key in {*expected, *digests} if expected.get(key) != digests.get(key))
    if listed is None or wrong:
        which = f" ({wrong[0]} is not what it was)" if wrong else ""
        raise InputError(f"{name} is damaged{which}; take another copy, or an earlier backup")
    needed = ("study.toml", "items.csv", DATABASE_FILES[facts.database])
    missing = [key for key in needed if key not in digests]
    if missing:
        raise InputError(f"{name} lacks {missing[0]}; take another copy, or an earlier backup")
