"""The live worker of a study: a process that fits again whenever judgements have changed.

    python -m tiewise.web.live.worker FOLDER

Started by `Supervisor`, with the address of the database and the holder of the lease in the
environment. It ends when its parent does.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING

from tiewise.engines.threads import one_blas_thread
from tiewise.study.judge_store import JudgeStore
from tiewise.study.outage import StudyGone, outage_reason
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study
from tiewise.web.live.cache import Failure
from tiewise.web.live.live_fit import POLL, LeaseLost, LiveFit, Superseded
from tiewise.web.live.rhythm import Rhythm
from tiewise.web.serving.log_format import VARIABLE as LOG_FORMAT
from tiewise.web.serving.log_format import set_up_logging
from tiewise.web.serving.memory import collect_and_release, one_arena

if TYPE_CHECKING:
    pass

log = logging.getLogger("tiewise")

TASK = "live"
DATABASE, HOLDER = "TIEWISE_DATABASE", "TIEWISE_HOLDER"
IDLE_POLL, IDLE_AFTER = 1.0, 60.0
"""Seconds between polls while idle, and until the worker is idle."""
LEAST_INTERVAL = 0.8
"""Seconds from the start of one fit to the next, at least."""
LONGEST_WAIT = 30.0
HEARTBEAT_SECONDS = 5.0
NICE = 5


class LiveQuestions:
    """The fits of a study that asks several questions, one after the other."""

    def __init__(self, study: Study, store: JudgeStore, holder: str) -> None:
        self.holder, self.snapshots = holder, SnapshotStore(store)
        ids = study.settings.question_ids
        self.fits = [LiveFit(study.asking(id_), store, holder) for id_ in ids]
        self._failed: list[LiveFit] = []

    @property
    def rhythm(self) -> Rhythm:
        """That of the first fit: they are of the same size."""
        return self.fits[0].rhythm

    def renew(self, pulse: str, *, pause: bool = False) -> None:
        """Renew every fit; what goes wrong with one is raised after the others were tried."""
        errors: list[Exception] = []
        self._failed = []
        for fit in self.fits:
            try:
                fit.renew(pulse, pause=pause)
            except (LeaseLost, StudyGone, Superseded):
                raise
            except Exception as error:
                errors.append(error)
                self._failed.append(fit)
        if errors:
            raise errors[0]

    def beat(self) -> None:
        """Give a sign of life, for `/health`."""
        self.fits[0].beat()

    def fail(self, error: Exception, before: Failure | None) -> Failure:
        """Store what went wrong, with the questions that it went wrong with."""
        failures = [fit.fail(error, before) for fit in self._failed or self.fits]
        return failures[0]


def live_fit(study: Study, store: JudgeStore, holder: str) -> LiveFit | LiveQuestions:
    """What a live worker renews."""
    return (LiveQuestions if study.settings.questions else LiveFit)(study, store, holder)


def run(live: LiveFit | LiveQuestions) -> None:
    """Poll for changes and fit, until another process has the lease."""
    done, changed, failure, beat = "", monotonic(), None, -HEARTBEAT_SECONDS
    while live.snapshots.lease_holder(TASK) == live.holder:
        begun = monotonic()
        if begun - beat >= HEARTBEAT_SECONDS:
            live.beat()
            beat = begun
        try:
            pulse = live.snapshots.pulse()
            if pulse != done:
                live.renew(pulse)
                done, changed, failure = pulse, begun, None
                collect_and_release()
            elif failure is None and live.rhythm.owes_full(begun - changed):
                live.renew(pulse, pause=True)
                collect_and_release()
        except (LeaseLost, StudyGone):
            return
        except Superseded:
            continue
        except Exception as error:
            failure = live.fail(error, failure)
        took = monotonic() - begun
        if failure is not None:
            sleep(min(2.0**failure.times, LONGEST_WAIT))
        elif changed == begun:
            sleep(max(LEAST_INTERVAL - took, live.rhythm.rest(took), 0.05))
        else:
            sleep(POLL if begun - changed < IDLE_AFTER else IDLE_POLL)


def _end_with_parent() -> None:
    """End as soon as standard input does, whatever is under way."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os._exit(0)

    Thread(target=wait, daemon=True).start()


def main() -> None:
    """Fit the study in the folder named on the command line."""
    _end_with_parent()
    one_arena()
    set_up_logging(os.environ.get(LOG_FORMAT, "plain"))
    if hasattr(os, "nice"):
        os.nice(NICE)
    study = Study.open(Path(sys.argv[1]))
    store = study.store(os.environ.get(DATABASE))
    try:
        with one_blas_thread():
            run(live_fit(study, store, os.environ[HOLDER]))
    except Exception as error:
        # Of these the site tells the log, and its supervisor starts another worker in time.
        if not isinstance(error, StudyGone) and outage_reason(error) is None:
            raise
        sys.exit(1)
    store.close()


if __name__ == "__main__":
    main()
