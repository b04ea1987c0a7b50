"""Dumps of a study's database, and loading them: SQLite's online backup, pg_dump and pg_restore."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Protocol

from sqlalchemy import URL, Connection, create_engine, inspect, make_url, text
from sqlalchemy.exc import DatabaseError, OperationalError

from tiewise.errors import InputError
from tiewise.study.connection import now
from tiewise.text import first_line

REVISION = "SELECT version_num FROM alembic_version"
JUDGEMENTS = "SELECT count(*) FROM judgements"
SQLITE = "sqlite"


class DumpFacts(NamedTuple):
    """What a dump holds: from when, the revision of its tables, and how many judgements."""

    made: str
    revision: str
    judgements: int


class DatabaseKind(Protocol):
    """How one kind of database is dumped and loaded."""

    def dump(self, url: URL, out: Path) -> DumpFacts:
        """Write the database as it is at one moment, while it is in use."""
        ...

    def check(self, dump: Path) -> None:
        """Refuse a dump that could not be loaded."""
        ...

    def load(self, url: URL, dump: Path) -> None:
        """Load a dump into an empty database."""
        ...


class SqliteDumps:
    """SQLite: a copy of the file, by its online backup."""

    def dump(self, url: URL, out: Path) -> DumpFacts:
        """Copy the database; writers go on meanwhile."""
        made = now().isoformat(timespec="microseconds")
        place = Path(str(url.database)).resolve()
        try:
            return DumpFacts(made, *self._copy(place, out))
        except sqlite3.Error as error:
            raise InputError(f"{place} cannot be copied ({error})") from None

    def _copy(self, place: Path, out: Path) -> tuple[str, int]:
        with (
            closing(sqlite3.connect(f"{place.as_uri()}?mode=rw", uri=True, timeout=30)) as source,
            closing(sqlite3.connect(out)) as copy,
        ):
            source.backup(copy)  # all pages in one go: one moment of the database
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
            out.chmod(0o600)
            _check_pages(copy, str(place))
            return _counts(copy)

    def check(self, dump: Path) -> None:
        """Open it and read every page."""
        with closing(sqlite3.connect(f"{dump.resolve().as_uri()}?mode=ro", uri=True)) as copy:
            _check_pages(copy, dump.name)

    def load(self, url: URL, dump: Path) -> None:
        """The file is in its place already."""


def _check_pages(copy: sqlite3.Connection, name: str) -> None:
    try:
        answers = copy.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        answers = (str(error),)
    if answers != ("ok",):
        raise InputError(f"{name} is damaged ({answers[0]}); take an earlier backup")


def _counts(copy: sqlite3.Connection) -> tuple[str, int]:
    (revision,), (judgements,) = (copy.execute(sql).fetchone() for sql in (REVISION, JUDGEMENTS))
    return revision, judgements


class PostgresDumps:
    """PostgreSQL: pg_dump's custom format, which pg_restore reads."""

    def dump(self, url: URL, out: Path) -> DumpFacts:
        """Dump what a transaction sees, and count in the same."""
        engine = create_engine(url, isolation_level="REPEATABLE READ", hide_parameters=True)
        made = now().isoformat(timespec="microseconds")
        try:
            with engine.connect() as connection:
                snapshot = connection.scalar(text("SELECT pg_export_snapshot()"))
                facts = DumpFacts(
                    made,
                    str(connection.scalar(text(REVISION))),
                    int(connection.scalar(text(JUDGEMENTS)) or 0),
                )
                _run("pg_dump", url, "--format=custom", "--no-owner", "--no-privileges",
                     f"--snapshot={snapshot}", f"--file={out}")  # fmt: skip
        except OperationalError as error:
            raise _unreachable(url, error) from None
        finally:
            engine.dispose()
        out.chmod(0o600)
        return facts

    def check(self, dump: Path) -> None:
        """Have pg_restore read its table of contents."""
        _run("pg_restore", None, "--list", str(dump))

    def load(self, url: URL, dump: Path) -> None:
        """Load it in one transaction."""
        _run("pg_restore", url, "--single-transaction", "--exit-on-error", "--no-owner",
             "--no-privileges", str(dump))  # fmt: skip


KINDS: dict[str, DatabaseKind] = {SQLITE: SqliteDumps(), "postgresql": PostgresDumps()}


def kind_of(url: URL) -> str:
    """The kind of the database at an address: a key of KINDS."""
    return url.get_backend_name()


def driver_url(url: str) -> URL:
    """An address as people write it, with the driver that we use."""
    parsed = make_url(url.replace("postgres://", "postgresql://", 1))
    return parsed if kind_of(parsed) == SQLITE else parsed.set(drivername="postgresql+psycopg")


def tables_in(url: URL) -> list[str]:
    """The tables of a PostgreSQL database."""
    engine = create_engine(url, hide_parameters=True)
    try:
        with engine.connect() as connection:
            return _table_names(connection)
    except OperationalError as error:
        raise _unreachable(url, error) from None
    finally:
        engine.dispose()


def _table_names(connection: Connection) -> list[str]:
    return sorted(inspect(connection).get_table_names())


def counts_in(url: URL) -> tuple[str, int]:
    """The revision and the number of judgements of a database."""
    engine = create_engine(url, hide_parameters=True)
    try:
        with engine.connect() as connection:
            revision, judgements = (connection.scalar(text(sql)) for sql in (REVISION, JUDGEMENTS))
            return str(revision), int(judgements or 0)
    except DatabaseError as error:
        why = first_line(error.orig or error)
        raise InputError(f"what was restored cannot be read ({why})") from None
    finally:
        engine.dispose()


def _unreachable(url: URL, error: OperationalError) -> InputError:
    return InputError(
        f"cannot open the database {url.render_as_string()} ({first_line(error.orig or error)}); "
        "is it there, and are we let in?"
    )


def _run(program: str, url: URL | None, *words: str) -> None:
    """Run a program of PostgreSQL; the password goes through its environment."""
    path = shutil.which(program)
    if path is None:
        raise InputError(
            f"{program} is not installed here; it comes with PostgreSQL's client programs "
            "(Debian: apt install postgresql-client)"
        )
    address, environment = [], dict(os.environ)
    if url is not None:
        public, password = _without_password(url)
        address = [f"--dbname={public}"]
        environment |= {"PGPASSWORD": password} if password else {}
    done = subprocess.run(
        [path, *address, *words], env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["it does not say why"]
        raise InputError(f"{program} failed: {lines[0].removeprefix(f'{program}: ')[:300]}")


def _without_password(url: URL) -> tuple[str, str]:
    """An address for a command line, which everybody can read, and the password apart."""
    hidden = url.query.get("password", "")
    password = url.password or (hidden if isinstance(hidden, str) else hidden[-1])
    bare = URL.create(
        "postgresql", url.username, None, url.host, url.port, url.database,
        {key: value for key, value in url.query.items() if key != "password"},
    )  # fmt: skip
    return bare.render_as_string(hide_password=False), str(password)
