"""A site of several studies: one sign-in, and who may do what with every page of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from support.form_browser import Visitor
from support.host_site import Member, accounts, opened, small_study
from support.snapshots import add_snapshot, body, judge_row
from tiewise.study.inviting.invitation_store import InvitationStore
from tiewise.study.inviting.people import Invitee
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study
from tiewise.study.values import Phase, Role
from tiewise.web.app import judge_routes, researcher_routes
from tiewise.web.host.app import host_routes
from tiewise.web.live.cache import pack_rows
from tiewise.web.researcher.passwords import set_password

PASSWORD = "correct horse"
ANYBODY, VIEWER, RESEARCHER, OWNER = range(4)
LEAST = {
    "GET /": VIEWER, "GET /sign-in": ANYBODY, "POST /sign-in": ANYBODY,
    "GET /sign-in/{secret}": ANYBODY, "POST /sign-in/{secret}": ANYBODY,
    "GET /site/you": VIEWER, "POST /site/you": VIEWER, "POST /site/link": VIEWER,
    "POST /site/sign-out": VIEWER, "GET /site/people": OWNER, "POST /site/people": OWNER,
    "POST /site/people/link": OWNER, "POST /site/people/role": OWNER,
    "GET /site/new": RESEARCHER, "POST /site/new": RESEARCHER,
    "GET /site/new/{draft}": RESEARCHER, "GET /site/new/{draft}/state": RESEARCHER,
    "POST /site/new/{draft}/chunk": RESEARCHER, "POST /site/new/{draft}/files": RESEARCHER,
    "POST /site/new/{draft}/remove": RESEARCHER, "POST /site/new/{draft}/make": RESEARCHER,
    "POST /site/new/{draft}/drop": RESEARCHER, "POST /site/people/remove": OWNER,
    "GET /site/studies/{study}": RESEARCHER, "POST /site/studies/{study}/phase": RESEARCHER,
    "POST /site/studies/{study}/clone": RESEARCHER,
    "POST /site/studies/{study}/archive": RESEARCHER,
    "POST /site/studies/{study}/pilot": RESEARCHER,
    "POST /site/studies/{study}/preview": RESEARCHER,
    "POST /site/studies/{study}/delete": OWNER, "GET /site/studies/{study}/settings": RESEARCHER,
    "POST /site/studies/{study}/settings": RESEARCHER, "GET /site/studies/{study}/file": RESEARCHER,
    "POST /site/studies/{study}/file": RESEARCHER, "GET /site/studies/{study}/items": RESEARCHER,
    "POST /site/studies/{study}/items": RESEARCHER,
    "POST /site/studies/{study}/items/add": RESEARCHER,
    "POST /site/studies/{study}/items/files": RESEARCHER, "GET /site/archive": OWNER,
    "POST /site/archive/back": OWNER, "POST /site/archive/remove": OWNER,
    "GET /site/archive/{name}": OWNER, "GET /site/trail": OWNER, "GET /static/{name}": ANYBODY,
}  # fmt: skip
"""Who may do what on the site itself; a route that is not here fails the test."""
VIEWERS_SEE = {
    "/watch", "/watch/fresh", "/watch/items", "/watch/items/{number}", "/watch/history",
    "/watch/history.json", "/watch/questions", "/watch/judges",
}  # fmt: skip
"""The pages of a study that change nothing, and give no single answers away."""


@pytest.fixture
def home(tmp_path) -> Path:
    for name in ("green", "blue"):
        small_study(tmp_path / "site", name)
    return tmp_path / "site"


@pytest.fixture
def app(home) -> Any:
    return opened(home)


def rank(role: Role) -> int:
    return {Role.VIEWER: VIEWER, Role.RESEARCHER: RESEARCHER, Role.OWNER: OWNER}[role]


def filled(path: str) -> str:
    values = {
        "secret": "0" * 32,
        "name": "watch.css",
        "number": "1",
        "code": "a",
        "judge": "a",
        "study": "green",
        "draft": "0" * 32,
        "item": "1",
    }
    return re.sub(r"\{(\w+)\}", lambda match: values[match[1]], path)


def outcome(who: Visitor, method: str, path: str) -> str:
    """`in`, `refused`, or `sign in`: what comes of a request, however it is filled in."""
    who.get("/site/you")
    token = who.token if method == "POST" and who.path == "/site/you" else ""
    answer = who.client.request(
        method, filled(path), data={"token": token} if method == "POST" else None,
        headers={"X-Form-Token": token}, follow_redirects=False,
    )  # fmt: skip
    if answer.status_code == 401:
        return "sign in"
    if answer.status_code in (301, 303, 307) and "/sign-in?" in answer.headers["location"]:
        return "sign in"
    return "refused" if answer.status_code == 403 else "in"


def expected(least: int, role: Role | None) -> str:
    if role is None:
        return "in" if least == ANYBODY else "sign in"
    return "in" if rank(role) >= least else "refused"


@pytest.mark.parametrize("role", [*Role, None])
def test_every_page_of_the_site_is_for_those_who_may(app, role):
    accounts(app).add_account("Root", Role.OWNER)
    wrong = []
    for route in host_routes():
        for method in route.methods - {"HEAD"}:
            least = LEAST[f"{method} {route.path}"]
            who = Member(app) if role is None else Member(app).come_in(role.title(), role)
            got = outcome(who, method, route.path)
            if least != ANYBODY and got != expected(least, role):
                wrong.append((method, route.path, got))
    assert wrong == []


@pytest.mark.parametrize("role", [*Role, None])
def test_every_page_of_a_study_is_for_those_who_may(app, role):
    accounts(app).add_account("Root", Role.OWNER)
    who = Member(app) if role is None else Member(app).come_in(role.title(), role)
    wrong = []
    for route in researcher_routes():
        if not route.path.startswith("/watch") or route.path == "/watch/password":
            continue
        for method in route.methods - {"HEAD"}:
            sees = route.path in VIEWERS_SEE and method == "GET"
            got = outcome(who, method, f"/green{route.path}")
            there = who.client.request(method, filled(f"/green{route.path}")).status_code
            if there in (404, 405) and route.path not in VIEWERS_SEE and got == "in":
                continue  # what is done on the site itself
            if got != expected(VIEWER if sees else RESEARCHER, role):
                wrong.append((method, route.path, got))
    assert wrong == []


@pytest.mark.parametrize("path", [path for path in LEAST if "{study}" in path])
def test_the_set_up_of_a_study_is_for_those_who_see_it(app, path):
    accounts(app).add_account("Root", Role.OWNER)
    who = Member(app).come_in("Bob", Role.RESEARCHER, studies=["blue"])
    who.get("/site/you")
    method, there = path.split()
    answer = who.client.request(method, filled(there), data={"token": who.token})
    assert answer.status_code == (403 if LEAST[path] == OWNER else 404)


@pytest.mark.parametrize("role", [*Role, None])
def test_every_page_of_a_preview_is_for_those_who_may(app, role):
    """And of somebody who sees another study alone, nothing is there."""
    accounts(app).add_account("Root", Role.OWNER)
    who = Member(app) if role is None else Member(app).come_in(role.title(), role)
    bob = Member(app).come_in("Bob", Role.RESEARCHER, studies=["blue"])
    refused = {None: 404, Role.VIEWER: 403}.get(role)
    wrong = []
    for route in judge_routes():
        for method in route.methods - {"HEAD"}:
            path = filled(f"/site/preview/green{route.path}".replace(":path", ""))
            got = who.client.request(method, path, follow_redirects=False)
            if refused is None:  # what a judge would get
                at_home = (method, route.path) != ("GET", "/") or got.status_code == 200
                right = at_home and "/sign-in" not in got.headers.get("location", "")
            else:
                right = got.status_code == refused
            if not right:
                wrong.append((method, path, got.status_code))
            if bob.client.request(method, path, follow_redirects=False).status_code != 404:
                wrong.append((method, path, "Bob"))
    assert wrong == []


def test_an_account_of_one_study_sees_no_other(app):
    accounts(app).add_account("Root", Role.OWNER)
    who = Member(app).come_in("Bob", Role.RESEARCHER, studies=["green"])
    assert who.get("/green/watch").status_code == 200
    assert who.get("/blue/watch").status_code == 403
    page = who.get("/")
    assert "Which is green?" in page.text
    assert "Which is blue?" not in page.text


def test_viewers_see_figures_of_judges_and_not_who_they_are(app, home):
    """Nor what only others may do; a researcher sees both."""
    accounts(app).add_account("Root", Role.OWNER)
    study = Study.open(home / "green")
    store = study.store()
    invitations = InvitationStore(store)
    invitations.add([Invitee("Anna Ashby", "anna@ashby.example")])
    (link,) = invitations.issue([1])
    anna = Visitor(app)
    anna.get(f"/green{link.path}")
    anna.get(next(href for _, href in anna.page.links if href.startswith("/green/begin")))
    anna.send("/green/begin", consent="1")
    (judge,) = invitations.labels()
    values = body(list(study.items), [0.0] * len(study.items))
    rows = [judge_row("0000"), judge_row(judge)]
    add_snapshot(store, values, beside={"judges": pack_rows(rows)})
    store.close()
    seen = {}
    for role in (Role.VIEWER, Role.RESEARCHER):
        who = Member(app).come_in(role.title(), role)
        pages = [
            who.get(f"/green/watch{path}").text for path in ("/judges", "/judges?by=judge", "")
        ]
        assert "Median time" in pages[0]
        signs = ("Anna Ashby", f"/watch/judges/{judge}", 'action="/green/watch/')
        seen[role] = [sign in "".join(pages) for sign in signs]
        if role == Role.RESEARCHER:  # those with a name come first
            assert pages[1].index("Anna Ashby") < pages[1].index("0000")
    assert seen == {Role.VIEWER: [False] * 3, Role.RESEARCHER: [True] * 3}


def test_one_sign_in_opens_every_study_and_leads_back(app):
    ada = Member(app).come_in("Ada")
    ada.get("/site/you")
    ada.send("/site/you", password=PASSWORD, again=PASSWORD)
    assert "Your password is set" in ada.answer.text
    ada.send("/site/sign-out")
    ada.get("/green/watch/items")
    assert ada.path == "/sign-in"
    ada.send("/sign-in", name="Ada", password=PASSWORD)
    assert ada.path == "/green/watch/items"
    assert ada.get("/blue/watch").status_code == 200
    ada.send("/site/sign-out")
    ada.get("/blue/watch")
    assert ada.path == "/sign-in"


@pytest.mark.parametrize(
    "onward", ["//evil.test", "https://evil.test/", "/\\evil.test", "/green/../../x", "/begin"]
)
def test_signing_in_leads_to_no_other_site(app, onward):
    ada = Member(app).come_in("Ada")
    ada.get("/sign-in", params={"next": onward})
    assert ada.path == "/"


def test_what_is_done_in_a_study_is_logged_there_by_name(app, home):
    ada = Member(app).come_in("Ada")
    ada.get("/green/watch/run")
    ada.send("/green/watch/phase", "paused")
    store = ResearcherStore(Study.open(home / "green").store())
    assert store.phase() == Phase.PAUSED
    assert next(store.audit_log())["name"] == "Ada"
    assert ResearcherStore(Study.open(home / "blue").store()).phase() == Phase.OPEN


def test_a_researcher_of_a_study_signs_in_with_the_password_of_before(home):
    own = ResearcherStore(Study.open(home / "green").store())
    set_password(own, own.add_researcher("Bob"), PASSWORD)
    app = opened(home)
    bob = Member(app)
    bob.get("/green/watch")
    bob.send("/sign-in", name="Bob", password=PASSWORD)
    assert (bob.path, bob.answer.status_code) == ("/green/watch", 200)
    assert bob.get("/blue/watch").status_code == 403


def test_a_lost_password_is_mended_by_another_owner(app):
    """In the browser: a one-time link, and a new password without the old one."""
    root, ada = Member(app).come_in("Root"), Member(app).come_in("Ada")
    ada.get("/site/you")
    ada.send("/site/you", password=PASSWORD, again=PASSWORD)
    ada.send("/site/sign-out")
    number = str(accounts(app).researcher("Ada").id)
    root.get("/site/people")
    root.send("/site/people/link", account=number)
    link = re.search(r"/sign-in/[0-9a-f]{32}", root.answer.text)[0]
    ada.get(link)
    ada.send(link)
    ada.get("/site/you")
    ada.send("/site/you", password="battery staple", again="battery staple")
    assert "Your password is set" in ada.answer.text
    assert accounts(app).use_sign_in_token(link.rpartition("/")[2]) is None


def test_owners_add_change_and_remove_people(app):
    root = Member(app).come_in("Root")
    root.get("/site/people")
    root.send("/site/people", name="Bob", role="viewer", studies="some", study=["green"])
    link = re.search(r"/sign-in/[0-9a-f]{32}", root.answer.text)[0]
    bob = Member(app)
    bob.get(link)
    bob.send(link)
    assert bob.get("/green/watch").status_code == 200
    assert bob.get("/green/watch/run").status_code == 403
    number = str(accounts(app).researcher("Bob").id)
    root.get("/site/people")
    root.send("/site/people/role", account=number, role="researcher", studies="every")
    assert bob.get("/blue/watch/run").status_code == 200
    root.get("/site/people")
    root.send("/site/people/remove", account=number)
    bob.get("/green/watch")
    assert bob.path == "/sign-in"


def test_judges_need_no_account_and_see_nothing_of_others(app):
    judge = Visitor(app)
    judge.get("/green/")
    assert judge.answer.status_code == 200
    assert "blue" not in judge.answer.text
    judge.get("/nothing/")
    assert (judge.answer.status_code, judge.heading) == (404, "Nothing to see here")


def test_a_study_appears_changes_and_goes_while_the_site_runs(home):
    app = opened(home)
    judge = Visitor(app)
    small_study(home, "red")
    assert "Which is red?" in judge.get("/red/").text
    settings = home / "red" / "study.toml"
    settings.write_text(settings.read_text().replace("Which is red?", "Which is redder?"))
    app.state.site.studies._checked.clear()
    assert "Which is redder?" in judge.get("/red/").text
    settings.write_text("not toml")
    app.state.site.studies._checked.clear()
    assert "Which is redder?" in judge.get("/red/").text  # as it was
    page = Member(app).come_in("Ada").get("/")
    assert "cannot be used" in page.text
    (home / "red").rename(home.parent / "elsewhere")
    app.state.site.studies._checked.clear()
    assert judge.get("/red/").status_code == 404


def test_health_speaks_of_all_studies(app):
    assert Visitor(app).get("/health").json() == {"well": True, "studies": 2, "studies_well": 2}


def test_addresses_that_are_no_study_leave_nothing_behind(app):
    """Anybody may ask for them, as often and as long as they like."""
    visitor = Visitor(app)
    before = len(app.state.site.studies._locks)
    for name in ("nothing", "x" * 2000, "green%00", "..%2fgreen"):
        assert visitor.get(f"/{name}/pair").status_code == 404
    assert len(app.state.site.studies._locks) == before


def test_whoever_comes_second_is_told_that_the_study_is_gone(app):
    ada = Member(app).come_in("Ada")
    assert "nothing was done" in ada.get("/?done=gone").text
    assert "nothing was done" not in ada.get("/").text
