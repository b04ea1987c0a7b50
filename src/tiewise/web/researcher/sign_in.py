"""How a researcher signs in, with a password or a one-time link, and out."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.study.researcher_store import SIGN_IN_LIFETIME
from tiewise.study.signup import clean_line
from tiewise.study.values import Researcher, TokenPurpose
from tiewise.web.request import count_request
from tiewise.web.researcher.passwords import SHORTEST, authenticate, password_fault, set_password
from tiewise.web.researcher.request import HOME, ResearcherRequest, safe_path
from tiewise.web.security import SECRET, address, new_secret

WRONG_PASSWORD = (
    "This name and password do not belong together. Try again, or ask a fellow researcher "
    "for a one-time link."
)


def sign_in_page(request: ResearcherRequest) -> Response:
    """The form for name and password; somebody who is signed in goes on."""
    path = safe_path(request.query("next"))
    if request.known and request.site.researcher_store.session(request.session.secret):
        return request.redirect(path)
    return request.show("researcher/sign_in.html", next=path, name="", fault="")


def sign_in(request: ResearcherRequest) -> Response:
    """Begin a session; whatever is wrong, the answer is the same."""
    name, path = clean_line(request.form.get("name")), safe_path(request.form.get("next"))
    for sender in (address(request.http), f"name {name.casefold()}"):
        count_request(request.site.throttles.sign_ins, sender)
    researcher = authenticate(request.site.researcher_store, name, request.form.get("password"))
    if researcher is None:
        return request.show(
            "researcher/sign_in.html", status=403, next=path, name=name, fault=WRONG_PASSWORD
        )
    return _signed_in(request, researcher, path)


def _signed_in(request: ResearcherRequest, researcher: Researcher, path: str) -> Response:
    # A new secret: one that a browser had before might be known to somebody else.
    secret = request.site.researcher_store.sign_in(researcher)
    return request.with_session(secret=secret).redirect(path)


# One-time links.


def open_link(request: ResearcherRequest) -> Response:
    """A button that uses up the link, as programs that scan mail follow links."""
    _checked_secret(request)
    return request.show("researcher/one_time_link.html", secret=request.http.path_params["secret"])


def use_link(request: ResearcherRequest) -> Response:
    """Sign in with a one-time link, and go on to choosing a password where there is none."""
    researcher = request.site.researcher_store.use_sign_in_token(_checked_secret(request))
    if researcher is None:  # used in the same moment
        raise HTTPException(404, "link")
    return _signed_in(request, researcher, HOME if researcher.has_password else "/watch/password")


def _checked_secret(request: ResearcherRequest) -> str:
    secret = str(request.http.path_params["secret"])
    store = request.site.researcher_store
    if SECRET.fullmatch(secret) and store.is_valid_token(secret, TokenPurpose.SIGN_IN):
        return secret
    count_request(request.site.throttles.strangers, address(request.http))
    raise HTTPException(404, "link")


def new_device_link(request: ResearcherRequest) -> Response:
    """A one-time link for oneself, for another device."""
    me = request.signed_in
    secret = request.site.researcher_store.make_token(TokenPurpose.SIGN_IN, researcher=me, by=me)
    return one_time_link_page(
        request, secret, "A one-time link for you", "Open it on the other device."
    )


def one_time_link_page(
    request: ResearcherRequest, secret: str, title: str, advice: str
) -> Response:
    """A one-time link, shown once."""
    return request.show(
        "researcher/new_link.html", title=title, label="Link",
        link=f"{request.base_url}/sign-in/{secret}",
        explanation=f"{advice} It works once, within {SIGN_IN_LIFETIME.days} days.",
    )  # fmt: skip


# For researchers who are signed in.


def password_page(request: ResearcherRequest) -> Response:
    """The form for a new password."""
    return request.show("researcher/password.html", fault="", shortest=SHORTEST)


def change_password(request: ResearcherRequest) -> Response:
    """Set a new password, and end the other sessions of this researcher."""
    new, again = request.form.get("password"), request.form.get("again")
    fault = password_fault(new, again, request.signed_in.name)
    if fault:
        return request.show("researcher/password.html", status=422, fault=fault, shortest=SHORTEST)
    set_password(request.site.researcher_store, request.signed_in, new)
    request.site.researcher_store.sign_out_others(request.signed_in, request.session.secret)
    return request.redirect("/watch/run?done=password")


def sign_out(request: ResearcherRequest) -> Response:
    """End this session."""
    request.site.researcher_store.sign_out(request.session.secret)
    return request.with_session(secret=new_secret()).redirect("/sign-in")
