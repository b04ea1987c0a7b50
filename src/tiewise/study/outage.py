"""When a study cannot store or read anything: its files are gone, or its database fails."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import NamedTuple, Self

from sqlalchemy.exc import DatabaseError, DBAPIError, InternalError, OperationalError, TimeoutError

from tiewise.text import first_line

POSTGRESQL_DISK_FULL = "53100"
DISK_FULL = "the disk is full"


class StudyGone(Exception):
    """The files of a study were deleted, moved or replaced while it was in use."""


OUTAGES = (StudyGone, DatabaseError, TimeoutError)
"""Errors among which outages are; `outage_reason` says which of the database's are one."""


class FileIdentity(NamedTuple):
    """Which file or folder a path led to: another one in its place is not the same."""

    path: Path
    device: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> Self:
        """The file or folder that is there now."""
        stat = path.stat()
        return cls(path, stat.st_dev, stat.st_ino)

    def check(self) -> None:
        """Raise StudyGone where the path leads nowhere, or to something else."""
        try:
            same = self == FileIdentity.of(self.path)
        except (FileNotFoundError, NotADirectoryError):
            same = False
        if not same:
            raise StudyGone(f"{self.path} was deleted, moved or replaced")


def outage_reason(error: Exception) -> str | None:
    """Why the database cannot be used, in a line; None for an error that is no outage."""
    if isinstance(error, TimeoutError):
        return "all connections to the database are in use"
    # One that is a DatabaseError and nothing more is a damaged file.
    if not isinstance(error, OperationalError | InternalError) and type(error) is not DatabaseError:
        return None
    assert isinstance(error, DBAPIError)
    return DISK_FULL if _is_disk_full(error) else first_line(error.orig or error)


def may_be_stored(error: Exception) -> bool:
    """Whether the connection was lost, so that the last change may or may not be stored."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _is_disk_full(error: DBAPIError) -> bool:
    code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
    return code == sqlite3.SQLITE_FULL or (
        getattr(error.orig, "sqlstate", None) == POSTGRESQL_DISK_FULL
    )
