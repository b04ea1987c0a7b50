"""A simulated study: a truth, a crowd, and the real model fitted at several sizes along its way."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from tiewise.engines.transport import Transport
from tiewise.jobs.run import Found, chance
from tiewise.model.simulate import Truth
from tiewise.planning.accuracy import figures
from tiewise.planning.crowd import gathered
from tiewise.planning.design import StudyDesign
from tiewise.planning.plan import DRAWS
from tiewise.progress import no_progress

NOW_DRAWS = 4000


def simulated(about: Mapping[str, Any], source: SeedSequence) -> Found:
    """A simulated study, fitted at several sizes along its way: a job for the runner."""
    from tiewise.posterior.fit import explored

    design: StudyDesign = about["design"]
    born, judging, fitting = source.spawn(3)
    truth = about["truth"] or design.truth(np.random.default_rng(born))
    looks = dict(about["looks"])
    found, spread = Found([], []), dict[str, Any]()
    grown = gathered(
        design.crowd, truth, looks, np.random.default_rng(judging), prior=design.prior,
        before=design.before,
    )  # fmt: skip
    for size, counts in grown:
        for prior in looks[size]:
            begun = perf_counter()
            engine = Transport(
                draws=about.get("draws", DRAWS), blocks=1, threads=1, start=spread.get(prior)
            )
            model = design.model(counts, prior)
            _, draws = explored(model, engine, fitting.spawn(1)[0], no_progress)
            spread[prior] = draws.spread
            about_it = {
                "study": about["study"], "phase": about["phase"], "prior": prior,
                "comparisons": size, "total": counts.comparisons,
            }  # fmt: skip
            flat = draws.quality.reshape(-1, len(truth.items))
            found.rows.append(about_it | figures(flat, truth.quality, design.best))
            found.timings.append(about_it | {"seconds": perf_counter() - begun})
        until = about["until"]
        if until is not None and all(
            row["reliability"] >= until for row in found.rows if row["comparisons"] == size
        ):
            break
    return found


def so_far(design: StudyDesign, seed: int) -> tuple[dict[str, float], list[Truth]]:
    """Reliability so far by prior, and truths that the judgements so far leave open."""
    from tiewise.posterior.fit import explored
    from tiewise.posterior.reliability import reliability

    now: dict[str, float] = {}
    truths: list[Truth] = []
    if design.before is None:
        return now, truths
    for prior in design.priors:
        model = design.model(design.before, prior)
        engine = Transport(draws=NOW_DRAWS, blocks=1, threads=1)
        _, draws = explored(model, engine, chance(seed, f"now, {prior}"), no_progress)
        flat = draws.quality.reshape(-1, model.size)
        now[prior] = reliability(flat)
        tie, variance = draws.tie.ravel(), draws.variance.ravel()
        truths = [
            Truth(model.items, one - one.mean(), float(tie[k]), float(variance[k]))
            for k, one in enumerate(flat)
        ]
    return now, truths
