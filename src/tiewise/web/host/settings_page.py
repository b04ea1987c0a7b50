"""Pages on which the settings of a study are changed: in a form, or as the file that they are."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.responses import Response

from tiewise.errors import InputError
from tiewise.hosting.locks import StudyBusy
from tiewise.hosting.settings_file import (
    ChangedMeanwhile,
    RefusedSettings,
    change_settings,
    read_text,
    version_of,
    with_values,
)
from tiewise.study.settings import read_settings
from tiewise.web.host.request import HostRequest
from tiewise.web.host.settings_form import changed_values, filled_in, setting_tables
from tiewise.web.host.study_page import as_researcher, open_one
from tiewise.web.researcher.wording import sentence


def settings_page(request: HostRequest) -> Response:
    """Every single setting in a form."""
    return _form(request)


def _form(request: HostRequest, faults: Sequence[str] = (), *, keep: bool = True) -> Response:
    folder = request.site.folder.study(request.study_name())
    text = read_text(folder)
    try:
        tables = setting_tables(read_settings(folder / "study.toml"))
    except InputError as error:  # changed by hand, and not yet right
        return _file(request, [str(error)])
    version = version_of(text)
    if faults and keep:
        tables, version = filled_in(tables, request.form), request.form.get("version")
    return request.show(
        "host/settings.html", status=422 if faults else 200, tables=tables, version=version,
        faults=faults, name=request.study_name(),
    )  # fmt: skip


def save_settings(request: HostRequest) -> Response:
    """Keep what was changed in the form, as a person would have written it."""
    folder = request.site.folder.study(request.study_name())
    text = read_text(folder)
    if version_of(text) != request.form.get("version"):
        return _form(request, [MEANWHILE], keep=False)
    try:
        settings = read_settings(folder / "study.toml")
    except InputError as error:
        return _file(request, [str(error)])
    values, faults = changed_values(settings, request.form)
    if faults:
        return _form(request, faults)
    return _change(request, with_values(text, values), ", ".join(values), _form)


MEANWHILE = (
    "Somebody else has changed these settings since you opened them; nothing of yours was kept. "
    "They are shown below as they are now: change them again."
)


def _change(request: HostRequest, text: str, what: str, show: object) -> Response:
    one = open_one(request)
    folder = request.site.folder.study(request.study_name())
    page = _file if show is _file else _form
    try:
        change_settings(folder, one.store, text, version=request.form.get("version"))
    except ChangedMeanwhile:
        return page(request, [MEANWHILE], keep=False)
    except StudyBusy as error:
        return page(request, [sentence(error)])
    except RefusedSettings as error:
        return page(request, [sentence(fault) for fault in error.faults])
    if what:
        one.researcher_store.log("change settings", what[:500], by=as_researcher(request, one))
    return request.redirect(f"/site/studies/{request.study_name()}?done=settings")


def file_page(request: HostRequest) -> Response:
    """The file itself, with its remarks: also for questions, anchors, fields and translations."""
    return _file(request)


def _file(request: HostRequest, faults: Sequence[str] = (), *, keep: bool = True) -> Response:
    folder = request.site.folder.study(request.study_name())
    text = read_text(folder)
    version = version_of(text)
    if faults and keep and request.form.get("text"):
        text, version = request.form.get("text"), request.form.get("version")
    return request.show(
        "host/settings_file.html", status=422 if faults else 200, text=text, version=version,
        faults=faults, name=request.study_name(),
    )  # fmt: skip


def save_file(request: HostRequest) -> Response:
    """Keep the file as it was edited."""
    text = request.form.get("text").replace("\r\n", "\n")
    if not text.strip():
        raise HTTPException(400)
    return _change(request, text, "study.toml", _file)
