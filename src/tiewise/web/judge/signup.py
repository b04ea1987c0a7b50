"""Pages around judging: consent and sign-up, the personal link, the quick exit, withdrawal."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.study.inviting.invitation_store import InvitationStore
from tiewise.study.inviting.panel_store import PanelStore
from tiewise.study.signup import SignUpFault, clean_line, read_answers, read_identifiers
from tiewise.web.judge.request import JudgeRequest, next_step
from tiewise.web.security import COOKIE_DAYS, SECRET, new_secret

FIELD = "about_"


def welcome_page(request: JudgeRequest) -> Response:
    """What the study is about, and the link to begin."""
    panel = read_identifiers(request.site.study.settings.panel, request.http.query_params)
    if panel:
        return _come_from_panel(request, panel)
    code = clean_line(request.query("code"))
    return request.show(
        "judge/welcome.html",
        code=code,
        traced=_is_traced(request, code),
        progress=request.site.store.progress(request.judge) if request.judge else None,
        next=next_step(request.site, request.judge),
        phase=request.site.phase,
        logo=request.site.logo_url,
        minutes=_minutes(request),
    )


def _come_from_panel(request: JudgeRequest, panel: dict[str, str]) -> Response:
    """Somebody with the link of a panel: they go on as themselves, or are new to the study.

    The address is left behind: it says who they are.
    """
    store = PanelStore(request.site.store)
    judge = store.judge(*next(iter(panel.items())))
    if judge is None:
        # Whoever used this browser before is somebody else.
        secret = new_secret() if request.judge else request.session.secret
        return request.with_session(secret=secret, panel=tuple(panel.items())).redirect("/")
    if request.judge is None or request.judge.id != judge.id:
        secret, language = store.come_back(judge), request.session.language or judge.language
        request = request.with_session(secret=secret, language=language, panel=())
    return request.redirect(next_step(request.site, judge))


def _is_traced(request: JudgeRequest, code: str) -> bool:
    """Whether answers given here can be traced to a person: by a panel's number, or an invitation.

    Where codes are typed in, everybody is told the same about them.
    """
    if request.session.panel:
        return True
    invited = code or request.site.study.settings.judges.invited_only
    return bool(invited) and InvitationStore(request.site.store).any_named()


def _minutes(request: JudgeRequest) -> int:
    """About how long it takes: as judges took so far, else as the study says; 0 for not known."""
    study = request.site.study.settings.study
    seconds = request.site.answer_times.seconds()
    return max(round(seconds * study.target / 60), 1) if seconds else study.minutes


# Sign-up.


def consent_page(request: JudgeRequest) -> Response:
    """The form for consent and sign-up; a judge who has sent it goes on."""
    step = next_step(request.site, request.judge)
    if step != "/begin":
        return request.redirect(step)
    return _consent_form(request, [], code=clean_line(request.query("code")))


def sign_up(request: JudgeRequest) -> Response:
    """A new judge, if they agree and the form is complete; a judge who is back agrees anew."""
    settings, form = request.site.study.settings, request.form
    fields = () if request.judge else settings.judges.fields
    answers = read_answers(fields, {one.name: form.get(FIELD + one.name) for one in fields})
    faults = [SignUpFault(FIELD + field, why) for field, why in answers.faults]
    # They must have agreed to the current text.
    if form.get("consent") != settings.consent.version:
        faults.insert(0, SignUpFault("consent", "consent"))
    code = clean_line(form.get("code"))
    if faults:
        return _consent_form(request, faults, code=code, status=422)
    if request.judge:
        request.site.store.record_consent(request.judge, settings.consent.version)
        return request.redirect(_after_sign_up(request))
    if _lacks_panel(request):
        return _consent_form(request, [], code=code, status=422)
    # A new secret: one that a browser had before might be known to somebody else.
    secret = request.site.cookies.sign_up_secret(form.get("token"))
    if not _add_judge(request, answers.answers, code, secret):
        panel = dict(request.session.panel)
        if panel and PanelStore(request.site.store).judge(*request.session.panel[0]):
            return _come_from_panel(request, panel)  # they signed up elsewhere meanwhile
        faults.append(SignUpFault("code", "code"))
        return _consent_form(request, faults, code=code, status=422)
    return request.with_session(secret=secret, panel=()).redirect(_after_sign_up(request))


def _after_sign_up(request: JudgeRequest) -> str:
    return "/groups" if request.site.study.groups else "/pair"


def _add_judge(request: JudgeRequest, about: dict[str, str], code: str, secret: str) -> bool:
    """Whether they are a judge now; two clicks make one judge, not two."""
    store, settings = request.site.store, request.site.study.settings
    # Where nobody needs a code, one that is good says who was invited, and another says nothing.
    needed = settings.judges.invited_only or (bool(code) and store.has_free_invite(code))
    new = store.add_judge(
        consent=settings.consent.version,
        language=request.language.code,
        about=about,
        code=code if needed else None,
        secret=secret,
        panel=dict(request.session.panel),
    )
    return new is not None or store.judge(secret) is not None


def _lacks_panel(request: JudgeRequest) -> bool:
    """Whether only those from a panel may begin, and this is somebody else."""
    panel = request.site.study.settings.panel
    return panel.only and not request.judge and not request.session.panel


def _consent_form(
    request: JudgeRequest, faults: list[SignUpFault], *, code: str, status: int = 200
) -> Response:
    settings, language = request.site.study.settings, request.language
    fields = settings.judges.fields
    labels = {FIELD + one.name: settings.label(one, language.code) for one in fields}
    return request.show(
        "judge/begin.html", status=status, code=code, again=request.judge is not None,
        faults={
            field: language.translate(f"fault.{why}", label=labels.get(field))
            for field, why in faults
        },
        values={one.name: clean_line(request.form.get(FIELD + one.name)) for one in fields},
        labels=labels, traced=_is_traced(request, code), panel_only=_lacks_panel(request),
    )  # fmt: skip


# The personal link.


def open_personal_link(request: JudgeRequest) -> Response:
    """Sign in with the personal link."""
    secret = request.http.path_params["secret"]
    judge = request.site.store.judge(secret) if SECRET.fullmatch(secret) else None
    if judge is None:
        raise HTTPException(404, "link")
    request.site.store.mark_opened(secret)
    language = request.session.language or judge.language
    request = request.with_session(secret=secret, language=language, away=False)
    return request.redirect(next_step(request.site, judge))


def personal_link_page(request: JudgeRequest) -> Response:
    """The personal link, to be copied."""
    return request.show("judge/link.html", link=f"{request.base_url}/j/{request.session.secret}")


# Leaving.


def quick_exit(request: JudgeRequest) -> Response:
    """Send the browser elsewhere; going back shows nothing of the study."""
    url = request.site.study.settings.support.exit
    return request.with_session(away=True).redirect_outside(url)


def return_from_exit(request: JudgeRequest) -> Response:
    """Show the study again after the quick exit."""
    step = next_step(request.site, request.judge) if request.judge else "/"
    return request.with_session(away=False).redirect(step)


def sign_out(request: JudgeRequest) -> Response:
    """End the session; the personal link still works."""
    return request.with_session(secret=new_secret()).redirect("/")


def withdraw_page(request: JudgeRequest) -> Response:
    """What would be erased, and the form to choose."""
    progress = request.site.store.progress(request.signed_up)
    return request.show("judge/withdraw.html", answers=sum(progress))


def withdraw(request: JudgeRequest) -> Response:
    """Erase the judge's personal data, and their answers if they choose so.

    Sent twice, the second finds no judge, and is told the same: nothing is stored.
    """
    extent = request.form.get("erase")
    if extent not in ("all", "about"):
        raise HTTPException(400)
    if request.judge is not None:
        request.site.store.withdraw(request.judge, judgements_too=extent == "all")
    return request.with_session(secret=new_secret()).redirect("/withdrawn")


def withdrawn_page(request: JudgeRequest) -> Response:
    """The data are erased."""
    return request.show("judge/withdrawn.html")


# Help.


def support_page(request: JudgeRequest) -> Response:
    """Who can help."""
    return request.show("judge/support.html")


def privacy_page(request: JudgeRequest) -> Response:
    """What is kept, and for how long."""
    named = request.site.study.settings.panel.identifiers
    return request.show(
        "judge/privacy.html", cookie_days=COOKIE_DAYS,
        traced=bool(named) or InvitationStore(request.site.store).any_named(),
    )  # fmt: skip
