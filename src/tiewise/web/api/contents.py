"""The contents of the API's answers about a study."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from typing import IO, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tiewise.study.asking.comment_store import CommentStore
from tiewise.study.export import columns, judgement_rows
from tiewise.study.snapshot_store import Snapshot, SnapshotStore
from tiewise.web.api.access import cache_headers, not_modified, weak_etag
from tiewise.web.api.bodies import (
    CommentBody,
    CommentsBody,
    CoverageBody,
    CoverageItemBody,
    EstimateBody,
    EstimatesBody,
    ItemBody,
    ItemsBody,
    QuestionBody,
    SnapshotBody,
    StudyBody,
)
from tiewise.web.researcher.downloads import file_response
from tiewise.web.researcher.estimates import SCORES
from tiewise.web.site import Site

FORMATS = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


def study(site: Site) -> StudyBody:
    """What is asked, and how far it is."""
    about, snapshot = site.study.settings.study, site.snapshot_cache.snapshot()
    body = snapshot.body if snapshot else {}
    answer: StudyBody = {
        "title": about.title, "question": about.question, "higher": about.higher,
        "lower": about.lower, "noun": about.noun, "phase": site.phase,
        "items": len(site.study.items), "groups": list(site.study.groups),
        "goal": about.goal or None, "reliability_wanted": about.reliability,
        "reliability": body.get("reliability"), "judges": body.get("judges", 0),
        "answers": body.get("answers"), "grades": body.get("grades"),
        "snapshot": _snapshot(snapshot),
    }  # fmt: skip
    if site.questions:
        answer |= {"question_id": site.study.question_id, "questions": _questions(site)}
    return answer


def _questions(site: Site) -> list[QuestionBody]:
    return [
        {"id": one.id, "question": one.question, "higher": one.higher, "lower": one.lower,
         "weight": one.weight}
        for one in site.questions
    ]  # fmt: skip


def comments(site: Site) -> CommentsBody:
    """What judges ticked and wrote."""
    rows: list[CommentBody] = [
        {"offer_id": one.offer, "judge": one.judge, "left": one.left, "right": one.right,
         "question": one.question, "reasons": list(one.reasons), "comment": one.comment,
         "written": one.written.isoformat(timespec="milliseconds")}
        for one in CommentStore(site.store).all(excluded=False)
    ]  # fmt: skip
    return {"comments": rows}


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
        "tie": body["tie"], "cuts": body.get("cuts"), "variance": body["variance"],
        "reliability": body["reliability"], "top_of": body["top_of"], "cautions": body["cautions"],
        "scale": body.get("scale", {}).get("name", "logit"),
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
    missing = {name for name in SCORES if name not in body}
    names = [name for name in kind.__annotations__ if name not in {"id", "name", *missing}]
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
    names = columns(site.study)
    if as_csv:
        sheet.writerow(names)
    for row in judgement_rows(site.study, site.store):
        if as_csv:
            sheet.writerow(row)
        else:
            values = {name: value or None for name, value in zip(names, row, strict=True)}
            text.write(json.dumps(values, ensure_ascii=False) + "\n")
    text.flush()
    text.detach()
    return file
