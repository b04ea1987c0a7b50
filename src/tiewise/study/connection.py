"""How a database is reached and set up, of either kind."""

from __future__ import annotations

import re
from time import monotonic
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import ArgumentError, DisconnectionError

from tiewise.errors import InputError

BUSY_SECONDS = 10
RESTED_SECONDS = 5


def connect(url: str) -> Engine:
    """A database to be spoken to: SQLite, set up for many readers and one writer, or PostgreSQL."""
    if not url.startswith("sqlite"):
        # Everybody writes postgresql://, and some postgres://; the driver is ours to name.
        plain = re.sub(r"^postgres(ql)?://", "postgresql+psycopg://", url)
        if not plain.startswith("postgresql+psycopg://"):
            raise InputError(
                "--database is no PostgreSQL address; write postgresql://user@host/name"
            )
        try:
            return _checked(create_engine(plain, pool_size=10, max_overflow=20))
        except ArgumentError as error:
            raise InputError(f"--database: {error}; write postgresql://user@host/name") from None
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


def readers(engine: Engine) -> Engine:
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
