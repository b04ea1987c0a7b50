"""The site: its routes, and what is shown when something is amiss."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from threading import Thread
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tiewise.study.store import Store
from tiewise.study.study import Study
from tiewise.web import coming, judging
from tiewise.web.assets import Picture, static_assets
from tiewise.web.judging import for_judges
from tiewise.web.maps import Maps
from tiewise.web.security import Guard, Headers, Limits, Throttle, dress
from tiewise.web.visits import Site, Throttles, arrive, page, post

PROBLEMS = {400, 403, 404, 405, 413, 415, 429, 500}


def routes() -> list[Route]:
    """Every address there is."""
    return [
        Route("/", page(coming.welcome)),
        Route("/begin", page(coming.begin)),
        Route("/begin", post(coming.join, signs_up=True), methods=["POST"]),
        Route("/groups", page(for_judges(judging.groups, still=["/groups"]))),
        Route(
            "/groups",
            post(for_judges(judging.choose_groups, still=["/groups"])),
            methods=["POST"],
        ),
        Route("/pair", page(for_judges(judging.pair))),
        Route("/answer", post(for_judges(judging.answer)), methods=["POST"]),
        Route("/undo", post(for_judges(judging.undo)), methods=["POST"]),
        Route("/thanks", page(for_judges(judging.thanks))),
        Route("/link", page(for_judges(coming.link, still=["/groups", "/begin"]))),
        Route("/j/{secret}", page(coming.come_back, while_away=True)),
        Route("/leave", page(coming.leave, while_away=True)),
        Route("/resume", post(coming.resume, while_away=True), methods=["POST"]),
        Route("/sign-out", post(coming.sign_out), methods=["POST"]),
        Route("/withdraw", page(for_judges(coming.withdraw, still=["/groups", "/begin"]))),
        Route(
            "/withdraw", post(for_judges(coming.erase, still=["/groups", "/begin"])),
            methods=["POST"],
        ),
        Route("/withdrawn", page(coming.withdrawn)),
        Route("/support", page(coming.support)),
        Route("/privacy", page(coming.privacy)),
        Route("/map.svg", county),
        Route("/image/{item:path}", image),
        Route("/static/{name}", static),
        Route("/health", health),
    ]  # fmt: skip


def make_app(
    study: Study,
    store: Store,
    *,
    secret: str,
    https: bool = False,
    public_url: str = "",
    hosts: Collection[str] = (),
    limits: Limits | None = None,
) -> Starlette:
    """The site of a study. `secret` signs cookies; `hosts` are names it answers to, () for any."""
    prefix = urlsplit(public_url).path.rstrip("/")
    site = Site(
        study=study,
        store=store,
        guard=Guard(secret, https=https, path=prefix),
        throttles=Throttles(*map(Throttle, limits or Limits())),
        assets=static_assets(),
        images=_images(study),
        maps=Maps.drawn(study),
        public_url=public_url.rstrip("/"),
        prefix=prefix,
        hosts=tuple(host.lower() for host in hosts),
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
    if app.state.site.maps is not None:
        Thread(target=app.state.site.maps.draw_ahead, daemon=True).start()
    yield
    app.state.site.store.close()


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
    known = status if status in PROBLEMS else 400 if status < 500 else 500
    key = f"{known}_{detail}" if detail in ("cookie", "token", "link") else str(known)
    return arrive(request).show("problem.html", status=status, key=key)
