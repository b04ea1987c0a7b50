"""Backups while a site runs: one process of it makes them, each as a command of its own."""

from __future__ import annotations

import json
import logging
import os
import secrets
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from tiewise.errors import command_messages
from tiewise.study.backups.backup import (
    FOLDER_VARIABLE,
    KEY_FILE_VARIABLE,
    backup_folder,
    backups_in,
    made_at,
)
from tiewise.study.connection import now
from tiewise.study.judge_store import JudgeStore
from tiewise.study.outage import StudyGone
from tiewise.study.snapshot_store import SnapshotStore

log = logging.getLogger("tiewise")

TASK, FAULT = "backup", "backup-fault"
LEASE_SECONDS, RENEW_SECONDS, POLL_SECONDS = 30.0, 5.0, 0.2
RETRY_SECONDS = 60.0
"""After a failure it is tried again so soon, or after a tenth of the period."""
DATABASE_VARIABLE = "TIEWISE_DATABASE"
ADDRESS_FILE_VARIABLE = "TIEWISE_DATABASE_FILE"
"""Emptied for commands that get the address itself: named by both, it would be refused."""
SCHEDULE_VARIABLE = "TIEWISE_BACKUP_SCHEDULE"


class BackupSchedule(NamedTuple):
    """How often a backup is made, how many are kept, where, and with which key."""

    every: int
    """Seconds."""
    keep: int = 48
    key_file: str | None = None
    """None: not encrypted."""
    into: str | None = None
    """A folder; None for that of the study."""

    def export(self) -> None:
        """Hand it to the processes of the site, which share the environment."""
        os.environ[SCHEDULE_VARIABLE] = json.dumps(self)
        # For the backup before an upgrade, too.
        places = {KEY_FILE_VARIABLE: self.key_file, FOLDER_VARIABLE: self.into}
        os.environ.update({name: place for name, place in places.items() if place})


def backup_schedule() -> BackupSchedule | None:
    """The schedule that `serve` exported, in whichever of its processes."""
    exported = os.environ.get(SCHEDULE_VARIABLE)
    return BackupSchedule(*json.loads(exported)) if exported else None


class BackupStatus(NamedTuple):
    """The last backup that is there, and why there is no newer one where that failed."""

    last: datetime | None
    fault: str


def backup_status(folder: Path, store: JudgeStore, schedule: BackupSchedule) -> BackupStatus:
    """How the backups of a study stand."""
    place = folder.resolve()
    there = backups_in(backup_folder(place, schedule.into), place.name)
    fault = SnapshotStore(store).current(FAULT)
    return BackupStatus(made_at(there[-1]) if there else None, fault[1].decode() if fault else "")


class BackupScheduler:
    """Runs in each process of a site; the one that holds the lease makes the backup."""

    def __init__(self, folder: str | Path, store: JudgeStore, schedule: BackupSchedule) -> None:
        self._folder, self._schedule = Path(folder).resolve(), schedule
        self._leases, self._store = SnapshotStore(store), store
        self._url = store.engine.url.render_as_string(hide_password=False)
        self._holder = secrets.token_hex(8)
        self._stopped, self._thread = Event(), Thread(target=self._run, daemon=True)
        self._retry_after = now()

    def start(self) -> None:
        """Start, in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Stop; a backup that is under way is given up."""
        self._stopped.set()
        self._thread.join(5)

    def _run(self) -> None:
        pause = min(max(self._schedule.every / 20, POLL_SECONDS), 30.0)
        # Of a study that is gone the site tells the log.
        while not self._stopped.wait(pause) and self._folder.is_dir():
            try:
                self._look()
            except StudyGone:
                return
            except Exception as error:
                log.warning("The backup could not be looked after: %s", error)

    def _look(self) -> None:
        """Make a backup where it is time and nobody else makes it."""
        if not self._is_due() or now() < self._retry_after:
            return
        if not self._leases.take_lease(TASK, self._holder, LEASE_SECONDS):
            return
        try:
            if self._is_due():  # another may have made it since
                self._make()
        finally:
            self._leases.release_lease(TASK, self._holder)

    def _is_due(self) -> bool:
        last = backups_in(backup_folder(self._folder, self._schedule.into), self._folder.name)
        return not last or now() - made_at(last[-1]) >= timedelta(seconds=self._schedule.every)

    def _make(self) -> None:
        with tempfile.TemporaryFile() as errors:
            code = self._wait(self._start(errors.fileno()))
            if code is None:
                return
            errors.seek(0)
            lines = errors.read(10_000).decode(errors="replace").splitlines()
        if code:
            self._report(lines)
        elif self._leases.current(FAULT):
            self._leases.drop_current(FAULT)

    def _start(self, errors: int) -> subprocess.Popen[bytes]:
        schedule = self._schedule
        words = ["backup", str(self._folder), "--keep", str(schedule.keep)]
        words += ["--into", schedule.into] if schedule.into else []
        words += [] if schedule.key_file else ["--plaintext"]
        # The address may hold a password, and anybody can read command lines.
        variables = {DATABASE_VARIABLE: self._url, ADDRESS_FILE_VARIABLE: ""}
        if schedule.key_file:
            variables[KEY_FILE_VARIABLE] = schedule.key_file
        return subprocess.Popen(
            [sys.executable, "-m", "tiewise.cli.main", *words],
            env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=errors, process_group=0,
        )  # fmt: skip

    def _wait(self, child: subprocess.Popen[bytes]) -> int | None:
        """The exit code of a backup; None where the site stopped first."""
        waited = 0.0
        while child.poll() is None:
            if self._stopped.wait(POLL_SECONDS):
                child.terminate()
                child.wait()
                return None
            waited += POLL_SECONDS
            if waited >= RENEW_SECONDS:
                waited = 0.0
                self._leases.take_lease(TASK, self._holder, LEASE_SECONDS)
        return child.returncode

    def _report(self, lines: list[str]) -> None:
        messages = command_messages(lines)
        why = messages[-1] if messages else "the command failed"
        log.warning("No backup of %s was made: %s", self._folder.name, why)
        self._leases.set_current(FAULT, why.encode())
        wait = min(RETRY_SECONDS, self._schedule.every)
        self._retry_after = now() + timedelta(seconds=wait)


def start_backups(folder: Path, store: JudgeStore) -> BackupScheduler | None:
    """Start the backups of a study as `serve` was asked to; None where it was not."""
    schedule = backup_schedule()
    if schedule is None:
        return None
    scheduler = BackupScheduler(folder, store, schedule)
    scheduler.start()
    return scheduler
