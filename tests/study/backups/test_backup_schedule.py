"""Backups while a site runs: by one process of several, again and again, and failures are told."""

from __future__ import annotations

import logging
import subprocess
import threading
import time
from datetime import timedelta

import pytest

from support.everyday import everyday
from support.site import with_database
from tiewise.study.backups.backup import FOLDER_VARIABLE, KEY_FILE_VARIABLE, MOMENT
from tiewise.study.backups.schedule import (
    FAULT,
    SCHEDULE_VARIABLE,
    BackupSchedule,
    BackupScheduler,
    backup_schedule,
    backup_status,
    start_backups,
)
from tiewise.study.connection import now
from tiewise.study.create import create_study
from tiewise.study.judge_store import JudgeStore
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study

HOURLY = BackupSchedule(3600, 2)


@pytest.fixture
def study(tmp_path) -> Study:
    (tmp_path / "items.csv").write_text("name\nRed\nBlue\n", encoding="utf-8")
    study = create_study(tmp_path / "posters", question="Which?", items=tmp_path / "items.csv")
    return with_database(study)


@pytest.fixture(params=everyday(["sqlite", "postgresql"], "sqlite"))
def url(request) -> str | None:
    return None if request.param == "sqlite" else request.getfixturevalue("postgresql")()


class Commands:
    """Stands in for `tiewise backup`: a script of the shell, and how often it was started."""

    def __init__(self, monkeypatch, script: str) -> None:
        self.script, self.children = script, list[subprocess.Popen[bytes]]()
        monkeypatch.setattr(BackupScheduler, "_start", lambda _, errors: self.start(errors))

    def start(self, errors: int) -> subprocess.Popen[bytes]:
        self.children.append(subprocess.Popen(["sh", "-c", self.script], stderr=errors))
        return self.children[-1]


def archive(study: Study, age: float = 0) -> str:
    """The path of a backup of that age, in seconds."""
    folder = study.folder / "backups"
    folder.mkdir(exist_ok=True)
    return f"{folder}/posters-{(now() - timedelta(seconds=age)).strftime(MOMENT)}.tar.gz"


def test_one_of_several_processes_makes_the_backup(study, url, monkeypatch):
    """All of them find that it is time at the same moment."""
    commands = Commands(monkeypatch, f"sleep 0.3; touch '{archive(study)}'")
    stores = [study.store(url) for _ in range(4)]
    schedulers = [BackupScheduler(study.folder, store, HOURLY) for store in stores]
    threads = [threading.Thread(target=one._look) for one in schedulers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(commands.children) == 1
    for one in schedulers:
        one._look()  # it is not time any more
    assert len(commands.children) == 1
    assert SnapshotStore(stores[0]).lease_holder("backup") is None
    for store in stores:
        store.close()


@pytest.mark.parametrize(("age", "made"), [(3500, 0), (3700, 1)])
def test_a_site_that_is_started_again_goes_by_the_last_backup(study, monkeypatch, age, made):
    commands = Commands(monkeypatch, "true")
    (study.folder / "backups").mkdir()
    open_archive = archive(study, age)
    subprocess.run(["touch", open_archive], check=True)
    store = study.store()
    BackupScheduler(study.folder, store, HOURLY)._look()
    store.close()
    assert len(commands.children) == made


def test_a_backup_that_fails_is_told_once_a_minute_until_one_succeeds(study, monkeypatch, caplog):
    commands = Commands(monkeypatch, "echo 'tiewise: the disk is full' >&2; exit 2")
    store = study.store()
    scheduler = BackupScheduler(study.folder, store, HOURLY)
    with caplog.at_level(logging.WARNING, "tiewise"):
        scheduler._look()
        scheduler._look()  # too soon
    assert len(commands.children) == 1
    (record,) = caplog.records
    assert record.getMessage() == "No backup of posters was made: the disk is full"
    assert backup_status(study.folder, store, HOURLY).fault == "the disk is full"
    commands.script = f"touch '{archive(study)}'"
    scheduler._retry_after = now()
    scheduler._look()
    status = backup_status(study.folder, store, HOURLY)
    assert status.fault == ""
    assert now() - status.last < timedelta(seconds=30)
    store.close()


def test_a_site_that_stops_gives_the_backup_up(study, monkeypatch):
    commands = Commands(monkeypatch, "exec sleep 60")
    store = study.store()
    scheduler = BackupScheduler(study.folder, store, BackupSchedule(1))
    scheduler.start()
    end = time.monotonic() + 20
    while not commands.children and time.monotonic() < end:
        time.sleep(0.02)
    scheduler.stop()
    (child,) = commands.children
    assert child.poll() is not None
    assert SnapshotStore(store).lease_holder("backup") is None
    assert SnapshotStore(store).current(FAULT) is None
    store.close()


def test_nothing_is_backed_up_unless_that_was_asked_for(study, monkeypatch):
    for variable in (SCHEDULE_VARIABLE, KEY_FILE_VARIABLE, FOLDER_VARIABLE):
        monkeypatch.setenv(variable, "")  # put back afterwards
    assert backup_schedule() is None
    assert start_backups(study.folder, _no_store()) is None
    schedule = BackupSchedule(3600, 48, "/key", "/into")
    schedule.export()
    assert backup_schedule() == schedule


def _no_store() -> JudgeStore:
    return object()  # type: ignore[return-value]


@pytest.mark.slow
def test_the_command_that_it_starts_makes_the_backup(study, url, tmp_path, monkeypatch):
    """With the address in the environment, and no password in the list of processes."""
    monkeypatch.delenv("TIEWISE_DATABASE", raising=False)
    store = study.store(url)
    scheduler = BackupScheduler(study.folder, store, HOURLY._replace(into=str(tmp_path / "x")))
    scheduler._look()
    assert backup_status(study.folder, store, scheduler._schedule).fault == ""
    assert len(list((tmp_path / "x").iterdir())) == 1
    broken = scheduler._schedule._replace(key_file=str(tmp_path / "none"), into=None)
    BackupScheduler(study.folder, store, broken)._look()
    assert "the key cannot be read" in backup_status(study.folder, store, broken).fault
    store.close()
