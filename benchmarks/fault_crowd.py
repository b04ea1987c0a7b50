"""Judges who do not give up: an answer that was not acknowledged is sent again, with its token."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

# benchmarks.site puts the folder of the tests on the path.
import benchmarks.site  # noqa: F401
from support.crowd_client import OUTCOMES, Answer, Browser, Form, sign_up

LONGEST_REQUEST_S = 15.0
"""Seconds after which a judge does not wait any longer, and tries again."""
LAST_CHANCE_S = 30.0
"""Seconds at the end in which answers under way may still be acknowledged."""
FAILURES = (OSError, asyncio.IncompleteReadError, TimeoutError)


class Sent(NamedTuple):
    """A request: when it was done with, how long it took, and what was wrong; empty if nothing."""

    at: float
    seconds: float
    error: str


class Acknowledged(NamedTuple):
    """An answer that the site said it has."""

    at: float
    offer: int
    outcome: str


@dataclass
class CrowdRecord:
    """What judges sent, and what was acknowledged."""

    sent: list[Sent] = field(default_factory=list)
    acknowledged: list[Acknowledged] = field(default_factory=list)


class PatientJudge:
    """A judge who reads a pair, thinks, and sends the answer until it is acknowledged."""

    def __init__(self, port: int, record: CrowdRecord, pause: float) -> None:
        self._browser, self._record, self._pause = Browser("127.0.0.1", port), record, pause
        self._rng = random.Random()

    async def sign_up(self) -> None:
        """From the first page to the first pair."""
        await sign_up(self._browser)

    async def judge(self, until: float) -> None:
        """Answer pairs until the time is up."""
        await asyncio.sleep(self._rng.uniform(0, self._pause))
        while perf_counter() < until:
            page = await self._insist("GET", "/pair", None, 200, until)
            if page is None:
                break
            await asyncio.sleep(self._pause * self._rng.uniform(0.5, 1.5))
            outcome = self._rng.choice(OUTCOMES)
            fields = page.form("/answer") | {"outcome": outcome}
            last = until + LAST_CHANCE_S
            if await self._insist("POST", "/answer", fields, 303, last) is not None:
                offer = int(str(fields["offer"]))
                self._record.acknowledged.append(Acknowledged(perf_counter(), offer, outcome))
        self._browser.close()

    async def _insist(
        self, method: str, path: str, form: Form | None, status: int, until: float
    ) -> Answer | None:
        """The answer with this status, asked for again and again; None where time ran out."""
        while perf_counter() < until:
            answer = await self._ask(method, path, form, status)
            if answer is not None:
                return answer
            await asyncio.sleep(self._rng.uniform(0.5, 1.5))
        return None

    async def _ask(self, method: str, path: str, form: Form | None, status: int) -> Answer | None:
        begun, answer, error = perf_counter(), None, ""
        try:
            answer = await asyncio.wait_for(self._send(method, path, form), LONGEST_REQUEST_S)
            if answer.status != status:
                answer, error = None, f"{method} {path} {answer.status}"
        except FAILURES as failure:
            self._browser.close()
            error = f"{method} {path} {type(failure).__name__}"
        self._record.sent.append(Sent(perf_counter(), perf_counter() - begun, error))
        return answer

    async def _send(self, method: str, path: str, form: Form | None) -> Answer:
        """As browsers do: where a connection that was kept open is closed, a new one is tried."""
        kept = self._browser.stream is not None
        try:
            return await self._browser.ask(method, path, form)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            self._browser.close()
            if not kept or getattr(error, "partial", b""):
                raise
            return await self._browser.ask(method, path, form)


async def patient_crowd(
    port: int,
    record: CrowdRecord,
    *,
    judges: int,
    pause: float,
    seconds: float,
    begun: Callable[[float], object],
) -> None:
    """So many patient judges at once for so long; `begun` is called when all have signed up."""
    crowd = [PatientJudge(port, record, pause) for _ in range(judges)]
    for k in range(0, judges, 10):
        await asyncio.gather(*(judge.sign_up() for judge in crowd[k : k + 10]))
    start = perf_counter()
    begun(start)
    await asyncio.gather(*(judge.judge(start + seconds) for judge in crowd))
