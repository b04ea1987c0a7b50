"""Who gets in though others try, and who does not though they are let in elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from threading import BoundedSemaphore
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.routing import Route

from support.form_browser import Visitor
from support.site import copy_study, with_database
from tiewise.geo.areas import Areas
from tiewise.study.create import create_study
from tiewise.study.study import Study
from tiewise.web.app import make_app
from tiewise.web.researcher import passwords
from tiewise.web.security import RateLimit, RateLimits, is_same_origin

KEY, PASSWORD = "k" * 40, "correct horse"
LIMITS = RateLimits(sign_ins=RateLimit(3, 600))
NOWHERE = "203.0.113."


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("template")
    Areas.synthetic(4, rng=1).to_gpkg(place / "wards.gpkg")
    (place / "ash.png").write_bytes(b"\x89PNG ash")
    made = create_study(place / "study", question="Which?", areas=place / "wards.gpkg")
    table = made.folder / "items.csv"
    head, first, *rest = table.read_text(encoding="utf-8").splitlines()
    (made.folder / "images").mkdir()
    (made.folder / "images" / "ash.png").write_bytes(b"\x89PNG ash")
    table.write_text("\n".join([head, f"{first}ash.png", *rest]), encoding="utf-8")
    return with_database(Study.open(made.folder))


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "study")


@pytest.fixture
def app(study) -> Any:
    return make_app(study, study.store(), secret=KEY, limits=LIMITS)


def tries(who: Visitor, password: str, name: str = "Ada") -> int:
    """Send name and password; 200 is on a page of researchers."""
    who.get("/sign-in")
    if who.path != "/sign-in":
        who.send("/watch/sign-out")
    who.send("/sign-in", name=name, password=password)
    return int(who.answer.status_code)


def stranger(app: Any, number: int) -> Visitor:
    return Visitor(app, address=f"{NOWHERE}{number}")


# Strangers and devices that are known.


def test_strangers_lock_out_strangers_and_nobody_who_was_here_before(app, study):
    ada = Visitor(app).sign_in(password=PASSWORD)
    other_worker = make_app(study, study.store(), secret=KEY, limits=LIMITS)
    workers = [app, other_worker]
    guesses = [tries(stranger(workers[k % 2], k), "wrong") for k in range(6)]
    assert guesses == [403, 403, 403, 429, 429, 429]  # counted together
    late = stranger(app, 99)
    assert tries(late, PASSWORD) == 429  # the right one, too: else it could be guessed
    assert "Wait 10 minutes" in late.answer.text
    assert 590 < int(late.answer.headers["retry-after"]) <= 600
    assert tries(ada, PASSWORD) == 200
    assert ada.path == "/watch"


def test_a_known_device_may_guess_no_more_than_others(app):
    ada = Visitor(app).sign_in(password=PASSWORD)
    ada.get("/watch/run")
    assert [tries(ada, "wrong") for _ in range(4)] == [403, 403, 403, 429]
    assert tries(ada, PASSWORD) == 429
    assert tries(stranger(app, 1), PASSWORD) == 200  # what it did is not held against the name


def test_strangers_who_keep_the_hasher_busy_hold_back_strangers_alone(app, monkeypatch):
    ada = Visitor(app).sign_in(password=PASSWORD)
    monkeypatch.setattr(passwords, "_STRANGERS", BoundedSemaphore(1))
    ada.get("/watch/run")
    with passwords._slot(known=False):
        assert tries(stranger(app, 1), PASSWORD) == 429
        assert tries(ada, PASSWORD) == 200
    assert tries(stranger(app, 1), PASSWORD) == 200


def test_a_one_time_link_gets_in_whatever_strangers_do(app):
    Visitor(app).sign_in(password=PASSWORD)
    for number in range(5):
        tries(stranger(app, number), "wrong")
    assert stranger(app, 9).sign_in().path == "/watch"


def device_cookie(who: Visitor) -> tuple[str, str]:
    ((name, value),) = ((n, v) for n, v in who.client.cookies.items() if n.endswith("-device"))
    return name, value


def locked(app: Any, name: str) -> None:
    for number in range(10, 14):
        tries(stranger(app, number), "wrong", name)


def test_a_device_is_known_for_those_who_signed_in_on_it(app):
    """Not for others, not with a cookie that is not ours, and for both who share it."""
    ada = Visitor(app).sign_in(password=PASSWORD)
    Visitor(app).sign_in("Ben", password=PASSWORD)
    locked(app, "Ben")
    ada.get("/watch/run")
    assert tries(ada, PASSWORD, "Ben") == 429
    forged = stranger(app, 20)
    name, value = device_cookie(ada)
    forged.client.cookies.set(name, value[:-3] + "abc")
    locked(app, "Ada")
    assert tries(forged, PASSWORD) == 429
    ada.sign_in("Ben")
    ada.get("/watch/run")
    assert tries(ada, PASSWORD, "Ben") == 200
    assert tries(ada, PASSWORD) == 200


def test_a_device_gets_a_new_cookie_each_time_and_the_old_one_is_nobodys(app, study):
    ada = Visitor(app).sign_in(password=PASSWORD)
    name, old = device_cookie(ada)
    assert tries(ada, PASSWORD) == 200
    assert device_cookie(ada)[1] != old
    locked(app, "Ada")
    thief = stranger(app, 20)
    thief.client.cookies.set(name, old)
    assert tries(thief, PASSWORD) == 429
    secret = app.state.site.cookies._device_signer.loads(device_cookie(ada)[1])
    stored = b"".join(path.read_bytes() for path in study.folder.glob("study.db*"))
    assert secret.encode() not in stored


def test_a_new_password_and_a_removal_forget_devices(app):
    there = Visitor(app).sign_in(password=PASSWORD)
    here = Visitor(app).sign_in()
    here.get("/watch/password")
    here.send("/watch/password", password="another one", again="another one")
    locked(app, "Ada")
    assert tries(there, "another one") == 429
    here.get("/watch/run")
    assert tries(here, "another one") == 200
    ben = Visitor(app).sign_in("Ben", password=PASSWORD)
    app.state.site.researcher_store.remove_researcher("Ben")
    app.state.site.researcher_store.add_researcher("Ben")
    device = app.state.site.cookies._device_signer.loads(device_cookie(ben)[1])
    assert not app.state.site.devices.knows(device, "Ben")


def test_the_device_cookie_is_for_signing_in_alone(study):
    app = make_app(study, study.store(), secret=KEY, https=True)
    who = Visitor(app, base="https://study.test")
    path = f"/sign-in/{app.state.site.researcher_store.invite_researcher('Ada')}"
    who.get(path)
    answer = who.client.post(path, data={"token": who.token}, follow_redirects=False)
    (cookie,) = (c for c in answer.headers.get_list("set-cookie") if "-device=" in c)
    assert cookie.startswith("__Host-tiewise-")
    for word in ("HttpOnly", "SameSite=strict", "Secure", "Path=/", f"Max-Age={180 * 86400}"):
        assert word in cookie
    # Whoever has it alone is not signed in.
    thief = Visitor(app, base="https://study.test")
    thief.client.cookies.set(*device_cookie(who))
    assert thief.get("/watch").url.path == "/sign-in"


# A new password.


def changed(who: Visitor, **fields: str) -> int:
    who.get("/watch/password")
    who.send("/watch/password", password="another one", again="another one", **fields)
    return int(who.answer.status_code)


def test_a_new_password_takes_the_current_one(app):
    ada = Visitor(app).sign_in(password=PASSWORD)
    before = app.state.site.researcher_store.password_hash("Ada")
    assert "Current password" in ada.get("/watch/password").text
    assert changed(ada) == 403
    assert changed(ada, current="wrong") == 403
    assert "not your current password" in ada.answer.text
    assert app.state.site.researcher_store.password_hash("Ada") == before
    assert changed(ada, current=PASSWORD) == 200
    assert app.state.site.researcher_store.password_hash("Ada") != before


def test_the_current_password_cannot_be_guessed_from_an_open_browser(app):
    ada = Visitor(app).sign_in(password=PASSWORD)
    assert [changed(ada, current="wrong") for _ in range(4)] == [403, 403, 403, 429]
    assert changed(ada, current=PASSWORD) == 429
    assert "Too many passwords" in ada.answer.text


def test_a_link_of_somebody_else_replaces_a_forgotten_password_once(app):
    Visitor(app).sign_in(password=PASSWORD)
    researcher_store = app.state.site.researcher_store
    ben = researcher_store.add_researcher("Ben")
    path = f"/sign-in/{researcher_store.invite_researcher('Ada', by=ben)}"
    ada = Visitor(app)
    ada.get(path), ada.send(path)
    assert "Current password" not in ada.get("/watch/password").text
    assert changed(ada) == 200
    assert changed(ada) == 403  # from here on it is asked for


def test_a_link_of_ones_own_does_not(app):
    """Else whoever finds a browser open could make one and take the account."""
    ada = Visitor(app).sign_in(password=PASSWORD)
    for path, fields in (("/watch/link", {}), ("/watch/researchers", {"name": "Ada"})):
        ada.get("/watch/run")
        link = ada.post(path, fields | {"token": ada.token}).text.partition("/sign-in/")[2][:32]
        thief = stranger(app, 1)
        thief.get(f"/sign-in/{link}"), thief.send(f"/sign-in/{link}")
        assert thief.path == "/watch"
        assert changed(thief) == 403


# A session that somebody else knows.


def plant(who: Visitor, cookie: tuple[str, str]) -> None:
    who.client.cookies.set(*cookie, domain="study.test", path="/")


def judge_cookie(who: Visitor) -> tuple[str, str]:
    ((name, value),) = ((n, v) for n, v in who.client.cookies.items() if "-watch" not in n)
    return name, value


def test_a_cookie_planted_before_sign_up_opens_nothing_after_it(app):
    """Fixation: somebody opens the form, leaves the browser to a judge, and keeps its cookie."""
    attacker, judge = Visitor(app), Visitor(app)
    attacker.get("/begin")
    planted = judge_cookie(attacker)
    form_of_attacker = {"token": attacker.token, "consent": "1"}
    plant(judge, planted)
    judge.join()
    assert judge_cookie(judge)[1] != planted[1]
    attacker.get("/pair")
    assert attacker.path == "/"
    attacker.post("/begin", form_of_attacker)  # a judge, but another one
    attacker.get("/link"), judge.get("/link")
    links = [who.answer.text.partition("/j/")[2][:32] for who in (attacker, judge)]
    assert links[0] != links[1]
    secret = app.state.site.cookies._signer.loads(planted[1])["s"]
    assert app.state.site.store.judge(secret) is None


def test_a_sign_up_sent_twice_at_once_is_one_judge_on_both(app):
    """The second was on its way before the first had answered, with the cookie of before."""
    judge, twin = Visitor(app), Visitor(app)
    judge.get("/begin")
    form = {"token": judge.token, "consent": "1"}
    plant(twin, judge_cookie(judge))
    for who in (judge, twin):
        assert who.post("/begin", form).url.path == "/groups"
    assert len(list(app.state.site.store.judge_rows())) == 1
    assert judge.post("/begin", form).url.path == "/groups"  # and again with the new one
    assert len(list(app.state.site.store.judge_rows())) == 1


# Forms of other sites.

FOREIGN = (
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": "https://evil.example"},
    {"origin": "http://study.test.evil.example", "sec-fetch-site": "same-origin"},
    {"origin": "null", "sec-fetch-site": "cross-site"},
)


def test_every_form_is_refused_where_it_comes_from_another_site(study):
    """Walks the table of routes with a token that is ours, so that nothing else refuses."""
    limits = RateLimits(strangers=RateLimit(10**6, 60))
    app = make_app(study, study.store(), secret=KEY, limits=limits)
    judge, researcher = Visitor(app).join(), Visitor(app).sign_in()
    researcher.get("/watch/run")
    tables = [route for route in app.routes if isinstance(route, Route)]
    posts = [route.path for route in tables if "POST" in route.methods]
    assert len(posts) > 18
    for path in posts:
        who = researcher if path.startswith(("/watch", "/sign-in")) else judge
        for headers in FOREIGN:
            answer = who.client.post(
                path.replace("{secret}", "0" * 32), data={"token": who.token}, headers=headers,
                follow_redirects=False,
            )  # fmt: skip
            assert answer.status_code == 403, path
            assert "came from another site" in answer.text


@pytest.mark.parametrize(
    ("headers", "public_url", "ours"),
    [
        ({}, "", True),
        ({"origin": "null"}, "", True),
        ({"origin": "null", "sec-fetch-site": "same-origin"}, "", True),
        ({"sec-fetch-site": "none"}, "", True),
        ({"origin": "http://study.test", "sec-fetch-site": "same-origin"}, "", True),
        ({"origin": "http://STUDY.test:80"}, "", True),
        ({"origin": "https://study.test:8443"}, "", False),
        ({"origin": "https://uni.example.org"}, "https://uni.example.org/judge", True),
        ({"origin": "https://uni.example.org:443"}, "https://uni.example.org/judge", True),
        ({"origin": "https://other.example.org"}, "https://uni.example.org/judge", False),
        ({"origin": ""}, "", False),
        ({"origin": "http://["}, "", False),
        ({"sec-fetch-site": "nonsense"}, "", False),
    ],
)
def test_what_browsers_say_of_where_a_form_is_from(headers, public_url, ours):
    assert is_same_origin(Headers({"host": "study.test"} | headers), public_url) is ours


# Files of what is compared.


def item_paths(study: Study) -> list[str]:
    (item,) = (item.id for item in study.items.values() if item.image)
    return [f"/image/{item}", "/map.svg"]


def away(app: Any) -> Visitor:
    who = Visitor(app).join()
    who.client.get("/leave", follow_redirects=False)
    return who


def signed_out(app: Any) -> Visitor:
    who = Visitor(app).join()
    who.get("/link"), who.send("/sign-out")
    return who


def begun(app: Any) -> Visitor:
    """A session, but nobody's."""
    who = Visitor(app)
    who.get("/begin"), who.get("/sign-in")
    return who


OTHERS: tuple[Callable[[Any], Visitor], ...] = (Visitor, begun, signed_out, away)


@pytest.mark.parametrize("who", OTHERS, ids=lambda who: who.__name__)
def test_what_is_compared_is_shown_to_nobody_else(app, study, who):
    visitor = who(app)
    for path in item_paths(study):
        assert visitor.client.get(path).status_code == 404, path


def test_what_is_compared_is_shown_to_judges_and_researchers_and_kept_by_them_alone(app, study):
    for who in (Visitor(app).join(), Visitor(app).sign_in()):
        for path in item_paths(study):
            answer = who.client.get(path)
            assert answer.status_code == 200, path
    judge = Visitor(app).join()
    shown = [path for _, tag in judge.page.tags for path in (tag.get("src"), tag.get("href"))]
    files = [path for path in shown if path and path.startswith(("/image/", "/map.svg"))]
    assert any(path.startswith("/map.svg") for path in files)
    for path in files:
        kept = judge.client.get(path).headers["cache-control"]
        assert kept.startswith("private, max-age=31536000")
