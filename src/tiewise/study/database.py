"""How a database is reached and set up, of either kind."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import ArgumentError

from tiewise.errors import InputError

BUSY_SECONDS = 10


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
            return create_engine(plain, pool_pre_ping=True)
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
