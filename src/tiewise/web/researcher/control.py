"""How researchers run a study: phases, fellow researchers, links for others, the trail."""

from __future__ import annotations

from datetime import timedelta

from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.errors import InputError
from tiewise.study.judge_store import now
from tiewise.study.researcher_store import Opens, Phase
from tiewise.study.signup import tidy
from tiewise.web.request import NUMBER
from tiewise.web.researcher import sign_in
from tiewise.web.researcher.downloads import TABLES
from tiewise.web.researcher.report_job import state_of
from tiewise.web.researcher.request import Watch
from tiewise.web.researcher.wording import ago, number, sentence

LONGEST_LABEL, LONGEST_REASON, MOST_DAYS = 100, 500, 3650
DONE = {
    "password": "Your password is set. Wherever else you were signed in, you are no longer.",
    "phase": "Done. Judges see it within a second.",
    "researcher": "The researcher can no longer sign in.",
    "link": "The link or token is ended.",
}
TRAIL = 500


def run(watch: Watch) -> Response:
    """Everything that can be done about a study, on one page."""
    return _run(watch, done=DONE.get(watch.request.query_params.get("done", ""), ""))


def _run(watch: Watch, *, fault: str = "", done: str = "") -> Response:
    ledger = watch.site.ledger
    papers = state_of(watch.site.store)
    told = f"From {number(papers.comparisons, 'judgement')}, {ago(papers.made or now(), now())}"
    return watch.show(
        "watch/run.html", status=422 if fault else 200, fault=fault, done=done, papers_from=told,
        researchers=ledger.researchers(), shares=ledger.passes(Opens.SHARE),
        tokens=ledger.passes(Opens.API), tables=TABLES, papers=papers,
        judges_link=f"{watch.base}/",
    )  # fmt: skip


def set_phase(watch: Watch) -> Response:
    """Open, pause or close the study."""
    try:
        phase = Phase(watch.form.get("phase"))
    except ValueError:
        raise HTTPException(400) from None
    why = tidy(watch.form.get("reason"))[:LONGEST_REASON]
    watch.site.ledger.set_phase(phase, by=watch.researcher, why=why)
    watch.site.doors.look_again()
    return watch.go("/watch/run?done=phase")


# Fellow researchers.


def add_researcher(watch: Watch) -> Response:
    """A one-time link for somebody else, new or known."""
    name = tidy(watch.form.get("name"))
    try:
        secret = watch.site.ledger.invite_researcher(name, by=watch.researcher)
    except InputError as error:
        return _run(watch, fault=sentence(error))
    return sign_in.made(watch, secret, f"A one-time link for {name}", "Send it to them alone.")


def remove_researcher(watch: Watch) -> Response:
    """Somebody may no longer sign in, and is signed out."""
    try:
        watch.site.ledger.remove_researcher(tidy(watch.form.get("name")), by=watch.researcher)
    except InputError as error:
        return _run(watch, fault=sentence(error))
    return watch.go("/watch/run?done=researcher")


# Links for others.


def make_link(watch: Watch) -> Response:
    """A link to the map for partners, or a token for programs; shown once."""
    label, days = tidy(watch.form.get("label")), tidy(watch.form.get("days"))
    if watch.form.get("kind") not in (Opens.SHARE, Opens.API):
        raise HTTPException(400)
    opens = Opens(watch.form.get("kind"))
    if not 1 <= len(label) <= LONGEST_LABEL:
        return _run(watch, fault=f"Say whom it is for, in {LONGEST_LABEL} letters at most.")
    if days and not (NUMBER.fullmatch(days) and 1 <= int(days) <= MOST_DAYS):
        return _run(watch, fault=f"{days[:20]} is no number of days; 1 to {MOST_DAYS}, or nothing.")
    lasts = timedelta(days=int(days)) if days else None
    secret = watch.site.ledger.make_pass(opens, label=label, by=watch.researcher, lasts=lasts)
    until = f"It is good for {days} days" if days else "It is good until you end it"
    return _made(watch, opens, secret, label, f"{until}.")


def _made(watch: Watch, opens: Opens, secret: str, label: str, until: str) -> Response:
    if opens == Opens.SHARE:
        return watch.show(
            "watch/made.html", title=f"A link for {label}", label="Link",
            made=f"{watch.base}/shared/{secret}",
            what="Whoever has it sees the map and the ranking, and nothing of judges. " + until,
        )  # fmt: skip
    return watch.show(
        "watch/made.html", title=f"A token for {label}", label="Token", made=secret,
        what=f"For programs that read {watch.base}/api/v1/. Whoever has it can read every "
        f"judgement. {until}",
    )  # fmt: skip


def end_link(watch: Watch) -> Response:
    """A link or token opens nothing from now on."""
    which = watch.form.get("id")
    if not NUMBER.fullmatch(which):
        raise HTTPException(400)
    watch.site.ledger.end_pass(int(which), by=watch.researcher)
    return watch.go("/watch/run?done=link")


def trail(watch: Watch) -> Response:
    """What researchers did, latest first."""
    deeds = list(watch.site.ledger.deeds(TRAIL))
    return watch.show("watch/trail.html", deeds=deeds, most=TRAIL)
