"""The live worker of a study: a process that fits again whenever judgements have changed.

    python -m tiewise.web.live.worker FOLDER

Started by `Supervisor`, with the address of the database and the holder of the lease in the
environment. It ends when its parent does.
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
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import SeedSequence

from tiewise.criticism.judge_statistics import judge_statistics
from tiewise.criticism.leave_own_out import GaussianPosterior
from tiewise.criticism.verdict import verdict
from tiewise.data.answers import ANSWERS, Answer, on_scale
from tiewise.data.counts import Counts
from tiewise.engines.base import Draws, Engine
from tiewise.engines.preconditioners.averaged_quadratic import Centre
from tiewise.engines.preconditioners.laplace_marginal import LaplaceMarginal
from tiewise.engines.preconditioners.mixture_preconditioner import WarmStart
from tiewise.engines.preconditioners.newton import ConditionalPosterior
from tiewise.engines.threads import one_blas_thread
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.geo.item_context import ItemContext
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.build import build_model
from tiewise.model.map_priors import Network, share_of
from tiewise.model.prior_sets import prior_set
from tiewise.pairing.policies import load_policy
from tiewise.pairing.state import PairingState
from tiewise.posterior.fit import described_tree, run_engine
from tiewise.posterior.judgement_record import JudgementRecord, JudgementTable
from tiewise.posterior.predictions import PosteriorDraws
from tiewise.posterior.sampling import sample_on
from tiewise.posterior.scales.anchored import attach_anchors
from tiewise.posterior.snapshot import scale_figures, snapshot_figures
from tiewise.posterior.tree import attach_judgements
from tiewise.posterior.warnings import ENOUGH_DRAWS
from tiewise.progress import no_progress
from tiewise.study.judge_store import JudgeStore
from tiewise.study.outage import StudyGone, outage_reason
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study
from tiewise.text import noun_forms
from tiewise.web.live.cache import Failure, pack_failure, pack_rows
from tiewise.web.live.reader import JudgementReader
from tiewise.web.serving.log_format import VARIABLE as LOG_FORMAT
from tiewise.web.serving.log_format import set_up_logging
from tiewise.web.serving.memory import collect_and_release, one_arena

if TYPE_CHECKING:
    from xarray import DataTree

log = logging.getLogger("tiewise")

TASK = "live"
DATABASE, HOLDER = "TIEWISE_DATABASE", "TIEWISE_HOLDER"
DRAWS, SEED = 1000, 1
CHECKED_DRAWS, CHECKED = 100, 10_000
"""Draws and judgements that the verdict checks the model with."""
POLL, IDLE_POLL, IDLE_AFTER = 0.3, 1.0, 60.0
"""Seconds between polls, between polls while idle, and until the worker is idle."""
LEAST_INTERVAL = 0.8
"""Seconds from the start of one fit to the next, at least."""
REST = 1.0
"""Rest after a fit, as a multiple of the time it took, to leave the cores to others."""
LONGEST_WAIT = 30.0
HEARTBEAT_SECONDS = 5.0
NICE = 5


class LeaseLost(Exception):
    """Another process holds the lease."""


class LiveFit:
    """The fit of a study, or of one of its questions, renewed as judgements arrive."""

    def __init__(self, study: Study, store: JudgeStore, holder: str) -> None:
        self.study, self.holder = study, holder
        self.snapshots = SnapshotStore(store, study.question_id)
        self.researcher_store = ResearcherStore(store)
        inputs = study.fit_inputs()
        self.ties, self.priors = inputs.ties, prior_set(study.priors(store))
        self.levels, self.anchors = inputs.levels, inputs.anchor_table(study.items)
        self.context = ItemContext.read(areas=inputs.areas, id=inputs.id)
        # Without a map every item of the study is in the fit, compared or not.
        listed = () if self.context.graph else study.items
        self.reader = JudgementReader(
            store, listed, graded=inputs.levels > 1, question=study.question_id
        )
        self.names = {item.id: item.name for item in study.items.values()}
        self.model: BradleyTerry | None = None
        self.warm_start: WarmStart | None = None

    def renew(self, pulse: str) -> None:
        """Read the judgements, fit, and store a snapshot."""
        begun = perf_counter()
        judgements = self.reader.read()
        excluded = np.isin(self.reader.judges, list(self.researcher_store.excluded()))
        counting = judgements
        if len(judgements.judge):
            counting = judgements.where(~excluded[judgements.judge])
        counts = self._counts(counting)
        if counts.comparisons == 0:
            self._store_nothing(judgements, excluded, counts)
            return
        model = self._model(counts)
        engine, draws = self._draws(model)
        tree = self._tree(model, engine, draws, counting)
        disagreeing = []
        if model.anchors is not None:
            disagreeing = attach_anchors(tree, model, np.random.default_rng(SEED))
        sampled = PosteriorDraws.from_tree(tree)
        posterior = GaussianPosterior.from_draws(
            draws.quality.reshape(-1, model.size), draws.tie.ravel(), sampled.cuts
        )
        plain = self.warm_start if self.levels == 1 else None
        at_mode = posterior if plain is None else _at_mode(model, plain)
        variance = tree["posterior/variance"].to_numpy().ravel()
        body = snapshot_figures(
            model, sampled.quality, sampled.tie, variance, cuts=sampled.cuts, names=self.names
        )
        settings = self.study.settings
        body |= scale_figures(settings.scale, tree, body, noun_forms(settings.study.noun))
        body |= self._answers(counting) | {"engine": engine.name, "kind": engine.kind}
        body["verdict"] = verdict(tree, draws=CHECKED_DRAWS, judgements=CHECKED).to_dict()
        body["cautions"] += [*draws.warnings, *disagreeing]
        current = {
            "judges": pack_rows(self._judges(model.items, judgements, at_mode, excluded)),
            "standing": self._pairing_state(model, posterior).to_bytes(),
        }
        if not self.snapshots.add(
            body, pulse=pulse, comparisons=model.counts.comparisons,
            seconds=perf_counter() - begun, holder=self.holder, current=current,
        ):  # fmt: skip
            raise LeaseLost

    def beat(self) -> None:
        """Give a sign of life, for `/health`."""
        try:
            self.snapshots.record_heartbeat()
        except Exception as error:
            log.info("No sign of life could be stored: %s", error)

    def fail(self, error: Exception, before: Failure | None) -> Failure:
        """Store what went wrong, if the database answers."""
        since = before.since if before else datetime.now(UTC)
        failure = Failure(failure_message(error), since, before.times + 1 if before else 1)
        if outage_reason(error) is not None:  # the site tells the log
            return failure
        if before is None or before.message != failure.message:
            log.error("The live picture was not renewed: %s", failure.message, exc_info=error)
        try:
            self.snapshots.replace_current({"failure": pack_failure(failure)}, holder=self.holder)
        except Exception:
            log.warning("This could not be kept in the database either.")
        return failure

    def _counts(self, judgements: JudgementTable) -> Counts:
        items = np.array(self.reader.items, object)
        compared = judgements.where(on_scale(judgements.answer))
        if self.context.graph is not None:
            # The map has the items; one that was only ever skipped need not be on it.
            used, both = np.unique([compared.left, compared.right], return_inverse=True)
            left, right = both.reshape(2, -1)
            items, compared = items[used], compared._replace(left=left, right=right)
        skips = len(judgements.answer) - len(compared.answer)
        counts = compared.counts(tuple(items.tolist()), self.levels, skips=skips)
        return counts if self.ties else counts.without_ties()

    def _model(self, counts: Counts) -> BradleyTerry:
        """The model that `tiewise fit` would build; its prior is computed once."""
        if self.model is None:
            self.model = build_model(
                counts, self.context, ties=self.ties, anchors=self.anchors, **self.priors
            )
        else:
            self.model = replace(self.model, counts=counts)
        return self.model

    def _draws(self, model: BradleyTerry) -> tuple[Any, Draws]:
        engine = Transport(draws=DRAWS, blocks=1, threads=1, start=self.warm_start)
        # The same seed each time, so that only new judgements move the estimates.
        result = run_engine(model, engine, SeedSequence(SEED), no_progress)
        start = result[1].warm_start
        self.warm_start = start if isinstance(start, LaplaceMarginal | Centre) else None
        return result

    def _tree(
        self, model: BradleyTerry, engine: Engine, draws: Draws, judgements: JudgementTable
    ) -> DataTree:
        """The posterior that `tiewise fit` would write, with the judgements that count."""
        sampled = sample_on(model, draws, ENOUGH_DRAWS, no_progress)
        exact = sampled if engine.kind == "exact" else None
        tree = described_tree(
            model, engine, sampled.draws, exact, target=ENOUGH_DRAWS, seconds=0.0, seed=str(SEED)
        )
        present, judge = np.unique(judgements.judge, return_inverse=True)
        names = tuple(self.reader.judges[k] for k in present)
        table = self._numbered(model.items, judgements)._replace(judge=judge)
        attach_judgements(tree, JudgementRecord(names, table, has_sides=True))
        return tree

    def _numbered(self, items: tuple[str, ...], judgements: JudgementTable) -> JudgementTable:
        """Judgements by the numbers of items in the fit, which may not have all of them."""
        number = {item: k for k, item in enumerate(items)}
        to_fit = np.array([number.get(item, -1) for item in self.reader.items] or [-1])
        return judgements._replace(left=to_fit[judgements.left], right=to_fit[judgements.right])

    def _judges(
        self,
        items: tuple[str, ...],
        judgements: JudgementTable,
        posterior: GaussianPosterior | None,
        excluded: Any,
    ) -> list[dict[str, Any]]:
        numbered = self._numbered(items, judgements)
        return judge_statistics(self.reader.judges, numbered, posterior, excluded)

    def _answers(self, judgements: JudgementTable) -> dict[str, Any]:
        """How often each answer was given, and by how many; graded ones along their scale, too."""
        out: dict[str, Any] = {
            "answers": {a.stored: int((judgements.answer == a.code).sum()) for a in ANSWERS},
            "judges": len(np.unique(judgements.judge)),
        }
        if judgements.strength is None:
            return out
        grades = [
            {"answer": one.stored, "grade": one.strength, "count": _number_of(one, judgements)}
            for one in self.study.scale.grades
        ]
        return out | {"grades": grades}

    def _pairing_state(self, model: BradleyTerry, posterior: GaussianPosterior) -> PairingState:
        state = PairingState.of(model.counts)
        if not load_policy(self.study.settings.pairing.policy).needs_posterior:
            return state
        cuts = posterior.tie if posterior.cuts is None else posterior.cuts
        return state.with_posterior(posterior.mean, posterior.covariance, cuts)

    def _store_nothing(self, judgements: JudgementTable, excluded: Any, counts: Counts) -> None:
        """Store that there is nothing to fit: not yet, or not any more."""
        current = {
            "judges": pack_rows(self._judges((), judgements, None, excluded)),
            "standing": PairingState.of(counts).to_bytes(),
        }
        if self.snapshots.last_id():
            message = "No judgement counts any more, so the picture is the last one there was."
            current["failure"] = pack_failure(Failure(message, datetime.now(UTC), 1))
        if not self.snapshots.replace_current(current, holder=self.holder):
            raise LeaseLost
        if "failure" not in current:
            self.snapshots.drop_current("failure")


class LiveQuestions:
    """The fits of a study that asks several questions, one after the other."""

    def __init__(self, study: Study, store: JudgeStore, holder: str) -> None:
        self.holder, self.snapshots = holder, SnapshotStore(store)
        ids = study.settings.question_ids
        self.fits = [LiveFit(study.asking(id_), store, holder) for id_ in ids]
        self._failed: list[LiveFit] = []

    def renew(self, pulse: str) -> None:
        """Renew every fit; what goes wrong with one is raised after the others were tried."""
        errors: list[Exception] = []
        self._failed = []
        for fit in self.fits:
            try:
                fit.renew(pulse)
            except (LeaseLost, StudyGone):
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
        except (LeaseLost, StudyGone):
            return
        except Exception as error:
            failure = live.fail(error, failure)
        took = monotonic() - begun
        if failure is not None:
            sleep(min(2.0**failure.times, LONGEST_WAIT))
        elif changed == begun:
            sleep(max(LEAST_INTERVAL - took, REST * took, 0.05))
        else:
            sleep(POLL if begun - changed < IDLE_AFTER else IDLE_POLL)


def failure_message(error: Exception) -> str:
    """What went wrong, for the researcher."""
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, MemoryError):
        return "There was not enough memory to fit the model."
    detail = (str(error).splitlines() or [""])[0][:200]
    return f"The fit failed ({type(error).__name__}{': ' if detail else ''}{detail})."


def _at_mode(model: BradleyTerry, start: WarmStart) -> GaussianPosterior:
    """The posterior at its mode, out of which one judge's answers can be taken."""
    if isinstance(start, LaplaceMarginal):
        mode = start.mode
    else:
        # A centre is a mean, at one share; the mode is that of the same share and scale.
        assert isinstance(model.prior, Network)
        model = replace(model, prior=model.prior.at(float(share_of(start.tau))))
        mode = ConditionalPosterior(model).mode(start.log_alpha)
    return GaussianPosterior.at_mode(model, mode.quality, mode.tie, float(np.exp(mode.log_alpha)))


def _number_of(answer: Answer, judgements: JudgementTable) -> int:
    """How often a graded answer was given."""
    same = judgements.answer == answer.code
    if answer.strength is not None:
        same &= judgements.strength == answer.strength
    return int(same.sum())


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
