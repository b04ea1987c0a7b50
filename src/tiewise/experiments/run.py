"""The paper's simulation studies and two more, for anybody to run again: `tiewise experiment`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from tiewise.errors import InputError
from tiewise.experiments.experiment import Evidence, Experiment, markdown
from tiewise.jobs.journal import Done, Journal
from tiewise.jobs.run import Crew, carry_out
from tiewise.jobs.tables import RESULTS, TIMINGS, read_table, write_tables
from tiewise.plots.canvas import save
from tiewise.progress import Progress, no_progress
from tiewise.report.folder import refuse_full

HOMES = {
    "efficiency": "tiewise.experiments.efficiency",
    "scalability": "tiewise.experiments.scalability",
    "alpha": "tiewise.experiments.alpha",
    "delta": "tiewise.experiments.delta",
    "coverage": "tiewise.experiments.coverage",
    "ties": "tiewise.experiments.ties",
}
"""Every experiment by name, and the module that describes it as `EXPERIMENT`."""

JOURNAL = "journal.jsonl"
OURS = (JOURNAL, RESULTS, TIMINGS, "table.csv", "figure.png", "figure.svg", "finding.md")


class Outcome(NamedTuple):
    """What came of an experiment: where it is, what it says, and which tasks failed."""

    experiment: Experiment
    folder: Path
    evidence: Evidence | None
    failed: Sequence[Done]


def experiment(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in HOMES:
        raise InputError(f"no experiment {name!r}; there are {', '.join(HOMES)}")
    described: Experiment = import_module(HOMES[name]).EXPERIMENT
    return described


def run_experiment(
    what: str | Experiment,
    out: str | Path | None = None,
    *,
    quick: bool = False,
    seed: int = 1,
    repeats: int | None = None,
    workers: int | None = None,
    dask: str | None = None,
    force: bool = False,
    progress: Progress = no_progress,
) -> Outcome:
    """Do what of an experiment is not done yet, and write its tables, figure and finding.

    Results go to `out`, by default experiments/NAME (or NAME-quick). They depend on the seed and
    the cases alone, not on the number of workers. `workers` is by default the number of cores,
    and 1 where times are measured. A task that fails is told in `failed` and stops nothing.
    """
    asked = experiment(what) if isinstance(what, str) else what
    folder = Path(out) if out is not None else usual_folder(asked.name, quick=quick)
    if repeats is not None and repeats < 1:
        raise InputError(f"an experiment is done once or more often, not {repeats} times")
    tasks = asked.tasks(quick=quick, repeats=repeats)
    heading = _heading(asked, quick=quick, seed=seed, repeats=repeats)
    journal = _journal(folder, heading, force=force)
    crew = Crew(workers or usual_workers(asked), dask)
    done = carry_out(
        asked.job, tasks, seed=seed, journal=journal, crew=crew, progress=progress, what=asked.name
    )
    write_tables(folder, done, heading)
    failed = [one for one in done if one.error is not None]
    evidence = tell(asked, folder) if len(failed) < len(done) else None
    return Outcome(asked, folder, evidence, failed)


def usual_folder(name: str, *, quick: bool) -> Path:
    """Where an experiment goes when nobody says; a quick run does not meet a full one."""
    return Path("experiments") / (f"{name}-quick" if quick else name)


def usual_workers(asked: Experiment) -> int:
    """As many as there are cores; but one where times are measured, which sharing would spoil."""
    return 1 if asked.timed else os.cpu_count() or 1


def evidence_in(asked: Experiment, folder: Path) -> Evidence:
    """What an experiment left in a folder."""
    results, timings = (read_table(folder / name)[0] for name in (RESULTS, TIMINGS))
    return Evidence(results, timings, asked.table(results, timings))


def tell(asked: Experiment, folder: Path) -> Evidence:
    """Write table, figure and finding from the files of results and times."""
    evidence = evidence_in(asked, folder)
    evidence.table.to_csv(folder / "table.csv", index=False, lineterminator="\n")
    figure = asked.figure(evidence)
    for kind in ("png", "svg"):
        save(figure, folder / f"figure.{kind}")
    said = f"# {asked.title}\n\n{asked.question}\n\n{told(asked, evidence, 'figure.png')}\n"
    (folder / "finding.md").write_text(said, encoding="utf-8")
    return evidence


def told(asked: Experiment, evidence: Evidence, picture: str) -> str:
    """What was found in words, as a table and as a picture."""
    said = "\n".join(f"- {sentence}" for sentence in asked.finding(evidence))
    table = markdown(evidence.table, asked.columns)
    note = "± is one Monte Carlo standard error."
    return f"{said}\n\n{table}\n\n{note}\n\n![{asked.title}]({picture})"


def _heading(asked: Experiment, *, quick: bool, seed: int, repeats: int | None) -> dict[str, Any]:
    """What results depend on; a folder begun with another is not gone on with."""
    return {
        "experiment": asked.name, "quick": quick, "seed": seed,
        "repeats": asked.times(quick=quick, repeats=repeats),
        "cases": list(asked.quick if quick else asked.cases),
    }  # fmt: skip


def _journal(folder: Path, heading: dict[str, Any], *, force: bool) -> Journal:
    """The journal of a folder: the one that is there, or a new one in an empty folder."""
    kept = folder / JOURNAL
    if force:
        refuse_full(folder, force=True)
        for name in OURS:
            (folder / name).unlink(missing_ok=True)
    elif not kept.exists():
        refuse_full(folder, force=False)
    return Journal(kept, heading)


def listed() -> dict[str, str]:
    """Every experiment by name, with its title."""
    return {name: experiment(name).title for name in HOMES}
