"""How a judge comes in, comes back, and leaves: at once, for now, or for good."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.study.settings import SignUpField
from tiewise.study.signup import Fault, Told, read_answers, tidy
from tiewise.web.judge.pages import way
from tiewise.web.request import Visit, base_of
from tiewise.web.security import COOKIE_DAYS, SECRET, fresh_secret

FIELD = "about_"


def welcome(visit: Visit) -> Response:
    """What it is about, and the way in."""
    return visit.show(
        "welcome.html",
        code=tidy(visit.request.query_params.get("code", "")),
        progress=visit.site.store.progress(visit.judge) if visit.judge else None,
        next=way(visit.site, visit.judge),
        phase=visit.site.phase,
    )


# In.


def begin(visit: Visit) -> Response:
    """Consent and sign-up; somebody who has done it goes on."""
    place = way(visit.site, visit.judge)
    if place != "/begin":
        return visit.go(place)
    return _begin(visit, Told({}, []), code=tidy(visit.request.query_params.get("code", "")))


def join(visit: Visit) -> Response:
    """A new judge, if they agree and tell what has to be told; an old one agrees anew."""
    settings, form = visit.site.study.settings, visit.form
    asked = () if visit.judge else settings.judges.fields
    told = read_answers(asked, {one.name: form.get(FIELD + one.name) for one in asked})
    told = told._replace(faults=[Fault(FIELD + field, why) for field, why in told.faults])
    # The text they had before them must be the one in force.
    if form.get("consent") != settings.consent.version:
        told.faults.insert(0, Fault("consent", "consent"))
    code = tidy(form.get("code"))
    if told.faults:
        return _begin(visit, told, code=code, status=422)
    if visit.judge:
        visit.site.store.agree(visit.judge, settings.consent.version)
    elif not _joined(visit, told, code):
        told.faults.append(Fault("code", "code"))
        return _begin(visit, told, code=code, status=422)
    return visit.go("/groups" if visit.site.study.groups else "/pair")


def _joined(visit: Visit, told: Told, code: str) -> bool:
    """Whether they are a judge now; somebody who clicks twice is one judge, not two."""
    store, settings = visit.site.store, visit.site.study.settings
    new = store.welcome(
        consent=settings.consent.version,
        language=visit.language.code,
        about=told.answers,
        code=code if settings.judges.invited_only else None,
        secret=visit.session.secret,
    )
    return new is not None or store.judge(visit.session.secret) is not None


def _begin(visit: Visit, told: Told, *, code: str, status: int = 200) -> Response:
    fields = visit.site.study.settings.judges.fields
    labels = {FIELD + one.name: _label(visit, one) for one in fields}
    return visit.show(
        "begin.html", status=status, code=code, again=visit.judge is not None,
        faults={
            fault.field: visit.language.say(f"fault.{fault.why}", label=labels.get(fault.field))
            for fault in told.faults
        },
        values={one.name: tidy(visit.form.get(FIELD + one.name)) for one in fields},
        labels=labels,
    )  # fmt: skip


def _label(visit: Visit, asked: SignUpField) -> str:
    return visit.site.study.settings.label(asked, visit.language.code)


# Back.


def come_back(visit: Visit) -> Response:
    """The personal link: this browser is theirs from now on."""
    secret = visit.request.path_params["secret"]
    judge = visit.site.store.judge(secret) if SECRET.fullmatch(secret) else None
    if judge is None:
        raise HTTPException(404, "link")
    spoken = visit.session.language or judge.language
    visit = visit.carrying(secret=secret, language=spoken, away=False)
    return visit.go(way(visit.site, judge))


def link(visit: Visit) -> Response:
    """The personal link, to be taken along."""
    return visit.show(
        "link.html", link=f"{base_of(visit.request, visit.site)}/j/{visit.session.secret}"
    )


# Out.


def leave(visit: Visit) -> Response:
    """The quick exit: somewhere else, and nothing of the study when they step back."""
    return visit.carrying(away=True).go_out(visit.site.study.settings.support.exit)


def resume(visit: Visit) -> Response:
    """They say that they are back."""
    return visit.carrying(away=False).go(way(visit.site, visit.judge) if visit.judge else "/")


def sign_out(visit: Visit) -> Response:
    """This browser forgets the judge; their link still leads back."""
    return visit.carrying(secret=fresh_secret()).go("/")


def withdraw(visit: Visit) -> Response:
    """What would be erased, and the choice."""
    assert visit.judge is not None
    progress = visit.site.store.progress(visit.judge)
    return visit.show("withdraw.html", answers=sum(progress))


def erase(visit: Visit) -> Response:
    """Erase what a judge said of themselves, and their answers if they ask."""
    assert visit.judge is not None
    what = visit.form.get("erase")
    if what not in ("all", "about"):
        raise HTTPException(400)
    visit.site.store.withdraw(visit.judge, judgements_too=what == "all")
    return visit.carrying(secret=fresh_secret()).go("/withdrawn")


def withdrawn(visit: Visit) -> Response:
    """It is done."""
    return visit.show("withdrawn.html")


# Beside the way.


def support(visit: Visit) -> Response:
    """Who can help."""
    return visit.show("support.html")


def privacy(visit: Visit) -> Response:
    """What is kept, and for how long."""
    return visit.show("privacy.html", cookie_days=COOKIE_DAYS)
