"""A simulated study: a truth, a crowd, and the real model fitted at several sizes."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from tiewise.engines.transport import Transport
from tiewise.jobs.run import TaskResult, task_seed
from tiewise.model.simulate import Truth
from tiewise.planning.accuracy import accuracy_measures
from tiewise.planning.crowd import counts_by_size
from tiewise.planning.design import StudyDesign
from tiewise.planning.plan import DRAWS
from tiewise.progress import no_progress

CURRENT_DRAWS = 4000


def simulate_study(inputs: Mapping[str, Any], seed: SeedSequence) -> TaskResult:
    """Simulate a study and fit it at the scheduled sizes: a job for `run_tasks`."""
    from tiewise.posterior.fit import run_engine

    design: StudyDesign = inputs["design"]
    truth_seed, judge_seed, fit_seed = seed.spawn(3)
    truth = inputs["truth"] or design.truth(np.random.default_rng(truth_seed))
    schedule = dict(inputs["schedule"])
    result, start = TaskResult([], []), dict[str, Any]()
    growing_counts = counts_by_size(
        design.crowd, truth, schedule, np.random.default_rng(judge_seed), prior=design.prior,
        before=design.before,
    )  # fmt: skip
    for size, counts in growing_counts:
        for prior in schedule[size]:
            started = perf_counter()
            engine = Transport(
                draws=inputs.get("draws", DRAWS), blocks=1, threads=1, start=start.get(prior)
            )
            model = design.model(counts, prior)
            _, draws = run_engine(model, engine, fit_seed.spawn(1)[0], no_progress)
            start[prior] = draws.warm_start
            keys = {
                "study": inputs["study"], "phase": inputs["phase"], "prior": prior,
                "comparisons": size, "total": counts.comparisons,
            }  # fmt: skip
            flat = draws.quality.reshape(-1, len(truth.items))
            result.rows.append(keys | accuracy_measures(flat, truth.quality, design.top_count))
            result.timings.append(keys | {"seconds": perf_counter() - started})
        stop_at = inputs["stop_at"]
        if stop_at is not None and all(
            row["reliability"] >= stop_at for row in result.rows if row["comparisons"] == size
        ):
            break
    return result


def posterior_so_far(design: StudyDesign, seed: int) -> tuple[dict[str, float], list[Truth]]:
    """Reliability so far by prior, and truths that the judgements so far leave open."""
    from tiewise.posterior.fit import run_engine
    from tiewise.posterior.reliability import reliability

    current: dict[str, float] = {}
    truths: list[Truth] = []
    if design.before is None:
        return current, truths
    for prior in design.priors:
        model = design.model(design.before, prior)
        engine = Transport(draws=CURRENT_DRAWS, blocks=1, threads=1)
        _, draws = run_engine(model, engine, task_seed(seed, f"now, {prior}"), no_progress)
        flat = draws.quality.reshape(-1, model.size)
        current[prior] = reliability(flat)
        tie, variance = draws.tie.ravel(), draws.variance.ravel()
        cuts = draws.terms["cut"].reshape(len(flat), -1) if model.steps else None
        truths = [
            Truth(
                model.items, one - one.mean(), float(tie[k]), float(variance[k]),
                {} if cuts is None else {"cut": cuts[k]},
            )
            for k, one in enumerate(flat)
        ]  # fmt: skip
    return current, truths
