"""How old a cookie may be, whatever becomes of the clock."""

from __future__ import annotations

import time

import pytest
from itsdangerous import TimestampSigner
from starlette.requests import HTTPConnection
from starlette.responses import Response

from tiewise.web.security import COOKIE_DAYS, Session, SessionCookies

HOUR, DAY = 3600, 86400


def connection(cookie: str = "") -> HTTPConnection:
    headers = [(b"cookie", cookie.partition(";")[0].encode())] if cookie else []
    return HTTPConnection({"type": "http", "scheme": "http", "headers": headers})


@pytest.mark.parametrize(
    ("seconds", "known"),
    [(0, True), (HOUR, True), (400 * DAY, True), (-COOKIE_DAYS * DAY + HOUR, True),
     (-COOKIE_DAYS * DAY - HOUR, False)],
)  # fmt: skip
def test_only_an_old_cookie_is_refused_not_one_from_before_the_clock_was_set_back(
    monkeypatch, seconds, known
):
    cookies, session, response = SessionCookies("key"), Session("a" * 32), Response()
    with monkeypatch.context() as patch:
        patch.setattr(TimestampSigner, "get_timestamp", lambda _: int(time.time()) + seconds)
        cookies.write_judge(session, connection(), response)
    read = cookies.read_judge(connection(response.headers["set-cookie"]))
    assert read == (session if known else None)


def test_a_cookie_of_somebody_else_is_refused():
    response = Response()
    SessionCookies("other").write_judge(Session("a" * 32), connection(), response)
    own = SessionCookies("key")
    name = own._cookie(connection())
    value = response.headers["set-cookie"].partition("=")[2]
    assert own.read_judge(connection(f"{name}={value}")) is None
