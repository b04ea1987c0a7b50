"""A researcher's request, and who may see which page."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from tiewise.study.study import Study
from tiewise.study.values import Researcher, Role, TokenPurpose
from tiewise.web.request import (
    Endpoint,
    SiteRequest,
    check_form,
    check_host,
    count_request,
    form_endpoint,
    page_endpoint,
)
from tiewise.web.security import SECRET, Session, SessionCookies, address, new_secret
from tiewise.web.site import Site

HOME = "/watch"
RESEARCHER_PATH = re.compile(r"/watch(/[a-z0-9]+)*(\?[a-z0-9=&_-]*)?")


@dataclass(frozen=True)
class AccountRequest(SiteRequest):
    """A request of somebody who has an account, or has yet to sign in."""

    researcher: Researcher | None = None

    @property
    def signed_in(self) -> Researcher:
        """The researcher, on pages that only researchers see."""
        assert self.researcher is not None
        return self.researcher

    @property
    @abstractmethod
    def home(self) -> str:
        """The page that somebody who has signed in sees first."""

    @property
    @abstractmethod
    def password_path(self) -> str:
        """The page on which they choose a password."""

    @property
    @abstractmethod
    def done_path(self) -> str:
        """The page that says what was done, by `done=`."""

    @abstractmethod
    def safe_path(self, path: str) -> str:
        """A page of theirs to go on to; never one of another site."""

    def context(self) -> dict[str, Any]:
        """The values of templates that are shown before and after signing in."""
        return super().context() | {
            "researcher": self.researcher, "home": self.home, "done_path": self.done_path,
            "password_path": self.password_path,
        }  # fmt: skip

    def write_session(self, response: Response) -> None:
        """Set the cookie of a researcher's browser."""
        self.cookies.write_researcher(self.session, self.http, response)


@dataclass(frozen=True)
class ResearcherRequest(AccountRequest):
    """A request of a researcher, of a partner, or of somebody who has yet to sign in."""

    site: Site
    home, password_path, done_path = HOME, "/watch/password", "/watch/run"

    @classmethod
    def read(cls, http: Request) -> ResearcherRequest:
        """A request with the session of its browser, or a new one."""
        site: Site = http.app.state.site
        check_host(http, site)
        session = site.accounts.cookies.read_researcher(http)
        asked = site.asked(_question(http, site))
        return cls(http, asked, session or Session(new_secret()), session is not None)

    @property
    def may_change(self) -> bool:
        """Whether somebody is signed in who may do more than look."""
        return self.researcher is not None and self.researcher.role != Role.VIEWER

    def safe_path(self, path: str) -> str:
        """A page of the study."""
        return safe_path(path)

    @property
    def cookies(self) -> SessionCookies:
        """Those of the site on which researchers sign in."""
        return self.site.accounts.cookies

    @property
    def path(self) -> str:
        """The path of this page within the study."""
        scope = self.http.scope
        return str(scope["path"]).removeprefix(scope.get("root_path", ""))

    def show(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page that says in which phase the study is."""
        return super().show(template, status=status, phase=self.site.phase, **values)

    def show_problem(self, status: int, key: str) -> Response:
        """A page about a problem, without the database, which may be the problem."""
        title, text = (
            self.language.translate(f"problem.{key}_{part}") for part in ("title", "text")
        )
        return super().show("researcher/problem.html", status=status, problem=title, text=text)

    def context(self) -> dict[str, Any]:
        """The values that every template of researchers gets."""
        return super().context() | {
            "settings": self.site.study.settings, "base": "researcher/base.html",
            "study": self.site.study, "path": self.path, "url": self.url,
            "hosting": self.site.hosting, "hosted": False, "may_change": self.may_change,
            "questions": self.whole_study.settings.questions,
            "listed": self.whole_study.design is not None,
            "asks_why": self.site.study.settings.reasons.asked, "also": self._also,
        }  # fmt: skip

    @property
    def whole_site(self) -> Site:
        """The site with all questions; `site` is that of the one that is looked at."""
        site: Site = self.http.app.state.site
        return site

    @property
    def whole_study(self) -> Study:
        """The study with all of its questions."""
        return self.whole_site.study

    def url(self, path: str) -> str:
        """The path of a page on its host; pages of a study go on with the question looked at."""
        if not self._also or not path.startswith((HOME, "/shared")):
            return self.site.url(path)
        before, mark, fragment = self.site.url(path).partition("#")
        also = self._also if "?" in before else f"?{self._also[1:]}"
        return f"{before}{also}{mark}{fragment}"

    @property
    def _also(self) -> str:
        """What an address has besides, so that the question that is looked at stays the same."""
        question = self.site.study.question_id
        first = self.whole_study.settings.question_ids[0]
        return "" if question == first else f"&question={question}"

    def redirect(self, path: str) -> Response:
        """Send the browser to another page of the study, with the question looked at."""
        return self.redirect_outside(self.url(path))

    def identified(self) -> ResearcherRequest:
        """This request with the researcher who is signed in, if anybody is."""
        secret = self.session.secret
        return replace(self, researcher=self.site.researcher(secret) if self.known else None)


def _question(http: Request, site: Site) -> str:
    """The id of the question that the address names, else of the first."""
    ids = site.study.settings.question_ids
    named = http.query_params.get("question", "")
    return named if named in ids else ids[0]


ResearcherPage = Callable[[ResearcherRequest], Response]


def researcher_page(
    page: ResearcherPage, *, for_script: bool = False, viewers: bool = True
) -> Endpoint:
    """A page for researchers; others are sent to sign in, and scripts get a 401.

    `viewers` is whether those may see it who have come only to look.
    """
    answer = partial(_answer, page, for_script=for_script, viewers=viewers)
    return page_endpoint(ResearcherRequest.read, answer)


def researcher_form(page: ResearcherPage, *, files: bool = False) -> Endpoint:
    """A form of researchers, from our own pages, perhaps with `files`."""
    return form_endpoint(ResearcherRequest.read, partial(_answer_form, page), files=files)


def public_page(page: ResearcherPage) -> Endpoint:
    """A page that is seen before signing in."""
    return page_endpoint(ResearcherRequest.read, page)


def public_form(page: ResearcherPage) -> Endpoint:
    """A form that is sent before signing in, from our own pages."""
    return form_endpoint(ResearcherRequest.read, page, check_form)


def partner_page(page: ResearcherPage) -> Endpoint:
    """A page for whoever has its link, until that is ended."""
    return page_endpoint(ResearcherRequest.read, partial(_answer_partner, page))


def _answer(
    page: ResearcherPage, request: ResearcherRequest, *, for_script: bool, viewers: bool
) -> Response:
    request = request.identified()
    if request.researcher is not None:
        if not viewers:
            _refuse_viewers(request)
        return page(request)
    if for_script:
        return JSONResponse({"error": "sign in first"}, 401)
    query = request.http.url.query
    return _sign_in_first(request, safe_path(request.path + (f"?{query}" if query else "")))


def _answer_form(page: ResearcherPage, request: ResearcherRequest) -> Response:
    request = request.identified()
    if request.researcher is None:
        return _sign_in_first(request, HOME)
    check_form(request)
    _refuse_viewers(request)
    return page(request)


def _refuse_viewers(request: ResearcherRequest) -> None:
    if not request.may_change:
        raise HTTPException(403, "role")


def _sign_in_first(request: ResearcherRequest, path: str) -> Response:
    accounts = request.site.accounts
    here = request.site.url("").removeprefix(accounts.url(""))
    url = accounts.url(f"/sign-in?next={quote(here + path, safe='')}")
    return RedirectResponse(url, 303)


def _answer_partner(page: ResearcherPage, request: ResearcherRequest) -> Response:
    secret = request.http.path_params["secret"]
    if not SECRET.fullmatch(secret) or not request.site.researcher_store.is_valid_token(
        secret, TokenPurpose.SHARE
    ):
        count_request(request.site.throttles.strangers, address(request.http))
        raise HTTPException(404, "link")
    return page(request)


def problem_page(http: Request, status: int, key: str) -> Response:
    """A page about a problem with a request that may not have been read."""
    request = ResearcherRequest(http, http.app.state.site, Session(""), known=True)
    return request.show_problem(status, key)


def safe_path(path: str) -> str:
    """A page of researchers to go on to; never one of another site."""
    return path if RESEARCHER_PATH.fullmatch(path) else HOME
