"""The processes that serve the site: uvicorn and its workers, their counts, metrics and log."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from tiewise.errors import InputError
from tiewise.study.connection import now
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study
from tiewise.web.multi_study import study_database
from tiewise.web.serving.counters import Counters, counters_file, shared_counters
from tiewise.web.serving.health import worker_age
from tiewise.web.serving.log_format import LOG_FORMATS, VARIABLE, logging_config, set_up_logging
from tiewise.web.serving.options import ServingOptions, allowed_connections
from tiewise.web.serving.startup import NOTE

PROTOCOL = "tiewise.web.serving.rolling_restart:DrainingHttpProtocol"
STOP_SECONDS = 10
STARTUP_FAILURE = 3
"""What uvicorn ends with where the site could not be started."""


def run_workers(
    host: str, port: int, *, workers: int, behind_proxy: bool, log_format: str, app: str
) -> None:
    """Answer requests until a signal says to stop."""
    if sys.platform == "win32" and workers > 1:
        raise InputError("several workers (workers=) need Linux or macOS; leave it out")
    import uvicorn

    from tiewise.web.serving.rolling_restart import READY_SECONDS, RollingSupervisor

    config = uvicorn.Config(
        app, factory=True, host=host, port=port, http=PROTOCOL, ws="none", workers=workers,
        proxy_headers=behind_proxy, log_config=logging_config(log_format), access_log=False,
        log_level="warning", server_header=False, timeout_graceful_shutdown=STOP_SECONDS,
        timeout_worker_healthcheck=READY_SECONDS, lifespan="on",
    )  # fmt: skip
    with suppress(KeyboardInterrupt):
        # Listen at once: who comes while the site starts waits for it, and is not sent away.
        listener = config.bind_socket()
        listener.listen(config.backlog)
        if workers > 1:
            RollingSupervisor(config, sockets=[listener]).run()
            return
        server = uvicorn.Server(config)
        server.run(sockets=[listener])
        if not server.started:
            sys.exit(STARTUP_FAILURE)


def set_up_log(log_format: str, *, sign_in_link: bool) -> bool:
    """Whether what is to be read goes to the log; refused where a secret would."""
    if log_format not in LOG_FORMATS:
        raise InputError(f"log_format={log_format!r} is none; choose from {', '.join(LOG_FORMATS)}")
    if log_format == "json" and sign_in_link:
        raise InputError(
            "sign_in_link=True would write a secret to the log; make the link with `tiewise "
            "invite-researcher`, or leave log_format= out"
        )
    os.environ[VARIABLE] = log_format
    if log_format == "json":
        set_up_logging(log_format)
    return log_format == "json"


def within_open_files(options: ServingOptions) -> tuple[ServingOptions, list[str]]:
    """The options with as many connections as the system allows, and a note where it is fewer."""
    wished = options.limits.max_connections
    allowed = allowed_connections(wished)
    if allowed == wished:
        return options, []
    note = (
        f"{NOTE} this system allows too few open files for {wished} connections at once, so "
        f"{allowed} are taken; raise that limit (ulimit -n, or LimitNOFILE= of systemd)."
    )
    return options._replace(limits=options.limits._replace(max_connections=allowed)), [note]


@contextmanager
def exported(options: ServingOptions, workers: int) -> Iterator[Counters]:
    """Export the options, with a file in which several workers share their counts."""
    shared_counters.cache_clear()
    if workers == 1:
        options.export()
        yield shared_counters()
        return
    with counters_file(workers) as path:
        options._replace(counters=path).export()
        yield Counters.open(path)


@contextmanager
def metrics(
    port: int | None, counters: Counters, ages: Callable[[], Mapping[str, float]]
) -> Iterator[None]:
    """Answer on the port for metrics, where there is one."""
    if port is None:
        yield
        return
    # Imported late: it brings a server of its own.
    from tiewise.web.serving.metrics import start_metrics

    server = start_metrics(port, counters, ages)
    try:
        yield
    finally:
        server.shutdown()


def worker_ages(
    names: Callable[[], Iterable[str]], open_study: Callable[[str], Study], database: str | None
) -> Callable[[], Mapping[str, float]]:
    """Asks how long ago the live worker of each study gave a sign; `names` are those there now."""
    started, stores, titles = now(), dict[str, SnapshotStore](), dict[str, str]()

    def ages() -> Mapping[str, float]:
        there = list(names())
        for name in there:
            if name not in stores:
                with suppress(InputError):  # one that cannot be opened has no worker
                    study = open_study(name)
                    stores[name] = SnapshotStore(study.store(study_database(name, database)))
                    titles[name] = name or study.folder.resolve().name
        return {titles[name]: worker_age(stores[name], started) for name in there if name in stores}

    return ages
