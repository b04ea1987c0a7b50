"""Running an experiment: its tasks, tables, figure and findings in a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tiewise.data.files import write_csv
from tiewise.errors import InputError
from tiewise.experiments import EXPERIMENTS
from tiewise.experiments.experiment import Experiment, ExperimentData, markdown
from tiewise.folders import check_output_folder
from tiewise.jobs.folder import open_journal, run_folder
from tiewise.jobs.journal import TaskRecord
from tiewise.jobs.run import WorkerPool, run_tasks
from tiewise.jobs.tables import RESULTS, TIMINGS, read_table, write_tables
from tiewise.optional import require
from tiewise.plots.canvas import save
from tiewise.progress import Progress, no_progress
from tiewise.randomness import RNGLike, as_seed
from tiewise.registry import load

FILES = (RESULTS, TIMINGS, "table.csv", "figure.png", "figure.svg", "finding.md")
KIND = run_folder("an experiment", FILES)


class ExperimentRun(NamedTuple):
    """An experiment that was run: its folder, its data (None where all tasks failed), failures."""

    experiment: Experiment
    folder: Path
    data: ExperimentData | None
    failed: Sequence[TaskRecord]


def load_experiment(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in EXPERIMENTS:
        raise InputError(f"no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    experiment: Experiment = load(EXPERIMENTS[name])
    return experiment


def experiment_titles() -> dict[str, str]:
    """Every experiment by name, with its title."""
    return {name: load_experiment(name).title for name in EXPERIMENTS}


def run_experiment(
    experiment: str | Experiment,
    out: str | Path | None = None,
    *,
    quick: bool = False,
    rng: RNGLike = 1,
    repeats: int | None = None,
    workers: int | None = None,
    dask: str | None = None,
    force: bool = False,
    progress: Progress = no_progress,
) -> ExperimentRun:
    """Do the tasks of an experiment that are not done yet, and write tables, figure and findings.

    Results go to `out`, by default experiments/NAME (or NAME-quick). They depend on `rng` and
    the cases alone, not on the number of workers. `workers` is by default the number of cores,
    and 1 where times are measured. Tasks that fail are in `failed` and do not stop the others.
    """
    require("an experiment", "joblib", "matplotlib", "pyarrow")
    study = load_experiment(experiment) if isinstance(experiment, str) else experiment
    folder = Path(out) if out is not None else default_folder(study.name, quick=quick)
    if repeats is not None and repeats < 1:
        raise InputError(f"an experiment is done once or more often, not {repeats} times")
    seed, tasks = as_seed(rng), study.tasks(quick=quick, repeats=repeats)
    heading = _heading(study, quick=quick, seed=seed, repeats=repeats)
    journal = open_journal(folder, heading, kind=KIND, check=check_output_folder, force=force)
    pool = WorkerPool(workers or default_workers(study), dask)
    records = run_tasks(
        study.job, tasks, seed=seed, journal=journal, pool=pool, progress=progress, what=study.name
    )
    write_tables(folder, records, heading)
    failed = [record for record in records if record.error is not None]
    data = write_findings(study, folder) if len(failed) < len(records) else None
    return ExperimentRun(study, folder, data, failed)


def default_folder(name: str, *, quick: bool) -> Path:
    """The folder of an experiment; that of a quick run is another one."""
    return Path("experiments") / (f"{name}-quick" if quick else name)


def default_workers(experiment: Experiment) -> int:
    """As many as there are cores; but one where times are measured, which sharing would spoil."""
    return 1 if experiment.timed else os.cpu_count() or 1


def read_experiment(experiment: Experiment, folder: Path) -> ExperimentData:
    """The data of an experiment in a folder."""
    results, timings = (read_table(folder / name)[0] for name in (RESULTS, TIMINGS))
    return ExperimentData(results, timings, experiment.table(results, timings))


def write_findings(experiment: Experiment, folder: Path) -> ExperimentData:
    """Write table, figure and findings from the files of results and times."""
    data = read_experiment(experiment, folder)
    write_csv(data.table, folder / "table.csv")
    figure = experiment.figure(data)
    for kind in ("png", "svg"):
        save(figure, folder / f"figure.{kind}")
    findings = findings_markdown(experiment, data, "figure.png")
    text = f"# {experiment.title}\n\n{experiment.question}\n\n{findings}\n"
    (folder / "finding.md").write_text(text, encoding="utf-8")
    return data


def findings_markdown(experiment: Experiment, data: ExperimentData, picture: str) -> str:
    """The findings as sentences, as a table and as a picture."""
    sentences = "\n".join(f"- {sentence}" for sentence in experiment.finding(data))
    table = markdown(data.table, experiment.columns)
    note = "± is one Monte Carlo standard error."
    return f"{sentences}\n\n{table}\n\n{note}\n\n![{experiment.title}]({picture})"


def _heading(
    experiment: Experiment, *, quick: bool, seed: int, repeats: int | None
) -> dict[str, Any]:
    """The settings that results depend on; a folder begun with others is refused."""
    return {
        "experiment": experiment.name, "quick": quick, "seed": seed,
        "repeats": experiment.times(quick=quick, repeats=repeats),
        "cases": list(experiment.quick if quick else experiment.cases),
    }  # fmt: skip
