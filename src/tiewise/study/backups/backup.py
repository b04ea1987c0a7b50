"""Making a backup: one archive with the settings, items, files, key and database of a study."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from time import time

from sqlalchemy import URL

from tiewise.errors import InputError, InputWarning
from tiewise.study.access.private_files import private_folder
from tiewise.study.backups.archive import (
    DATABASE_FILES,
    BackupFacts,
    study_files,
    write_archive,
)
from tiewise.study.backups.databases import KINDS, DumpFacts, kind_of
from tiewise.study.backups.keys import BackupKey, encrypting, read_backup_key

KEY_FILE_VARIABLE, FOLDER_VARIABLE = "TIEWISE_BACKUP_KEY_FILE", "TIEWISE_BACKUP_INTO"
BACKUPS = "backups"
MOMENT = "%Y-%m-%dT%H%M%SZ"
NAME = re.compile(r"(?P<study>.+)-(?P<moment>\d{4}-\d\d-\d\dT\d{6}Z)\.tar\.gz(\.age)?")
WORK, PARTIAL = ".backup-", ".partial"
STALE_SECONDS = 86_400
"""After so long, what a backup left that was killed is removed by the next one."""


def make_backup(
    folder: str | Path,
    url: URL,
    *,
    key: BackupKey | None,
    out: str | Path | None = None,
    into: str | Path | None = None,
) -> Path:
    """Write the backup of a study to the file `out`, or to one of its own name in a folder.

    The folder is `backups` in that of the study, or `into`. Without a key, it is not encrypted.
    """
    place = Path(folder).resolve()
    target = Path(out) if out else backup_folder(place, into)
    if out and target.exists():
        raise _is_there(target)
    try:
        _prepare(target, own=out is None)
        with _work_folder(place) as work:
            dump = work / DATABASE_FILES[kind_of(url)]
            facts = KINDS[kind_of(url)].dump(url, dump)
            names = iter([target]) if out else _names(target, place.name, encrypted=bool(key))
            return _write(names, place, kind_of(url), facts, dump, key)
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(
            f"the backup {target} cannot be written ({why}); nothing is left of it"
        ) from None


def _names(folder: Path, study: str, *, encrypted: bool) -> Iterator[Path]:
    """Names of a backup: of this moment, and where that is taken, of the seconds after it."""
    end, moment = ".age" if encrypted else "", datetime.now(UTC)
    while True:
        yield folder / f"{study}-{moment.strftime(MOMENT)}.tar.gz{end}"
        moment += timedelta(seconds=1)


def _is_there(path: Path) -> InputError:
    return InputError(f"{path} is there already, and is not overwritten; name another file")


def backup_before_migration(folder: Path, url: URL) -> Path:
    """Back a study up before its database changes; where and how the environment says."""
    key_file, into = os.environ.get(KEY_FILE_VARIABLE), os.environ.get(FOLDER_VARIABLE)
    try:
        key = read_backup_key(key_file) if key_file else None
        path = make_backup(folder, url, key=key, into=into)
    except InputError as error:
        raise InputError(
            f"the database of {folder} is of an earlier version, and is backed up before it is "
            f"upgraded; that failed: {error}. To go without: tiewise upgrade {folder} --no-backup"
        ) from None
    warnings.warn(
        f"the database of {folder} is of an earlier version, and is upgraded; as it was, it is in "
        f"{path}",
        InputWarning,
        stacklevel=2,
    )
    return path


def backup_folder(folder: Path, into: str | Path | None = None) -> Path:
    """Where the backups of a study are kept."""
    return Path(into) if into else folder / BACKUPS


def backups_in(place: Path, study: str) -> list[Path]:
    """The backups of a study in a folder, oldest first."""
    if not place.is_dir():
        return []
    named = [(NAME.fullmatch(path.name), path) for path in place.iterdir()]
    ours = [(match["moment"], path) for match, path in named if match and match["study"] == study]
    return [path for _, path in sorted(ours)]


def made_at(path: Path) -> datetime:
    """When the backup of this name was begun."""
    match = NAME.fullmatch(path.name)
    assert match is not None
    return datetime.strptime(match["moment"], MOMENT).replace(tzinfo=UTC)


def delete_oldest(place: Path, study: str, *, keep: int) -> list[Path]:
    """Delete the backups of a study but for the newest ones; those that were deleted."""
    gone = backups_in(place, study)[: -keep or None]
    for path in gone:
        path.unlink(missing_ok=True)
    return gone


def _prepare(target: Path, *, own: bool) -> None:
    """Make the folder of backups, of our own for its owner alone, and clear what was left in it."""
    folder = target if own else target.parent
    if own and not folder.exists():
        private_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    _delete_stale(folder.glob(f".*{PARTIAL}"))


def _delete_stale(paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            if time() - path.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def _work_folder(folder: Path) -> Iterator[Path]:
    """A private folder for the dump; in that of the study, so that no other disk holds it."""
    _delete_stale(folder.glob(f"{WORK}*"))
    with tempfile.TemporaryDirectory(prefix=WORK, dir=folder) as work:
        yield Path(work)


def _write(
    names: Iterator[Path],
    folder: Path,
    kind: str,
    facts: DumpFacts,
    dump: Path,
    key: BackupKey | None,
) -> Path:
    """Write the archive under the first of these names that is free."""
    about = BackupFacts(
        study=folder.name, made=facts.made, tiewise=version("tiewise"), database=kind,
        revision=facts.revision, judgements=facts.judgements,
    )  # fmt: skip
    first = next(names)
    handle, beside = tempfile.mkstemp(PARTIAL, f".{first.name}.", first.parent)  # private
    try:
        with os.fdopen(handle, "wb") as file:
            with encrypting(file, key) if key else nullcontext(file) as out:
                write_archive(out, about, [*study_files(folder), (dump.name, dump)])
            file.flush()
            os.fsync(file.fileno())
        return _publish(Path(beside), first, names)
    finally:
        Path(beside).unlink(missing_ok=True)


def _publish(beside: Path, first: Path, others: Iterator[Path]) -> Path:
    """Give a file that is whole and on the disk its name; never that of another."""
    for path in chain([first], others):
        try:
            path.hardlink_to(beside)
        except FileExistsError:
            continue
        except OSError:  # a disk without links
            if path.exists():
                continue
            beside.rename(path)
        sync_folder(path.parent)
        return path
    raise _is_there(first)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder reach the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
