"""Starts the site of a study, or of several; what `tiewise serve` does."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tiewise.errors import InputError
from tiewise.study.backups.schedule import BackupSchedule
from tiewise.study.judge_store import JudgeStore
from tiewise.study.study import Study
from tiewise.web.multi_study import combine, find_studies, still_there, study_database
from tiewise.web.security import RateLimits
from tiewise.web.serving.options import HttpLimits, ServingOptions
from tiewise.web.serving.process import worker_ages
from tiewise.web.serving.start import (
    SiteStart,
    known_hosts,
    limits_from,
    observed_app,
    read_key,
)
from tiewise.web.serving.startup import (
    can_sign_in,
    check_first,
    first_sign_in_link,
    language_lines,
    shared_last,
    startup_lines,
)

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from tiewise.web.serving.observer import RequestObserver

SITE_VARIABLE = "TIEWISE_SITE"
APP = "tiewise.web.server:app_from_environment"


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
    start = SiteStart(
        host=host, port=port, workers=workers, public_url=public_url, behind_proxy=behind_proxy,
        sign_in_link=sign_in_link, http_limits=http_limits, min_free_bytes=min_free_bytes,
        log_format=log_format, metrics_port=metrics_port, backups=backups, write_line=write_line,
    ).prepared()  # fmt: skip
    paths = find_studies(folders)
    addresses = {name: study_database(name, database) for name in paths}
    lines = check_first({paths[name]: addresses[name] for name in paths}, start.write_line)
    studies = {name: _open_study(path, addresses[name]) for name, path in paths.items()}
    options, notes = start.checked_options()
    lines += notes
    for name, study in studies.items():
        lines += language_lines(study, addresses[name])
    for name, study in studies.items():
        read_key(study.folder)
        sign_in = _sign_in_words(study, start.address(name), addresses[name], start)
        lines += startup_lines(
            study, host=host, port=port, public_url=start.url, name=name,
            behind_proxy=behind_proxy, sign_in=sign_in,
        )  # fmt: skip
    _export_site(paths, database=database, url=start.url, limits=limits, live=live)
    ages = worker_ages(lambda: studies, studies.__getitem__, database) if live else dict
    start.run(options, ages, shared_last(lines), app=APP)


def _export_site(paths: Mapping[str, Path], **options: Any) -> None:
    """Tell the workers what to open: they share nothing with this process but the environment."""
    folders = {name: str(path) for name, path in paths.items()}
    os.environ[SITE_VARIABLE] = json.dumps({"folders": folders, **options})


def _sign_in_words(study: Study, url: str, database: str | None, start: SiteStart) -> str:
    """How a researcher signs in, where nobody can yet or always; a secret only where it is seen."""
    if start.shown:
        link = first_sign_in_link(study, url, database, always=start.sign_in_link)
        return f"You sign in, once, with {link}" if link else ""
    if can_sign_in(study, database):
        return ""
    return f"Nobody can sign in yet: tiewise invite-researcher {study.folder} --name NAME"


def app_from_environment() -> RequestObserver:
    """The site that `serve` started, in one of its workers."""
    return observed_app(_site_from_environment)


def _site_from_environment() -> Starlette:
    options: dict[str, Any] = json.loads(os.environ[SITE_VARIABLE])
    return _open_named(
        still_there(options["folders"]), database=options["database"], public_url=options["url"],
        limits=limits_from(options["limits"]), live=options["live"],
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
    return make_app(
        study, store, secret=read_key(study.folder), public_url=public_url,
        https=public_url.startswith("https:"), hosts=known_hosts(public_url),
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
