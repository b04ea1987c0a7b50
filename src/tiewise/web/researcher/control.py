"""The page to run a study: its phase, researchers, links for others, and the audit log."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.errors import InputError
from tiewise.study.backups.schedule import backup_schedule, backup_status
from tiewise.study.connection import now
from tiewise.study.signup import clean_line
from tiewise.study.toml.pairing_policy import SWITCHED, write_policy
from tiewise.study.values import Phase, TokenPurpose
from tiewise.text import quantity
from tiewise.web.request import NUMBER
from tiewise.web.researcher import sign_in
from tiewise.web.researcher.downloads import tables
from tiewise.web.researcher.erasure import due_erasure
from tiewise.web.researcher.report_job import report_status
from tiewise.web.researcher.request import ResearcherRequest
from tiewise.web.researcher.wording import ago, sentence

LONGEST_LABEL, LONGEST_REASON, MOST_DAYS = 100, 500, 3650
MESSAGES = {
    "password": "Your password is set. Wherever else you were signed in, you are no longer.",
    "pairing": "Pairs are chosen so from the next one on; study.toml says so.",
    "phase": "Done. Judges see it within a second.",
    "researcher": "The researcher can no longer sign in.",
    "link": "The link or token is ended.",
    "erased": "The answers are erased, and so are the files of items and the backups made here.",
}
AUDIT_ROWS = 500
API_TOKENS = (TokenPurpose.API, TokenPurpose.COMMENTS)


def control_page(request: ResearcherRequest) -> Response:
    """Everything that can be done about a study, on one page."""
    return _control(request, message=MESSAGES.get(request.query("done"), ""))


def _control(request: ResearcherRequest, *, fault: str = "", message: str = "") -> Response:
    store = request.site.researcher_store
    report = report_status(request.site.store, request.site.study.question_id)
    source = f"From {quantity(report.comparisons, 'judgement')}, {ago(report.made or now(), now())}"
    return request.show(
        "researcher/control.html", status=422 if fault else 200, fault=fault, message=message,
        researchers=store.researchers(), shares=store.tokens(TokenPurpose.SHARE),
        tokens=_tokens(request), tables=tables(request.whole_study), report=report,
        report_source=source, judges_link=f"{request.base_url}/", due=due_erasure(request),
        backups=_backups(request),
    )  # fmt: skip


def _tokens(request: ResearcherRequest) -> list[Any]:
    """Tokens for programs, with and without what judges wrote."""
    store = request.site.researcher_store
    return [*store.tokens(TokenPurpose.API), *store.tokens(TokenPurpose.COMMENTS)]


class BackupLine(NamedTuple):
    """What the page says about backups."""

    text: str
    fault: str


def _backups(request: ResearcherRequest) -> BackupLine | None:
    """How the backups stand, where the site makes them."""
    schedule = backup_schedule()
    if schedule is None:
        return None
    status = backup_status(request.site.study.folder, request.site.store, schedule)
    last = f"The last backup is from {ago(status.last, now())}" if status.last else "No backup yet"
    return BackupLine(f"{last}; {quantity(schedule.keep, 'backup')} are kept.", status.fault)


def set_phase(request: ResearcherRequest) -> Response:
    """Open, pause or close the study."""
    try:
        phase = Phase(request.form.get("phase"))
    except ValueError:
        raise HTTPException(400) from None
    why = clean_line(request.form.get("reason"))[:LONGEST_REASON]
    request.site.researcher_store.set_phase(phase, by=request.researcher, why=why)
    request.site.phase_cache.invalidate()
    return request.redirect("/watch/run?done=phase")


def switch_pairing(request: ResearcherRequest) -> Response:
    """Choose pairs in another way from now on, as study.toml then says."""
    site, policy = request.whole_site, request.form.get("policy")
    if policy not in SWITCHED or site.study.settings.pairing.policy not in SWITCHED:
        raise HTTPException(400)
    try:
        write_policy(site.study.folder / "study.toml", policy)
    except InputError as error:
        return _control(request, fault=sentence(error))
    site.policy_cache.invalidate()
    site.researcher_store.log("switch pairing", policy, by=request.researcher)
    return request.redirect("/watch/run?done=pairing")


# Fellow researchers.


def add_researcher(request: ResearcherRequest) -> Response:
    """A one-time link for somebody else, new or known."""
    name = clean_line(request.form.get("name"))
    try:
        secret = request.site.researcher_store.invite_researcher(name, by=request.researcher)
    except InputError as error:
        return _control(request, fault=sentence(error))
    return sign_in.one_time_link_page(
        request, secret, f"A one-time link for {name}", "Send it to them alone."
    )


def remove_researcher(request: ResearcherRequest) -> Response:
    """Somebody may no longer sign in, and is signed out."""
    try:
        request.site.researcher_store.remove_researcher(
            clean_line(request.form.get("name")), by=request.researcher
        )
    except InputError as error:
        return _control(request, fault=sentence(error))
    return request.redirect("/watch/run?done=researcher")


# Links for others.


def make_link(request: ResearcherRequest) -> Response:
    """A link to the map for partners, or a token for programs; shown once."""
    label, days = clean_line(request.form.get("label")), clean_line(request.form.get("days"))
    if request.form.get("kind") not in (TokenPurpose.SHARE, *API_TOKENS):
        raise HTTPException(400)
    purpose = TokenPurpose(request.form.get("kind"))
    if not 1 <= len(label) <= LONGEST_LABEL:
        return _control(request, fault=f"Say whom it is for, in {LONGEST_LABEL} letters at most.")
    if days and not (NUMBER.fullmatch(days) and 1 <= int(days) <= MOST_DAYS):
        return _control(
            request, fault=f"{days[:20]} is no number of days; 1 to {MOST_DAYS}, or nothing."
        )
    lasts = timedelta(days=int(days)) if days else None
    secret = request.site.researcher_store.make_token(
        purpose, label=label, by=request.researcher, lasts=lasts
    )
    until = f"It is good for {days} days" if days else "It is good until you end it"
    return _new_link(request, purpose, secret, label, f"{until}.")


def _new_link(
    request: ResearcherRequest, purpose: TokenPurpose, secret: str, label: str, until: str
) -> Response:
    if purpose == TokenPurpose.SHARE:
        return request.show(
            "researcher/new_link.html", title=f"A link for {label}", label="Link",
            link=f"{request.base_url}/shared/{secret}",
            explanation="Whoever has it sees the map and the ranking, and nothing of judges. "
            + until,
        )  # fmt: skip
    return request.show(
        "researcher/new_link.html", title=f"A token for {label}", label="Token", link=secret,
        explanation=f"For programs that read {request.base_url}/api/v1/. Whoever has it can read "
        f"every judgement{_and_comments(purpose)}. {until}",
    )  # fmt: skip


def _and_comments(purpose: TokenPurpose) -> str:
    return ", and what judges wrote" if purpose == TokenPurpose.COMMENTS else ""


def end_link(request: ResearcherRequest) -> Response:
    """A link or token opens nothing from now on."""
    number = request.form.get("id")
    if not NUMBER.fullmatch(number):
        raise HTTPException(400)
    request.site.researcher_store.revoke_token(int(number), by=request.researcher)
    return request.redirect("/watch/run?done=link")


def audit_log_page(request: ResearcherRequest) -> Response:
    """What researchers did, latest first."""
    rows = list(request.site.researcher_store.audit_log(AUDIT_ROWS))
    return request.show("researcher/audit_log.html", rows=rows, most=AUDIT_ROWS)
