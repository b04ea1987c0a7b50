"""The site to fuzz as a server process of its own: requests go over sockets, byte by byte."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from support.fuzz_requests import FuzzRequest
from support.fuzz_site import GONE, HOST, NO_LIMITS, FuzzAnswer, FuzzCaller, FuzzSite, harmless
from support.site import free_port
from tiewise.web.server import serve

WAIT = 5.0
"""Seconds for an answer; a request whose length is a lie may get none for longer."""
FRAMING = ("content-length", "transfer-encoding", "expect", "connection", "upgrade")


class ServerSite(FuzzSite):
    """A site whose requests are answered by `tiewise serve`."""

    def __init__(self, folder: Path) -> None:
        self._port = free_port()
        place = {"PYTHONPATH": str(Path(__file__).parents[1])}
        self._server = subprocess.Popen(
            [sys.executable, "-m", "support.fuzz_server", str(folder), str(self._port)],
            env=os.environ | place, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        super().__init__(folder)
        self._wait()

    def _wait(self) -> None:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
                return
            except OSError:
                assert self._server.poll() is None, "the server ended"
                time.sleep(0.1)
        raise AssertionError("the server never listened")

    def close(self) -> None:
        """End the server, and close what is open here."""
        self._server.terminate()
        self._server.wait(30)
        super().close()

    def answer(self, request: FuzzRequest, caller: FuzzCaller) -> FuzzAnswer:
        """What the server answers; nothing where the request says that there is more to come."""
        assert self._server.poll() is None, "the server ended"
        with socket.create_connection(("127.0.0.1", self._port), WAIT) as connection:
            try:
                connection.sendall(_raw(request, caller))
                if not request.pieces:
                    return GONE
                reply = http.client.HTTPResponse(connection, method=request.method)
                reply.begin()
                content = reply.read()
            except (OSError, http.client.HTTPException):
                if any(name in FRAMING for name, _ in request.headers):
                    return GONE
                raise
        headers = tuple((k.encode("latin-1"), v.encode("latin-1")) for k, v in reply.getheaders())
        ours = reply.getheader("content-security-policy") is not None
        return FuzzAnswer(reply.status, headers, content, by_server=not ours)


def _raw(request: FuzzRequest, caller: FuzzCaller) -> bytes:
    own = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request.headers]
    names = {name for name, _ in own}
    content = caller.fill(request.body)
    default = [(b"host", HOST.encode()), (b"connection", b"close"), *caller.headers]
    if content:
        more = 1 if request.pieces == 0 else 0
        default.append((b"content-length", str(len(content) + more).encode()))
    headers = [pair for pair in default if pair[0] not in names] + own
    target = request.path + (f"?{request.query}" if request.query else "")
    lines = [b"%s %s HTTP/1.1" % (request.method.encode(), target.encode("latin-1"))]
    lines += [b"%s: %s" % pair for pair in headers]
    return caller.fill(b"\r\n".join(lines)) + b"\r\n\r\n" + content


if __name__ == "__main__":
    with harmless():
        serve(sys.argv[1], port=int(sys.argv[2]), limits=NO_LIMITS, live=False)
