"""The page on which items are added, hidden and retired."""

from __future__ import annotations

from starlette.responses import Response

from tiewise.errors import InputError
from tiewise.hosting.drafts import Draft
from tiewise.hosting.items_table import (
    LONGEST,
    add_item,
    add_item_with_file,
    has_files,
    items_version,
    remove_item,
    set_shown,
)
from tiewise.study.media.faults import FaultyFiles
from tiewise.study.study import NOT_SHOWN, Study
from tiewise.web.host.request import HostRequest
from tiewise.web.host.study_page import as_researcher, open_one
from tiewise.web.researcher.wording import sentence

MOST = 500
MESSAGES = {
    "hidden": "Judges are not asked about it until it is shown again.",
    "retired": "Judges are not asked about it any more; its answers stay.",
    "shown": "Judges are asked about it again.",
    "added": "The item is added.",
    "added-whole": "The item is added. ffmpeg is not installed, so that the recording keeps what "
    "else it may tell (names, places, devices); check that yourself, or take it out.",
    "removed": "The item is taken out; nobody had answered anything about it.",
}


def items_page(request: HostRequest) -> Response:
    """All items, or those that a search finds."""
    return _items(request, message=MESSAGES.get(request.query("done"), ""))


def _items(request: HostRequest, *, fault: str = "", message: str = "") -> Response:
    one, name = open_one(request), request.study_name()
    folder = request.site.folder.study(name)
    study, sought = Study.open(folder), request.query("find").strip().casefold()
    rows = [
        item for item in study.items.values()
        if sought in f"{item.id} {item.name} {item.group}".casefold()
    ]  # fmt: skip
    return request.show(
        "host/items.html", status=422 if fault else 200, name=name, rows=rows[:MOST],
        more=max(len(rows) - MOST, 0), number=len(study.items), fault=fault, message=message,
        answered=one.store.answered_items(), groups=study.groups, sought=request.query("find"),
        version=items_version(folder), has_map=one.maps is not None, longest=LONGEST,
        has_files=has_files(study),
        megabytes=min(study.settings.files.megabytes, request.site.quotas.file),
    )  # fmt: skip


def change_item(request: HostRequest) -> Response:
    """Hide or retire an item, show it again, or take out one that nobody has judged."""
    folder = request.site.folder.study(request.study_name())
    one, item, do = open_one(request), request.form.get("item"), request.form.get("do")
    version = request.form.get("version")
    try:
        if do == "removed":
            remove_item(folder, one.store, item, version=version)
        else:
            set_shown(folder, item, do if do in NOT_SHOWN else "", version=version)
    except InputError as error:
        return _items(request, fault=sentence(error))
    done = do if do in MESSAGES else "shown"
    one.researcher_store.log(f"item {done}", item, by=as_researcher(request, one))
    return request.redirect(f"{_here(request)}?done={done}")


def add(request: HostRequest) -> Response:
    """Add an item."""
    folder = request.site.folder.study(request.study_name())
    one = open_one(request)
    values = {key: request.form.get(key) for key in LONGEST}
    try:
        item = add_item(folder, values, version=request.form.get("version"))
    except InputError as error:
        return _items(request, fault=sentence(error))
    one.researcher_store.log("item added", item, by=as_researcher(request, one))
    return request.redirect(f"{_here(request)}?done=added")


def add_with_file(request: HostRequest, draft: Draft, fault: str) -> Response:
    """Add an item whose file is in the draft, unless there is something wrong with that."""
    folder = request.site.folder.study(request.study_name())
    one = open_one(request)
    if fault:
        return _items(request, fault=sentence(fault))
    values = {key: request.form.get(key) for key in LONGEST}
    try:
        item, copies = add_item_with_file(
            folder, values, draft, version=request.form.get("version"), quotas=request.site.quotas
        )
    except FaultyFiles as error:
        return _items(request, fault=" ".join(sentence(line) for line in error.faults))
    except InputError as error:
        return _items(request, fault=sentence(error))
    except FileNotFoundError:  # archived or deleted meanwhile
        return request.redirect("/?done=gone")
    one.researcher_store.log("item added", item, by=as_researcher(request, one))
    return request.redirect(f"{_here(request)}?done={'added' if copies.bare else 'added-whole'}")


def _here(request: HostRequest) -> str:
    return f"/site/studies/{request.study_name()}/items"
