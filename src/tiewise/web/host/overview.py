"""The page of all studies of a site: how far each is, and what wants attention."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from starlette.responses import Response

from tiewise import text
from tiewise.study.connection import now
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.values import Phase
from tiewise.text import quantity, rounded_down
from tiewise.web.host.request import HostRequest
from tiewise.web.host.site import HostSite
from tiewise.web.researcher import wording
from tiewise.web.serving.health import WORKER_SECONDS, worker_age
from tiewise.web.site import Site

QUIET_DAYS = 7
"""After so many days without an answer, an open study wants attention."""
LEAST_FREE = 0.1
"""The share of the disk that is to be free."""


class Attention(NamedTuple):
    """Something to look at, and the page that it leads to."""

    text: str
    path: str


class StudyLine(NamedTuple):
    """A study on the page of all of them."""

    name: str
    title: str
    phase: str = ""
    items: int = 0
    judgements: int = 0
    reliability: str = ""
    last: datetime | None = None
    attention: tuple[Attention, ...] = ()
    opened: bool = True
    """Whether judges can reach it."""


MESSAGES = {
    "archived": "The study is in the archive. It can be brought back at any time.",
    "gone": "Somebody else archived or deleted that study a moment before; nothing was done.",
    "busy": "Somebody else is exporting that study to delete it or to set a pilot apart, or adds "
    "an item with a file; nothing was done. Try again in a minute.",
    "deleted": "The study is deleted. What was kept of it is in the archive.",
}


def overview_page(request: HostRequest) -> Response:
    """All studies that this account may see, those that want attention first."""
    site, at = request.site, now()
    names = [name for name in site.folder.studies() if request.own_account.may_see(name)]
    lines = [study_line(site, name, at) for name in names]
    lines.sort(key=lambda line: (not line.attention, line.title.casefold()))
    return request.show(
        "host/overview.html", lines=lines, now=at, wording=wording, text=text,
        free=_little_disk(site),
        judgements=sum(line.judgements for line in lines),
        message=MESSAGES.get(request.query("done"), ""),
    )  # fmt: skip


def study_line(site: HostSite, name: str, at: datetime) -> StudyLine:
    """What the page says of one study."""
    app, fault = site.studies.app_now(name), site.studies.fault(name)
    if app is None:
        return StudyLine(
            name, name, opened=False,
            attention=(
                Attention(_within(site, name, fault) or "It is being opened.", manage(name)),
            ),
        )  # fmt: skip
    one: Site = app.state.site
    activity, snapshot = one.pace.activity(), one.snapshot_cache.snapshot()
    last = max(activity.last, default=None)
    reliability = rounded_down(float(snapshot.body["reliability"])) if snapshot else ""
    return StudyLine(
        name, one.study.settings.study.title, one.phase, len(one.study.items),
        sum(day.comparisons for day in activity.days), reliability, last,
        tuple(_attention(site, one, name, last, at)),
    )  # fmt: skip


def _within(site: HostSite, name: str, line: str) -> str:
    """A message with files named as in the folder of the study, not by paths of this machine."""
    folder = str(site.folder.study(name))
    return line.replace(f"{folder}/", "").replace(folder, "the study")


def manage(name: str) -> str:
    """The page on which a study is set up."""
    return f"/site/studies/{name}"


def _attention(
    site: HostSite, one: Site, name: str, last: datetime | None, at: datetime
) -> Iterator[Attention]:
    """What needs attention in a study."""
    if fault := site.studies.fault(name):
        reason = _within(site, name, fault)
        yield Attention(f"Its files were changed and cannot be used: {reason}", manage(name))
    for line in site.checks.faults(name)[:1]:
        yield Attention(f"A check found: {_within(site, name, line)}", manage(name))
    if one.phase == Phase.OPEN and last is not None and at - last > timedelta(days=QUIET_DAYS):
        yield Attention(f"No answer for {quantity((at - last).days, 'day')}", f"/{name}/watch")
    if one.live and one.phase != Phase.CLOSED and _is_stale(one):
        yield Attention("The live picture is not renewed", f"/{name}/watch")
    if flagged := _flagged(one):
        yield Attention(f"{quantity(flagged, 'judge')} to look at", f"/{name}/watch/judges")


def _is_stale(one: Site) -> bool:
    return worker_age(SnapshotStore(one.store), one.health.started) > WORKER_SECONDS


def _flagged(one: Site) -> int:
    """How many judges who count have flags."""
    left_out = one.researcher_store.excluded()
    rows = one.snapshot_cache.judges()
    return sum(bool(row["flags"]) and row["judge"] not in left_out for row in rows)


def _little_disk(site: HostSite) -> str:
    """A sentence, where the disk is nearly full."""
    usage = shutil.disk_usage(site.folder.path)
    if usage.free >= LEAST_FREE * usage.total:
        return ""
    return (
        f"The disk is nearly full: {usage.free / 1e9:.1f} GB of {usage.total / 1e9:.0f} GB are "
        "free. Make room, before answers cannot be kept."
    )
