"""Files as they come in: parts that a script sends, and forms of browsers without scripts.

Nothing is kept in memory but the part that has just come.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from tiewise.hosting.drafts import Draft, UploadFault, find_draft, nameless_draft
from tiewise.study.values import Role
from tiewise.web.host.request import HOME, HostRequest, check_role, sign_in_first
from tiewise.web.request import LARGEST_FORM, Endpoint, Form, check_origin, count_request
from tiewise.web.serving.memory import in_own_thread

TOKEN_HEADER = "X-Form-Token"
NUMBER = re.compile(r"[0-9]{1,15}")
LONGEST_FIELD = 64 * 1024
MOST_PARTS = 5000

Receive = Callable[[HostRequest, Draft], Awaitable[Response]]


def upload_endpoint(receive: Receive, *, for_script: bool) -> Endpoint:
    """An endpoint that takes bytes for a draft of whoever is signed in."""

    async def endpoint(http: Request) -> Response:
        request = await run_in_threadpool(HostRequest.read(http).identified)
        if request.researcher is None:
            if for_script:
                return JSONResponse({"fault": "Sign in again, then go on."}, 401)
            return sign_in_first(request, "/site/new")
        check_role(request, Role.RESEARCHER)
        if for_script:
            request = with_token(request, http.headers.get(TOKEN_HEADER, ""))
        return await receive(request, draft_of(request))

    return endpoint


def file_endpoint(answer: Callable[[HostRequest, Draft, str], Response]) -> Endpoint:
    """An endpoint that takes a form with a file for a study, which is deleted afterwards.

    `answer` gets the file in a draft, and what was wrong with it, in a thread of its own: it may
    take long.
    """

    async def endpoint(http: Request) -> Response:
        request = await run_in_threadpool(HostRequest.read(http).identified)
        if request.researcher is None:
            return sign_in_first(request, HOME)
        await run_in_threadpool(check_role, request, Role.RESEARCHER)
        count_request(request.site.throttles.posts, request.session.secret)
        draft = await run_in_threadpool(nameless_draft, request.site.folder)
        try:
            form, fault = await _read_form(request, draft)
            return await in_own_thread(partial(answer, replace(request, form=form), draft, fault))
        finally:
            await run_in_threadpool(draft.delete)

    return endpoint


def with_token(request: HostRequest, token: str) -> HostRequest:
    """The request with the token of the page that it came from, which is checked."""
    request = replace(request, form=Form((("token", token),)))
    check_origin(request)
    return request


def draft_of(request: HostRequest) -> Draft:
    """The draft that the address names, of whoever is signed in."""
    id_ = str(request.http.path_params["draft"])
    draft = find_draft(request.site.folder, id_, request.signed_in.id)
    if draft is None:
        raise HTTPException(404)
    return draft


async def receive_chunk(request: HostRequest, draft: Draft) -> Response:
    """The next bytes of a file; the answer is how many are there."""
    name, size, offset = request.query("name"), request.query("size"), request.query("offset")
    if not (NUMBER.fullmatch(size) and NUMBER.fullmatch(offset)):
        raise HTTPException(400)
    try:
        if int(offset) == 0:
            await run_in_threadpool(
                draft.begin, name, int(size), request.site.quotas, request.site.folder
            )
        have = await run_in_threadpool(draft.received, name, int(size))
        if have != int(offset):
            return JSONResponse({"have": have}, 409)
        with ExitStack() as stack:
            file = await run_in_threadpool(
                stack.enter_context, draft.appending(name, int(size), int(offset))
            )
            async for piece in request.http.stream():
                await run_in_threadpool(file.write, piece)
        return JSONResponse({"have": await run_in_threadpool(draft.received, name, int(size))})
    except UploadFault as error:
        return JSONResponse({"fault": f"{error}."}, 422)
    except ClientDisconnect:  # what came is kept, and it goes on from there
        raise HTTPException(400) from None


async def receive_form(
    show_fault: Callable[[HostRequest, Draft, str], Response], request: HostRequest, draft: Draft
) -> Response:
    """Files in a form, from a browser without scripts; `show_fault` is the page of one refused."""
    _, fault = await _read_form(request, draft)
    if fault:
        return await run_in_threadpool(show_fault, request, draft, f"{fault}.")
    return request.redirect(f"/site/new/{draft.id}")


async def _read_form(request: HostRequest, draft: Draft) -> tuple[Form, str]:
    """The fields of a form whose files go into the draft, and what is wrong with one of them."""
    kind, options = parse_options_header(request.http.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or b"boundary" not in options:
        raise HTTPException(415)
    reader = _FormReader(request, draft)
    parser = MultipartParser(options[b"boundary"], reader.callbacks())
    fault = ""
    try:
        async for piece in request.http.stream():
            await run_in_threadpool(parser.write, piece)
    except UploadFault as error:
        fault = str(error)
    except ClientDisconnect:
        raise HTTPException(400) from None
    except ValueError:  # the parser's own
        raise HTTPException(400) from None
    finally:
        await run_in_threadpool(reader.close)
    if not reader.checked:
        raise HTTPException(403, "token")
    return Form(tuple(reader.fields)), fault


class _FormReader:
    """Reads a form part by part: first the token, then files, each into the draft as it comes."""

    def __init__(self, request: HostRequest, draft: Draft) -> None:
        self._request, self._draft = request, draft
        self.checked = False
        self.fields: list[tuple[str, str]] = []
        self._fields_size = 0
        self._header, self._value = b"", b""
        self._field: bytes | None = None
        self._path: Any = None
        self._file: Any = None
        self._name, self._size, self._parts = "", 0, 0

    def callbacks(self) -> Any:
        """What the parser calls."""
        return {
            "on_part_begin": self._begin, "on_header_field": self._take_header,
            "on_header_value": self._take_value, "on_header_end": self._end_header,
            "on_headers_finished": self._begin_body, "on_part_data": self._take_data,
            "on_part_end": self._end,
        }  # fmt: skip

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise UploadFault("too many files at once; put them into a zip file")
        self._header = self._value = b""
        self._disposition: dict[bytes, bytes] = {}

    def _take_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _take_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]
        if len(self._value) > LONGEST_FIELD:
            raise UploadFault("a part of the form has headers that are too long")

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = parse_options_header(self._value)[1]
        self._header = self._value = b""

    def _begin_body(self) -> None:
        filename = self._disposition.get(b"filename")
        if filename is None:
            self._field = b""
            return
        if not self.checked:  # the token stands before any file
            raise HTTPException(403, "token")
        self._name = filename.decode("utf-8", "replace").replace("\\", "/").rpartition("/")[2]
        self._size = 0
        if self._name:
            self._path = self._draft.receiving_path()
            self._file = self._path.open("wb")

    def _take_data(self, data: bytes, start: int, end: int) -> None:
        if self._field is not None:
            self._field += data[start:end]
            self._fields_size += end - start
            if len(self._field) > LONGEST_FIELD or self._fields_size > LARGEST_FORM:
                raise UploadFault("a field of the form is too long")
        elif self._file is not None:
            self._size += end - start
            self._draft.check_growth(
                self._name, self._size, self._request.site.quotas, self._request.site.folder
            )
            self._file.write(data[start:end])

    def _end(self) -> None:
        if self._field is not None:
            name = self._disposition.get(b"name", b"").decode("utf-8", "replace")
            self.fields.append((name, self._field.decode("utf-8", "replace")))
            if name == "token":
                with_token(self._request, self._field.decode("ascii", "replace"))
                self.checked = True
            self._field = None
        elif self._file is not None:
            self._file.close()
            self._draft.keep(self._path, self._name)
            self._file = None

    def close(self) -> None:
        """Remove what was received of a file that was cut off."""
        if self._file is not None:
            self._file.close()
            self._path.unlink(missing_ok=True)
