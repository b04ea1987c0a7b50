"""The page that erases what judges were promised would be erased, and reminders of that day."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from starlette.responses import Response

from tiewise.errors import InputError
from tiewise.study.backups.schedule import backup_schedule
from tiewise.study.connection import now
from tiewise.study.retention.erase import erase_study
from tiewise.study.retention.reminder import Reminder, erased_at, holds_judges, reminder
from tiewise.study.signup import clean_line
from tiewise.study.values import Phase
from tiewise.text import quantity
from tiewise.web.researcher.passwords import authenticate
from tiewise.web.researcher.wording import sentence

if TYPE_CHECKING:
    from tiewise.web.researcher.request import ResearcherRequest

WORD = "erase"
"""What is typed to confirm."""
NO_PASSWORD = "To erase a study you need a password of your own; choose one first."
NOT_CLOSED = "The study is not closed. Close it first, on the page Run."
WRONG_WORD = f"Type the word {WORD} to confirm."
WRONG_PASSWORD = "This is not your password."
TOO_MANY = "Too many passwords were tried. Wait {minutes} and try again."


def due_erasure(request: ResearcherRequest) -> Reminder | None:
    """The reminder of the day, where there is one."""
    return reminder(request.site.study.settings, request.site.store, now().date())


def erase_page(request: ResearcherRequest) -> Response:
    """What would be erased, and the form that does it."""
    return _page(request)


def _page(
    request: ResearcherRequest, fault: str = "", field: str = "", status: int = 200
) -> Response:
    store = request.site.store
    return request.show(
        "researcher/erase.html", status=status, fault=fault, field=field, word=WORD,
        due=due_erasure(request), erased=erased_at(store), holds=holds_judges(store),
        obstacle=_obstacle(request),
    )  # fmt: skip


def _obstacle(request: ResearcherRequest) -> str:
    """Why this researcher may not erase the study now; empty where they may."""
    if not request.signed_in.has_password:
        return NO_PASSWORD
    closed = request.site.researcher_store.phase() == Phase.CLOSED
    return "" if closed else NOT_CLOSED


def erase(request: ResearcherRequest) -> Response:
    """Erase the study: by a researcher with their password and the word, once it is closed."""
    if fault := _obstacle(request):
        return _page(request, fault, status=409)
    if clean_line(request.form.get("confirm")).casefold() != WORD:
        return _page(request, WRONG_WORD, "confirm", status=422)
    me, site = request.signed_in, request.site
    if wait := site.attempts.seconds_to_wait(f"current password {me.id}"):
        minutes = quantity(ceil(wait / 60), "minute")
        return _page(request, TOO_MANY.format(minutes=minutes), "password", status=429)
    password = request.form.get("password")
    if authenticate(site.accounts.researcher_store, me.name, password, known=True) is None:
        return _page(request, WRONG_PASSWORD, "password", status=403)
    schedule = backup_schedule()
    try:
        erase_study(
            request.whole_study, site.store, by=me, backups=schedule.into if schedule else None
        )
    except InputError as error:
        return _page(request, sentence(error), status=409)
    site.erasure_watch.invalidate()
    return request.redirect("/watch/run?done=erased")
