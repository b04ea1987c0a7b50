"""Every route of the site under hostile requests: no error 500, nothing that leads elsewhere."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from support.fuzz import HOSTED, KINDS, FuzzTally, Send, fuzz, fuzz_round, send_probes
from support.fuzz_host import HostFuzzSite
from support.fuzz_probes import plain_request, shuffled_probes
from support.fuzz_requests import CALLERS, FuzzCatalogue, FuzzRequest, FuzzRoute, requests
from support.fuzz_site import GONE, FuzzAnswer, FuzzCaller, FuzzSite, ask, fault, harmless
from support.fuzz_site import make_studies as make_fuzz_studies
from tiewise.web.app import judge_routes, routes
from tiewise.web.host.app import host_routes
from tiewise.web.security import SECURITY_HEADERS, SecurityHeaders

SECONDS = 60.0


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [KINDS[:-1], (HOSTED,)], ids=["studies", "hosted"])
def test_a_minute_of_hostile_requests(kinds):
    """With another seed each time; one that fails is printed with its seed, shrunk."""
    tally = fuzz(first_seed=secrets.randbits(24), seconds=SECONDS / 2, kinds=kinds)
    assert not tally.failures, "\n\n".join(map(str, tally.failures))
    assert tally.sent > 500
    # What is behind the gates was reached.
    for caller in CALLERS:
        assert sum(tally.answers[caller, status] for status in (200, 303)) > 10


# Whether the fuzzer would notice.


def app_with(page: Callable[[Request], Response]) -> Any:
    async def endpoint(request: Request) -> Response:
        return page(request)

    return SecurityHeaders(Starlette(routes=[Route("/page", endpoint)]))


CATALOGUE = FuzzCatalogue((FuzzRoute("", "/page", ("GET", "HEAD")),), (), ("word",))


@contextmanager
def sending(page: Callable[[Request], Response]) -> Iterator[Send]:
    app, loop = app_with(page), asyncio.new_event_loop()
    yield lambda request: ask(loop, app, request, FuzzCaller())
    loop.close()


def fuzzed(page: Callable[[Request], Response]) -> FuzzTally:
    """What a round of drawn requests finds on a page."""
    tally = FuzzTally()
    with sending(page) as send:
        fuzz_round(requests(CATALOGUE), send, tally, number=1, size=100)
    return tally


def test_a_page_that_fails_is_found_and_the_request_shrunk():
    def fails(request: Request) -> Response:
        "".join(request.query_params.values()).encode("ascii")
        return HTMLResponse("<h1>Well</h1>")

    (failure,) = fuzzed(fails).failures
    assert "UnicodeEncodeError" in failure.error
    request = failure.request
    assert (request.path, request.headers, request.body) == ("/page", (), b"")
    assert request.query.count("&") == 0
    assert "seed" in str(failure)


@pytest.mark.slow
def test_a_value_that_a_page_cannot_read_is_found_and_named():
    def fails(request: Request) -> Response:
        int(request.query_params.get("days", "1"))
        return HTMLResponse("<h1>Well</h1>")

    tally = FuzzTally()
    with sending(fails) as send:
        send_probes(shuffled_probes(CATALOGUE, Random(1)), send, tally)
    assert {one.error.partition(" ")[0] for one in tally.failures} == {"ValueError"}
    assert {one.request.query.partition("=")[0] for one in tally.failures} == {"days"}
    # Each value that is no number; of those that are, none.
    assert {one.request.query for one in tally.failures} >= {"days=", "days=nan", "days=%C2%B2"}
    assert "days=-1" not in {one.request.query for one in tally.failures}


def test_a_page_that_sends_people_elsewhere_is_found():
    def redirects(request: Request) -> Response:
        return Response(status_code=303, headers={"location": f"//{request.headers['host']}"})

    (failure,) = fuzzed(redirects).failures
    assert "leads elsewhere: //" in failure.error


def test_a_page_that_is_well_is_not_blamed():
    tally = fuzzed(lambda _: HTMLResponse("<h1>Well</h1>"))
    assert tally.failures == []
    assert tally.sent == 100


OURS = tuple((name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items())
PAGE = (*OURS, (b"content-type", b"text/html; charset=utf-8"))


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (FuzzAnswer(200, PAGE, b"<h1>Well</h1>"), ""),
        (FuzzAnswer(404, PAGE, b"<h1>Not here</h1>"), ""),
        (FuzzAnswer(303, (*OURS, (b"location", b"/pair")), b""), ""),
        (GONE, ""),
        (FuzzAnswer(500, PAGE, b"<h1>Sorry</h1>"), "status 500"),
        (FuzzAnswer(503, PAGE, b"<h1>Sorry</h1>"), "status 503"),
        (FuzzAnswer(404, PAGE, b""), "without a word"),
        (FuzzAnswer(200, PAGE[1:], b"<h1>Well</h1>"), "without headers: "),
        (FuzzAnswer(303, (*OURS, (b"location", b"//evil.example")), b""), "leads elsewhere: "),
        (
            FuzzAnswer(303, (*OURS, (b"location", b"https://evil.example")), b""),
            "leads elsewhere: ",
        ),
        (FuzzAnswer(200, (*PAGE, (b"x", b"a\r\nb: c")), b"<h1>Well</h1>"), "line break"),
        (FuzzAnswer(200, (*PAGE, (b"content-length", b"9")), b"<h1>"), "a wrong Content-Length: 9"),
    ],
)
def test_what_no_answer_may_be(answer, kind):
    problem = fault(FuzzRequest("nobody", "GET", "/pair"), answer)
    assert kind in problem if kind else problem == ""


# Whether it reaches what there is.


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Any:
    with harmless():
        site = FuzzSite(make_fuzz_studies(tmp_path_factory.mktemp("fuzz")))
        yield site
        site.close()


@pytest.mark.slow
def test_it_knows_every_route_and_every_form(site):
    catalogue = site.catalogue()
    for study in site.names:
        known = {(one.path, one.methods) for one in catalogue.routes if one.prefix == f"/{study}"}
        assert known == {(route.path, tuple(sorted(route.methods))) for route in routes()}
    # Every form that is sent to a path without a gap is on a page that it opens.
    sent = {form.action.removeprefix("/wards") for form in catalogue.forms}
    posts = {route.path for route in routes() if "POST" in route.methods}
    unseen = {"/resume", "/sign-in/{secret}", "/watch/judges/include", "/watch/erase", "/why"}
    # Buttons that come with somebody invited, and with a suggestion: test_overview.py and
    # test_inviting.py in tests/web/researcher press them. They are sent to as routes.
    unseen |= {"/watch/invite/remove", "/watch/pairing"}
    # Of studies with a design alone: tests/web/researcher/designs/test_sheets.py sends these.
    unseen |= {path for path in posts if path.startswith("/watch/sheets")}
    assert posts - sent <= unseen


@pytest.fixture(scope="module")
def hosted(tmp_path_factory) -> Any:
    with harmless():
        site = HostFuzzSite(make_fuzz_studies(tmp_path_factory.mktemp("fuzz")))
        yield site
        site.close()


@pytest.mark.slow
def test_it_knows_every_route_and_every_form_of_a_site_of_several_studies(hosted):
    catalogue = hosted.catalogue()
    known = {(one.path, one.methods) for one in catalogue.routes if not one.prefix}
    assert known >= {(route.path, tuple(sorted(route.methods))) for route in host_routes()}
    for prefix in ("/wards", "/words", "/site/preview/wards"):
        own = {one.path for one in catalogue.routes if one.prefix == prefix}
        assert own >= {route.path for route in judge_routes()}
    sent = {form.action.replace("/studies/wards", "/studies/{study}") for form in catalogue.forms}
    sent = {path.replace("_DRAFT_", "{draft}") for path in sent}
    posts = {route.path for route in host_routes() if "POST" in route.methods}
    # Of an archive that holds something, a draft with files, lists of items with and without files,
    # and links that are opened once.
    unseen = {"/site/archive/back", "/site/archive/remove", "/site/new/{draft}/remove"}
    unseen |= {"/site/studies/{study}/items/add", "/site/new/{draft}/chunk", "/sign-in/{secret}"}
    unseen.add("/site/studies/{study}/items/files")
    assert posts - sent <= unseen


@pytest.mark.slow
def test_what_an_owner_takes_away_comes_back(hosted):
    """Archived, deleted or emptied, a study is there for the next request."""
    for path, more in (
        ("phase", b"&phase=closed"), ("archive", b""), ("delete", b"&confirm=wards"),
        ("pilot", b"&confirm=wards"),
    ):  # fmt: skip
        for at, body in (("phase", b"&phase=paused"), (path, more)):
            request = plain_request("researcher", "POST", f"/site/studies/wards/{at}")
            assert hosted.send(request._replace(body=b"token=_TOKEN_" + body)).status in (303, 422)
        assert hosted.send(plain_request("judge", "GET", "/wards/pair")).status == 200, path
        assert hosted.send(plain_request("researcher", "GET", "/wards/watch/run")).status == 200


@pytest.mark.slow
def test_callers_open_what_is_theirs_and_come_back_when_they_are_put_out(site):
    pages = {"judge": "/pair", "researcher": "/watch/run", "partner": "/shared/_SHARE_",
             "program": "/api/v1/"}  # fmt: skip
    for caller, page in pages.items():
        for other in CALLERS:
            answer = site.send(plain_request(other, "GET", f"/wards{page}"))
            assert (answer.status == 200) is (other == caller), (caller, other)
    for path in ("/withdraw", "/watch/sign-out", "/watch/phase"):
        caller = "researcher" if path.startswith("/watch") else "judge"
        request = plain_request(caller, "POST", f"/wards{path}")
        form = b"token=_TOKEN_&erase=all&phase=closed"
        assert site.send(request._replace(body=form)).status == 303
    for caller, page in pages.items():
        assert site.send(plain_request(caller, "GET", f"/wards{page}")).status == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "broken", "path", "field"),
    [
        ("tiewise.web.researcher.dashboard._chosen_snapshot",
         lambda request: int(request.query("at") or 0), "/wards/watch/history", "at"),
        ("tiewise.web.judge.signup.clean_line", lambda text: text.encode("ascii"),
         "/wards/begin", "code"),
    ],
)  # fmt: skip
def test_a_fault_behind_a_gate_is_found(site, monkeypatch, place, broken, path, field):
    monkeypatch.setattr(place, broken)
    probes = shuffled_probes(site.catalogue(), Random(1))
    tally = FuzzTally()
    there = [one for one in probes if one.path == path and one.query][:25]
    send_probes(there, site.send, tally)
    assert {one.request.query.partition("=")[0] for one in tally.failures} == {field}
