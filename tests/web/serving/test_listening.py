"""When the site begins to listen."""

from __future__ import annotations

import socket
from typing import Any

import pytest
import uvicorn

from tiewise.web.server import APP
from tiewise.web.serving import process, rolling_restart


class StartingServer:
    """In place of uvicorn's server or supervisor: not ready yet, while somebody comes."""

    started = True
    connected = 0

    def __init__(self, config: Any, sockets: list[socket.socket] | None = None) -> None:
        self.sockets = sockets

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        for listener in sockets or self.sockets or []:
            socket.create_connection(listener.getsockname(), timeout=2).close()
            type(self).connected += 1
            listener.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_who_comes_while_the_site_starts_is_not_sent_away(monkeypatch, workers):
    monkeypatch.setattr(uvicorn, "Server", StartingServer)
    monkeypatch.setattr(rolling_restart, "RollingSupervisor", StartingServer)
    monkeypatch.setattr(StartingServer, "connected", 0)
    process.run_workers(
        "127.0.0.1", 0, workers=workers, behind_proxy=False, log_format="plain", app=APP
    )  # fmt: skip
    assert StartingServer.connected == 1
