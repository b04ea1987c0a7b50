"""LiveFit: the fit of a running study, or of one of its questions, renewed as judgements arrive."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import SeedSequence

from tiewise.criticism.judge_statistics import judge_statistics
from tiewise.criticism.leave_own_out import GaussianPosterior
from tiewise.criticism.verdict import verdict
from tiewise.data.answers import ANSWERS, Answer, on_scale
from tiewise.data.counts import Counts
from tiewise.engines.base import Draws, Engine
from tiewise.engines.laplace import Laplace
from tiewise.engines.preconditioners.averaged_quadratic import Centre
from tiewise.engines.preconditioners.laplace_marginal import LaplaceMarginal
from tiewise.engines.preconditioners.mixture_preconditioner import WarmStart
from tiewise.engines.preconditioners.newton import ConditionalPosterior
from tiewise.engines.sparse.choice import SparseStart, prefers_sparse
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
from tiewise.progress import Progress, no_progress
from tiewise.study.judge_store import JudgeStore
from tiewise.study.outage import outage_reason
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study
from tiewise.text import noun_forms
from tiewise.web.live.cache import Failure, pack_failure, pack_rows
from tiewise.web.live.reader import JudgementReader
from tiewise.web.live.rhythm import Rhythm

if TYPE_CHECKING:
    from xarray import DataTree

log = logging.getLogger("tiewise")

DRAWS, SEED = 1000, 1
QUICK_DRAWS = 600
"""Draws of a quick picture: from the Gaussian at the mode, or of the sparse engine."""
CHECKED_DRAWS, CHECKED = 100, 10_000
"""Draws and judgements that the verdict checks the model with."""
POLL = 0.3
"""Seconds between looks whether there are other judgements."""


class LeaseLost(Exception):
    """Another process holds the lease."""


class Superseded(Exception):
    """There are other judgements than those of the picture that is being made."""


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
        self.warm_start: WarmStart | SparseStart | None = None
        self.rhythm = Rhythm(len(study.items))

    def renew(self, pulse: str, *, pause: bool = False) -> None:
        """Read the judgements, fit, and store a snapshot.

        In a `pause` it is a full one, which is given up where judgements arrive meanwhile.
        """
        quick, begun = not pause and self.rhythm.quick(), perf_counter()
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
        progress = self._unless_changed(pulse) if pause else no_progress
        engine, draws = self._draws(model, progress, quick=quick)
        tree = self._tree(model, engine, draws, counting, progress, quick=quick)
        disagreeing = []
        if model.anchors is not None:
            disagreeing = attach_anchors(tree, model, np.random.default_rng(SEED), self.names)
        sampled = PosteriorDraws.from_tree(tree)
        posterior = partial(
            GaussianPosterior.from_draws,
            draws.quality.reshape(-1, model.size), draws.tie.ravel(), sampled.cuts,
        )  # fmt: skip
        variance = tree["posterior/variance"].to_numpy().ravel()
        body = snapshot_figures(
            model, sampled.quality, sampled.tie, variance, cuts=sampled.cuts, names=self.names
        )
        settings = self.study.settings
        body |= scale_figures(settings.scale, tree, body, noun_forms(settings.study.noun))
        body |= self._answers(counting) | {"engine": engine.name, "kind": engine.kind}
        body["verdict"] = verdict(tree, draws=CHECKED_DRAWS, judgements=CHECKED).to_dict()
        body["cautions"] += [*draws.warnings, *disagreeing]
        current = {"standing": self._pairing_state(model, posterior).to_bytes()}
        if self.rhythm.judges_due(quick=quick):
            own = self._at_mode(model) or posterior()
            current["judges"] = pack_rows(self._judges(model.items, judgements, own, excluded))
        if not self.snapshots.add(
            body, pulse=pulse, comparisons=model.counts.comparisons,
            seconds=perf_counter() - begun, holder=self.holder, current=current,
        ):  # fmt: skip
            raise LeaseLost
        self.rhythm.made(perf_counter() - begun, quick=quick)

    def _unless_changed(self, pulse: str) -> Progress:
        """Progress that stops the work once there are other judgements."""
        looked = monotonic()

        def look(_what: str, _done: int, _total: int) -> None:
            nonlocal looked
            if monotonic() - looked >= POLL:
                looked = monotonic()
                if self.snapshots.pulse() != pulse:
                    raise Superseded

        return look

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

    def _draws(self, model: BradleyTerry, progress: Progress, *, quick: bool) -> tuple[Any, Draws]:
        number = QUICK_DRAWS if quick else DRAWS
        engine: Engine = Transport(draws=number, blocks=1, threads=1, start=self.warm_start)
        dense = None if isinstance(self.warm_start, SparseStart) else self.warm_start
        if quick and not prefers_sparse(model) and model.anchors is None:
            engine = Laplace(draws=QUICK_DRAWS, weighted=False, start=dense)
        # The same seed each time, so that only new judgements move the estimates.
        result = run_engine(model, engine, SeedSequence(SEED), progress)
        start = result[1].warm_start
        if not isinstance(start, LaplaceMarginal | Centre | SparseStart):
            start = None
        self.warm_start = start
        return result

    def _tree(
        self, model: BradleyTerry, engine: Engine, draws: Draws, judgements: JudgementTable,
        progress: Progress, *, quick: bool,
    ) -> DataTree:  # fmt: skip
        """The posterior that `tiewise fit` would write, with the judgements that count."""
        sampled = sample_on(model, draws, 0 if quick else ENOUGH_DRAWS, progress)
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

    def _at_mode(self, model: BradleyTerry) -> GaussianPosterior | None:
        """The posterior at its mode; None where that is not known."""
        plain = self.warm_start
        if plain is None or isinstance(plain, SparseStart) or self.levels > 1:
            return None
        return _at_mode(model, plain)

    def _pairing_state(
        self, model: BradleyTerry, gaussian: Callable[[], GaussianPosterior]
    ) -> PairingState:
        state = PairingState.of(model.counts)
        if not load_policy(self.study.settings.pairing.policy).needs_posterior:
            return state
        posterior = gaussian()
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
