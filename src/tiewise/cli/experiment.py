"""The command that runs simulation studies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tiewise.cli.options import progress_bar
from tiewise.experiments import EXPERIMENTS

if TYPE_CHECKING:
    from tiewise.experiments.run import ExperimentRun

HELP = f"""Run a simulation study of the paper again, or one of our own.

NAME is {", ".join(EXPERIMENTS)} or all; without one they are listed. A run that was stopped goes
on where it was when it is started again.
"""


@click.command(help=HELP)
@click.argument("name", type=click.Choice((*EXPERIMENTS, "all")), metavar="[NAME]", required=False)
@click.option("--quick", is_flag=True, help="less of everything: a minute or two, to see it work")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--repeats", type=click.IntRange(1), help="studies of each kind")
@click.option(
    "--workers", type=click.IntRange(1),
    help="processes; default: the number of cores, and 1 where times are measured",
)  # fmt: skip
@click.option("--dask", metavar="ADDRESS", help="use the workers of this Dask scheduler instead")
@click.option("--out", help="folder to write; default: experiments/NAME, or NAME-quick")
@click.option("--force", is_flag=True, help="begin anew where one was begun")
def experiment(name: str | None, **options: Any) -> None:
    """Run experiments, or list them."""
    if name is None:
        _list()
        return
    names = tuple(EXPERIMENTS) if name == "all" else (name,)
    failed = 0
    try:
        for one in names:
            out = options["out"]
            place = str(Path(out, one)) if out and name == "all" else out
            failed += _run(one, {**options, "out": place})
    except KeyboardInterrupt:
        click.echo("tiewise: stopped; what is done is kept: the same command goes on", err=True)
        click.get_current_context().exit(130)
    if failed:
        click.get_current_context().exit(1)


def _run(name: str, options: dict[str, Any]) -> int:
    """Run one experiment and print its findings; the number of tasks that failed."""
    from tiewise.experiments.run import load_experiment, run_experiment

    study = load_experiment(name)
    many = options["dask"] is not None or (options["workers"] or 1) > 1
    if study.timed and many:
        click.echo(
            "tiewise: note: times mean little where several tasks share a machine; leave out "
            "--workers and --dask to measure them one at a time",
            err=True,
        )
    elif study.timed:
        click.echo(f"{name}: one task at a time, because it measures times", err=True)
    with progress_bar() as progress:
        run = run_experiment(
            study, options["out"], quick=options["quick"], rng=options["seed"],
            repeats=options["repeats"], workers=options["workers"], dask=options["dask"],
            force=options["force"], progress=progress,
        )  # fmt: skip
    _print_findings(run)
    return len(run.failed)


def _print_findings(run: ExperimentRun) -> None:
    if run.data is not None:
        click.echo(f"{run.experiment.title}\n")
        for sentence in run.experiment.finding(run.data):
            click.echo(f"- {sentence}")
        click.echo("")
    for one in run.failed:
        click.echo(f"tiewise: {one.name} failed (seed {one.seed}): {one.error}", err=True)
    if run.failed:
        click.echo(
            f"tiewise: {len(run.failed)} task(s) failed; what else there is stands in "
            f"{run.folder}, and the same command tries them again",
            err=True,
        )
    else:
        click.echo(f"Tables, figure and finding in {run.folder}")


def _list() -> None:
    from tiewise.experiments.run import experiment_titles

    for name, title in experiment_titles().items():
        click.echo(f"{name:<12} {title}")
    click.echo("\nRun one with `tiewise experiment NAME`, a short version with --quick.")


COMMANDS = (experiment,)
