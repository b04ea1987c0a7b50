"""A researcher's request: who signed in, which form, and how it is answered."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from tiewise.study.researcher_store import Opens, Researcher
from tiewise.web.rendering import language, render
from tiewise.web.request import (
    NO_FORM,
    Endpoint,
    Form,
    Site,
    base_of,
    count,
    read_form,
    refuse_host,
)
from tiewise.web.security import SECRET, Session, address, fresh_secret

FIRST = "/watch"
INSIDE = re.compile(r"/watch(/[a-z]+)*(\?[a-z0-9=&_-]*)?")


@dataclass(frozen=True)
class Watch:
    """One request of somebody who watches: a researcher, a partner, or nobody known yet."""

    request: Request
    site: Site
    researcher: Researcher | None
    form: Form = NO_FORM
    secret: str = ""
    """What the browser carries, or is given with the next form."""
    known: bool = True
    """Whether the browser brought it."""

    @property
    def here(self) -> str:
        """The path of this page within the study."""
        scope = self.request.scope
        return str(scope["path"]).removeprefix(scope.get("root_path", ""))

    @property
    def base(self) -> str:
        """The address of the site, as links that are sent to others need it."""
        return base_of(self.request, self.site)

    def carrying(self, secret: str) -> Watch:
        """This request, its browser to carry another secret from now on."""
        return replace(self, secret=secret, known=False)

    def go(self, path: str) -> Response:
        """See another page of ours."""
        return self._kept(RedirectResponse(self.site.to(path), 303), not self.known)

    def show(self, template: str, *, status: int = 200, **told: Any) -> Response:
        """A page; a browser that gets a form with it gets a secret to send it with, too."""
        asked: list[str] = []

        def token() -> str:
            asked.append(self.site.guard.token(Session(self.secret)))
            return asked[-1]

        told |= {"phase": self.site.phase, "token": token}
        page = render(template, **self._around(), **told)
        return self._kept(HTMLResponse(page, status), bool(asked) and not self.known)

    def _around(self) -> dict[str, Any]:
        """What every page is told."""
        site = self.site
        return {
            "to": site.to,
            "asset": lambda name: site.to(f"/static/{name}?v={site.assets[name].digest}"),
            "settings": site.study.settings,
            "study": site.study,
            "researcher": self.researcher,
            "here": self.here,
        }

    def _kept(self, response: Response, needed: bool) -> Response:
        if needed:
            self.site.guard.keep_badge(self.secret, self.request, response)
        return response


Page = Callable[[Watch], Response]


def for_researchers(made: Page, *, for_script: bool = False) -> Endpoint:
    """A page that researchers read; others are sent to sign in, and a script is told 401."""

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(_served, _come(request), made, for_script)

    return endpoint


def posted_by_researchers(made: Page) -> Endpoint:
    """A form that researchers send: from our pages, and not too many of them."""

    async def endpoint(request: Request) -> Response:
        watch = replace(_come(request), form=await read_form(request))
        return await run_in_threadpool(_served, watch, made, False, sent=True)

    return endpoint


def for_anybody(made: Page) -> Endpoint:
    """A page on the way in."""

    async def endpoint(request: Request) -> Response:
        watch = _come(request)
        return await run_in_threadpool(made, watch)

    return endpoint


def posted_by_anybody(made: Page) -> Endpoint:
    """A form on the way in: from our pages, and not too many of them."""

    async def endpoint(request: Request) -> Response:
        watch = replace(_come(request), form=await read_form(request))
        refuse_foreign(watch)
        return await run_in_threadpool(made, watch)

    return endpoint


def for_partners(made: Page) -> Endpoint:
    """A page for whoever has the link to it, until that is ended."""

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(_shared, _come(request), made)

    return endpoint


def _come(request: Request) -> Watch:
    site: Site = request.app.state.site
    refuse_host(request, site)
    secret = site.guard.badge(request)
    return Watch(request, site, None, secret=secret or fresh_secret(), known=bool(secret))


def _served(watch: Watch, made: Page, for_script: bool, *, sent: bool = False) -> Response:
    who = watch.site.ledger.session(watch.secret) if watch.known else None
    if who is None:
        return _sign_in_first(watch, for_script, sent)
    watch = replace(watch, researcher=who)
    if sent:
        refuse_foreign(watch)
    return made(watch)


def _sign_in_first(watch: Watch, for_script: bool, sent: bool) -> Response:
    if for_script:
        return JSONResponse({"error": "sign in first"}, 401)
    query = watch.request.url.query
    wanted = FIRST if sent else inside(watch.here + (f"?{query}" if query else ""))
    return RedirectResponse(watch.site.to(f"/sign-in?next={quote(wanted, safe='')}"), 303)


def _shared(watch: Watch, made: Page) -> Response:
    secret = watch.request.path_params["secret"]
    good = SECRET.fullmatch(secret) and watch.site.ledger.may_open(secret, Opens.SHARE)
    if not good:
        count(watch.site.throttles.strangers, address(watch.request))
        raise HTTPException(404, "link")
    return made(watch)


def sorry(request: Request, status: int, key: str) -> Response:
    """What is amiss, without asking the database, which may be what is amiss."""
    watch, words = Watch(request, request.app.state.site, None), language("en").words
    title, text = (words[f"problem.{key}_{part}"] for part in ("title", "text"))
    page = render("watch/problem.html", **watch._around(), problem=title, text=text)
    return HTMLResponse(page, status)


def inside(path: str) -> str:
    """A page for researchers to go on to, as they wanted; never one of another site."""
    return path if INSIDE.fullmatch(path) else FIRST


def refuse_foreign(watch: Watch) -> None:
    """Forms of other sites, of browsers that would not take our cookie, and floods."""
    throttles = watch.site.throttles
    if not watch.known or not watch.site.guard.is_ours(
        watch.form.get("token"), Session(watch.secret)
    ):
        count(throttles.strangers, address(watch.request))
        raise HTTPException(403, "token" if watch.known else "cookie")
    count(throttles.posts, watch.secret)
