"""The commands of scrutiny: judges, predictive checks, and models side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tiewise.cli.options import AROUND, COLUMNS, MODEL, beliefs, columns, progress_bar, surroundings
from tiewise.cli.study import DATABASE, is_study, to_fit
from tiewise.errors import InputError

FIT_OPTIONS = (
    "areas", "id_", "edges", "names", "matrix", "prior", "reach", "variance", "variance_prior",
    "tie_prior", "no_ties", "first", "second", "chosen", "tie_column", "judge", "database",
)  # fmt: skip


@click.command()
@click.argument("source", metavar="FILE_OR_DIR")
@AROUND
@COLUMNS
@MODEL
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option(
    "--splits", type=click.IntRange(0), default=50, show_default=True,
    help="random halves of judges for split-half reliability; 0 leaves it out",
)  # fmt: skip
@click.option("--out", help="folder to write; default: FILE's name and -judges, or DIR/judges")
@click.option("--force", is_flag=True, help="overwrite what is there")
@DATABASE
def judges(source: str, **given: Any) -> None:
    """Look at every judge, and say how reliable the results are.

    FILE_OR_DIR is a file of judgements that names judges, the folder of a study, or a results
    folder. Files and studies are fitted first, as `tiewise fit` would.
    """
    from tiewise.report.criticism_terminal import tell_judges
    from tiewise.workflows.assess_judges import look_at_judges

    out = given["out"] or _place(source)
    shared = {"out": out, "seed": given["seed"], "splits": given["splits"], "force": given["force"]}
    with progress_bar() as progress:
        if is_results(source):
            found = look_at_judges(_results(source, given), **shared, progress=progress)
        else:
            told, given = _to_fit(source, given)
            found = look_at_judges(
                told, **shared, around=surroundings(given), columns=columns(given),
                progress=progress,
                prior=given["prior"], reach=given["reach"], ties=not given["no_ties"],
                **beliefs(given),
            )  # fmt: skip
    tell_judges(found.judges, found.items, found.reliability)
    click.echo(f"Tables and picture in {out}")


def is_results(path: str) -> bool:
    """Whether a path is a results folder."""
    return Path(path, "posterior.nc").is_file()


def _place(source: str) -> str:
    path = Path(source)
    return str(path / "judges") if path.is_dir() else f"{path.stem}-judges"


def _results(folder: str, given: dict[str, Any]) -> Any:
    from tiewise.report.folder import read_results

    spelt = {"id_": "id", "tie_column": "tie"}
    said = [f"--{spelt.get(key, key).replace('_', '-')}" for key in FIT_OPTIONS if given[key]]
    if said:
        raise InputError(
            f"{folder} is fitted already, and {', '.join(said)} would be about fitting it; "
            "leave that out, or give the file of judgements"
        )
    return read_results(folder)


def _to_fit(source: str, given: dict[str, Any]) -> tuple[object, dict[str, Any]]:
    if is_study(source):
        return to_fit(source, dict.fromkeys(("question", "higher", "lower", "noun")) | given)
    if Path(source).is_dir():
        raise InputError(
            f"{source} is neither a study (no study.toml) nor a results folder (no posterior.nc); "
            "name one of these, or a file of judgements"
        )
    return source, given


@click.command()
@click.argument("folder", metavar="DIR")
def scrutinise(folder: str) -> None:
    """Say whether the results in DIR can be believed, and write the report again.

    Answers are made up from the fit and set beside those that were given.
    """
    from tiewise.report.criticism_terminal import tell_belief
    from tiewise.report.folder import read_results
    from tiewise.report.html import write_checks
    from tiewise.report.model_checks import believed

    results = read_results(folder)
    belief = believed(results)
    if belief is None:
        raise InputError(
            f"{folder} holds a point estimate, a model with terms of judges or sides, or no "
            "comparisons, and none of these can be checked; fit a plain model, with draws"
        )
    written = write_checks(results)
    tell_belief(belief)
    click.echo(f"Written: {', '.join(str(path) for path in written)}")


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR DIR ...")
@click.option("--out", help="file for the table; default: comparison.csv in the current folder")
@click.option("--force", is_flag=True, help="overwrite what is there")
def compare(folders: tuple[str, ...], out: str | None, force: bool) -> None:
    """Say which of several fits of the same judgements predicts best.

    Each DIR is a results folder. Models are compared by leave-one-out (PSIS-LOO).
    """
    from tiewise.criticism.model_comparison import compare_results
    from tiewise.report.criticism_terminal import tell_comparison
    from tiewise.report.folder import read_results

    place = Path(out or "comparison.csv")
    if place.exists() and not force:
        raise InputError(f"{place} is there already; name another (--out), or overwrite (--force)")
    found = compare_results([read_results(folder) for folder in folders])
    found.write(place)
    tell_comparison(found)
    click.echo(f"Table in {place}")


COMMANDS = (judges, scrutinise, compare)
