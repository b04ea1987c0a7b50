"""The study for programs: JSON for whoever has a token. docs/api.md has every key."""

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
from tiewise.study.researcher_store import Opens
from tiewise.study.snapshot_store import Snapshot, Snapshots
from tiewise.web.request import Endpoint, Site, count, refuse_host
from tiewise.web.researcher.downloads import sent
from tiewise.web.security import SECRET, address

FIGURES = (
    "median", "mean", "sd", "low", "high", "rank", "rank_low", "rank_high", "top", "comparisons",
)  # fmt: skip
FORMATS = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
PLACES = {
    "study": "what is asked, and how far it is",
    "items": "what is compared",
    "estimates": "quality and rank of every item, with their uncertainty",
    "coverage": "comparisons of every item, and what hangs together",
    "export": "the judgements that count; format=jsonl or format=csv",
}

Facts = Callable[[Site], dict[str, Any]]


# Who may ask.


def for_programs(made: Callable[[Request, Site], Response]) -> Endpoint:
    """An answer for whoever sends a good token; others are told so in JSON."""

    async def endpoint(request: Request) -> Response:
        site: Site = request.app.state.site
        return await run_in_threadpool(_served, request, site, made)

    return endpoint


def _served(request: Request, site: Site, made: Callable[[Request, Site], Response]) -> Response:
    refuse_host(request, site)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    token = token.strip()
    bearer = scheme.lower() == "bearer" and SECRET.fullmatch(token)
    if not bearer or not site.ledger.may_open(token, Opens.API):
        count(site.throttles.programs, address(request))
        raise HTTPException(401, headers={"WWW-Authenticate": "Bearer"})
    count(site.throttles.programs, token)
    return made(request, site)


def facts(made: Facts) -> Endpoint:
    """An answer in JSON, sent only where it is not the one that the program has."""

    def answer(request: Request, site: Site) -> Response:
        body = json.dumps(made(site), ensure_ascii=False, separators=(",", ":")).encode()
        mark = _mark(hashlib.sha256(body).hexdigest()[:20])
        if _has(request, mark):
            return Response(status_code=304, headers=_kept(mark))
        return Response(body, media_type="application/json", headers=_kept(mark))

    return for_programs(answer)


def _mark(words: str) -> str:
    return f'W/"{words}"'


def _kept(mark: str) -> dict[str, str]:
    return {"ETag": mark, "Cache-Control": "private, no-cache"}


def _has(request: Request, mark: str) -> bool:
    told = [one.strip() for one in request.headers.get("if-none-match", "").split(",")]
    return "*" in told or mark.removeprefix("W/") in [one.removeprefix("W/") for one in told]


SAID = {
    400: "this was not understood",
    401: "send a token: Authorization: Bearer TOKEN; a researcher makes one on the page Run",
    404: "there is nothing here; GET /api/v1/ lists what there is",
    405: "this can only be read, with GET",
    429: "too many requests; wait as Retry-After says",
    500: "something went wrong on our side; try again in a moment",
}


def sorry(status: int) -> Response:
    """What is amiss, in JSON."""
    return JSONResponse({"error": SAID.get(status, SAID[400]), "status": status}, status)


# What there is to know.


def index(site: Site) -> dict[str, Any]:
    """What can be asked for."""
    places = {name: {"path": site.to(f"/api/v1/{name}"), "holds": PLACES[name]} for name in PLACES}
    return {"study": site.study.settings.study.title, "version": 1, "has": places}


def study(site: Site) -> dict[str, Any]:
    """What is asked, and how far it is."""
    asked, snapshot = site.study.settings.study, site.latest.snapshot()
    body = snapshot.body if snapshot else {}
    return {
        "title": asked.title, "question": asked.question, "higher": asked.higher,
        "lower": asked.lower, "noun": asked.noun, "phase": site.phase.value,
        "items": len(site.study.items), "groups": list(site.study.groups),
        "goal": asked.goal or None, "reliability_wanted": asked.reliability,
        "reliability": body.get("reliability"), "judges": body.get("judges", 0),
        "answers": body.get("answers"), "snapshot": _snapshot(snapshot),
    }  # fmt: skip


def items(site: Site) -> dict[str, Any]:
    """What is compared."""
    told = [
        {"id": item.id, "name": item.name, "group": item.group or None}
        for item in site.study.items.values()
    ]
    return {"items": told}


def estimates(site: Site) -> dict[str, Any]:
    """Quality and rank of every item, with their uncertainty."""
    snapshot = site.latest.snapshot()
    if snapshot is None:
        return {"snapshot": None, "items": []}
    around = ("engine", "kind", "tie", "variance", "reliability", "top_of", "cautions")
    return {
        "snapshot": _snapshot(snapshot),
        **{name: snapshot.body.get(name) for name in around},
        "items": _along(site, snapshot, FIGURES),
    }


def coverage(site: Site) -> dict[str, Any]:
    """Comparisons of every item, and what hangs together."""
    snapshot = site.latest.snapshot()
    if snapshot is None:
        return {"snapshot": None, "parts": None, "items": []}
    told = _along(site, snapshot, ("comparisons", "part"))
    return {"snapshot": _snapshot(snapshot), "parts": snapshot.body.get("parts"), "items": told}


def _snapshot(snapshot: Snapshot | None) -> dict[str, Any] | None:
    if snapshot is None:
        return None
    made = snapshot.made.isoformat(timespec="milliseconds")
    return {"id": snapshot.id, "made": made, "comparisons": snapshot.comparisons}


def _along(site: Site, snapshot: Snapshot, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """The lists of a snapshot, turned into an entry for each item."""
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
    mark = _mark(f"{kind}-{Snapshots(site.store).pulse()}")
    if _has(request, mark):
        return Response(status_code=304, headers=_kept(mark))
    file = _written(site, as_csv=kind == "csv")
    return sent(file, FORMATS[kind], _kept(mark))


def _written(site: Site, *, as_csv: bool) -> IO[bytes]:
    # Whole before the first byte is sent: a slow reader must not keep the database busy.
    file = tempfile.TemporaryFile()  # noqa: SIM115
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    sheet = csv.writer(text, lineterminator="\n")
    if as_csv:
        sheet.writerow(COLUMNS)
    for row in comparison_rows(site.store):
        if as_csv:
            sheet.writerow(row)
        else:
            told = {name: value or None for name, value in zip(COLUMNS, row, strict=True)}
            text.write(json.dumps(told, ensure_ascii=False) + "\n")
    text.flush()
    text.detach()
    return file
