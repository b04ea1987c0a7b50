"""Workers replaced one after the other while judges judge: no answer lost, none refused."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread

import pytest
import uvicorn
from starlette.responses import PlainTextResponse

from support.crowd_client import Tally, crowd
from support.site import edited, free_port
from tiewise.study.create import create_study
from tiewise.study.study import Study
from tiewise.web.serving.rolling_restart import DrainingHttpProtocol, replaced

JUDGES, PAUSE, SECONDS = 30, 0.4, 9.0
"""A judge may send 60 forms in 15 seconds; these send fewer."""


@pytest.fixture
def study(tmp_path) -> Study:
    rows = "".join(f"item {k}\n" for k in range(60))
    (tmp_path / "items.csv").write_text(f"name\n{rows}", encoding="utf-8")
    return create_study(tmp_path / "s", question="Which?", items=tmp_path / "items.csv", target=999)


@contextmanager
def two_workers(study: Study, database: str | None, log: Path) -> Iterator[tuple[int, int]]:
    """The process id and the port of `tiewise serve --workers 2`, once it answers."""
    port = free_port()
    words = [
        sys.executable, "-m", "tiewise.cli.main", "serve", str(study.folder), "--port", str(port),
        "--workers", "2", "--no-live", *(["--database", database] if database else []),
    ]  # fmt: skip
    with log.open("w") as file:
        server = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT)
    try:
        eventually(lambda: answers(port))
        yield server.pid, port
    finally:
        server.terminate()
        server.wait(30)


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/live", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


def workers(server: int) -> set[int]:
    """The processes that a server has started to answer requests."""
    processes = set()
    for task in Path(f"/proc/{server}/task").iterdir():
        for process in (task / "children").read_text().split():
            if b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes():
                processes.add(int(process))
    return processes


def judge_meanwhile(server: int, port: int) -> Tally:
    """A crowd at work, and the workers replaced from its first second on."""

    async def work() -> Tally:
        loop = asyncio.get_running_loop()
        return await crowd(
            "127.0.0.1", port, judges=JUDGES, pause=PAUSE, seconds=SECONDS,
            begun=lambda: loop.call_later(1, send_hup, server),
        )  # fmt: skip

    with ThreadPoolExecutor(1) as thread:  # Playwright keeps an event loop in the tests' own
        return thread.submit(asyncio.run, work()).result()


def send_hup(server: int) -> None:
    os.kill(server, signal.SIGHUP)


@contextmanager
def one_server() -> Iterator[tuple[uvicorn.Server, int]]:
    """A server in a thread, with our connections and an app that has little to say."""
    port = free_port()
    config = uvicorn.Config(
        PlainTextResponse("here"), port=port, http=DrainingHttpProtocol, lifespan="off",
        log_level="error", timeout_graceful_shutdown=5,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = Thread(target=server.run)
    thread.start()
    eventually(lambda: server.started)
    yield server, port
    server.should_exit = True
    thread.join(10)
    assert not thread.is_alive()


@pytest.mark.parametrize("is_replaced", [True, False])
def test_of_a_worker_that_is_replaced_connections_at_rest_are_not_cut(is_replaced):
    """Their judges may be sending at that moment; where all of the site stops, it stops at once."""
    try:
        with one_server() as (server, port), closing(HTTPConnection("127.0.0.1", port)) as client:
            client.request("GET", "/")
            assert client.getresponse().read() == b"here"
            if is_replaced:
                replaced.set()
            server.should_exit = True
            time.sleep(0.5)
            if not is_replaced:
                assert client.sock.recv(1) == b""
                return
            client.request("POST", "/answer", b"outcome=left")
            answer = client.getresponse()
            assert answer.read() == b"here"
            assert answer.headers["connection"] == "close"
    finally:
        replaced.clear()


def test_a_new_connection_to_a_worker_that_is_replaced_gets_one_answer():
    try:
        with one_server() as (_, port), closing(HTTPConnection("127.0.0.1", port)) as client:
            replaced.set()
            client.request("GET", "/")
            assert client.getresponse().headers["connection"] == "close"
    finally:
        replaced.clear()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.thorough)])
def test_workers_are_replaced_and_no_answer_fails(study, kind, request, tmp_path):
    database = None if kind == "sqlite" else request.getfixturevalue("postgresql")()
    log = tmp_path / "log"
    with two_workers(study, database, log) as (server, port):
        before = workers(server)
        tally = judge_meanwhile(server, port)
        eventually(lambda: not workers(server) & before and len(workers(server)) == 2)
        assert tally.errors == []
        assert len(tally.acknowledged) > 5 * JUDGES
        store = study.store(database)
        stored = Counter(row["offer"] for row in store.rows())
        store.close()
        assert stored == Counter(tally.acknowledged)

        # Settings that would change what answers mean: the workers stay as they are.
        edited(study, {'question = "Which?"': 'question = "Which other?"'})
        before = workers(server)
        send_hup(server)
        eventually(lambda: "answers were given to 'Which?'" in log.read_text(encoding="utf-8"))
        eventually(lambda: workers(server) == before)
        assert answers(port)
    assert "Traceback" not in log.read_text(encoding="utf-8")
