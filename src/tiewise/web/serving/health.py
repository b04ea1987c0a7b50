"""Health of the site: whether it can keep an answer, and whether the live picture is renewed."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import datetime
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tiewise.study.connection import now
from tiewise.study.judge_store import JudgeStore
from tiewise.study.snapshot_store import SnapshotStore

FRESH_SECONDS = 1.0
"""How long a result is used again, so that asking often costs nothing."""
ANSWER_SECONDS, GIVE_UP_SECONDS = 5.0, 10.0
"""Seconds for the database to answer, and until another connection is tried."""
MAX_UNFINISHED = 3
"""Checks that may hang at a time."""
WORKER_SECONDS = 120.0
"""Seconds for the live worker to give a sign; a fit of a large study may take a minute."""


class HealthCheck(NamedTuple):
    """One thing that was looked at."""

    well: bool
    facts: dict[str, Any]


class Health(NamedTuple):
    """What was looked at, by name."""

    checks: dict[str, HealthCheck]

    @property
    def well(self) -> bool:
        """Whether all is well."""
        return all(check.well for check in self.checks.values())

    def to_dict(self) -> dict[str, Any]:
        """As `/health` shows it."""
        checks = {name: {"well": one.well, **one.facts} for name, one in self.checks.items()}
        return {"well": self.well, "checks": checks}


NO_ANSWER = Health({"database": HealthCheck(False, {"error": "no answer in time"})})


class HealthMonitor:
    """Checks one study, one check at a time, however many ask."""

    def __init__(self, store: JudgeStore, folder: Path, *, live: bool, min_free_bytes: int) -> None:
        self._snapshots, self._folder, self._live = SnapshotStore(store), folder, live
        self._min_free_bytes, self.started = min_free_bytes, now()
        self._lock = Lock()
        self._running: Future[Health] | None = None
        self._begun, self._unfinished = -FRESH_SECONDS, 0

    async def check(self) -> Health:
        """How things are, at most a second old."""
        future = asyncio.wrap_future(self._current())
        try:
            return await asyncio.wait_for(asyncio.shield(future), ANSWER_SECONDS)
        except TimeoutError:
            return NO_ANSWER

    def _current(self) -> Future[Health]:
        """The check that is under way or was just made; else a new one, in a thread of its own."""
        with self._lock:
            running, age = self._running, monotonic() - self._begun
            # One that hangs on a connection that is dead must not hide that others work.
            if running is None or age > (FRESH_SECONDS if running.done() else GIVE_UP_SECONDS):
                if running is not None and self._unfinished >= MAX_UNFINISHED:
                    return running
                running, self._begun = Future(), monotonic()
                self._running, self._unfinished = running, self._unfinished + 1
                # Not one of the threads that pages wait for, nor one that a stop waits for.
                Thread(target=self._finish, args=(running,), daemon=True).start()
            return running

    def _finish(self, running: Future[Health]) -> None:
        health = self._measure()
        with self._lock:
            self._unfinished -= 1
        running.set_result(health)

    def _measure(self) -> Health:
        checks = {"database": self._database(), "disk": self._disk()}
        if self._live:
            checks["live_worker"] = self._worker()
        return Health(checks)

    def _database(self) -> HealthCheck:
        """Whether a row can be written and committed."""
        begun = monotonic()
        try:
            self._snapshots.check_write()
        except Exception as error:
            return HealthCheck(False, {"error": type(error).__name__})
        return HealthCheck(True, {"write_seconds": round(monotonic() - begun, 4)})

    def _disk(self) -> HealthCheck:
        try:
            free = shutil.disk_usage(self._folder).free
        except OSError as error:
            return HealthCheck(False, {"error": type(error).__name__})
        return HealthCheck(free >= self._min_free_bytes, {"free_mebibytes": free // 2**20})

    def _worker(self) -> HealthCheck:
        try:
            age = worker_age(self._snapshots, self.started)
        except Exception as error:
            return HealthCheck(False, {"error": type(error).__name__})
        return HealthCheck(age <= WORKER_SECONDS, {"age_seconds": round(age, 1)})


def worker_age(snapshots: SnapshotStore, started: datetime) -> float:
    """Seconds since the live worker gave a sign, or since the site was started."""
    latest = max(snapshots.last_heartbeat() or started, started)
    return max((now() - latest).total_seconds(), 0.0)


def health_routes(monitors: Callable[[Request], Sequence[HealthMonitor]]) -> list[Route]:
    """`/health` with details, `/health/ready`, and `/health/live`, which asks nobody."""

    async def measure(request: Request) -> list[Health]:
        return list(await asyncio.gather(*(one.check() for one in monitors(request))))

    async def details(request: Request) -> Response:
        health = await measure(request)
        well = all(one.well for one in health)
        body: dict[str, Any] = {"well": well}
        if len(health) == 1:
            body = health[0].to_dict()
        else:  # which studies there are is nobody's business
            body |= {"studies": len(health), "studies_well": sum(one.well for one in health)}
        return JSONResponse(body, 200 if well else 503)

    async def ready(request: Request) -> Response:
        well = all(one.well for one in await measure(request))
        return PlainTextResponse("ready\n" if well else "not ready\n", 200 if well else 503)

    async def live(_: Request) -> Response:
        return PlainTextResponse("alive\n")

    return [
        Route("/health", details),
        Route("/health/live", live),
        Route("/health/ready", ready),
    ]
