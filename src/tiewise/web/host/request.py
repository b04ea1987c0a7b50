"""A request to the pages of a site of several studies, and who may see which."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tiewise.hosting.accounts import Account
from tiewise.study.values import Role
from tiewise.web.host.site import HostSite
from tiewise.web.request import (
    Endpoint,
    check_form,
    check_host,
    form_endpoint,
    page_endpoint,
)
from tiewise.web.researcher.request import AccountRequest
from tiewise.web.security import Session, new_secret

HOME = "/"
HOST_PATH = re.compile(
    r"/|/(site|[A-Za-z0-9][A-Za-z0-9._~-]{0,63}/watch)(/[A-Za-z0-9._~-]+)*(\?[a-z0-9=&_-]*)?"
)
RANK = {Role.VIEWER: 0, Role.RESEARCHER: 1, Role.OWNER: 2}


@dataclass(frozen=True)
class HostRequest(AccountRequest):
    """A request of somebody with an account of the site, or who has yet to sign in."""

    site: HostSite
    account: Account | None = None
    home, password_path, done_path = HOME, "/site/you", "/site/you"

    @classmethod
    def read(cls, http: Request) -> HostRequest:
        """A request with the session of its browser, or a new one."""
        site: HostSite = http.app.state.site
        check_host(http, site)
        session = site.cookies.read_researcher(http)
        return cls(http, site, session or Session(new_secret()), session is not None)

    @property
    def path(self) -> str:
        """The path of this page within the site."""
        return str(self.http.scope["path"])

    @property
    def own_account(self) -> Account:
        """The account of whoever is signed in."""
        assert self.account is not None
        return self.account

    def safe_path(self, path: str) -> str:
        """A page of the site, or of researchers of a study."""
        return path if HOST_PATH.fullmatch(path) else HOME

    def context(self) -> dict[str, Any]:
        """The values that every template of the site gets."""
        role = self.researcher.role if self.researcher else None
        return super().context() | {
            "base": "host/base.html", "path": self.path, "hosting": None, "hosted": True,
            "is_owner": role == Role.OWNER, "may_change": role in (Role.OWNER, Role.RESEARCHER),
        }  # fmt: skip

    def show_problem(self, status: int, key: str) -> Response:
        """A page about a problem, without the database, which may be the problem."""
        title, text = (
            self.language.translate(f"problem.{key}_{part}") for part in ("title", "text")
        )
        return self.show("researcher/problem.html", status=status, problem=title, text=text)

    def identified(self) -> HostRequest:
        """This request with who is signed in, if anybody is."""
        store = self.site.account_store
        known = store.session(self.session.secret) if self.known else None
        return replace(self, researcher=known, account=store.account(known) if known else None)

    def study_name(self) -> str:
        """The study that the address names, if this account may see it."""
        name = str(self.http.path_params["study"])
        if not self.own_account.may_see(name):
            raise HTTPException(404)
        return name


HostPage = Callable[[HostRequest], Response]


def public_page(page: HostPage) -> Endpoint:
    """A page that is seen before signing in."""
    return page_endpoint(HostRequest.read, page)


def public_form(page: HostPage) -> Endpoint:
    """A form that is sent before signing in, from our own pages."""
    return form_endpoint(HostRequest.read, page, check_form)


def account_page(page: HostPage, role: Role = Role.VIEWER) -> Endpoint:
    """A page for accounts of this role, or of one that may do more."""
    return page_endpoint(HostRequest.read, partial(_answer, page, role))


def account_form(page: HostPage, role: Role = Role.RESEARCHER) -> Endpoint:
    """A form for accounts of this role, or of one that may do more, from our own pages."""
    return form_endpoint(HostRequest.read, partial(_answer_form, page, role))


def _answer(page: HostPage, role: Role, request: HostRequest) -> Response:
    request = request.identified()
    if request.researcher is None:
        query = request.http.url.query
        return sign_in_first(request, request.path + (f"?{query}" if query else ""))
    check_role(request, role)
    return page(request)


def _answer_form(page: HostPage, role: Role, request: HostRequest) -> Response:
    request = request.identified()
    if request.researcher is None:
        return sign_in_first(request, HOME)
    check_form(request)
    check_role(request, role)
    return page(request)


def check_role(request: HostRequest, role: Role) -> None:
    """Refuse somebody who may not do so much, or may not see the study that the address names."""
    if RANK[request.own_account.role] < RANK[role]:
        raise HTTPException(403)
    if "study" in request.http.path_params and not request.site.folder.is_study(
        request.study_name()
    ):
        raise HTTPException(404)


def sign_in_first(request: HostRequest, path: str) -> Response:
    """Send somebody to sign in, and back afterwards."""
    onward = quote(request.safe_path(path), safe="")
    return RedirectResponse(request.site.url(f"/sign-in?next={onward}"), 303)


def problem_page(http: Request, status: int, key: str) -> Response:
    """A page about a problem with a request that may not have been read."""
    request = HostRequest(http, http.app.state.site, Session(""), known=True)
    return request.show_problem(status, key)
