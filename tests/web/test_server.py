"""Serving: what it says, what it refuses, and a real server with several workers."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import stat
import urllib.request
from collections import Counter
from pathlib import Path

import httpx2
import pytest
from scipy.stats import chisquare

from support.everyday import thorough
from support.form_browser import Reader, Visitor
from support.simulated_judges import link_in
from support.site import edited, free_port, running
from tiewise.errors import InputError
from tiewise.study.checks.check import check_study
from tiewise.study.create import create_study
from tiewise.study.study import Study
from tiewise.web.security import RateLimit, Throttle, address
from tiewise.web.server import open_site, serve, startup_lines
from tiewise.web.serving.start import read_key
from tiewise.web.serving.startup import check_first


@pytest.fixture
def study(tmp_path) -> Study:
    (tmp_path / "items.csv").write_text("name\na\nb\nc\nd\n", encoding="utf-8")
    return create_study(tmp_path / "s", question="Which?", items=tmp_path / "items.csv")


# What is said.


def test_the_judges_link_is_said(study):
    lines = startup_lines(study, host="127.0.0.1", port=8000)
    assert "Judges open http://127.0.0.1:8000/" in lines
    assert not any("plain http" in line for line in lines)


@pytest.mark.parametrize(
    ("where", "link", "warned"),
    [
        ({"host": "localhost"}, "http://localhost:80/", False),
        ({"host": "::1"}, "http://[::1]:80/", False),
        ({"host": "0.0.0.0"}, "http://localhost:80/", True),
        ({"host": "192.0.2.1"}, "http://192.0.2.1:80/", True),
        ({"host": "127.0.0.1", "public_url": "https://a.org/b"}, "https://a.org/b/", False),
        ({"host": "0.0.0.0", "public_url": "https://a.org"}, "https://a.org/", False),
        ({"host": "127.0.0.1", "public_url": "http://a.org"}, "http://a.org/", True),
        ({"host": "0.0.0.0", "behind_proxy": True}, "http://localhost:80/", False),
    ],
)
def test_plain_http_for_others_is_warned_of(study, where, link, warned):
    lines = startup_lines(study, port=80, **where)
    assert f"Judges open {link}" in lines
    assert any("plain http" in line for line in lines) is warned


def test_codes_are_spoken_of_where_they_are_needed(study):
    path = study.folder / "study.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("invited_only = false", "invited_only = true"), encoding="utf-8")
    lines = startup_lines(Study.open(study.folder), host="localhost", port=80)
    assert any("tiewise invite" in line for line in lines)


# What is refused.


def test_a_port_that_is_taken_is_refused(study):
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="port="):
        serve(study.folder, port=taken.getsockname()[1])


@pytest.mark.parametrize("url", ["study.org", "ftp://a.org", "https://", "https://a.org?x=1"])
def test_an_address_that_is_none_is_refused(study, url):
    with pytest.raises(InputError, match="public_url="):
        serve(study.folder, public_url=url)


def test_a_question_that_changed_under_its_answers_is_refused(study):
    judge = Visitor(open_site(study.folder)).join()
    study.changed_meaning(study.store())
    judge.judge("left")
    path = study.folder / "study.toml"
    text = path.read_text(encoding="utf-8").replace('question = "Which?"', 'question = "What?"')
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"study\.question: answers were given to 'Which\?'"):
        serve(study.folder, port=free_port())


def test_what_a_check_finds_broken_is_refused_line_by_line(study):
    """As `tiewise check` says it; one fault is the error itself, several are written before it."""
    items, lines = study.folder / "items.csv", list[str]()
    whole = items.read_text(encoding="utf-8")
    judge = Visitor(open_site(study.folder)).join()
    judge.judge("left")
    items.write_text("id,name\n9,z\n8,y\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"s: items\.csv: there are answers about 2 items that"):
        serve(study.folder, port=free_port(), write_line=lines.append)
    assert lines == []
    items.write_text("id,name,image\n9,z,z.png\n8,y,y.png\n", encoding="utf-8")
    with pytest.raises(InputError, match="2 things to mend in .*, as said above"):
        serve(study.folder, port=free_port(), write_line=lines.append)
    assert [line.removeprefix(f"{study.folder}: ") for line in lines] == check_study(study.folder)
    items.write_text(whole, encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="port="):
        serve(study.folder, port=taken.getsockname()[1])


def test_faults_of_all_studies_are_named_at_once(study, tmp_path):
    other = Path(shutil.copytree(study.folder, tmp_path / "other"))
    for folder, what in ((study.folder, "x.png"), (other, "y.png")):
        (folder / "items.csv").write_text(f"id,name,image\n1,a,{what}\n2,b,\n", encoding="utf-8")
    lines = list[str]()
    with pytest.raises(InputError, match="2 things to mend in .*, as said above") as refused:
        serve(study.folder, other, port=free_port(), write_line=lines.append)
    assert str(study.folder) in str(refused.value)
    assert str(other) in str(refused.value)
    assert lines == [
        f"{folder}: {fault}" for folder in (study.folder, other) for fault in check_study(folder)
    ]


def test_what_a_check_only_warns_of_is_a_note(study):
    """Also an erasure that is overdue, which researchers do on the site."""
    edited(study, {"# kept_until = 2029-01-31": "kept_until = 2020-01-31"})
    judge = Visitor(open_site(study.folder)).join()
    judge.judge("left")
    (note,) = check_first({study.folder: None}, print)
    assert note.startswith(f"Note: {study.folder}: study.kept_until: ")
    assert note.removeprefix(f"Note: {study.folder}: ") in check_study(study.folder)
    image = study.folder / "images" / "a.png"
    image.parent.mkdir()
    image.write_bytes(b"")
    items = study.folder / "items.csv"
    items.write_text(f"{items.read_text(encoding='utf-8').rstrip()}\n5,e,a.png\n")
    items.write_text("id,name,image\n1,a,a.png\n2,b,\n3,c,\n4,d,\n", encoding="utf-8")
    _, note = check_first({study.folder: None}, print)
    assert "has no alternative text" in note


@pytest.mark.parametrize(
    ("database", "complaint"),
    [
        ("mysql://a/b", "no PostgreSQL address"),
        ("postgresql://nobody@127.0.0.1:1/x", "cannot open"),
    ],
)
def test_a_database_that_cannot_be_opened_is_a_line(study, database, complaint):
    with pytest.raises(InputError, match=complaint):
        serve(study.folder, database=database)


def test_a_password_is_not_repeated(study):
    with pytest.raises(InputError) as refused:
        serve(study.folder, database="postgresql://me:hush@127.0.0.1:1/x")
    assert "hush" not in str(refused.value)


# The key.


def test_the_key_is_made_once_and_for_its_owner_alone(tmp_path):
    key = read_key(tmp_path)
    assert len(key) >= 32
    assert read_key(tmp_path) == key
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_a_key_that_is_none_is_refused(tmp_path):
    (tmp_path / "secret").write_text("short")
    with pytest.raises(InputError, match="holds no key"):
        read_key(tmp_path)


def test_a_judge_stays_one_when_the_site_is_started_again(study):
    judge = Visitor(open_site(study.folder)).join()
    pair = judge.names()
    again = Visitor(open_site(study.folder))
    again.client.cookies = judge.client.cookies
    again.get("/pair")
    assert again.names() == pair


# Throttling.


class Clock:
    """Time that passes when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_throttle_lets_so_many_through_and_then_waits():
    clock = Clock()
    throttle = Throttle(RateLimit(3, 60), clock)
    assert [throttle.allows("a") for _ in range(5)] == [True, True, True, False, False]
    assert throttle.allows("b")
    clock.now = 45
    assert not throttle.allows("a")
    assert throttle.wait() == 15
    clock.now = 60
    assert throttle.allows("a")


def test_a_throttle_knows_nobody_by_name_and_forgets():
    clock = Clock()
    throttle = Throttle(RateLimit(3, 60), clock)
    throttle.allows("203.0.113.7")
    before = repr(vars(throttle))
    assert "203.0.113.7" not in before
    clock.now = 60
    throttle.allows("203.0.113.7")
    digests = re.compile(r"_counts': (\{.*?\})")
    assert digests.search(before)[1] != digests.search(repr(vars(throttle)))[1]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("203.0.113.7", "203.0.113.8", False),
        ("2001:db8::1", "2001:db8::2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:203.0.113.7", "203.0.113.7", True),
        ("::ffff:203.0.113.7", "::ffff:203.0.113.8", False),
        ("fe80::1%eth0", "fe80::2", True),
        ("unknown", "testclient", False),
    ],
)
def test_a_household_is_one_source(one, other, same):
    from starlette.requests import HTTPConnection

    def source(host: str) -> str:
        return address(HTTPConnection({"type": "http", "headers": [], "client": (host, 1)}))

    assert (source(one) == source(other)) is same


# A real server.


def test_a_server_greets_answers_and_stops_when_told(study):
    with running(study.folder) as (url, server):
        page = urllib.request.urlopen(url).read().decode()
        assert "Which?" in page
        server.send_signal(signal.SIGTERM)
        output = server.communicate(timeout=30)[0]
    assert f"Judges open {url}/" in output
    assert "Traceback" not in output


def test_a_site_of_several_studies_greets_and_stops_when_told(tmp_path):
    with running(tmp_path / "site", command="host") as (url, server):
        link = link_in(server)
        assert "Sign in" in urllib.request.urlopen(link).read().decode()
        assert link.startswith(url)
        server.send_signal(signal.SIGTERM)
        output = server.communicate(timeout=30)[0]
    assert "Traceback" not in output


@pytest.mark.slow
@pytest.mark.parametrize(("options", "trusted"), [((), False), (("--behind-proxy",), True)])
def test_a_proxy_is_believed_only_where_one_is_spoken_of(study, options, trusted):
    with running(study.folder, *options) as (url, _):
        request = urllib.request.Request(f"{url}/begin", headers={"X-Forwarded-Proto": "https"})
        cookie = urllib.request.urlopen(request).headers["set-cookie"]
    assert ("Secure" in cookie) is trusted


def join(client: httpx2.Client) -> str:
    """Through consent to the first pair, over the wire."""
    page = client.get("/begin").text
    token = next(value for key, value in Reader(page).forms[0].fields if key == "token")
    return client.post("/begin", data={"token": token, "consent": "1"}, follow_redirects=True).text


@pytest.mark.slow
@pytest.mark.parametrize("database", thorough(["sqlite", "postgresql"], "sqlite"))
def test_several_workers_offer_uniform_pairs_and_sides(study, database, request):
    """Twelve ordered pairs, 600 judges, four workers that started side by side."""
    options = ["--workers", "4", "--sign-ups", "1000"]
    url = None
    if database == "postgresql":
        url = request.getfixturevalue("postgresql")()
        options += ["--database", url]
    number = 600
    # A connection for every request, or one worker would have them all.
    alone = {"connection": "close"}
    with (
        running(study.folder, *options) as (site, _),
        httpx2.Client(base_url=site, headers=alone) as client,
    ):
        for _ in range(number):
            client.cookies.clear()
            assert 'id="left-name"' in join(client)
    met = Counter((row["left"], row["right"]) for row in study.store(url).offers())
    assert met.total() == number
    assert len(met) == 12
    assert chisquare(list(met.values())).pvalue > 1e-4
