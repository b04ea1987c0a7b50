"""How good a design is by simulation: its reliability, beside random pairs and adaptive pairing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from tiewise.jobs.run import Task, WorkerPool, run_tasks
from tiewise.planning.curves import Estimate, mean_estimate
from tiewise.planning.design import StudyDesign
from tiewise.planning.simulated_study import simulate_study
from tiewise.progress import Progress, no_progress

DESIGN, RANDOM, ADAPTIVE = "design", "random", "adaptive"
PAIRING = {RANDOM: "uniform", ADAPTIVE: "informative"}
MOST_ADAPTIVE = 200
"""Items up to which adaptive pairing is simulated, too: it fits after every few answers."""


class Efficiency(NamedTuple):
    """Expected reliability by how pairs are chosen, and efficiency beside the others.

    An efficiency of 1.1 beside random pairs: these need about 1.1 times as many comparisons. It is
    a ratio of odds of reliability, which are in proportion to comparisons (Spearman–Brown).
    """

    studies: int
    reliability: dict[str, Estimate]
    beside: dict[str, Estimate]


def simulate_efficiency(
    study: StudyDesign,
    *,
    studies: int,
    seed: int,
    adaptive: bool | None = None,
    pool: WorkerPool | None = None,
    progress: Progress = no_progress,
) -> Efficiency:
    """Fresh studies with the lists of a design, with random pairs and with adaptive pairing.

    Each truth is judged in all ways. `study` has the lists; `adaptive` says whether pairing that
    adapts is simulated, which is left out of large studies by itself.
    """
    assert study.lists is not None
    with_adaptive = len(study.items) <= MOST_ADAPTIVE if adaptive is None else adaptive
    size, judges = study.lists.comparisons, len(study.lists)
    others = {name: PAIRING[name] for name in ((RANDOM, ADAPTIVE) if with_adaptive else (RANDOM,))}
    ways = {DESIGN: study} | {
        name: replace(study, lists=None, policy=policy, judges=judges, per_judge=-(-size // judges))
        for name, policy in others.items()
    }
    values = {}
    for name, way in ways.items():
        tasks = [_task(way, k, size) for k in range(studies)]
        records = run_tasks(
            simulate_study, tasks, seed=seed, pool=pool, progress=progress,
            what=f"simulating: {name}",
        )  # fmt: skip
        values[name] = [
            None if one.error is not None else float(one.rows[-1]["reliability"]) for one in records
        ]
    kept = [k for k in range(studies) if all(column[k] is not None for column in values.values())]
    columns = {name: [column[k] or 0.0 for k in kept] for name, column in values.items()}
    return Efficiency(
        len(kept),
        {name: mean_estimate(column) for name, column in columns.items()},
        {
            name: mean_estimate(
                [
                    _odds(one) / _odds(two)
                    for one, two in zip(columns[DESIGN], columns[name], strict=True)
                ]
            )
            for name in others
        },
    )


def _task(design: StudyDesign, number: int, size: int) -> Task:
    """One study; of the same number it has the same truth, whatever the pairs."""
    prior = list(design.priors)[-1]
    inputs: dict[str, Any] = {
        "design": design, "study": f"study {number}", "phase": "design", "truth": None,
        "schedule": [(size, (prior,))], "stop_at": None,
    }  # fmt: skip
    return Task(f"study {number}", inputs)


def _odds(reliability: float) -> float:
    share = min(max(reliability, 1e-3), 1 - 1e-6)
    return share / (1 - share)
