"""The report and the briefing, made on request by a process of its own, one at a time.

It runs `tiewise fit` and `tiewise briefing` as anybody would, in a folder of its own, and says in
the database how it went. Run as `python -m tiewise.web.researcher.report_job FOLDER HOLDER`, with
the address of the database in the environment; it ends when its standard input does, and so with
the site.
"""

from __future__ import annotations

import json
import os
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

from tiewise.errors import InputError
from tiewise.study.judge_store import Store
from tiewise.study.snapshot_store import Snapshots
from tiewise.study.study import Study
from tiewise.web.researcher.wording import sentence

TASK, FAULT = "papers", "papers-fault"
LEASE_SECONDS, RENEW_SECONDS, LOOK_SECONDS = 30.0, 5.0, 0.2
KINDS = {"report.html": "text/html; charset=utf-8", "briefing.pdf": "application/pdf"}
CUT_OFF = "The last time it was cut off before it was done; start it again."
OURS = "It could not be made, by a fault of ours; `tiewise fit` in a terminal says more."
ADDRESS = "TIEWISE_DATABASE"


class Papers(NamedTuple):
    """How far the report and the briefing are."""

    being_made: bool
    made: datetime | None
    comparisons: int
    folder: str
    fault: str


def state_of(store: Store) -> Papers:
    """Whether papers are being made, which ones there are, and what went wrong last."""
    snapshots = Snapshots(store)
    busy = snapshots.holder(TASK) is not None
    done, failed = snapshots.current(TASK), snapshots.current(FAULT)
    told: dict[str, Any] = json.loads(done[1]) if done else {}
    fault = failed[1].decode() if failed and not busy else ""
    made = done[0] if done else None
    return Papers(busy, made, told.get("comparisons", 0), told.get("folder", ""), fault)


def paper(study: Study, store: Store, name: str) -> Path | None:
    """The file of the report or the briefing, where it has been made."""
    state = state_of(store)
    path = _home(study) / state.folder / name
    return path if state.made and path.is_file() else None


def _home(study: Study) -> Path:
    return study.folder.resolve() / "papers"


def start(study: Study, store: Store) -> bool:
    """Have papers made; False where that is under way."""
    snapshots, holder = Snapshots(store), secrets.token_hex(8)
    if not snapshots.take(TASK, holder, LEASE_SECONDS):
        return False
    snapshots.put(FAULT, CUT_OFF.encode())
    address = store.engine.url.render_as_string(hide_password=False)
    process = subprocess.Popen(
        [
            sys.executable, "-m", "tiewise.web.researcher.report_job",
            str(study.folder.resolve()), holder,
        ],
        env=os.environ | {ADDRESS: address}, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    Thread(target=process.wait, daemon=True).start()
    return True


# In the process of its own.


def main(folder: str, holder: str) -> None:
    """Make both papers, and say how it went."""
    os.nice(5)
    study = Study.open(folder)
    store = study.store(os.environ.get(ADDRESS))
    snapshots = Snapshots(store)
    try:
        _make(study, Maker(snapshots, holder))
    except InputError as error:
        snapshots.put(FAULT, str(error).encode())
    else:
        snapshots.drop(FAULT)
    finally:
        snapshots.release(TASK, holder)
        store.close()


class Maker:
    """Runs commands for as long as the site lives and nobody else does the same."""

    def __init__(self, snapshots: Snapshots, holder: str) -> None:
        self.snapshots, self._holder = snapshots, holder
        self._alone = Event()
        self._renewed = monotonic()
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        # Not through sys.stdin, whose lock would be in the way when this process ends.
        while os.read(0, 1024):
            pass
        self._alone.set()

    def run(self, *words: str) -> None:
        """Run a command of ours; its one line of complaint is ours, too."""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            child = subprocess.Popen(
                [sys.executable, "-m", "tiewise.cli.main", *words],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said,
            )  # fmt: skip
            while child.poll() is None:
                if self._alone.wait(LOOK_SECONDS) or not self._still_ours():
                    child.terminate()
                    child.wait()
                    raise InputError(CUT_OFF)
            said.seek(0)
            if child.returncode:
                raise InputError(complaint(child.returncode, said.read().splitlines()))

    def _still_ours(self) -> bool:
        if monotonic() - self._renewed < RENEW_SECONDS:
            return True
        self._renewed = monotonic()
        return self.snapshots.take(TASK, self._holder, LEASE_SECONDS)


def complaint(code: int, lines: Sequence[str]) -> str:
    """Why a command failed, in its own line; where it was no fault of the user, in ours."""
    ours = [line.removeprefix("tiewise: ") for line in lines if line.startswith("tiewise: ")]
    said = [line for line in ours if not line.startswith("note: ")]
    return sentence(said[-1]) if code == 2 and said else OURS


def _make(study: Study, maker: Maker) -> None:
    home, moment = _home(study), datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    name = f"{moment}-{secrets.token_hex(2)}"
    out = str(home / name)
    try:
        maker.run("fit", str(study.folder), "--out", out)
        maker.run("briefing", out, "--title", study.settings.study.title)
    except InputError:
        shutil.rmtree(out, ignore_errors=True)
        raise
    facts = json.loads((home / name / "fit.json").read_text(encoding="utf-8"))
    told = {"folder": name, "comparisons": facts["comparisons"]}
    maker.snapshots.put(TASK, json.dumps(told).encode())
    for old in home.iterdir():
        if old.name != name:
            shutil.rmtree(old, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
