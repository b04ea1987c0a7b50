"""Several studies on one site, each below a path of its own."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from tiewise.errors import InputError
from tiewise.hosting.site_folder import NAME
from tiewise.web.rendering import render
from tiewise.web.request import Endpoint
from tiewise.web.security import SecurityHeaders
from tiewise.web.serving.health import HealthMonitor, health_routes

if TYPE_CHECKING:
    from tiewise.web.site import Site

log = logging.getLogger("tiewise")

RESERVED = ("health",)
PLACEHOLDER = "{study}"


def find_studies(folders: Sequence[str | Path]) -> dict[str, Path]:
    """Folders of studies by the name that each has on the site; "" for one that has it alone.

    A folder that is no study itself stands for the studies in it.
    """
    paths = [Path(folder) for folder in folders]
    if len(paths) == 1 and not _holds_studies(paths[0]):
        return {"": paths[0]}
    studies: dict[str, Path] = {}
    for study in (study for path in paths for study in _expand(path)):
        name = study.resolve().name
        _check_name(name, study, studies)
        studies[name] = study
    return studies


def _holds_studies(folder: Path) -> bool:
    return not (folder / "study.toml").is_file() and bool(_studies_in(folder))


def _studies_in(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("*/study.toml"))


def _expand(folder: Path) -> list[Path]:
    return _studies_in(folder) if _holds_studies(folder) else [folder]


def _check_name(name: str, folder: Path, others: Mapping[str, Path]) -> None:
    if not NAME.fullmatch(name) or name in RESERVED:
        raise InputError(
            f"{folder}: the folder's name is part of the study's address, and {name!r} cannot be; "
            "use letters, digits, - and _"
        )
    twin = next((path for known, path in others.items() if known.lower() == name.lower()), None)
    if twin is not None:
        raise InputError(
            f"{folder} and {twin} would have the same address /{name}/; rename one of the folders"
        )


def still_there(folders: Mapping[str, str]) -> dict[str, str]:
    """Of several studies, those whose folder is there; one that was deleted stops no other."""
    there = {name: path for name, path in folders.items() if Path(path).is_dir()}
    if not there or "" in folders:
        return dict(folders)
    for name in folders.keys() - there.keys():
        log.error("Study %s is left out: %s is not there any more", name, folders[name])
    return there


def study_database(name: str, database: str | None) -> str | None:
    """The database of one of several studies: a file of its own, or a database on a server."""
    if not name or not database:
        return database
    if PLACEHOLDER not in database:
        raise InputError(
            "database= names one database, and every study needs its own; write {study} where "
            "the name of the study goes, such as postgresql://user@host/{study}"
        )
    return database.replace(PLACEHOLDER, name)


def combine(sites: Mapping[str, Starlette], *, prefix: str = "") -> Starlette:
    """One site of several, each below its name; the root page says nothing about them."""
    routes: list[BaseRoute] = [Route("/", _no_study)]
    routes += health_routes(lambda _: _monitors([app.state.site for app in sites.values()]))
    for name, site in sites.items():
        routes += [Route(f"/{name}", _redirect(f"{prefix}/{name}/")), Mount(f"/{name}", site)]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        # Starlette does not start and stop mounted apps.
        async with AsyncExitStack() as stack:
            for site in sites.values():
                await stack.enter_async_context(site.router.lifespan_context(site))
            yield

    app = Starlette(
        routes=routes, middleware=[Middleware(SecurityHeaders)], lifespan=lifespan,
        exception_handlers={HTTPException: _on_http_error},
    )  # fmt: skip
    app.router.redirect_slashes = False
    return app


def _monitors(sites: Sequence[Site]) -> list[HealthMonitor]:
    """Health is that of the studies which go on; of all, once none does."""
    going_on = [site for site in sites if site.outages.is_there()]
    return [site.health for site in going_on or sites]


def _redirect(path: str) -> Endpoint:
    async def endpoint(_: Request) -> Response:
        return RedirectResponse(path, 307)

    return endpoint


async def _no_study(_: Request) -> Response:
    return HTMLResponse(render("no_study.html"))


async def _on_http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return HTMLResponse(render("no_study.html"), error.status_code, error.headers)
