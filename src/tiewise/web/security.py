"""Whose browser it is, whether a form is ours, how often is too often, and what headers say."""

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
from typing import NamedTuple

from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE_DAYS = 90
RESEARCHER_DAYS = 7
SECRET = re.compile(r"[0-9a-f]{32}")

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
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
"""On every answer. Addresses and pages of a study are nobody else's business."""


@dataclass(frozen=True, slots=True)
class Session:
    """What a browser carries for us, signed."""

    secret: str
    """Its own; that of the judge, once there is one."""
    language: str = ""
    away: bool = False
    """Whether the quick exit was taken: no page of the study until they say so."""


class Guard:
    """Cookies that only we can write, and forms that only our pages can send."""

    def __init__(self, key: str, *, https: bool = False, path: str = "") -> None:
        self._key = key.encode()
        self._signer = URLSafeTimedSerializer(
            self._key, salt="session", signer_kwargs={"digest_method": hashlib.sha256}
        )
        # Cookies do not tell ports apart: two studies on one machine need names of their own.
        self._name = f"tiewise-{self._mac('name')[:8]}"
        self._https, self._path = https, path or "/"

    def session(self, connection: HTTPConnection) -> Session | None:
        """What the browser carries, if it is ours and not too old."""
        kept = connection.cookies.get(self._cookie(connection), "")
        try:
            said = self._signer.loads(kept, max_age=COOKIE_DAYS * 86400)
            return Session(str(said["s"]), str(said["l"]), bool(said["a"]))
        except (BadData, KeyError, TypeError):
            return None

    def keep(self, session: Session, connection: HTTPConnection, response: Response) -> None:
        """Have the browser carry this."""
        said = {"s": session.secret, "l": session.language, "a": int(session.away)}
        response.set_cookie(
            self._cookie(connection), str(self._signer.dumps(said)), COOKIE_DAYS * 86400,
            path=self._path, secure=self._secure(connection), httponly=True, samesite="lax",
        )  # fmt: skip

    def badge(self, connection: HTTPConnection) -> str:
        """The secret that a researcher's browser carries, in a cookie of its own; else nothing."""
        kept = connection.cookies.get(self._cookie(connection, "-watch"), "")
        return kept if SECRET.fullmatch(kept) else ""

    def keep_badge(self, secret: str, connection: HTTPConnection, response: Response) -> None:
        """Have a researcher's browser carry this secret; whose it is, is in the database."""
        response.set_cookie(
            self._cookie(connection, "-watch"), secret, RESEARCHER_DAYS * 86400,
            path=self._path, secure=self._secure(connection), httponly=True, samesite="lax",
        )  # fmt: skip

    def token(self, session: Session) -> str:
        """For a form: never the same twice, so that compressed pages give nothing away."""
        nonce = secrets.token_hex(8)
        return f"{nonce}.{self._mac('form', nonce, session.secret)}"

    def is_ours(self, token: str, session: Session) -> bool:
        """Whether this browser had a form with this token from us."""
        nonce, _, mac = token.partition(".")
        wanted = self._mac("form", nonce, session.secret)
        return hmac.compare_digest(mac.encode(), wanted.encode())

    def _mac(self, *words: str) -> str:
        return hmac.new(self._key, "\0".join(words).encode(), hashlib.sha256).hexdigest()

    def _secure(self, connection: HTTPConnection) -> bool:
        return self._https or connection.scope.get("scheme") == "https"

    def _cookie(self, connection: HTTPConnection, kind: str = "") -> str:
        name = self._name + kind
        if not self._secure(connection):
            return name
        # A browser takes these only from the very host, over https.
        return f"{'__Host-' if self._path == '/' else '__Secure-'}{name}"


def fresh_secret() -> str:
    """A secret for a browser that carries none."""
    return secrets.token_hex(16)


class Limit(NamedTuple):
    """So many in so many seconds."""

    number: int
    seconds: float


class Limits(NamedTuple):
    """How much is let through. A whole class may sit behind one address, so it is generous."""

    sign_ups: Limit = Limit(300, 600)
    """From one address."""
    strangers: Limit = Limit(120, 60)
    """Forms from one address that are not ours, or of nobody who signed up."""
    posts: Limit = Limit(60, 15)
    """From one judge, or one researcher."""
    sign_ins: Limit = Limit(20, 600)
    """Of researchers, from one address and for one name."""
    programs: Limit = Limit(240, 60)
    """Questions with one token, and from one address without a good one."""


class Throttle:
    """Counts who asks, for a while, in memory; each known by a digest whose key is forgotten."""

    MOST = 200_000

    def __init__(self, limit: Limit, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock = limit, clock
        self._begin(clock())

    def _begin(self, at: float) -> None:
        self._since, self._key = at, os.urandom(16)
        self._seen: dict[bytes, int] = {}

    def allows(self, who: str) -> bool:
        """Whether this one may, counting this time."""
        if self._clock() - self._since >= self._limit.seconds:
            self._begin(self._clock())
        digest = hashlib.blake2b(who.encode(), digest_size=12, key=self._key).digest()
        times = self._seen.get(digest, 0) + 1
        if times == 1 and len(self._seen) >= self.MOST:
            return False
        self._seen[digest] = times
        return times <= self._limit.number

    def wait(self) -> int:
        """Seconds until it begins anew."""
        return max(1, round(self._since + self._limit.seconds - self._clock()))


def address(connection: HTTPConnection) -> str:
    """Where a request comes from; of IPv6 only the network, which is one household's."""
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


class Headers:
    """Puts our headers on every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on; dress answers on their way out."""

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                dress(MutableHeaders(scope=message))
            await send(message)

        await self._app(scope, receive, dressed if scope["type"] == "http" else send)


def dress(headers: MutableHeaders) -> None:
    """Our headers, and no keeping of pages unless the answer says otherwise."""
    for name, value in HEADERS.items():
        headers[name] = value
    headers.setdefault("Cache-Control", "no-store")
