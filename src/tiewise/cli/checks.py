"""The commands of scrutiny: judges, predictive checks, and models side by side."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tiewise.cli.help.lists import CommandByTopic
from tiewise.cli.options import (
    COLUMNS,
    ITEM_FILES,
    MODEL,
    columns,
    engine,
    progress_bar,
    read_context,
    scalar_priors,
    ties,
)
from tiewise.cli.study import DATABASE, is_study, to_fit
from tiewise.errors import InputError
from tiewise.folders import check_output_file

if TYPE_CHECKING:
    from tiewise.criticism.model_comparison import LeftOut

TABLE_STARTS = (b"model,elpd,", b'"model","elpd",')
ROBUST_STARTS = (b"conclusion,item,leave_out,", b'"conclusion","item",')
LEAVE_OUT = click.option(
    "--leave-out", type=click.Choice(["judgement", "judge"]), default="judgement",
    show_default=True, help="what is left out and predicted: one judgement, or all of a judge",
)  # fmt: skip
FIT_OPTIONS = (
    "areas", "id_", "edges", "names", "matrix", "priors", "prior", "reach", "share", "variance",
    "variance_prior", "tie_prior", "ties", "first", "second", "chosen", "tie_column", "grade",
    "grades", "judge", "question_id", "drop_invalid", "database",
)  # fmt: skip


@click.command(cls=CommandByTopic)
@click.argument("source", metavar="FILE_OR_DIR")
@ITEM_FILES
@COLUMNS
@MODEL
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option(
    "--splits", type=click.IntRange(0), default=50, show_default=True,
    help="random halves of judges for split-half reliability; 0 leaves it out",
)  # fmt: skip
@click.option("--out", help="folder to write; default: FILE's name and -judges, or DIR/judges")
@click.option("--force", is_flag=True, help="overwrite an earlier one")
@DATABASE
def judges(source: str, **options: Any) -> None:
    """Look at every judge, and say how reliable the results are.

    FILE_OR_DIR is a file of judgements that names judges, the folder of a study, or a results
    folder. Files and studies are fitted first, as `tiewise fit` would.
    """
    from tiewise.report.criticism_terminal import print_judges
    from tiewise.workflows.assess_judges import assess_judges

    out = options["out"] or _default_folder(source)
    shared = {
        "out": out,
        "rng": options["seed"],
        "splits": options["splits"],
        "force": options["force"],
    }
    with progress_bar() as progress:
        if is_results(source):
            assessment = assess_judges(_results(source, options), **shared, progress=progress)
        else:
            judgements, options = _to_fit(source, options)
            assessment = assess_judges(
                judgements, **shared, context=read_context(options), columns=columns(options),
                progress=progress,
                prior=options["prior"], reach=options["reach"], ties=ties(options),
                **scalar_priors(options),
            )  # fmt: skip
    print_judges(assessment.judges, assessment.items, assessment.reliability)
    click.echo(f"Tables and picture in {out}")


def is_results(path: str) -> bool:
    """Whether a path is a results folder."""
    return Path(path, "posterior.nc").is_file()


def _default_folder(source: str) -> str:
    path = Path(source)
    return str(path / "judges") if path.is_dir() else f"{path.stem}-judges"


def _results(folder: str, options: dict[str, Any]) -> Any:
    from tiewise.posterior.results_folder import read_results

    spellings = {"id_": "id", "tie_column": "tie"}
    names = [spellings.get(key, key) for key in FIT_OPTIONS if options[key]]
    names += ["no_ties"] if options["ties"] is False else []
    flags = [f"--{name.replace('_', '-')}" for name in names]
    if flags:
        raise InputError(
            f"{folder} is fitted already, and {', '.join(flags)} would be about fitting it; "
            "leave that out, or give the file of judgements"
        )
    return read_results(folder)


def _to_fit(source: str, options: dict[str, Any]) -> tuple[object, dict[str, Any]]:
    if is_study(source):
        return to_fit(source, dict.fromkeys(("question", "higher", "lower", "noun")) | options)
    if is_results(source):
        raise InputError(f"{source} holds results already; give the file of judgements or a study")
    if Path(source).is_dir():
        raise InputError(
            f"{source} is neither a study (no study.toml) nor a results folder (no posterior.nc); "
            "name one of these, or a file of judgements"
        )
    return source, options


@click.command()
@click.argument("folder", metavar="DIR")
def scrutinise(folder: str) -> None:
    """Say whether the results in DIR can be believed, and write the report again.

    Answers are made up from the fit and set beside those that were given.
    """
    from tiewise.posterior.results_folder import read_results
    from tiewise.report.criticism_terminal import print_assessment
    from tiewise.report.html import write_checks
    from tiewise.report.model_checks import model_assessment

    results = read_results(folder)
    belief = model_assessment(results)
    if belief is None:
        raise InputError(
            f"{folder} holds a point estimate, a model with terms of judges or sides, or no "
            "comparisons, and none of these can be checked; fit a plain model, with draws"
        )
    written = write_checks(results)
    print_assessment(belief)
    click.echo(f"Written: {', '.join(str(path) for path in written)}")


@click.command()
@click.argument("folder", metavar="DIR")
@click.option("--top", type=click.IntRange(1), help="k of 'top k'; default: that of the results")
@click.option(
    "--item", "items", multiple=True,
    help="an item, by its id, that is above or below the average; may be said again",
)  # fmt: skip
@click.option("--answers", "unit", flag_value="answers", help="leave out answers only")
@click.option("--judges", "unit", flag_value="judges", help="leave out judges only")
@click.option(
    "--max", "most", type=click.IntRange(1),
    help="leave out so many at most; default: a fifth of the answers, half of the judges",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--out", help="file for the table; default: robust.csv in DIR, and the report there")
@click.option("--force", is_flag=True, help="overwrite an earlier one")
def robust(folder: str, **options: Any) -> None:
    """Say how few answers, or judges, decide the results in DIR.

    Found are answers without which another item would come first, the top k would change, or an
    item would cross the average. Each is confirmed by a fit without them.
    """
    from tiewise.posterior.results_folder import read_results
    from tiewise.report.criticism_terminal import print_robustness
    from tiewise.workflows.assess_robustness import UNITS, assess_robustness, keep_robustness

    results, out = read_results(folder), options["out"]
    if out:
        check_output_file(Path(out), "a table of answers", ROBUST_STARTS, force=options["force"])
    with progress_bar() as progress:
        assessment = assess_robustness(
            results, top=options["top"], items=options["items"],
            units=(options["unit"],) if options["unit"] else UNITS,
            most=options["most"], rng=options["seed"], progress=progress,
        )  # fmt: skip
        if out:
            assessment.write(out)
        else:
            keep_robustness(results, assessment, progress=progress)
    print_robustness(results, assessment)
    click.echo(f"Table in {out or Path(folder, 'robust.csv')}")


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR DIR ...")
@LEAVE_OUT
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--out", help="file for the table; default: comparison.csv in the current folder")
@click.option("--force", is_flag=True, help="overwrite an earlier one")
def compare(
    folders: tuple[str, ...], leave_out: LeftOut, seed: int, out: str | None, force: bool
) -> None:
    """Say which of several fits of the same judgements predicts best.

    Each DIR is a results folder. Models are compared by leave-one-out (PSIS-LOO); where judges are
    known, standard errors are clustered by judge.
    """
    from tiewise.criticism.model_comparison import compare_results
    from tiewise.posterior.results_folder import read_results
    from tiewise.report.criticism_terminal import print_comparison

    place = Path(out or "comparison.csv")
    check_output_file(place, "a table of compared models", TABLE_STARTS, force=force)
    results = [read_results(folder) for folder in folders]
    with progress_bar() as progress:
        comparison = compare_results(results, leave_out=leave_out, rng=seed, progress=progress)
    comparison.write(place)
    print_comparison(comparison)
    click.echo(f"Table in {place}")


@click.command(cls=CommandByTopic)
@click.argument("source", metavar="FILE_OR_DIR")
@ITEM_FILES
@COLUMNS
@MODEL
@LEAVE_OUT
@click.option("--draws", type=click.IntRange(100), help="so many draws of each model")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--out", help="folder for the tables; default: nothing is written")
@click.option("--force", is_flag=True, help="overwrite an earlier one")
@DATABASE
@click.pass_context
def models(context: click.Context, /, source: str, **options: Any) -> None:
    """Try several models of the judgements, and recommend one.

    FILE_OR_DIR is a file of judgements or the folder of a study. Tried are, as far as they can be:
    a model without ties, a prior that knows of neighbours, thresholds and sharpness of judges, and
    the order of a pair. Each is fitted, compared and checked; the simplest within one standard
    error of the best is recommended, with the command that fits it.
    """
    from tiewise.report.criticism_terminal import print_candidates
    from tiewise.workflows.compare_models import compare_models

    out = options["out"]
    judgements, options = _to_fit(source, options)
    with progress_bar() as progress:
        compared = compare_models(
            judgements, out, context=read_context(options), columns=columns(options),
            engine=engine("transport", options["draws"]), rng=options["seed"],
            leave_out=options["leave_out"], force=options["force"], progress=progress,
            prior=options["prior"], reach=options["reach"], ties=ties(options),
            **scalar_priors(options),
        )  # fmt: skip
    print_candidates(compared.table, compared.sentences, _fit_command(context, compared.options))
    if out:
        click.echo(f"Tables in {out}")


def _fit_command(context: click.Context, options: Mapping[str, Any]) -> str:
    """The command that fits a model with these options, with what was typed for all models."""
    typed = ["tiewise", "fit", context.params["source"]]
    without = {"out", "force", "leave_out", *options}
    if "prior" in options:
        without |= {"reach", "share", "matrix"}
    for option in context.command.params:
        name = str(option.name)
        source = context.get_parameter_source(name)
        if name in without or not isinstance(option, click.Option):
            continue
        if source is click.core.ParameterSource.COMMANDLINE:
            value = context.params[name]
            flags = [option.opts[0]] if value is not False else [option.secondary_opts[0]]
            typed += flags if isinstance(value, bool) else [*flags, str(value)]
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        typed += [flag] if value is True else [flag, str(value)]
    return shlex.join(typed)


COMMANDS = (judges, scrutinise, robust, compare, models)
