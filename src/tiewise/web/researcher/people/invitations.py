"""The page of invitations: who is invited by name, fresh links, reminders, and mail."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.errors import InputError
from tiewise.study.connection import now
from tiewise.study.inviting.delivery import Delivery, MailText, delivery_status
from tiewise.study.inviting.invitation_store import Invitation, InvitationState, InvitationStore
from tiewise.study.inviting.mail import MailServer, mail_server, text_problem
from tiewise.study.inviting.people import Invitee, read_invitees, read_lines
from tiewise.study.signup import clean_line
from tiewise.text import quantity
from tiewise.web.request import NUMBER, SentFile
from tiewise.web.researcher.people.sheet import cards, merge_table
from tiewise.web.researcher.wording import ago, sentence
from tiewise.web.words.of_study import mail_text

if TYPE_CHECKING:
    from tiewise.web.researcher.request import ResearcherRequest

ENDINGS = (".csv", ".tsv", ".xlsx")
MOST_LETTERS = 5000
HOW = ("page", "csv", "mail")
WHOM = (InvitationState.AWAITED, InvitationState.BEGUN)
MESSAGES = {
    "mail": "The mail is being sent; this page says how far it is.",
    "removed": "They are removed: their links open nothing, and their names are erased.",
}


def invitations_page(request: ResearcherRequest) -> Response:
    """Everybody who is invited, how far each is, and what can be done."""
    done = request.query("done")
    added = request.query("added")
    if NUMBER.fullmatch(added):
        number = int(added)
        message = f"{quantity(number, 'person', 'people').capitalize()} added."
        return _page(request, message=message if number else "All of them were there already.")
    return _page(request, message=MESSAGES.get(done, ""))


def _page(
    request: ResearcherRequest, *, fault: str = "", message: str = "", status: int = 422
) -> Response:
    store, target = InvitationStore(request.site.store), _target(request)
    people = store.all()
    counts = Counter(one.state(target) for one in people)
    order = {state: k for k, state in enumerate(InvitationState)}
    people.sort(key=lambda one: order[one.state(target)])
    number, used = store.anonymous()
    return request.show(
        "researcher/invitations.html", status=status if fault else 200, fault=fault,
        message=message, people=people, target=target, counts=counts, states=InvitationState,
        now=now(), ago=ago,
        anonymous=number, anonymous_used=used, server=mail_server(), mail=_mail_form(request),
        delivery=delivery_status(request.site.store), text=request.form.get("people"),
        site_link=f"{request.base_url}/", most=MOST_LETTERS, quantity=quantity,
    )  # fmt: skip


def _target(request: ResearcherRequest) -> int:
    return request.whole_study.settings.study.target


def _mail_form(request: ResearcherRequest) -> MailText:
    """The text of a mail as it was written, or as the language of the study proposes it."""
    proposed = mail_text(request.whole_study)
    written = {name: request.form.get(name) for name in MailText._fields}
    return proposed._replace(**{name: text for name, text in written.items() if text.strip()})


# People.


def add_people(request: ResearcherRequest) -> Response:
    """Invite those in a file, or those who are named one a line."""
    file = request.form.file("file")
    try:
        people = _of_file(file) if file else read_lines(request.form.get("people"))
    except InputError as error:
        return _page(request, fault=sentence(error))
    added = InvitationStore(request.site.store).add(people, by=request.researcher)
    return request.redirect(f"/watch/invite?added={added}")


def _of_file(file: SentFile) -> list[Invitee]:
    ending = Path(file.name).suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"the name of the file ends in none of {', '.join(ENDINGS)}; save it so")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"people{ending}"
        path.write_bytes(file.content)
        try:
            return read_invitees(path)
        except InputError as error:
            raise InputError(str(error).replace(f"{folder}/", "")) from None


def remove_people(request: ResearcherRequest) -> Response:
    """Forget those who have not come."""
    numbers = _ticked(request)
    if not numbers:
        return _page(request, fault="Tick those who are to be removed.")
    InvitationStore(request.site.store).remove(numbers, by=request.researcher)
    return request.redirect("/watch/invite?done=removed")


def _ticked(request: ResearcherRequest) -> list[int]:
    who = request.form.all("who")
    if not all(NUMBER.fullmatch(number) for number in who):
        raise HTTPException(400)
    return list(dict.fromkeys(map(int, who)))


# Links.


def make_links(request: ResearcherRequest) -> Response:
    """Fresh links for those who are chosen: on a page to print, as a table, or by mail."""
    how = request.form.get("how")
    if how not in HOW:
        raise HTTPException(400)
    chosen = _chosen(request)
    if not chosen:
        return _page(request, fault="There is nobody to make a link for; choose others.")
    if how == "mail":
        return _send(request, chosen)
    links = InvitationStore(request.site.store).issue(
        [one.id for one in chosen], by=request.researcher
    )
    if how == "csv":
        return Response(
            merge_table(links, request.base_url), media_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": 'attachment; filename="invitations.csv"'},
        )  # fmt: skip
    return request.show("researcher/links.html", cards=cards(links, request.base_url))


def _chosen(request: ResearcherRequest) -> list[Invitation]:
    """Those who are ticked, or all who have not come, or all who are half-way."""
    people, target = InvitationStore(request.site.store).all(), _target(request)
    whom = request.form.get("whom")
    if whom in WHOM:
        return [one for one in people if one.state(target) == whom]
    ticked = set(_ticked(request))
    return [one for one in people if one.id in ticked and one.state(target) in WHOM]


def _send(request: ResearcherRequest, chosen: Sequence[Invitation]) -> Response:
    server, text = mail_server(), _mail_form(request)
    numbers = [one.id for one in chosen if one.mail]
    fault = _mail_fault(server, text, numbers)
    if fault or server is None:
        return _page(request, fault=fault)
    delivery = Delivery(request.site.store, server, request.base_url)
    if not delivery.begin(len(numbers)):
        return _page(request, fault="Mail is being sent already; wait until that is done.")
    text = text._replace(subject=clean_line(text.subject))
    run: dict[str, Any] = {"by": request.researcher}
    Thread(target=delivery.run, args=(numbers, text), kwargs=run, daemon=True).start()
    return request.redirect("/watch/invite?done=mail")


def _mail_fault(server: MailServer | None, text: MailText, numbers: Sequence[int]) -> str:
    """Why no mail can be sent; empty where it can."""
    if server is None:
        return "This site has no mail server; docs/inviting.md says how it gets one."
    if not numbers:
        return "None of them has a mail address; make links to hand out in another way."
    if any(len(part) > MOST_LETTERS for part in text):
        return f"The text is too long; {MOST_LETTERS} letters at most."
    return text_problem(text.first) or text_problem(text.again)
