"""Whatever is sent to whichever address: an answer, never a fault of ours, and nothing kept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.routing import Route

from support.everyday import everyday
from support.form_browser import Visitor
from tiewise.geo.areas import Areas
from tiewise.study.create import create_study
from tiewise.study.study import Study
from tiewise.study.values import Phase
from tiewise.web.app import make_app
from tiewise.web.security import SECURITY_HEADERS, RateLimit, RateLimits

FIELD = """
[[judges.fields]]
name = "note"
label = "Note"

[[judges.fields]]
name = "years"
label = "Years"
kind = "number"
"""
NO_LIMIT = RateLimit(10**9, 60)
NAMES = (
    "token", "consent", "code", "group", "all", "offer", "outcome", "answers", "erase",
    "about_note", "about_years", "language", "v", "name", "password", "again", "next", "phase",
    "current", "reason", "kind", "label", "days", "id", "judge", "by", "at", "after", "format",
    "done",
    "confirm",
)  # fmt: skip
WORDS = (
    "1", "0", "-1", "99999999999", "2147483648", "left", "tie", "all", "about", "1e400", "nan",
    "\0", "a\0b", "\ud7ff", "'; DROP TABLE judges; --", "<script>", "{{7*7}}", "%s", "../..", "",
    "ar", "\u202e", "x" * 5000, "closed", "share", "api", "Ada", "/watch", "//evil.example",
)  # fmt: skip

values = st.one_of(st.sampled_from(WORDS), st.text(max_size=50))
fields = st.dictionaries(st.one_of(st.sampled_from(NAMES), st.text(max_size=9)), values, max_size=6)
visible = st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f")
headers = st.dictionaries(
    st.sampled_from(
        ["accept-language", "accept-encoding", "host", "cookie", "x-forwarded-for", "if-none-match",
         "x-forwarded-proto", "range", "content-type", "content-length", "origin", "authorization",
         "sec-fetch-site"]
    ),
    st.text(visible, max_size=40),
    max_size=3,
)  # fmt: skip


@pytest.fixture(scope="module", params=everyday(["sqlite", "postgresql"], "sqlite"))
def study(request, tmp_path_factory) -> tuple[Study, Any]:
    place = tmp_path_factory.mktemp("hostile")
    Areas.synthetic(8, rng=2).to_gpkg(place / "wards.gpkg")
    made = create_study(place / "s", question="Which?", areas=place / "wards.gpkg")
    path = made.folder / "study.toml"
    text = path.read_text(encoding="utf-8").replace(
        'languages = ["en"]', 'languages = ["en", "ar"]'
    )
    path.write_text(text + FIELD, encoding="utf-8")
    url = None if request.param == "sqlite" else request.getfixturevalue("postgresql")()
    made = Study.open(made.folder)
    return made, made.store(url)


@pytest.fixture(scope="module")
def app(study) -> Any:
    return make_app(*study, secret="s" * 40, limits=RateLimits(*[NO_LIMIT] * len(RateLimits())))


@pytest.fixture(scope="module")
def judge(app) -> Visitor:
    return Visitor(app).join()


@pytest.fixture(scope="module")
def researcher(app) -> Visitor:
    return Visitor(app).sign_in(password="correct horse")


@pytest.fixture(scope="module")
def strangers(app) -> dict[str, Visitor]:
    """Nobody yet, at the two forms that nobody may fill in; each has its token."""
    visitors = {path: Visitor(app) for path in ("/begin", "/sign-in")}
    for path, visitor in visitors.items():
        visitor.get(path)
    return visitors


# The everyday ones ask less; with the profile of `make test-slow` three times as much.
calm = settings(
    max_examples=settings.default.max_examples // 2,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def looks_right(answer: Any) -> None:
    assert answer.status_code < 500, answer.text
    for name in SECURITY_HEADERS:
        assert name in answer.headers
    if answer.status_code >= 400 and answer.request.method not in ("HEAD", "OPTIONS"):
        is_page = answer.headers["content-type"].startswith("text/html")
        assert "<h1>" in answer.text if is_page else answer.json()["error"]


def addresses(app: Any) -> st.SearchStrategy[str]:
    """Every route of the table, its gaps filled with whatever."""
    routes = [route for route in app.routes if isinstance(route, Route)]
    assert len(routes) > 15
    gap = st.one_of(st.just("x"), st.sampled_from(["%00", "..%2f..", "0" * 32, "%ff", "🙂"]))

    def filled(route: Route) -> st.SearchStrategy[str]:
        head, brace, _ = route.path.partition("{")
        return gap.map(lambda text: head + text) if brace else st.just(head)

    return st.one_of([filled(route) for route in routes])


@calm
@given(data=st.data())
def test_reading_any_address_with_any_query_and_headers(app, judge, researcher, data):
    path = data.draw(addresses(app))
    method = data.draw(st.sampled_from(["GET", "HEAD", "OPTIONS", "DELETE", "PATCH"]))
    sent = {name: value.encode("latin-1") for name, value in data.draw(headers).items()}
    who = data.draw(st.sampled_from([judge, researcher, Visitor(app)]))
    if path == "/leave" or "cookie" in sent:  # which would be answered with another session
        who = Visitor(app)
    answer = who.client.request(
        method, path, params=data.draw(fields), headers=sent, follow_redirects=False
    )
    looks_right(answer)


@calm
@given(data=st.data())
def test_sending_any_form_to_any_address(app, judge, study, data):
    """With a token that is ours, so that what comes behind it is reached."""
    posts = sorted(
        route.path for route in app.routes
        if "POST" in route.methods and not route.path.startswith(("/watch", "/sign-in"))
    )  # fmt: skip
    path = data.draw(st.sampled_from(posts))
    who = judge if path in ("/answer", "/undo", "/groups") else Visitor(app)
    if who is judge:
        who.get("/pair")
    else:
        who.get("/begin")
    form = data.draw(fields) | {"token": who.token}
    answer = who.client.post(path, data=form, follow_redirects=False)
    looks_right(answer)
    allowed = {"left", "right", "tie", "skip"}
    assert {row["outcome"] for row in study[1].rows()} <= allowed


@calm
@given(data=st.data())
def test_sending_any_form_as_a_researcher(app, data):
    """Signed in anew for each, as some of these sign out."""
    watched = sorted(
        route.path for route in app.routes
        if "POST" in route.methods and route.path.startswith("/watch")
        and route.path != "/watch/papers"  # which starts a process
    )  # fmt: skip
    assert len(watched) > 8
    who = Visitor(app).sign_in()
    form = data.draw(fields) | {"token": who.token}
    answer = who.client.post(data.draw(st.sampled_from(watched)), data=form, follow_redirects=False)
    looks_right(answer)
    app.state.site.researcher_store.set_phase(Phase.OPEN)
    app.state.site.phase_cache.invalidate()


@calm
@given(token=st.one_of(st.text(visible, max_size=60), st.just("Bearer " + "0" * 32)))
def test_any_token_opens_nothing(app, token):
    sent = {"authorization": token.encode("latin-1")}
    answer = Visitor(app).client.get("/api/v1/export", headers=sent)
    looks_right(answer)
    assert answer.status_code == 401


@calm
@given(body=st.binary(max_size=300), kind=st.sampled_from(
    ["application/x-www-form-urlencoded", "application/x-www-form-urlencoded; charset=utf-16",
     "multipart/form-data; boundary=x", "multipart/form-data", "application/json", "text/plain", ""]
))  # fmt: skip
def test_sending_any_bytes(strangers, body, kind):
    for path, who in strangers.items():
        token = f"token={who.token}&".encode()
        for sent in (body, token + body):
            answer = who.client.post(path, content=sent, headers={"content-type": kind})
            looks_right(answer)


@calm
@given(value=st.one_of(st.text(visible, max_size=200), st.binary(max_size=60).map(
    lambda raw: raw.hex() + ".aaaa.bbbb"
)))  # fmt: skip
def test_any_cookie_is_nobodys(app, judge, value):
    (name,) = (name for name in judge.client.cookies if not name.endswith("-watch"))
    for cookie, path, led in ((name, "/pair", "/"), (f"{name}-watch", "/watch", "/sign-in")):
        sent = {"cookie": f"{cookie}={value}".encode("latin-1")}
        answer = Visitor(app).client.get(path, headers=sent, follow_redirects=False)
        looks_right(answer)
        assert answer.headers["location"].partition("?")[0] == led


def test_the_judge_is_still_a_judge(judge):
    """After all this; or what was tried above was tried on nobody."""
    judge.get("/pair")
    assert judge.path == "/pair"
