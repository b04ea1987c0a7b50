"""A visit: one request, whose browser it comes from, and how it is answered."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tiewise.study.activity import Pace
from tiewise.study.judge_store import Store
from tiewise.study.researcher_store import Ledger, Phase
from tiewise.study.study import Study
from tiewise.study.values import Judge
from tiewise.web.assets import Asset, Picture
from tiewise.web.judge.maps import Maps
from tiewise.web.live.cache import Latest
from tiewise.web.phase_cache import Doors
from tiewise.web.rendering import Language, language, preferred, render
from tiewise.web.researcher.history import Past
from tiewise.web.security import Guard, Session, Throttle, address, fresh_secret

LARGEST_FORM = 256 * 1024
MOST_FIELDS = 5000
FORM = "application/x-www-form-urlencoded"
NUMBER = re.compile(r"[0-9]{1,9}")
"""What a field holds that says which."""


class Throttles(NamedTuple):
    """Who asks how often, while this process runs."""

    sign_ups: Throttle
    strangers: Throttle
    posts: Throttle
    sign_ins: Throttle
    programs: Throttle


@dataclass(frozen=True)
class Site:
    """Everything that pages are made from."""

    study: Study
    store: Store
    ledger: Ledger
    latest: Latest
    doors: Doors
    guard: Guard
    throttles: Throttles
    assets: Mapping[str, Asset]
    images: Mapping[str, Picture]
    maps: Maps | None
    public_url: str
    """Where judges reach it, where that is known."""
    prefix: str
    """What stands before every path, where the site is not at the root of its host."""
    hosts: tuple[str, ...]
    """Names it answers to; () for any."""
    live: bool = False
    """Whether the picture is kept up to date while the site runs."""

    @cached_property
    def pace(self) -> Pace:
        """How fast judgements come in."""
        return Pace(self.store)

    @cached_property
    def past(self) -> Past:
        """Earlier pictures of the study."""
        return Past(self.store, tuple(self.study.items))

    @property
    def phase(self) -> Phase:
        """Whether judges may judge, as it was a second ago at the earliest."""
        return self.doors.phase()

    def to(self, path: str) -> str:
        """The address of a page."""
        return self.prefix + path


class Form(NamedTuple):
    """What was filled in."""

    pairs: tuple[tuple[str, str], ...] = ()

    def get(self, name: str) -> str:
        """The first value of a field, or nothing."""
        return next((value for key, value in self.pairs if key == name), "")

    def all(self, name: str) -> list[str]:
        """Every value of a field."""
        return [value for key, value in self.pairs if key == name]


NO_FORM = Form()


@dataclass(frozen=True)
class Visit:
    """One request: whose browser, which judge, in which language, with which form."""

    request: Request
    site: Site
    session: Session
    known: bool
    """Whether the browser brought this session, or it was made just now."""
    judge: Judge | None = None
    form: Form = NO_FORM
    changed: bool = False

    @cached_property
    def language(self) -> Language:
        """The language to answer in."""
        offered = self.site.study.settings.study.languages
        if self.session.language in offered:
            return language(self.session.language)
        return language(preferred(self.request.headers.get("accept-language", ""), offered))

    def carrying(self, **changes: Any) -> Visit:
        """This visit with another session for the browser to carry."""
        return replace(self, session=replace(self.session, **changes), changed=True)

    def go(self, path: str) -> Response:
        """See another page of ours."""
        return self._kept(RedirectResponse(self.site.to(path), 303))

    def go_out(self, url: str) -> Response:
        """See another site."""
        return self._kept(RedirectResponse(url, 303))

    def show(self, template: str, *, status: int = 200, **told: Any) -> Response:
        """A page; a browser that gets a form with it gets a session, too."""
        asked: list[str] = []

        def token() -> str:
            asked.append(self.site.guard.token(self.session))
            return asked[-1]

        page = render(template, **self._around(), token=token, **told)
        return self._kept(HTMLResponse(page, status), needed=bool(asked) and not self.known)

    def _around(self) -> dict[str, Any]:
        """What every page is told."""
        spoken, settings = self.language, self.site.study.settings
        return {
            "say": spoken.say,
            "word": lambda key: settings.word(key, spoken.code),
            "to": self.site.to,
            "asset": lambda name: self.site.to(f"/static/{name}?v={self.site.assets[name].digest}"),
            "language": spoken,
            "languages": [language(code) for code in settings.study.languages],
            "settings": settings,
            "judge": self.judge,
            "has_groups": bool(self.site.study.groups),
            "quiet": self.session.away,
        }

    def _kept(self, response: Response, *, needed: bool = False) -> Response:
        if needed or self.changed:
            self.site.guard.keep(self.session, self.request, response)
        return response


Page = Callable[[Visit], Response]
Endpoint = Callable[[Request], Awaitable[Response]]


def page(made: Page, *, while_away: bool = False) -> Endpoint:
    """A page that is read."""

    async def endpoint(request: Request) -> Response:
        visit = arrive(request)
        return await run_in_threadpool(_served, visit, made, while_away)

    return endpoint


def post(made: Page, *, signs_up: bool = False, while_away: bool = False) -> Endpoint:
    """A form that is sent: ours, and not too many of them."""

    async def endpoint(request: Request) -> Response:
        visit = arrive(request)
        form = await read_form(request)
        _refuse_foreign(visit, form)
        _refuse_flood(visit, signs_up=signs_up)
        return await run_in_threadpool(_served, replace(visit, form=form), made, while_away)

    return endpoint


def arrive(request: Request) -> Visit:
    """A request with the session that its browser brings, or a new one."""
    site: Site = request.app.state.site
    session = site.guard.session(request)
    visit = Visit(request, site, session or Session(fresh_secret()), session is not None)
    wanted = request.query_params.get("language", "")
    if wanted in site.study.settings.study.languages and wanted != visit.session.language:
        return visit.carrying(language=wanted)
    return visit


def _served(visit: Visit, made: Page, while_away: bool) -> Response:
    """Find out who it is, and answer; a browser that left in haste sees nothing of the study."""
    refuse_host(visit.request, visit.site)
    if visit.session.away and not while_away:
        return visit.show("away.html")
    if visit.known:
        visit = replace(visit, judge=visit.site.store.judge(visit.session.secret))
    spoken = visit.session.language
    if visit.judge is not None and visit.changed and spoken != visit.judge.language:
        visit.site.store.speak(visit.judge, spoken)
    return made(visit)


def refuse_host(request: Request, site: Site) -> None:
    """Refuse a request that was meant for another name."""
    host = request.headers.get("host", "").rpartition(":")
    name = host[0] if host[2].isdigit() else "".join(host)
    if site.hosts and name.lower() not in site.hosts:
        raise HTTPException(400)


async def read_form(request: Request) -> Form:
    """The fields of a form, if it is one and not too large."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM:
        raise HTTPException(415)
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_FORM:
                raise HTTPException(413)
    except ClientDisconnect:
        raise HTTPException(400) from None
    try:
        text = body.decode("ascii", "replace")
        pairs = parse_qsl(
            text, keep_blank_values=True, errors="replace", max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise HTTPException(413) from None
    return Form(tuple(pairs))


def _refuse_foreign(visit: Visit, form: Form) -> None:
    """Forms of other sites, and of browsers that would not take our cookie."""
    if visit.known and visit.site.guard.is_ours(form.get("token"), visit.session):
        return
    count(visit.site.throttles.strangers, address(visit.request))
    raise HTTPException(403, "cookie" if not visit.known else "token")


def _refuse_flood(visit: Visit, *, signs_up: bool) -> None:
    throttles = visit.site.throttles
    if signs_up:
        count(throttles.sign_ups, address(visit.request))
    count(throttles.posts, visit.session.secret)


def count(throttle: Throttle, who: str) -> None:
    """Count a request, and refuse it where there were too many."""
    if not throttle.allows(who):
        raise HTTPException(429, headers={"Retry-After": str(throttle.wait())})


def base_of(request: Request, site: Site) -> str:
    """The address of the site as judges know it: as the study says, else as the browser did."""
    if site.public_url:
        return site.public_url
    host = quote(request.headers.get("host", ""), safe=":[]")
    return f"{request.scope.get('scheme', 'http')}://{host}{site.prefix}"
