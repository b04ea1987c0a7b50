"""A judge's request, and which pages a judge may see when."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tiewise.study.judge_store import JudgeWithdrawn
from tiewise.study.values import Judge, Phase
from tiewise.web.request import (
    Endpoint,
    SiteRequest,
    check_form,
    check_host,
    form_endpoint,
    page_endpoint,
)
from tiewise.web.security import Session, new_secret
from tiewise.web.site import Site
from tiewise.web.words.language import Language, preferred

NEXT_PAGE = "X-Next-Page"
"""In the request of a script that sends an answer, and in what it is answered with."""


@dataclass(frozen=True)
class JudgeRequest(SiteRequest):
    """A request of a judge, or of somebody who may become one."""

    site: Site
    judge: Judge | None = None

    @classmethod
    def read(cls, http: Request) -> JudgeRequest:
        """A request with the session of its browser, or a new one; `?language=` changes it."""
        site: Site = http.app.state.site
        session = site.cookies.read_judge(http)
        request = cls(http, site, session or Session(new_secret()), session is not None)
        code = request.query("language")
        if code in site.study.settings.study.languages and code != request.session.language:
            return request.with_session(language=code)
        return request

    @cached_property
    def language(self) -> Language:
        """The language of the session, else the one that the browser prefers."""
        offered = self.site.study.settings.study.languages
        chosen = self.session.language
        if chosen not in offered:
            chosen = preferred(self.http.headers.get("accept-language", ""), offered)
        return self.site.languages[chosen]

    @property
    def signed_up(self) -> Judge:
        """The judge, on pages that only judges see."""
        assert self.judge is not None
        return self.judge

    def context(self) -> dict[str, Any]:
        """The values that every template of judges gets."""
        chosen, settings = self.language, self.site.study.settings
        return super().context() | {
            "settings": settings,
            "preview": "Preview: nothing counts" if self.site.preview else "",
            "translate": chosen.translate,
            "study_text": lambda key: settings.word(key, chosen.code),
            "language": chosen,
            "languages": list(self.site.languages.values()),
            "judge": self.judge,
            "has_groups": bool(self.site.study.groups),
            "quiet": self.session.away,
        }

    def write_session(self, response: Response) -> None:
        """Set the signed cookie of a judge's browser."""
        self.site.cookies.write_judge(self.session, self.http, response)

    def go_on(self, path: str) -> Response:
        """Send the browser to another page once an answer is kept.

        A script is told the page in place of being sent there: it can send an answer again where
        the connection broke.
        """
        if NEXT_PAGE in self.http.headers:
            return Response(status_code=204, headers={NEXT_PAGE: self.site.url(path)})
        return self.redirect(path)

    def identified(self) -> JudgeRequest:
        """This request with its judge, whose choice of language is kept."""
        judge = self.site.store.judge(self.session.secret) if self.known else None
        chosen = self.session.language
        if judge is not None and self.session_changed and chosen != judge.language:
            self.site.store.set_language(judge, chosen)
        return replace(self, judge=judge)


JudgePage = Callable[[JudgeRequest], Response]


def judge_page(page: JudgePage, *, after_exit: bool = False) -> Endpoint:
    """The endpoint of a page; `after_exit` shows it even after the quick exit."""
    return page_endpoint(JudgeRequest.read, partial(_answer, page, after_exit))


def judge_form(page: JudgePage, *, sign_up: bool = False, after_exit: bool = False) -> Endpoint:
    """The endpoint of a form; a `sign_up` is counted as one."""
    check = partial(check_form, sign_up=sign_up)
    return form_endpoint(JudgeRequest.read, partial(_answer, page, after_exit), check)


def _answer(page: JudgePage, after_exit: bool, request: JudgeRequest) -> Response:
    check_host(request.http, request.site)
    if request.session.away and not after_exit:
        return request.show("judge/after_exit.html")
    try:
        return page(request.identified())
    except JudgeWithdrawn:  # in another tab, a moment ago
        return request.redirect("/")


# Who may see a page, and when.


def next_step(site: Site, judge: Judge | None) -> str:
    """The page that somebody has to see next: consent, then groups, then pairs."""
    if judge is None or judge.consent != site.study.settings.consent.version:
        return "/begin"
    return "/groups" if site.study.groups and not judge.chose else "/pair"


def judges_only(page: JudgePage, *, pending: Collection[str] = ()) -> JudgePage:
    """A page for judges; those with another step to take go there, unless it may be `pending`."""

    def checked(request: JudgeRequest) -> Response:
        if request.judge is None:
            return request.redirect("/")
        step = next_step(request.site, request.judge)
        return page(request) if step == "/pair" or step in pending else request.redirect(step)

    return checked


def open_only(page: JudgePage) -> JudgePage:
    """A page that is there while the study is open."""
    return _unless(page, (Phase.PAUSED, Phase.CLOSED))


def unless_closed(page: JudgePage) -> JudgePage:
    """A page that is there until the study is closed: answers to open pages are still kept."""
    return _unless(page, (Phase.CLOSED,))


def _unless(page: JudgePage, phases: Collection[Phase]) -> JudgePage:
    def checked(request: JudgeRequest) -> Response:
        phase = request.site.phase
        if phase not in phases:
            return page(request)
        status = 409 if request.http.method == "POST" else 200
        return request.show("judge/not_open.html", status=status, phase=phase)

    return checked
