"""Several studies on one site: each below a name of its own, knowing nothing of the others."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from tiewise.errors import InputError
from tiewise.web.rendering import render
from tiewise.web.request import Endpoint
from tiewise.web.security import Headers

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,63}")
OURS = ("health",)
HOLE = "{study}"


def studies_in(folders: Sequence[str | Path]) -> dict[str, Path]:
    """Folders of studies by the name that each has on the site; "" for one that has it alone.

    A folder that is no study itself stands for the studies in it.
    """
    given = [Path(folder) for folder in folders]
    if len(given) == 1 and not _holds_studies(given[0]):
        return {"": given[0]}
    found: dict[str, Path] = {}
    for place in (study for folder in given for study in _spread(folder)):
        name = place.resolve().name
        _refuse(name, place, found)
        found[name] = place
    return found


def _holds_studies(folder: Path) -> bool:
    return not (folder / "study.toml").is_file() and bool(_within(folder))


def _within(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("*/study.toml"))


def _spread(folder: Path) -> list[Path]:
    return _within(folder) if _holds_studies(folder) else [folder]


def _refuse(name: str, place: Path, found: Mapping[str, Path]) -> None:
    if not NAME.fullmatch(name) or name in OURS:
        raise InputError(
            f"{place}: the folder's name is part of the study's address, and {name!r} cannot be; "
            "use letters, digits, - and _"
        )
    twin = next((there for known, there in found.items() if known.lower() == name.lower()), None)
    if twin is not None:
        raise InputError(
            f"{place} and {twin} would have the same address /{name}/; rename one of the folders"
        )


def database_of(name: str, database: str | None) -> str | None:
    """The database of one of several studies: its own file, or its own database on a server."""
    if not name or not database:
        return database
    if HOLE not in database:
        raise InputError(
            "--database names one database, and every study needs its own; write {study} where "
            "the name of the study goes, such as postgresql://user@host/{study}"
        )
    return database.replace(HOLE, name)


def join(sites: Mapping[str, Starlette], *, prefix: str = "") -> Starlette:
    """One site of several, each below its name; in front of them a page that says nothing."""
    routes: list[BaseRoute] = [Route("/", _nothing), Route("/health", _health(sites))]
    for name, site in sites.items():
        routes += [Route(f"/{name}", _enter(f"{prefix}/{name}/")), Mount(f"/{name}", site)]

    @asynccontextmanager
    async def while_it_runs(_: Starlette) -> AsyncIterator[None]:
        # A mounted site is not told by Starlette that it starts and stops.
        async with AsyncExitStack() as all_of_them:
            for site in sites.values():
                await all_of_them.enter_async_context(site.router.lifespan_context(site))
            yield

    made = Starlette(
        routes=routes, middleware=[Middleware(Headers)], lifespan=while_it_runs,
        exception_handlers={HTTPException: _refused},
    )  # fmt: skip
    made.router.redirect_slashes = False
    return made


def _enter(path: str) -> Endpoint:
    async def endpoint(_: Request) -> Response:
        return RedirectResponse(path, 307)

    return endpoint


async def _nothing(_: Request) -> Response:
    return HTMLResponse(render("watch/nothing.html"))


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return HTMLResponse(render("watch/nothing.html"), error.status_code, error.headers)


def _health(sites: Mapping[str, Starlette]) -> Endpoint:
    def well() -> bool:
        try:
            return all(site.state.site.store.is_well() for site in sites.values())
        except Exception:
            return False

    async def endpoint(_: Request) -> Response:
        good = await run_in_threadpool(well)
        return PlainTextResponse("well\n" if good else "no database\n", 200 if good else 503)

    return endpoint
