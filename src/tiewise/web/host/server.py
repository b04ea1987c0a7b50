"""Starts a site of several studies; what `tiewise host` does."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette

from tiewise.errors import InputError
from tiewise.hosting.accounts import AccountStore
from tiewise.hosting.drafts import USUAL_QUOTAS, Quotas
from tiewise.hosting.site_folder import SiteFolder
from tiewise.study.access.attempts import AttemptStore
from tiewise.study.access.devices import DeviceStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study
from tiewise.study.values import Role
from tiewise.web.app import throttles_of
from tiewise.web.assets import static_assets
from tiewise.web.host.app import make_host_app
from tiewise.web.host.checks import StudyChecks
from tiewise.web.host.site import HostSite
from tiewise.web.host.studies import HostedStudies
from tiewise.web.multi_study import study_database
from tiewise.web.security import RateLimits, SessionCookies
from tiewise.web.server import open_study_app
from tiewise.web.serving.observer import RequestObserver
from tiewise.web.serving.process import worker_ages
from tiewise.web.serving.start import (
    SiteStart,
    known_hosts,
    limits_from,
    observed_app,
    read_key,
)
from tiewise.web.serving.startup import STOP
from tiewise.web.words.of_study import language_faults

HOST_VARIABLE = "TIEWISE_HOST"
APP = "tiewise.web.host.server:app_from_environment"
OWNER = "owner"


def host(
    folder: str | Path,
    *,
    database: str | None = None,
    site_database: str | None = None,
    owner: str = OWNER,
    limits: RateLimits | None = None,
    live: bool = True,
    quotas: Quotas = USUAL_QUOTAS,
    **start_options: Any,
) -> None:
    """Run the site of all studies in a folder, made where there is none, until it is stopped.

    The first owner signs in with a one-time link that `write_line` gets; later ones get theirs
    from an owner, in the browser. `database` holds {study}; `site_database` is the address of the
    database of accounts, by default a file in the folder. The rest is that of `SiteStart`.
    """
    start, place = SiteStart(**start_options).prepared(), SiteFolder.open(folder)
    study_database("name", database)
    options, notes = start.checked_options()
    read_key(place.path)
    lines = [*_first_lines(place, site_database, owner, start), *notes, *start.notes(), STOP]
    values = {
        "folder": str(place.path), "database": database, "site_database": site_database,
        "url": start.url, "limits": limits, "live": live, "quotas": quotas,
    }  # fmt: skip
    os.environ[HOST_VARIABLE] = json.dumps(values)
    aged = worker_ages(place.studies, lambda name: Study.open(place.study(name)), database)
    start.run(options, aged if live else dict, lines, app=APP)


def _first_lines(
    place: SiteFolder, database: str | None, owner: str, start: SiteStart
) -> list[str]:
    """Where the site is, and how its owner signs in where no owner can yet, or always."""
    store = place.database(database)
    try:
        accounts, url = AccountStore(store), start.address()
        known = next((one for one in accounts.accounts() if one.role == Role.OWNER), None)
        lines = [f"The site of {place.path} is at {url}/"]
        if accounts.owner_can_sign_in() and not start.sign_in_link:
            return lines
        if not start.shown:  # a secret is no matter for a log
            return [*lines, "No owner can sign in yet: start it once with --log-format plain"]
        if known is None:
            accounts.add_account(owner, Role.OWNER)
        secret = accounts.invite_researcher(known.researcher.name if known else owner)
        return [*lines, f"Its owner signs in, once, with {url}/sign-in/{secret}"]
    finally:
        store.close()


def app_from_environment() -> RequestObserver:
    """The site that `host` started, in one of its workers."""
    return observed_app(_site_from_environment)


def _site_from_environment() -> Starlette:
    options: dict[str, Any] = json.loads(os.environ[HOST_VARIABLE])
    chosen = limits_from(options["limits"])
    return open_host(
        options["folder"], database=options["database"], site_database=options["site_database"],
        public_url=options["url"], limits=chosen, live=options["live"],
        quotas=Quotas(*options["quotas"]),
    )  # fmt: skip


def open_host(
    folder: str | Path,
    *,
    database: str | None = None,
    site_database: str | None = None,
    public_url: str = "",
    limits: RateLimits | None = None,
    live: bool = False,
    quotas: Quotas = USUAL_QUOTAS,
) -> Starlette:
    """The site of all studies in a folder, to be run by any ASGI server."""
    place, rates = SiteFolder.open(folder), limits or RateLimits()
    store, key = place.database(site_database), read_key(place.path)
    accounts, prefix = AccountStore(store), urlsplit(public_url).path.rstrip("/")
    site = HostSite(
        folder=place, account_store=accounts, researcher_store=accounts,
        studies=HostedStudies(place), checks=StudyChecks(place, database),
        cookies=SessionCookies(key, https=public_url.startswith("https:"), path=prefix),
        throttles=throttles_of(rates), attempts=AttemptStore(store, *rates.sign_ins, key=key),
        devices=DeviceStore(store), assets=static_assets(), public_url=public_url, prefix=prefix,
        quotas=quotas, database_url=database,
        hosts=known_hosts(public_url),
    )  # fmt: skip

    def open_study(name: str) -> Starlette:
        return _open_hosted(site, name, limits=limits, live=live)

    site.studies.open_with(open_study)
    return make_host_app(site)


def _open_hosted(site: HostSite, name: str, **options: Any) -> Starlette:
    """The app of one study of the site, whose researchers become accounts of the site."""
    folder = site.folder.study(name)
    url = study_database(name, site.database_url)
    study = Study.open(folder)
    store = study.store(url)
    try:
        researchers = ResearcherStore(store)
        site.account_store.take_over(study, researchers)
        faults = [line for lines in language_faults(study).values() for line in lines]
    finally:
        store.close()
    for fault in faults:
        raise InputError(f"{folder}: {fault}")
    return open_study_app(
        folder, database=url, prefix=f"{site.prefix}/{name}",
        public_url=f"{site.public_url}/{name}" if site.public_url else "",
        hosting=partial(site.hosting, name), **options,
    )  # fmt: skip
