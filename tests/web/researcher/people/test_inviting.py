"""Inviting judges on the site, panels, and where names and identifiers do not stand."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import time
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from support.form_browser import Visitor
from support.judging import add_answer, add_judge
from support.site import copy_study, edited, running, with_database
from support.snapshots import add_snapshot, body, judge_row
from tiewise.cli.main import main
from tiewise.data.answers import FIRST, SECOND
from tiewise.pairing.policies import OrderedPair
from tiewise.study.connection import now
from tiewise.study.create import create_study
from tiewise.study.inviting import mail
from tiewise.study.inviting.invitation_store import InvitationStore
from tiewise.study.inviting.people import Invitee
from tiewise.study.schema import offers
from tiewise.study.study import Study
from tiewise.study.values import Kind, TokenPurpose
from tiewise.web.app import make_app
from tiewise.web.live.cache import pack_rows
from tiewise.web.words.language import language

PANEL = """
[panel]
identifiers = ["PROLIFIC_PID", "SESSION_ID"]
completion_link = "https://panel.example/done?cc=C1"
completion_code = "C1-DONE"
"""
FROM_PANEL = "/?PROLIFIC_PID=5f3c0ffee00&SESSION_ID=sess-0042&language=en"
TABLE = "name,mail\nAnna Ashby,anna@ashby.example\nBen,\n"
LANGUAGES = '["en", "ar", "fr", "es"]\naccept_unread = ["ar", "fr", "es"]'


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("template")
    (place / "items.csv").write_text("name\nAsh\nBirch\nCedar\nElm\n", encoding="utf-8")
    study = create_study(
        place / "s", question="Which is taller?", title="Tall trees", items=place / "items.csv"
    )
    swaps = {"target = 30": "target = 2", '["en"] ': f"{LANGUAGES} ", "accept_unread = [] ": "# "}
    return with_database(edited(study, swaps))


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "s")


@pytest.fixture
def app(study) -> Any:
    return make_app(study, study.store(), secret="k" * 40)


@pytest.fixture
def ada(app) -> Visitor:
    return Visitor(app).sign_in()


def upload(who: Visitor, content: str | bytes, name: str = "people.csv") -> Any:
    who.get("/watch/invite")
    files = {"file": (name, content, "text/csv")}
    return who.post("/watch/invite/people", {"token": who.token}, files=files)


def links_of(page: str) -> list[str]:
    return re.findall(r'class="link"[^>]*>([^<]+)<', page)


def fresh(who: Visitor, whom: str = "awaited", **more: Any) -> list[str]:
    who.get("/watch/invite")
    return links_of(who.send("/watch/invite/links", "page", whom=whom, **more).text)


# Invitations.


def test_a_table_becomes_links_and_the_page_says_who_came(app, ada):
    assert "2 people added" in upload(ada, TABLE).text
    assert "there already" in upload(ada, "\ufeff" + TABLE).text
    first, second = fresh(ada)
    assert first.startswith("http://study.test/?code=")
    anna = Visitor(app)
    anna.get(first.removeprefix("http://study.test"))
    anna.get(next(href for _, href in anna.page.links if href.startswith("/begin")))
    consent = anna.hidden("code"), anna.answer.text
    assert language("en").translate("begin.traced") in consent[1]
    anna.send("/begin", consent="1")
    assert anna.path == "/pair"
    page = ada.get("/watch/invite").text
    assert "<b>1</b> has not come" in page
    assert "<b>1</b> half-way" in page
    anna.judge("left")
    anna.judge("left")
    assert "<b>1</b> done" in ada.get("/watch/invite").text
    assert second not in page


def test_links_of_a_reminder_lead_back(app, ada):
    upload(ada, TABLE)
    anna = Visitor(app)
    anna.get(fresh(ada)[0])
    anna.get(next(href for _, href in anna.page.links if href.startswith("/begin")))
    anna.send("/begin", consent="1")
    (back,) = fresh(ada, "begun")
    other = Visitor(app)
    other.get(back.removeprefix("http://study.test"))
    assert other.path == "/pair"
    anna.get("/pair")
    assert anna.path == "/pair"  # where she was
    assert (
        len(app.state.site.store.engine.connect().exec_driver_sql("SELECT id FROM judges").all())
        == 1
    )


def test_people_can_be_named_without_a_file_and_removed(ada):
    ada.get("/watch/invite")
    ada.send("/watch/invite/people", people="Cleo, cleo@c.example\nDan")
    assert "2 people added" in ada.answer.text
    ticks = [tag["value"] for _, tag in ada.page.tags if tag.get("name") == "who"]
    ada.post("/watch/invite/remove", {"token": ada.token, "who": ticks})
    assert "they are removed" in ada.answer.text.lower()
    assert "Cleo" not in ada.get("/watch/invite").text
    assert "Cleo" not in ada.get("/watch/trail").text


@pytest.mark.parametrize(
    ("content", "name", "says"),
    [
        ("first\nx\n", "people.csv", "no column label or name"),
        ("name\nAnna\n", "people.pdf", "ends in none of .csv"),
        ("", "people.csv", "empty"), (b"\xff\xfe\x00", "people.csv", "eople.csv"),
        ("PK", "people.xlsx", "eople.xlsx"),
        ("name,mail\n<b>x</b>,<b>\n", "people.csv", "&lt;b&gt;"),
    ],
)  # fmt: skip
def test_a_file_that_names_nobody_is_told_of(ada, content, name, says):
    answer = upload(ada, content, name)
    assert answer.status_code == 422
    assert says in answer.text
    assert "/tmp" not in answer.text


def test_only_that_form_takes_files(ada):
    ada.get("/watch/run")
    files = {"file": ("x", b"x")}
    assert ada.post("/watch/phase", {"token": ada.token}, files=files).status_code == 415
    ada.get("/watch/invite")
    too_large = {"file": ("x.csv", b"x" * 1_000_000)}
    assert (
        ada.post("/watch/invite/people", {"token": ada.token}, files=too_large).status_code == 413
    )


def test_a_table_for_a_mail_merge(app, ada):
    upload(ada, 'name,mail\n"=HYPERLINK(1)",anna@ashby.example\nBen,\n')
    ada.get("/watch/invite")
    answer = ada.send("/watch/invite/links", "csv", whom="awaited")
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text.removeprefix("\ufeff"))))
    assert [row["mail"] for row in rows] == ["anna@ashby.example", ""]
    assert not rows[0]["name"].startswith("=")
    assert all(row["link"].startswith("http://study.test/?code=") for row in rows)


def test_codes_on_the_sheet_hold_the_links(ada, browser, tmp_path):
    """As a browser draws them, on the site and in the file of the command."""
    import numpy as np
    import zxingcpp
    from PIL import Image

    upload(ada, TABLE)
    ada.get("/watch/invite")
    page = ada.send("/watch/invite/links", "page", whom="awaited").text
    styles = re.findall(r'href="(/static/[^"]+css[^"]*)"', page)
    assert len(styles) == 4
    style = "".join(ada.client.get(path).text for path in styles)
    (tmp_path / "page.html").write_text(
        re.sub(r"<(link|script)[^>]*>", "", page).replace(
            "</head>", f"<style>{style}</style></head>"
        )
    )
    tab = browser.new_page()
    tab.goto((tmp_path / "page.html").as_uri())
    tab.screenshot(path=tmp_path / "page.png", full_page=True)
    tab.close()
    picture = np.asarray(Image.open(tmp_path / "page.png").convert("L"))
    read = {one.text for one in zxingcpp.read_barcodes(picture)}
    assert read == set(links_of(page))
    assert len(read) == 2


def test_mail_needs_a_server_and_a_link_in_its_text(ada, monkeypatch):
    upload(ada, TABLE)
    body = {"token": ada.token, "whom": "awaited", "how": "mail"}
    assert "no mail server" in ada.post("/watch/invite/links", body).text
    monkeypatch.setenv(mail.SERVER, "smtp://127.0.0.1:1")
    monkeypatch.setenv(mail.SENDER, "study@example.org")
    ada.get("/watch/invite")
    answer = ada.send("/watch/invite/links", "mail", whom="awaited", first="no place")
    assert "The text has no {link}" in answer.text
    assert "no place" in answer.text
    ada.get("/watch/invite")
    assert "is being sent" in ada.send("/watch/invite/links", "mail", whom="awaited").text
    for _ in range(100):
        if "cannot be reached" in ada.get("/watch/invite").text:
            break
        time.sleep(0.1)
    assert "Of the last 1 mail, 1 could not be sent" in ada.answer.text


# Panels.


@pytest.fixture
def panel_app(study) -> Any:
    return make_app(edited(study, {}, PANEL), study.store(), secret="k" * 40)


def begin(who: Visitor) -> Visitor:
    who.get("/begin")
    who.send("/begin", consent="1")
    assert who.path == "/pair", who.answer.text
    return who


def test_a_person_of_a_panel_comes_back_only_as_themselves(panel_app):
    site = panel_app.state.site
    first = Visitor(panel_app)
    first.get(FROM_PANEL)
    assert str(first.answer.url) == "http://study.test/"
    assert language("en").translate("begin.traced") in first.get("/begin").text
    begin(first)
    first.judge("left")
    again = Visitor(panel_app)
    again.get(FROM_PANEL)
    assert again.path == "/pair"
    again.judge("right")
    (row,) = site.store.judge_rows()
    assert row["judgements"] == 2
    # Another person at the same browser is another judge.
    again.get(FROM_PANEL.replace("5f3c", "6f3c"))
    assert again.path == "/"
    begin(again)
    assert len(list(site.store.judge_rows())) == 2
    again.get(FROM_PANEL)
    assert again.path == "/pair"
    assert len(list(site.store.judge_rows())) == 2


def test_two_forms_of_one_person_make_one_judge(panel_app):
    one, two = Visitor(panel_app), Visitor(panel_app)
    for who in (one, two):
        who.get(FROM_PANEL)
        who.get("/begin")
    one.send("/begin", consent="1")
    two.send("/begin", consent="1")
    assert len(list(panel_app.state.site.store.judge_rows())) == 1
    assert two.path == "/pair"


def test_the_way_back_to_the_panel_is_there_at_the_target_for_its_people_alone(panel_app):
    person = Visitor(panel_app)
    person.get(FROM_PANEL)
    begin(person).judge("left")
    assert "C1-DONE" not in person.get("/thanks").text
    person.get("/pair")
    person.judge("left")
    assert person.path == "/thanks"
    assert "C1-DONE" in person.answer.text
    assert 'href="https://panel.example/done?cc=C1"' in person.answer.text
    stranger = begin(Visitor(panel_app))
    stranger.judge("left")
    stranger.judge("left")
    assert stranger.path == "/thanks"
    assert "C1" not in stranger.answer.text


def test_where_only_a_panel_may_begin_nobody_else_does(study):
    app = make_app(edited(study, {}, PANEL + "only = true\n"), study.store(), secret="k" * 40)
    stranger = Visitor(app)
    assert language("en").translate("begin.panel_only") in stranger.get("/begin").text
    stranger.get("/")
    stranger.get(FROM_PANEL)
    begin(stranger)


@pytest.mark.parametrize("code", ["en", "ar", "fr", "es"])
def test_consent_says_that_answers_can_be_traced(panel_app, code):
    words = language(code)
    person = Visitor(panel_app)
    person.get(FROM_PANEL.replace("language=en", f"language={code}"))
    assert words.translate("welcome.how_anonymous") not in person.answer.text
    assert words.translate("begin.traced") in person.get("/begin").text
    assert words.translate("privacy.kept_trace") in person.get("/privacy").text
    stranger = Visitor(panel_app)
    assert words.translate("welcome.how_anonymous") in stranger.get(f"/?language={code}").text
    assert words.translate("begin.traced") not in stranger.get("/begin").text


def test_the_text_of_a_new_study_does_not_contradict_that(panel_app):
    """It says nothing of answers that cannot be traced, whoever reads it."""
    person = Visitor(panel_app)
    person.get(FROM_PANEL)
    text = panel_app.state.site.study.settings.consent.text
    assert text.split("\n")[0] in person.get("/begin").text
    assert "kept without" not in text
    assert "anonymous" not in text.lower()


# Judges by name, and one of them.


def test_the_page_of_judges_has_names_and_that_of_one_every_answer(app, ada):
    upload(ada, TABLE)
    anna = Visitor(app)
    anna.get(fresh(ada)[0])
    anna.get(next(href for _, href in anna.page.links if href.startswith("/begin")))
    anna.send("/begin", consent="1")
    left, right = anna.names()
    anna.judge("right")
    (row,) = app.state.site.store.judge_rows()
    page = ada.get(f"/watch/judges/{row['id']}")
    assert page.status_code == 200
    assert ada.heading == "Anna Ashby"
    cells = re.findall(r'data-label="(?:Left|Right|Answer)"[^>]*>([^<]+)<', page.text)
    assert cells == [left, right, "right one"]
    assert ada.get("/watch/judges/nobody").status_code == 404
    assert ada.get("/watch/judges/%00").status_code == 404


def test_the_page_of_a_judge_has_times_repeats_and_flags(study, app, ada):
    store, (one, two, three, _) = study.store(), study.items
    judge = add_judge(store)
    pairs = [
        (OrderedPair(one, two, False), Kind.NEW, FIRST),
        (OrderedPair(two, three, False), Kind.NEW, FIRST),
        (OrderedPair(two, one, True), Kind.REPEAT, SECOND),  # the same one
        (OrderedPair(three, two, True), Kind.REPEAT, FIRST),  # the other one
    ]
    for pair, kind, answer in pairs:
        add_answer(store, judge, pair, answer, kind)
    with store.writing() as connection:
        moved = offers.update().where(offers.c.left == one)
        connection.execute(moved.values(shown=now() - timedelta(seconds=7.2)))
    flag = {"kind": "haste", "says": "median answer in 0.8 s."}
    row = judge_row(judge.id, flags=[flag], repeats=2, consistency=0.5, median_seconds=3.4)
    values = body(list(study.items), [0.0] * 4)
    add_snapshot(store, values, beside={"judges": pack_rows([row])})
    page = ada.get(f"/watch/judges/{judge.id}").text
    assert "<li>Median answer in 0.8 s.</li>" in page
    figures = dict(re.findall(r"<dt>([^<]+)</dt><dd>(.*?)</dd>", page))
    assert figures["Median time"] == "3.4 s"
    assert figures["Repeats the same"] == "50 % <small>of 2</small>"
    rows = re.findall(r'<tr role="row"><td(.*?)</tr>', page)
    remarks = [re.search(r"<small>([^<]+)</small>", row) for row in rows]
    assert [one and one[1] for one in remarks] == [
        "shown again, answered otherwise", "shown again, answered alike", None, None,
    ]  # fmt: skip
    took = re.search(r'data-label="Took"[^>]*>([^<]+)<', rows[-1])[1]
    assert took.startswith("7.")


# Where none of it stands.


@pytest.mark.slow
def test_names_and_identifiers_stand_nowhere_else(study, tmp_path):
    """In no page for partners, report, briefing, folder of results, interface or log."""
    study = edited(study, {"target = 2": "target = 30"}, PANEL)
    strings = ("Anna Ashby", "anna@ashby.example", "5f3c0ffee00", "sess-0042")
    store = study.store()
    InvitationStore(store).add([Invitee("Anna Ashby", "anna@ashby.example")])
    from tiewise.study.researcher_store import ResearcherStore

    researchers = ResearcherStore(store)
    share = researchers.make_token(TokenPurpose.SHARE, label="council")
    token = researchers.make_token(TokenPurpose.COMMENTS, label="program")
    code = InvitationStore(store).issue([1])[0].path
    seen: dict[str, str] = {}
    import httpx2

    with running(study.folder, "--log-format", "json") as (url, server):
        for who, path in enumerate((code, FROM_PANEL)):
            with httpx2.Client(base_url=url, follow_redirects=True) as client:
                client.get(path)
                path = "/begin" + (path[1:] if who == 0 else "")
                page = client.get(path).text
                fields = dict(re.findall(r'name="(token|code)" value="([^"]*)"', page))
                page = client.post("/begin", data={**fields, "consent": "1"}).text
                for _ in range(6):
                    fields = dict(re.findall(r'name="(token|offer)" value="([^"]*)"', page))
                    page = client.post("/answer", data={**fields, "outcome": "left"}).text
        for _ in range(600):
            page = httpx2.get(f"{url}/shared/{share}").text
            if "From <b>12 judgements" in page or "12 judgements" in page:
                break
            time.sleep(0.1)
        seen["shared"] = page
        headers = {"Authorization": f"Bearer {token}"}
        root = httpx2.get(f"{url}/api/v1/", headers=headers)
        for name in ("judgements", "judges", "items", "study", "estimates", "comments"):
            seen[f"api {name}"] = httpx2.get(f"{url}/api/v1/{name}", headers=headers).text
        seen["api"] = root.text
    seen["log"] = server.stdout.read()
    assert len(InvitationStore(store).labels()) == 1
    for words in (
        (
            "fit",
            str(study.folder),
            "--out",
            str(tmp_path / "results"),
            "--judge-groups",
            "language",
        ),
        ("fit", str(study.folder), "--out", str(tmp_path / "results")),
        ("briefing", str(tmp_path / "results")),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "tiewise.cli.main", *words], capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        seen[" ".join(words)] = done.stdout + done.stderr
    results = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    assert {"report.html", "briefing.pdf", "posterior.nc"} <= {path.name for path in results}
    haystacks = {name: text.encode() for name, text in seen.items()}
    haystacks |= {str(path): plain_bytes(path) for path in results}
    for name, content in haystacks.items():
        assert not [one for one in strings if one.encode() in content], name
    with_names = store.engine.connect().exec_driver_sql("SELECT value FROM identifiers").all()
    assert len(with_names) == 2


def plain_bytes(path: Path) -> bytes:
    """What a file holds, unpacked where it is packed."""
    if path.suffix == ".pdf":
        from pypdf import PdfReader

        return "\n".join(page.extract_text() for page in PdfReader(path).pages).encode()
    if path.suffix == ".nc":
        import h5py

        texts: list[str] = []
        with h5py.File(path) as file:
            file.visititems(lambda name, it: texts.append(name + repr(dict(it.attrs)) + (
                repr(it[()].tolist()) if isinstance(it, h5py.Dataset) else "")))  # fmt: skip
        return repr(texts).encode()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return b"".join(archive.read(name) for name in archive.namelist())
    return path.read_bytes()


# The command.


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, [str(word) for word in words])
    return result.exit_code, result.stdout


def test_the_command_invites_people_by_name(study, tmp_path):
    (tmp_path / "people.csv").write_text(TABLE, encoding="utf-8")
    people = ("--from", tmp_path / "people.csv")
    code, output = run("invite", study.folder, *people)
    assert code == 2
    code, output = run("invite", study.folder, *people, "--url", "https://study.example/")
    assert code == 0
    lines = [line.split("\t") for line in output.splitlines()]
    assert [name for name, _ in lines] == ["Anna Ashby", "Ben"]
    assert all(link.startswith("https://study.example/?code=") for _, link in lines)
    out = ("--sheet", tmp_path / "sheet.html", "--table", tmp_path / "links.csv")
    code, output = run("invite", study.folder, "--remind", "--url", "https://study.example", *out)
    assert (code, output.split(" ")[0]) == (0, "2")
    sheet = (tmp_path / "sheet.html").read_text(encoding="utf-8")
    table = (tmp_path / "links.csv").read_text(encoding="utf-8-sig")
    assert links_of(sheet) == [row["link"] for row in csv.DictReader(io.StringIO(table))]
    assert not {link for _, link in lines} & set(links_of(sheet))
    assert "Tall trees" in sheet
    assert "src=" not in sheet


def test_codes_without_names_are_made_as_before(study):
    code, output = run("invite", study.folder, "--count", 3)
    assert (code, len(output.split())) == (0, 3)
    assert json.dumps(InvitationStore(study.store()).anonymous()) == "[3, 0]"
