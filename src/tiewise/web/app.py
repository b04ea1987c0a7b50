"""The site: its routes, and what is shown when something is amiss."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tiewise.study.judge_store import Store
from tiewise.study.researcher_store import Ledger
from tiewise.study.study import Study
from tiewise.web import api
from tiewise.web.assets import Picture, static_assets
from tiewise.web.judge import pages, signup
from tiewise.web.judge.maps import Maps
from tiewise.web.judge.pages import for_judges, until_closed, while_open
from tiewise.web.live.cache import Latest
from tiewise.web.phase_cache import Doors
from tiewise.web.request import Site, Throttles, arrive, page, post
from tiewise.web.researcher import control, dashboard, downloads, judges, sign_in
from tiewise.web.researcher.request import (
    for_anybody,
    for_partners,
    for_researchers,
    posted_by_anybody,
    posted_by_researchers,
    sorry,
)
from tiewise.web.security import Guard, Headers, Limits, Throttle, dress

if TYPE_CHECKING:
    from tiewise.web.live.supervisor import Keeper

PROBLEMS = {400, 403, 404, 405, 413, 415, 429, 500}


def routes() -> list[Route]:
    """Every address there is."""
    return [*for_those_who_judge(), *for_those_who_watch(), *for_whoever_asks()]


def for_those_who_judge() -> list[Route]:
    """The judges' way."""
    return [
        Route("/", page(signup.welcome)),
        Route("/begin", page(while_open(signup.begin))),
        Route("/begin", post(while_open(signup.join), signs_up=True), methods=["POST"]),
        Route("/groups", page(while_open(for_judges(pages.groups, still=["/groups"])))),
        Route(
            "/groups", post(while_open(for_judges(pages.choose_groups, still=["/groups"]))),
            methods=["POST"],
        ),
        Route("/pair", page(for_judges(while_open(pages.pair)))),
        Route("/answer", post(for_judges(until_closed(pages.answer))), methods=["POST"]),
        Route("/undo", post(for_judges(while_open(pages.undo))), methods=["POST"]),
        Route("/thanks", page(for_judges(pages.thanks))),
        Route("/link", page(for_judges(signup.link, still=["/groups", "/begin"]))),
        Route("/j/{secret}", page(signup.come_back, while_away=True)),
        Route("/leave", page(signup.leave, while_away=True)),
        Route("/resume", post(signup.resume, while_away=True), methods=["POST"]),
        Route("/sign-out", post(signup.sign_out), methods=["POST"]),
        Route("/withdraw", page(for_judges(signup.withdraw, still=["/groups", "/begin"]))),
        Route(
            "/withdraw", post(for_judges(signup.erase, still=["/groups", "/begin"])),
            methods=["POST"],
        ),
        Route("/withdrawn", page(signup.withdrawn)),
        Route("/support", page(signup.support)),
        Route("/privacy", page(signup.privacy)),
        Route("/map.svg", county),
        Route("/image/{item:path}", image),
        Route("/static/{name}", static),
        Route("/health", health),
    ]  # fmt: skip


def for_those_who_watch() -> list[Route]:
    """The researchers' pages, and the one that they share."""
    read, send = for_researchers, posted_by_researchers
    return [
        Route("/sign-in", for_anybody(sign_in.ask)),
        Route("/sign-in", posted_by_anybody(sign_in.sign_in), methods=["POST"]),
        Route("/sign-in/{secret}", for_anybody(sign_in.link)),
        Route("/sign-in/{secret}", posted_by_anybody(sign_in.use_link), methods=["POST"]),
        Route("/watch", read(dashboard.overview)),
        Route("/watch/fresh", read(dashboard.fresh, for_script=True)),
        Route("/watch/items", read(dashboard.items)),
        Route("/watch/history", read(dashboard.history)),
        Route("/watch/history.json", read(dashboard.frames, for_script=True)),
        Route("/watch/judges", read(judges.judges)),
        Route("/watch/judges/exclude", send(judges.exclude), methods=["POST"]),
        Route("/watch/judges/include", send(judges.include), methods=["POST"]),
        Route("/watch/run", read(control.run)),
        Route("/watch/phase", send(control.set_phase), methods=["POST"]),
        Route("/watch/researchers", send(control.add_researcher), methods=["POST"]),
        Route("/watch/researchers/remove", send(control.remove_researcher), methods=["POST"]),
        Route("/watch/links", send(control.make_link), methods=["POST"]),
        Route("/watch/links/end", send(control.end_link), methods=["POST"]),
        Route("/watch/link", send(sign_in.another_link), methods=["POST"]),
        Route("/watch/password", read(sign_in.password)),
        Route("/watch/password", send(sign_in.change_password), methods=["POST"]),
        Route("/watch/sign-out", send(sign_in.sign_out), methods=["POST"]),
        Route("/watch/trail", read(control.trail)),
        Route("/watch/papers", send(downloads.make_papers), methods=["POST"]),
        Route("/watch/download/{name}", read(downloads.download)),
        Route("/shared/{secret}", for_partners(dashboard.shared)),
    ]


def for_whoever_asks() -> list[Route]:
    """The interface for programs."""
    return [
        Route("/api/v1/", api.facts(api.index)),
        Route("/api/v1/study", api.facts(api.study)),
        Route("/api/v1/items", api.facts(api.items)),
        Route("/api/v1/estimates", api.facts(api.estimates)),
        Route("/api/v1/coverage", api.facts(api.coverage)),
        Route("/api/v1/export", api.for_programs(api.export)),
    ]


def make_app(
    study: Study,
    store: Store,
    *,
    secret: str,
    https: bool = False,
    public_url: str = "",
    prefix: str = "",
    hosts: Collection[str] = (),
    limits: Limits | None = None,
    live: bool = False,
) -> Starlette:
    """The site of a study. `secret` signs cookies; `hosts` are names it answers to, () for any.

    `prefix` stands before every path where `public_url` does not say so; `live` keeps the picture
    of what was found up to date while the site runs.
    """
    prefix = urlsplit(public_url).path.rstrip("/") or prefix
    ledger = Ledger(store)
    site = Site(
        study=study,
        store=store,
        ledger=ledger,
        latest=Latest(store),
        doors=Doors(ledger),
        guard=Guard(secret, https=https, path=prefix),
        throttles=Throttles(*map(Throttle, limits or Limits())),
        assets=static_assets(),
        images=_images(study),
        maps=Maps.drawn(study),
        public_url=public_url.rstrip("/"),
        prefix=prefix,
        hosts=tuple(host.lower() for host in hosts),
        live=live,
    )
    app = Starlette(
        routes=routes(),
        middleware=[Middleware(Headers), Middleware(GZipMiddleware, compresslevel=6)],
        exception_handlers={HTTPException: _refused, Exception: _failed},
        lifespan=_while_it_runs,
    )
    app.router.redirect_slashes = False
    app.state.site = site
    return app


@asynccontextmanager
async def _while_it_runs(app: Starlette) -> AsyncIterator[None]:
    site: Site = app.state.site
    if site.maps is not None:
        Thread(target=site.maps.draw_ahead, daemon=True).start()
    keeper = _keeper(site) if site.live else None
    yield
    if keeper is not None:
        await run_in_threadpool(keeper.stop)
    site.store.close()


def _keeper(site: Site) -> Keeper:
    """Somebody to see that the live worker runs, at work."""
    from tiewise.web.live.supervisor import Keeper

    keeper = Keeper(site.study.folder, site.store)
    keeper.start()
    return keeper


def _images(study: Study) -> dict[str, Picture]:
    """The images that items name; what lies outside the folder of images is not shown."""
    home = (study.folder / "images").resolve()
    named = {item.image for item in study.items.values() if item.image}
    inside = [name for name in named if (home / name).resolve().is_relative_to(home)]
    found = {name: Picture.of(home / name) for name in inside}
    return {name: picture for name, picture in found.items() if picture is not None}


async def static(request: Request) -> Response:
    """Our style and script."""
    asset = request.app.state.site.assets.get(request.path_params["name"])
    if asset is None:
        raise HTTPException(404)
    found: Response = asset.answer(request)
    return found


async def image(request: Request) -> Response:
    """The image of an item."""
    site: Site = request.app.state.site
    item = site.study.items.get(request.path_params["item"])
    picture = site.images.get(item.image) if item else None
    if picture is None:
        raise HTTPException(404)
    return picture.answer(request)


async def county(request: Request) -> Response:
    """The map of all areas, the same on every page."""
    site: Site = request.app.state.site
    if site.maps is None:
        raise HTTPException(404)
    return site.maps.base.answer(request)


async def health(request: Request) -> Response:
    """Whether the site and its database are well, for whoever watches over it."""
    try:
        well = await run_in_threadpool(request.app.state.site.store.is_well)
    except Exception:
        well = False
    return PlainTextResponse("well\n" if well else "no database\n", 200 if well else 503)


# When something is amiss: always a page.


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = _sorry(request, error.status_code, error.detail)
    response.headers.update(error.headers or {})
    return response


async def _failed(request: Request, error: Exception) -> Response:
    response = _sorry(request, 500, "")
    dress(response.headers)  # this one passes our middleware by
    return response


def _sorry(request: Request, status: int, detail: str) -> Response:
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    if path.startswith("/api/"):
        return api.sorry(status)
    known = status if status in PROBLEMS else 400 if status < 500 else 500
    key = f"{known}_{detail}" if detail in ("cookie", "token", "link") else str(known)
    if path.startswith(("/watch", "/sign-in", "/shared")):
        return sorry(request, status, key)
    return arrive(request).show("problem.html", status=status, key=key)
