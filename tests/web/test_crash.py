"""The site killed in the middle of its work: what was acknowledged is there, and nothing twice."""

from __future__ import annotations

import asyncio
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.crowd_client import Tally, crowd
from support.everyday import thorough
from tiewise.geo.areas import Areas
from tiewise.study.create import create_study
from tiewise.study.study import Study

KILLS = (3, 10)


@pytest.fixture
def study(tmp_path) -> Study:
    Areas.synthetic(20, rng=1).to_gpkg(tmp_path / "county.gpkg")
    question = "Which ward is greener?"
    return create_study(
        tmp_path / "s", question=question, areas=tmp_path / "county.gpkg", target=999
    )


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def started(folder: Path, port: int, database: str | None) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "tiewise.cli.main", "serve", str(folder), "--port", str(port)]
    words += ["--database", database] if database else []
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    for _ in range(300):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return server
        time.sleep(0.1)
    raise AssertionError("the site did not come up")


async def until_it_is_killed(server: subprocess.Popen[bytes], port: int, after: float) -> Tally:
    """Judges at work, and the site killed so many seconds after they began."""
    loop = asyncio.get_running_loop()
    return await crowd(
        "127.0.0.1", port, judges=12, pause=0.02, seconds=after + 0.5,
        begun=lambda: loop.call_later(after, server.send_signal, signal.SIGKILL),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", thorough(["sqlite", "postgresql"], "sqlite"))
@pytest.mark.parametrize("kills", thorough(KILLS, 10))
def test_killings_lose_nothing_that_was_acknowledged(study, kills, kind, request):
    database = None if kind == "sqlite" else request.getfixturevalue("postgresql")()
    acknowledged: list[int] = []
    broken = 0
    for _ in range(kills):
        port = free_port()
        server = started(study.folder, port, database)
        work = until_it_is_killed(server, port, after=random.uniform(1.5, 3))
        # In a thread of its own: Playwright keeps an event loop running in the tests' thread.
        with ThreadPoolExecutor(1) as thread:
            tally = thread.submit(asyncio.run, work).result()
        assert server.wait(10) == -signal.SIGKILL
        acknowledged += tally.acknowledged
        broken += bool(tally.errors)
    # It was killed in the middle: judges were at work, and noticed.
    assert broken == kills
    assert len(acknowledged) > 5 * kills
    store = study.store(database)
    there = Counter(row["offer"] for row in store.rows())
    store.close()
    assert set(acknowledged) <= set(there)
    assert max(there.values()) == 1
    if database is None:
        with sqlite3.connect(study.folder / "study.db") as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
