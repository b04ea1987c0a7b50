"""The live worker of a study: fits again whenever judgements have changed, in a process of its own.

    python -m tiewise.web.live.worker FOLDER

Started by `Keeper`, which says through the environment where the database is and in whose name the
lease is held. It ends when whoever started it does.
"""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from time import monotonic, perf_counter, sleep
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from tiewise.criticism.judge_statistics import LEFT, RIGHT, SKIP, TIE, Said, judge_rows
from tiewise.criticism.leave_own_out import Belief
from tiewise.data.counts import Counts
from tiewise.engines.base import Draws
from tiewise.engines.newton import Spread
from tiewise.engines.threads import one_blas_thread
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.pairing.state import Standing
from tiewise.posterior.fit import explored
from tiewise.posterior.snapshot import glance
from tiewise.progress import no_progress
from tiewise.study.judge_store import Store
from tiewise.study.researcher_store import Ledger
from tiewise.study.snapshot_store import Snapshots
from tiewise.study.study import Study
from tiewise.web.live.cache import Failure, written_failure, written_rows
from tiewise.web.live.reader import Intake
from tiewise.workflows.analyse import Surroundings, build_model

log = logging.getLogger("tiewise")

TASK = "live"
DATABASE, HOLDER = "TIEWISE_DATABASE", "TIEWISE_HOLDER"
DRAWS = 1000
LOOK, LOOK_IDLE, IDLE = 0.3, 1.0, 60.0
"""Seconds between looks, the same when nothing has happened for so many."""
APART = 0.8
"""Seconds between the beginnings of two fits at least."""
REST = 1.0
"""After a fit it rests for so many times what it took, for others to use the cores."""
LONGEST_REST = 30.0
NICE = 5


class Lost(Exception):
    """Somebody else holds the lease."""


class Live:
    """A study that is fitted again and again."""

    def __init__(self, study: Study, store: Store, holder: str) -> None:
        self.study, self.holder = study, holder
        self.snapshots, self.ledger = Snapshots(store), Ledger(store)
        recipe = study.recipe()
        self.ties = recipe.ties
        self.around = Surroundings.read(areas=recipe.areas, id=recipe.id)
        # Without a map every item of the study is in the picture, compared or not.
        self.intake = Intake(store, () if self.around.graph else study.items)
        self.names = {item.id: item.name for item in study.items.values()}
        self.model: BradleyTerry | None = None
        self.spread: Spread | None = None

    def renew(self, pulse: str) -> None:
        """Read, fit, and keep what was found."""
        begun = perf_counter()
        said = self.intake.read()
        excluded = np.isin(self.intake.judges, list(self.ledger.excluded()))
        counting = said.where(~excluded[said.judge]) if len(said.judge) else said
        counts = self._counts(counting)
        if counts.comparisons == 0:
            self._keep_nothing(said, excluded, counts)
            return
        model = self._modelled(counts)
        engine, draws = self._fitted(model)
        quality = draws.quality.reshape(-1, model.size)
        belief = Belief.of(quality, draws.tie.ravel())
        around = belief if self.spread is None else _around(model, self.spread)
        body = glance(model, quality, draws.tie.ravel(), draws.variance.ravel(), names=self.names)
        body |= _answers(counting) | {"engine": engine.name, "kind": engine.kind}
        body["cautions"] += draws.warnings
        beside = {
            "judges": written_rows(self._judges(model.items, said, around, excluded)),
            "standing": self._standing(model, belief).to_bytes(),
        }
        if not self.snapshots.add(
            body, pulse=pulse, comparisons=model.counts.comparisons,
            seconds=perf_counter() - begun, holder=self.holder, beside=beside,
        ):  # fmt: skip
            raise Lost

    def fail(self, error: Exception, before: Failure | None) -> Failure:
        """Keep what went wrong, where that can be kept."""
        since = before.since if before else datetime.now(UTC)
        failure = Failure(plainly(error), since, before.times + 1 if before else 1)
        if before is None or before.message != failure.message:
            log.error("The live picture was not renewed: %s", failure.message, exc_info=error)
        try:
            self.snapshots.keep({"failure": written_failure(failure)}, holder=self.holder)
        except Exception:
            log.warning("This could not be kept in the database either.")
        return failure

    def _counts(self, said: Said) -> Counts:
        items, told = np.array(self.intake.items, object), said.where(said.outcome != SKIP)
        if self.around.graph is not None:
            # The map says which items there are; one that was only skipped need not be on it.
            used, both = np.unique([told.left, told.right], return_inverse=True)
            left, right = both.reshape(2, -1)
            items, told = items[used], told._replace(left=left, right=right)
        counts = Counts.of(
            items.tolist(), told.left, told.right,
            told.outcome == LEFT, told.outcome == RIGHT, told.outcome == TIE,
            skips=len(said.outcome) - len(told.outcome),
        )  # fmt: skip
        return counts if self.ties else counts.without_ties()

    def _modelled(self, counts: Counts) -> BradleyTerry:
        """The model that `tiewise fit` would build; its prior is worked out once."""
        if self.model is None:
            self.model = build_model(counts, self.around, ties=self.ties)
        else:
            self.model = replace(self.model, counts=counts)
        return self.model

    def _fitted(self, model: BradleyTerry) -> tuple[Any, Draws]:
        engine = Transport(draws=DRAWS, blocks=1, threads=1, start=self.spread)
        # The same chance each time: what moves in the picture is then what was learnt.
        found = explored(model, engine, SeedSequence(1), no_progress)
        self.spread = found[1].spread if isinstance(found[1].spread, Spread) else None
        return found

    def _judges(
        self, items: tuple[str, ...], said: Said, belief: Belief | None, excluded: Any
    ) -> list[dict[str, Any]]:
        place = {item: k for k, item in enumerate(items)}
        # The fit has the items in its own order, and may not have all of them.
        move = np.array([place.get(item, -1) for item in self.intake.items] or [-1])
        known = said._replace(left=move[said.left], right=move[said.right])
        return judge_rows(self.intake.judges, known, belief, excluded)

    def _standing(self, model: BradleyTerry, belief: Belief) -> Standing:
        standing = Standing.of(model.counts)
        if self.study.settings.pairing.policy != "informative":
            return standing
        return standing.with_worth(belief.mean, belief.covariance, belief.tie)

    def _keep_nothing(self, said: Said, excluded: Any, counts: Counts) -> None:
        """Nothing to fit: not yet, or not any more."""
        beside = {
            "judges": written_rows(self._judges((), said, None, excluded)),
            "standing": Standing.of(counts).to_bytes(),
        }
        if self.snapshots.last_id():
            why = "No judgement counts any more, so the picture is the last one there was."
            beside["failure"] = written_failure(Failure(why, datetime.now(UTC), 1))
        if not self.snapshots.keep(beside, holder=self.holder):
            raise Lost
        if "failure" not in beside:
            self.snapshots.drop("failure")


def run(live: Live) -> None:
    """Look for changes and fit, until the lease is somebody else's."""
    done, changed, failure = "", monotonic(), None
    while live.snapshots.holder(TASK) == live.holder:
        begun = monotonic()
        try:
            pulse = live.snapshots.pulse()
            if pulse != done:
                live.renew(pulse)
                done, changed, failure = pulse, begun, None
        except Lost:
            return
        except Exception as error:
            failure = live.fail(error, failure)
        took = monotonic() - begun
        if failure is not None:
            sleep(min(2.0**failure.times, LONGEST_REST))
        elif changed == begun:
            sleep(max(APART - took, REST * took, 0.05))
        else:
            sleep(LOOK if begun - changed < IDLE else LOOK_IDLE)


def plainly(error: Exception) -> str:
    """What went wrong, for the person who looks at the picture."""
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, MemoryError):
        return "There was not enough memory to fit the model."
    what = (str(error).splitlines() or [""])[0][:200]
    return f"The fit failed ({type(error).__name__}{': ' if what else ''}{what})."


def _around(model: BradleyTerry, spread: Spread) -> Belief:
    """The posterior around its mode, out of which one judge's answers can be taken."""
    peak = spread.peak
    return Belief.at_peak(model, peak.quality, peak.tie, float(np.exp(peak.log_alpha)))


def _answers(said: Said) -> dict[str, Any]:
    names = {"left": LEFT, "right": RIGHT, "tie": TIE, "skip": SKIP}
    return {
        "answers": {name: int((said.outcome == k).sum()) for name, k in names.items()},
        "judges": len(np.unique(said.judge)),
    }


def _end_with_parent() -> None:
    """End as soon as the other end of standard input is gone, in the middle of whatever it is."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os._exit(0)

    Thread(target=wait, daemon=True).start()


def main() -> None:
    """Keep the picture of the study in the folder named on the command line."""
    _end_with_parent()
    if hasattr(os, "nice"):
        os.nice(NICE)
    study = Study.open(Path(sys.argv[1]))
    store = study.store(os.environ.get(DATABASE))
    with one_blas_thread():
        run(Live(study, store, os.environ[HOLDER]))
    store.close()


if __name__ == "__main__":
    main()
