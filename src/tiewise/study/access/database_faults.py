"""What is wrong with a database that cannot be used: one line, with the way out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from sqlalchemy import Connection, text
from sqlalchemy.exc import DatabaseError, DBAPIError

from tiewise.errors import InputError
from tiewise.text import first_line, one_line, some_names

RESTORE = "put a backup in its place (`tiewise restore`)"
SQLITE_FAULTS = {
    "SQLITE_NOTADB": ("is not a database", RESTORE),
    "SQLITE_CORRUPT": ("is damaged", RESTORE),
    "SQLITE_FULL": ("cannot grow", "make room on its disk"),
    "SQLITE_IOERR": ("cannot be read or written", "look at its disk"),
    "SQLITE_READONLY": ("may not be written", "ask its owner, or look at its disk"),
    "SQLITE_BUSY": ("is held by another program", "try again when that is done"),
    "SQLITE_LOCKED": ("is held by another program", "try again when that is done"),
}
"""What is wrong and the way out, by the code that SQLite gives it, or the beginning of that."""
TABLES = text("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
VERSION_TABLE = "alembic_version"
QUICK_CHECK = text("PRAGMA quick_check(1)")


def explain(error: BaseException, name: str = "the database of the study") -> InputError | None:
    """An error of a database as a line for its user; None where the fault is ours."""
    if not isinstance(error, DBAPIError) or error.orig is None:
        return None
    message = one_line(first_line(error.orig), 200)
    if not isinstance(error.orig, sqlite3.Error):
        unreachable = ("cannot be reached", "is it there, and are we let in?")
        return _line(name, unreachable, message) if error.connection_invalidated else None
    code = getattr(error.orig, "sqlite_errorname", "")
    known = next((words for key, words in SQLITE_FAULTS.items() if code.startswith(key)), None)
    if known is None and message.startswith(("no such table", "no such column")):
        known = ("is not complete", RESTORE)
    return _line(name, known, message) if known else None


def _line(name: str, words: tuple[str, str], message: str) -> InputError:
    return InputError(f"{name} {words[0]} ({message}); {words[1]}")


def refuse_foreign(connection: Connection, name: str) -> None:
    """Refuse an SQLite database that has tables and no version of ours; an empty one may be used.

    Databases of PostgreSQL may have tables of others beside ours.
    """
    tables = []
    if connection.dialect.name == "sqlite":
        tables = [str(table) for table in connection.scalars(TABLES)]
    if tables and VERSION_TABLE not in tables:  # else another process has just made ours
        raise InputError(
            f"{name} is the database of another program (its tables: "
            f"{some_names(tables, 3)}); move it away, or name another"
        )


def damage(connection: Connection) -> Iterator[str]:
    """What SQLite itself finds wrong with its file; all of it is read for that."""
    if connection.dialect.name != "sqlite":
        return
    try:
        answer = str(connection.scalar(QUICK_CHECK))
    except DatabaseError as error:
        answer = first_line(error.orig or error)
    if answer != "ok":
        yield f"study.db: it is damaged ({one_line(answer, 200)}); {RESTORE}"
