"""The database of a study, SQLite or PostgreSQL: connections, transactions, migrations."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    DisconnectionError,
    OperationalError,
)

from tiewise.errors import InputError
from tiewise.optional import require
from tiewise.study.access.database_faults import explain, refuse_foreign
from tiewise.study.access.group_commit import GroupCommit
from tiewise.study.access.private_files import make_database_private
from tiewise.study.access.quiet_errors import hide_values
from tiewise.study.outage import FileIdentity
from tiewise.study.schema import OF_STUDIES, current_revision, migrate, newest_revision
from tiewise.text import first_line, one_line

BUSY_SECONDS = 10
RESTED_SECONDS = 5
NETWORK_OPTIONS = {
    "connect_timeout": 5, "tcp_user_timeout": 5000, "keepalives_idle": 5, "keepalives_interval": 2,
    "keepalives_count": 3,
}  # fmt: skip
"""A server that does not answer any more is given up after some seconds; by itself TCP takes many
minutes, in which every thread of the site would wait."""
IDLE_SECONDS = 4
"""A transaction of which nothing is heard for so long is ended by the PostgreSQL server. The
network may have lost its program without a word, and its locks would stay for hours."""
CACHE_KIB = 512
"""Memory for the pages of an SQLite database, for each connection."""
BEGIN = text("BEGIN IMMEDIATE")
CLOCK_SET_BACK = timedelta(minutes=1)
"""What would last for so much longer than it may is of a clock that was set back since."""
ATTEMPTS = 6
"""How often a transaction is tried that others of the same moment stand in the way of."""
FIRST_WAIT, LONGEST_WAIT = 0.01, 0.2
TRY_AGAIN = ("40001", "40P01", "25P03")
"""Codes of PostgreSQL for a serialisation failure, a deadlock and a transaction that was idle for
too long: nothing of it was stored."""

Value = TypeVar("Value")


def digest(secret: str) -> str:
    """The digest of a secret; the secret itself is not stored."""
    return hashlib.sha256(secret.encode()).hexdigest()


def now() -> datetime:
    """This moment, UTC."""
    return datetime.now(UTC)


class Database:
    """The database of one study."""

    migrations = OF_STUDIES
    _file: FileIdentity | None = None
    """The file of an open SQLite database: what is written to a deleted one is lost."""

    def __init__(
        self, url: str, *, before_migration: Callable[[URL], object] | None = None
    ) -> None:
        """Open it; `before_migration` is called before the tables of an older version change."""
        self.engine = _connect(url)
        self._readers = _readers(self.engine)
        # Writers of one process queue here; SQLite would have them sleep and try again.
        self._turn = Lock()
        self._group = GroupCommit()
        try:
            self._migrate(before_migration)
        except DatabaseError as error:
            known = explain(error, self._name)
            if known is None and not isinstance(error, OperationalError):
                raise
            raise known or InputError(
                f"cannot open {self._name} "
                f"({first_line(error.orig or error)}); is it there, and are we let in?"
            ) from None
        if self.engine.dialect.name == "sqlite" and self.engine.url.database:
            self._file = FileIdentity.of(Path(self.engine.url.database))

    def _migrate(self, before_migration: Callable[[URL], object] | None) -> None:
        """Create the tables, or bring those of an older version up to date."""
        with self.reading() as connection:
            revision = current_revision(connection)
            if revision is None:
                refuse_foreign(connection, self._name)
        newest = newest_revision(self.migrations)
        if revision == newest:
            return
        if revision is not None and not self.migrations.is_one(revision):
            raise InputError(
                f"{self._name} is that of another program (version {one_line(revision, 40)!r}); "
                "move it away, or name another"
            )
        if revision is not None and revision > newest:
            raise InputError(
                f"{self._name} was made by a newer version of "
                "Tiewise; install that version, or restore a backup from before the upgrade"
            )
        if revision is not None and before_migration is not None:
            before_migration(self.engine.url)
        with self.writing() as connection:
            take_time(connection)
            migrate(connection, self.migrations)

    @property
    def _name(self) -> str:
        return f"the database {self.engine.url.render_as_string()}"

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    def transaction(self, work: Callable[[Connection], Value]) -> Value:
        """The result of `work` in a transaction, which is begun anew where others got in its way.

        That is a deadlock, a serialisation failure, or a connection lost before the commit: in
        each case nothing was stored. With SQLite, transactions of one moment share a commit.
        """
        if self.engine.dialect.name == "sqlite":
            return self._group.run(work, self.writing)
        for attempt in range(ATTEMPTS):
            committing = False
            try:
                with self.writing() as connection:
                    result = work(connection)
                    committing = True
                return result
            except DBAPIError as error:
                if attempt == ATTEMPTS - 1 or not _left_nothing(error, committing=committing):
                    raise
            sleep(min(FIRST_WAIT * 2**attempt, LONGEST_WAIT) * random.uniform(0.5, 1.5))
        raise AssertionError

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction: all of its changes are stored, or none."""
        if self.engine.dialect.name != "sqlite":
            with self.engine.begin() as connection:
                yield connection
            return
        with self._turn, self.engine.connect() as connection:
            self._check_file()
            # From the first statement on: a reader that turns writer midway may be refused.
            connection.execute(BEGIN)
            try:
                yield connection
                connection.commit()
            except BaseException:
                connection.rollback()
                connection.connection.rollback()  # SQLAlchemy holds a failed commit for the end
                raise
            self._check_file()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for queries, each in a transaction of its own."""
        self._check_file()
        with self._readers.connect() as connection:
            yield connection

    def _check_file(self) -> None:
        """Refuse to go on with the file of an SQLite database that is not in its place."""
        if self._file is not None:
            self._file.check()


def _left_nothing(error: DBAPIError, *, committing: bool) -> bool:
    """Whether a transaction failed by no fault of its own and stored nothing."""
    if getattr(error.orig, "sqlstate", None) in TRY_AGAIN:
        return True
    # Lost during the commit, it may have been stored.
    return error.connection_invalidated and not committing


def _connect(url: str) -> Engine:
    """An engine for SQLite, set up for many readers and one writer, or for PostgreSQL."""
    if not url.startswith("sqlite"):
        # Everybody writes postgresql://, and some postgres://; the driver is ours to name.
        plain = re.sub(r"^postgres(ql)?://", "postgresql+psycopg://", url)
        if not plain.startswith("postgresql+psycopg://"):
            raise InputError(
                "database= is no PostgreSQL address; write postgresql://user@host/name"
            )
        require("PostgreSQL", "psycopg")
        try:
            # Whatever the server's default: who waited for a lock must see what was stored since.
            engine = create_engine(
                plain, pool_size=10, max_overflow=20, hide_parameters=True,
                isolation_level="READ COMMITTED", connect_args=_network_options(plain),
            )  # fmt: skip
            event.listen(engine, "connect", _bound_idle_transactions)
            return hide_values(_checked(engine))
        except ArgumentError as error:
            raise InputError(f"database=: {error}; write postgresql://user@host/name") from None
    engine = hide_values(
        create_engine(url, connect_args={"timeout": BUSY_SECONDS}, hide_parameters=True)
    )
    if engine.url.database:
        make_database_private(Path(engine.url.database))

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions begin where we say so
        # Every write of another connection empties the cache, so that a large one gains nothing.
        for pragma in (
            "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"cache_size=-{CACHE_KIB}",
        ):  # fmt: skip
            connection.execute(f"PRAGMA {pragma}")

    return engine


def _bound_idle_transactions(connection: Any, _: object) -> None:
    connection.execute(f"SET idle_in_transaction_session_timeout = {1000 * IDLE_SECONDS:.0f}")
    connection.commit()


def take_time(connection: Connection) -> None:
    """Let this transaction pause for as long as it likes between two statements."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))


def _network_options(url: str) -> dict[str, int]:
    """Network options for libpq, unless the address has its own."""
    chosen = make_url(url).query
    return {name: value for name, value in NETWORK_OPTIONS.items() if name not in chosen}


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
