"""A study that cannot go on: judges are told what became of their answer, the log gets one line."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError, OperationalError

from support.form_browser import Visitor
from support.site import copy_study, edited, free_port, with_database
from tiewise.study.create import create_study
from tiewise.study.outage import DISK_FULL, StudyGone, outage_reason
from tiewise.study.study import Study
from tiewise.web.app import make_app
from tiewise.web.multi_study import still_there
from tiewise.web.server import open_site
from tiewise.web.serving.outages import LOG_SECONDS, OutageMonitor
from tiewise.web.words.language import language

ARABIC = {"Accept-Language": "ar"}


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("template")
    (place / "items.csv").write_text("name\na\nb\nc\nd\n", encoding="utf-8")
    made = create_study(place / "study", question="Which?", items=place / "items.csv")
    swaps = {
        'languages = ["en"]': 'languages = ["en", "ar"]',
        "accept_unread = []": 'accept_unread = ["ar"]',
    }
    return with_database(edited(made, swaps))


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "wards")


@pytest.fixture
def home(template, tmp_path) -> Path:
    for name in ("green", "blue"):
        copy_study(template, tmp_path / "home" / name)
    return tmp_path / "home"


@pytest.fixture
def lines(caplog) -> Callable[[], list[str]]:
    """What our own log says, one entry for each record; a traceback makes it longer than a line."""
    caplog.set_level(logging.WARNING)

    def read() -> list[str]:
        return [caplog.handler.format(record) for record in caplog.records]

    return read


def app_of(study: Study, database: str | None = None) -> Any:
    return make_app(study, study.store(database), secret="k" * 40)


# The folder is gone.


class Below(Visitor):
    """A visitor of one of several studies."""

    def __init__(self, app: Any, name: str) -> None:
        super().__init__(app)
        self.name = name

    def get(self, path: str, **more: Any) -> Any:
        return super().get(f"/{self.name}{path}", **more)

    def begin(self) -> Below:
        self.get("/begin")
        self.send(f"/{self.name}/begin", consent="1")
        assert self.path == f"/{self.name}/pair"
        return self


def test_of_two_studies_the_one_that_is_deleted_stops_and_the_other_goes_on(home, lines):
    """Before, its answers were acknowledged and lost, and nobody was told."""
    app = open_site(home)
    green, blue = Below(app, "green").begin(), Below(app, "blue").begin()
    fields = {"token": green.token, "offer": green.hidden("offer"), "outcome": "left"}
    shutil.rmtree(home / "green")
    for _ in range(3):
        answer = green.post("/green/answer", fields)
        assert answer.status_code == 503
        assert "This study has stopped" in answer.text
        assert "was not kept" in answer.text
        assert "Go on" not in answer.text
        green.get("/begin")
        assert green.answer.status_code == 503
    assert (
        language("ar").translate("problem.503_stopped_title") in green.get("/", headers=ARABIC).text
    )
    for _ in range(3):
        blue.send("/blue/answer", "left")
        assert blue.answer.status_code == 200
    assert len(list(Study.open(home / "blue").store().rows())) == 3
    (line,) = lines()
    assert f"Study green stops: {home / 'green'} was deleted, moved or replaced." in line
    assert "\n" not in line


def test_health_is_that_of_the_studies_which_go_on(home):
    app = open_site(home)
    shutil.rmtree(home / "green")
    site = Visitor(app)
    assert site.get("/health/ready").status_code == 200
    assert site.get("/blue/health/ready").status_code == 200
    assert site.get("/green/health/ready").status_code == 503
    shutil.rmtree(home / "blue")
    assert site.get("/health/live").status_code == 200
    for name in ("green", "blue"):
        assert site.get(f"/{name}/").status_code == 503


def test_styles_are_there_for_the_last_page(study):
    app = app_of(study)
    style = app.state.site.asset_url("site.css")
    shutil.rmtree(study.folder)
    assert Visitor(app).get(style).status_code == 200


def test_programs_and_researchers_are_told_too(study):
    visitor = Visitor(app_of(study)).sign_in()
    shutil.rmtree(study.folder)
    assert visitor.get("/watch").status_code == 503
    assert "This study has stopped" in visitor.answer.text
    answer = visitor.get("/api/v1/study")
    assert (answer.status_code, answer.json()["status"]) == (503, 503)


def test_on_a_server_the_folder_counts_as_well(study, postgresql):
    """Its settings, items and key are in the folder, wherever the answers are."""
    visitor = Visitor(app_of(study, postgresql())).join()
    shutil.rmtree(study.folder)
    visitor.judge("left")
    assert visitor.answer.status_code == 503


def replace_folder(folder: Path) -> None:
    """As `cp -r`, with all that is in it, but not the same."""
    shutil.copytree(folder, folder.with_name("copy"))
    shutil.rmtree(folder)
    folder.with_name("copy").rename(folder)


def replace_database(folder: Path) -> None:
    (folder / "study.db").rename(folder / "old.db")
    shutil.copy(folder / "old.db", folder / "study.db")


@pytest.mark.parametrize("change", [replace_folder, replace_database])
def test_another_study_in_its_place_is_not_taken_for_it(study, change, lines):
    """Answers would go to a file that nobody sees any more."""
    visitor = Visitor(app_of(study)).join()
    change(study.folder)
    visitor.judge("left")
    assert visitor.answer.status_code == 503
    assert list(Study.open(study.folder).store().rows()) == []
    assert len(lines()) == 1


def test_what_was_written_to_a_deleted_file_is_not_acknowledged(study):
    """Deleted between the check and the commit."""
    store = study.store()
    with pytest.raises(StudyGone), store.writing():
        shutil.rmtree(study.folder)


def test_a_settings_file_that_an_editor_replaced_is_no_reason_to_stop(study):
    visitor = Visitor(app_of(study)).join()
    settings = study.folder / "study.toml"
    text = settings.read_text(encoding="utf-8")
    settings.unlink()
    settings.write_text(text, encoding="utf-8")
    visitor.judge("left")
    assert visitor.answer.status_code == 200


def test_a_worker_that_starts_later_leaves_out_what_is_gone(home, lines):
    paths = {name: str(home / name) for name in ("green", "blue")}
    assert still_there(paths) == paths
    shutil.rmtree(home / "green")
    assert still_there(paths) == {"blue": paths["blue"]}
    assert len(lines()) == 1
    shutil.rmtree(home / "blue")
    assert still_there(paths) == paths  # none is left: the worker says so and ends


# The disk is full.


def full_disk() -> OperationalError:
    """What SQLite says of a database that may not grow."""
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE filled (value)")
        database.execute("PRAGMA max_page_count = 2")
        with pytest.raises(sqlite3.OperationalError) as caught:
            database.execute("INSERT INTO filled VALUES (zeroblob(100000))")
    return OperationalError("INSERT", {}, caught.value)


@pytest.fixture
def fill(monkeypatch) -> Callable[[Any], None]:
    """Fills the disk of a site: whatever is written fails at its commit."""

    def fill_disk(app: Any) -> None:
        store = app.state.site.store
        write = store.writing

        @contextmanager
        def failing() -> Iterator[Any]:
            with write() as connection:
                yield connection
                raise full_disk()

        monkeypatch.setattr(store, "writing", failing)

    return fill_disk


@pytest.mark.parametrize("code", ["en", "ar"])
def test_a_judge_is_told_that_the_answer_was_not_kept(study, fill, lines, code):
    app = app_of(study)
    visitor = Visitor(app)
    visitor.client.headers["accept-language"] = code
    visitor.join()
    names = visitor.names()
    pair = visitor.answer
    fill(app)
    for _ in range(5):
        visitor.answer = pair
        visitor.judge("left")
        assert visitor.answer.status_code == 503
        assert visitor.answer.headers["retry-after"] == "60"
        for part in ("title", "text"):
            words = language(code).translate(f"problem.503_answer_{part}")
            assert words in visitor.answer.text
    (line,) = lines()
    assert line.endswith("Study wards cannot use its database: the disk is full (failures: 1)")
    visitor.get("/pair")
    assert visitor.names() == names  # asked again
    assert list(study.store().rows()) == []


def test_other_forms_and_pages_say_what_is_true_of_them(study, fill):
    app = app_of(study)
    visitor = Visitor(app).join()
    visitor.judge("left")
    visitor.get("/withdraw")
    fill(app)
    visitor.send("/withdraw", erase="all")
    assert "What you sent was not kept" in visitor.answer.text
    stranger = Visitor(app)
    stranger.get("/begin")
    stranger.send("/begin", consent="1")
    assert stranger.answer.status_code == 503
    # A page that wants to store something: the answer before it was kept.
    app.state.site.store.engine.dispose()
    with study.store().writing() as connection:
        connection.exec_driver_sql("UPDATE offers SET closed = shown")
    visitor.get("/pair")
    assert visitor.answer.status_code == 503
    assert "This does not work at the moment" in visitor.answer.text
    assert "not kept" not in visitor.answer.text


def test_a_full_disk_is_told_again_each_minute_with_how_often_it_failed(study, lines):
    moment = [0.0]
    monitor = OutageMonitor(study.folder, clock=lambda: moment[0])
    for _ in range(100):
        monitor.report(full_disk())
    assert len(lines()) == 1
    moment[0] = LOG_SECONDS
    monitor.report(full_disk())
    assert len(lines()) == 2
    assert lines()[1].endswith("(failures: 100)")


def test_after_a_lost_connection_nobody_claims_to_know(study, postgresql, monkeypatch):
    app = app_of(study, postgresql())
    visitor = Visitor(app).join()
    lost = OperationalError("COMMIT", {}, Exception("gone"), connection_invalidated=True)

    def lose(*_: object, **__: object) -> None:
        raise lost

    monkeypatch.setattr(app.state.site.store, "answer_questions", lose)
    visitor.judge("left")
    assert visitor.answer.status_code == 503
    assert "may not have been kept" in visitor.answer.text


def test_faults_of_ours_are_not_called_outages(study, monkeypatch):
    app = app_of(study)
    visitor = Visitor(app).join()
    fault = IntegrityError("INSERT", {}, sqlite3.IntegrityError("UNIQUE constraint failed"))

    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr(app.state.site.store, "answer_questions", fail)
    visitor.judge("left")
    assert visitor.answer.status_code == 500
    assert outage_reason(fault) is None


def test_a_full_disk_of_postgresql_is_known(study):
    import psycopg

    error = OperationalError("INSERT", {}, psycopg.errors.DiskFull("could not extend file"))
    assert outage_reason(error) == DISK_FULL
    assert outage_reason(full_disk()) == DISK_FULL


# On a real server.


@contextmanager
def served(folder: Path, log: Path) -> Iterator[str]:
    """`tiewise serve`, its log in a file: what it says of an outage may be long."""
    port = free_port()
    words = [sys.executable, "-m", "tiewise.cli.main", "serve", str(folder), "--port", str(port)]
    with log.open("w") as file:
        server = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{url}/health/live", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait(30)


def after_greeting(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8").partition("Stop with Ctrl-C.\n")[2].splitlines()


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def can_write(url: str) -> bool:
    """Whether the site says that it can store something; on a small disk it is not well anyway."""
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{url}/health", timeout=10)
    return bool(json.load(caught.value)["checks"]["database"]["well"])


@pytest.mark.slow
def test_with_its_live_worker_a_deleted_study_makes_one_line(home, tmp_path):
    with served(home, tmp_path / "log") as url:
        time.sleep(2)  # the live workers are at work
        shutil.rmtree(home / "green")
        time.sleep(3)  # the supervisor and its worker notice by themselves
        assert (status(f"{url}/green/"), status(f"{url}/blue/")) == (503, 200)
    (line,) = after_greeting(tmp_path / "log")
    assert "Study green stops" in line


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A disk of two mebibytes."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(words, capture_output=True).returncode:
        pytest.skip("only root can mount a disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.slow
@pytest.mark.thorough
def test_a_disk_that_is_really_full_makes_one_line(template, small_disk, tmp_path):
    study = copy_study(template, small_disk / "wards")
    with served(study.folder, tmp_path / "log") as url:
        time.sleep(2)
        ballast = os.open(small_disk / "ballast", os.O_CREAT | os.O_WRONLY)
        with suppress(OSError):
            while True:
                os.write(ballast, bytes(4096))
        os.close(ballast)
        time.sleep(4)
        assert status(f"{url}/") == 200
        assert not can_write(url)
        (small_disk / "ballast").unlink()
        time.sleep(1.5)
        assert can_write(url)
    (line,) = after_greeting(tmp_path / "log")
    assert "the disk is full" in line
