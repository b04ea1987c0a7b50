"""Retention: reminders of the day until which data may be kept, and the erasure itself."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import event, text

from support.site import copy_study, edited, with_an_image, with_database
from tiewise.errors import InputError, InputWarning
from tiewise.study.backups.backup import make_backup
from tiewise.study.checks.check import check_study
from tiewise.study.connection import now
from tiewise.study.export import export
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.retention.erase import erase_study
from tiewise.study.retention.reminder import erased_at, reminder
from tiewise.study.schema import metadata
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study, next_offer
from tiewise.study.values import Phase

ROLE = '\n[[judges.fields]]\nname = "role"\nlabel = "Role"\n'
DAY = date(2027, 1, 31)
SENTENCE = 'kept = "Answers are kept for two years after the study closes."'


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("template")
    rows = "item,name,description,image\na,Red,an essay by Eve,red.svg\nb,Blue,,\nc,Green,,\n"
    study = with_an_image(place, rows, "Which?")
    return with_database(edited(study, {SENTENCE: f"{SENTENCE}\nkept_until = {DAY}"}, ROLE))


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "essays")


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, study) -> JudgeStore:
    url = None if request.param == "sqlite" else request.getfixturevalue("postgresql")()
    opened = study.store(url)
    yield opened
    opened.close()


def judged(study: Study, store: JudgeStore):
    judge = store.add_judge(consent="1", language="en", about={"role": "midwife-4711"}).judge
    for _ in range(2):
        offer = next_offer(study, store, judge, np.random.default_rng(3))
        assert store.answer(judge, offer.id, 1)
    return judge


# Reminders.


@pytest.mark.parametrize(
    ("days", "words", "overdue"),
    [
        (-31, None, False),
        (-30, "may be kept until 2027-01-31, in 30 days", False),
        (-1, "in 1 day;", False),
        (0, "2027-01-31, today", False),
        (1, "were to be erased by 2027-01-31, 1 day ago, and are still here", True),
        (400, "400 days ago", True),
    ],
)
def test_there_is_a_reminder_before_the_day_and_after_it(study, days, words, overdue):
    store = study.store()
    due = reminder(study.settings, store, DAY + timedelta(days=days))
    assert due is None  # there is nobody yet whose answers could be erased
    judged(study, store)
    due = reminder(study.settings, store, DAY + timedelta(days=days))
    store.close()
    if words is None:
        assert due is None
    else:
        assert words in due.text
        assert due.overdue == overdue


def test_who_promised_nothing_is_reminded_of_nothing(study):
    plain = edited(study, {f"kept_until = {DAY}": ""})
    store = plain.store()
    judged(plain, store)
    assert reminder(plain.settings, store, DAY + timedelta(days=999)) is None
    store.close()


def test_check_reminds_before_the_day_and_refuses_after_it(study):
    today = now().date()
    store = study.store()
    judged(study, store)
    soon = edited(study, {f"kept_until = {DAY}": f"kept_until = {today + timedelta(days=5)}"})
    with pytest.warns(InputWarning, match="study.kept_until: .*in 5 days.* `tiewise erase"):
        assert check_study(soon.folder) == []
    was = today + timedelta(days=5)
    late = edited(soon, {f"kept_until = {was}": f"kept_until = {today - timedelta(days=2)}"})
    (fault,) = check_study(late.folder)
    assert fault.startswith("study.kept_until: ")
    assert "2 days ago" in fault
    assert "tiewise erase" in fault
    ResearcherStore(store).set_phase(Phase.CLOSED)
    erase_study(late, store)
    store.close()
    assert check_study(late.folder) == []


@pytest.mark.parametrize("wrong", ['"2027-01-31"', "2027", "2027-01-31T10:00:00", "true"])
def test_what_is_no_day_is_named_with_its_key(study, wrong):
    path = study.folder / "study.toml"
    path.write_text(
        path.read_text(encoding="utf-8").replace(f"= {DAY}", f"= {wrong}"), encoding="utf-8"
    )
    with pytest.raises(InputError, match="study.kept_until: a day such as 2027-01-31"):
        Study.open(study.folder)


# Erasing.


def everything(store: JudgeStore) -> str:
    """Every cell of every table that the database has, whoever added it."""
    with store.reading() as connection:
        return "\n".join(
            str(row)
            for table in metadata.sorted_tables
            for row in connection.execute(text(f'SELECT * FROM "{table.name}"'))
        )


def test_nothing_of_judges_is_left_in_any_table(study, store):
    """Not their ids, what they said, the remarks about them, nor what was made of their answers."""
    researchers, snapshots = ResearcherStore(store), SnapshotStore(store)
    ada = researchers.add_researcher("Ada")
    judges = [judged(study, store) for _ in range(3)]
    store.undo(judges[0])
    store.withdraw(judges[1], judgements_too=True)
    researchers.exclude(judges[2].id, "sounds drunk", by=ada)
    store.invite(3)
    snapshots.take_lease("live", "me", 60)
    figures = {"by": judges[0].id.encode()}
    assert snapshots.add(
        {"x": 1}, pulse=snapshots.pulse(), comparisons=2, seconds=0, holder="me", current=figures
    )
    snapshots.set_current("papers", b"{}")
    for word in (judges[0].id, "midwife-4711", "sounds drunk"):
        assert word in everything(store)
    researchers.set_phase(Phase.CLOSED)
    done = erase_study(study, store, by=ada)
    assert (done.judges, done.judgements) == (2, 4)
    left = everything(store)
    for word in (judges[0].id, judges[2].id, "midwife-4711", "sounds drunk"):
        assert word not in left
    # That judge 1 withdrew, when, and how many judgements went is the record of it.
    assert [row["judge"] for row in store.erasures()] == [judges[1].id, "*"]
    assert snapshots.last() is None
    assert snapshots.current("papers") is not None
    action = next(researchers.audit_log())
    assert (action["name"], action["what"]) == ("Ada", "erase study")
    assert action["about"] == "2 judges, 4 judgements"
    assert erased_at(store) is not None
    assert reminder(study.settings, store, DAY + timedelta(days=9)) is None


def test_the_files_of_an_sqlite_database_do_not_remember(study):
    """Not in unused pages of the file, nor in the log beside it, while another has it open."""
    store, other = study.store(), study.store()
    # Debian's SQLite overwrites what it deletes; others leave it in unused pages.
    event.listen(store.engine, "connect", lambda of, _: of.execute("PRAGMA secure_delete=OFF"))
    store.engine.dispose()
    judges = [judged(study, store) for _ in range(40)]
    list(other.rows())
    ResearcherStore(store).set_phase(Phase.CLOSED)
    places = sorted(study.folder.glob("study.db*"))
    words = [b"midwife-4711", judges[0].id.encode()]
    assert all(any(word in path.read_bytes() for path in places) for word in words)
    erase_study(study, store)
    for path in sorted(study.folder.glob("study.db*")):
        assert not any(word in path.read_bytes() for word in words), path
    other.close()
    store.close()


def test_files_of_items_and_copies_of_answers_go_and_the_rest_stays(study, tmp_path):
    store = study.store()
    judged(study, store)
    export(study, store, study.folder / "export")
    make_backup(study.folder, store.engine.url, key=None)
    make_backup(study.folder, store.engine.url, key=None, into=tmp_path / "elsewhere")
    for name in (
        "backups/study-2026-01-01T000000Z.db", "results/posterior.nc", "results/judge-terms.csv",
        "results/report.html", "results/items.csv", "papers/1/posterior.nc",
        "papers/1/briefing.pdf", "export/mine.csv", "notes.txt",
    ):  # fmt: skip
        path = study.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")
    ResearcherStore(store).set_phase(Phase.CLOSED)
    erase_study(study, store, backups=tmp_path / "elsewhere")
    store.close()
    left = {
        path.relative_to(study.folder).as_posix()
        for path in study.folder.rglob("*")
        if path.is_file() and not path.name.startswith("study.db")
    }
    assert left == {
        "study.toml", "items.csv", "results/report.html", "results/items.csv",
        "papers/1/briefing.pdf", "export/mine.csv", "export/items.csv", "notes.txt",
    }  # fmt: skip
    assert not list(Path(tmp_path / "elsewhere").glob("*"))
    again = Study.open(study.folder)
    assert [(item.id, item.name) for item in again.items.values()] == [
        ("a", "Red"), ("b", "Blue"), ("c", "Green"),
    ]  # fmt: skip
    table = (study.folder / "items.csv").read_text(encoding="utf-8")
    assert "Eve" not in table
    assert "red.svg" not in table


def test_a_study_that_is_not_closed_is_not_erased(study):
    store = study.store()
    judged(study, store)
    for phase in (Phase.OPEN, Phase.PAUSED):
        ResearcherStore(store).set_phase(phase)
        with pytest.raises(InputError, match="the study is not closed; close it first"):
            erase_study(study, store)
    assert len(list(store.rows())) == 2
    assert (study.folder / "images" / "red.svg").is_file()
    store.close()


def test_a_fit_that_was_under_way_meanwhile_is_not_kept(study):
    """It is of judgements that are no more."""
    store = study.store()
    judged(study, store)
    snapshots = SnapshotStore(store)
    snapshots.take_lease("live", "me", 60)
    pulse = snapshots.pulse()
    ResearcherStore(store).set_phase(Phase.CLOSED)
    erase_study(study, store)
    made = {"comparisons": 2, "seconds": 0.0, "holder": "me"}
    assert not snapshots.add({"x": 1}, pulse=pulse, **made)
    assert snapshots.last() is None
    assert snapshots.add({"x": 1}, pulse=snapshots.pulse(), **made)
    store.close()


def test_erasing_twice_is_as_good_as_once(study):
    store = study.store()
    judged(study, store)
    ResearcherStore(store).set_phase(Phase.CLOSED)
    erase_study(study, store)
    done = erase_study(Study.open(study.folder), store)
    assert (done.judges, done.judgements, done.files) == (0, 0, ())
    store.close()
    with closing(sqlite3.connect(study.folder / "study.db")) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
