"""Replacing workers one after the other, while the site goes on and no request is lost.

`kill -HUP` of the main process starts a new worker for each, which reads the studies' settings
anew, and ends the old one once the new one answers.
"""

from __future__ import annotations

import os
import signal
from threading import Event
from typing import TYPE_CHECKING

from uvicorn.supervisors.multiprocess import Multiprocess

from tiewise.web.serving.http_protocol import LimitedHttpProtocol

if TYPE_CHECKING:
    from types import FrameType

READY_SECONDS = 60
"""Seconds for a new worker to answer; after that the old ones stay."""

replaced = Event()
"""Set in a worker that is about to be replaced."""


class RollingSupervisor(Multiprocess):
    """Uvicorn's supervisor of workers, which tells those that it replaces."""

    def handle_hup(self) -> None:
        """Replace every worker."""
        for process in self.processes:
            if process.pid is not None and process.process.is_alive():
                os.kill(process.pid, signal.SIGUSR1)
        super().handle_hup()


def expect_replacement() -> None:
    """In a worker: have the signal of `RollingSupervisor` understood."""
    if hasattr(signal, "SIGUSR1"):
        signal.signal(signal.SIGUSR1, _note)


def _note(signal_number: int, frame: FrameType | None) -> None:
    replaced.set()


class DrainingHttpProtocol(LimitedHttpProtocol):
    """A connection that is not cut when its worker is replaced.

    Its client may be sending at that very moment. It is told with the next answer to connect anew,
    and if it sends nothing, the connection ends when it would have ended anyway.
    """

    def on_headers_complete(self) -> None:
        """Start the request, the last on this connection where the worker is replaced."""
        super().on_headers_complete()
        if replaced.is_set():
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """End after the answer that is under way, or the one that may yet be asked for."""
        if replaced.is_set() and self._is_idle():
            self.loop.call_later(self.timeout_keep_alive, self._close_if_idle)
        else:
            super().shutdown()

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _close_if_idle(self) -> None:
        if self._is_idle():
            self.transport.close()
