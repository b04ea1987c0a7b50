"""A request to the site: its session, its form, and how it is answered."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from email.parser import BytesParser
from email.policy import HTTP
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeVar
from urllib.parse import parse_qsl, quote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tiewise.web.rendering import render
from tiewise.web.security import Session, SessionCookies, Throttle, address, is_same_origin
from tiewise.web.site import AccountSite
from tiewise.web.words.language import Language, language

LARGEST_FORM = 256 * 1024
MOST_FIELDS = 5000
LARGEST_UPLOAD = 900 * 1024
"""Bytes of a form with a file."""
FORM_TYPE = "application/x-www-form-urlencoded"
UPLOAD_TYPE = "multipart/form-data"
NUMBER = re.compile(r"[0-9]{1,9}")
"""A field that holds the number of something."""

Endpoint = Callable[[Request], Awaitable[Response]]


class SentFile(NamedTuple):
    """A file in a form: the field, its name where it came from, and what is in it."""

    field: str
    name: str
    content: bytes


class Form(NamedTuple):
    """The fields of a form, in the order in which they were sent, and its files."""

    pairs: tuple[tuple[str, str], ...] = ()
    files: tuple[SentFile, ...] = ()

    def get(self, name: str) -> str:
        """The first value of a field, or nothing."""
        return next((value for key, value in self.pairs if key == name), "")

    def file(self, name: str) -> SentFile | None:
        """The first file of a field, if one was chosen."""
        return next((one for one in self.files if one.field == name and one.name), None)

    def all(self, name: str) -> list[str]:
        """Every value of a field."""
        return [value for key, value in self.pairs if key == name]


NO_FORM = Form()


@dataclass(frozen=True)
class SiteRequest(ABC):
    """One request; `JudgeRequest` and `ResearcherRequest` add who sent it."""

    http: Request
    site: AccountSite
    session: Session
    known: bool
    """Whether the browser sent this session; else it is a new one."""
    form: Form = NO_FORM
    session_changed: bool = False

    @cached_property
    def language(self) -> Language:
        """The language to answer in."""
        return language("en")

    @property
    def cookies(self) -> SessionCookies:
        """Cookies and form tokens of whoever sent the request."""
        return self.site.cookies

    @property
    def base_url(self) -> str:
        """The address of the site as judges know it: from the settings, else from the browser."""
        if self.site.public_url:
            return self.site.public_url
        host = quote(self.http.headers.get("host", ""), safe=":[]")
        return f"{self.http.scope.get('scheme', 'http')}://{host}{self.site.prefix}"

    def query(self, name: str) -> str:
        """A parameter of the address, or nothing."""
        return self.http.query_params.get(name, "")

    def with_session(self, **changes: Any) -> Self:
        """This request with a changed session, which the response gives to the browser."""
        return replace(self, session=replace(self.session, **changes), session_changed=True)

    def redirect(self, path: str) -> Response:
        """Send the browser to another page of the site."""
        return self.redirect_outside(self.site.url(path))

    def redirect_outside(self, url: str) -> Response:
        """Send the browser to any address."""
        return self._finished(RedirectResponse(url, 303))

    def show(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page; a new browser is given a session only where the page has a form."""
        tokens: list[str] = []

        def token() -> str:
            tokens.append(self.cookies.form_token(self.session))
            return tokens[-1]

        page = render(template, **self.context(), token=token, **values)
        return self._finished(HTMLResponse(page, status), new=bool(tokens) and not self.known)

    def context(self) -> dict[str, Any]:
        """The values that every template gets."""
        return {"url": self.site.url, "asset": self.site.asset_url}

    @abstractmethod
    def write_session(self, response: Response) -> None:
        """Set the cookie that holds the session."""

    def _finished(self, response: Response, *, new: bool = False) -> Response:
        if new or self.session_changed:
            self.write_session(response)
        return response


# Endpoints: a request is read, checked, and answered in a thread.


AnyRequest = TypeVar("AnyRequest", bound=SiteRequest)


def page_endpoint(
    read: Callable[[Request], AnyRequest], answer: Callable[[AnyRequest], Response]
) -> Endpoint:
    """A page that is read."""

    async def endpoint(http: Request) -> Response:
        return await run_in_threadpool(answer, read(http))

    return endpoint


def form_endpoint(
    read: Callable[[Request], AnyRequest],
    answer: Callable[[AnyRequest], Response],
    check: Callable[[AnyRequest], None] = lambda _: None,
    *,
    files: bool = False,
) -> Endpoint:
    """A form that is sent, perhaps with `files`; `check` refuses it before it is answered."""

    async def endpoint(http: Request) -> Response:
        request = read(http)
        request = replace(request, form=await read_form(http, files=files))
        check(request)
        return await run_in_threadpool(answer, request)

    return endpoint


async def read_form(http: Request, *, files: bool = False) -> Form:
    """The fields of a form, if it is one and not too large."""
    header = http.headers.get("content-type", "")
    content_type = header.partition(";")[0].strip().lower()
    if files and content_type == UPLOAD_TYPE:
        return _parse_upload(header, await _read_body(http, LARGEST_UPLOAD))
    if content_type != FORM_TYPE:
        raise HTTPException(415)
    return _parse_fields(await _read_body(http, LARGEST_FORM))


async def _read_body(http: Request, most: int) -> bytes:
    body = bytearray()
    try:
        async for chunk in http.stream():
            body += chunk
            if len(body) > most:
                raise HTTPException(413)
    except ClientDisconnect:
        raise HTTPException(400) from None
    return bytes(body)


def _parse_upload(header: str, body: bytes) -> Form:
    """The fields and files of a form with files (RFC 7578), as browsers send them."""
    head = (
        b"Content-Type: " + header.encode("latin-1", "replace").replace(b"\n", b" ") + b"\r\n\r\n"
    )
    pairs: list[tuple[str, str]] = []
    sent: list[SentFile] = []
    try:
        message = BytesParser(policy=HTTP).parsebytes(head + body)
        for part in message.iter_parts():
            name = part.get_param("name", header="content-disposition")
            content = part.get_payload(decode=True)
            if not isinstance(name, str) or not isinstance(content, bytes):
                raise HTTPException(400)
            file_name = part.get_filename()
            if file_name is None:
                pairs.append((name, content.decode("utf-8", "replace")))
            else:
                sent.append(SentFile(name, file_name, content))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise HTTPException(400) from None  # no browser sends that
    if len(pairs) + len(sent) > MOST_FIELDS:
        raise HTTPException(413)
    return Form(tuple(pairs), tuple(sent))


def _parse_fields(body: bytes) -> Form:
    try:
        text = body.decode("ascii", "replace")
        pairs = parse_qsl(
            text, keep_blank_values=True, errors="replace", max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise HTTPException(413) from None
    return Form(tuple(pairs))


def check_form(request: SiteRequest, *, sign_up: bool = False) -> None:
    """Refuse forms of other sites, of browsers without our cookie, and too many of ours."""
    check_origin(request, sign_up=sign_up)
    if sign_up:
        count_request(request.site.throttles.sign_ups, address(request.http))
    count_request(request.site.throttles.posts, request.session.secret)


def check_origin(request: SiteRequest, *, sign_up: bool = False) -> None:
    """Refuse what does not come from a page of ours, however often that may be."""
    throttles, sender = request.site.throttles, address(request.http)
    if not is_same_origin(request.http.headers, request.site.public_url):
        count_request(throttles.strangers, sender)
        raise HTTPException(403, "site")
    token, cookies, session = request.form.get("token"), request.cookies, request.session
    ours = cookies.is_form_token(token, session)
    if not (request.known and (ours or (sign_up and cookies.is_sign_up_again(token, session)))):
        count_request(throttles.strangers, sender)
        raise HTTPException(403, "token" if request.known else "cookie")


def check_host(http: Request, site: AccountSite) -> None:
    """Refuse a request that was meant for another host name."""
    host = http.headers.get("host", "").rpartition(":")
    name = host[0] if host[2].isdigit() else "".join(host)
    if site.hosts and name.lower() not in site.hosts:
        raise HTTPException(400)


def count_request(throttle: Throttle, sender: str) -> None:
    """Count a request, and refuse it where there were too many."""
    if not throttle.allows(sender):
        raise HTTPException(429, headers={"Retry-After": str(throttle.wait())})
