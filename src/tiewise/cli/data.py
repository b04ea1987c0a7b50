"""The commands that make judgements up or fetch public ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tiewise.cli.options import MAP

DATASETS = ("south-yorkshire", "oxfordshire", "dar-es-salaam", "forced-marriage", "wimbledon")
DATA_FILES = ("ABOUT.txt", "areas.gpkg", "comparisons.csv", "edges.csv", "items.csv")


@click.command()
@click.argument("out")
@click.option("--county", type=click.IntRange(4), help="a made-up county of this many wards")
@click.option("--items", type=click.IntRange(2), help="this many independent items")
@MAP
@click.option("--comparisons", type=click.IntRange(1), help="default: ten per item")
@click.option("--judges", type=click.IntRange(1), default=15, show_default=True)
@click.option(
    "--tie", type=click.FloatRange(0), default=0.5, show_default=True,
    help="threshold δ; 0: no ties",
)  # fmt: skip
@click.option("--variance", type=click.FloatRange(0), default=1.5, show_default=True)
@click.option("--skip", type=click.FloatRange(0, 1), default=0.02, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--parquet", is_flag=True, help="comparisons.parquet, not .csv: for millions")
@click.option("--force", is_flag=True, help="overwrite an earlier one")
def simulate(out: str, **options: Any) -> None:
    """Make up judgements with known truth, in the folder OUT.

    Writes comparisons.csv, truth.csv and, with a map, areas.gpkg.
    """
    from tiewise.workflows.simulate import write_simulated_study

    summary = write_simulated_study(
        out, county=options["county"], items=options["items"], areas=options["areas"],
        id=options["id_"], name=options["name"], group=options["group"],
        join_islands=options["join_islands"],
        comparisons=options["comparisons"], judges=options["judges"], tie=options["tie"],
        variance=options["variance"], skip=options["skip"], rng=options["seed"],
        parquet=options["parquet"], force=options["force"],
    )  # fmt: skip
    click.echo(f"{summary} in {out}")


@click.command()
@click.argument("name", type=click.Choice(DATASETS), metavar="NAME")
@click.option("--out", help="folder to write to; default: NAME")
@click.option("--force", is_flag=True, help="overwrite an earlier one")
def data(name: str, out: str | None, force: bool) -> None:
    """Fetch a public data set and write it as plain files.

    NAME is south-yorkshire, oxfordshire, dar-es-salaam, forced-marriage or wimbledon.
    """
    from tiewise.folders import FolderKind, atomic_folder, check_output_folder
    from tiewise.workflows import datasets

    place = Path(out or name)
    marks = {"ABOUT.txt": (b"",), "comparisons.csv": (b"comparison_id,", b'"comparison_id",')}
    kind = FolderKind("a public data set", DATA_FILES, marks)
    check_output_folder(place, kind, force=force)
    dataset = datasets.load(name)
    with atomic_folder(place, kind, force=force) as folder:
        written = ", ".join(sorted(path.name for path in dataset.write(folder)))
    click.echo(f"{dataset.about}\nWritten to {place}: {written}")


COMMANDS = (simulate, data)
