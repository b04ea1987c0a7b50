"""How a researcher signs in, with a password or a one-time link, and out."""

from __future__ import annotations

from math import ceil

from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.study.researcher_store import SIGN_IN_LIFETIME
from tiewise.study.signup import clean_line
from tiewise.study.values import Researcher, TokenPurpose
from tiewise.text import quantity
from tiewise.web.request import count_request
from tiewise.web.researcher.passwords import SHORTEST, authenticate, password_fault, set_password
from tiewise.web.researcher.request import AccountRequest
from tiewise.web.security import SECRET, address, new_secret

WRONG_PASSWORD = (
    "This name and password do not belong together. Try again, or ask a fellow researcher "
    "for a one-time link."
)
TOO_MANY = (
    "Too many passwords were tried for this name, or from this network. Wait {minutes}, use a "
    "device on which you have signed in before, or ask a fellow researcher for a one-time link."
)
WRONG_CURRENT = (
    "This is not your current password. If you have forgotten it, ask a fellow researcher for a "
    "one-time link."
)
TOO_MANY_CURRENT = "Too many passwords were tried. Wait {minutes} and try again."


def sign_in_page(request: AccountRequest) -> Response:
    """The form for name and password; somebody who is signed in goes on."""
    path = request.safe_path(request.query("next"))
    if request.known and request.site.researcher_store.session(request.session.secret):
        return request.redirect(path)
    return request.show("researcher/sign_in.html", next=path, name="", fault="")


def sign_in(request: AccountRequest) -> Response:
    """Begin a session; whatever is wrong, the answer is the same."""
    name, path = clean_line(request.form.get("name")), request.safe_path(request.form.get("next"))
    device, password = _known_device(request, name), request.form.get("password")
    wait = request.site.attempts.seconds_to_wait(*_senders(request, name, device))
    if wait:
        fault = TOO_MANY.format(minutes=_minutes(wait))
        page = request.show(
            "researcher/sign_in.html", status=429, next=path, name=name, fault=fault
        )
        page.headers["Retry-After"] = str(wait)
        return page
    known = device is not None
    researcher = authenticate(request.site.researcher_store, name, password, known=known)
    if researcher is None:
        return request.show(
            "researcher/sign_in.html", status=403, next=path, name=name, fault=WRONG_PASSWORD
        )
    return _signed_in(request, researcher, path)


def _known_device(request: AccountRequest, name: str) -> str | None:
    """The secret of the device, where the researcher of this name has signed in on it before."""
    device = request.site.cookies.read_device(request.http)
    return device if device is not None and request.site.devices.knows(device, name) else None


def _senders(request: AccountRequest, name: str, device: str | None) -> tuple[str, ...]:
    """Whose attempts are counted: those of a device that is known, or of an address and a name.

    So strangers who try passwords for a name hold back strangers, and nobody who was here before.
    """
    if device is not None:
        return (f"device {device} {name}",)
    return f"address {address(request.http)}", f"name {name.casefold()}"


def _minutes(seconds: int) -> str:
    return quantity(ceil(seconds / 60), "minute")


def _signed_in(request: AccountRequest, researcher: Researcher, path: str) -> Response:
    # A new secret: one that a browser had before might be known to somebody else.
    secret = request.site.researcher_store.sign_in(researcher)
    cookies, devices = request.site.cookies, request.site.devices
    response = request.with_session(secret=secret).redirect(path)
    device = devices.remember(researcher, cookies.read_device(request.http))
    cookies.write_device(device, request.http, response)
    return response


# One-time links.


def open_link(request: AccountRequest) -> Response:
    """A button that uses up the link, as programs that scan mail follow links."""
    _checked_secret(request)
    return request.show("researcher/one_time_link.html", secret=request.http.path_params["secret"])


def use_link(request: AccountRequest) -> Response:
    """Sign in with a one-time link, and go on to choosing a password where there is none."""
    researcher = request.site.researcher_store.use_sign_in_token(_checked_secret(request))
    if researcher is None:  # used in the same moment
        raise HTTPException(404, "link")
    return _signed_in(
        request, researcher, request.home if researcher.has_password else request.password_path
    )


def _checked_secret(request: AccountRequest) -> str:
    secret = str(request.http.path_params["secret"])
    store = request.site.researcher_store
    if SECRET.fullmatch(secret) and store.is_valid_token(secret, TokenPurpose.SIGN_IN):
        return secret
    count_request(request.site.throttles.strangers, address(request.http))
    raise HTTPException(404, "link")


def new_device_link(request: AccountRequest) -> Response:
    """A one-time link for oneself, for another device."""
    me = request.signed_in
    secret = request.site.researcher_store.make_token(TokenPurpose.SIGN_IN, researcher=me, by=me)
    return one_time_link_page(
        request, secret, "A one-time link for you", "Open it on the other device."
    )


def one_time_link_page(request: AccountRequest, secret: str, title: str, advice: str) -> Response:
    """A one-time link, shown once."""
    return request.show(
        "researcher/new_link.html", title=title, label="Link",
        link=f"{request.base_url}/sign-in/{secret}",
        explanation=f"{advice} It works once, within {SIGN_IN_LIFETIME.days} days.",
    )  # fmt: skip


# For researchers who are signed in.


def password_page(request: AccountRequest) -> Response:
    """The form for a new password."""
    return _password_form(request)


def _password_form(
    request: AccountRequest, fault: str = "", field: str = "", status: int = 200
) -> Response:
    return request.show(
        "researcher/password.html", status=status, fault=fault, field=field, shortest=SHORTEST
    )


def change_password(request: AccountRequest) -> Response:
    """Set a new password, and end the other sessions and devices of this researcher."""
    new, again, me = request.form.get("password"), request.form.get("again"), request.signed_in
    fault = password_fault(new, again, me.name)
    if fault:
        return _password_form(request, fault, "password", status=422)
    if me.must_know_password:
        wait = request.site.attempts.seconds_to_wait(f"current password {me.id}")
        if wait:
            fault = TOO_MANY_CURRENT.format(minutes=_minutes(wait))
            return _password_form(request, fault, "current", status=429)
        store, current = request.site.researcher_store, request.form.get("current")
        if not authenticate(store, me.name, current, known=True):
            return _password_form(request, WRONG_CURRENT, "current", status=403)
    set_password(request.site.researcher_store, me, new)
    request.site.researcher_store.sign_out_others(me, request.session.secret)
    request.site.devices.forget_others(me, request.site.cookies.read_device(request.http))
    return request.redirect(f"{request.done_path}?done=password")


def sign_out(request: AccountRequest) -> Response:
    """End this session."""
    request.site.researcher_store.sign_out(request.session.secret)
    return request.with_session(secret=new_secret()).redirect("/sign-in")
