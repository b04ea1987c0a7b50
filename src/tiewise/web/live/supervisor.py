"""Keeps one live worker alive for a study, however many processes serve it."""

from __future__ import annotations

import logging
import os
import secrets
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from time import monotonic

from tiewise.study.judge_store import Store
from tiewise.study.snapshot_store import Snapshots
from tiewise.web.live.cache import Failure, written_failure

log = logging.getLogger("tiewise")

TASK = "live"
DATABASE, HOLDER = "TIEWISE_DATABASE", "TIEWISE_HOLDER"
LEASE = 5.0
"""Seconds after which another may take over from one who was heard of no more."""
RENEW = 1.0
GRACE = 2.0
"""Seconds for a worker to end before it is made to."""
STEADY = 30.0
"""A worker that lived so long had no trouble starting."""
LONGEST_WAIT = 30.0
ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


class Keeper:
    """In each process of the site: tries to hold the lease, and while it does keeps the worker."""

    def __init__(self, folder: str | Path, store: Store) -> None:
        self.holder = secrets.token_hex(8)
        self._folder, self._snapshots = Path(folder), Snapshots(store)
        self._url = store.engine.url.render_as_string(hide_password=False)
        self._over, self._thread = Event(), Thread(target=self._keep, daemon=True)
        self._worker: subprocess.Popen[bytes] | None = None
        self._begun, self._deaths, self._not_before = 0.0, 0, 0.0
        self._held = -LEASE

    def start(self) -> None:
        """Begin, in a thread of its own; nobody waits for it."""
        self._thread.start()

    def stop(self) -> None:
        """End the worker and give the lease back."""
        self._over.set()
        self._thread.join(2 * GRACE)
        self._end()

    @property
    def worker(self) -> int | None:
        """The process number of the worker, while there is one."""
        return self._worker.pid if self._worker and self._worker.poll() is None else None

    def _keep(self) -> None:
        while not self._over.is_set():
            try:
                self._round()
            except Exception as error:
                log.warning("The keeper of the live picture stumbled: %s", error)
            self._over.wait(RENEW)
        self._end()
        try:
            self._snapshots.release(TASK, self.holder)
        except Exception:
            log.info("The lease was not given back; it runs out by itself.")

    def _round(self) -> None:
        begun = monotonic()
        try:
            if self._snapshots.take(TASK, self.holder, LEASE):
                self._held = begun
            else:
                self._held = -LEASE
        finally:
            # Where the database does not answer, the lease lasts as long as it was given for.
            if monotonic() - self._held >= LEASE:
                self._end()
        if self._held == begun:
            self._see_to_worker()

    def _see_to_worker(self) -> None:
        if self._worker is not None and self._worker.poll() is None:
            return
        if self._worker is not None:
            self._note_death(self._worker.returncode)
        if monotonic() >= self._not_before and not self._over.is_set():
            self._worker, self._begun = self._started(), monotonic()

    def _started(self) -> subprocess.Popen[bytes]:
        # The address may hold a password, and command lines can be read by anybody.
        told = {DATABASE: self._url, HOLDER: self.holder, **ONE_THREAD}
        return subprocess.Popen(
            [sys.executable, "-m", "tiewise.web.live.worker", str(self._folder)],
            env={**os.environ, **told}, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            # Ctrl-C is for the site; the worker ends when its standard input does. In a session of
            # its own Linux would give it as many cores as the site, however nice it is.
            process_group=0,
        )  # fmt: skip

    def _note_death(self, code: int) -> None:
        """Wait the longer the more often it died young, and say so from the second time on."""
        self._end()
        lived = monotonic() - self._begun
        self._deaths = 1 if lived > STEADY else self._deaths + 1
        if self._deaths == 1:
            return
        self._not_before = monotonic() + min(2.0 ** (self._deaths - 2), LONGEST_WAIT)
        why = f"signal {-code}" if code < 0 else f"exit code {code}"
        failure = Failure(
            f"The process that fits the model ended by itself ({why}); it is started again.",
            datetime.now(UTC), self._deaths,
        )  # fmt: skip
        self._snapshots.keep({"failure": written_failure(failure)}, holder=self.holder)

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is None:
            return
        if worker.stdin is not None:
            worker.stdin.close()
        if worker.poll() is None:
            worker.terminate()
            try:
                worker.wait(GRACE)
            except subprocess.TimeoutExpired:
                worker.kill()
        worker.wait()
