"""Planning a study: how many comparisons it needs."""

from __future__ import annotations

from pathlib import Path

from tiewise.errors import InputError
from tiewise.jobs.folder import open_journal
from tiewise.jobs.journal import Journal
from tiewise.jobs.run import WorkerPool
from tiewise.optional import require
from tiewise.planning.design import StudyDesign
from tiewise.planning.folder import KIND, check_plan_folder, write_plan
from tiewise.planning.plan import Plan, plan_heading
from tiewise.planning.search import Search
from tiewise.progress import Progress, no_progress
from tiewise.randomness import RNGLike, as_seed


def plan_study(
    design: StudyDesign,
    *,
    reliability: float = 0.8,
    precision: float = 0.03,
    rng: RNGLike = 1,
    out: str | Path | None = None,
    force: bool = False,
    pool: WorkerPool | None = None,
    progress: Progress = no_progress,
) -> Plan:
    """How many comparisons a study needs for a reliability, by simulation.

    Simulations go on until the standard error of the number is this share of it (`precision`), or
    until a maximum is reached. With `out`, a folder, everything is written there, and a plan that
    was interrupted is resumed, unless `force` says to begin anew.
    """
    if not 0 < reliability < 1:
        raise InputError(f"reliability lies between 0 and 1, not at {reliability:g}")
    if not 0.001 <= precision <= 1:
        raise InputError(f"precision is a share between 0.001 and 1, not {precision:g}")
    require("a plan", "joblib", *(() if out is None else ("matplotlib", "pyarrow")))
    seed, folder = as_seed(rng), None if out is None else Path(out)
    heading = plan_heading(design, reliability, precision, seed)
    if folder is None:
        journal = Journal(None, heading)
    else:
        journal = open_journal(folder, heading, kind=KIND, check=check_plan_folder, force=force)
    pool = pool or WorkerPool()
    plan = Search(design, reliability, precision, seed, journal, pool, progress).run()
    if folder is not None:
        write_plan(plan, folder)
    return plan
