"""The page of people: who may sign in to the site, in which role, and what they see."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.errors import InputError
from tiewise.hosting.accounts import Account
from tiewise.study.signup import clean_line
from tiewise.study.values import Role
from tiewise.web.host.request import HostRequest
from tiewise.web.request import NUMBER
from tiewise.web.researcher.sign_in import one_time_link_page
from tiewise.web.researcher.wording import sentence

MESSAGES = {
    "role": "Done. It holds from their next click on.",
    "removed": "They can no longer sign in.",
}
EVERY = "every"
AUDIT_ROWS = 500


def people_page(request: HostRequest) -> Response:
    """All accounts, and what an owner can do about them."""
    return _people(request, message=MESSAGES.get(request.query("done"), ""))


def _people(request: HostRequest, *, fault: str = "", message: str = "") -> Response:
    site = request.site
    return request.show(
        "host/people.html", status=422 if fault else 200, fault=fault, message=message,
        accounts=site.account_store.accounts(), roles=list(Role), studies=site.folder.studies(),
    )  # fmt: skip


def add_account(request: HostRequest) -> Response:
    """A new account, and the one-time link with which its owner signs in."""
    name = clean_line(request.form.get("name"))
    store, me = request.site.account_store, request.signed_in
    try:
        store.add_account(name, _role(request), studies=_studies(request), by=me)
    except InputError as error:
        return _people(request, fault=sentence(error))
    return _link_page(request, name)


def make_link(request: HostRequest) -> Response:
    """A one-time link for somebody who has no password, or has forgotten it."""
    return _link_page(request, _account(request).researcher.name)


def _link_page(request: HostRequest, name: str) -> Response:
    secret = request.site.account_store.invite_researcher(name, by=request.signed_in)
    return one_time_link_page(
        request, secret, f"A one-time link for {name}", "Send it to them alone."
    )


def set_role(request: HostRequest) -> Response:
    """Change what an account may do and see."""
    account = _account(request)
    try:
        request.site.account_store.set_role(
            account.researcher, _role(request), studies=_studies(request), by=request.signed_in
        )
    except InputError as error:
        return _people(request, fault=sentence(error))
    return request.redirect("/site/people?done=role")


def remove_account(request: HostRequest) -> Response:
    """Remove an account, and end its sessions."""
    try:
        request.site.account_store.remove_researcher(
            _account(request).researcher.name, by=request.signed_in
        )
    except InputError as error:
        return _people(request, fault=sentence(error))
    return request.redirect("/site/people?done=removed")


def audit_log_page(request: HostRequest) -> Response:
    """What was done on the site, latest first."""
    rows = list(request.site.account_store.audit_log(AUDIT_ROWS))
    return request.show("researcher/audit_log.html", rows=rows, most=AUDIT_ROWS)


def _account(request: HostRequest) -> Account:
    """The account that a form is about."""
    number = request.form.get("account")
    if not NUMBER.fullmatch(number):
        raise HTTPException(400)
    accounts = request.site.account_store.accounts()
    account = next((one for one in accounts if one.researcher.id == int(number)), None)
    if account is None:
        raise HTTPException(404)
    return account


def _role(request: HostRequest) -> Role:
    try:
        return Role(request.form.get("role"))
    except ValueError:
        raise HTTPException(400) from None


def _studies(request: HostRequest) -> list[str] | None:
    """The studies that were ticked; None for every study, those yet to come included."""
    if request.form.get("studies") == EVERY:
        return None
    known = set(request.site.folder.studies())
    return [name for name in request.form.all("study") if name in known]
