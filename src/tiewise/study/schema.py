"""The tables of a study's database, and its migrations.

Judgements are only ever added: an undo is a row of its own, and a judgement is erased only when its
judge withdraws it, which leaves a row in `erased`. Times are UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.exc import OperationalError, ProgrammingError

metadata = MetaData()
MIGRATIONS = Path(__file__).parent / "migrations"
REVISION = text("SELECT version_num FROM alembic_version")
ONE_AT_A_TIME = Lock()
"""Alembic has one database in hand in a process, whatever thread asks."""
MIGRATION_LOCK = text("SELECT pg_advisory_xact_lock(7429830614)")


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
    # The digest of the identifier by which somebody from a panel comes back as themselves.
    Column("person", String(64)),
    Index("one_judge_a_person", "person", unique=True),
)  # fmt: skip

# Codes of invitations, as digests. Those in somebody's name are erased when that judge withdraws.
invites = Table(
    "invites", metadata,
    Column("id", Integer, primary_key=True),
    Column("code", String(64), nullable=False, unique=True),
    Column("made", Utc, nullable=False),
    Column("label", Text),
    Column("mail", Text),
    # When the last link was made, when it was sent by mail, and why that failed.
    Column("issued", Utc),
    Column("sent", Utc),
    Column("fault", Text),
)  # fmt: skip

# Further secrets that open a judge's pages: of reminders, and of those who come back from a panel.
return_links = Table(
    "return_links", metadata,
    Column("secret", String(64), primary_key=True),
    Column("judge", ForeignKey("judges.id"), nullable=False, index=True),
    Column("made", Utc, nullable=False),
    Column("opened", Utc),
)  # fmt: skip

# What the link of a panel said of a judge, by name. Erased when they withdraw.
identifiers = Table(
    "identifiers", metadata,
    Column("judge", ForeignKey("judges.id"), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)  # fmt: skip

# What a judge said of themselves. Erased when they withdraw.
signup_answers = Table(
    "said", metadata,
    Column("judge", ForeignKey("judges.id"), primary_key=True),
    Column("field", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)  # fmt: skip

known_groups = Table(
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
    Column("offer", ForeignKey("offers.id"), nullable=False),
    Column("outcome", String(8), nullable=False),
    Column("answered", Utc, nullable=False),
    # How strongly an item was chosen, from 1, where answers are graded.
    Column("grade", Integer),
    # The id of the question that it answers; that of the only one is empty.
    Column("question", String(20), nullable=False, server_default=""),
    UniqueConstraint("offer", "question", name="one_answer"),
)  # fmt: skip

# Answers to some questions of a pair that is still open. They count once there is one to each.
drafts = Table(
    "drafts", metadata,
    Column("offer", ForeignKey("offers.id"), primary_key=True),
    Column("question", String(20), primary_key=True),
    Column("outcome", String(8), nullable=False),
    Column("grade", Integer),
    Column("answered", Utc, nullable=False),
)  # fmt: skip

# Why a pair was answered so: the choices that were ticked (JSON), and words of the judge's own.
# Both are empty where a judge was asked and said nothing. Erased when they withdraw.
comments = Table(
    "comments", metadata,
    Column("offer", ForeignKey("offers.id"), primary_key=True),
    Column("question", String(20), primary_key=True, server_default=""),
    Column("reasons", Text, nullable=False),
    Column("comment", Text, nullable=False),
    Column("written", Utc, nullable=False),
)  # fmt: skip

# Which list of a design a judge has, where pairs were chosen beforehand.
pair_lists = Table(
    "lists", metadata,
    Column("name", String(60), primary_key=True),
    Column("judge", ForeignKey("judges.id"), nullable=False, unique=True),
    Column("taken", Utc, nullable=False),
)  # fmt: skip

# Answers that came on paper, and who entered them.
paper_answers = Table(
    "paper", metadata,
    Column("offer", ForeignKey("offers.id"), primary_key=True),
    Column("entered_by", Text, nullable=False),
    Column("entered", Utc, nullable=False),
)  # fmt: skip

undone = Table(
    "undone", metadata,
    Column("judgement", ForeignKey("judgements.id"), primary_key=True),
    Column("at", Utc, nullable=False),
)  # fmt: skip

erasures = Table(
    "erased", metadata,
    Column("id", Integer, primary_key=True),
    Column("judge", String(64), nullable=False),
    Column("at", Utc, nullable=False),
    Column("judgements", Integer, nullable=False),
)  # fmt: skip

# What the answers given so far depend on, as it stood when the first was given.
meanings = Table(
    "meaning", metadata,
    Column("key", String(64), primary_key=True),
    Column("value", Text, nullable=False),
    Column("since", Utc, nullable=False),
)  # fmt: skip

# How the study is fitted, where study.toml leaves it open.
fit_settings = Table(
    "fit_settings", metadata,
    Column("key", String(32), primary_key=True),
    Column("value", Text, nullable=False),
    Column("since", Utc, nullable=False),
)  # fmt: skip

# Those who run the study. Passwords are kept as Argon2 hashes, secrets as digests.
researchers = Table(
    "researchers", metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("password", Text),
    Column("made", Utc, nullable=False),
    Column("removed", Utc),
)  # fmt: skip

sessions = Table(
    "sessions", metadata,
    Column("secret", String(64), primary_key=True),
    Column("researcher", ForeignKey("researchers.id"), nullable=False),
    Column("begun", Utc, nullable=False),
    Column("seen", Utc, nullable=False),
    Column("ended", Utc),
    # Begun with a one-time link of somebody else: a forgotten password may be replaced.
    Column("may_reset", Boolean, nullable=False, server_default=false()),
)  # fmt: skip

# Browsers that researchers have signed in with; strangers cannot lock these out.
devices = Table(
    "devices", metadata,
    Column("secret", String(64), primary_key=True),
    Column("researcher", ForeignKey("researchers.id"), primary_key=True),
    Column("seen", Utc, nullable=False),
)  # fmt: skip

# How often a password was tried by whom, as a digest, until that is forgotten.
sign_in_attempts = Table(
    "sign_in_attempts", metadata,
    Column("sender", String(64), primary_key=True),
    Column("number", Integer, nullable=False),
    Column("until", Utc, nullable=False),
)  # fmt: skip

# Tokens: to sign in once, for a shared map, for the interface for programs.
tokens = Table(
    "passes", metadata,
    Column("id", Integer, primary_key=True),
    Column("secret", String(64), nullable=False, unique=True),
    Column("opens", String(16), nullable=False),
    Column("label", Text, nullable=False),
    Column("researcher", ForeignKey("researchers.id")),
    Column("made", Utc, nullable=False),
    Column("until", Utc),
    Column("ended", Utc),
    Column("may_reset", Boolean, nullable=False, server_default=false()),
)  # fmt: skip

# The audit log: what researchers did. Rows are only ever added.
audit_log = Table(
    "deeds", metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Utc, nullable=False),
    Column("researcher", ForeignKey("researchers.id")),
    Column("what", String(32), nullable=False),
    Column("about", Text, nullable=False),
    Column("why", Text, nullable=False),
)  # fmt: skip

# Whether judges may judge, and whose judgements count: the last row counts.
phases = Table(
    "phases", metadata,
    Column("id", Integer, primary_key=True),
    Column("phase", String(8), nullable=False),
    Column("at", Utc, nullable=False),
)  # fmt: skip

exclusions = Table(
    "exclusions", metadata,
    Column("id", Integer, primary_key=True),
    Column("judge", ForeignKey("judges.id"), nullable=False),
    Column("excluded", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Utc, nullable=False),
)  # fmt: skip

# The posterior as it was at moments of the study.
snapshots = Table(
    "snapshots", metadata,
    Column("id", Integer, primary_key=True),
    Column("made", Utc, nullable=False),
    Column("pulse", String(64), nullable=False),
    Column("comparisons", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("question", String(20), nullable=False, server_default=""),
)  # fmt: skip

# What is known now and need not be kept: one row for each thing.
current_values = Table(
    "current", metadata,
    Column("key", String(32), primary_key=True),
    Column("made", Utc, nullable=False),
    Column("value", LargeBinary, nullable=False),
)  # fmt: skip

# Who may do what only one may do, and until when unless they say so again.
leases = Table(
    "leases", metadata,
    Column("task", String(32), primary_key=True),
    Column("holder", String(64), nullable=False),
    Column("until", Utc, nullable=False),
)  # fmt: skip


def current_revision(connection: Connection) -> str | None:
    """The revision of a database, None for an empty one; Alembic is not loaded."""
    try:
        revision: str | None = connection.scalar(REVISION)
    except (OperationalError, ProgrammingError):  # there is no such table yet
        return None
    return revision


class Migrations(NamedTuple):
    """The migrations of one kind of database: their folder, and how their revisions begin."""

    folder: Path
    prefix: str = ""

    def is_one(self, revision: str) -> bool:
        """Whether a database of this revision is of this kind."""
        return revision.startswith(self.prefix) and revision[len(self.prefix) :].isdecimal()


OF_STUDIES = Migrations(MIGRATIONS)


@cache
def newest_revision(migrations: Migrations = OF_STUDIES) -> str:
    """The newest revision that is known; files of migrations begin with theirs."""
    files = (migrations.folder / "versions").glob(f"{migrations.prefix}[0-9]*.py")
    return max(path.name.partition("_")[0] for path in files)


def migrate(connection: Connection, migrations: Migrations = OF_STUDIES) -> None:
    """Run the migrations that this database does not have yet."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(migrations.folder))
    config.attributes["connection"] = connection
    if connection.dialect.name == "postgresql":  # whoever comes second has nothing left to do
        connection.execute(MIGRATION_LOCK)
    with ONE_AT_A_TIME:
        command.upgrade(config, "head")
