"""How many comparisons a study needs."""

from __future__ import annotations

from pathlib import Path

from tiewise.errors import InputError
from tiewise.jobs.journal import Journal
from tiewise.jobs.run import Crew
from tiewise.planning.design import StudyDesign
from tiewise.planning.folder import begin, write_plan
from tiewise.planning.plan import Plan, heading
from tiewise.planning.search import Search
from tiewise.progress import Progress, no_progress


def plan_study(
    design: StudyDesign,
    *,
    reliability: float = 0.8,
    precision: float = 0.03,
    seed: int = 1,
    out: str | Path | None = None,
    force: bool = False,
    crew: Crew | None = None,
    progress: Progress = no_progress,
) -> Plan:
    """How many comparisons a study needs for a reliability, by simulation.

    Simulations go on until the standard error of the number is this share of it (`precision`), or
    until so many are spent. With `out`, a folder, everything is written there, and a plan that was
    interrupted is taken up again, unless `force` says to begin anew.
    """
    if not 0 < reliability < 1:
        raise InputError(f"reliability lies between 0 and 1, not at {reliability:g}")
    if not 0.001 <= precision <= 1:
        raise InputError(f"precision is a share between 0.001 and 1, not {precision:g}")
    folder = None if out is None else Path(out)
    journal = None if folder is None else begin(folder, force=force)
    kept = Journal(journal, heading(design, reliability, precision, seed))
    plan = Search(design, reliability, precision, seed, kept, crew or Crew(), progress).planned()
    if folder is not None:
        write_plan(plan, folder)
    return plan
