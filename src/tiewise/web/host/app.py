"""The app of a site of several studies: its own pages, and below their names the studies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from tiewise.study.values import Role
from tiewise.web.app import PROBLEMS, static_file
from tiewise.web.host import (
    items_page,
    new_study,
    overview,
    people,
    preview,
    settings_page,
    study_page,
    you,
)
from tiewise.web.host.receiving import (
    file_endpoint,
    receive_chunk,
    receive_form,
    upload_endpoint,
)
from tiewise.web.host.request import (
    account_form,
    account_page,
    problem_page,
    public_form,
    public_page,
)
from tiewise.web.host.site import HostSite
from tiewise.web.rendering import render
from tiewise.web.researcher import sign_in
from tiewise.web.security import SecurityHeaders, set_security_headers
from tiewise.web.serving.health import HealthMonitor, health_routes

DETAILS = {"cookie", "token", "link", "site"}


def host_routes() -> list[Route]:
    """The pages of the site itself."""
    receive_files = partial(receive_form, new_study.draft_page_of)
    page, form = account_page, account_form
    return [
        Route("/", page(overview.overview_page)),
        Route("/sign-in", public_page(sign_in.sign_in_page)),
        Route("/sign-in", public_form(sign_in.sign_in), methods=["POST"]),
        Route("/sign-in/{secret}", public_page(sign_in.open_link)),
        Route("/sign-in/{secret}", public_form(sign_in.use_link), methods=["POST"]),
        Route("/site/you", page(you.you_page)),
        Route("/site/you", form(you.change_password, Role.VIEWER), methods=["POST"]),
        Route("/site/link", form(sign_in.new_device_link, Role.VIEWER), methods=["POST"]),
        Route("/site/sign-out", form(sign_in.sign_out, Role.VIEWER), methods=["POST"]),
        Route("/site/people", page(people.people_page, Role.OWNER)),
        Route("/site/people", form(people.add_account, Role.OWNER), methods=["POST"]),
        Route("/site/people/link", form(people.make_link, Role.OWNER), methods=["POST"]),
        Route("/site/people/role", form(people.set_role, Role.OWNER), methods=["POST"]),
        Route("/site/people/remove", form(people.remove_account, Role.OWNER), methods=["POST"]),
        Route("/site/trail", page(people.audit_log_page, Role.OWNER)),
        Route("/site/new", page(new_study.new_page, Role.RESEARCHER)),
        Route("/site/new", form(new_study.begin), methods=["POST"]),
        Route("/site/new/{draft}", page(new_study.draft_page, Role.RESEARCHER)),
        Route("/site/new/{draft}/state", page(new_study.state_json, Role.RESEARCHER)),
        Route(
            "/site/new/{draft}/chunk",
            upload_endpoint(receive_chunk, for_script=True),
            methods=["POST"],
        ),
        Route(
            "/site/new/{draft}/files",
            upload_endpoint(receive_files, for_script=False),
            methods=["POST"],
        ),
        Route("/site/new/{draft}/remove", form(new_study.remove_file), methods=["POST"]),
        Route("/site/new/{draft}/make", form(new_study.make), methods=["POST"]),
        Route("/site/new/{draft}/drop", form(new_study.drop), methods=["POST"]),
        Route("/site/studies/{study}", page(study_page.study_page, Role.RESEARCHER)),
        Route("/site/studies/{study}/phase", form(study_page.set_phase), methods=["POST"]),
        Route("/site/studies/{study}/clone", form(study_page.clone), methods=["POST"]),
        Route("/site/studies/{study}/archive", form(study_page.archive), methods=["POST"]),
        Route("/site/studies/{study}/pilot", form(study_page.reset_pilot), methods=["POST"]),
        Route("/site/studies/{study}/preview", form(preview.start_preview), methods=["POST"]),
        Route(
            "/site/studies/{study}/delete", form(study_page.delete, Role.OWNER), methods=["POST"]
        ),
        Route("/site/studies/{study}/settings", page(settings_page.settings_page, Role.RESEARCHER)),
        Route(
            "/site/studies/{study}/settings", form(settings_page.save_settings), methods=["POST"]
        ),
        Route("/site/studies/{study}/file", page(settings_page.file_page, Role.RESEARCHER)),
        Route("/site/studies/{study}/file", form(settings_page.save_file), methods=["POST"]),
        Route("/site/studies/{study}/items", page(items_page.items_page, Role.RESEARCHER)),
        Route("/site/studies/{study}/items", form(items_page.change_item), methods=["POST"]),
        Route("/site/studies/{study}/items/add", form(items_page.add), methods=["POST"]),
        Route(
            "/site/studies/{study}/items/files",
            file_endpoint(items_page.add_with_file),
            methods=["POST"],
        ),
        Route("/site/archive", page(study_page.archive_page, Role.OWNER)),
        Route("/site/archive/back", form(study_page.bring_back, Role.OWNER), methods=["POST"]),
        Route("/site/archive/remove", form(study_page.remove_export, Role.OWNER), methods=["POST"]),
        Route("/site/archive/{name}", page(study_page.export_file, Role.OWNER)),
        Route("/static/{name}", static_file),
    ]


class StudyDispatcher:
    """Hands a request to the study that its path begins with."""

    def __init__(self, site: HostSite) -> None:
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a study; where there is none, with a page that says nothing."""
        name, slash, _ = scope["path"].lstrip("/").partition("/")
        app = await self._site.studies.app(name)
        if app is None:
            status = 503 if self._site.folder.is_study(name) else 404
            await HTMLResponse(render("no_study.html"), status)(scope, receive, send)
        elif not slash:
            await RedirectResponse(self._site.url(f"/{name}/"), 307)(scope, receive, send)
        else:
            route = Mount(f"/{name}", app)
            await route.handle({**scope, **route.matches(scope)[1]}, receive, send)


def make_host_app(site: HostSite) -> Starlette:
    """The site as an app."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with site.studies.running():
            yield

    app = Starlette(
        routes=[
            *health_routes(lambda _: _monitors(site)), *host_routes(),
            Mount(preview.PATH, preview.PreviewDispatcher(site)), Mount("", StudyDispatcher(site)),
        ],
        middleware=[
            Middleware(SecurityHeaders), Middleware(GZipMiddleware, compresslevel=6),
        ],
        exception_handlers={HTTPException: _on_http_error, Exception: _on_exception},
        lifespan=lifespan,
    )  # fmt: skip
    app.router.redirect_slashes = False
    app.state.site = site
    return app


def _monitors(site: HostSite) -> list[HealthMonitor]:
    """Health is that of the studies which go on."""
    sites = [app.state.site for app in site.studies.opened().values()]
    return [one.health for one in sites if one.outages.is_there()]


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status, detail = error.status_code, error.detail
    known = status if status in PROBLEMS else 400 if status < 500 else 500
    response = problem_page(
        request, status, f"{known}_{detail}" if detail in DETAILS else f"{known}"
    )
    response.headers.update(error.headers or {})
    return response


async def _on_exception(request: Request, error: Exception) -> Response:
    response = problem_page(request, 500, "500")
    set_security_headers(response.headers)
    return response
