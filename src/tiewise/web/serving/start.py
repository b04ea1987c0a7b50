"""How a site is started, whether of `tiewise serve` or of `tiewise host`."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from multiprocessing import parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tiewise.errors import InputError
from tiewise.study.backups.schedule import BackupSchedule
from tiewise.web.security import RateLimit, RateLimits
from tiewise.web.serving.counters import shared_counters
from tiewise.web.serving.log_format import set_up_logging
from tiewise.web.serving.memory import MemoryRelease, freeze, one_arena
from tiewise.web.serving.options import HttpLimits, ServingOptions, serving_options
from tiewise.web.serving.process import (
    exported,
    metrics,
    run_workers,
    set_up_log,
    within_open_files,
)
from tiewise.web.serving.startup import plain_http, site_address

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from tiewise.web.serving.observer import RequestObserver

log = logging.getLogger("tiewise")

LOCAL = ("localhost", "127.0.0.1", "[::1]")
"""Names of this machine, beside that of its public address."""


@dataclass(frozen=True)
class SiteStart:
    """Where a site listens, what it takes from the network, and what it reports."""

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    public_url: str | None = None
    behind_proxy: bool = False
    sign_in_link: bool = False
    http_limits: HttpLimits | None = None
    min_free_bytes: int = ServingOptions().min_free_bytes
    log_format: str = "plain"
    metrics_port: int | None = None
    backups: BackupSchedule | None = None
    write_line: Callable[[str], None] = print

    def prepared(self) -> SiteStart:
        """Set memory, backups and the log up: before anything starts threads, which keep the
        arenas that they have. Where the log is for programs, lines go there.
        """
        one_arena()
        if self.backups is not None:
            self.backups.export()
        to_log = set_up_log(self.log_format, sign_in_link=self.sign_in_link)
        return replace(
            self, public_url=public_address(self.public_url),
            write_line=log.info if to_log else self.write_line,
        )  # fmt: skip

    @property
    def url(self) -> str:
        """The public address; empty where there is none."""
        return self.public_url or ""

    @property
    def shown(self) -> bool:
        """Whether somebody reads the lines, so that a secret may stand there."""
        return self.log_format == "plain"

    def address(self, name: str = "") -> str:
        """The address of the site, or of a study on it."""
        return site_address(self.host, self.port, self.url, name)

    def notes(self) -> list[str]:
        """What to say of a connection that others can read."""
        return plain_http(
            self.host, self.address(), behind_proxy=self.behind_proxy and not self.url
        )

    def checked_options(self) -> tuple[ServingOptions, list[str]]:
        """What the workers are told, and notes; refused where the port is taken."""
        check_port(self.host, self.port)
        return within_open_files(
            ServingOptions(
                self.http_limits or HttpLimits(), log_format=self.log_format,
                min_free_bytes=self.min_free_bytes,
            )
        )  # fmt: skip

    def run(
        self,
        options: ServingOptions,
        ages: Callable[[], Mapping[str, float]],
        lines: Iterable[str],
        *,
        app: str,
    ) -> None:
        """Write the lines, and answer requests with `app` until a signal says to stop."""
        for line in lines:
            self.write_line(line)
        with (
            exported(options, self.workers) as counters,
            metrics(self.metrics_port, counters, ages),
        ):
            run_workers(
                self.host, self.port, workers=self.workers, behind_proxy=self.behind_proxy,
                log_format=self.log_format, app=app,
            )  # fmt: skip


def observed_app(open_app: Callable[[], Starlette]) -> RequestObserver:
    """A site in one of its workers, with what every worker needs."""
    from tiewise.web.serving.observer import RequestObserver
    from tiewise.web.serving.rolling_restart import expect_replacement

    json_log = serving_options().log_format == "json"
    if json_log:
        set_up_logging("json")
    one_arena()
    MemoryRelease().start()
    expect_replacement()
    try:
        site = open_app()
    except InputError as error:
        if parent_process() is None:
            raise
        log.error("A worker could not start: %s", str(error))  # the others go on
        raise SystemExit(1) from None
    freeze()
    return RequestObserver(site, shared_counters(), logs=json_log)


def limits_from(values: Any) -> RateLimits | None:
    """Limits as they came through the environment of a worker."""
    return RateLimits(*(RateLimit(*limit) for limit in values)) if values else None


def known_hosts(public_url: str) -> tuple[str, ...]:
    """The names under which a site answers; none where every name will do."""
    name = urlsplit(public_url).hostname
    return (name, *LOCAL) if name else ()


def read_key(folder: Path) -> str:
    """The key that signs cookies: kept in a folder for its owner alone, made once."""
    path = folder / "secret"
    if not path.exists():
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.write(file, secrets.token_hex(32).encode())
        os.close(file)
    key = path.read_text(encoding="ascii", errors="replace").strip()
    if len(key) < 32:
        raise InputError(f"{path} holds no key; delete it, and a new one is made")
    return key


def check_port(host: str, port: int) -> None:
    """Refuse a port that cannot be listened on."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise InputError(
            f"cannot listen on {host} port {port} ({error.strerror}); choose with host= and port="
        ) from None


def public_address(url: str | None) -> str:
    """An address without a slash at its end; refused where it is none."""
    if not url:
        return ""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise InputError(f"public_url={url!r} is no address; write https://study.example.org")
    return url.rstrip("/")
