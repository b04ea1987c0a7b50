"""Running a study: phases as judges meet them, links, fellow researchers, downloads, papers."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.form_browser import Visitor
from support.site import copy_study, with_database
from tiewise.cli.main import main
from tiewise.geo.areas import Areas
from tiewise.study.create import create_study
from tiewise.study.export import import_file
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study
from tiewise.study.values import Phase
from tiewise.web.app import make_app
from tiewise.web.phase_cache import PhaseCache
from tiewise.web.researcher import report_job
from tiewise.web.words.language import language
from tiewise.workflows.simulate import write_simulated_study


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("template")
    Areas.synthetic(8, rng=5).to_gpkg(place / "wards.gpkg")
    made = create_study(
        place / "green", question="Which is greener?", title="Green wards",
        areas=place / "wards.gpkg",
    )  # fmt: skip
    path = made.folder / "study.toml"
    text = path.read_text(encoding="utf-8").replace('["en"]', '["en", "ar"]')
    path.write_text(text.replace("target = 30", "target = 3"), encoding="utf-8")
    return with_database(Study.open(made.folder))


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "green")


@pytest.fixture
def app(study):
    return make_app(study, study.store(), secret="k" * 40)


@pytest.fixture
def ada(app) -> Visitor:
    return Visitor(app).sign_in()


def at_run(who: Visitor) -> Visitor:
    who.get("/watch/run")
    return who


def outcomes(study: Study) -> list[str]:
    return [row["outcome"] for row in study.store().rows() if row["undone"] is None]


def trail(app) -> list[tuple[str, str]]:
    rows = app.state.site.researcher_store.audit_log()
    return [(row["what"], row["about"]) for row in rows]


# Phases.


def test_a_pause_keeps_the_answer_on_the_screen_and_shows_no_new_pair(app, study, ada):
    judge = Visitor(app).join()
    at_run(ada).send("/watch/phase", "paused", reason="holiday")
    assert "The study is paused" in ada.answer.text
    judge.judge("left")
    assert outcomes(study) == ["left"]
    assert judge.heading == language("en").translate("shut.paused_title")
    for path in ("/pair", "/groups", "/begin"):
        judge.get(path)
        assert judge.heading == language("en").translate("shut.paused_title"), path
        assert 'name="outcome"' not in judge.answer.text
    at_run(ada).send("/watch/phase", "open")
    judge.get("/pair")
    judge.names()
    assert ("set phase", "paused") in trail(app)


def test_a_closed_study_takes_no_answer_and_gives_thanks(app, study, ada):
    judge = Visitor(app).join()
    at_run(ada).send("/watch/phase", "closed")
    judge.judge("left")
    assert outcomes(study) == []
    assert judge.heading == language("en").translate("shut.closed_title")
    assert "Thank you" in judge.answer.text
    assert judge.get("/thanks").status_code == 200
    assert "/undo" not in [form.action for form in judge.page.forms]


def test_undo_waits_for_the_study_to_open(app, study, ada):
    """Or an answer would be taken back and its pair not shown."""
    judge = Visitor(app).join()
    judge.judge("left")
    at_run(ada).send("/watch/phase", "paused")
    assert judge.send("/undo").status_code == 409
    assert outcomes(study) == ["left"]


@pytest.mark.parametrize("phase", ["paused", "closed"])
def test_nobody_signs_up_while_it_is_not_open(app, study, ada, phase):
    new = Visitor(app)
    new.get("/begin")
    at_run(ada).send("/watch/phase", phase)
    assert new.send("/begin", consent="1").status_code == 409
    assert list(study.store().judge_rows()) == []
    new.get("/")
    assert language("en").translate(f"shut.{phase}") in new.answer.text
    assert not any(href == "/begin" for _, href in new.page.links)


@pytest.mark.parametrize("phase", ["paused", "closed"])
def test_a_judge_can_always_withdraw(app, study, ada, phase):
    judge = Visitor(app).join()
    judge.judge("left")
    at_run(ada).send("/watch/phase", phase)
    judge.get("/withdraw")
    judge.send("/withdraw", erase="all")
    assert judge.path == "/withdrawn"
    assert outcomes(study) == []


@pytest.mark.parametrize("phase", ["paused", "closed"])
def test_the_page_speaks_the_judges_language(app, ada, phase):
    judge = Visitor(app).join()
    at_run(ada).send("/watch/phase", phase)
    judge.get("/pair?language=ar")
    assert judge.heading == language("ar").translate(f"shut.{phase}_title")
    assert 'dir="rtl"' in judge.answer.text


def test_the_phase_is_asked_for_once_a_second(study):
    researcher_store, time_ = ResearcherStore(study.store()), [0.0]
    phase_cache = PhaseCache(researcher_store, clock=lambda: time_[0])
    assert phase_cache.phase() == Phase.OPEN
    researcher_store.set_phase(Phase.CLOSED)
    time_[0] = 0.9
    assert phase_cache.phase() == Phase.OPEN
    time_[0] = 1.0
    assert phase_cache.phase() == Phase.CLOSED


def test_a_phase_that_is_none_is_refused(app, ada):
    answer = at_run(ada).post("/watch/phase", {"token": ada.token, "phase": "ajar"})
    assert answer.status_code == 400
    assert app.state.site.researcher_store.phase() == Phase.OPEN


# Researchers and links.


def test_a_researcher_lets_another_one_in(app, ada):
    at_run(ada).send("/watch/researchers", name="Ben <b>")
    link = re.search(r'value="(http://study\.test/sign-in/[0-9a-f]{32})"', ada.answer.text)[1]
    ben = Visitor(app)
    path = link.removeprefix("http://study.test")
    ben.get(path)
    ben.send(path)
    assert "Ben &lt;b&gt;" in ben.answer.text
    assert "Ben <b>" not in ben.answer.text
    at_run(ada).send("/watch/researchers/remove", name="Ben <b>")
    assert "can no longer sign in" in ada.answer.text
    assert ben.get("/watch").url.path == "/sign-in"


def test_a_link_for_oneself_works_on_another_device(app, ada):
    at_run(ada).send("/watch/link")
    path = "/sign-in/" + re.search(r"sign-in/([0-9a-f]{32})", ada.answer.text)[1]
    phone = Visitor(app)
    phone.get(path)
    phone.send(path)
    assert phone.get("/watch").url.path == "/watch"
    assert ada.get("/watch").url.path == "/watch"


def test_the_last_researcher_is_not_removed(app, ada):
    at_run(ada)
    assert "/watch/researchers/remove" not in [form.action for form in ada.page.forms]
    answer = ada.post("/watch/researchers/remove", {"token": ada.token, "name": "Ada"})
    assert answer.status_code == 422
    assert "the only researcher" in answer.text


@pytest.mark.parametrize(
    ("kind", "form", "complaint"),
    [
        ("share", {"label": ""}, "whom it is for"), ("api", {"label": "x" * 101}, "whom it is for"),
        ("share", {"label": "x", "days": "0"}, "number of days"),
        ("api", {"label": "x", "days": "1e3"}, "number of days"),
        ("share", {"label": "x", "days": "99999"}, "number of days"),
    ],
)  # fmt: skip
def test_a_link_wants_a_label_and_days_that_are_some(app, ada, kind, form, complaint):
    answer = at_run(ada).post("/watch/links", {"token": ada.token, "kind": kind, **form})
    assert answer.status_code == 422
    assert complaint in answer.text


def test_a_shared_link_is_shown_once_opens_one_page_and_is_ended(app, ada):
    at_run(ada)
    ada.post("/watch/links", {"token": ada.token, "kind": "share", "label": "council", "days": "9"})
    secret = re.search(r"/shared/([0-9a-f]{32})", ada.answer.text)[1]
    partner = Visitor(app)
    assert partner.get(f"/shared/{secret}").status_code == 200
    assert partner.get("/watch").url.path == "/sign-in"
    assert partner.get("/api/v1/", headers={"authorization": f"Bearer {secret}"}).status_code == 401
    page = at_run(ada).answer.text
    assert secret not in page
    assert "council" in page
    ada.send("/watch/links/end")
    assert partner.get(f"/shared/{secret}").status_code == 404
    assert ("make share link", "council") in trail(app)
    assert ("end share link", "council") in trail(app)


def test_the_trail_tells_who_did_what(app, ada):
    at_run(ada).send("/watch/phase", "paused", reason="a <b>holiday</b>")
    app.state.site.researcher_store.log("download", "by hand")
    page = ada.get("/watch/trail").text
    for words in ("set phase", "paused", "a &lt;b&gt;holiday", "Ada", "command line"):
        assert words in page


# Downloads.


@pytest.fixture
def judged(study, tmp_path) -> Study:
    write_simulated_study(
        tmp_path / "old", areas=study.folder / "areas.gpkg", comparisons=60, judges=4
    )
    import_file(study, study.store(), tmp_path / "old" / "comparisons.csv")
    return study


def test_tables_are_those_of_the_command(app, ada, judged, tmp_path):
    assert CliRunner().invoke(main, ["export", str(judged.folder), "--out", str(tmp_path / "x")])
    packed = zipfile.ZipFile(io.BytesIO(ada.get("/watch/download/export.zip").content))
    names = sorted(path.name for path in (tmp_path / "x").iterdir())
    assert sorted(packed.namelist()) == names
    assert len(names) == 7
    for name in names:
        expected = (tmp_path / "x" / name).read_bytes()
        answer = ada.get(f"/watch/download/{name}")
        assert answer.content == expected
        assert packed.read(name) == expected
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
        assert ("download", name) in trail(app)
    rows = list(csv.DictReader(io.StringIO(ada.get("/watch/download/comparisons.csv").text)))
    assert len(rows) == 60


@pytest.mark.parametrize("name", ["study.db", "secret", "..%2fsecret", "study.toml", "%00", "x"])
def test_nothing_else_is_downloaded(app, ada, judged, name):
    assert ada.get(f"/watch/download/{name}").status_code == 404
    assert "download" not in [what for what, _ in trail(app)]


def test_there_is_no_paper_before_it_is_made(ada):
    assert ada.get("/watch/download/briefing.pdf").status_code == 404
    assert "briefing.pdf" not in at_run(ada).answer.text


def patiently(sign: Callable[[], bool]) -> None:
    """Wait for a sign, with patience for a busy machine."""
    for _ in range(3000):
        if sign():
            return
        time.sleep(0.1)
    raise AssertionError("it never came")


def progress_told(ada: Visitor, steps: set[str]) -> str:
    """The page, and what it says of how far it is."""
    page = at_run(ada).answer.text
    steps.update(re.findall(r"Being made \(([^)]+)\)", page))
    return page


@pytest.mark.slow
def test_papers_are_made_by_a_process_and_downloaded(app, ada, judged):
    assert at_run(ada).send("/watch/papers").status_code == 200
    assert "Being made" in ada.answer.text
    assert '<noscript><meta http-equiv="refresh"' in ada.answer.text
    ada.post("/watch/papers", {"token": ada.token})  # again, meanwhile: no second one
    steps: set[str] = set()
    patiently(lambda: "Being made" not in progress_told(ada, steps))
    assert any(re.fullmatch(r"report: [a-z ]+, \d+ %", one) for one in steps), steps
    compared = sum(outcome != "skip" for outcome in outcomes(judged))
    assert f"From {compared} judgements, " in ada.answer.text
    assert 'class="fault"' not in ada.answer.text
    assert ada.get("/watch/download/briefing.pdf").content.startswith(b"%PDF-")
    report = ada.get("/watch/download/report.html")
    assert "Which is greener?" in report.text
    assert "attachment" in report.headers["content-disposition"]
    assert [what for what, _ in trail(app)].count("make report") == 1
    first = report_job.report_status(judged.store())
    facts = json.loads((judged.folder / "papers" / first.folder / "fit.json").read_text())
    assert facts["comparisons"] == first.comparisons


def test_a_failure_is_told_in_its_own_line(app, ada, study):
    at_run(ada).send("/watch/papers")
    patiently(lambda: "Being made" not in at_run(ada).answer.text)
    assert "There are no judgements yet; send judges their link first." in ada.answer.text
    assert not any((study.folder / "papers").glob("*"))


@pytest.mark.slow
def test_papers_find_a_database_elsewhere(study, postgresql, tmp_path, monkeypatch):
    (study.folder / "study.db").unlink()
    monkeypatch.setenv("TIEWISE_DATABASE_FILE", str(tmp_path / "where the site was started with"))
    store = study.store(postgresql())
    assert report_job.start_report(study, store)
    patiently(lambda: not report_job.report_status(store).running)
    assert "no judgements yet" in report_job.report_status(store).fault
    assert not (study.folder / "study.db").exists()


def test_only_one_making_at_a_time_over_all_processes(study):
    elsewhere = SnapshotStore(study.store())
    assert elsewhere.take_lease(report_job.TASK, "another process", report_job.LEASE_SECONDS)
    assert not report_job.start_report(study, study.store())
    assert report_job.report_status(study.store()).running


@pytest.mark.slow
def test_a_making_whose_site_goes_ends_with_it(judged):
    """Its standard input is all that ties it to the site."""
    store = judged.store()
    snapshots = SnapshotStore(store)
    assert snapshots.take_lease(report_job.TASK, "me", 600)
    address = store.engine.url.render_as_string(hide_password=False)
    process = subprocess.Popen(
        [sys.executable, "-m", "tiewise.web.researcher.report_job", str(judged.folder), "me"],
        env=os.environ | {report_job.DATABASE_VARIABLE: address}, stdin=subprocess.PIPE,
    )  # fmt: skip
    process.stdin.close()
    process.wait(300)
    assert snapshots.lease_holder(report_job.TASK) is None
    assert report_job.report_status(store).fault == report_job.INTERRUPTED
    assert report_job.report_status(store).made is None


def test_a_making_that_was_killed_is_told_as_cut_off(judged, monkeypatch):
    started = []
    real = subprocess.Popen
    monkeypatch.setattr(
        report_job.subprocess, "Popen", lambda *a, **k: started.append(real(*a, **k)) or started[-1]
    )
    monkeypatch.setattr(report_job, "LEASE_SECONDS", 0.5)
    store = judged.store()
    assert report_job.start_report(judged, store)
    started[0].send_signal(signal.SIGKILL)
    patiently(lambda: not report_job.report_status(store).running)
    assert report_job.report_status(store).fault == report_job.INTERRUPTED


@pytest.mark.parametrize(
    ("code", "lines", "output"),
    [
        (2, ["tiewise: note: slow", "tiewise: no such thing; try another"],
         "No such thing; try another."),
        (2, ["odd"], report_job.INTERNAL_ERROR),
        (1, ["Traceback", "tiewise: x"], report_job.INTERNAL_ERROR),
        (-9, [], report_job.INTERNAL_ERROR),
    ],
)  # fmt: skip
def test_a_complaint_is_the_commands_own(code, lines, output):
    assert report_job.error_sentence(code, lines) == output


# On the command line.


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def test_the_phase_is_told_and_set(study):
    assert run("phase", study.folder).stdout == "open\n"
    assert run("phase", study.folder, "closed", "--reason", "done").stdout == "closed\n"
    assert ResearcherStore(study.store()).phase() == Phase.CLOSED
    assert run("phase", study.folder, "ajar").exit_code == 2


def test_a_researcher_is_invited_by_command(study, app):
    output = run(
        "invite-researcher", study.folder, "--name", "Ada", "--url", "https://s.org/"
    ).stdout
    assert re.fullmatch(r"https://s\.org/sign-in/[0-9a-f]{32}\n", output)
    assert Visitor(app).get(output.strip().removeprefix("https://s.org")).status_code == 200
    assert run("invite-researcher", study.folder, "--name", " ").exit_code == 2


def test_judges_are_left_out_and_taken_back_by_command(judged):
    judge = sorted({row["judge"] for row in judged.store().rows()})[0]
    assert run("exclude", judged.folder, judge).exit_code == 2
    assert run("exclude", judged.folder, judge, "--reason", "always left").exit_code == 0
    quick = ("--engine", "laplace", "--draws", "100", "--no-report", "--seed", "1", "--json")
    fitted = run("fit", judged.folder, *quick)
    assert "Left out, as a researcher decided: 1 judge\n" in fitted.stderr
    assert json.loads(fitted.stdout)["judges"] == 3
    assert run("include", judged.folder, judge).exit_code == 0
    assert "Left out" not in run("fit", judged.folder, *quick, "--force").stderr
    refused = run("exclude", judged.folder, "nobody", "--reason", "x")
    assert (refused.exit_code, refused.stderr) == (
        2, "tiewise: there is no judge 'nobody' in this study\n",
    )  # fmt: skip


def test_a_token_is_made_by_command(study, app):
    token = run("api-token", study.folder, "--label", "R", "--days", "3").stdout.strip()
    answer = Visitor(app).get("/api/v1/study", headers={"authorization": f"Bearer {token}"})
    assert answer.json()["title"] == "Green wards"


def test_where_it_is_no_study_every_command_says_so(tmp_path):
    nowhere = Path(tmp_path, "nowhere")
    for words in (
        ("phase", nowhere), ("invite-researcher", nowhere, "--name", "x"),
        ("api-token", nowhere, "--label", "x"), ("exclude", nowhere, "j", "--reason", "x"),
        ("include", nowhere, "j"),
    ):  # fmt: skip
        refused = run(*words)
        assert refused.exit_code == 2
        assert "is no study" in refused.stderr
