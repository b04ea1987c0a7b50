"""The app of a site: its routes, and the pages for errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
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
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tiewise.study.access.attempts import AttemptStore
from tiewise.study.access.devices import DeviceStore
from tiewise.study.backups.schedule import start_backups
from tiewise.study.judge_store import JudgeStore
from tiewise.study.outage import OUTAGES
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study
from tiewise.web.api import operations
from tiewise.web.api.access import error_response
from tiewise.web.assets import ImageFile, static_assets
from tiewise.web.erasure_watch import ErasureWatch
from tiewise.web.judge import item_files, pages, reasons, signup
from tiewise.web.judge.maps.page import map_page
from tiewise.web.judge.maps.study_maps import StudyMaps
from tiewise.web.judge.request import (
    JudgeRequest,
    judge_form,
    judge_page,
    judges_only,
    open_only,
    unless_closed,
)
from tiewise.web.live.cache import SnapshotCache
from tiewise.web.phase_cache import PhaseCache
from tiewise.web.request import Endpoint, check_host
from tiewise.web.researcher import control, dashboard, downloads, erasure, judges, sign_in
from tiewise.web.researcher.designs import sheets
from tiewise.web.researcher.items.item_page import item_page
from tiewise.web.researcher.people import invitations, one_judge
from tiewise.web.researcher.questions import comments, side_by_side
from tiewise.web.researcher.request import (
    partner_page,
    problem_page,
    public_form,
    public_page,
    researcher_form,
    researcher_page,
)
from tiewise.web.security import (
    RateLimits,
    SecurityHeaders,
    SessionCookies,
    Throttle,
    set_security_headers,
)
from tiewise.web.serving.health import health_routes
from tiewise.web.serving.memory import few_threads, in_own_thread
from tiewise.web.serving.outages import StopWhenGone, outage_page
from tiewise.web.site import AccountSite, Hosting, Site, Throttles

if TYPE_CHECKING:
    from tiewise.web.live.supervisor import Supervisor

PROBLEMS = {400, 403, 404, 405, 413, 415, 429, 500, 503}
OF_ACCOUNTS = (
    "/sign-in", "/sign-in/{secret}", "/watch/researchers", "/watch/researchers/remove",
    "/watch/link", "/watch/password", "/watch/sign-out",
)  # fmt: skip
DETAILS = {"cookie", "token", "link", "site", "answer", "form", "unsure", "stopped"}


def routes() -> list[Route]:
    """All routes."""
    return [*judge_routes(), *researcher_routes(), *operations.routes()]


def _routes_of(site: Site) -> list[Route]:
    if site.preview:
        return judge_routes()
    return routes() if site.hosting is None else without_accounts(routes(), site.accounts)


def judge_routes() -> list[Route]:
    """The pages of judges."""
    page, form = judge_page, judge_form
    return [
        Route("/", page(signup.welcome_page)),
        Route("/begin", page(open_only(signup.consent_page))),
        Route("/begin", form(open_only(signup.sign_up), sign_up=True), methods=["POST"]),
        Route("/groups", page(open_only(judges_only(pages.groups_page, pending=["/groups"])))),
        Route(
            "/groups", form(open_only(judges_only(pages.save_groups, pending=["/groups"]))),
            methods=["POST"],
        ),
        Route("/pair", page(judges_only(open_only(pages.pair_page)))),
        Route("/answer", form(judges_only(unless_closed(pages.save_answer))), methods=["POST"]),
        Route("/why", page(judges_only(open_only(reasons.why_page)))),
        Route("/why", form(judges_only(unless_closed(reasons.save_why))), methods=["POST"]),
        Route("/feedback", page(judges_only(open_only(reasons.feedback_page)))),
        Route("/undo", form(judges_only(open_only(pages.undo_answer))), methods=["POST"]),
        Route("/thanks", page(judges_only(pages.thanks_page))),
        Route("/link", page(judges_only(signup.personal_link_page, pending=["/groups", "/begin"]))),
        Route("/j/{secret}", page(signup.open_personal_link, after_exit=True)),
        Route("/leave", page(signup.quick_exit, after_exit=True)),
        Route("/resume", form(signup.return_from_exit, after_exit=True), methods=["POST"]),
        Route("/sign-out", form(signup.sign_out), methods=["POST"]),
        Route("/withdraw", page(judges_only(signup.withdraw_page, pending=["/groups", "/begin"]))),
        Route("/withdraw", form(signup.withdraw), methods=["POST"]),
        Route("/withdrawn", page(signup.withdrawn_page)),
        Route("/support", page(signup.support_page)),
        Route("/privacy", page(signup.privacy_page)),
        Route("/map", page(judges_only(open_only(map_page)))),
        Route("/map.svg", item_files.for_participants(item_files.overview_map)),
        Route("/image/{item:path}", item_files.for_participants(item_files.image)),
        Route("/logo", logo),
        Route("/file/{name}", item_files.for_participants(item_files.copy)),
        Route("/static/{name}", static_file),
        *health_routes(lambda request: [request.app.state.site.health]),
    ]  # fmt: skip


def researcher_routes() -> list[Route]:
    """The pages of researchers, and the one for partners."""
    page, form = researcher_page, researcher_form
    return [
        Route("/sign-in", public_page(sign_in.sign_in_page)),
        Route("/sign-in", public_form(sign_in.sign_in), methods=["POST"]),
        Route("/sign-in/{secret}", public_page(sign_in.open_link)),
        Route("/sign-in/{secret}", public_form(sign_in.use_link), methods=["POST"]),
        Route("/watch", page(dashboard.overview_page)),
        Route("/watch/fresh", page(dashboard.updates, for_script=True)),
        Route("/watch/items", page(dashboard.items_page)),
        Route("/watch/items/{number}", page(item_page)),
        Route("/watch/history", page(dashboard.history_page)),
        Route("/watch/history.json", page(dashboard.history_frames, for_script=True)),
        Route("/watch/questions", page(side_by_side.side_by_side_page)),
        Route("/watch/comments", page(comments.comments_page, viewers=False)),
        Route("/watch/judges", page(judges.judges_page)),
        Route("/watch/judges/exclude", form(judges.exclude), methods=["POST"]),
        Route("/watch/judges/include", form(judges.include), methods=["POST"]),
        Route("/watch/sheets", page(sheets.sheets_page, viewers=False)),
        Route("/watch/sheets", form(sheets.open_sheet), methods=["POST"]),
        Route("/watch/sheets/{code}", page(sheets.sheet_page, viewers=False)),
        Route("/watch/sheets/{code}/answer", form(sheets.enter), methods=["POST"]),
        Route("/watch/sheets/{code}/undo", form(sheets.undo), methods=["POST"]),
        Route("/watch/judges/{judge}", page(one_judge.judge_page, viewers=False)),
        Route("/watch/invite", page(invitations.invitations_page, viewers=False)),
        Route("/watch/invite/people", form(invitations.add_people, files=True), methods=["POST"]),
        Route("/watch/invite/links", form(invitations.make_links), methods=["POST"]),
        Route("/watch/invite/remove", form(invitations.remove_people), methods=["POST"]),
        Route("/watch/run", page(control.control_page, viewers=False)),
        Route("/watch/phase", form(control.set_phase), methods=["POST"]),
        Route("/watch/pairing", form(control.switch_pairing), methods=["POST"]),
        Route("/watch/researchers", form(control.add_researcher), methods=["POST"]),
        Route("/watch/researchers/remove", form(control.remove_researcher), methods=["POST"]),
        Route("/watch/links", form(control.make_link), methods=["POST"]),
        Route("/watch/links/end", form(control.end_link), methods=["POST"]),
        Route("/watch/link", form(sign_in.new_device_link), methods=["POST"]),
        Route("/watch/password", page(sign_in.password_page)),
        Route("/watch/password", form(sign_in.change_password), methods=["POST"]),
        Route("/watch/sign-out", form(sign_in.sign_out), methods=["POST"]),
        Route("/watch/erase", page(erasure.erase_page, viewers=False)),
        Route("/watch/erase", form(erasure.erase), methods=["POST"]),
        Route("/watch/trail", page(control.audit_log_page, viewers=False)),
        Route("/watch/papers", form(downloads.make_reports), methods=["POST"]),
        Route("/watch/download/{name}", page(downloads.download, viewers=False)),
        Route("/shared/{secret}", partner_page(dashboard.shared_page)),
    ]


def without_accounts(routes: list[Route], accounts: AccountSite) -> list[Route]:
    """Routes of a study among several, where people sign in on the site of them all."""

    def elsewhere(path: str) -> Endpoint:
        async def endpoint(_: Request) -> Response:
            return RedirectResponse(accounts.url(path), 303)

        return endpoint

    kept = [route for route in routes if route.path not in OF_ACCOUNTS]
    return [
        *kept, Route("/sign-in", elsewhere("/sign-in")),
        Route("/watch/password", elsewhere("/site/you")),
    ]  # fmt: skip


def throttles_of(limits: RateLimits) -> Throttles:
    """Counters for the limits of a site."""
    return Throttles(**{name: Throttle(getattr(limits, name)) for name in Throttles._fields})


def make_app(
    study: Study,
    store: JudgeStore,
    *,
    secret: str,
    https: bool = False,
    public_url: str = "",
    prefix: str = "",
    hosts: Collection[str] = (),
    limits: RateLimits | None = None,
    live: bool = False,
    hosting: Callable[[ResearcherStore], Hosting] | None = None,
    preview: bool = False,
) -> Starlette:
    """The site of a study. `secret` signs cookies; `hosts` are names it answers to, () for any.

    `prefix` stands before every path where `public_url` does not say so; `live` keeps estimates up
    to date while the site runs. With `hosting`, researchers sign in elsewhere; a `preview` has the
    pages of judges alone.
    """
    prefix = urlsplit(public_url).path.rstrip("/") or prefix
    limits = limits or RateLimits()
    researcher_store = ResearcherStore(store)
    site = Site(
        study=study,
        store=store,
        researcher_store=researcher_store,
        snapshot_cache=SnapshotCache(store),
        phase_cache=PhaseCache(researcher_store),
        erasure_watch=ErasureWatch(store),
        cookies=SessionCookies(secret, https=https, path=prefix),
        throttles=throttles_of(limits),
        attempts=AttemptStore(store, *limits.sign_ins, key=secret),
        devices=DeviceStore(store),
        assets=static_assets(),
        images=_images(study),
        maps=StudyMaps.from_study(study),
        public_url=public_url.rstrip("/"),
        prefix=prefix,
        hosts=tuple(host.lower() for host in hosts),
        live=live,
        hosting=hosting(researcher_store) if hosting else None,
        preview=preview,
    )
    app = Starlette(
        routes=_routes_of(site),
        middleware=[
            Middleware(SecurityHeaders),
            Middleware(GZipMiddleware, compresslevel=6),
            Middleware(StopWhenGone, monitor=site.outages, page=_error_page),
        ],
        exception_handlers={
            HTTPException: _on_http_error,
            Exception: _on_exception,
            **dict.fromkeys(OUTAGES, _on_outage),
        },
        lifespan=_lifespan,
    )
    app.router.redirect_slashes = False
    app.state.site = site
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    site: Site = app.state.site
    few_threads()
    if site.maps is not None:
        language = site.study.settings.study.languages[0]
        Thread(target=site.maps.draw_all, args=[language], daemon=True).start()
    supervisor = _start_supervisor(site) if site.live else None
    _ = site.health  # the live worker's age counts from here
    backups = start_backups(site.study.folder, site.store)
    yield
    if backups is not None:
        await in_own_thread(backups.stop)
    if supervisor is not None:
        await in_own_thread(supervisor.stop)
    site.store.close()


def _start_supervisor(site: Site) -> Supervisor:
    # Imported late: only a live site fits models.
    from tiewise.web.live.supervisor import Supervisor

    supervisor = Supervisor(
        site.study.folder, site.store, is_there=site.outages.is_there, report=site.outages.report
    )
    supervisor.start()
    return supervisor


def _images(study: Study) -> dict[str, ImageFile]:
    """The images that items name; never a file outside the folder of images."""
    home = (study.folder / "images").resolve()
    names = {item.image for item in study.items.values() if item.image}
    inside = [name for name in names if (home / name).resolve().is_relative_to(home)]
    files = {name: ImageFile.open(home / name) for name in inside}
    return {name: file for name, file in files.items() if file is not None}


async def static_file(request: Request) -> Response:
    """One of our styles or scripts."""
    site: Site = request.app.state.site
    asset = site.assets.get(request.path_params["name"])
    if asset is None:
        raise HTTPException(404)
    return asset.answer(request)


async def logo(request: Request) -> Response:
    """The logo of who runs the study: on the first page, which everybody may see."""
    site: Site = request.app.state.site
    check_host(request, site)
    asset = await run_in_threadpool(lambda: site.logo)
    if asset is None:
        raise HTTPException(404)
    return asset.answer(request)


# Errors: always a page, or JSON for programs.


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = _error_page(request, error.status_code, error.detail)
    response.headers.update(error.headers or {})
    return response


async def _on_outage(request: Request, error: Exception) -> Response:
    return outage_page(request, error, _error_page)


async def _on_exception(request: Request, error: Exception) -> Response:
    response = _error_page(request, 500, "")
    set_security_headers(response.headers)  # this response does not pass our middleware
    return response


def _error_page(request: Request, status: int, detail: str) -> Response:
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    if path.startswith("/api/"):
        return error_response(status)
    known = status if status in PROBLEMS else 400 if status < 500 else 500
    key = f"{known}_{detail}" if detail in DETAILS else str(known)
    if path.startswith(("/watch", "/sign-in", "/shared")):
        return problem_page(request, status, key)
    return JudgeRequest.read(request).show("judge/problem.html", status=status, key=key)
