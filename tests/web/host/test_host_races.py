"""Fifty owners who do the same on a site of several studies at the same moment."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.host_site import Member, accounts, opened, small_study
from support.item_files import write
from support.races import Asked, race
from tiewise.hosting.site_folder import SiteFolder
from tiewise.study.checks.check import check_study
from tiewise.study.connection import now
from tiewise.study.create import create_study
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study
from tiewise.study.values import Phase, Role
from tiewise.web.host.app import host_routes
from tiewise.web.security import RateLimit, RateLimits

AT_ONCE = 50
NO_LIMIT = RateLimits(*[RateLimit(10**9, 60)] * len(RateLimits()))
AT = "/site/studies/green"
TABLE = b"name\na\nb\nc\nd\n"


@pytest.fixture
def home(tmp_path) -> Path:
    for name in ("green", "blue"):
        small_study(tmp_path / "site", name, "item,name\n1,a\n2,b\n3,c\n4,d\n")
    return tmp_path / "site"


@pytest.fixture
def app(home) -> Any:
    app = opened(home, limits=NO_LIMIT)
    accounts(app).add_account("Root", Role.OWNER)
    return app


@pytest.fixture
def ada(app) -> Member:
    return Member(app).come_in("Ada")


def together(
    who: Member,
    page: str,
    path: str,
    fields: Callable[[int], dict[str, Any]],
    files: dict[str, tuple[str, bytes]] | None = None,
) -> Counter[int]:
    """The statuses of fifty forms of the page, all sent when it was open fifty times."""
    who.get(page)
    version = re.search(r'name="version" value="([^"]*)"', who.answer.text)
    known = {"token": who.token} | ({"version": version[1]} if version else {})
    cookies = {one.name: one.value or "" for one in who.client.cookies.jar}
    asked = [Asked("POST", path, known | fields(k), files) for k in range(AT_ONCE)]
    return race(who.client.app, [(one, cookies) for one in asked])


def in_phase(home: Path, phase: Phase, *, judged: bool = False) -> ResearcherStore:
    """The first study in a phase, perhaps with an answer."""
    study = Study.open(home / "green")
    store = study.store()
    if judged:
        left, right, *_ = study.items
        row = {"judge": "j", "left": left, "right": right, "outcome": "left", "answered": now()}
        store.import_judgements([row], consent="1")
    researchers = ResearcherStore(store)
    researchers.set_phase(phase)
    return researchers


def test_of_fifty_who_save_settings_one_is_heard_and_the_others_are_told(ada, home):
    before = (home / "green" / "study.toml").read_text()
    title = Study.open(home / "green").settings.study.title
    statuses = together(
        ada, f"{AT}/file", f"{AT}/file", lambda k: {"text": before.replace(title, f"Of {k}", 1)}
    )
    assert statuses == {303: 1, 422: AT_ONCE - 1}
    after = (home / "green" / "study.toml").read_text()
    assert after in [before.replace(title, f"Of {k}", 1) for k in range(AT_ONCE)]


def test_of_fifty_who_hide_an_item_one_is_heard(ada, home):
    def hide(k: int) -> dict[str, Any]:
        return {"item": "1234"[k % 4], "do": "hidden"}

    assert together(ada, f"{AT}/items", f"{AT}/items", hide) == {303: 1, 422: AT_ONCE - 1}
    assert sum(item.shown == "hidden" for item in Study.open(home / "green").items.values()) == 1


def test_of_fifty_who_add_a_file_one_is_heard(ada, home, tmp_path):
    """The others are told, and nothing of what they sent is left."""
    folder = write(tmp_path / "in", {"Ann.txt": "Ann wrote this.", "Bo.txt": "Bo wrote that."})
    create_study(home / "essays", question="Which?", items=folder)
    at, late = "/site/studies/essays/items", {"file": ("Cy.txt", b"Cy wrote this.")}
    statuses = together(ada, at, f"{at}/files", lambda k: {"name": f"Cy {k}"}, late)
    assert statuses == {303: 1, 422: AT_ONCE - 1}
    assert [item.file for item in Study.open(home / "essays").items.values()][2:] == ["Cy.txt"]
    assert check_study(home / "essays") == []
    assert list((home / ".uploads").iterdir()) == []


def test_fifty_copies_of_one_name_are_one_study(ada, home):
    statuses = together(ada, AT, f"{AT}/clone", lambda _: {"title": "Copy", "name": "copy"})
    assert statuses == {303: 1, 422: AT_ONCE - 1}
    assert SiteFolder(home).studies() == ["blue", "copy", "green"]
    assert list((home / ".exports").iterdir()) == []


def test_fifty_deletions_keep_one_export(ada, home):
    in_phase(home, Phase.CLOSED, judged=True)
    statuses = together(ada, AT, f"{AT}/delete", lambda _: {"confirm": "green"})
    assert set(statuses) <= {303, 404}, statuses
    assert SiteFolder(home).studies() == ["blue"]
    (kept,) = (home / ".exports").iterdir()
    assert kept.suffix == ".zip"


def test_who_archives_and_who_deletes_lose_nothing_between_them(ada, home):
    in_phase(home, Phase.CLOSED, judged=True)
    ada.get(AT)
    cookies = {one.name: one.value or "" for one in ada.client.cookies.jar}
    fields = {"token": ada.token, "confirm": "green"}
    paths = [f"{AT}/{('archive', 'delete')[k % 2]}" for k in range(AT_ONCE)]
    statuses = race(ada.client.app, [(Asked("POST", path, fields), cookies) for path in paths])
    assert set(statuses) <= {303, 404}, statuses
    exports = [path for path in (home / ".exports").iterdir() if path.suffix == ".zip"]
    assert len(exports) + len(SiteFolder(home).archived()) == 1


def test_fifty_resets_set_one_pilot_apart(ada, home):
    in_phase(home, Phase.PAUSED, judged=True)
    statuses = together(ada, AT, f"{AT}/pilot", lambda _: {"confirm": "green"})
    assert statuses == {303: 1, 422: AT_ONCE - 1}
    assert len(list((home / "green" / "pilots").glob("*.zip"))) == 1
    assert list(Study.open(home / "green").store().judge_rows()) == []


def test_fifty_accounts_of_one_name_are_one(ada, app):
    statuses = together(
        ada, "/site/people", "/site/people",
        lambda _: {"name": "Bob", "role": "viewer", "studies": "every"},
    )  # fmt: skip
    assert set(statuses) <= {200, 422}, statuses
    assert statuses[200] == 1
    (bob,) = (one for one in accounts(app).accounts() if one.researcher.name == "Bob")
    assert bob.role == Role.VIEWER


def test_two_owners_who_remove_each_other_leave_one(app, ada):
    store = accounts(app)
    bob = Member(app).come_in("Bob")
    store.set_role(store.researcher("Root"), Role.VIEWER)
    ada.get("/site/people")
    bob.get("/site/people")
    requests = []
    for who, other in ((ada, "Bob"), (bob, "Ada")) * (AT_ONCE // 2):
        cookies = {one.name: one.value or "" for one in who.client.cookies.jar}
        fields = {"token": who.token, "account": str(store.researcher(other).id)}
        requests.append((Asked("POST", "/site/people/remove", fields), cookies))
    statuses = race(app, requests)
    assert max(statuses) < 500, statuses
    assert [one.role for one in store.accounts()].count(Role.OWNER) == 1


WALK: dict[str, dict[str, Any]] = {
    "/sign-in": {"name": "Ada", "password": "correct horse battery"},
    "/sign-in/{secret}": {},
    "/site/you": {"password": "correct horse battery", "again": "correct horse battery"},
    "/site/link": {},
    "/site/sign-out": {},
    "/site/people": {"name": "Cy", "role": "viewer", "studies": "every"},
    "/site/people/link": {"account": "_ROOT_"},
    "/site/people/role": {"account": "_ROOT_", "role": "viewer", "studies": "every"},
    "/site/people/remove": {"account": "_ROOT_"},
    "/site/new": {},
    "/site/new/{draft}/chunk": {},
    "/site/new/{draft}/files": {},
    "/site/new/{draft}/remove": {"name": "t.csv"},
    "/site/new/{draft}/make": {"title": "", "target": "7"},
    "/site/new/{draft}/drop": {},
    "/site/studies/{study}/phase": {"phase": "open"},
    "/site/studies/{study}/clone": {"title": "Copy", "name": "copy"},
    "/site/studies/{study}/archive": {},
    "/site/studies/{study}/pilot": {"confirm": "green"},
    "/site/studies/{study}/preview": {"phase": "open"},
    "/site/studies/{study}/delete": {"confirm": "green"},
    "/site/studies/{study}/settings": {"study.title": "Other"},
    "/site/studies/{study}/file": {"text": "x"},
    "/site/studies/{study}/items": {"item": "1", "do": "retired"},
    "/site/studies/{study}/items/add": {"name": "e", "item": "5"},
    "/site/studies/{study}/items/files": {"name": "e"},
    "/site/archive/back": {"name": "green"},
    "/site/archive/remove": {"name": "green"},
}
"""What fifty send to each form of the site; a form that is not here fails the walk."""
EVERY_DAY = ("/site/new/{draft}/drop", "/site/archive/back", "/site/people/remove")


def test_the_walk_has_every_form_of_the_site():
    assert set(WALK) == {route.path for route in host_routes() if "POST" in route.methods}


@pytest.mark.parametrize(
    "path", [one if one in EVERY_DAY else pytest.param(one, marks=pytest.mark.slow) for one in WALK]
)
def test_whatever_fifty_owners_do_at_once_is_no_error(ada, app, home, path):
    in_phase(home, Phase.CLOSED, judged=True)
    store = accounts(app)
    root = store.researcher("Root")
    ada.get("/site/new")
    ada.send("/site/new")
    draft = ada.path.rpartition("/")[2]
    ada.client.post(
        f"/site/new/{draft}/chunk", params={"name": "t.csv", "size": len(TABLE), "offset": 0},
        content=TABLE, headers={"X-Form-Token": ada.token},
    )  # fmt: skip
    if path == "/site/archive/back":
        (home / "green").rename(home / ".archive" / "green")
    gaps = {"draft": draft, "study": "green", "secret": store.invite_researcher("Root")}
    there = re.sub(r"\{(\w+)\}", lambda gap: gaps[gap[1]], path)
    fields = {key: value.replace("_ROOT_", str(root.id)) for key, value in WALK[path].items()}
    statuses = together(ada, "/site/you", there, lambda _: fields)
    assert max(statuses) < 500, statuses
    assert sum(statuses.values()) == AT_ONCE
    assert Member(app).get("/sign-in").status_code == 200
    for name in SiteFolder(home).studies():
        Study.open(home / name)
