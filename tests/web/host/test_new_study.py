"""Studies made in the browser: files in parts, in forms, cut off, or not as they should be."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from support.form_browser import event_loop
from support.host_site import Member, accounts, opened
from tiewise.geo.areas import Areas
from tiewise.hosting.drafts import MEGABYTE, Draft, Quotas, remove_abandoned
from tiewise.hosting.site_folder import SiteFolder
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study
from tiewise.study.values import Phase, Role

TABLE = b"name\na\nb\nc\nd\n"


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "site"


@pytest.fixture
def app(home) -> Any:
    return opened(home, quotas=Quotas(file=2, study=3, site=4))


@pytest.fixture
def ada(app) -> Member:
    """Somebody who has begun to make a study."""
    who = Member(app).come_in("Ada")
    who.get("/site/new")
    who.send("/site/new")
    return who


def chunk(who: Member, at: str, name: str, size: int, offset: int, body: bytes) -> Any:
    return who.client.post(
        f"{at}/chunk", params={"name": name, "size": size, "offset": offset}, content=body,
        headers={"X-Form-Token": who.token},
    )  # fmt: skip


def upload(who: Member, at: str, name: str, body: bytes) -> None:
    who.get(at)
    assert chunk(who, at, name, len(body), 0, body).json() == {"have": len(body)}


def zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return packed.getvalue()


def make(who: Member, at: str, **filled: str) -> str:
    """Make the study, and wait until that is done; the heading of the page."""
    who.get(at)
    who.send(f"{at}/make", question="Which is better?", **filled)
    until = time.monotonic() + 120
    while "is being made" in who.answer.text and time.monotonic() < until:
        time.sleep(0.2)
        who.get(at)
    return who.heading


def test_a_file_that_is_cut_off_goes_on_where_it_stopped(ada, home):
    at, size = ada.path, len(TABLE)
    assert chunk(ada, at, "t.csv", size, 0, TABLE[:5]).json() == {"have": 5}
    page = ada.get(at)
    assert "1 file came only in part" in page.text
    state = ada.client.get(f"{at}/state", params={"name": "t.csv", "size": size})
    assert state.json() == {"have": 5}
    late = chunk(ada, at, "t.csv", size, 3, b"xxxx")  # sent twice, or from another window
    assert (late.status_code, late.json()) == (409, {"have": 5})
    more = chunk(ada, at, "t.csv", size, 5, TABLE[5:] + b"more than was announced")
    assert more.status_code == 422
    ada.get(at)
    there = ada.client.get(f"{at}/state", params={"name": "t.csv", "size": size}).json()["have"]
    assert chunk(ada, at, "t.csv", size, there, TABLE[there:]).json() == {"have": size}
    (folder,) = (home / ".uploads").iterdir()
    assert (folder / "files" / "t.csv").read_bytes() == TABLE


@pytest.mark.parametrize(
    "name",
    ["../up.csv", "/etc/x.csv", "a/../../b.csv", "a\\b.csv", ".hidden", "a//b", "x\0y", "n" * 200],
)
def test_no_file_lies_outside_of_its_folder(ada, home, name):
    answer = chunk(ada, ada.path, name, 3, 0, b"abc")
    assert answer.status_code == 422
    files = [path for path in home.parent.rglob("*") if path.is_file()]
    assert [path for path in files if path.read_bytes() == b"abc"] == []


def test_a_plain_form_makes_a_study_that_waits_until_it_is_opened(ada, home):
    at = ada.path
    ada.answer = ada.client.post(
        f"{at}/files", data={"token": ada.token}, files={"file": ("things.csv", TABLE)}
    )
    assert ada.path == at
    assert make(ada, at, title="Good things", target="7") == "The study is made"
    study = Study.open(home / "good-things")
    assert list(study.items) == ["1", "2", "3", "4"]
    assert (study.settings.study.title, study.settings.study.target) == ("Good things", 7)
    assert ResearcherStore(study.store()).phase() == Phase.PAUSED
    assert ada.get("/good-things/watch").status_code == 200
    assert Member(ada.client.app).get("/good-things/begin").status_code == 200


def test_a_map_and_its_mistakes_are_told_as_in_a_terminal(ada, home, tmp_path):
    Areas.synthetic(6, rng=1).to_gpkg(tmp_path / "wards.gpkg")
    at = ada.path
    upload(ada, at, "wards.gpkg", (tmp_path / "wards.gpkg").read_bytes())
    assert make(ada, at, id="nothing") == "New study"
    assert "It could not be made" in ada.answer.text
    assert "nothing" in ada.answer.text
    assert str(home) not in ada.answer.text
    assert make(ada, at, id="") == "The study is made"
    assert Study.open(home / "which-is-better").areas is not None


def test_what_calls_itself_a_map_is_one(ada):
    """The library that reads maps goes by the content, and some content names other files."""
    at = ada.path
    upload(ada, at, "map.geojson", b"<OGRVRTDataSource><OGRVRTLayer name='x'/></OGRVRTDataSource>")
    make(ada, at)
    assert "not what its ending says" in ada.answer.text


@pytest.mark.parametrize("name", ["../evil.csv", "/evil.csv", "a/../../evil.csv", "C:\\evil.csv"])
def test_a_zip_with_paths_outside_is_refused(ada, home, name):
    at = ada.path
    upload(ada, at, "set.zip", zipped({"items.csv": TABLE, name: TABLE}))
    make(ada, at)
    assert "would lie outside" in ada.answer.text
    assert list(home.parent.rglob("evil.csv")) == []
    assert SiteFolder(home).studies() == []


def test_a_zip_of_texts_becomes_a_study(ada, home):
    essays = {f"essays/e{k}.txt": f"Essay number {k}.".encode() for k in range(3)}
    at = ada.path
    upload(ada, at, "set.zip", zipped(essays))
    assert make(ada, at) == "The study is made"
    assert list(Study.open(home / "which-is-better").items) == ["e0", "e1", "e2"]


def test_a_design_among_the_files_is_that_of_the_study(ada, home):
    at = ada.path
    upload(ada, at, "set/trees.csv", b"item,name\nx,a\ny,b\nz,c\n")
    upload(ada, at, "set/design.csv", b"judge,left,right\nAnn,x,y\nAnn,z,x\nBo,y,z\n")
    assert make(ada, at) == "The study is made"
    design = Study.open(home / "which-is-better").design
    assert [len(pairs) for pairs in design.lists.values()] == [2, 1]


def test_a_design_of_other_items_is_told_as_in_a_terminal(ada, home):
    at = ada.path
    upload(ada, at, "trees.csv", b"item,name\nx,a\ny,b\n")
    upload(ada, at, "design.csv", b"judge,left,right\nAnn,x,q\n")
    make(ada, at)
    assert "is not in items.csv" in ada.answer.text
    assert SiteFolder(home).studies() == []


def test_a_zip_that_unpacks_to_more_than_a_study_may_have_is_refused(ada):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("big.txt", b"a" * (20 * MEGABYTE))
    at = ada.path
    upload(ada, at, "set.zip", packed.getvalue())
    make(ada, at)
    assert "unpacks to more than a study may have" in ada.answer.text


def test_quotas_of_file_study_and_site(ada):
    at = ada.path
    refusals = [
        chunk(ada, at, name, size, 0, b"x").json().get("fault", "")
        for name, size in (("huge", 2 * 10**9), ("one", 2 * MEGABYTE), ("two", 2 * MEGABYTE))
    ]
    assert "more than the 2 MB that a file may have" in refusals[0]
    assert refusals[1] == ""
    assert "more than the 3 MB" in refusals[2]


def test_the_quota_of_a_site_counts_all_that_lies_there(ada, home):
    """Also what was archived: a megabyte and a half is left of four."""
    (home / ".archive" / "old").mkdir()
    (home / ".archive" / "old" / "big").write_bytes(b"x" * (5 * MEGABYTE // 2))
    refused = chunk(ada, ada.path, "one", 19 * MEGABYTE // 10, 0, b"x")
    assert refused.status_code == 422
    assert "all studies of this site would have" in refused.json()["fault"]
    assert "more than the 4 MB that they may" in refused.json()["fault"]
    assert chunk(ada, ada.path, "one", MEGABYTE, 0, b"x").json() == {"have": 1}


def test_a_form_of_two_gigabytes_is_refused_after_a_few_megabytes(ada):
    """Pieces are made as they are asked for, so what is not taken never is in memory."""
    at, edge, taken = ada.path, b"edge", 0
    head = (
        b'--edge\r\nContent-Disposition: form-data; name="token"\r\n\r\n' + ada.token.encode()
        + b'\r\n--edge\r\nContent-Disposition: form-data; name="file"; filename="big"\r\n\r\n'
    )  # fmt: skip
    cookies = "; ".join(f"{one.name}={one.value}" for one in ada.client.cookies.jar)
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": f"{at}/files",
        "raw_path": f"{at}/files".encode(), "query_string": b"", "root_path": "",
        "scheme": "http", "server": ("study.test", 80), "client": ("198.51.100.7", 1),
        "headers": [
            (b"host", b"study.test"), (b"cookie", cookies.encode()),
            (b"content-type", b"multipart/form-data; boundary=" + edge),
        ],
    }  # fmt: skip
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        nonlocal taken
        taken += 1
        body = head if taken == 1 else b"x" * MEGABYTE
        return {"type": "http.request", "body": body, "more_body": taken <= 2000}

    async def send(message: Any) -> None:
        sent.append(message)

    event_loop().call(ada.client.app, scope, receive, send)
    assert sent[0]["status"] == 422
    assert taken < 10


def test_a_form_without_the_token_leaves_nothing(ada, home):
    at = ada.path
    answer = ada.client.post(f"{at}/files", files={"file": ("t.csv", TABLE)})
    assert answer.status_code == 403
    (folder,) = (home / ".uploads").iterdir()
    assert [*(folder / "files").iterdir(), *(folder / "parts").iterdir()] == []


def test_nobody_sees_what_somebody_else_uploads(ada, app):
    bob = Member(app).come_in("Bob", Role.OWNER)
    assert bob.get(ada.path).status_code == 404


def test_somebody_of_few_studies_sees_the_one_they_make(app):
    accounts(app).add_account("Root", Role.OWNER)
    bob = Member(app).come_in("Bob", Role.RESEARCHER, studies=[])
    bob.get("/site/new")
    bob.send("/site/new")
    at = bob.path
    upload(bob, at, "t.csv", TABLE)
    make(bob, at)
    assert bob.get("/which-is-better/watch").status_code == 200


def test_abandoned_uploads_are_removed_after_a_day(ada, home):
    site = SiteFolder(home)
    (folder,) = site.uploads.iterdir()
    assert remove_abandoned(site) == 0
    os.utime(folder, (time.time() - 90_000,) * 2)
    assert (remove_abandoned(site), list(site.uploads.iterdir())) == (1, [])


@pytest.mark.slow
def test_killed_while_a_study_is_made_nothing_of_it_is_left(ada, home):
    at = ada.path
    essays = {f"e{k}.txt": b"An essay. " * 200 + str(k).encode() for k in range(400)}
    upload(ada, at, "set.zip", zipped(essays))
    (folder,) = (home / ".uploads").iterdir()
    draft = Draft(folder)
    draft.keep_details(question="Which is better?", address="essays", target=30)
    child = subprocess.Popen(
        [sys.executable, "-m", "tiewise.hosting.make_study", str(folder), str(home)]
    )
    while not draft.state().get("done") and child.poll() is None:
        time.sleep(0.01)
    child.kill()
    child.wait()
    assert SiteFolder(home).studies() == []
    assert "cut off before it was done" in ada.get(at).text
    assert make(ada, at) == "The study is made"
    assert len(Study.open(home / "essays").items) == 400
