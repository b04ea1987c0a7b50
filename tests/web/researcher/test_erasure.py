"""The page that erases a study: reminders, who may, what it asks, and what judges read of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from support.form_browser import Visitor
from support.item_files import sound, write
from support.site import copy_study, edited, with_an_image, with_database
from tiewise.study.backups.backup import FOLDER_VARIABLE, KEY_FILE_VARIABLE, make_backup
from tiewise.study.backups.schedule import SCHEDULE_VARIABLE, BackupSchedule
from tiewise.study.connection import now
from tiewise.study.create import create_study
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.retention.erase import erase_study
from tiewise.study.study import Study
from tiewise.study.values import Phase
from tiewise.web.app import make_app
from tiewise.web.security import RateLimit, RateLimits

PASSWORD = "correct horse battery"
SENTENCE = 'kept = "Answers are kept for two years after the study closes."'


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("template")
    rows = "name,image\nRed,red.svg\nBlue,\nGreen,\n"
    study = with_an_image(place, rows, "Which is clearer?")
    return with_database(edited(study, {'languages = ["en"]': 'languages = ["en", "ar"]'}))


@pytest.fixture
def made(template, tmp_path):
    """Makes the app of the study, to be erased so many days from now."""

    def make(days: int | None = None, **limits: Any):
        study = copy_study(template, tmp_path / "posters")
        if days is not None:
            day = now().date() + timedelta(days=days)
            study = edited(study, {SENTENCE: f"{SENTENCE}\nkept_until = {day}"})
        return make_app(study, study.store(), secret="s" * 40, limits=RateLimits(**limits))

    return make


def put_back(monkeypatch) -> None:
    """Have what an exported schedule leaves in the environment go after the test."""
    for variable in (SCHEDULE_VARIABLE, KEY_FILE_VARIABLE, FOLDER_VARIABLE):
        monkeypatch.setenv(variable, "")


def judged(app) -> Visitor:
    judge = Visitor(app).join()
    judge.get("/pair")
    judge.judge("left")
    return judge


def close(app) -> None:
    app.state.site.researcher_store.set_phase(Phase.CLOSED)
    app.state.site.phase_cache.invalidate()


def answers(app) -> int:
    return len(list(app.state.site.store.rows()))


@pytest.mark.parametrize(
    ("days", "words"),
    [
        (None, ""),
        (90, ""),
        (12, "in 12 days; they were promised to be erased by then."),
        (-3, "3 days ago, and are still here."),
    ],
)
def test_the_dashboard_reminds_before_the_day_and_after_it(made, days, words):
    app = made(days)
    who = Visitor(app).sign_in()
    assert "erased by" not in who.get("/watch").text  # nobody has judged yet
    judged(app)
    for path in ("/watch", "/watch/run", "/watch/erase"):
        page = who.get(path).text
        assert words in page
        assert bool(words) == ("erased by" in page)


def test_judges_read_the_day_in_their_language(made):
    app = made(12)
    day = (now().date() + timedelta(days=12)).isoformat()
    for path in ("/privacy", "/begin"):
        english = Visitor(app).get(path).text
        arabic = Visitor(app).get(path, headers={"accept-language": "ar"}).text
        # Isolated: otherwise an Arabic line would show the day in the wrong order.
        assert f"are erased by \u2066{day}\u2069." in english
        assert f"بحلول \u2066{day}\u2069." in arabic


def test_one_button_erases_what_was_promised_and_says_who_did(made, tmp_path, monkeypatch):
    app = made(-1)
    judge, site = judged(app), app.state.site
    who = Visitor(app).sign_in(password=PASSWORD)
    elsewhere = tmp_path / "elsewhere"
    schedule = BackupSchedule(3600, 48, None, str(elsewhere))
    put_back(monkeypatch)
    schedule.export()
    make_backup(site.study.folder, site.store.engine.url, key=None, into=elsewhere)
    assert "48 backups are kept" in who.get("/watch/run").text
    close(app)
    who.get("/watch/erase")
    who.send("/watch/erase", confirm=" Erase ", password=PASSWORD)
    assert who.path == "/watch/run"
    assert "The answers are erased" in who.answer.text
    assert answers(app) == 0
    assert not (site.study.folder / "images").exists()
    assert list(elsewhere.iterdir()) == []
    trail = who.get("/watch/trail").text
    assert "erase study" in trail
    assert "1 judge, 1 judgement" in trail
    assert "Nothing of judges is here now." in who.get("/watch/erase").text
    for path in ("/watch", "/watch/items", "/watch/judges", "/watch/history", "/watch/run"):
        assert who.get(path).status_code == 200, path
    assert judge.get("/pair").status_code == 200
    assert judge.path == "/"
    assert who.get("/image/1").status_code == 404


def test_what_was_erased_is_not_shown_from_memory(tmp_path):
    """A site that has read essays, descriptions and transcripts shows none of them afterwards."""
    rows = (
        "item,name,file,description,transcript\na,A,a.txt,SECRET words,\nb,B,b.wav,,SECRET talk\n"
    )
    files = {"items.csv": rows, "a.txt": "SECRET essay", "b.wav": sound(1)}
    study = create_study(tmp_path / "s", question="Which?", items=write(tmp_path / "in", files))
    app = make_app(study, study.store(), secret="s" * 40)
    judge, who = Visitor(app).join(), Visitor(app).sign_in(password=PASSWORD)
    assert judge.answer.text.count("SECRET") == 3
    pages = ("/watch/items/0", "/watch/items/1", "/watch/download/items.csv")
    assert [who.get(page).text.count("SECRET") for page in pages] == [2, 1, 2]
    close(app)
    erase_study(study, app.state.site.store)  # by another process
    app.state.site.erasure_watch.invalidate()  # or a second later
    assert [(who.get(page).status_code, "SECRET" in who.answer.text) for page in pages] == [
        (200, False)
    ] * 3
    assert "A" in who.get("/watch/items/0").text
    app.state.site.researcher_store.set_phase(Phase.OPEN)
    app.state.site.phase_cache.invalidate()
    assert "SECRET" not in Visitor(app).join().answer.text


def test_a_study_that_is_filled_again_after_an_erasure_is_shown(tmp_path):
    rows = "item,name,description\na,A,Old words\nb,B,Old words\n"
    made = create_study(
        tmp_path / "s",
        question="Which?",
        items=write(tmp_path / "in", {"items.csv": rows}) / "items.csv",
    )
    store = made.store()
    ResearcherStore(store).set_phase(Phase.CLOSED)
    erase_study(made, store)
    (made.folder / "items.csv").write_text(rows.replace("Old", "New"), encoding="utf-8")
    app = make_app(Study.open(made.folder), store, secret="s" * 40)
    assert "New words" in Visitor(app).sign_in().get("/watch/items/0").text


@pytest.mark.parametrize(
    ("form", "status", "words"),
    [
        ({"confirm": "", "password": PASSWORD}, 422, "Type the word erase to confirm."),
        ({"confirm": "yes", "password": PASSWORD}, 422, "Type the word erase to confirm."),
        ({"confirm": "erase", "password": ""}, 403, "This is not your password."),
        ({"confirm": "erase", "password": "wrong"}, 403, "This is not your password."),
    ],
)
def test_without_the_word_and_the_password_nothing_is_erased(made, form, status, words):
    app = made()
    judged(app)
    who = Visitor(app).sign_in(password=PASSWORD)
    close(app)
    who.get("/watch/erase")
    answer = who.send("/watch/erase", **form)
    assert answer.status_code == status
    assert words in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert answers(app) == 1


def test_a_study_that_is_open_is_not_erased_and_its_form_is_not_shown(made):
    app = made()
    judged(app)
    who = Visitor(app).sign_in(password=PASSWORD)
    page = who.get("/watch/erase").text
    assert "The study is not closed." in page
    assert 'name="confirm"' not in page
    form = {"token": who.token, "confirm": "erase", "password": PASSWORD}
    assert who.post("/watch/erase", form).status_code == 409
    assert answers(app) == 1


def test_who_has_no_password_of_their_own_may_not(made):
    """Whoever came with a one-time link, or sits at a screen left open, proves nothing."""
    app = made()
    judged(app)
    close(app)
    who = Visitor(app).sign_in()
    assert "you need a password of your own" in who.get("/watch/erase").text
    form = {"token": who.token, "confirm": "erase", "password": ""}
    assert who.post("/watch/erase", form).status_code == 409
    assert answers(app) == 1


def test_passwords_cannot_be_tried_there_without_end(made):
    app = made(sign_ins=RateLimit(3, 600))
    judged(app)
    who = Visitor(app).sign_in(password=PASSWORD)
    close(app)
    who.get("/watch/erase")
    form = {"token": who.token, "confirm": "erase", "password": "wrong"}
    assert [who.post("/watch/erase", form).status_code for _ in range(4)] == [403, 403, 403, 429]
    assert "Wait 10 minutes" in who.answer.text
    assert who.post("/watch/erase", form | {"password": PASSWORD}).status_code == 429
    assert answers(app) == 1


def test_the_page_run_tells_of_backups_that_fail(made, monkeypatch):
    app = made()
    who = Visitor(app).sign_in()
    assert "ackup" not in who.get("/watch/run").text.split("How long answers are kept")[1]
    put_back(monkeypatch)
    BackupSchedule(3600).export()
    assert "No backup yet; 48 backups are kept." in who.get("/watch/run").text
    from tiewise.study.backups.schedule import FAULT
    from tiewise.study.snapshot_store import SnapshotStore

    SnapshotStore(app.state.site.store).set_current(FAULT, b"pg_dump is not installed here")
    page = who.get("/watch/run").text
    assert "The last backup failed: pg_dump is not installed here" in page
