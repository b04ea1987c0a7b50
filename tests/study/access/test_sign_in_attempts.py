"""Attempts to sign in: counted for all workers, of senders who are not named, and forgotten."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import text

from tiewise.study.access import attempts
from tiewise.study.access.attempts import AttemptStore
from tiewise.study.connection import Database, now

KEY = "k" * 40


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 's.db'}"
    return str(request.getfixturevalue("postgresql")())


def later(monkeypatch, by: timedelta) -> None:
    at = now() + by
    monkeypatch.setattr(attempts, "now", lambda: at)


def kept(database: Database) -> list[tuple[str, int]]:
    with database.reading() as connection:
        return list(
            map(tuple, connection.execute(text("SELECT sender, number FROM sign_in_attempts")))
        )


def test_workers_count_together_and_lose_no_attempt(url):
    """Two workers, each with connections of its own, eight attempts at once."""
    workers = [AttemptStore(Database(url), 12, 600, key=KEY) for _ in range(2)]
    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(lambda k: workers[k % 2].seconds_to_wait("name ada"), range(40)))
    assert sum(wait == 0 for wait in waits) == 12
    assert all(590 <= wait <= 600 for wait in waits if wait)
    assert workers[0].seconds_to_wait("name ben") == 0


def test_time_makes_good_and_forgets(url, monkeypatch):
    database = Database(url)
    store = AttemptStore(database, 2, 600, key=KEY)
    waits = [store.seconds_to_wait("name ada") for _ in range(3)]
    assert waits[:2] == [0, 0]
    assert waits[2] > 590
    store.seconds_to_wait("name ben")
    later(monkeypatch, timedelta(seconds=601))
    assert store.seconds_to_wait("name ada") == 0
    assert [number for _, number in kept(database)] == [1]  # of Ada, anew; nothing of Ben


def test_a_clock_set_back_locks_nobody_out_for_longer(url, monkeypatch):
    database = Database(url)
    store = AttemptStore(database, 2, 600, key=KEY)
    for _ in range(3):
        store.seconds_to_wait("name ada")
    later(monkeypatch, timedelta(days=-1))
    assert store.seconds_to_wait("name ada") == 0


def test_whoever_has_to_wait_does_not_count_against_the_next(url):
    """A flood from one address must not use up the attempts of a name."""
    database = Database(url)
    store = AttemptStore(database, 3, 600, key=KEY)
    for _ in range(20):
        store.seconds_to_wait("address 203.0.113.1", "name ada")
    assert sorted(number for _, number in kept(database)) == [3, 3]
    assert store.seconds_to_wait("address 203.0.113.2", "name ben") == 0


def test_senders_are_digests_with_our_key(url):
    database = Database(url)
    AttemptStore(database, 3, 600, key=KEY).seconds_to_wait("address 203.0.113.1")
    AttemptStore(database, 3, 600, key="o" * 40).seconds_to_wait("address 203.0.113.1")
    senders = [sender for sender, _ in kept(database)]
    assert len(set(senders)) == 2
    assert all(re.fullmatch("[0-9a-f]{64}", sender) for sender in senders)
