"""What the API tells of a study."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from typing import IO, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tiewise.study.export import COLUMNS, comparison_rows
from tiewise.study.snapshot_store import Snapshot, SnapshotStore
from tiewise.web.api.access import cache_headers, not_modified, weak_etag
from tiewise.web.api.bodies import (
    CoverageBody,
    CoverageItemBody,
    EstimateBody,
    EstimatesBody,
    ItemBody,
    ItemsBody,
    SnapshotBody,
    StudyBody,
)
from tiewise.web.researcher.downloads import file_response
from tiewise.web.site import Site

FORMATS = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


def study(site: Site) -> StudyBody:
    """What is asked, and how far it is."""
    about, snapshot = site.study.settings.study, site.snapshot_cache.snapshot()
    body = snapshot.body if snapshot else {}
    return {
        "title": about.title, "question": about.question, "higher": about.higher,
        "lower": about.lower, "noun": about.noun, "phase": site.phase,
        "items": len(site.study.items), "groups": list(site.study.groups),
        "goal": about.goal or None, "reliability_wanted": about.reliability,
        "reliability": body.get("reliability"), "judges": body.get("judges", 0),
        "answers": body.get("answers"), "snapshot": _snapshot(snapshot),
    }  # fmt: skip


def items(site: Site) -> ItemsBody:
    """What is compared."""
    items: list[ItemBody] = [
        {"id": item.id, "name": item.name, "group": item.group or None}
        for item in site.study.items.values()
    ]
    return {"items": items}


def estimates(site: Site) -> EstimatesBody:
    """Quality and rank of every item, with their uncertainty."""
    snapshot = site.snapshot_cache.snapshot()
    if snapshot is None:
        return {"snapshot": None, "items": []}
    body = snapshot.body
    return {
        "snapshot": _snapshot(snapshot), "engine": body["engine"], "kind": body["kind"],
        "tie": body["tie"], "variance": body["variance"], "reliability": body["reliability"],
        "top_of": body["top_of"], "cautions": body["cautions"],
        "items": _by_item(site, snapshot, EstimateBody),
    }  # fmt: skip


def coverage(site: Site) -> CoverageBody:
    """Comparisons of every item, and what hangs together."""
    snapshot = site.snapshot_cache.snapshot()
    if snapshot is None:
        return {"snapshot": None, "parts": None, "items": []}
    items = _by_item(site, snapshot, CoverageItemBody)
    return {"snapshot": _snapshot(snapshot), "parts": snapshot.body["parts"], "items": items}


def _snapshot(snapshot: Snapshot | None) -> SnapshotBody | None:
    if snapshot is None:
        return None
    made = snapshot.made.isoformat(timespec="milliseconds")
    return {"id": snapshot.id, "made": made, "comparisons": snapshot.comparisons}


def _by_item(site: Site, snapshot: Snapshot, kind: type) -> list[Any]:
    """The lists of a snapshot as one entry for each item, with the keys of its type."""
    known, body = site.study.items, snapshot.body
    names = [name for name in kind.__annotations__ if name not in ("id", "name")]
    return [
        {"id": id_, "name": known[id_].name if id_ in known else id_}
        | {name: body[name][k] for name in names}
        for k, id_ in enumerate(body["items"])
    ]


# Judgements.


def export(request: Request, site: Site) -> Response:
    """The judgements that count, as lines of JSON or as CSV."""
    kind = request.query_params.get("format", "jsonl")
    if kind not in FORMATS:
        raise HTTPException(400)
    etag = weak_etag(f"{kind}-{SnapshotStore(site.store).pulse()}")
    known = not_modified(request, etag)
    if known is not None:
        return known
    file = _export_file(site, as_csv=kind == "csv")
    return file_response(file, FORMATS[kind], cache_headers(etag))


def _export_file(site: Site, *, as_csv: bool) -> IO[bytes]:
    # Written whole before it is sent: a slow reader must not keep the database busy.
    file = tempfile.TemporaryFile()  # noqa: SIM115
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    sheet = csv.writer(text, lineterminator="\n")
    if as_csv:
        sheet.writerow(COLUMNS)
    for row in comparison_rows(site.store):
        if as_csv:
            sheet.writerow(row)
        else:
            values = {name: value or None for name, value in zip(COLUMNS, row, strict=True)}
            text.write(json.dumps(values, ensure_ascii=False) + "\n")
    text.flush()
    text.detach()
    return file
