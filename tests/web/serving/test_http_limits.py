"""Limits of the server itself: real sockets that send too much, too slowly, or nothing at all."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import uvicorn

from support.site import free_port, running
from tiewise.study.create import create_study
from tiewise.web.serving import http_protocol, options
from tiewise.web.serving.counters import CONNECTIONS, Counters, counters_file, shared_counters
from tiewise.web.serving.options import HttpLimits, ServingOptions, UploadLimit

LIMITS = HttpLimits(
    max_header_bytes=2048, header_seconds=0.3, max_body_bytes=100_000, body_seconds=0.3,
    max_connections=6,
)  # fmt: skip
PATIENCE = 4.0
"""Seconds in which a connection must have ended that goes beyond its limits."""
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\n"


@dataclass
class Echo:
    """An app that says how long a body is, and remembers what it was asked."""

    bodies: list[int] = field(default_factory=list)
    headers: list[dict[bytes, bytes]] = field(default_factory=list)

    async def __call__(self, scope, receive, send) -> None:
        self.headers.append(dict(scope["headers"]))
        if scope["path"] == "/slow":
            await asyncio.sleep(0.5)
        text = b"x" * 20_000_000 if scope["path"] == "/big" else b""
        if scope["path"] != "/early":
            text = text or await self._read(receive)
        headers = [(b"content-length", str(len(text)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": text})

    async def _read(self, receive) -> bytes:
        length, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return b""
            length, more = length + len(message["body"]), message["more_body"]
        self.bodies.append(length)
        return str(length).encode()


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[int, Echo]]:
    """The protocol with small limits, around the echo."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(options.VARIABLE, "")
        ServingOptions(LIMITS).export()
        shared_counters.cache_clear()
        patch.setattr(http_protocol, "SEND_SECONDS", 0.3)
        patch.setattr(options, "UPLOADS", (UploadLimit("/files", 300_000, 5),))
        echo, port = Echo(), free_port()
        config = uvicorn.Config(
            echo, port=port, http=http_protocol.LimitedHttpProtocol, ws="none", lifespan="off",
            log_level="critical", timeout_keep_alive=1,
        )  # fmt: skip
        site = uvicorn.Server(config)
        thread = threading.Thread(target=site.run)
        thread.start()
        while not site.started:
            time.sleep(0.01)
        yield port, echo
        site.should_exit = True
        thread.join()
    options.serving_options.cache_clear()
    shared_counters.cache_clear()


@pytest.fixture
def echo(server) -> Echo:
    server[1].bodies.clear()
    server[1].headers.clear()
    wait_for(lambda: shared_counters().total(CONNECTIONS) == 0)
    return server[1]


@pytest.fixture
def connect(server, echo) -> Iterator[Callable[[], socket.socket]]:
    with contextlib.ExitStack() as stack:

        def open_() -> socket.socket:
            one = socket.create_connection(("127.0.0.1", server[0]), timeout=PATIENCE)
            stack.callback(one.close)
            return one

        yield open_


def wait_for(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def read_all(client: socket.socket) -> bytes:
    """All that comes until the server ends the connection; a reset is an end, too."""
    text = b""
    with contextlib.suppress(ConnectionError):
        while part := client.recv(65536):
            text += part
    return text


def read_answer(client: socket.socket) -> bytes:
    """One answer with a length, on a connection that stays open."""
    text = b""
    while b"\r\n\r\n" not in text:
        text += client.recv(65536)
    head, _, body = text.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += client.recv(65536)
    return head + b"\r\n\r\n" + body


def drip(client: socket.socket, text: bytes, begun: float) -> tuple[float, bytes]:
    """Send a few bytes at a time for ever; seconds from `begun` to the end, and the answer."""
    answer = b""
    client.settimeout(0.05)
    while time.monotonic() - begun < PATIENCE:
        with contextlib.suppress(TimeoutError):
            try:
                client.send(text)
                part = client.recv(65536)
            except ConnectionError:
                break
            if not part:
                break
            answer += part
    return time.monotonic() - begun, answer


# Headers.


def test_slow_headers_are_cut_off(connect, echo):
    begun, client = time.monotonic(), connect()
    client.send(b"GET / HTTP/1.1\r\n")
    seconds, answer = drip(client, b"a: b\r\n", begun)
    assert LIMITS.header_seconds <= seconds < PATIENCE
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert echo.headers == []


def test_a_connection_that_says_nothing_is_closed_without_a_word(connect):
    client, begun = connect(), time.monotonic()
    assert read_all(client) == b""
    assert LIMITS.header_seconds * 0.9 <= time.monotonic() - begun < PATIENCE


def test_empty_lines_after_an_answer_do_not_hold_the_connection(connect):
    client = connect()
    client.send(GET)
    assert read_answer(client).startswith(b"HTTP/1.1 200")
    assert drip(client, b"\r\n", time.monotonic())[0] < PATIENCE


@pytest.mark.parametrize(
    "request_",
    [
        b"GET / HTTP/1.1\r\na: " + b"x" * 2100 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 400 + b"\r\n",
        b"GET /" + b"x" * 2100 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /" + b"x" * 2100,
    ],
    ids=["one long", "many short", "long address", "not complete"],
)
def test_large_headers_are_refused(connect, echo, request_):
    client = connect()
    client.send(request_)
    assert read_all(client).startswith(b"HTTP/1.1 431 ")
    assert echo.headers == []


def test_headers_within_the_limit_are_taken(connect):
    client = connect()
    client.send(b"GET / HTTP/1.1\r\na: " + b"x" * 1900 + b"\r\n\r\n")
    assert read_answer(client).startswith(b"HTTP/1.1 200")


def test_headers_without_end_are_not_read(connect, echo):
    """Of 150 MB, only what the system's own buffers hold leaves the client."""
    client, sent = connect(), 0
    with contextlib.suppress(ConnectionError, TimeoutError):
        client.send(b"GET / HTTP/1.1\r\na: ")
        while sent < 150_000_000:
            sent += client.send(b"x" * 65536)
    assert sent < 30_000_000
    assert echo.headers == []


# Bodies.


@pytest.mark.parametrize(
    ("head", "part"),
    [
        (b"Content-Length: 5000\r\n\r\n", b"x"),
        (b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    ],
    ids=["with a length", "chunked"],
)  # fmt: skip
def test_slow_bodies_are_cut_off(connect, echo, head, part):
    begun, client = time.monotonic(), connect()
    client.send(POST + head)
    seconds, answer = drip(client, part, begun)
    assert LIMITS.body_seconds <= seconds < PATIENCE
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert echo.bodies == []


def test_a_slow_body_is_cut_off_though_its_answer_is_sent(connect):
    client = connect()
    client.send(b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n")
    assert drip(client, b"x", time.monotonic())[0] < PATIENCE


def test_a_body_that_announces_too_much_is_refused_before_it_comes(connect, echo):
    client = connect()
    client.send(POST + b"Content-Length: 100001\r\n\r\n")
    assert read_all(client).startswith(b"HTTP/1.1 413 ")
    assert echo.headers == []


@pytest.mark.parametrize("chunk", [b"x" * 60_000, b"x"], ids=["large chunks", "small chunks"])
def test_a_chunked_body_without_end_is_refused(connect, echo, chunk):
    client = connect()
    client.send(POST + b"Transfer-Encoding: chunked\r\n\r\n")
    many = b"%x\r\n%s\r\n" % (len(chunk), chunk) * max(1, 30_000 // len(chunk))
    with contextlib.suppress(ConnectionError):
        for _ in range(4):
            client.send(many)
    assert read_all(client).startswith(b"HTTP/1.1 413 ")
    assert echo.bodies == []


@pytest.mark.parametrize("length", [0, 100_000])
def test_bodies_within_the_limit_are_taken(connect, echo, length):
    client, body = connect(), b"x" * length
    client.send(POST + b"Content-Length: %d\r\n\r\n" % length + body)
    assert read_answer(client).endswith(b"\r\n\r\n%d" % length)
    chunk = b"%x\r\n%s\r\n" % (length, body) if length else b""
    client.send(POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunk + b"0\r\n\r\n")
    assert read_answer(client).endswith(b"\r\n\r\n%d" % length)
    assert echo.bodies == [length, length]


def test_an_upload_has_a_limit_of_its_own(connect):
    client = connect()
    for length, status in ((300_000, b"200"), (300_001, b"413")):
        head = b"POST /files HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length
        client.sendall(head + b"x" * (length if status == b"200" else 0))
        assert read_answer(client).startswith(b"HTTP/1.1 " + status)


def test_what_follows_a_body_is_no_header(connect, echo):
    client = connect()
    head, trailer = b"Transfer-Encoding: chunked\r\n\r\n", b"X-Forwarded-For: 1.2.3.4\r\n"
    client.send(POST + head + b"1\r\nx\r\n0\r\n" + trailer + b"\r\n")
    assert read_answer(client).startswith(b"HTTP/1.1 200")
    assert b"x-forwarded-for" not in echo.headers[0]


# Answers.


def test_an_app_that_takes_longer_than_the_limits_is_not_cut_off(connect):
    client = connect()
    client.send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
    assert read_answer(client).startswith(b"HTTP/1.1 200")


def test_a_client_that_reads_nothing_is_given_up(connect):
    before = shared_counters().total("response_not_read")
    client = connect()
    client.send(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
    wait_for(lambda: shared_counters().total("response_not_read") == before + 1)
    wait_for(lambda: shared_counters().total(CONNECTIONS) == 0)


def test_a_flood_of_requests_on_one_connection_is_ended(connect, echo):
    client = connect()
    with contextlib.suppress(ConnectionError):
        client.sendall(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n" * 2000)
    read_all(client)
    assert len(echo.headers) <= http_protocol.MAX_PIPELINED + 1


# Connections.


def test_a_connection_too_many_is_answered_at_once_and_served_later(connect):
    """Everybody connected is served meanwhile."""
    clients = [connect() for _ in range(LIMITS.max_connections)]
    for client in clients:
        client.send(GET)
        assert read_answer(client).startswith(b"HTTP/1.1 200")
    begun = time.monotonic()
    answer = read_all(connect())
    assert time.monotonic() - begun < 2
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1\r\n" in answer
    clients[0].send(GET)
    assert read_answer(clients[0]).startswith(b"HTTP/1.1 200")
    clients.pop().close()
    wait_for(lambda: shared_counters().total(CONNECTIONS) < LIMITS.max_connections)
    late = connect()
    late.send(GET)
    assert read_answer(late).startswith(b"HTTP/1.1 200")


CLAIM = """
import sys
from tiewise.web.serving.counters import Counters
counters = Counters.claim(sys.argv[1])
counters.add("connections", 3)
counters.add("connections_refused", 2)
print(counters.total("connections"), flush=True)
sys.stdin.read()
"""


def test_workers_count_together_and_one_that_died_leaves_its_counts():
    with counters_file(workers=2) as path:
        counts = Counters.open(path)
        words = [sys.executable, "-c", CLAIM, path]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        workers = [subprocess.Popen(words, **pipes) for _ in range(2)]
        assert {worker.stdout.readline().strip() for worker in workers} & {"6.0"}
        assert counts.workers() == 2
        workers[0].kill()
        workers[0].wait()
        next_ = subprocess.Popen(words, **pipes)
        assert next_.stdout.readline().strip() == "6.0"  # the dead one holds no connection
        assert counts.total("connections_refused") == 6
        for worker in (workers[1], next_):
            worker.communicate("")


@pytest.mark.parametrize(
    ("limits", "allowed", "raised"),
    [
        ((1024, 4096), 1000, 1256),
        ((1024, 1024), 768, 1024),
        ((4096, 4096), 1000, None),
        ((1024, resource.RLIM_INFINITY), 1000, 1256),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), 1000, None),
    ],
)
def test_the_limit_of_open_files_is_raised_or_kept_to(monkeypatch, limits, allowed, raised):
    """A thousand connections are more than the 1,024 files that most systems give a process."""
    calls: list[int] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: calls.append(limits[0]))
    assert options.allowed_connections(1000) == allowed
    assert calls == [raised][: raised is not None]


# The real site.


def metric(port: int, name: str) -> float:
    page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
    return next(float(line.split()[1]) for line in page.splitlines() if line.split()[0] == name)


def memory_of_workers(parent: int) -> int:
    """Bytes of memory of the processes that a process started."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    assert len(children) >= 2
    pages = [int(Path(f"/proc/{child}/statm").read_text().split()[1]) for child in children]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
def test_the_site_keeps_to_its_limits_with_several_workers(tmp_path):
    """A thousand connections in all, whichever worker has them; headers that are not kept."""
    (tmp_path / "items.csv").write_text("name\na\nb\nc\n", encoding="utf-8")
    study = create_study(tmp_path / "s", question="Which?", items=tmp_path / "items.csv")
    port = free_port()
    options = ("--workers", "2", "--no-live", "--metrics-port", str(port))
    with running(study.folder, *options) as (url, site):
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        wait_for(lambda: metric(port, "tiewise_workers") == 2, seconds=60)
        before = memory_of_workers(site.pid)
        for _ in range(3):
            with (
                socket.create_connection(address, timeout=5) as client,
                contextlib.suppress(ConnectionError),
            ):
                client.sendall(b"GET / HTTP/1.1\r\na: ")
                for _ in range(2400):
                    client.sendall(b"x" * 65536)
        assert memory_of_workers(site.pid) - before < 20_000_000
        with contextlib.ExitStack() as stack:
            clients = [
                stack.enter_context(socket.create_connection(address, timeout=5))
                for _ in range(1000)
            ]
            wait_for(lambda: metric(port, "tiewise_connections") == 1000)
            extra = stack.enter_context(socket.create_connection(address, timeout=5))
            assert read_all(extra).startswith(b"HTTP/1.1 503 ")
            clients[0].send(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
            assert read_answer(clients[0]).startswith(b"HTTP/1.1 200")
        wait_for(lambda: metric(port, "tiewise_connections") == 0)
        assert metric(port, "tiewise_connections_refused_total") == 1
        with socket.create_connection(address, timeout=5) as client:
            client.send(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
            assert read_answer(client).startswith(b"HTTP/1.1 200")
