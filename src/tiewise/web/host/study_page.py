"""The page on which a study of the site is set up: phase, copies, archive, deletion, its pilot."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

from tiewise.errors import InputError
from tiewise.hosting import lifecycle
from tiewise.hosting.locks import StudyBusy
from tiewise.study.connection import now
from tiewise.study.signup import clean_line
from tiewise.study.values import Phase, Researcher
from tiewise.web.host.overview import study_line
from tiewise.web.host.request import HostRequest
from tiewise.web.multi_study import study_database
from tiewise.web.researcher import wording
from tiewise.web.researcher.wording import sentence
from tiewise.web.site import Site

LONGEST_TITLE = 200
MESSAGES = {
    "phase": "Done. Judges see it within a second.",
    "settings": "The settings are saved. Judges see them within a second.",
    "pilot": "The study begins anew. The answers of the pilot are kept in the folder of the study.",
    "cloned": "This is the copy. It is paused until you open it.",
    "back": "The study is on the site again.",
}
WRONG_NAME = "That is not the name of the study; type it as it stands there."


def study_page(request: HostRequest) -> Response:
    """All that can be done about a study before, while and after it runs."""
    return page_of(request, message=MESSAGES.get(request.query("done"), ""))


def page_of(request: HostRequest, *, fault: str = "", message: str = "") -> Response:
    """The page, perhaps with what went wrong."""
    name, site = request.study_name(), request.site
    line = study_line(site, name, now())
    return request.show(
        "host/study.html", status=422 if fault else 200, name=name, line=line, fault=fault,
        message=message, faults=site.checks.faults(name), wording=wording, now=now(),
        judges_link=f"{request.base_url}/{name}/", copy_name=site.folder.free_name(name),
    )  # fmt: skip


def open_one(request: HostRequest) -> Site:
    """The study that the address names, as it is served."""
    app = request.site.studies.app_now(request.study_name())
    if app is None:
        raise HTTPException(404)
    one: Site = app.state.site
    return one


def as_researcher(request: HostRequest, one: Site) -> Researcher:
    """Who is signed in, as the log of the study knows them."""
    known = one.researcher(request.session.secret)
    assert known is not None
    return known


def set_phase(request: HostRequest) -> Response:
    """Open, pause or close the study."""
    one = open_one(request)
    try:
        phase = Phase(request.form.get("phase"))
    except ValueError:
        raise HTTPException(400) from None
    one.researcher_store.set_phase(phase, by=as_researcher(request, one))
    one.phase_cache.invalidate()
    return request.redirect(f"{_here(request)}?done=phase")


def clone(request: HostRequest) -> Response:
    """A copy of the study without judges and answers."""
    name, new = request.study_name(), clean_line(request.form.get("name"))
    title = clean_line(request.form.get("title"))[:LONGEST_TITLE]
    if not title:
        return page_of(request, fault="Give the copy a title.")
    try:
        database = study_database(new or "x", request.site.database_url)
        lifecycle.clone(request.site.folder, name, new, title, database)
    except FileNotFoundError:  # archived or deleted meanwhile
        return request.redirect("/?done=gone")
    except InputError as error:
        return page_of(request, fault=sentence(error))
    _let_in(request, new)
    request.site.account_store.log("clone study", new, by=request.signed_in)
    return request.redirect(f"/site/studies/{new}?done=cloned")


def _let_in(request: HostRequest, name: str) -> None:
    """Give whoever made a study access to it."""
    account = request.own_account
    if not account.may_see(name):
        request.site.account_store.set_role(
            account.researcher, account.role, studies={*account.studies, name},
            by=account.researcher,
        )  # fmt: skip


def archive(request: HostRequest) -> Response:
    """Take the study off the site; it can be brought back."""
    name, one = request.study_name(), open_one(request)
    try:
        lifecycle.archive(request.site.folder, name, one.researcher_store)
    except lifecycle.StudyAway:
        return request.redirect("/?done=gone")
    except StudyBusy:
        return request.redirect("/?done=busy")
    except InputError as error:
        return page_of(request, fault=sentence(error))
    request.site.account_store.log("archive study", name, by=request.signed_in)
    return request.redirect("/?done=archived")


def reset_pilot(request: HostRequest) -> Response:
    """Begin anew; the answers of the pilot are set apart."""
    one = open_one(request)
    if request.form.get("confirm") != request.study_name():
        return page_of(request, fault=WRONG_NAME)
    try:
        lifecycle.reset_pilot(one.study, one.store, by=as_researcher(request, one))
    except FileNotFoundError:  # archived or deleted meanwhile
        return request.redirect("/?done=gone")
    except InputError as error:
        return page_of(request, fault=sentence(error))
    return request.redirect(f"{_here(request)}?done=pilot")


def delete(request: HostRequest) -> Response:
    """Delete the study, whose name is typed; an export is kept first."""
    name, one = request.study_name(), open_one(request)
    if request.form.get("confirm") != name:
        return page_of(request, fault=WRONG_NAME)
    try:
        kept = lifecycle.delete(request.site.folder, name, one.store)
    except lifecycle.StudyAway:
        return request.redirect("/?done=gone")
    except StudyBusy:
        return request.redirect("/?done=busy")
    except InputError as error:
        return page_of(request, fault=sentence(error))
    store = request.site.account_store
    store.log("delete study", f"{name}, kept: {kept.name}", by=request.signed_in)
    store.forget_study(name)
    return request.redirect("/?done=deleted")


def _here(request: HostRequest) -> str:
    return f"/site/studies/{request.study_name()}"


# The archive.


def archive_page(request: HostRequest) -> Response:
    """Studies that are kept off the site, and exports of those that were deleted."""
    return _archive(request)


def _archive(request: HostRequest, fault: str = "") -> Response:
    folder = request.site.folder
    return request.show(
        "host/archive.html", status=422 if fault else 200, fault=fault,
        archived=folder.archived(), exports=[path.name for path in lifecycle.exports(folder)],
    )  # fmt: skip


def bring_back(request: HostRequest) -> Response:
    """Put a study of the archive on the site again."""
    name = request.form.get("name")
    try:
        lifecycle.bring_back(request.site.folder, name)
    except InputError as error:
        return _archive(request, sentence(error))
    request.site.account_store.log("bring study back", name, by=request.signed_in)
    return request.redirect("/")


def export_file(request: HostRequest) -> Response:
    """Download the export of a deleted study."""
    name = str(request.http.path_params["name"])
    path = next((one for one in lifecycle.exports(request.site.folder) if one.name == name), None)
    if path is None:
        raise HTTPException(404)
    request.site.account_store.log("download", name, by=request.signed_in)
    return FileResponse(path, filename=name, media_type="application/zip")


def remove_export(request: HostRequest) -> Response:
    """Delete the export of a deleted study."""
    name = request.form.get("name")
    for path in lifecycle.exports(request.site.folder):
        if path.name == name:
            path.unlink(missing_ok=True)
            request.site.account_store.log("delete export", name, by=request.signed_in)
    return request.redirect("/site/archive")
