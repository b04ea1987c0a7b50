"""Metrics in Prometheus' text format, on a port of this machine alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from threading import Lock, Thread

from tiewise.errors import InputError
from tiewise.web.serving.counters import (
    BUCKETS,
    CONNECTIONS,
    CUT_OFF,
    KINDS,
    REFUSED,
    STATUSES,
    Counters,
)

log = logging.getLogger("tiewise")

HOST = "127.0.0.1"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metrics_text(counters: Counters, ages: Mapping[str, float]) -> str:
    """All metrics; `ages` are those of the live workers, by study."""
    lines = [*_requests(counters), *_latencies(counters), *_connections(counters)]
    if ages:
        name = "tiewise_live_worker_age_seconds"
        lines += _head(name, "gauge", "Seconds since the live worker of a study gave a sign.")
        lines += [f'{name}{{study="{_label(study)}"}} {age:.3f}' for study, age in ages.items()]
    return "\n".join(lines) + "\n"


def _label(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _head(name: str, kind: str, help_: str) -> list[str]:
    return [f"# HELP {name} {help_}", f"# TYPE {name} {kind}"]


def _requests(counters: Counters) -> Iterator[str]:
    name = "tiewise_requests_total"
    yield from _head(name, "counter", "Requests answered, by kind of page and class of status.")
    for kind in KINDS:
        for status in STATUSES:
            number = counters.total(f"{kind} {status}")
            yield f'{name}{{kind="{kind}",status="{status}"}} {number:.0f}'


def _latencies(counters: Counters) -> Iterator[str]:
    name = "tiewise_request_seconds"
    yield from _head(name, "histogram", "Seconds from a request's headers to its answer's end.")
    for kind in KINDS:
        numbers = [counters.total(f"{kind} {bucket}") for bucket in BUCKETS]
        for bucket, number in zip(BUCKETS, accumulate(numbers), strict=True):
            end = "+Inf" if bucket == BUCKETS[-1] else f"{bucket:g}"
            yield f'{name}_bucket{{kind="{kind}",le="{end}"}} {number:.0f}'
        yield f'{name}_sum{{kind="{kind}"}} {counters.total(f"{kind} seconds"):.6f}'
        yield f'{name}_count{{kind="{kind}"}} {sum(numbers):.0f}'


def _connections(counters: Counters) -> Iterator[str]:
    yield from _head("tiewise_workers", "gauge", "Processes that answer requests.")
    yield f"tiewise_workers {counters.workers()}"
    yield from _head("tiewise_connections", "gauge", "Open connections.")
    yield f"tiewise_connections {counters.total(CONNECTIONS):.0f}"
    name = "tiewise_connections_refused_total"
    yield from _head(name, "counter", "Connections beyond the limit.")
    yield f"{name} {counters.total(REFUSED):.0f}"
    name = "tiewise_connections_cut_off_total"
    yield from _head(name, "counter", "Connections ended before an answer, by reason.")
    for reason in CUT_OFF:
        yield f'{name}{{reason="{reason}"}} {counters.total(reason):.0f}'


def start_metrics(
    port: int, counters: Counters, ages: Callable[[], Mapping[str, float]]
) -> ThreadingHTTPServer:
    """Answer `/metrics` on a port, in a thread, until `shutdown` is called."""
    handler = _handler(counters, _one_at_a_time(ages))
    try:
        server = ThreadingHTTPServer((HOST, port), handler)
    except OSError as error:
        raise InputError(
            f"cannot listen on {HOST} port {port} ({error.strerror}); choose with metrics_port="
        ) from None
    server.daemon_threads = True
    Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
    return server


def _one_at_a_time(ages: Callable[[], Mapping[str, float]]) -> Callable[[], Mapping[str, float]]:
    """The ages, or none while the database does not answer."""
    lock = Lock()

    def read() -> Mapping[str, float]:
        if not lock.acquire(blocking=False):
            return {}
        try:
            return ages()
        except Exception as error:
            log.warning("The live worker's age is not known: %s", error)
            return {}
        finally:
            lock.release()

    return read


def _handler(
    counters: Counters, ages: Callable[[], Mapping[str, float]]
) -> type[BaseHTTPRequestHandler]:
    class MetricsHandler(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            """Answer one request."""
            if self.path != "/metrics":
                self.send_error(404)
                return
            body = metrics_text(counters, ages()).encode()
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: there is no log of who asks."""

    return MetricsHandler
