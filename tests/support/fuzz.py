"""The fuzzer: hostile requests in rounds, what came of them, and the shrunk ones that failed."""

from __future__ import annotations

import shutil
import tempfile
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import NamedTuple

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from support.fuzz_host import HostFuzzSite
from support.fuzz_probes import shuffled_probes, smaller, sweep
from support.fuzz_requests import FuzzCatalogue, FuzzRequest, requests
from support.fuzz_site import FuzzAnswer, FuzzSite, fault, harmless, make_studies

ROUND, PROBES = 100, 200
"""Requests that Hypothesis draws before it begins anew, and probes after them."""
ROUNDS_OF_A_SITE = 6
"""Rounds before the studies are copied anew: they fill with what the requests made."""

HOSTED = "hosted"
KINDS = ("", "wards", "words", HOSTED)
"""Studies together, each by itself, and on a site of `tiewise host`: paths and cookies differ."""

Send = Callable[[FuzzRequest], FuzzAnswer]


class FuzzFault(AssertionError):
    """An answer that no request may get."""


class FuzzFailure(NamedTuple):
    """What went wrong, the shrunk request, and what was sent before it."""

    error: str
    request: FuzzRequest
    before: tuple[FuzzRequest, ...]
    seed: int

    def __str__(self) -> str:
        before = "\n".join(f"    {one.method} {one.path}" for one in self.before)
        return f"{self.error}\n{self.request}\nseed {self.seed}; before it were sent\n{before}"


@dataclass
class FuzzTally:
    """What came of all requests so far."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Requests by caller and status; 0 where the caller went away."""
    slowest: float = 0.0
    failures: list[FuzzFailure] = field(default_factory=list)
    faults: int = 0

    @property
    def sent(self) -> int:
        """Requests that were sent."""
        return self.answers.total()


class FuzzRecorder:
    """Sends requests, looks at the answers, and keeps count."""

    def __init__(self, send: Send, tally: FuzzTally) -> None:
        self._send, self._tally = send, tally
        self._last: deque[FuzzRequest] = deque(maxlen=6)
        self.failed: dict[str, tuple[str, FuzzRequest]] = {}
        """The last request for each kind of failure; Hypothesis tries the smallest one last."""

    def check(self, request: FuzzRequest) -> FuzzAnswer:
        """The answer to a request; raised is what must not be."""
        begun = time.perf_counter()
        try:
            answer = self._send(request)
            problem = fault(request, answer)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            kind = f"{type(error).__name__} at {Path(where.filename).name}, line {where.lineno}"
            self._fail(request, kind, str(error), 500)
            raise
        self._tally.slowest = max(self._tally.slowest, time.perf_counter() - begun)
        if problem:
            kind, _, detail = problem.partition(": ")
            self._fail(request, kind, detail, answer.status)
            raise FuzzFault(problem)
        self._tally.answers[request.caller, answer.status] += 1
        self._last.append(request)
        return answer

    def _fail(self, request: FuzzRequest, kind: str, detail: str, status: int) -> None:
        self._tally.answers[request.caller, status] += 1
        self._tally.faults += 1
        self.failed[kind] = (f"{kind}: {detail[:300]}", request)

    def failures(self, number: int) -> Iterator[FuzzFailure]:
        """What failed, each once."""
        for error, request in self.failed.values():
            yield FuzzFailure(error, request, tuple(self._last), number)


def fuzz_round(
    strategy: SearchStrategy[FuzzRequest], send: Send, tally: FuzzTally, *, number: int, size: int
) -> None:
    """A round of requests; failures are shrunk and added to the tally."""
    recorder = FuzzRecorder(send, tally)

    @seed(number)
    @settings(
        max_examples=size, database=None, deadline=None, print_blob=False,
        phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(request=strategy)
    def check(request: FuzzRequest) -> None:
        recorder.check(request)

    try:
        check()
    except Exception:
        if not recorder.failed:
            raise
        tally.failures += recorder.failures(number)


def send_probes(
    probes: Iterable[FuzzRequest], send: Send, tally: FuzzTally, *, end: float = float("inf")
) -> None:
    """Send requests one by one until `end`; those that fail are made smaller where they can be."""
    for request in probes:
        if time.monotonic() >= end:
            return
        recorder = FuzzRecorder(send, tally)
        if not _fails(recorder, request):
            continue
        next((one for one in smaller(request) if _fails(recorder, one)), None)
        tally.failures += recorder.failures(0)


def _fails(recorder: FuzzRecorder, request: FuzzRequest) -> bool:
    try:
        recorder.check(request)
    except Exception:
        return True
    return False


def fuzz(
    *,
    first_seed: int,
    limit: int | None = None,
    seconds: float | None = None,
    kinds: Sequence[str] = KINDS,
    tally: FuzzTally | None = None,
    open_target: Callable[[Path], FuzzSite] = FuzzSite,
    report: Callable[[FuzzTally], None] = lambda _: None,
) -> FuzzTally:
    """Sweep the routes, then send drawn requests and probes: `limit` of them, or for `seconds`.

    What came of them is in `tally` at any moment. A site of `tiewise host` is always asked here.
    """
    end = time.monotonic() + (seconds if seconds is not None else float("inf"))
    tally, rng = tally or FuzzTally(), Random(first_seed)
    probes: dict[str, list[FuzzRequest]] = {}
    with tempfile.TemporaryDirectory() as place, harmless():
        template = make_studies(Path(place))
        for number in count():
            folder = Path(shutil.copytree(template, Path(place) / f"{number}" / "studies"))
            name = kinds[number % len(kinds)]
            site = HostFuzzSite(folder) if name == HOSTED else open_target(folder / name)
            try:
                catalogue = site.catalogue()
                if name not in probes:
                    send_probes(sweep(catalogue), site.send, tally, end=end)
                left = probes.setdefault(name, []) or shuffled_probes(catalogue, rng)
                probes[name] = left[PROBES * ROUNDS_OF_A_SITE :]
                now = left[: PROBES * ROUNDS_OF_A_SITE]
                _fuzz_site(site, catalogue, tally, now, first_seed + number, limit, end)
            finally:
                site.close()
                shutil.rmtree(folder.parent)
            report(tally)
            if time.monotonic() >= end or (limit is not None and tally.sent >= limit):
                return tally
    raise AssertionError("unreachable")


def _fuzz_site(
    site: FuzzSite, catalogue: FuzzCatalogue, tally: FuzzTally, probes: list[FuzzRequest],
    number: int, limit: int | None, end: float,
) -> None:  # fmt: skip
    """Rounds on one site: each of drawn requests, then of probes."""
    strategy = requests(catalogue)
    for part in range(ROUNDS_OF_A_SITE):
        size = ROUND if limit is None else min(ROUND, limit - tally.sent)
        if time.monotonic() >= end or size <= 0:
            return
        name = number * ROUNDS_OF_A_SITE + part
        fuzz_round(strategy, site.send, tally, number=name, size=size)
        send_probes(probes[part * PROBES : (part + 1) * PROBES], site.send, tally, end=end)
