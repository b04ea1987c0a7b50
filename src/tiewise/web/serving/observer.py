"""Counts and times every request, and logs it where the log is JSON."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from time import perf_counter
from typing import Any

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tiewise.web.serving.counters import Counters, request_kind

log = logging.getLogger("tiewise.requests")


class RequestObserver:
    """An app around the app of the site.

    It knows requests by their route, such as `/j/{secret}`: never by path, query or sender.
    """

    def __init__(self, app: Starlette, counters: Counters, *, logs: bool = False) -> None:
        self._app: ASGIApp = app
        self._counters, self._logs = counters, logs
        self._routes = dict(_paths(app.routes))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, and look at the answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = perf_counter(), 0

        async def observed_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, observed_send)
        finally:
            self._record(scope, status or 500, perf_counter() - begun)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = self._routes.get(id(scope.get("endpoint")))
        self._counters.record(request_kind(route), status, seconds)
        if self._logs:
            fields = {
                "method": scope["method"][:16], "route": route, "status": status,
                "milliseconds": round(1000 * seconds, 1),
            }  # fmt: skip
            log.info("request", extra={"fields": fields})


def _paths(routes: list[BaseRoute]) -> Iterator[tuple[int, str]]:
    """The path of each endpoint, those of mounted apps included."""
    for route in routes:
        if isinstance(route, Route):
            yield id(route.endpoint), route.path
        elif isinstance(route, Mount):
            inner: Any = route.routes
            yield from _paths(inner)
