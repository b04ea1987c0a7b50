"""The report and the briefing, made on request by a process of their own, one at a time.

    python -m tiewise.web.researcher.report_job FOLDER HOLDER [QUESTION]

It runs `tiewise fit` and `tiewise briefing` in a new folder and writes the outcome to the database,
whose address is in the environment. It ends when its standard input does, and so with the site.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Any, NamedTuple

from tiewise.errors import InputError, command_messages
from tiewise.progress import FILE_VARIABLE
from tiewise.study.judge_store import JudgeStore
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study
from tiewise.web.researcher.wording import sentence

TASK, FAULT, PROGRESS = "papers", "papers-fault", "papers-progress"
LEASE_SECONDS, RENEW_SECONDS, POLL_SECONDS = 30.0, 5.0, 0.2
STEPS = {"fit": "report: ", "briefing": "briefing"}
"""What a command makes, before how far it is."""
MEDIA_TYPES = {"report.html": "text/html; charset=utf-8", "briefing.pdf": "application/pdf"}
MADE = re.compile(r"\d{4}-\d\d-\d\dT\d{6}Z-[0-9a-f]{4}")
"""The name of a folder with both: the moment, and four digits by chance."""
INTERRUPTED = "The last time it was cut off before it was done; start it again."
INTERNAL_ERROR = "It could not be made, by a fault of ours; `tiewise fit` in a terminal says more."
DATABASE_VARIABLE = "TIEWISE_DATABASE"
ADDRESS_FILE_VARIABLE = "TIEWISE_DATABASE_FILE"
"""Emptied for commands that get the address itself: named by both, it would be refused."""


class ReportStatus(NamedTuple):
    """Whether the report and the briefing are being made, and the last that were."""

    running: bool
    made: datetime | None
    comparisons: int
    folder: str
    fault: str
    progress: str = ""
    """How far it is, while it is under way."""


def report_status(store: JudgeStore, question: str = "") -> ReportStatus:
    """Whether reports are being made, which there are, and what went wrong last.

    Of a study with several questions, those of one.
    """
    snapshots = SnapshotStore(store, question)
    running = snapshots.lease_holder(TASK) is not None
    done, failed = snapshots.current(TASK), snapshots.current(FAULT)
    facts: dict[str, Any] = json.loads(done[1]) if done else {}
    fault = failed[1].decode() if failed and not running else ""
    made = done[0] if done else None
    far = snapshots.current(PROGRESS) if running else None
    return ReportStatus(
        running, made, facts.get("comparisons", 0), facts.get("folder", ""), fault,
        far[1].decode() if far else "",
    )  # fmt: skip


def report_file(study: Study, store: JudgeStore, name: str) -> Path | None:
    """The file of the report or the briefing, where it has been made."""
    status = report_status(store, study.question_id)
    path = _reports_folder(study) / status.folder / name
    return path if status.made and path.is_file() else None


def _reports_folder(study: Study) -> Path:
    return study.folder.resolve() / "papers"


def start_report(study: Study, store: JudgeStore) -> bool:
    """Start making reports; False where that is under way."""
    snapshots, holder = SnapshotStore(store, study.question_id), secrets.token_hex(8)
    if not snapshots.take_lease(TASK, holder, LEASE_SECONDS):
        return False
    snapshots.set_current(FAULT, INTERRUPTED.encode())
    address = store.engine.url.render_as_string(hide_password=False)
    process = subprocess.Popen(
        [
            sys.executable, "-m", "tiewise.web.researcher.report_job",
            str(study.folder.resolve()), holder, *([study.question_id] * bool(study.question_id)),
        ],
        env=os.environ | {DATABASE_VARIABLE: address, ADDRESS_FILE_VARIABLE: ""},
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    Thread(target=process.wait, daemon=True).start()
    return True


# In the process that makes them.


def main(folder: str, holder: str, question: str | None = None) -> None:
    """Make both, and write the outcome to the database."""
    os.nice(5)
    study = Study.open(folder).asking(question)
    store = study.store(os.environ.get(DATABASE_VARIABLE))
    snapshots = SnapshotStore(store, study.question_id)
    try:
        _make_reports(study, CommandRunner(snapshots, holder))
    except InputError as error:
        snapshots.set_current(FAULT, str(error).encode())
    else:
        snapshots.drop_current(FAULT)
    finally:
        snapshots.drop_current(PROGRESS)
        snapshots.release_lease(TASK, holder)
        store.close()


class CommandRunner:
    """Runs commands while the site lives and the lease is held."""

    def __init__(self, snapshots: SnapshotStore, holder: str) -> None:
        self.snapshots, self._holder = snapshots, holder
        self._site_ended = Event()
        self._renewed, self._shown = monotonic(), ""
        Thread(target=self._wait_for_site, daemon=True).start()

    def _wait_for_site(self) -> None:
        # Not through sys.stdin, whose lock would be in the way when this process ends.
        while os.read(0, 1024):
            pass
        self._site_ended.set()

    def run(self, *words: str) -> None:
        """Run a command of ours; its error message is raised."""
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
            tempfile.NamedTemporaryFile("r", encoding="utf-8") as progress,
        ):
            child = subprocess.Popen(
                [sys.executable, "-m", "tiewise.cli.main", *words],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                env=os.environ | {FILE_VARIABLE: progress.name},
            )  # fmt: skip
            while child.poll() is None:
                self._show(f"{STEPS[words[0]]}{Path(progress.name).read_text(encoding='utf-8')}")
                if self._site_ended.wait(POLL_SECONDS) or not self._holds_lease():
                    child.terminate()
                    child.wait()
                    raise InputError(INTERRUPTED)
            errors.seek(0)
            if child.returncode:
                raise InputError(error_sentence(child.returncode, errors.read().splitlines()))

    def _show(self, progress: str) -> None:
        """Say how far it is, where that has changed."""
        if progress != self._shown:
            self._shown = progress
            self.snapshots.set_current(PROGRESS, progress.encode())

    def _holds_lease(self) -> bool:
        if monotonic() - self._renewed < RENEW_SECONDS:
            return True
        self._renewed = monotonic()
        return self.snapshots.take_lease(TASK, self._holder, LEASE_SECONDS)


def error_sentence(code: int, lines: Sequence[str]) -> str:
    """The error message of a command where the user can mend it; else ours."""
    errors = command_messages(lines, notes=False)
    return sentence(errors[-1]) if code == 2 and errors else INTERNAL_ERROR


def _make_reports(study: Study, runner: CommandRunner) -> None:
    home, moment = _reports_folder(study), datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    name = f"{moment}-{secrets.token_hex(2)}"
    out = str(home / name)
    try:
        chosen = ["--question-id", study.question_id] if study.question_id else []
        runner.run("fit", str(study.folder), "--out", out, *chosen)
        runner.run("briefing", out, "--title", study.settings.study.title)
    except InputError:
        shutil.rmtree(out, ignore_errors=True)
        raise
    fit = json.loads((home / name / "fit.json").read_text(encoding="utf-8"))
    facts = {"folder": name, "comparisons": fit["comparisons"]}
    runner.snapshots.set_current(TASK, json.dumps(facts).encode())
    of_others = _made_for_others(study, runner.snapshots)
    for old in home.iterdir():
        # Whatever else is there is not ours, or of another question.
        if old.name not in (name, *of_others) and MADE.fullmatch(old.name):
            shutil.rmtree(old, ignore_errors=True)


def _made_for_others(study: Study, snapshots: SnapshotStore) -> list[str]:
    """Folders with the reports of other questions."""
    if not study.question_id:
        return []
    ids = Study.open(study.folder).settings.question_ids
    return [report_status(snapshots.store, id_).folder for id_ in ids if id_ != study.question_id]


if __name__ == "__main__":
    main(*sys.argv[1:])
