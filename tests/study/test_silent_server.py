"""A PostgreSQL server that does not answer any more."""

from __future__ import annotations

import socket
from threading import Thread
from time import sleep

import pytest
from sqlalchemy import text
from sqlalchemy.exc import InternalError

from tiewise.errors import InputError
from tiewise.study import connection
from tiewise.study.connection import Database


def test_the_address_may_say_otherwise_about_the_network():
    options = connection._network_options("postgresql+psycopg://me@host/name?connect_timeout=60")
    assert "connect_timeout" not in options
    assert options["tcp_user_timeout"] == connection.NETWORK_OPTIONS["tcp_user_timeout"]


def test_what_a_program_that_vanished_had_locked_is_free_again(monkeypatch, postgresql):
    """Neither its end nor the network says that it is gone: the server ends its transaction."""
    monkeypatch.setattr(connection, "IDLE_SECONDS", 0.2)
    database = Database(postgresql())
    lock = text("SELECT pg_advisory_xact_lock(7)")
    with database.engine.connect() as vanished, database.writing() as other:
        vanished.execute(lock)
        other.execute(lock)
        with pytest.raises(InternalError, match="idle-in-transaction"):
            vanished.execute(lock)
    with database.writing() as patient:
        connection.take_time(patient)
        patient.execute(lock)
        sleep(0.5)
        patient.execute(lock)
    database.close()


@pytest.mark.slow
def test_a_server_that_says_nothing_is_given_up(monkeypatch):
    pytest.importorskip("psycopg")
    # The least that libpq accepts.
    monkeypatch.setitem(connection.NETWORK_OPTIONS, "connect_timeout", 2)
    refused: list[InputError] = []

    def connect(port: int) -> None:
        try:
            Database(f"postgresql://me@127.0.0.1:{port}/study")
        except InputError as error:
            refused.append(error)

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        waiting = Thread(target=connect, args=(silent.getsockname()[1],), daemon=True)
        waiting.start()
        waiting.join(15)
        assert not waiting.is_alive()
    assert "timeout" in str(refused[0])
