"""Hostile requests to the site, drawn from its table of routes, forms and names of fields.

A request holds placeholders where a caller's own token or link belongs, so that it can be drawn,
printed and shrunk without knowing them.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import tiewise.web
from tiewise.web.request import LARGEST_FORM, MOST_FIELDS

CALLERS = ("nobody", "browser", "judge", "researcher", "partner", "program")
"""Without anything; with a cookie of ours; signed up; signed in; with a link; with a token."""
METHODS = (
    "GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "get", "X",
)  # fmt: skip
PLACEHOLDERS = (
    "_TOKEN_", "_GATE_", "_OFFER_", "_ANSWERS_", "_SHARE_", "_LINK_", "_ONE_TIME_", "_JUDGE_",
    "_DRAFT_", "_STUDY_",
)  # fmt: skip
SCRIPT = "<script>alert(1)</script>"
HOSTILE = (
    "", " ", "0", "1", "-1", "2147483647", "2147483648", "99999999999999999999", "1e400", "nan",
    "\u0661", "\xb2", "True", "null", "\0", "a\0b", "\r\nX-Evil: 1", "\t", "\x1b[31m", "\x7f",
    "\ud7ff", "\ufffe", "\U0010ffff", "\u202e", "e\u0301" * 40, "I\u0307", "\u0130", "ß",
    "'; DROP TABLE judges; --", SCRIPT, "{{7*7}}", "\"><b x='", "{% raw %}", "%s%n", "${x}",
    "../../../../etc/passwd", "..\\..\\x", "/etc/passwd", "//evil.example", "https://evil.example",
    "/\\evil.example", "javascript:alert(1)", "x" * 300, "y" * 9000, "=cmd", "@a", "+1", "0" * 32,
    "f" * 32, "F" * 32, "en", "ar", "AR", "W/\"x\"", "*", "[", "]", "\\", "/", "//", ";", ",", "&",
)  # fmt: skip
RAW_GAPS = (
    "%00", "%ff", "%c0%af", "%ed%a0%80", "%2e%2e%2f", "..%2f..%2f", "%", "%zz", "%u0041", "%25",
    "%0d%0aX:1", "%5c", "%2f", "a%2fb", ".", "..", "~", "%f0%9f%99%82", "x" * 3000, ";a=b",
)  # fmt: skip
HEADER_NAMES = (
    "accept", "accept-encoding", "accept-language", "authorization", "cache-control", "connection",
    "content-encoding", "content-length", "content-type", "cookie", "expect", "forwarded", "host",
    "if-match", "if-modified-since", "if-none-match", "if-range", "origin", "range", "referer",
    "sec-fetch-mode", "sec-fetch-site", "te", "transfer-encoding", "upgrade", "user-agent",
    "x-forwarded-for", "x-forwarded-host", "x-forwarded-prefix", "x-forwarded-proto",
    "x-http-method-override", "x-original-url", "x-real-ip",
)  # fmt: skip
HEADER_VALUES = (
    "", "*", "*/*", "gzip", "gzip;q=0", "identity;q=0, *;q=0", "deflate, br", "ar", "ar;q=x",
    "en;q=nan", ",,,", ";q=1", "x" * 2000, "study.test", "study.test:x", "[::1", "evil.example",
    ":", "-1", "0", "99999999999999999999", "bytes=0-", "bytes=-1", "bytes=5-1,0-0,-9", "bytes=x",
    "W/\"a\", \"b", "null", "http://study.test", "http://[", "cross-site", "same-origin", "none",
    "Bearer", "Bearer \xff", "Basic dTpw", "Bearer " + "0" * 32, "tiewise=", "a=b; c", "=;=;",
    "text/html", "application/json", "application/x-www-form-urlencoded",
    "application/x-www-form-urlencoded; charset=utf-16", "multipart/form-data",
    "multipart/form-data; boundary=", "multipart/form-data; boundary=x", "text/plain; charset=\xff",
    "Thu, 01 Jan 1970 00:00:00 GMT", "not a date", "websocket", "h2c", "chunked", "\xe4\xff", "\t",
)  # fmt: skip
FORM_TYPE = "application/x-www-form-urlencoded"


class FuzzRequest(NamedTuple):
    """A request, with placeholders for what its caller knows."""

    caller: str
    method: str
    path: str
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    pieces: int = 1
    """In how many pieces the body comes; 0 where the caller goes away before the last."""

    def __str__(self) -> str:
        first = f"{self.caller}: {self.method} {self.path}{'?' if self.query else ''}{self.query}"
        lines = [first, *(f"  {name}: {value!r}" for name, value in self.headers)]
        if self.body:
            shown = repr(self.body[:400]) + (" ..." if len(self.body) > 400 else "")
            lines.append(f"  {len(self.body)} bytes in {self.pieces} pieces: {shown}")
        return "\n".join(lines)


class FormSkeleton(NamedTuple):
    """A form as a page of the site has it, with placeholders."""

    caller: str
    action: str
    fields: tuple[tuple[str, str], ...]


class FuzzRoute(NamedTuple):
    """A route of the table, below the path of its study."""

    prefix: str
    path: str
    methods: tuple[str, ...]

    @property
    def gap(self) -> str:
        """The name of the part of the path that is open, if any."""
        gap = re.search(r"{(\w+)(?::\w+)?}", self.path)
        return gap[1] if gap else ""

    def filled(self, text: str) -> str:
        """The path with its open part filled in."""
        return self.prefix + re.sub(r"{\w+(?::\w+)?}", lambda _: text, self.path)


class FuzzCatalogue(NamedTuple):
    """All that requests are drawn from."""

    routes: tuple[FuzzRoute, ...]
    forms: tuple[FormSkeleton, ...]
    words: tuple[str, ...]
    """Names that mean something on this site: ids, files, choices."""


@cache
def field_names() -> tuple[str, ...]:
    """Every name of a field or a parameter in the code and the templates of the site."""
    source = Path(tiewise.web.__file__).parent
    in_code = re.compile(r"(?:query|form\.get|form\.all|query_params\.get|\bget)\(\"([a-z_]+)\"")
    in_pages = re.compile(r"\bname=\"([a-z_]+)\"")
    names = [name for path in source.rglob("*.py") for name in in_code.findall(path.read_text())]
    names += [
        name for path in source.rglob("*.html") for name in in_pages.findall(path.read_text())
    ]
    return tuple(sorted({*names, "about_note", "about_years", "about_role"}))


# Strategies: made once, as making them costs more than drawing from them.

NUMBERS = st.sampled_from([0, 0, 0, 1, 1, 2, 4])
"""Of fields, parameters and headers."""
CHANGES = st.sampled_from([0, 0, 1, 1, 2])
PIECES = st.sampled_from([1, 1, 1, 1, 1, 2, 3, 0])
KINDS = st.sampled_from(["route"] * 5 + ["form"] * 3 + ["anywhere"])
VISIBLE = st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=20)
HEADERS = st.tuples(
    st.sampled_from(HEADER_NAMES), st.one_of(*[st.sampled_from(HEADER_VALUES)] * 3, VISIBLE)
)
ANYONE = st.sampled_from(CALLERS)
AREAS = {
    "/watch": "researcher", "/site": "researcher", "/shared": "partner", "/api": "program",
    "/sign-in": "browser", "/begin": "browser", "": "judge",
}  # fmt: skip
"""Who is at home behind which paths."""
MOSTLY = {caller: st.sampled_from((caller,) * len(CALLERS) + CALLERS) for caller in CALLERS}


def requests(catalogue: FuzzCatalogue) -> SearchStrategy[FuzzRequest]:
    """Requests to any route by any caller: as they should be, nearly so, or not at all."""
    return _request(_Draws(catalogue))


class _Draws:
    """The strategies for the parts of a request to one site."""

    def __init__(self, catalogue: FuzzCatalogue) -> None:
        known = catalogue.words + PLACEHOLDERS
        text = st.text(max_size=12)
        self.word = st.one_of(*[st.sampled_from(known), st.sampled_from(HOSTILE)] * 3, text)
        self.names = field_names()
        self.name = st.one_of(*[st.sampled_from(self.names)] * 5, self.word)
        self.some = st.integers(0, 2 ** len(self.names) - 1)
        self.raw_gap = st.sampled_from((*PLACEHOLDERS * 3, *RAW_GAPS))
        self.route = st.sampled_from(catalogue.routes)
        self.methods = {
            route.methods: st.sampled_from(route.methods * (2 * len(METHODS)) + METHODS)
            for route in catalogue.routes
        }
        self.form = st.sampled_from(catalogue.forms) if catalogue.forms else None


@st.composite
def _request(draw: Any, draws: _Draws) -> FuzzRequest:
    kind = draw(KINDS)
    if kind == "form" and draws.form is not None:
        return _drawn_form(draw, draws)
    if kind == "anywhere":
        path = "/" + "/".join(_drawn_gap(draw, draws) for _ in range(draw(NUMBERS)))
        method, caller = draw(st.sampled_from(METHODS)), draw(ANYONE)
    else:
        route = draw(draws.route)
        path = route.filled(_drawn_gap(draw, draws) if route.gap else "")
        area = next(start for start in AREAS if route.path.startswith(start))
        method = draw(draws.methods[route.methods])
        caller = draw(MOSTLY[AREAS[area]])
    has_body = method not in ("GET", "HEAD", "get")
    content_type, body = _drawn_body(draw, draws) if has_body else ("", b"")
    query = _encoded(_drawn_pairs(draw, draws)) or draw(st.sampled_from(("",) * 50 + RAW_GAPS))
    headers = _with_type(_drawn_headers(draw), content_type)
    return FuzzRequest(caller, method, path, query, headers, body, draw(PIECES) if body else 1)


def _drawn_form(draw: Any, draws: _Draws) -> FuzzRequest:
    """A form of a page, sent as it is or with some of its fields changed or left out."""
    form: FormSkeleton = draw(draws.form)
    # Most often by the caller whose page it is on, so that what is behind the gate is reached.
    caller, fields = draw(MOSTLY[form.caller]), list(form.fields)
    for _ in range(draw(CHANGES) if fields else 0):
        place = draw(st.integers(0, len(fields) - 1))
        fields[place] = (fields[place][0], draw(draws.word))
    if fields and draw(CHANGES) == 2:
        del fields[draw(st.integers(0, len(fields) - 1))]
    headers = _with_type(_drawn_headers(draw), FORM_TYPE)
    body = _encoded(fields).encode()
    return FuzzRequest(caller, "POST", form.action, "", headers, body, draw(PIECES))


def _drawn_gap(draw: Any, draws: _Draws) -> str:
    if draw(st.booleans()):
        return str(draw(draws.raw_gap))
    return quote(draw(draws.word), safe="", errors="surrogatepass")


def _drawn_pairs(draw: Any, draws: _Draws) -> list[tuple[str, str]]:
    """A few names and values; or one value for many names, as each page reads few of them."""
    if draw(NUMBERS) == 1:
        value, some = draw(draws.word), draw(draws.some)
        return [(name, value) for k, name in enumerate(draws.names) if some >> k & 1]
    return [(draw(draws.name), draw(draws.word)) for _ in range(draw(NUMBERS))]


def _drawn_headers(draw: Any) -> tuple[tuple[str, str], ...]:
    return tuple(draw(HEADERS) for _ in range(draw(NUMBERS)))


def _with_type(
    headers: tuple[tuple[str, str], ...], content_type: str
) -> tuple[tuple[str, str], ...]:
    if not content_type or any(name == "content-type" for name, _ in headers):
        return headers
    return (("content-type", content_type), *headers)


# Bodies.


def _encoded(pairs: list[tuple[str, str]]) -> str:
    return urlencode(pairs, errors="surrogatepass")


BODIES: dict[str, Callable[[list[tuple[str, str]]], tuple[str, bytes]]] = {
    "form": lambda pairs: (FORM_TYPE, _encoded(pairs).encode()),
    "utf-16": lambda pairs: (FORM_TYPE, _encoded(pairs).encode("utf-16")),
    "gzip": lambda pairs: (FORM_TYPE, gzip.compress(_encoded(pairs).encode(), mtime=0)),
    "files": lambda pairs: ("multipart/form-data; boundary=x", _multipart(pairs)),
    "json": lambda pairs: ("application/json", json.dumps(dict(pairs)).encode()),
    "large": lambda pairs: (FORM_TYPE, b"a=" + b"x" * LARGEST_FORM),
    "many": lambda pairs: (FORM_TYPE, b"&a" * (MOST_FIELDS + 1)),
    "broken": lambda pairs: (FORM_TYPE, _encoded(pairs).encode() + b"&=&=&;&%&%zz=%ff" * 5),
}
BODY_KINDS = st.sampled_from(["form"] * 15 + list(BODIES) + ["bytes"] * 2)
TOKENS = st.sampled_from(["_TOKEN_"] * 4 + ["_GATE_", "", "x"])
BYTES = st.tuples(st.sampled_from([FORM_TYPE, "text/plain", ""]), st.binary(max_size=60))


def _drawn_body(draw: Any, draws: _Draws) -> tuple[str, bytes]:
    """A content type and a body: forms, with a token of ours more often than not, and anything."""
    kind = draw(BODY_KINDS)
    if kind == "bytes":
        drawn: tuple[str, bytes] = draw(BYTES)
        return drawn
    return BODIES[kind]([("token", draw(TOKENS)), *_drawn_pairs(draw, draws)])


def _file_name(name: str, value: str) -> str:
    """The rest of the head of a file; nothing for the token, which is a field."""
    return "" if name == "token" else f'; filename="{value[:99]}.csv"\r\nContent-Type: text/csv'


def _multipart(pairs: list[tuple[str, str]]) -> bytes:
    """Files whose names are what is in them, after the token of the form."""
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="{name}"{_file_name(name, value)}\r\n\r\n'
        f"{value}\r\n"
        for name, value in pairs
    ]
    return "".join([*parts, "--x--\r\n"]).encode("utf-8", "surrogatepass")
