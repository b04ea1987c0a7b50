"""The database of a study, SQLite or PostgreSQL: connections, transactions, migrations."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Lock
from time import monotonic
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import ArgumentError, DisconnectionError, OperationalError

from tiewise.errors import InputError
from tiewise.study.schema import migrate, needs_migration
from tiewise.text import first_line

BUSY_SECONDS = 10
RESTED_SECONDS = 5
BEGIN = text("BEGIN IMMEDIATE")


def digest(secret: str) -> str:
    """The digest of a secret; the secret itself is not stored."""
    return hashlib.sha256(secret.encode()).hexdigest()


def now() -> datetime:
    """This moment, UTC."""
    return datetime.now(UTC)


class Database:
    """The database of one study."""

    def __init__(self, url: str) -> None:
        self.engine = _connect(url)
        self._readers = _readers(self.engine)
        # Writers of one process queue here; SQLite would have them sleep and try again.
        self._turn = Lock()
        try:
            self._migrate()
        except OperationalError as error:
            raise InputError(
                f"cannot open the database {self.engine.url.render_as_string()} "
                f"({first_line(error.orig or error)}); is it there, and are we let in?"
            ) from None

    def _migrate(self) -> None:
        """Create the tables, or bring those of an older version up to date."""
        with self.reading() as connection:
            needed = needs_migration(connection)
        if needed:
            with self.writing() as connection:
                migrate(connection)

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction: all of its changes are stored, or none."""
        if self.engine.dialect.name != "sqlite":
            with self.engine.begin() as connection:
                yield connection
            return
        with self._turn, self.engine.connect() as connection:
            # From the first statement on: a reader that turns writer midway may be refused.
            connection.execute(BEGIN)
            try:
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for queries, each in a transaction of its own."""
        with self._readers.connect() as connection:
            yield connection

    def is_healthy(self) -> bool:
        """Whether the database answers."""
        with self.reading() as connection:
            return bool(connection.scalar(text("SELECT 1")) == 1)

    def back_up(self, path: str) -> None:
        """A copy of the database as it is at this moment, while it is in use (SQLite)."""
        if self.engine.dialect.name != "sqlite":
            raise InputError("this study is on PostgreSQL; back it up with pg_dump")
        with self.reading() as connection:
            connection.execute(text("VACUUM INTO :path"), {"path": path})


def _connect(url: str) -> Engine:
    """An engine for SQLite, set up for many readers and one writer, or for PostgreSQL."""
    if not url.startswith("sqlite"):
        # Everybody writes postgresql://, and some postgres://; the driver is ours to name.
        plain = re.sub(r"^postgres(ql)?://", "postgresql+psycopg://", url)
        if not plain.startswith("postgresql+psycopg://"):
            raise InputError(
                "database= is no PostgreSQL address; write postgresql://user@host/name"
            )
        try:
            return _checked(create_engine(plain, pool_size=10, max_overflow=20))
        except ArgumentError as error:
            raise InputError(f"database=: {error}; write postgresql://user@host/name") from None
        except ModuleNotFoundError:
            raise InputError(
                "PostgreSQL needs a driver; install it with: pip install 'tiewise[postgres]'"
            ) from None
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS})

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions begin where we say so
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    return engine


def _readers(engine: Engine) -> Engine:
    """The same database for those who ask one thing at a time, without a transaction around it."""
    if engine.dialect.name == "sqlite":  # begins none by itself
        return engine
    return engine.execution_options(isolation_level="AUTOCOMMIT")


def _checked(engine: Engine) -> Engine:
    """Have a connection that has rested tried before it is used: the server may have gone since.

    SQLAlchemy's own way tries before every use, which is a question to the server for each of ours.
    """

    @event.listens_for(engine, "checkin")
    def _rest(_: object, record: Any) -> None:
        record.info["rested"] = monotonic()

    @event.listens_for(engine, "checkout")
    def _try(connection: Any, record: Any, _: object) -> None:
        if monotonic() - record.info.get("rested", monotonic()) < RESTED_SECONDS:
            return
        try:
            connection.execute("SELECT 1")
            connection.rollback()
        except Exception as error:
            raise DisconnectionError from error  # the pool hands out a new one

    return engine
