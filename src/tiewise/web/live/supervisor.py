"""Keeps one live worker alive for a study, however many processes serve it."""

from __future__ import annotations

import logging
import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from time import monotonic

from tiewise.study.judge_store import JudgeStore
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.web.live.cache import Failure, pack_failure

log = logging.getLogger("tiewise")

TASK = "live"
DATABASE, HOLDER = "TIEWISE_DATABASE", "TIEWISE_HOLDER"
LEASE = 5.0
"""Seconds after which another supervisor may take over from one that is silent."""
RENEW = 1.0
GRACE = 2.0
"""Seconds for a worker to end before it is killed."""
STEADY = 30.0
"""Seconds after which a worker counts as started."""
LONGEST_WAIT = 30.0
ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def _log(error: Exception) -> None:
    log.warning("The live worker is not looked after: %s", error)


class Supervisor:
    """Runs in each process of the site; the one that holds the lease keeps the worker running."""

    def __init__(
        self,
        folder: str | Path,
        store: JudgeStore,
        *,
        is_there: Callable[[], bool] = lambda: True,
        report: Callable[[Exception], None] = _log,
    ) -> None:
        self._is_there, self._report = is_there, report
        self.holder = secrets.token_hex(8)
        self._folder, self._snapshots = Path(folder), SnapshotStore(store)
        self._url = store.engine.url.render_as_string(hide_password=False)
        self._stopped, self._thread = Event(), Thread(target=self._run, daemon=True)
        self._worker: subprocess.Popen[bytes] | None = None
        self._started, self._failures, self._restart_after = 0.0, 0, 0.0
        self._lease_taken = -LEASE

    def start(self) -> None:
        """Start, in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """End the worker and give the lease back."""
        self._stopped.set()
        self._thread.join(2 * GRACE)
        self._end_worker()

    @property
    def worker(self) -> int | None:
        """The process id of the worker, while there is one."""
        return self._worker.pid if self._worker and self._worker.poll() is None else None

    def _run(self) -> None:
        while not self._stopped.is_set() and self._is_there():
            try:
                self._renew()
            except Exception as error:
                self._report(error)
            self._stopped.wait(RENEW)
        self._end_worker()
        try:
            self._snapshots.release_lease(TASK, self.holder)
        except Exception:
            log.info("The lease was not given back; it runs out by itself.")

    def _renew(self) -> None:
        begun = monotonic()
        try:
            if self._snapshots.take_lease(TASK, self.holder, LEASE):
                self._lease_taken = begun
            else:
                self._lease_taken = -LEASE
        finally:
            # Where the database does not answer, the lease still lasts for its time.
            if monotonic() - self._lease_taken >= LEASE:
                self._end_worker()
        if self._lease_taken == begun:
            self._check_worker()

    def _check_worker(self) -> None:
        if self._worker is not None and self._worker.poll() is None:
            return
        if self._worker is not None:
            self._record_failure(self._worker.returncode)
        if monotonic() >= self._restart_after and not self._stopped.is_set():
            self._worker, self._started = self._start_worker(), monotonic()

    def _start_worker(self) -> subprocess.Popen[bytes]:
        # The address may hold a password, and anybody can read command lines.
        variables = {DATABASE: self._url, HOLDER: self.holder, **ONE_THREAD}
        return subprocess.Popen(
            [sys.executable, "-m", "tiewise.web.live.worker", str(self._folder)],
            env={**os.environ, **variables}, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            # Ctrl-C is for the site; the worker ends when its standard input does. In a session of
            # its own Linux would give it as many cores as the site, however nice it is.
            process_group=0,
        )  # fmt: skip

    def _record_failure(self, code: int) -> None:
        """Wait longer after each early end, and report it from the second on."""
        self._end_worker()
        lived = monotonic() - self._started
        self._failures = 1 if lived > STEADY else self._failures + 1
        if self._failures == 1:
            return
        self._restart_after = monotonic() + min(2.0 ** (self._failures - 2), LONGEST_WAIT)
        why = f"signal {-code}" if code < 0 else f"exit code {code}"
        failure = Failure(
            f"The process that fits the model ended by itself ({why}); it is started again.",
            datetime.now(UTC), self._failures,
        )  # fmt: skip
        self._snapshots.replace_current({"failure": pack_failure(failure)}, holder=self.holder)

    def _end_worker(self) -> None:
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
