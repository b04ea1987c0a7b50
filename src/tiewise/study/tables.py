"""The tables of a study, and how a database of an older version is brought up to date.

Judgements are only ever added: an undo is a row of its own, and a judgement is erased only when its
judge withdraws it, which leaves a row in `erased`. Times are UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)

metadata = MetaData()


class Utc(TypeDecorator[datetime]):
    """A moment, kept without its zone, which is always UTC."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """UTC, and the zone left off."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """The zone put on again."""
        return None if value is None else value.replace(tzinfo=UTC)


judges = Table(
    "judges", metadata,
    Column("id", String(64), primary_key=True),
    # The personal link holds a secret; only its digest is kept.
    Column("secret", String(64), nullable=False, unique=True),
    Column("invite", ForeignKey("invites.id"), unique=True),
    Column("language", String(8), nullable=False),
    Column("consent", String(64), nullable=False),
    Column("consented", Utc, nullable=False),
    Column("chose", Boolean, nullable=False, default=False),
    Column("withdrawn", Utc),
)  # fmt: skip

invites = Table(
    "invites", metadata,
    Column("id", Integer, primary_key=True),
    Column("code", String(64), nullable=False, unique=True),
    Column("made", Utc, nullable=False),
)  # fmt: skip

# What a judge said of themselves. Erased when they withdraw.
said = Table(
    "said", metadata,
    Column("judge", ForeignKey("judges.id"), primary_key=True),
    Column("field", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)  # fmt: skip

known = Table(
    "known", metadata,
    Column("judge", ForeignKey("judges.id"), primary_key=True),
    Column("group", Text, primary_key=True),
)  # fmt: skip

offers = Table(
    "offers", metadata,
    Column("id", Integer, primary_key=True),
    Column("judge", ForeignKey("judges.id"), nullable=False),
    Column("left", Text, nullable=False),
    Column("right", Text, nullable=False),
    Column("kind", String(8), nullable=False),
    Column("shown", Utc, nullable=False),
    Column("closed", Utc),
    Index("offers_of_judge", "judge"),
)  # fmt: skip
# One open offer a judge, whatever two workers do at once.
Index(
    "one_open_offer", offers.c.judge, unique=True,
    sqlite_where=offers.c.closed.is_(None), postgresql_where=offers.c.closed.is_(None),
)  # fmt: skip

judgements = Table(
    "judgements", metadata,
    Column("id", Integer, primary_key=True),
    Column("offer", ForeignKey("offers.id"), nullable=False, unique=True),
    Column("outcome", String(8), nullable=False),
    Column("answered", Utc, nullable=False),
)  # fmt: skip

undone = Table(
    "undone", metadata,
    Column("judgement", ForeignKey("judgements.id"), primary_key=True),
    Column("at", Utc, nullable=False),
)  # fmt: skip

erased = Table(
    "erased", metadata,
    Column("id", Integer, primary_key=True),
    Column("judge", String(64), nullable=False),
    Column("at", Utc, nullable=False),
    Column("judgements", Integer, nullable=False),
)  # fmt: skip

# What the answers given so far depend on, as it stood when the first was given.
meaning = Table(
    "meaning", metadata,
    Column("key", String(64), primary_key=True),
    Column("value", Text, nullable=False),
    Column("since", Utc, nullable=False),
)  # fmt: skip


def bring_up_to_date(connection: Connection) -> None:
    """Run the migrations that this database has not seen yet."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
