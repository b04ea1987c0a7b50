"""How a researcher comes in: with a password, or with a link that works once; and out again."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.study.researcher_store import ONCE, Opens, Researcher
from tiewise.study.signup import tidy
from tiewise.web.request import count
from tiewise.web.researcher.passwords import SHORTEST, fault, set_password, who_signs_in
from tiewise.web.researcher.request import FIRST, Watch, inside
from tiewise.web.security import SECRET, address, fresh_secret

NO = (
    "This name and password do not belong together. Try again, or ask a fellow researcher "
    "for a one-time link."
)


def ask(watch: Watch) -> Response:
    """Name and password, please; somebody who is signed in goes on."""
    wanted = inside(watch.request.query_params.get("next", ""))
    if watch.known and watch.site.ledger.session(watch.secret):
        return watch.go(wanted)
    return watch.show("watch/sign_in.html", next=wanted, name="", fault="")


def sign_in(watch: Watch) -> Response:
    """Begin a session; whatever is wrong, the answer is the same."""
    name, wanted = tidy(watch.form.get("name")), inside(watch.form.get("next"))
    for who in (address(watch.request), f"name {name.casefold()}"):
        count(watch.site.throttles.sign_ins, who)
    found = who_signs_in(watch.site.ledger, name, watch.form.get("password"))
    if found is None:
        return watch.show("watch/sign_in.html", status=403, next=wanted, name=name, fault=NO)
    return _signed_in(watch, found, wanted)


def _signed_in(watch: Watch, who: Researcher, wanted: str) -> Response:
    # A new secret: one that a browser had before might be known to somebody else.
    return watch.carrying(watch.site.ledger.sign_in(who)).go(wanted)


# A link that works once.


def link(watch: Watch) -> Response:
    """A button that uses the link up: programs that look through mail follow links."""
    _good(watch)
    return watch.show("watch/link.html", secret=watch.request.path_params["secret"])


def use_link(watch: Watch) -> Response:
    """Sign in with a one-time link, and go on to choosing a password where there is none."""
    who = watch.site.ledger.use_sign_in(_good(watch))
    if who is None:  # used in the same moment
        raise HTTPException(404, "link")
    return _signed_in(watch, who, FIRST if who.has_password else "/watch/password")


def _good(watch: Watch) -> str:
    secret = str(watch.request.path_params["secret"])
    if SECRET.fullmatch(secret) and watch.site.ledger.may_open(secret, Opens.SIGN_IN):
        return secret
    count(watch.site.throttles.strangers, address(watch.request))
    raise HTTPException(404, "link")


def another_link(watch: Watch) -> Response:
    """A one-time link for oneself, for another device."""
    me = _me(watch)
    secret = watch.site.ledger.make_pass(Opens.SIGN_IN, researcher=me, by=me)
    return made(watch, secret, "A one-time link for you", "Open it on the other device.")


def made(watch: Watch, secret: str, title: str, what: str) -> Response:
    """A one-time link, shown once."""
    return watch.show(
        "watch/made.html", title=title, label="Link", made=f"{watch.base}/sign-in/{secret}",
        what=f"{what} It works once, within {ONCE.days} days.",
    )  # fmt: skip


# Once inside.


def _me(watch: Watch) -> Researcher:
    assert watch.researcher is not None
    return watch.researcher


def password(watch: Watch) -> Response:
    """A new password, please."""
    return watch.show("watch/password.html", fault="", shortest=SHORTEST)


def change_password(watch: Watch) -> Response:
    """Keep a new password; whoever is signed in elsewhere as this researcher is signed out."""
    new, again = watch.form.get("password"), watch.form.get("again")
    why = fault(new, again, _me(watch).name)
    if why:
        return watch.show("watch/password.html", status=422, fault=why, shortest=SHORTEST)
    set_password(watch.site.ledger, _me(watch), new)
    watch.site.ledger.sign_out_others(_me(watch), watch.secret)
    return watch.go("/watch/run?done=password")


def sign_out(watch: Watch) -> Response:
    """End this session."""
    watch.site.ledger.sign_out(watch.secret)
    return watch.carrying(fresh_secret()).go("/sign-in")
