"""Writers who wait for each other share a commit, and nobody notices but the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import IntegrityError, OperationalError

from tiewise.study.connection import Database

OTHERS = 8


@pytest.fixture
def database(tmp_path):
    made = Database(f"sqlite:///{tmp_path}/numbers.sqlite")
    with made.writing() as connection:
        connection.execute(text("CREATE TABLE numbers (number INTEGER PRIMARY KEY)"))
    yield made
    made.close()


def adding(number: int) -> Callable[[Connection], int]:
    def add(connection: Connection) -> int:
        connection.execute(text(f"INSERT INTO numbers VALUES ({number})"))
        return number

    return add


def stored(database: Database) -> list[int]:
    """What another program finds in the file."""
    with sqlite3.connect(str(database.engine.url.database)) as connection:
        return [row[0] for row in connection.execute("SELECT number FROM numbers ORDER BY 1")]


def together(database: Database, *works: Callable[[Connection], object]) -> list[Future[object]]:
    """Have all of these wait for one that is at work, and then let that end."""
    begun, go_on = Event(), Event()

    def hold(connection: Connection) -> None:
        begun.set()
        assert go_on.wait(20)

    with ThreadPoolExecutor(len(works) + 1) as pool:
        pool.submit(database.transaction, hold)
        assert begun.wait(20)
        futures = [pool.submit(database.transaction, work) for work in works]
        while len(database._group._waiting) < len(works):
            pass
        go_on.set()
    return futures


def commits(database: Database) -> list[str]:
    """A list that grows with every commit."""
    made: list[str] = []
    event.listen(database.engine, "commit", lambda connection: made.append("commit"))
    return made


def test_those_who_wait_are_stored_by_one_commit(database):
    made = commits(database)
    futures = together(database, *(adding(number) for number in range(OTHERS)))
    assert [future.result() for future in futures] == list(range(OTHERS))
    assert stored(database) == list(range(OTHERS))
    assert len(made) == 2  # of the one they waited for, and theirs


def test_who_fails_leaves_nothing_and_hinders_nobody(database):
    """Of two who add one number the second is refused, with all else that it did."""

    def twice(connection: Connection) -> None:
        adding(100)(connection)
        adding(1)(connection)

    futures = together(database, adding(1), twice, adding(2))
    assert futures[0].result() == 1
    with pytest.raises(IntegrityError):
        futures[1].result()
    assert futures[2].result() == 2
    assert stored(database) == [1, 2]


def test_where_the_commit_fails_everybody_is_told(database):
    """A foreign key that is looked at only then makes it fail."""
    with database.writing() as connection:
        number = "number INTEGER REFERENCES numbers DEFERRABLE INITIALLY DEFERRED"
        connection.execute(text(f"CREATE TABLE more ({number})"))

    def orphan(connection: Connection) -> None:
        connection.execute(text("INSERT INTO more VALUES (99)"))

    for future in together(database, adding(1), orphan):
        with pytest.raises(IntegrityError, match="FOREIGN KEY"):
            future.result()
    assert stored(database) == []
    assert database.transaction(adding(3)) == 3
    assert stored(database) == [3]


def test_where_the_whole_transaction_is_gone_everybody_is_told(database):
    """SQLite takes back all of it by itself where the disk is full."""

    def gone(connection: Connection) -> None:
        connection.connection.driver_connection.execute("ROLLBACK")
        raise OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))

    for future in together(database, adding(1), gone, adding(2)):
        with pytest.raises(OperationalError, match="full"):
            future.result()
    assert stored(database) == []


def test_answers_are_there_when_another_program_looks(tmp_path: Path, database):
    """Nobody is answered before the commit."""
    seen = []
    with ThreadPoolExecutor(OTHERS) as pool:
        for number in pool.map(lambda k: database.transaction(adding(k)), range(100)):
            seen.append(number in stored(database))
    assert all(seen)
