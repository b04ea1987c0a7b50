"""Restoring a backup: checked in a folder beside, then put in its place, never over a study."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import URL

from tiewise.errors import InputError
from tiewise.study.access.private_files import make_private
from tiewise.study.backups.archive import DATABASE_FILES, BackupFacts, unpack
from tiewise.study.backups.backup import MOMENT, sync_folder
from tiewise.study.backups.databases import (
    KINDS,
    SQLITE,
    counts_in,
    driver_url,
    kind_of,
    tables_in,
)
from tiewise.study.backups.keys import BackupKey, decrypting, is_encrypted
from tiewise.study.backups.reapply import end_sessions, erase_again, erasures_since
from tiewise.study.judge_store import JudgeStore
from tiewise.study.schema import newest_revision
from tiewise.study.study import Study

SPARE = 64 << 20
"""Bytes of the disk that a backup does not fill."""


class Restored(NamedTuple):
    """What was restored: where, from which backup, and what was there before."""

    folder: Path
    facts: BackupFacts
    replaced: Path | None
    """Where the study is now that was there before."""
    erased_again: int
    """Judges who had withdrawn since the backup, and were erased from it again."""


def restore(
    archive: str | Path,
    folder: str | Path,
    *,
    url: str | None = None,
    key: BackupKey | None = None,
    replace: bool = False,
) -> Restored:
    """Restore a backup into a folder, and into an empty database where it was on PostgreSQL.

    Everything is checked before anything is put in its place. A study that is there is refused, or
    with `replace` moved aside.
    """
    source, place = Path(archive), Path(folder).resolve()
    if not source.is_file():
        raise InputError(f"{source} is not there, or is no file; name a backup")
    _check_place(place, replace=replace)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".restore-", dir=place.parent) as beside:
            new = Path(beside, "study")
            new.mkdir(mode=0o700)
            facts = _unpack(source, new, key)
            target = _target(facts, place, url, source.name)
            _check_contents(new, facts)
            return _put_in_place(new, place, facts, target)
    except OSError as error:
        raise InputError(
            f"{source.name} cannot be restored to {folder} ({error.strerror or error}); "
            "nothing was replaced"
        ) from None


# Checks.


def _check_place(place: Path, *, replace: bool) -> None:
    if place.exists() and not place.is_dir():
        raise InputError(f"{place} is a file; name a folder")
    if not place.is_dir() or not any(place.iterdir()):
        return
    if not (place / "study.toml").is_file():
        raise InputError(f"{place} is not empty and holds no study; name a new folder")
    if not replace:
        raise InputError(
            f"{place} holds a study; restore into a new folder, or say replace=True, which moves "
            "that study aside"
        )
    if Path.cwd().is_relative_to(place) or os.path.ismount(place):
        raise InputError(f"{place} cannot be moved aside from where you are; go to another folder")
    _check_stopped(place / "study.db")


def _check_stopped(database: Path) -> None:
    """Refuse to move a study aside while a site runs on it: what it stored would be lost."""
    if not database.is_file():
        return
    with closing(sqlite3.connect(database, timeout=0)) as connection:
        try:  # only who is alone with a database can change its journal
            connection.execute("PRAGMA journal_mode=DELETE")
        except sqlite3.OperationalError:
            raise InputError(
                f"a site or another command is at work on {database}; stop it first"
            ) from None
        except sqlite3.DatabaseError:
            return  # it is damaged, which may be why it is restored


def _unpack(source: Path, new: Path, key: BackupKey | None) -> BackupFacts:
    room = shutil.disk_usage(new).free - SPARE
    with (
        source.open("rb") as file,
        decrypting(file, key, source.name) if is_encrypted(file) else nullcontext(file) as plain,
    ):
        facts = unpack(plain, new, name=source.name, room=room)
    for folder in (path for path in new.rglob("*") if path.is_dir()):
        make_private(folder)
    return facts


def _target(facts: BackupFacts, place: Path, url: str | None, name: str) -> URL:
    """The database that the backup goes to; refused where that is of another kind, or not empty."""
    if facts.revision > newest_revision():
        raise InputError(
            f"{name} was made by a newer version of Tiewise ({facts.tiewise}); restore it with "
            "that version"
        )
    target = driver_url(
        url.replace("{study}", place.name) if url else f"sqlite:///{place}/study.db"
    )
    if kind_of(target) != facts.database:
        kinds = {"sqlite": "SQLite; leave database= out", "postgresql": "PostgreSQL; name an empty "
                 "one (database=postgresql://user@host/name)"}  # fmt: skip
        raise InputError(f"{name} is of a database on {kinds[facts.database]}")
    if facts.database != SQLITE and (tables := tables_in(target)):
        raise InputError(
            f"the database {target.render_as_string()} is not empty (it has {tables[0]!r}); make "
            "a new one, such as with createdb"
        )
    return target


def _check_contents(new: Path, facts: BackupFacts) -> None:
    dump = new / DATABASE_FILES[facts.database]
    KINDS[facts.database].check(dump)
    Study.open(new)
    if facts.database == SQLITE:
        _check_counts(driver_url(f"sqlite:///{dump}"), facts)


def _check_counts(url: URL, facts: BackupFacts) -> None:
    counts = counts_in(url)
    if counts != (facts.revision, facts.judgements):
        raise InputError(
            f"the database of this backup holds {counts[1]} judgements at revision {counts[0]} "
            f"and should hold {facts.judgements} at {facts.revision}; take an earlier backup"
        )


# Replacing.


def _put_in_place(new: Path, place: Path, facts: BackupFacts, target: URL) -> Restored:
    if facts.database != SQLITE:
        dump = new / DATABASE_FILES[facts.database]
        KINDS[facts.database].load(target, dump)
        _check_counts(target, facts)
        dump.unlink()
    aside = _move_aside(place)
    try:
        new.rename(place)
    except BaseException:
        if aside is not None:
            aside.rename(place)
        raise
    sync_folder(place.parent)
    store = JudgeStore(target.render_as_string(hide_password=False))
    try:
        end_sessions(store, f"{facts.study}, {facts.made}")
        erased = erase_again(store, erasures_since(aside, facts.moment))
    finally:
        store.close()
    return Restored(place, facts, aside, erased)


def _move_aside(place: Path) -> Path | None:
    """Move what is there out of the way; it is never deleted."""
    if not place.exists():
        return None
    if not any(place.iterdir()):
        place.rmdir()
        return None
    moment = datetime.now(UTC).strftime(MOMENT)
    aside = place.with_name(f"{place.name}-replaced-{moment}")
    if aside.exists():
        raise InputError(f"{aside} is there already; move it away first")
    place.rename(aside)
    return aside
