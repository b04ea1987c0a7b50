"""A study that cannot go on: a page for whoever asks, and one line in the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tiewise.study.outage import FileIdentity, StudyGone, may_be_stored, outage_reason

log = logging.getLogger("tiewise")

LOG_SECONDS = 60.0
"""An outage is told in the log at once, and then as often as this."""
RETRY_SECONDS = 60
STILL_SERVED = ("/static/", "/health")


class OutageMonitor:
    """Whether a study is there, and what its database suffers from."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = folder.resolve().name
        self._folder, self._clock, self._lock = FileIdentity.of(folder.resolve()), clock, Lock()
        self._stopped = False
        self._logged, self._failures = -LOG_SECONDS, 0

    def is_there(self) -> bool:
        """Whether the study goes on; once its folder is gone it does not, until it is restarted."""
        if not self._stopped:
            try:
                self._folder.check()
            except StudyGone as error:
                self._stop(error)
        return not self._stopped

    def report(self, error: Exception) -> None:
        """Tell the log of an outage, or stop where the study is gone."""
        if isinstance(error, StudyGone):
            self._stop(error)
        elif not self._stopped:
            self._log_failure(outage_reason(error) or f"{type(error).__name__}: {error}")

    def _stop(self, error: StudyGone) -> None:
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
        log.error(
            "Study %s stops: %s. Put it back and start the site again.",
            self.name, str(error),
        )  # fmt: skip

    def _log_failure(self, reason: str) -> None:
        with self._lock:
            self._failures += 1
            if self._clock() - self._logged < LOG_SECONDS:
                return
            times, self._failures = self._failures, 0
            self._logged = self._clock()
        log.error("Study %s cannot use its database: %s (failures: %d)", self.name, reason, times)


ErrorPage = Callable[[Request, int, str], Response]
"""Makes the page of an error from its status and its detail."""


class StopWhenGone:
    """Middleware that answers every request with a page once the study is gone."""

    def __init__(self, app: ASGIApp, monitor: OutageMonitor, page: ErrorPage) -> None:
        self._app, self._monitor, self._page = app, monitor, page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on while the study is there; its styles and its health even then."""
        if scope["type"] == "http" and not self._monitor.is_there():
            path = scope["path"].removeprefix(scope.get("root_path", ""))
            if not path.startswith(STILL_SERVED):
                page = self._page(Request(scope, receive), 503, "stopped")
                await page(scope, receive, send)
                return
        await self._app(scope, receive, send)


def outage_page(request: Request, error: Exception, page: ErrorPage) -> Response:
    """The page that answers a request when the study or its database failed."""
    monitor: OutageMonitor = request.app.state.site.outages
    if not isinstance(error, StudyGone) and outage_reason(error) is None:
        raise error  # a fault of ours
    monitor.report(error)
    response = page(request, 503, _detail(request, error))
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


def _detail(request: Request, error: Exception) -> str:
    if isinstance(error, StudyGone):
        return "stopped"
    if request.method != "POST":
        return ""
    if may_be_stored(error):
        return "unsure"
    path: str = request.scope["path"]
    return "answer" if path.endswith("/answer") else "form"
