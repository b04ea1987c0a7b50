"""The pages of a site of several studies in a real browser: axe, width, phone and desk."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from support.browser import is_wide, violations
from support.host_site import small_study
from support.item_files import write
from support.simulated_judges import link_in
from support.site import running
from tiewise.geo.areas import Areas
from tiewise.study.connection import now
from tiewise.study.create import create_study
from tiewise.web.host.app import host_routes

PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 800}
LOOKS = [pytest.param(PHONE, id="phone"), pytest.param(DESK, id="desk")]
NO_PAGES = {"/static/{name}", "/site/new/{draft}/state", "/site/archive/{name}"}
CHUNK = 4 << 20
TABLE = b"name\nAsh\nBirch\nCedar\nElm\n"

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path) -> Path:
    """Three studies: one with answers that has been still for long, one of items, one broken."""
    site = tmp_path / "site"
    small_study(site, "trees", "item,name\n1,Ash\n2,Birch\n3,Cedar\n4,Elm\n")
    texts = write(tmp_path / "texts", {"a.txt": "One text.", "b.txt": "Another text."})
    create_study(site / "essays", question="Which essay is better?", items=texts)
    broken = small_study(site, "broken")
    Areas.synthetic(20, rng=1).to_gpkg(tmp_path / "county.gpkg")
    study = create_study(
        site / "county", question="Which of these two wards is more deprived?",
        title="Deprivation in the county", areas=tmp_path / "county.gpkg",
    )  # fmt: skip
    store, rng, ids = study.store(), np.random.default_rng(1), list(study.items)
    rows = []
    for k in range(120):
        left, right = (ids[j] for j in rng.choice(len(ids), 2, replace=False))
        outcome = "left" if k % 3 else "right"
        rows.append({"judge": f"judge{k % 5}", "left": left, "right": right, "outcome": outcome,
                     "answered": now() - timedelta(days=8)})  # fmt: skip
    store.import_judgements(rows, consent="1")
    store.close()
    (broken.folder / "study.toml").write_text("not toml", encoding="utf-8")
    return site


@pytest.mark.parametrize("looks", LOOKS)
def test_every_page_of_the_site_is_accessible_and_fits(browser, home, tmp_path, looks):
    """Every route that is a page, and forms with what went wrong; with a screenshot for people."""
    shots, complaints = tmp_path / "pages", list[str]()

    def check(page: Page, name: str) -> None:
        page.screenshot(path=shots / f"{name}.png", full_page=True)
        assert violations(page) == [], name
        assert not is_wide(page), name

    with running(home, command="host") as (url, server):
        context = browser.new_context(viewport=looks)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{url}/sign-in")
        check(page, "sign-in")
        link = link_in(server)
        page.goto(link)
        check(page, "one-time")
        page.get_by_role("button", name="Sign in").click()
        page.goto(f"{url}/site/new")
        page.get_by_role("button", name="Begin").click()
        check(page, "draft")
        draft = page.url.rpartition("/")[2]
        trees = {"name": "trees.csv", "mimeType": "text/csv", "buffer": TABLE}
        page.locator("#chosen").set_input_files(trees)
        expect(page.get_by_role("button", name="Take out trees.csv")).to_be_visible()
        page.get_by_role("button", name="Make the study").click()  # without a question
        check(page, "draft-told")
        seen = set()
        for route in host_routes():
            if "GET" not in route.methods or route.path in NO_PAGES | {"/sign-in/{secret}"}:
                continue
            path = route.path.replace("{draft}", draft).replace("{study}", "county")
            page.goto(url + path)
            check(page, re.sub(r"\W+", "-", route.path).strip("-") or "all")
            seen.add(route.path)
        assert len(seen) > 10
        for path in (
            "/site/studies/trees/items", "/site/studies/essays/items", "/site/studies/broken",
            "/county/watch", "/county/watch/judges", "/county/watch/judges/judge1",
            "/county/watch/invite", "/county/watch/items", "/county/watch/run",
        ):  # fmt: skip
            page.goto(url + path)
            check(page, re.sub(r"\W+", "-", path).strip("-"))
        page.goto(f"{url}/site/people")
        page.locator("#name").fill("Bob")
        page.get_by_role("button", name="Make a one-time link").click()
        check(page, "people-link")
        page.goto(f"{url}/site/studies/county")
        page.locator("summary", has_text="Delete").click()
        page.locator("#confirm").fill("other")
        page.get_by_role("button", name="Delete the study").click()
        check(page, "study-told")
        context.close()
    assert complaints == []


DROPPED = """
() => {
  const file = (name) => ({
    name, isFile: true, file: (done) => done(new File([`text of ${name}`], name)),
  });
  const folder = (name, inside) => ({
    name, isFile: false,
    createReader: () => {
      const parts = [inside.slice(0, 2), inside.slice(2), []];
      return { readEntries: (done) => done(parts.shift()) };
    },
  });
  const entry = folder("essays", [
    file(".DS_Store"), file("one.txt"), file("two.txt"), folder("pages", [file("1.txt")]),
    folder(".git", [file("config")]),
  ]);
  const event = new Event("drop", { cancelable: true });
  event.dataTransfer = { files: [], items: [{ webkitGetAsEntry: () => entry }] };
  document.querySelector("[data-drop]").dispatchEvent(event);
}
"""


def test_folders_are_chosen_and_dropped_with_their_paths(browser, tmp_path):
    essays = tmp_path / "county" / "essays"
    (essays / "long").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "long/1.txt", ".hidden", "Thumbs.db"):
        (essays / name).write_text(f"text of {name}")
    with running(tmp_path / "site", "--no-live", command="host") as (url, server):
        page = browser.new_context(viewport=DESK).new_page()
        page.goto(link_in(server))
        page.get_by_role("button", name="Sign in").click()
        page.goto(f"{url}/site/new")
        page.get_by_role("button", name="Begin").click()
        page.locator("#folder").set_input_files(essays)
        expect(page.get_by_role("button", name="Take out essays/long/1.txt")).to_be_visible()
        page.evaluate(DROPPED)
        expect(page.get_by_role("button", name="Take out essays/pages/1.txt")).to_be_visible()
        (files,) = (tmp_path / "site" / ".uploads").glob("*/files")
        there = {path.relative_to(files).as_posix() for path in files.rglob("*") if path.is_file()}
        names = ("a.txt", "b.txt", "long/1.txt", "one.txt", "two.txt", "pages/1.txt")
        assert there == {f"essays/{name}" for name in names}
        assert (files / "essays" / "two.txt").read_text() == "text of two.txt"
        page.context.close()


def test_an_upload_goes_on_by_itself_and_where_it_was_given_up(browser, tmp_path):
    """The script shows how far it is, tries again, and sends no part twice that has come."""
    content, sent, broken = os.urandom(3 * CHUNK), list[int](), list[int]()
    (tmp_path / "big.zip").write_bytes(content)
    with running(tmp_path / "site", "--no-live", command="host") as (url, server):
        page = browser.new_context(viewport=PHONE).new_page()
        page.clock.install()  # so that its pauses pass at once
        page.goto(link_in(server))
        page.get_by_role("button", name="Sign in").click()
        page.goto(f"{url}/site/new")
        page.get_by_role("button", name="Begin").click()

        def line(route: Any) -> None:
            offset = int(re.search(r"offset=(\d+)", route.request.url)[1])
            if offset == CHUNK and len(broken) < 8:  # it tries seven times, and then once more
                broken.append(offset)
                route.abort()
                return
            sent.append(offset)
            route.continue_()

        def passes(there: Locator) -> None:
            for _ in range(200):
                if there.count():
                    return
                page.clock.run_for(60_000)
                page.wait_for_timeout(50)
            raise AssertionError("it never came")

        page.route("**/chunk?**", line)
        page.locator("#chosen").set_input_files(tmp_path / "big.zip")
        bar = page.get_by_role("progressbar", name="big.zip")
        expect(bar).to_have_js_property("value", 1 / 3)
        passes(page.locator(".failed"))
        expect(page.locator(".failed")).to_contain_text("Choose it again to go on")
        assert (sent, len(broken)) == ([0], 7)
        page.locator("#chosen").set_input_files(tmp_path / "big.zip")
        passes(page.get_by_role("button", name="Take out big.zip"))
        assert (sent, len(broken)) == ([0, CHUNK, 2 * CHUNK], 8)
        (file,) = (tmp_path / "site" / ".uploads").glob("*/files/big.zip")
        assert file.read_bytes() == content
        page.context.close()


GIGABYTES = 2


def resident(server: Any) -> int:
    """Bytes of memory that the site holds; one process, as no study is made."""
    status = Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
    return 1024 * int(re.search(r"VmRSS:\s+(\d+)", status)[1])


def signed_in(url: str, server: Any) -> tuple[httpx2.Client, str]:
    """A client with an owner's cookies and a draft; the address of the draft."""
    client = httpx2.Client(base_url=url, timeout=60, follow_redirects=True)
    link = link_in(server).removeprefix(url)
    page = client.get(link)
    client.post(link, data={"token": token(page)})
    page = client.get("/site/new")
    page = client.post("/site/new", data={"token": token(page)})
    return client, page.url.path


def token(page: Any) -> str:
    return re.search(r'name="token" value="([^"]+)"', page.text)[1]


@pytest.mark.thorough
def test_two_gigabytes_are_taken_in_a_hundred_megabytes_of_memory(tmp_path):
    """In parts, with the connection cut once half-way, and again by a plain form."""
    size = GIGABYTES * 10**9
    piece = os.urandom(CHUNK)
    options = ("--quota-file", "2500", "--quota-study", "5000", "--no-live")
    with running(tmp_path / "site", *options, command="host") as (url, server):
        client, at = signed_in(url, server)
        headers = {"X-Form-Token": token(client.get(at))}
        before, most, sent, cut = resident(server), 0, 0, False

        def broken_off() -> Any:
            yield piece[:100_000]
            raise httpx2.ReadError("the line is cut")

        while sent < size:
            params = {"name": "big.zip", "size": size, "offset": sent}
            if not cut and sent > size / 2:
                cut = True
                with pytest.raises(httpx2.ReadError):
                    client.post(f"{at}/chunk", params=params, content=broken_off(), headers=headers)
                state = client.get(f"{at}/state", params={"name": "big.zip", "size": size})
                assert sent <= state.json()["have"] <= sent + 100_000
                sent = state.json()["have"]
                continue
            body = piece[: min(CHUNK, size - sent)]
            answer = client.post(f"{at}/chunk", params=params, content=body, headers=headers)
            sent = answer.json()["have"]
            most = max(most, resident(server) - before)
        assert cut
        (file,) = (tmp_path / "site" / ".uploads").glob("*/files/big.zip")
        assert file.stat().st_size == size
        assert most < 100e6, most
        file.unlink()

        def form() -> Any:
            nonlocal most
            yield b'--edge\r\nContent-Disposition: form-data; name="token"\r\n\r\n'
            yield headers["X-Form-Token"].encode() + b"\r\n"
            yield b'--edge\r\nContent-Disposition: form-data; name="file"; filename="f.zip"\r\n\r\n'
            for _ in range(size // CHUNK):
                most = max(most, resident(server) - before)
                yield piece
            yield b"\r\n--edge--\r\n"

        kind = {"content-type": "multipart/form-data; boundary=edge"}
        answer = client.post(f"{at}/files", content=form(), headers=kind, timeout=600)
        assert answer.status_code == 200
        assert "f.zip" in answer.text
        assert most < 100e6, most
        for path in (tmp_path / "site" / ".uploads").glob("*/files/*"):
            path.unlink()


def test_an_upload_that_is_cut_off_and_a_site_that_is_killed_lose_nothing(tmp_path):
    """What was acknowledged is there when the site comes again, and nothing half-made."""
    size, half = 3 * CHUNK, CHUNK + 12_345
    content = os.urandom(size)
    with running(tmp_path / "site", "--no-live", command="host") as (url, server):
        client, at = signed_in(url, server)
        headers = {"X-Form-Token": token(client.get(at))}
        params = {"name": "big.zip", "size": size, "offset": 0}
        client.post(f"{at}/chunk", params=params, content=content[:half], headers=headers)
        server.kill()
        server.wait()
    cookies = client.cookies
    with running(tmp_path / "site", "--no-live", command="host") as (url, _):
        client = httpx2.Client(base_url=url, timeout=60, cookies=cookies, follow_redirects=True)
        assert "1 file came only in part" in client.get(at).text
        headers = {"X-Form-Token": token(client.get(at))}
        have = client.get(f"{at}/state", params={"name": "big.zip", "size": size}).json()["have"]
        assert have == half
        params = {"name": "big.zip", "size": size, "offset": have}
        client.post(f"{at}/chunk", params=params, content=content[have:], headers=headers)
        (file,) = (tmp_path / "site" / ".uploads").glob("*/files/*")
        assert file.read_bytes() == content
        assert not list((tmp_path / "site").glob("*/study.toml"))
