"""Several studies on one site: each below its name, and nothing of one in another."""

from __future__ import annotations

import re
import signal
import urllib.request
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from support.form_browser import Visitor
from support.site import running
from tiewise.errors import InputError
from tiewise.study.create import create_study
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study
from tiewise.study.values import Phase
from tiewise.web import app as apps
from tiewise.web.multi_study import find_studies, study_database
from tiewise.web.server import first_sign_in_link, open_site, serve


def made(place: Path, name: str) -> Study:
    place.mkdir(exist_ok=True)
    (place / "items.csv").write_text("name\na\nb\nc\nd\n", encoding="utf-8")
    return create_study(
        place / name, question=f"Which is {name}?", title=f"About {name}", items=place / "items.csv"
    )


@pytest.fixture
def home(tmp_path) -> Path:
    """A folder of two studies, with something else beside them."""
    for name in ("green", "blue"):
        made(tmp_path / "home", name)
    (tmp_path / "home" / "notes").mkdir()
    return tmp_path / "home"


# Which studies.


def test_one_study_stays_at_the_root(home):
    assert find_studies([home / "green"]) == {"": home / "green"}
    assert Visitor(open_site(home / "green")).get("/").status_code == 200


def test_several_are_known_by_the_names_of_their_folders(home):
    expected = {"green": home / "green", "blue": home / "blue"}
    assert find_studies([home / "green", home / "blue"]) == expected
    assert find_studies([home]) == expected


def test_what_is_no_study_is_told_in_a_line(tmp_path):
    with pytest.raises(InputError, match="is no study"):
        open_site(tmp_path)


@pytest.mark.parametrize("name", ["two words", "naïve", "a%2f", "-x", ".hidden", "health", "a?b"])
def test_a_name_that_cannot_be_in_an_address_is_refused(home, name):
    made(home, name)
    with pytest.raises(InputError, match="part of the study's address"):
        find_studies([home / "green", home / name])


@pytest.mark.parametrize("twin", ["green", "GREEN"])
def test_two_of_one_name_are_refused(home, tmp_path, twin):
    made(tmp_path / "elsewhere", twin)
    with pytest.raises(InputError, match="same address"):
        find_studies([home / "green", tmp_path / "elsewhere" / twin])


def test_every_study_needs_a_database_of_its_own(home):
    assert study_database("", "postgresql://a/b") == "postgresql://a/b"
    assert study_database("green", None) is None
    assert study_database("green", "postgresql://a/x_{study}") == "postgresql://a/x_green"
    with pytest.raises(InputError, match=r"write \{study\}"):
        serve(home, database="postgresql://a/b")


def test_databases_are_kept_apart_on_a_server(home, postgresql):
    """Each study is called like the database that is there for it."""
    urls = [postgresql(), postgresql()]
    names = [re.search(r"/(\w+)\?", url)[1] for url in urls]
    for old, new in zip(("green", "blue"), names, strict=True):
        (home / old).rename(home / new)
    app = open_site(home, database=urls[0].replace(names[0], "{study}"))
    Below(app, names[1]).join()
    stores = [Study.open(home / name).store(url) for name, url in zip(names, urls, strict=True)]
    assert [len(list(store.judge_rows())) for store in stores] == [0, 1]
    assert not list(home.glob("*/study.db"))


# On one site.


class Below(Visitor):
    """A visitor of the study below a name, who follows its own links and forms."""

    def __init__(self, app, name: str, **more) -> None:
        super().__init__(app, **more)
        self.name = name

    def get(self, path: str, **more):
        return super().get(self._there(path), **more)

    def send(self, action: str, button: str = "", **filled):
        return super().send(self._there(action), button, **filled)

    def _there(self, path: str) -> str:
        return path if path.startswith(f"/{self.name}/") else f"/{self.name}{path}"

    def join(self, *groups: str, **about: str):
        self.get("/begin")
        self.send("/begin", consent="1")
        assert self.path == f"/{self.name}/pair"
        return self

    def watch(self, study: Study) -> Below:
        """Sign in to it."""
        path = f"/sign-in/{ResearcherStore(study.store()).invite_researcher('Ada')}"
        self.get(path)
        self.send(path)
        assert self.path == f"/{self.name}/watch/password"
        return self


@pytest.fixture
def app(home):
    return open_site(home / "green", home / "blue")


def test_at_the_root_nothing_is_given_away(app):
    for path in ("/", "/nowhere", "/watch", "/sign-in", "/api/v1/", "/greenish/"):
        page = Visitor(app).get(path)
        assert page.status_code == (200 if path == "/" else 404)
        assert "green" not in page.text
        assert "blue" not in page.text
        assert "default-src 'none'" in page.headers["content-security-policy"]


def test_each_study_is_below_its_name(app):
    for name in ("green", "blue"):
        for path in (f"/{name}", f"/{name}/"):
            page = Visitor(app).get(path)
            assert page.url.path == f"/{name}/"
            assert f"About {name}" in page.text
    assert Visitor(app).get("/health/ready").text == "ready\n"
    assert Visitor(app).get("/green/health/ready").text == "ready\n"


def test_every_link_form_and_file_of_a_page_stays_below(app, home):
    judge = Below(app, "green").join()
    researcher = Below(app, "green").watch(Study.open(home / "green"))
    for who, paths in ((judge, ("/", "/pair", "/thanks", "/link", "/privacy")),
                       (researcher, ("/watch", "/watch/run", "/watch/trail"))):  # fmt: skip
        for path in paths:
            page = who.get(path)
            led = re.findall(r'(?:href|src|action)="(/[^"]*)"', page.text)
            assert led
            assert [href for href in led if not href.startswith("/green/")] == [], path
    assert "http://study.test/green/j/" in judge.get("/link").text


def test_a_judge_of_one_is_nobody_in_the_other(app, home):
    judge = Below(app, "green").join()
    judge.send("/answer", "left")
    assert judge.path == "/green/pair"
    stranger = Below(app, "blue")
    stranger.client.cookies = judge.client.cookies
    assert stranger.get("/pair").url.path == "/blue/"
    counts = {n: len(list(Study.open(home / n).store().rows())) for n in ("green", "blue")}
    assert counts == {"green": 1, "blue": 0}


def test_a_researcher_of_one_is_nobody_in_the_other(app, home):
    green = Below(app, "green").watch(Study.open(home / "green"))
    (cookie,) = [c for c in green.client.cookies.jar if c.name.endswith("-watch")]
    assert cookie.path == "/green"
    secret = cookie.value
    blue = Below(app, "blue")
    blue.get("/sign-in")
    (theirs,) = [c for c in blue.client.cookies.jar if c.name.endswith("-watch")]
    assert theirs.name != cookie.name
    blue.client.cookies.set(theirs.name, secret, path="/blue")
    assert blue.get("/watch").url.path == "/blue/sign-in"


def test_closing_one_leaves_the_other_open(app, home):
    ResearcherStore(Study.open(home / "green").store()).set_phase(Phase.CLOSED)
    assert "is closed" in Below(app, "green").get("/begin").text
    assert Below(app, "blue").join().path == "/blue/pair"


def test_sites_are_told_that_they_start_and_stop(home, monkeypatch):
    """Which Starlette does not tell a mounted one."""
    events = []

    @asynccontextmanager
    async def recorded(app):
        events.append(("starts", app.state.site.study.folder.name))
        yield
        events.append(("stops", app.state.site.study.folder.name))

    monkeypatch.setattr(apps, "_lifespan", recorded)
    with TestClient(open_site(home)):
        assert [what for what, _ in events] == ["starts", "starts"]
    assert sorted(events) == [
        ("starts", "blue"), ("starts", "green"), ("stops", "blue"), ("stops", "green"),
    ]  # fmt: skip


def test_below_a_path_of_a_proxy(home):
    app = open_site(home, public_url="https://uni.example.org/judge")
    who = Visitor(app, base="http://uni.example.org")
    page = who.client.get("/green/begin")  # the proxy took /judge off
    assert 'action="/judge/green/begin"' in page.text
    assert "Path=/judge/green" in page.headers["set-cookie"]
    entered = who.client.get("/green", follow_redirects=False)
    assert entered.headers["location"] == "/judge/green/"


# Started.


def test_a_link_is_printed_while_nobody_can_sign_in(home):
    study = Study.open(home / "green")
    link = first_sign_in_link(study, "http://s.org")
    assert re.fullmatch(r"http://s\.org/sign-in/[0-9a-f]{32}", link)
    researcher_store = ResearcherStore(study.store())
    assert researcher_store.use_sign_in_token(link.rpartition("/")[2]).name == "researcher"
    researcher_store.set_password(researcher_store.researcher("researcher"), "hash")
    assert first_sign_in_link(study, "http://s.org") == ""
    assert first_sign_in_link(study, "http://s.org", always=True)
    assert len(researcher_store.researchers()) == 1


@pytest.mark.slow
def test_a_real_server_greets_for_each_study(home):
    with running(home, "--no-live") as (url, server):
        for name in ("green", "blue"):
            page = urllib.request.urlopen(f"{url}/{name}/").read().decode()
            assert f"About {name}" in page
        server.send_signal(signal.SIGTERM)
        output = server.communicate(timeout=60)[0]
    for name in ("green", "blue"):
        assert f"About {name}\nJudges open {url}/{name}/\n" in output
        assert re.search(
            rf"^You sign in, once, with {url}/{name}/sign-in/\w+$", output, re.MULTILINE
        )
    assert output.endswith("Stop with Ctrl-C.\n")
    assert output.count("Stop with") == 1
