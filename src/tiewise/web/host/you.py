"""The page of one's own account: password, and a link for another device."""

from __future__ import annotations

from starlette.responses import Response

from tiewise.web.host.request import HostRequest
from tiewise.web.researcher import sign_in
from tiewise.web.researcher.passwords import SHORTEST

DONE = "Your password is set. Wherever else you were signed in, you are no longer."


def you_page(request: HostRequest) -> Response:
    """One's password and other devices."""
    message = DONE if request.query("done") == "password" else ""
    return request.show("host/you.html", fault="", field="", shortest=SHORTEST, message=message)


def change_password(request: HostRequest) -> Response:
    """Set a new password, and end other sessions."""
    return sign_in.change_password(request)
