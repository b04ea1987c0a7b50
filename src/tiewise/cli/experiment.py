"""The command that runs simulation studies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tiewise.cli.options import progress_bar

if TYPE_CHECKING:
    from tiewise.experiments.run import Outcome

NAMES = ("efficiency", "scalability", "alpha", "delta", "coverage", "ties")


@click.command()
@click.argument("name", type=click.Choice((*NAMES, "all")), metavar="[NAME]", required=False)
@click.option("--quick", is_flag=True, help="less of everything: a minute or two, to see it work")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--repeats", type=click.IntRange(1), help="studies of each kind")
@click.option(
    "--workers", type=click.IntRange(1),
    help="processes; default: the number of cores, and 1 where times are measured",
)  # fmt: skip
@click.option("--dask", metavar="ADDRESS", help="use the workers of this Dask scheduler instead")
@click.option("--out", help="folder to write; default: experiments/NAME, or NAME-quick")
@click.option("--force", is_flag=True, help="begin anew, whatever is there")
def experiment(name: str | None, **given: Any) -> None:
    """Run a simulation study of the paper again, or one of our own.

    NAME is efficiency, scalability, alpha, delta, coverage, ties or all; without one they are
    listed. A run that was stopped goes on where it was when it is started again.
    """
    if name is None:
        _list()
        return
    names = NAMES if name == "all" else (name,)
    failed = 0
    try:
        for one in names:
            out = given["out"]
            place = str(Path(out, one)) if out and name == "all" else out
            failed += _run(one, {**given, "out": place})
    except KeyboardInterrupt:
        click.echo("tiewise: stopped; what is done is kept: the same command goes on", err=True)
        click.get_current_context().exit(130)
    if failed:
        click.get_current_context().exit(1)


def _run(name: str, given: dict[str, Any]) -> int:
    """Run one experiment and tell what it found; the number of tasks that failed."""
    from tiewise.experiments.run import experiment as described
    from tiewise.experiments.run import run_experiment

    asked = described(name)
    many = given["dask"] is not None or (given["workers"] or 1) > 1
    if asked.timed and many:
        click.echo(
            "tiewise: note: times mean little where several tasks share a machine; leave out "
            "--workers and --dask to measure them one at a time",
            err=True,
        )
    elif asked.timed:
        click.echo(f"{name}: one task at a time, because it measures times", err=True)
    with progress_bar() as progress:
        outcome = run_experiment(asked, **given, progress=progress)
    _tell(outcome)
    return len(outcome.failed)


def _tell(outcome: Outcome) -> None:
    if outcome.evidence is not None:
        click.echo(f"{outcome.experiment.title}\n")
        for sentence in outcome.experiment.finding(outcome.evidence):
            click.echo(f"- {sentence}")
        click.echo("")
    for one in outcome.failed:
        click.echo(f"tiewise: {one.name} failed (seed {one.seed}): {one.error}", err=True)
    if outcome.failed:
        click.echo(
            f"tiewise: {len(outcome.failed)} task(s) failed; what else there is stands in "
            f"{outcome.folder}, and the same command tries them again",
            err=True,
        )
    else:
        click.echo(f"Tables, figure and finding in {outcome.folder}")


def _list() -> None:
    from tiewise.experiments.run import listed

    for name, title in listed().items():
        click.echo(f"{name:<12} {title}")
    click.echo("\nRun one with `tiewise experiment NAME`, a short version with --quick.")


COMMANDS = (experiment,)
