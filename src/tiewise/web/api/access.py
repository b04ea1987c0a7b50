"""Who may read the API, answers that are not sent twice, and errors in JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tiewise.study.values import TokenPurpose
from tiewise.web.request import Endpoint, check_host, count_request
from tiewise.web.security import SECRET, address
from tiewise.web.site import Site

JSON = "application/json"
QUESTION = "question"
"""The parameter that chooses one of several questions."""
API_TOKENS = (TokenPurpose.API, TokenPurpose.COMMENTS)
ERRORS = {
    400: "this was not understood; /api/v1/openapi.json has the parameters that there are",
    401: "send a token: Authorization: Bearer TOKEN; a researcher makes one on the page Run",
    403: "this token may not read what judges wrote; a researcher makes one that may, on page Run",
    404: "there is nothing here; GET /api/v1/ lists what there is",
    405: "this can only be read, with GET",
    429: "too many requests; wait as Retry-After says",
    500: "something went wrong on our side; try again in a moment",
    503: "the study or its database cannot be used; try again as Retry-After says",
}

Answer = Callable[[Request, Site], Response]
JsonContent = Callable[[Site], Mapping[str, object]]


def error_response(status: int) -> Response:
    """An error in JSON."""
    return JSONResponse({"error": ERRORS.get(status, ERRORS[400]), "status": status}, status)


# Endpoints.


def token_endpoint(answer: Answer, *parameters: str, comments: bool = False) -> Endpoint:
    """An endpoint for requests with a valid token; others get a 401.

    What judges wrote needs a token that was made for it: others get a 403.
    """
    check = _check_comments_token if comments else _check_token
    return _endpoint(answer, check, parameters)


def public_endpoint(answer: Answer) -> Endpoint:
    """An endpoint for everybody, with as many requests from one address as one token has."""
    return _endpoint(answer, _count_address)


def json_answer(content: JsonContent) -> Answer:
    """An answer in JSON; 304 where the program has it already."""

    def answer(request: Request, site: Site) -> Response:
        body = json.dumps(content(site), ensure_ascii=False, separators=(",", ":")).encode()
        etag = weak_etag(hashlib.sha256(body).hexdigest()[:20])
        return not_modified(request, etag) or Response(
            body, media_type=JSON, headers=cache_headers(etag)
        )

    return answer


def _endpoint(
    answer: Answer, check: Callable[[Request, Site], None], parameters: Collection[str] = ()
) -> Endpoint:
    def checked(request: Request, site: Site) -> Response:
        check_host(request, site)
        check(request, site)
        if not set(parameters).issuperset(request.query_params):
            raise HTTPException(400)
        return answer(request, _asked(request, site) if QUESTION in parameters else site)

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(checked, request, request.app.state.site)

    return endpoint


def _asked(request: Request, site: Site) -> Site:
    """The site for the question that is asked about, the first where none is named."""
    ids = site.study.settings.question_ids
    question = request.query_params.get(QUESTION, ids[0])
    if question not in ids or (QUESTION in request.query_params and not question):
        raise HTTPException(404)
    return site.asked(question)


def _check_token(request: Request, site: Site) -> None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    token = token.strip()
    bearer = scheme.lower() == "bearer" and SECRET.fullmatch(token)
    store = site.researcher_store
    if not bearer or not any(store.is_valid_token(token, purpose) for purpose in API_TOKENS):
        _count_address(request, site)
        raise HTTPException(401, headers={"WWW-Authenticate": "Bearer"})
    count_request(site.throttles.programs, token)


def _check_comments_token(request: Request, site: Site) -> None:
    _check_token(request, site)
    token = request.headers["authorization"].partition(" ")[2].strip()
    if not site.researcher_store.is_valid_token(token, TokenPurpose.COMMENTS):
        raise HTTPException(403)


def _count_address(request: Request, site: Site) -> None:
    count_request(site.throttles.programs, address(request))


# Asking again.


def weak_etag(version: str) -> str:
    """The ETag of an answer of this version."""
    return f'W/"{version}"'


def cache_headers(etag: str) -> dict[str, str]:
    """The headers of an answer that its reader may keep, and asks each time whether it is new."""
    return {"ETag": etag, "Cache-Control": "private, no-cache"}


def not_modified(request: Request, etag: str) -> Response | None:
    """The answer to a program that has this version already; None to any other."""
    known = [one.strip() for one in request.headers.get("if-none-match", "").split(",")]
    if "*" in known or etag.removeprefix("W/") in [one.removeprefix("W/") for one in known]:
        return Response(status_code=304, headers=cache_headers(etag))
    return None
