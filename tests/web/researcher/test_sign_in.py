"""Signing in: one-time links, passwords, sessions; and no page for anybody else."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from argon2 import PasswordHasher
from starlette.routing import Route

from support.form_browser import Visitor
from tiewise.study.create import create_study
from tiewise.study.study import Study
from tiewise.study.values import TokenPurpose
from tiewise.web.app import make_app
from tiewise.web.researcher import passwords
from tiewise.web.researcher.passwords import password_fault
from tiewise.web.researcher.request import safe_path
from tiewise.web.security import SECURITY_HEADERS, RateLimit, RateLimits

PASSWORD = "correct horse"
OWN = {
    "/", "/begin", "/groups", "/pair", "/answer", "/undo", "/why", "/feedback", "/thanks", "/link",
    "/j/{secret}",
    "/leave", "/resume", "/sign-out", "/withdraw", "/withdrawn", "/support", "/privacy",
    "/logo", "/map", "/map.svg", "/image/{item:path}", "/file/{name}", "/static/{name}", "/health",
    "/health/live", "/health/ready", "/api/v1/openapi.json",
}  # fmt: skip
"""The judges' own, and what anybody may read; tests/web/test_access.py has the files of items."""


def made(place, title: str) -> Study:
    (place / "items.csv").write_text("name\na\nb\nc\nd\n", encoding="utf-8")
    return create_study(place / title, question="Which?", title=title, items=place / "items.csv")


@pytest.fixture
def study(tmp_path) -> Study:
    return made(tmp_path, "green")


@pytest.fixture
def app(study):
    return make_app(study, study.store(), secret="k" * 40)


def actions(app) -> list[str]:
    return [action["what"] for action in app.state.site.researcher_store.audit_log()]


# A link that works once.


def test_looking_at_a_link_does_not_use_it_up(app):
    path = f"/sign-in/{app.state.site.researcher_store.invite_researcher('Ada')}"
    for _ in range(3):  # as a program that looks through mail does
        assert Visitor(app).get(path).status_code == 200
    who = Visitor(app)
    who.get(path)
    who.send(path)
    assert who.path == "/watch/password"
    assert "Ada" in who.answer.text


def test_a_link_signs_in_once(app):
    path = f"/sign-in/{app.state.site.researcher_store.invite_researcher('Ada')}"
    first, second = Visitor(app), Visitor(app)
    first.get(path), second.get(path)
    first.send(path), second.send(path)
    assert first.path == "/watch/password"
    assert second.answer.status_code == 404
    assert second.get("/watch").url.path == "/sign-in"


@pytest.mark.parametrize("secret", ["0" * 32, "x", "..%2f", "%00", "A" * 32])
def test_a_link_that_is_none_leads_nowhere(app, secret):
    assert Visitor(app).get(f"/sign-in/{secret}").status_code == 404


def test_a_token_for_programs_signs_nobody_in(app):
    researcher_store = app.state.site.researcher_store
    for opens in (TokenPurpose.API, TokenPurpose.SHARE):
        assert Visitor(app).get(f"/sign-in/{researcher_store.make_token(opens)}").status_code == 404


# Passwords.


@pytest.mark.parametrize(
    ("password", "again", "name", "complaint"),
    [
        ("123456789", "123456789", "Ada", "too short"),
        ("1234567890", "1234567891", "Ada", "differ"),
        ("Ada Lovelace", "Ada Lovelace", "ada lovelace", "your name"),
        ("1234567890", "1234567890", "Ada", ""),
        ("          ", "          ", "Ada", ""),
        ("كلمة سر طويلة", "كلمة سر طويلة", "Ada", ""),
        ("cafe\u0301 noir!", "caf\u00e9 noir!", "Ada", ""),
    ],
)
def test_what_makes_a_password(password, again, name, complaint):
    fault = password_fault(password, again, name)
    assert complaint in fault if complaint else fault == ""


def test_a_password_signs_in(app):
    Visitor(app).sign_in(password=PASSWORD)
    who = Visitor(app)
    who.get("/watch/trail")
    assert who.path == "/sign-in"
    who.send("/sign-in", name=" Ada ", password=PASSWORD)
    assert who.path == "/watch/trail"
    assert "Ada" in who.answer.text


def test_a_password_is_kept_as_an_argon2_hash(app, study, production_hashes):
    Visitor(app).sign_in(password=PASSWORD)
    kept = app.state.site.researcher_store.password_hash("Ada")
    assert kept.startswith("$argon2id$")
    assert not PasswordHasher().check_needs_rehash(kept)
    assert PasswordHasher().verify(kept, PASSWORD)
    assert PASSWORD.encode() not in b"".join(p.read_bytes() for p in study.folder.glob("study.db*"))


def test_a_hash_of_older_making_is_made_anew_and_nobody_notices(app, production_hashes):
    researcher_store = app.state.site.researcher_store
    ada = researcher_store.add_researcher("Ada")
    old = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    researcher_store.set_password(ada, old, quiet=True)
    who = Visitor(app)
    who.get("/sign-in")
    who.send("/sign-in", name="Ada", password=PASSWORD)
    assert who.path == "/watch"
    new = researcher_store.password_hash("Ada")
    assert not PasswordHasher().check_needs_rehash(new)
    assert PasswordHasher().verify(new, PASSWORD)
    assert "change password" not in actions(app)


def failures(app) -> Iterator[str]:
    """The page after each way to fail, without what is another one each time."""
    researcher_store = app.state.site.researcher_store
    Visitor(app).sign_in(password=PASSWORD)
    researcher_store.add_researcher("Without")
    Visitor(app).sign_in("Gone", password=PASSWORD)
    researcher_store.remove_researcher("Gone")
    tries = [("Ada", "wrong password"), ("Ada", ""), ("Nobody", PASSWORD), ("Without", PASSWORD),
             ("Without", ""), ("Gone", PASSWORD), ("", "")]  # fmt: skip
    for name, password in tries:
        who = Visitor(app)
        who.get("/sign-in")
        who.send("/sign-in", name=name, password=password)
        assert who.answer.status_code == 403
        yield re.sub(
            r'(name="token" value=|id="name" name="name" value=)"[^"]*"', "", who.answer.text
        )


def test_all_failures_look_the_same(app):
    pages = list(failures(app))
    assert len(pages) == 7
    assert set(pages) == {pages[0]}
    assert "do not belong together" in pages[0]


def test_an_unknown_name_costs_as_much_work_as_a_known_one(app, monkeypatch):
    """Counted, not timed: one verification each."""
    Visitor(app).sign_in(password=PASSWORD)
    researcher_store, work = app.state.site.researcher_store, []
    right = passwords._is_right

    def counted(hashed: str, password: str) -> bool:
        work.append(hashed.split("$")[1:4])
        return right(hashed, password)

    monkeypatch.setattr(passwords, "_is_right", counted)
    for name in ("Ada", "Nobody"):
        assert passwords.authenticate(researcher_store, name, "wrong") is None
    assert len(work) == 2
    assert work[0] == work[1]  # the same parameters, too


def test_guessing_is_slowed_down_by_address_and_by_name(study):
    limits = RateLimits(sign_ins=RateLimit(3, 600))
    app = make_app(study, study.store(), secret="k" * 40, limits=limits)

    def guesses(*who: tuple[str, str]) -> list[int]:
        statuses = []
        for address, name in who:
            visitor = Visitor(app, address=address)
            visitor.get("/sign-in")
            visitor.send("/sign-in", name=name, password="wrong")
            statuses.append(visitor.answer.status_code)
        return statuses

    one_address = [("203.0.113.1", f"name {k}") for k in range(5)]
    assert guesses(*one_address) == [403, 403, 403, 429, 429]
    one_name = [(f"203.0.113.{k}", "ADA" if k % 2 else "ada") for k in range(2, 7)]
    assert guesses(*one_name) == [403, 403, 403, 429, 429]


def test_a_new_password_signs_out_everywhere_else(app):
    here, there = Visitor(app).sign_in(password=PASSWORD), Visitor(app).sign_in()
    link = app.state.site.researcher_store.invite_researcher("Ada")
    here.get("/watch/password")
    here.send("/watch/password", current=PASSWORD, password="another one", again="another one")
    assert "Your password is set" in here.answer.text
    assert there.get("/watch").url.path == "/sign-in"
    assert here.get("/watch").url.path == "/watch"
    assert Visitor(app).get(f"/sign-in/{link}").status_code == 404


@pytest.mark.parametrize(("password", "again"), [("short", "short"), (PASSWORD, "another")])
def test_a_password_that_will_not_do_changes_nothing(app, password, again):
    who = Visitor(app).sign_in()
    who.get("/watch/password")
    assert who.send("/watch/password", password=password, again=again).status_code == 422
    assert app.state.site.researcher_store.password_hash("Ada") is None


# Sessions.


def test_the_cookie_is_its_own_and_for_us_alone(study):
    for https, prefix in ((False, ""), (True, "__Host-")):
        app = make_app(study, study.store(), secret="k" * 40, https=https)
        who = Visitor(app, base="https://study.test" if https else "http://study.test")
        path = f"/sign-in/{app.state.site.researcher_store.invite_researcher('Ada')}"
        who.get(path)
        answer = who.client.post(path, data={"token": who.token}, follow_redirects=False)
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"{prefix}tiewise-")
        assert "-watch=" in cookie
        for word in ("HttpOnly", "SameSite=lax", "Path=/"):
            assert word in cookie
        assert ("Secure" in cookie) is https


def test_signing_in_gives_the_browser_a_new_secret(app):
    """One that was there before might be known to somebody else."""
    who = Visitor(app)
    path = f"/sign-in/{app.state.site.researcher_store.invite_researcher('Ada')}"
    who.get(path)
    before = dict(who.client.cookies)
    who.send(path)
    after = dict(who.client.cookies)
    (name,) = (name for name in before if name.endswith("-watch"))
    assert before[name] != after[name]


def test_signing_out_ends_the_session_on_the_server(app):
    who, thief = Visitor(app).sign_in(), Visitor(app)
    thief.client.cookies = dict(who.client.cookies)
    assert thief.get("/watch").url.path == "/watch"
    who.get("/watch/run")
    who.send("/watch/sign-out")
    assert who.path == "/sign-in"
    assert thief.get("/watch").url.path == "/sign-in"


def test_a_judge_is_no_researcher_and_the_other_way_round(app):
    judge, researcher = Visitor(app).join(), Visitor(app).sign_in()
    assert judge.get("/watch").url.path == "/sign-in"
    assert researcher.get("/pair").url.path == "/"
    # One browser may be both.
    both = Visitor(app).join().sign_in()
    assert both.get("/pair").url.path == "/pair"
    assert both.get("/watch").url.path == "/watch"


@pytest.mark.parametrize(
    ("target", "led"),
    [
        ("/watch/run", "/watch/run"), ("/watch/items?by=rank", "/watch/items?by=rank"),
        ("/watch/items/12?page=2", "/watch/items/12?page=2"),
        ("//evil.example", "/watch"), ("https://evil.example", "/watch"),
        ("/watch//evil", "/watch"),
        ("/watch/../leave", "/watch"), ("/leave", "/watch"), ("", "/watch"),
        ("/watch\r\nx: y", "/watch"), ("/watch\n", "/watch"),
    ],
)  # fmt: skip
def test_signing_in_leads_nowhere_else(target, led):
    assert safe_path(target) == led


# Nobody else gets in.


def filled(path: str) -> str:
    gaps = {
        "{secret}": "0" * 32,
        "{name}": "export.zip",
        "{item:path}": "a",
        "{number}": "0",
        "{judge}": "a",
        "{code}": "a",
    }
    for gap, value in gaps.items():
        path = path.replace(gap, value)
    assert "{" not in path
    return path


def others(app) -> list[tuple[str, str]]:
    """Every route that is not the judges' own, with its method."""
    routes = [route for route in app.routes if isinstance(route, Route)]
    assert len(routes) == len(app.routes)
    return [
        (method, route.path) for route in routes if route.path not in OWN
        for method in sorted(route.methods - {"HEAD"})
    ]  # fmt: skip


def is_refused(answer) -> bool:
    to_sign_in = answer.headers.get("location", "").split("?")[0].endswith("/sign-in")
    return answer.status_code in (401, 404) or (answer.status_code == 303 and to_sign_in)


def test_no_route_answers_without_signing_in(app):
    """Walks the table of routes, so that a new one is met, too."""
    walked = others(app)
    assert len(walked) > 30
    for method, path in walked:
        if path == "/sign-in":
            continue
        for who in (Visitor(app), Visitor(app).join()):
            answer = who.client.request(
                method, filled(path), follow_redirects=False,
                **({"data": {"token": "x"}} if method == "POST" else {}),
            )  # fmt: skip
            allowed = (403,) if path == "/sign-in/{secret}" and method == "POST" else ()
            assert is_refused(answer) or answer.status_code in allowed, (method, path)
            assert all(name in answer.headers for name in SECURITY_HEADERS)


def test_no_route_answers_to_who_signed_in_to_another_study(app, tmp_path):
    """Another study with a key, a cookie, a session and a token of its own; even with one key."""
    other = made(tmp_path, "blue")
    for key in ("o" * 40, "k" * 40):
        theirs = make_app(other, other.store(), secret=key)
        who = Visitor(theirs).sign_in()
        researcher_store = theirs.state.site.researcher_store
        token, share = (
            researcher_store.make_token(TokenPurpose.API),
            researcher_store.make_token(TokenPurpose.SHARE),
        )
        link = researcher_store.invite_researcher("Ada")
        stranger = Visitor(app)
        stranger.client.cookies = dict(who.client.cookies)
        who.get("/watch/run")
        for method, path in others(app):
            if path == "/sign-in":
                continue
            secret = link if path.startswith("/sign-in") else share
            where = filled(path.replace("{secret}", secret))
            answer = stranger.client.request(
                method, where, follow_redirects=False,
                headers={"authorization": f"Bearer {token}"},
                **({"data": {"token": who.token}} if method == "POST" else {}),
            )  # fmt: skip
            assert is_refused(answer) or (method == "POST" and answer.status_code == 403), path


def test_the_walk_would_notice_an_open_door(app):
    """With a good session the same routes answer, or the walk above met nothing."""
    who = Visitor(app).sign_in()
    opened = [
        path for method, path in others(app)
        if method == "GET" and path.startswith("/watch")
        and not is_refused(who.client.get(filled(path), follow_redirects=False))
    ]  # fmt: skip
    assert {"/watch", "/watch/run", "/watch/trail", "/watch/download/{name}"} <= set(opened)
    assert "/watch/items/{number}" in opened


def test_every_form_of_a_researcher_wants_a_token(app):
    who = Visitor(app).sign_in()
    posts = [path for method, path in others(app) if method == "POST"]
    assert len(posts) > 10
    theirs = Visitor(app).sign_in("Ben")
    theirs.get("/watch/run")
    for path, token in [(path, token) for path in posts for token in ("", theirs.token)]:
        answer = who.client.post(filled(path), data={"token": token}, follow_redirects=False)
        assert answer.status_code == 403, path
    assert [one.name for one in app.state.site.researcher_store.researchers()] == ["Ada", "Ben"]


def test_forms_on_the_way_in_want_a_token(app):
    who = Visitor(app)
    assert who.post("/sign-in", {"name": "Ada"}).status_code == 403
    path = f"/sign-in/{app.state.site.researcher_store.invite_researcher('Ada')}"
    assert who.post(path, {"token": "x"}).status_code == 403
    assert app.state.site.researcher_store.is_valid_token(
        path.rpartition("/")[2], TokenPurpose.SIGN_IN
    )


def test_pages_may_ask_only_ourselves(app):
    policy = Visitor(app).get("/sign-in").headers["content-security-policy"]
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts["connect-src"] == "'self'"
    assert parts["default-src"] == "'none'"
    assert not re.search(r"unsafe|\*|https?:", policy)
