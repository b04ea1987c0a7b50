"""Starts the site of a study, or of several; what `tiewise serve` does."""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
from collections.abc import Callable, Mapping
from multiprocessing import parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tiewise.errors import InputError
from tiewise.study.backups.schedule import BackupSchedule
from tiewise.study.judge_store import JudgeStore
from tiewise.study.study import Study
from tiewise.web.multi_study import combine, find_studies, still_there, study_database
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
    worker_ages,
)
from tiewise.web.serving.startup import (
    can_sign_in,
    check_first,
    first_sign_in_link,
    language_lines,
    shared_last,
    site_address,
    startup_lines,
)

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from tiewise.web.serving.observer import RequestObserver

log = logging.getLogger("tiewise")

SITE_VARIABLE = "TIEWISE_SITE"
LOCAL = ("localhost", "127.0.0.1", "[::1]")


def serve(
    *folders: str | Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    database: str | None = None,
    workers: int = 1,
    public_url: str | None = None,
    behind_proxy: bool = False,
    limits: RateLimits | None = None,
    live: bool = True,
    sign_in_link: bool = False,
    http_limits: HttpLimits | None = None,
    min_free_bytes: int = ServingOptions().min_free_bytes,
    log_format: str = "plain",
    metrics_port: int | None = None,
    backups: BackupSchedule | None = None,
    write_line: Callable[[str], None] = print,
) -> None:
    """Run the site of the study in a folder, or of several, until it is stopped.

    `write_line` gets the lines about where it is, and how a researcher signs in where nobody can
    yet or `sign_in_link` is true. `public_url` is where judges reach it, where that is not the
    machine itself. Headers of a proxy are trusted only with `behind_proxy`, and only from this
    machine or the addresses in the environment variable FORWARDED_ALLOW_IPS. With several studies,
    `database` holds {study}. docs/serving.md has the rest: limits, health, logs and metrics; for
    `backups` see docs/backups.md.
    """
    one_arena()  # before anything starts threads, which keep the arenas that they have
    if backups is not None:
        backups.export()
    if set_up_log(log_format, sign_in_link=sign_in_link):
        write_line = log.info
    url, paths = public_address(public_url), find_studies(folders)
    lines = []
    for name, path in paths.items():
        lines += check_first(path, study_database(name, database), write_line)
    studies = {
        name: _open_study(path, study_database(name, database)) for name, path in paths.items()
    }
    check_port(host, port)
    options = ServingOptions(
        http_limits or HttpLimits(), log_format=log_format, min_free_bytes=min_free_bytes
    )
    options, notes = within_open_files(options)
    lines += notes
    for name, study in studies.items():
        lines += language_lines(study, study_database(name, database))
    for name, study in studies.items():
        read_key(study.folder)
        sign_in = _sign_in_words(
            study, site_address(host, port, url, name), study_database(name, database),
            always=sign_in_link, shown=log_format == "plain",
        )  # fmt: skip
        lines += startup_lines(
            study, host=host, port=port, public_url=url, name=name, behind_proxy=behind_proxy,
            sign_in=sign_in,
        )  # fmt: skip
    for line in shared_last(lines):
        write_line(line)
    _export_site(paths, database=database, url=url, limits=limits, live=live)
    ages = worker_ages(studies, database) if live else dict
    with exported(options, workers) as counters, metrics(metrics_port, counters, ages):
        run_workers(host, port, workers=workers, behind_proxy=behind_proxy, log_format=log_format)


def _export_site(paths: Mapping[str, Path], **options: Any) -> None:
    """Tell the workers what to open: they share nothing with this process but the environment."""
    folders = {name: str(path) for name, path in paths.items()}
    os.environ[SITE_VARIABLE] = json.dumps({"folders": folders, **options})


def _sign_in_words(
    study: Study, url: str, database: str | None, *, always: bool, shown: bool
) -> str:
    """How a researcher signs in, where nobody can yet or `always`; a secret only if `shown`."""
    if shown:
        link = first_sign_in_link(study, url, database, always=always)
        return f"You sign in, once, with {link}" if link else ""
    if can_sign_in(study, database):
        return ""
    return f"Nobody can sign in yet: tiewise invite-researcher {study.folder} --name NAME"


def app_from_environment() -> RequestObserver:
    """The site that `serve` started, in one of its workers."""
    return observed_app(_site_from_environment)


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


def _site_from_environment() -> Starlette:
    options: dict[str, Any] = json.loads(os.environ[SITE_VARIABLE])
    limits = (
        RateLimits(*(RateLimit(*limit) for limit in options["limits"]))
        if options["limits"]
        else None
    )
    return _open_named(
        still_there(options["folders"]), database=options["database"], public_url=options["url"],
        limits=limits, live=options["live"],
    )  # fmt: skip


def open_site(
    *folders: str | Path,
    database: str | None = None,
    public_url: str = "",
    limits: RateLimits | None = None,
    live: bool = False,
) -> Starlette:
    """The site of the study in a folder, or of several, to be run by any ASGI server.

    `live` keeps estimates up to date while it runs.
    """
    return _open_named(
        find_studies(folders), database=database, public_url=public_url, limits=limits, live=live
    )


def _open_named(
    paths: Mapping[str, str | Path], *, database: str | None, public_url: str, **options: Any
) -> Starlette:
    if "" in paths:
        return open_study_app(paths[""], database=database, public_url=public_url, **options)
    sites = {
        name: open_study_app(
            path, database=study_database(name, database), prefix=f"/{name}",
            public_url=f"{public_url}/{name}" if public_url else "", **options,
        )
        for name, path in paths.items()
    }  # fmt: skip
    return combine(sites, prefix=urlsplit(public_url).path.rstrip("/"))


def open_study_app(
    folder: str | Path, *, database: str | None, public_url: str, prefix: str = "", **options: Any
) -> Starlette:
    """The site of one study; refused where answers would change their meaning."""
    from tiewise.web.app import make_app

    study = Study.open(folder)
    store = study.store(database)
    try:
        _check_meaning(study, store)
    except InputError:
        store.close()
        raise
    host = urlsplit(public_url).hostname
    return make_app(
        study, store, secret=read_key(study.folder), public_url=public_url,
        https=public_url.startswith("https:"), hosts=[host, *LOCAL] if host else (),
        prefix=prefix, **options,
    )  # fmt: skip


def _open_study(folder: str | Path, database: str | None) -> Study:
    """The study, its database up to date; refused where answers would change their meaning."""
    study = Study.open(folder)
    store = study.store(database)
    try:
        _check_meaning(study, store)
    finally:
        store.close()
    return study


def _check_meaning(study: Study, store: JudgeStore) -> None:
    """Refuse settings that change the meaning of answers already given."""
    changed = study.changed_meaning(store)
    if changed:
        raise InputError(f"{study.folder / 'study.toml'}: {changed[0]}")


def read_key(folder: Path) -> str:
    """The key that signs cookies: kept in the study's folder for its owner alone, made once."""
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
