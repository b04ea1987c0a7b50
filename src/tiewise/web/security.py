"""Session cookies, form tokens, rate limits and security headers."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE_DAYS = 90
RESEARCHER_DAYS = 7
DEVICE_DAYS = 180
SECRET = re.compile(r"[0-9a-f]{32}")

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "font-src 'self'; media-src 'self'; connect-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": (
        "camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Robots-Tag": "noindex, nofollow",
}
"""On every response."""
SANDBOX = "sandbox; default-src 'none'"
"""The policy of files that are compared: opened by themselves, they run and load nothing."""


@dataclass(frozen=True, slots=True)
class Session:
    """What the cookie of a browser holds."""

    secret: str
    """Of the browser; of the judge or the researcher once there is one."""
    language: str = ""
    away: bool = False
    """Whether the quick exit was taken: nothing of the study is shown until they return."""
    panel: tuple[tuple[str, str], ...] = ()
    """What the link of a panel said, by name, until they sign up."""


class SessionCookies:
    """Sessions in cookies that only we can write, and tokens for forms that only our pages have."""

    def __init__(self, key: str, *, https: bool = False, path: str = "") -> None:
        self._key = key.encode()
        self._signer, self._device_signer = (
            URLSafeTimedSerializer(
                self._key, salt=salt, signer_kwargs={"digest_method": hashlib.sha256}
            )
            for salt in ("session", "device")
        )
        # Cookies ignore ports, so two studies on one machine need different names.
        self._name = f"tiewise-{self._mac('name')[:8]}"
        self._https, self._path = https, path or "/"

    def read_judge(self, connection: HTTPConnection) -> Session | None:
        """The session of a judge's browser, if its cookie is ours and not too old."""
        cookie = connection.cookies.get(self._cookie(connection), "")
        try:
            values = _unexpired(self._signer, cookie, COOKIE_DAYS)
            panel = tuple((str(name), str(value)) for name, value in values.get("p", ()))
            return Session(str(values["s"]), str(values["l"]), bool(values["a"]), panel)
        except (BadData, KeyError, TypeError, ValueError):
            return None

    def write_judge(self, session: Session, connection: HTTPConnection, response: Response) -> None:
        """Set the signed cookie of a judge's browser."""
        values = {"s": session.secret, "l": session.language, "a": int(session.away)}
        if session.panel:
            values["p"] = session.panel
        response.set_cookie(
            self._cookie(connection), str(self._signer.dumps(values)), COOKIE_DAYS * 86400,
            path=self._path, secure=self._secure(connection), httponly=True, samesite="lax",
        )  # fmt: skip

    def read_researcher(self, connection: HTTPConnection) -> Session | None:
        """The session of a researcher's browser, from a cookie of its own."""
        secret = connection.cookies.get(self._cookie(connection, "-watch"), "")
        return Session(secret) if SECRET.fullmatch(secret) else None

    def write_researcher(
        self, session: Session, connection: HTTPConnection, response: Response
    ) -> None:
        """Set the cookie of a researcher's browser; whose it is, is in the database."""
        response.set_cookie(
            self._cookie(connection, "-watch"), session.secret, RESEARCHER_DAYS * 86400,
            path=self._path, secure=self._secure(connection), httponly=True, samesite="lax",
        )  # fmt: skip

    def read_device(self, connection: HTTPConnection) -> str | None:
        """The secret of a researcher's device, if its cookie is ours and not too old."""
        cookie = connection.cookies.get(self._cookie(connection, "-device"), "")
        try:
            return str(_unexpired(self._device_signer, cookie, DEVICE_DAYS))
        except BadData:
            return None

    def write_device(self, secret: str, connection: HTTPConnection, response: Response) -> None:
        """Set the signed cookie by which a researcher's device is known."""
        response.set_cookie(
            self._cookie(connection, "-device"), str(self._device_signer.dumps(secret)),
            DEVICE_DAYS * 86400, path=self._path, secure=self._secure(connection), httponly=True,
            samesite="strict",
        )  # fmt: skip

    def form_token(self, session: Session) -> str:
        """A token for a form; never the same twice, so that compressed pages reveal nothing."""
        nonce = secrets.token_hex(8)
        return f"{nonce}.{self._mac('form', nonce, session.secret)}"

    def is_form_token(self, token: str, session: Session) -> bool:
        """Whether we gave this browser a form with this token."""
        nonce, _, mac = token.partition(".")
        expected = self._mac("form", nonce, session.secret)
        return hmac.compare_digest(mac.encode(), expected.encode())

    def sign_up_secret(self, token: str) -> str:
        """The secret of the judge who signs up with this form.

        Not the one that the browser had before, which might be known to somebody else; and the same
        one however often the form is sent.
        """
        return self._mac("sign up", token)[:32]

    def is_sign_up_again(self, token: str, session: Session) -> bool:
        """Whether this is the form with which the judge of this session signed up, sent again."""
        return hmac.compare_digest(self.sign_up_secret(token).encode(), session.secret.encode())

    def _mac(self, *words: str) -> str:
        return hmac.new(self._key, "\0".join(words).encode(), hashlib.sha256).hexdigest()

    def _secure(self, connection: HTTPConnection) -> bool:
        return self._https or connection.scope.get("scheme") == "https"

    def _cookie(self, connection: HTTPConnection, kind: str = "") -> str:
        name = self._name + kind
        if not self._secure(connection):
            return name
        # Browsers take these prefixes only over https, and `__Host-` only from the host itself.
        return f"{'__Host-' if self._path == '/' else '__Secure-'}{name}"


def _unexpired(signer: URLSafeTimedSerializer, cookie: str, days: int) -> Any:
    """What a signed cookie holds; refused where it is not ours or too old.

    One of a moment that is yet to come is as good as any: somebody has set the clock back, and
    judges must not be sent away for it.
    """
    values, signed = signer.loads(cookie, return_timestamp=True)
    if datetime.now(UTC) - signed > timedelta(days=days):
        raise BadData(f"older than {days} days")
    return values


def new_secret() -> str:
    """A secret for a new session."""
    return secrets.token_hex(16)


class RateLimit(NamedTuple):
    """So many requests in so many seconds."""

    number: int
    seconds: float


class RateLimits(NamedTuple):
    """The limits of a site; generous, as a whole class may share one address."""

    sign_ups: RateLimit = RateLimit(300, 600)
    """From one address."""
    strangers: RateLimit = RateLimit(120, 60)
    """Forms from one address that are not ours, and links that open nothing."""
    posts: RateLimit = RateLimit(60, 15)
    """From one judge, or one researcher."""
    sign_ins: RateLimit = RateLimit(20, 600)
    """Of researchers: from one address and for one name, or from a device that is known."""
    programs: RateLimit = RateLimit(240, 60)
    """API requests with one token, and from one address without a valid one."""


class Throttle:
    """Counts requests by sender in memory; senders are stored as digests with a short-lived key."""

    MOST = 200_000

    def __init__(self, limit: RateLimit, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock = limit, clock
        self._begin(clock())

    def _begin(self, at: float) -> None:
        self._since, self._key = at, os.urandom(16)
        self._counts: dict[bytes, int] = {}

    def allows(self, sender: str) -> bool:
        """Count a request, and whether it is within the limit."""
        if self._clock() - self._since >= self._limit.seconds:
            self._begin(self._clock())
        digest = hashlib.blake2b(sender.encode(), digest_size=12, key=self._key).digest()
        times = self._counts.get(digest, 0) + 1
        if times == 1 and len(self._counts) >= self.MOST:
            return False
        self._counts[digest] = times
        return times <= self._limit.number

    def wait(self) -> int:
        """Seconds until the next period begins."""
        return max(1, round(self._since + self._limit.seconds - self._clock()))


def address(connection: HTTPConnection) -> str:
    """The address of the sender; of IPv6 only the network, which belongs to one household."""
    host = connection.client.host if connection.client else ""
    try:
        known = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(known, ipaddress.IPv4Address):
        return str(known)
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(known), 64), strict=False))


def is_same_origin(headers: Headers, public_url: str = "") -> bool:
    """Whether a form was sent from a page of ours, as far as the browser says.

    Browsers that say nothing are believed: forms have a token besides. `Origin: null` says nothing,
    as that is what our own pages send, which tell nobody where they are (Referrer-Policy).
    """
    origin = headers.get("origin", "null")
    own_hosts = {headers.get("host", ""), urlsplit(public_url).netloc} - {""}
    ours = origin == "null" or _host(origin.partition("://")[2]) in map(_host, own_hosts)
    return ours and headers.get("sec-fetch-site", "none") in ("same-origin", "none")


def _host(netloc: str) -> str:
    """Host and port; without the port where it is the usual one."""
    return re.sub(r":(80|443)$", "", netloc.lower())


class SecurityHeaders:
    """Middleware that sets the security headers of every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, with headers added to responses."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                set_security_headers(MutableHeaders(scope=message))
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


def set_security_headers(headers: MutableHeaders) -> None:
    """Set the security headers, and no caching unless the response says otherwise.

    A response may have a policy of its own, if that is the one of files of items.
    """
    sandboxed = headers.get("Content-Security-Policy") == SANDBOX
    for name, value in SECURITY_HEADERS.items():
        headers[name] = value
    if sandboxed:
        headers["Content-Security-Policy"] = SANDBOX
    headers.setdefault("Cache-Control", "no-store")
