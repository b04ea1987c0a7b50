"""Pages on which a study is made from uploaded files: a map, a table, or the files to compare."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from tiewise.errors import InputError
from tiewise.hosting.drafts import Draft, UploadFault, begin_draft, drafts_of
from tiewise.hosting.make_study import start_making
from tiewise.study.signup import clean_line
from tiewise.text import quantity
from tiewise.web.host.receiving import draft_of
from tiewise.web.host.request import HostRequest
from tiewise.web.request import NUMBER
from tiewise.web.researcher.wording import sentence

FIELDS = {
    "question": 500, "title": 200, "higher": 200, "lower": 200, "noun": 100, "id": 100,
    "name_column": 100, "group": 100,
}  # fmt: skip
"""What is asked of a new study, and how long it may be."""
EMPTY = dict.fromkeys((*FIELDS, "address"), "")
DEFAULTS = {"higher": "higher", "lower": "lower", "target": 30}
MOST_TARGET = 100_000
UNKNOWN = {"what": "", "done": 0, "total": 0, "faults": []}


def new_page(request: HostRequest) -> Response:
    """The drafts of this account, and a button to begin another."""
    drafts = drafts_of(request.site.folder, request.signed_in.id)
    return request.show("host/new.html", drafts=[(one, one.details()) for one in drafts])


def begin(request: HostRequest) -> Response:
    """A new draft."""
    draft = begin_draft(request.site.folder, request.signed_in.id)
    return request.redirect(f"/site/new/{draft.id}")


def draft_page(request: HostRequest) -> Response:
    """Files, what the study asks, and how far the making of it is."""
    return draft_page_of(request, draft_of(request))


def draft_page_of(request: HostRequest, draft: Draft, fault: str = "") -> Response:
    """The page of a draft, perhaps with what went wrong."""
    state = draft.state()
    if made := state.get("made"):
        return _finished(request, draft, str(made))
    running = draft.is_being_made()
    interrupted = "what" in state and not running
    return request.show(
        "host/draft.html", status=422 if fault else 200, draft=draft, fault=fault,
        state=UNKNOWN | state,
        details=EMPTY | DEFAULTS | draft.details(), files=draft.files(), running=running,
        interrupted=interrupted, quotas=request.site.quotas, quantity=quantity,
        unfinished=draft.unfinished(),
    )  # fmt: skip


def _finished(request: HostRequest, draft: Draft, name: str) -> Response:
    """Go on to the new study, to which whoever made it gets access."""
    notes = draft.state().get("notes", [])
    if not request.own_account.may_see(name):
        studies = {*request.own_account.studies, name}
        store, role = request.site.account_store, request.own_account.role
        store.set_role(request.signed_in, role, studies=studies, by=request.signed_in)
    if not draft.details().get("logged"):
        request.site.account_store.log("make study", name, by=request.signed_in)
        draft.keep_details(logged=True)
    return request.show("host/made.html", name=name, notes=notes)


def state_json(request: HostRequest) -> Response:
    """How much of a file was uploaded, for the script that sends it."""
    draft, name, size = draft_of(request), request.query("name"), request.query("size")
    if not NUMBER.fullmatch(size[:9]) or not size.isdecimal():
        raise HTTPException(400)
    try:
        return JSONResponse({"have": draft.received(name, int(size))})
    except UploadFault as error:
        return JSONResponse({"fault": sentence(error)}, 422)


def remove_file(request: HostRequest) -> Response:
    """Take a file out again."""
    draft = draft_of(request)
    try:
        draft.remove(request.form.get("name"))
    except UploadFault as error:
        return draft_page_of(request, draft, fault=sentence(error))
    return request.redirect(f"/site/new/{draft.id}")


def drop(request: HostRequest) -> Response:
    """Delete a draft with its files."""
    draft = draft_of(request)
    if draft.is_being_made():
        return draft_page_of(request, draft, fault="The study is being made now; wait for it.")
    draft.delete()
    return request.redirect("/site/new")


def make(request: HostRequest) -> Response:
    """Store the details of the study, and begin to make it."""
    draft, folder = draft_of(request), request.site.folder
    if draft.is_being_made() or draft.state().get("made"):
        return request.redirect(f"/site/new/{draft.id}")
    details = {name: clean_line(request.form.get(name))[:most] for name, most in FIELDS.items()}
    target = request.form.get("target") or str(DEFAULTS["target"])
    address = clean_line(request.form.get("address"))
    address = address or folder.free_name(details["title"] or details["question"])
    draft.keep_details(**details, address=address)
    if not (NUMBER.fullmatch(target) and 1 <= int(target) <= MOST_TARGET):
        return draft_page_of(
            request, draft, fault=f"{target[:20]} is no number of comparisons; 1 or more."
        )
    draft.keep_details(target=int(target))
    if fault := _fault(draft, details["question"], request, address):
        return draft_page_of(request, draft, fault=fault)
    start_making(draft, folder, request.site.database_url, request.site.quotas)
    return request.redirect(f"/site/new/{draft.id}")


def _fault(draft: Draft, question: str, request: HostRequest, address: str) -> str:
    """What is missing before a study can be made."""
    if not question:
        return "Write the question that judges are asked of every pair."
    if not draft.files():
        return "There are no files yet. Choose a map, a table, or the files to compare."
    try:
        request.site.folder.refuse_name(address)
    except InputError as error:
        return sentence(error)
    draft.forget_parts()
    return ""
