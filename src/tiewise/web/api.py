"""The API of a study: JSON for programs with a token; docs/api.md has every key."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import tempfile
from collections.abc import Callable
from typing import IO, Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tiewise.study.export import COLUMNS, comparison_rows
from tiewise.study.snapshot_store import Snapshot, SnapshotStore
from tiewise.study.values import TokenPurpose
from tiewise.web.request import Endpoint, check_host, count_request
from tiewise.web.researcher.downloads import file_response
from tiewise.web.security import SECRET, address
from tiewise.web.site import Site

FIGURES = (
    "median", "mean", "sd", "low", "high", "rank", "rank_low", "rank_high", "top", "comparisons",
)  # fmt: skip
FORMATS = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
CONTENTS = {
    "study": "what is asked, and how far it is",
    "items": "what is compared",
    "estimates": "quality and rank of every item, with their uncertainty",
    "coverage": "comparisons of every item, and what hangs together",
    "export": "the judgements that count; format=jsonl or format=csv",
}

JsonValues = Callable[[Site], dict[str, Any]]


# Access.


def token_endpoint(answer: Callable[[Request, Site], Response]) -> Endpoint:
    """An endpoint for requests with a valid token; others get a 401."""

    async def endpoint(request: Request) -> Response:
        site: Site = request.app.state.site
        return await run_in_threadpool(_checked_answer, request, site, answer)

    return endpoint


def _checked_answer(
    request: Request, site: Site, answer: Callable[[Request, Site], Response]
) -> Response:
    check_host(request, site)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    token = token.strip()
    bearer = scheme.lower() == "bearer" and SECRET.fullmatch(token)
    if not bearer or not site.researcher_store.is_valid_token(token, TokenPurpose.API):
        count_request(site.throttles.programs, address(request))
        raise HTTPException(401, headers={"WWW-Authenticate": "Bearer"})
    count_request(site.throttles.programs, token)
    return answer(request, site)


def json_endpoint(values: JsonValues) -> Endpoint:
    """An endpoint for JSON; 304 where the program has it already."""

    def answer(request: Request, site: Site) -> Response:
        body = json.dumps(values(site), ensure_ascii=False, separators=(",", ":")).encode()
        etag = _etag(hashlib.sha256(body).hexdigest()[:20])
        if _matches(request, etag):
            return Response(status_code=304, headers=_cache_headers(etag))
        return Response(body, media_type="application/json", headers=_cache_headers(etag))

    return token_endpoint(answer)


def _etag(version: str) -> str:
    return f'W/"{version}"'


def _cache_headers(etag: str) -> dict[str, str]:
    return {"ETag": etag, "Cache-Control": "private, no-cache"}


def _matches(request: Request, etag: str) -> bool:
    known = [one.strip() for one in request.headers.get("if-none-match", "").split(",")]
    return "*" in known or etag.removeprefix("W/") in [one.removeprefix("W/") for one in known]


ERRORS = {
    400: "this was not understood",
    401: "send a token: Authorization: Bearer TOKEN; a researcher makes one on the page Run",
    404: "there is nothing here; GET /api/v1/ lists what there is",
    405: "this can only be read, with GET",
    429: "too many requests; wait as Retry-After says",
    500: "something went wrong on our side; try again in a moment",
}


def error_response(status: int) -> Response:
    """An error in JSON."""
    return JSONResponse({"error": ERRORS.get(status, ERRORS[400]), "status": status}, status)


# Contents.


def index(site: Site) -> dict[str, Any]:
    """What there is to read."""
    contents = {
        name: {"path": site.url(f"/api/v1/{name}"), "holds": CONTENTS[name]} for name in CONTENTS
    }
    return {"study": site.study.settings.study.title, "version": 1, "has": contents}


def study(site: Site) -> dict[str, Any]:
    """What is asked, and how far it is."""
    about, snapshot = site.study.settings.study, site.snapshot_cache.snapshot()
    body = snapshot.body if snapshot else {}
    return {
        "title": about.title, "question": about.question, "higher": about.higher,
        "lower": about.lower, "noun": about.noun, "phase": site.phase.value,
        "items": len(site.study.items), "groups": list(site.study.groups),
        "goal": about.goal or None, "reliability_wanted": about.reliability,
        "reliability": body.get("reliability"), "judges": body.get("judges", 0),
        "answers": body.get("answers"), "snapshot": _snapshot(snapshot),
    }  # fmt: skip


def items(site: Site) -> dict[str, Any]:
    """What is compared."""
    items = [
        {"id": item.id, "name": item.name, "group": item.group or None}
        for item in site.study.items.values()
    ]
    return {"items": items}


def estimates(site: Site) -> dict[str, Any]:
    """Quality and rank of every item, with their uncertainty."""
    snapshot = site.snapshot_cache.snapshot()
    if snapshot is None:
        return {"snapshot": None, "items": []}
    names = ("engine", "kind", "tie", "variance", "reliability", "top_of", "cautions")
    return {
        "snapshot": _snapshot(snapshot),
        **{name: snapshot.body.get(name) for name in names},
        "items": _by_item(site, snapshot, FIGURES),
    }


def coverage(site: Site) -> dict[str, Any]:
    """Comparisons of every item, and what hangs together."""
    snapshot = site.snapshot_cache.snapshot()
    if snapshot is None:
        return {"snapshot": None, "parts": None, "items": []}
    items = _by_item(site, snapshot, ("comparisons", "part"))
    return {"snapshot": _snapshot(snapshot), "parts": snapshot.body.get("parts"), "items": items}


def _snapshot(snapshot: Snapshot | None) -> dict[str, Any] | None:
    if snapshot is None:
        return None
    made = snapshot.made.isoformat(timespec="milliseconds")
    return {"id": snapshot.id, "made": made, "comparisons": snapshot.comparisons}


def _by_item(site: Site, snapshot: Snapshot, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """The lists of a snapshot as one entry for each item."""
    known, body = site.study.items, snapshot.body
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
    etag = _etag(f"{kind}-{SnapshotStore(site.store).pulse()}")
    if _matches(request, etag):
        return Response(status_code=304, headers=_cache_headers(etag))
    file = _export_file(site, as_csv=kind == "csv")
    return file_response(file, FORMATS[kind], _cache_headers(etag))


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
