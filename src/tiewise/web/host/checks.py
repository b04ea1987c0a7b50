"""What `tiewise check` says of each study, looked up beside the site and kept until it changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Lock, Thread
from time import monotonic

from tiewise.hosting.site_folder import SiteFolder
from tiewise.study.access.folder_files import PARTS
from tiewise.web.researcher.report_job import ADDRESS_FILE_VARIABLE, DATABASE_VARIABLE

RENEW_SECONDS = 600.0
LONGEST_SECONDS = 300.0


class StudyChecks:
    """The faults of studies; one is looked over at a time, by a process of its own."""

    def __init__(self, folder: SiteFolder, database: str | None) -> None:
        self._folder, self._database = folder, database
        self._lock = Lock()
        self._known: dict[str, tuple[object, float, tuple[str, ...]]] = {}
        self._running = False

    def faults(self, name: str) -> tuple[str, ...]:
        """The faults of a study as they were last looked up; none before that."""
        known = self._known.get(name)
        path = self._folder.study(name)
        version = tuple(_time(path / file) for file in PARTS)
        fresh = known is not None and known[0] == version
        if known is None or not fresh or monotonic() - known[1] > RENEW_SECONDS:
            self._start(name, path, version)
        return known[2] if known is not None and fresh else ()

    def _start(self, name: str, path: Path, version: object) -> None:
        with self._lock:
            if self._running:
                return
            self._running = True
        Thread(target=self._look, args=(name, path, version), daemon=True).start()

    def _look(self, name: str, path: Path, version: object) -> None:
        try:
            faults = check_faults(path, self._database)
            self._known[name] = (version, monotonic(), faults)
        finally:
            self._running = False


def check_faults(path: Path, database: str | None) -> tuple[str, ...]:
    """The lines of `tiewise check`; none where all is well."""
    address = {DATABASE_VARIABLE: database.replace("{study}", path.name)} if database else {}
    command = [sys.executable, "-m", "tiewise.cli.main", "check", str(path)]
    try:
        done = subprocess.run(
            command, env=os.environ | {ADDRESS_FILE_VARIABLE: ""} | address, check=False,
            capture_output=True, text=True, timeout=LONGEST_SECONDS, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return ("it could not be looked over in five minutes",)
    if done.returncode == 0:
        return ()
    lines = tuple(line for line in done.stdout.splitlines() if line.strip())
    return lines or ("it could not be looked over; `tiewise check` in a terminal says more",)


def _time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
