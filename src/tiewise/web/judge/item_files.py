"""Files of what is compared, and the map: for those who take part, and nobody else."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response

from tiewise.web.assets import CACHE_PRIVATELY
from tiewise.web.request import Endpoint, check_host
from tiewise.web.security import SANDBOX
from tiewise.web.site import Site

SMALL = 256 * 1024
"""Bytes of a file that is read at once; a larger one is sent piece by piece."""
RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})", re.IGNORECASE)


def for_participants(answer: Callable[[Request, Site], Response]) -> Endpoint:
    """A file for judges and researchers of the study; for others there is none."""

    async def endpoint(request: Request) -> Response:
        site: Site = request.app.state.site
        check_host(request, site)
        # In one thread: each change of threads waits for others where many judges read.
        return await run_in_threadpool(checked, request, site)

    def checked(request: Request, site: Site) -> Response:
        if not _takes_part(request, site):
            raise HTTPException(404)
        return answer(request, site)

    return endpoint


def _takes_part(request: Request, site: Site) -> bool:
    judge = site.cookies.read_judge(request)
    if judge is not None and not judge.away and site.store.judge(judge.secret) is not None:
        return True
    researcher = site.accounts.cookies.read_researcher(request)
    return researcher is not None and site.researcher(researcher.secret) is not None


def image(request: Request, site: Site) -> Response:
    """The image of an item, as it came."""
    item = site.study.items.get(request.path_params["item"])
    file = site.images.get(item.image) if item else None
    if file is None:
        raise HTTPException(404)
    lasting = request.query_params.get("v") == file.digest
    return send_file(request, file.path, file.media_type, file.digest, lasting=lasting)


def copy(request: Request, site: Site) -> Response:
    """A copy of an item's file, whose name is of its content."""
    name = request.path_params["name"]
    media_type = site.media.served.get(name)
    if media_type is None:
        raise HTTPException(404)
    return send_file(request, site.media.folder / name, media_type, name.partition(".")[0])


def send_file(
    request: Request, path: Path, media_type: str, digest: str, *, lasting: bool = True
) -> Response:
    """A file, or the range of it that was asked for, to be shown and never run."""
    if not path.is_file():  # it may have been erased since the site started
        raise HTTPException(404)
    headers = {
        "Cache-Control": CACHE_PRIVATELY if lasting else "private, no-cache",
        "Content-Security-Policy": SANDBOX, "Content-Disposition": "inline",
        "Accept-Ranges": "bytes", "ETag": f'"{digest}"',
    }  # fmt: skip
    if _is_known(request.headers.get("if-none-match", ""), digest):
        return Response(status_code=304, headers=headers)
    size = path.stat().st_size
    asked = request.headers.get("range")
    if asked is None and size <= SMALL:
        return Response(_read(path), media_type=media_type, headers=headers)
    if asked is not None and not _is_one_range(asked):
        # Ranges that make no sense, and several at once, are answered with the whole file.
        _forget_range(request)
    elif asked is not None and _is_beyond(asked, size) and "if-range" not in request.headers:
        headers |= {"Content-Range": f"bytes */{size}", "Cache-Control": "no-store"}
        return PlainTextResponse(f"There are {size} bytes.", 416, headers)
    return FileResponse(path, media_type=media_type, headers=headers)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # erased a moment ago
        raise HTTPException(404) from None


def _is_known(tags: str, digest: str) -> bool:
    """Whether the browser has this file already."""
    return any(tag.strip().removeprefix("W/") in (f'"{digest}"', "*") for tag in tags.split(","))


def _is_one_range(asked: str) -> bool:
    match = RANGE.fullmatch(asked.strip())
    if match is None or not (match[1] or match[2]):
        return False
    return not (match[1] and match[2]) or int(match[1]) <= int(match[2])


def _is_beyond(asked: str, size: int) -> bool:
    """Whether a range has nothing of a file of this size."""
    first, last = RANGE.fullmatch(asked.strip()).groups()  # type: ignore[union-attr]
    return int(first) >= size if first else int(last) == 0


def _forget_range(request: Request) -> None:
    scope = request.scope
    scope["headers"] = [(name, value) for name, value in scope["headers"] if name != b"range"]


def overview_map(request: Request, site: Site) -> Response:
    """The overview map, the same on every page, or another picture of the map."""
    part, language = (request.query_params.get(name, "") for name in ("part", "language"))
    known = language in (*site.study.settings.study.languages, "")
    picture = site.maps.picture(part, language) if site.maps is not None and known else None
    if picture is None:
        raise HTTPException(404)
    response = picture.answer(request, cache=CACHE_PRIVATELY)
    response.headers["Content-Security-Policy"] = SANDBOX
    return response
